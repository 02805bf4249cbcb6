/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the two halves of a program in C and C++. DK_OP() is for C. */
#include <dispatchkey.h>

struct tensor {
	struct dk_obj dk;
	int data;
};

#ifdef __cplusplus
extern "C" {
#else
DK_OP(cxx_add, "cxx::add", (struct tensor *out, const struct tensor *a), (out, a), (&a->dk));
#endif

int add_cpu(struct dk_call *c, struct tensor *out, const struct tensor *a);
int add_call(struct tensor *out, const struct tensor *a);
int add_register(struct dk_provider *prov, struct dk_diag *why);

#ifdef __cplusplus
}
#endif
