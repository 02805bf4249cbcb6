// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * library: defines an operator and registers its functions in libraries, as PyTorch's
 * TORCH_LIBRARY does. One function overrides another at the same key. Then the newer function is
 * released. A listener prints all events.
 */
#include <dispatchkey.h>
#include <err.h>
#include <stdio.h>

DK_OP(twice, "sample::twice", (const struct dk_obj *x, int *n), (x, n), (x));

static int twice_add(struct dk_call *c, const struct dk_obj *x, int *n)
{
	printf("twice_add: %d\n", *n += *n);
	return 0;
}

static int twice_shift(struct dk_call *c, const struct dk_obj *x, int *n)
{
	printf("twice_shift: %d\n", *n <<= 1);
	return 0;
}

static void notify(struct dk_listener *self, const struct dk_event *event)
{
	static const char *const what[] = {
		[DK_EVENT_DEFINED] = "is defined",
		[DK_EVENT_UNDEFINED] = "is no longer defined",
		[DK_EVENT_IMPL] = "has a new function",
		[DK_EVENT_LOST] = "events were lost for lack of memory",
	};

	printf("event: %s %s\n", event->name, what[event->kind]);
}

static struct dk_provider me = DK_PROVIDER("library");
static struct dk_library def = DK_LIBRARY(&me, DEF, "sample", DK_UNDEFINED);
static struct dk_library cpu = DK_LIBRARY(&me, IMPL, "sample", DK_CPU);
static struct dk_listener listener = { .size = sizeof(listener), .notify = notify };

int main(void)
{
	static const struct dk_impl add = DK_IMPL(twice, DK_CPU, twice_add);
	static const struct dk_impl shift = DK_IMPL(twice, DK_CPU, twice_shift);
	struct dk_obj x = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_diag why = { .size = sizeof(why) };
	static struct dk_handle h;
	int n = 1;

	if (dk_provider_register(&me, &why) || dk_listener_register(&listener, &why) ||
	    dk_library_register(&def, &why) || dk_library_register(&cpu, &why) ||
	    dk_library_def(&def, &twice_op, 0, NULL, &why) ||
	    dk_library_impl(&cpu, &add, NULL, &why) ||
	    dk_library_impl(&cpu, &shift, &h, &why))
		errx(1, "%s%s%s", why.text, *why.name ? ": " : "", why.name);
	if (twice(&x, &n))			/* twice_shift, the newest */
		errx(1, "sample::twice");
	dk_handle_release(&cpu, &h);		/* no call is inside now */
	if (twice(&x, &n))			/* twice_add */
		errx(1, "sample::twice");
	dk_provider_unregister(&me);		/* also unregisters its libraries */
	return dk_listener_unregister(&listener);
}
