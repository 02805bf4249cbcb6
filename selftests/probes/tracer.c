// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traces its own process as the kernel does for a tracer:
 * tracer NAME:LOCATION:SEMAPHORE..., with the values that readelf prints for the probes. It sets a
 * breakpoint at each probe and increments the semaphores. For each probe, it prints "PHASE NAME
 * HITS" before the semaphores are incremented, while they are incremented, and after they are
 * decremented.
 */
#include <dispatchkey.h>
#include <err.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PROBES	16
#define NOP	0x90
#define INT3	0xcc

static struct probe {
	char name[32];
	unsigned char *at;
	unsigned short *semaphore;
	unsigned int hits;
} probes[PROBES];
static int num_probes;

DK_OP(served, "tracer::served", (struct dk_obj *x), (x), (x));
DK_OP(swift, "tracer::swift", (struct dk_obj *x), (x), (x));

static struct dk_provider prov = DK_PROVIDER("tracer");
static struct dk_diag why = { .size = sizeof(why) };

static struct dk_deferred token;

static int serve(struct dk_call *c, struct dk_obj *x)
{
	return 0;
}

static int submit(struct dk_call *c, struct dk_obj *x)
{
	return dk_call_defer(c, &token);
}

/* The nop and the breakpoint are one byte each, so execution continues after the nop. */
static void hit(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;
	unsigned char *at = (unsigned char *)u->uc_mcontext.gregs[REG_RIP] - 1;
	int i;

	for (i = 0; i < num_probes; i++)
		if (probes[i].at == at)
			probes[i].hits++;
}

static int find_library(struct dl_phdr_info *info, size_t size, void *base)
{
	if (!strstr(info->dlpi_name, "libdispatchkey.so"))
		return 0;
	*(uintptr_t *)base = info->dlpi_addr;
	return 1;
}

static void break_at(struct probe *p)
{
	uintptr_t page = (uintptr_t)p->at & -(uintptr_t)getpagesize();

	if (*p->at != NOP)
		errx(1, "%s: no nop", p->name);
	if (mprotect((void *)page, getpagesize(), PROT_READ | PROT_WRITE | PROT_EXEC))
		err(1, "mprotect");
	*p->at = INT3;
}

static void find_probes(char **args, int n)
{
	unsigned long at, semaphore;
	uintptr_t base = 0;
	int i;

	if (!dl_iterate_phdr(find_library, &base) || n > PROBES)
		errx(1, "no library, or too many probes");
	for (i = 0; i < n; i++) {
		struct probe *p = &probes[i];

		if (sscanf(args[i], "%31[^:]:%lx:%lx", p->name, &at, &semaphore) != 3 ||
		    !semaphore)
			errx(1, "%s: not NAME:LOCATION:SEMAPHORE", args[i]);
		p->at = (unsigned char *)base + at;
		p->semaphore = (unsigned short *)(base + semaphore);
	}
	num_probes = n;
}

/*
 * Calls a sleepable operator and an atomic one, each once with a function that serves and once
 * without.
 */
static void make_calls(void)
{
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_obj cuda = dk_obj_on(DK_BACKEND_CUDA, 0);

	dk_deferred_init(&token);
	if (served(&cpu) || dk_call_complete(&token, 0) || swift(&cpu) ||
	    served(&cuda) != -ENOSYS || swift(&cuda) != -ENOSYS)
		errx(1, "a call has an unexpected result");
}

static void work(void)
{
	static const struct dk_impl impls[] = {
		DK_IMPL(served, DK_CPU, submit),
		DK_IMPL_ATOMIC(swift, DK_CPU, serve),
	};

	if (dk_provider_register(&prov, &why) ||
	    dk_op_define(&prov, &served_op, 0, &why) ||
	    dk_op_define(&prov, &swift_op, DK_OP_ATOMIC, &why) ||
	    dk_impls_register(&prov, impls, 2, &why))
		errx(1, "%s: %s", why.name, why.text);
	make_calls();
	if (dk_provider_unregister(&prov))
		errx(1, "the provider cannot be unregistered");
}

static void phase(const char *name, int comes)
{
	int i;

	for (i = 0; i < num_probes; i++) {
		*probes[i].semaphore += comes;
		probes[i].hits = 0;
	}
	work();
	for (i = 0; i < num_probes; i++)
		printf("%s %s %u\n", name, probes[i].name, probes[i].hits);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = hit, .sa_flags = SA_SIGINFO };
	int i;

	find_probes(argv + 1, argc - 1);
	sigaction(SIGTRAP, &act, NULL);
	for (i = 0; i < num_probes; i++)
		break_at(&probes[i]);
	phase("before", 0);
	phase("traced", 1);
	phase("after", -1);
	return 0;
}
