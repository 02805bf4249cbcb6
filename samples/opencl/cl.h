/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Declares the OpenCL part of the runtime. */
#ifndef _OPENCL_CL_H
#define _OPENCL_CL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>

#include "runtime.h"

/* The number of work-items of rt::sum; each writes one partial sum. */
#define CL_SUM_ITEMS	64

/**
 * struct cl_found - an OpenCL device that can become a card
 * @id: the device, or a part of it
 * @what: its name, and a note if it is a part of a device
 * @platform: the driver's name
 * @units: its compute units
 */
struct cl_found {
	cl_device_id id;
	char what[200], platform[100];
	cl_uint units;
};

/**
 * struct cl_card - a device of the dispatcher: a context of an OpenCL device
 * @name: its name in the registry
 * @server: its number in tallies
 * @obj: an object on it
 * @lock: held from setting the arguments of a kernel until the kernel is queued
 * @context: its context
 * @queue: its in-order command queue, for the calls of all threads
 * @axpy: kernel of rt::axpy and rt::axpy_async
 * @sum: kernel of rt::sum
 * @matmul: kernel of rt::matmul
 * @queued: number of asynchronous calls that have not completed
 * @refs: number of references: one for the registration, one for the caller of
 *	cl_card_add(), and one for each buffer
 */
struct cl_card {
	char name[16];
	unsigned int server;
	struct dk_obj obj;
	pthread_mutex_t lock;	/* see above */
	cl_context context;
	cl_command_queue queue;
	cl_kernel axpy, sum, matmul;
	atomic_uint queued;
	atomic_uint refs;
};

/* cl.c */
unsigned int cl_find(struct cl_found **found);
void cl_release(struct cl_found *found, unsigned int n);
void cl_report(const char *where, const char *function, cl_int code);
struct cl_card *cl_card_add(const struct cl_found *found, const char *name,
			    unsigned int server, struct dk_diag *why);
int cl_card_remove(struct cl_card *card, struct dk_diag *why);
void cl_card_put(struct cl_card *card);

int cl_begin(struct dk_diag *why);
int cl_end(void);

/* cl_ops.c */
extern const struct dk_impl cl_impls[];
extern const unsigned int cl_num_impls;

#endif /* _OPENCL_CL_H */
