// SPDX-License-Identifier: GPL-2.0-only
/*
 * first "without keys": the first call of the process fails, because there is no free key for
 * thread-specific data. first canceled: the first thread that uses the library is cancelled.
 * A later call must succeed. Prints the results; test_plugins.sh compares them with the expected
 * output.
 */
#include <err.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

static void *open_registry(void *unused)
{
	pthread_cancel(pthread_self());
	dk_registry_default();
	return NULL;
}

static int work_first(struct dk_call *c, struct dk_obj *x, int *number)
{
	*number = 1;
	return 0;
}

static int call(void)
{
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int number = 0, error = work(&x, &number);

	return error ? error : number;
}

static void call_without_keys(void)
{
	static pthread_key_t keys[PTHREAD_KEYS_MAX];
	unsigned int n = 0;

	while (n < PTHREAD_KEYS_MAX && !pthread_key_create(&keys[n], NULL))
		n++;
	printf("without keys: %d\n", call());
	while (n)
		pthread_key_delete(keys[--n]);
}

int main(int argc, char **argv)
{
	static const struct dk_impl impls[] = { DK_IMPL(work, DK_CPU, work_first) };
	static struct dk_provider prov = DK_PROVIDER("first");
	pthread_t thread;

	if (argc == 2 && !strcmp(argv[1], "canceled")) {
		if (pthread_create(&thread, NULL, open_registry, NULL))
			errx(1, "no thread");
		pthread_join(thread, NULL);
	}
	if (dk_provider_register(&prov, NULL) || dk_op_define(&prov, &work_op, 0, NULL) ||
	    dk_impls_register(&prov, impls, 1, NULL))
		errx(1, "cannot register");
	if (argc == 2 && !strcmp(argv[1], "without keys"))
		call_without_keys();
	printf("call: %d\n", call());
	return 0;
}
