/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declares the contenders of make bench. Each makes calls of one kind. calls_dk.c has the
 * contenders of dispatchkey and the floor (the cheapest possible call), calls_torch.cpp those of
 * libtorch.
 */
#ifndef _SELFTESTS_BENCH_BENCH_H
#define _SELFTESTS_BENCH_BENCH_H

#define BENCH_UNROLLED	8	/* operators of a family, all called by one pass of a loop */
#define BENCH_FAMILIES	5	/* see FAMILIES() in calls_dk.c */
#define BENCH_NAMES	(BENCH_FAMILIES * BENCH_UNROLLED)

struct bench_contender {
	const char *id;
	void (*run)(const struct bench_contender *c, unsigned long calls);
	int object;		/* number of the object that its calls pass */
	int slow;		/* count the instructions of only a few calls */
	int scales;		/* also measure with several threads */
	void (*before)(void);	/* called before and after the calls of a sample */
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
/* NULL if the program is built without libtorch */
extern const struct bench_side bench_torch __attribute__((weak));

#ifdef __cplusplus
}
#endif

/* Functions of liburcu. calls_dk.c cannot include the headers of several flavours. */
void urcu_memb_register_thread(void);
void urcu_qsbr_register_thread(void);

#endif
