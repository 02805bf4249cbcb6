// SPDX-License-Identifier: GPL-2.0-only
/*
 * One thread calls an operator, while another thread repeatedly registers and unregisters a
 * function for it. unload_torch.cpp does the same with libtorch.
 */
#include "unload.h"

#include <dispatchkey.h>
#include <pthread.h>

DK_OP(twice, "unload::twice", (struct dk_obj *x, long n, long *result), (x, n, result), (x));

#ifndef LOSE
#define LOSE	-1	/* number of a call that gets a wrong result, to test this program */
#endif

static struct tally *tally;

static int base(struct dk_call *c, struct dk_obj *x, long n, long *result)
{
	*result = 2 * n;
	return 0;
}

static int guest(struct dk_call *c, struct dk_obj *x, long n, long *result)
{
	TALLY_SET(tally->served_by_guest, tally->served_by_guest + 1);
	*result = 2 * n;
	return 0;
}

static const struct dk_impl base_impls[] = {
	DK_IMPL(twice, DK_COMPOSITE_EXPLICIT_AUTOGRAD, base),
};

static const struct dk_impl guest_impls[] = { DK_IMPL(twice, DK_CPU, guest) };

static void *come_and_go(void *unused)
{
	struct dk_provider prov = DK_PROVIDER("guest");

	while (!TALLY_GET(tally->stop)) {
		if (dk_provider_register(&prov, NULL) ||
		    dk_impls_register(&prov, guest_impls, 1, NULL))
			_exit(2);
		unload_meet_a_call(tally);
		if (dk_provider_unregister(&prov))
			_exit(2);
		TALLY_SET(tally->registrations, tally->registrations + 1);
	}
	return NULL;
}

static void call(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	unsigned long i;
	long result;

	unload_await_a_guest(tally);
	for (i = 0; i < tally->wanted; i++) {
		TALLY_SET(tally->calls, i + 1);
		result = -1;
		if (!twice(&x, (long)i, &result) && (long)i != LOSE && result == 2 * (long)i)
			TALLY_SET(tally->served, tally->served + 1);
	}
}

static int run(struct tally *t)
{
	struct dk_provider host = DK_PROVIDER("host");
	pthread_t thread;

	tally = t;
	if (dk_provider_register(&host, NULL) || dk_op_define(&host, &twice_op, 0, NULL) ||
	    dk_impls_register(&host, base_impls, 1, NULL) ||
	    pthread_create(&thread, NULL, come_and_go, NULL))
		return 2;
	call();
	TALLY_SET(t->stop, 1);
	pthread_join(thread, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	return unload_main("libdispatchkey", argc, argv, run);
}
