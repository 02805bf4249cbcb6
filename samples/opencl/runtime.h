/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares what the functions of the CPU and of the OpenCL devices share. */
#ifndef _OPENCL_RUNTIME_H
#define _OPENCL_RUNTIME_H

#include <stdatomic.h>

#include "ops.h"

/* The operators whose calls are counted. Calls of rt::alloc are not counted. */
enum rt_op { RT_FILL, RT_COPY, RT_AXPY, RT_SUM, RT_MATMUL, RT_AXPY_ASYNC, RT_NUM_OPS };

/* The servers of calls: the CPU, and the devices, numbered in the order of registration. */
#define RT_CPU		0
#define RT_MAX_SERVERS	16

/*
 * The calls of one thread, counted by the functions that served them. Other threads
 * read the counts.
 */
struct tally {
	atomic_ulong served[RT_MAX_SERVERS][RT_NUM_OPS];
	unsigned int last;	/* the server of the thread's last call */
};

/* The counts of this thread; NULL if its calls are not counted. */
extern _Thread_local struct tally *tally;

/* Counts a call at the end of its function, unless the call failed. Returns @error. */
static inline int served(unsigned int server, enum rt_op op, int error)
{
	if (tally && !error) {
		tally->last = server;
		atomic_fetch_add_explicit(&tally->served[server][op], 1, memory_order_relaxed);
	}
	return error;
}

/* Defines the operators and registers the CPU's functions. */
int rt_begin(struct dk_diag *why);
int rt_end(void);

int buf_alloc_data(struct buf *b, size_t n);

/* Each function first calls one of these. They return -EINVAL for invalid arguments. */
int pair_check(const struct buf *out, const struct buf *in);
int matmul_check(const struct buf *c, const struct buf *a, const struct buf *b, unsigned int n);

void job_done(struct job *job, int result);

#endif /* _OPENCL_RUNTIME_H */
