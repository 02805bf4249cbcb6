/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contenders of make bench. Each makes calls of one kind. calls_dk.c has those of
 * dispatchkey and the floor, calls_torch.cpp those of libtorch.
 */
#ifndef _SELFTESTS_BENCH_BENCH_H
#define _SELFTESTS_BENCH_BENCH_H

#define BENCH_UNROLLED	8	/* operators, called in turn by one turn of a loop */
#define BENCH_FAMILIES	5	/* of so many operators */
#define BENCH_NAMES	(BENCH_FAMILIES * BENCH_UNROLLED)

struct bench_contender {
	const char *id;
	void (*run)(const struct bench_contender *c, unsigned long calls);
	int object;		/* number of its object, defined by each side */
	int slow;		/* few calls of it are counted */
	int scales;		/* is also measured with several threads */
	void (*before)(void);	/* and after all its calls of one sample */
	void (*after)(void);
};

struct bench_side {
	int (*set_up)(char *const *names);
	const struct bench_contender *contenders;
	unsigned int num;
};

#ifdef __cplusplus
extern "C" {
#endif

extern const struct bench_side bench_dk;
/* only where libtorch is */
extern const struct bench_side bench_torch __attribute__((weak));

#ifdef __cplusplus
}
#endif

/* liburcu's, in flavours that calls_dk.c cannot inline together with another flavour. */
void urcu_memb_register_thread(void);
void urcu_qsbr_register_thread(void);

#endif
