// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Registers OpenCL devices. Each becomes a device of the dispatcher when its context, queue and
 * kernels are ready.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl.h"

static const char *source =
	"kernel void axpy(global float *y, float a, global const float *x)\n"
	"{\n"
	"	size_t i = get_global_id(0);\n"
	"	y[i] += a * x[i];\n"
	"}\n"
	"kernel void sum(global const float *x, ulong n, global float *part)\n"
	"{\n"
	"	float s = 0;\n"
	"	for (ulong i = get_global_id(0); i < n; i += get_global_size(0))\n"
	"		s += x[i];\n"
	"	part[get_global_id(0)] = s;\n"
	"}\n"
	"kernel void matmul(global float *c, global const float *a,\n"
	"		   global const float *b, uint n)\n"
	"{\n"
	"	size_t i = get_global_id(1), j = get_global_id(0);\n"
	"	float s = 0;\n"
	"	for (size_t k = 0; k < n; k++)\n"
	"		s += a[i * n + k] * b[k * n + j];\n"
	"	c[i * n + j] = s;\n"
	"}\n";

static struct dk_provider opencl = DK_PROVIDER("opencl");
static unsigned int backend;

void cl_report(const char *where, const char *function, cl_int code)
{
	fprintf(stderr, "%s: %s() failed with OpenCL error %d\n", where, function, code);
}

/* ---- finding ------------------------------------------------------------------ */

static void device_name(cl_device_id id, char *name, size_t size)
{
	if (clGetDeviceInfo(id, CL_DEVICE_NAME, size, name, NULL))
		snprintf(name, size, "?");
}

static void platform_name(cl_device_id id, char *name, size_t size)
{
	cl_platform_id platform;

	if (clGetDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) ||
	    clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, name, NULL))
		snprintf(name, size, "?");
}

static void describe(struct cl_found *found, const char *part)
{
	size_t n = snprintf(found->what, sizeof(found->what), "%s", part);

	device_name(found->id, found->what + n, sizeof(found->what) - n);
	platform_name(found->id, found->platform, sizeof(found->platform));
	if (clGetDeviceInfo(found->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(found->units),
			    &found->units, NULL))
		found->units = 1;
}

/* Divides a single device into two. If it cannot be divided, uses it twice. */
static unsigned int divide(struct cl_found found[2])
{
	cl_device_partition_property equally[] = {
		CL_DEVICE_PARTITION_EQUALLY, found->units / 2, 0
	};
	cl_device_id parts[3];	/* a device with 3 compute units is divided into 3 */
	cl_uint i, n = 0;

	if (found->units < 2 || clCreateSubDevices(found->id, equally, 3, parts, &n))
		n = 0;
	if (n < 2) {
		if (n)
			clReleaseDevice(parts[0]);
		found[1] = found[0];
		describe(&found[0], "a context of ");
		describe(&found[1], "another context of ");
		return 2;
	}
	for (i = 2; i < n; i++)
		clReleaseDevice(parts[i]);
	for (i = 0; i < 2; i++) {
		found[i].id = parts[i];
		describe(&found[i], "a part of ");
	}
	return 2;
}

/* Adds the devices of a platform to @found, which keeps space for one more. */
static unsigned int find_on(cl_platform_id platform, struct cl_found **found, unsigned int n)
{
	cl_device_id *ids = NULL;
	struct cl_found *more;
	cl_uint i, num = 0;

	if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &num) || !num)
		return n;
	more = realloc(*found, ((size_t)n + num + 1) * sizeof(**found));
	if (more) {
		*found = more;
		ids = calloc(num, sizeof(*ids));
	}
	if (ids && !clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, num, ids, NULL)) {
		for (i = 0; i < num; i++, n++) {
			more[n].id = ids[i];
			describe(&more[n], "");
		}
	}
	free(ids);
	return n;
}

/* Returns the number of devices: 0, or at least 2. Call cl_release() after use. */
unsigned int cl_find(struct cl_found **found)
{
	cl_platform_id *platforms;
	cl_uint p, num = 0;
	unsigned int n = 0;

	*found = NULL;
	if (clGetPlatformIDs(0, NULL, &num) || !num)
		return 0;
	platforms = calloc(num, sizeof(*platforms));
	if (platforms && !clGetPlatformIDs(num, platforms, NULL))
		for (p = 0; p < num; p++)
			n = find_on(platforms[p], found, n);
	free(platforms);
	return n == 1 ? divide(*found) : n;
}

void cl_release(struct cl_found *found, unsigned int n)
{
	while (n--)
		clReleaseDevice(found[n].id);	/* has no effect on a whole device */
	free(found);
}

