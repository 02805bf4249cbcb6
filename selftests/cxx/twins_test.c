// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests that every inline function of the public headers is also exported by the shared library,
 * and does the same there.
 */
#include <dispatchkey.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void *twin(const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);

	if (!p) {
		printf("%s: not in the library\n", name);
		exit(1);
	}
	return p;
}

#define TWIN(name)	((__typeof__(&(name)))twin(#name))
#define SAME(a, b) do {							\
	const __typeof__(a) one = (a), other = (b);			\
									\
	same(&one, &other, sizeof(one), #a);				\
} while (0)

static void same(const void *a, const void *b, size_t size, const char *what)
{
	if (memcmp(a, b, size)) {
		printf("%s differs\n", what);
		failures++;
	}
}

DK_OP(plus, "t::plus", (struct dk_obj *x, int *n), (x, n), (x));

static int plus_cpu(struct dk_call *c, struct dk_obj *x, int *n)
{
	SAME(dk_local_current(), TWIN(dk_local_current)());
	SAME(dk_call_key(c), TWIN(dk_call_key)(c));
	SAME(dk_call_fn(c), TWIN(dk_call_fn)(c));
	SAME(dk_call_frame(c), TWIN(dk_call_frame)(c));
	SAME(dk_call_local(c), TWIN(dk_call_local)(c));
	SAME(dk_call_decl(c), TWIN(dk_call_decl)(c));
	SAME(dk_call_below(c), TWIN(dk_call_below)(c));
	*n += 1;
	return 0;
}

static int plus_boxed(struct dk_call *c, void *args)
{
	return dk_redispatch_boxed(c, dk_call_below(c), args);
}

static void calls(void)
{
	static struct dk_provider me = DK_PROVIDER("twins");
	static const struct dk_impl impls[] = { DK_IMPL(plus, DK_CPU, plus_cpu) };
	static const struct dk_impl fallback = DK_FALLBACK(DK_TRACER, plus_boxed);
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	int n = 0, err;

	me.priv = &n;
	err = dk_provider_register(&me, NULL) ?: dk_op_define(&me, &plus_op, 0, NULL) ?:
	      dk_impls_register(&me, impls, 1, NULL) ?:
	      dk_fallback_register(&me, &fallback, NULL);
	if (!err) {
		DK_INCLUDE(DK_SET(DK_TRACER));
		err = plus(&x, &n);
	}
	if (err || n != 1) {
		printf("calls: error %d, n %d\n", err, n);
		failures++;
	}
	dk_provider_unregister(&me);
}

int main(void)
{
	const struct dk_keyset a = { 0x1000010003 }, b = { 0x10001 }, none = { 0 };
	struct dk_local here = { .included = 5, .excluded = 6 }, there = here;
	struct dk_deferred token, token_there = { .thread = 7 };

	SAME(dk_keyset_or(a, b), TWIN(dk_keyset_or)(a, b));
	SAME(dk_keyset_and(a, b), TWIN(dk_keyset_and)(a, b));
	SAME(dk_keyset_xor(a, b), TWIN(dk_keyset_xor)(a, b));
	SAME(dk_keyset_has_all(a, b), TWIN(dk_keyset_has_all)(a, b));
	SAME(dk_keyset_has_all(b, a), TWIN(dk_keyset_has_all)(b, a));
	SAME(dk_keyset_has_any(a, b), TWIN(dk_keyset_has_any)(a, b));
	SAME(dk_keyset_has_any(a, none), TWIN(dk_keyset_has_any)(a, none));
	SAME(dk_obj_on(3, 4), TWIN(dk_obj_on)(3, 4));
	SAME(dk_obj_undefined(), TWIN(dk_obj_undefined)());

	SAME(dk_local_included(&here), TWIN(dk_local_included)(&there));
	SAME(dk_local_excluded(&here), TWIN(dk_local_excluded)(&there));
	dk_local_include(&here, a);
	TWIN(dk_local_include)(&there, a);
	SAME(here, there);
	dk_local_exclude(&here, b);
	TWIN(dk_local_exclude)(&there, b);
	SAME(here, there);
	SAME(dk_local_keyset_included(&here, a), TWIN(dk_local_keyset_included)(&there, a));
	SAME(dk_local_keyset_excluded(&here, a), TWIN(dk_local_keyset_excluded)(&there, a));
	dk_local_set(&here, a, b);
	TWIN(dk_local_set)(&there, a, b);
	SAME(here, there);
	dk_deferred_init(&token);
	TWIN(dk_deferred_init)(&token_there);
	SAME(token, token_there);
	SAME(dk_device_set_online(NULL, 1, 1, NULL), TWIN(dk_device_set_online)(NULL, 1, 1, NULL));
	SAME(dk_backend_set_online(NULL, 1, 1, NULL),
	     TWIN(dk_backend_set_online)(NULL, 1, 1, NULL));
	calls();
	return failures != 0;
}