/* ---- a card ------------------------------------------------------------------- */

static atomic_uint num_cards;

/* Each buffer holds a reference to its card, because it can outlive the card's registration. */
void cl_card_put(struct cl_card *card)
{
	if (atomic_fetch_sub(&card->refs, 1) > 1)
		return;
	if (card->axpy)
		clReleaseKernel(card->axpy);
	if (card->sum)
		clReleaseKernel(card->sum);
	if (card->matmul)
		clReleaseKernel(card->matmul);
	if (card->queue)
		clReleaseCommandQueue(card->queue);
	if (card->context)
		clReleaseContext(card->context);
	pthread_mutex_destroy(&card->lock);
	free(card);
	atomic_fetch_sub(&num_cards, 1);
}

static int check(const struct cl_card *card, const char *function, cl_int code)
{
	if (code)
		cl_report(card->name, function, code);
	return code ? -EIO : 0;
}

static cl_kernel kernel(const struct cl_card *card, cl_program program, const char *name)
{
	cl_int code;
	cl_kernel k = clCreateKernel(program, name, &code);

	return check(card, "clCreateKernel", code) ? NULL : k;
}

static void print_log(cl_program program, cl_device_id id)
{
	char *log = NULL;
	size_t size = 0;

	if (!clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) && size)
		log = malloc(size);
	if (log && !clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log, NULL))
		fprintf(stderr, "%s\n", log);
	free(log);
}

static int build(struct cl_card *card, cl_device_id id)
{
	cl_program program;
	cl_int code;

	program = clCreateProgramWithSource(card->context, 1, &source, NULL, &code);
	if (check(card, "clCreateProgramWithSource", code))
		return -EIO;
	code = clBuildProgram(program, 1, &id, "", NULL, NULL);
	if (check(card, "clBuildProgram", code)) {
		print_log(program, id);
	} else {
		card->axpy = kernel(card, program, "axpy");
		card->sum = kernel(card, program, "sum");
		card->matmul = kernel(card, program, "matmul");
	}
	clReleaseProgram(program);	/* the kernels hold references to it */
	return card->axpy && card->sum && card->matmul ? 0 : -EIO;
}

static int open_card(struct cl_card *card, cl_device_id id)
{
	cl_int code;

	card->context = clCreateContext(NULL, 1, &id, NULL, NULL, &code);
	if (check(card, "clCreateContext", code))
		return -EIO;
	card->queue = clCreateCommandQueue(card->context, id, 0, &code);
	if (check(card, "clCreateCommandQueue", code))
		return -EIO;
	return build(card, id);
}

/*
 * Registers a card. After this, calls with objects on the card use its functions. Call
 * cl_card_put() later.
 */
struct cl_card *cl_card_add(const struct cl_found *found, const char *name,
			    unsigned int server, struct dk_diag *why)
{
	struct cl_card *card;
	__u32 device = 0;

	if (server >= RT_MAX_SERVERS) {
		why->text = "the demo has no counter left for another device";
		return NULL;
	}
	card = calloc(1, sizeof(*card));
	if (!card) {
		why->text = "no memory";
		return NULL;
	}
	atomic_fetch_add(&num_cards, 1);
	snprintf(card->name, sizeof(card->name), "%s", name);
	card->server = server;
	atomic_init(&card->refs, 2);
	pthread_mutex_init(&card->lock, NULL);

	if (open_card(card, found->id)) {
		why->text = "the OpenCL device cannot be used";
	} else if (!dk_device_register(&opencl, backend, card->name, card, cl_impls,
				       cl_num_impls, &device, why)) {
		card->obj = dk_obj_on(backend, device);
		return card;
	}
	cl_card_put(card);
	cl_card_put(card);
	return NULL;
}

/*
 * After dk_device_unregister() no function of the card is running, and the calls that were
 * in its queue have completed.
 */
int cl_card_remove(struct cl_card *card, struct dk_diag *why)
{
	int error = dk_device_unregister(&opencl, card->obj.device, why);

	if (!error)
		cl_card_put(card);
	return error;
}

int cl_begin(struct dk_diag *why)
{
	int error = dk_provider_register(&opencl, why);

	if (error)
		return error;
	error = dk_backend_join(&opencl, RT_BACKEND, 0, 0, &backend, why);
	if (error)
		dk_provider_unregister(&opencl);
	return error;
}

/* Returns -EBUSY if there is still a reference to a card. */
int cl_end(void)
{
	int error = dk_provider_unregister(&opencl);

	return !error && atomic_load(&num_cards) ? -EBUSY : error;
}
