// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests a registry that is shut down. Calls and registrations fail with -ESHUTDOWN. The memory of
 * the registry stays valid, because these calls and registrations read it. Userspace only; in the
 * kernel, modules that use dispatchkey.ko keep it loaded. full_registry.h explains the comments
 * "refuses:".
 */
#include "test.h"

#include "core/change/change.h"
#include "private.h"

#include <sys/wait.h>
#include <unistd.h>

DK_OP(late, "after_shutdown::op", (struct dk_obj *x, int *served_by), (x, served_by), (x));
DK_OP(never, "after_shutdown::never", (struct dk_obj *x, int *served_by), (x, served_by), (x));

/* Never freed. A leak checker does not report memory to which a variable points. */
static struct dk_registry *kept;
static struct dk_provider prov, other;
static struct dk_impl impls[2], fallback;

static int late_cpu(struct dk_call *c, struct dk_obj *x, int *served_by)
{
	*served_by = 1;
	return 0;
}

static void hook(struct dk_hooks *h, const struct dk_hook_info *info)
{
}

static struct dk_hooks hooks = { .size = sizeof(hooks), .before = hook };

#define SHUT_DOWN(call)							\
	do {								\
		CHECK_INT(call, -ESHUTDOWN);				\
		CHECK_INT(t_why.reason, DK_WHY_SHUTDOWN);		\
	} while (0)

static void on_event(struct dk_listener *l, const struct dk_event *event)
{
	CHECK(!"an event is delivered after shutdown");
}

static struct dk_listener listener = { .size = sizeof(listener), .notify = on_event };

static void requests_after_shutdown_return_errors(void)
{
	static const struct dk_provider unregistered = DK_PROVIDER("other");
	struct dk_obj cpu = t_obj(DK_KEY_BITS(DK_CPU));
	const struct dk_obj *objs[] = { &cpu };
	struct dk_local local = t_no_local();
	struct dk_op_decl decl = t_decl("after_shutdown::new");
	struct dk_frame c, below;
	struct late_args boxed;
	unsigned int backend;
	struct dk_op *op;
	struct dk_library lib, late_lib;
	struct dk_handle h = { NULL }, none = { NULL };
	u32 device, more;
	int served_by = 0;

	t_keep();
	t_open("v1", DK_REGISTRY_BUILTINS);
	kept = t_reg;
	t_join(&prov, "after_shutdown");
	other = unregistered;
	other.registry = t_reg;
	impls[0] = (struct dk_impl)DK_IMPL(late, DK_CPU, late_cpu);
	impls[1] = (struct dk_impl)DK_IMPL(late, DK_CUDA, late_cpu);
	CHECK_OK(dk_op_define(&prov, &late_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, impls, 1, &t_why));
	CHECK_OK(dk_device_register(&prov, 1, "dev", NULL, NULL, 0, &device, &t_why));
	lib = (struct dk_library)DK_LIBRARY(&prov, IMPL, "after_shutdown", DK_UNDEFINED);
	late_lib = lib;
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_impl(&lib, &impls[1], &h, &t_why));
	op = dk_op_get(t_reg, "after_shutdown::op");
	CHECK_OK(dk_call_enter_op(&c, op, &late_op, &local, objs, 1));
	dkc_registry_shutdown(t_reg);

	/* refuses: dk_call_redispatch ESHUTDOWN SHUTDOWN */
	CHECK_INT(dk_call_redispatch(&below, &c.call, &late_op, cpu.ks, objs, 1),
		  -ESHUTDOWN);
	boxed.x = &cpu;
	boxed.served_by = &served_by;
	/* refuses: dk_redispatch_boxed ESHUTDOWN SHUTDOWN */
	CHECK_INT(dk_redispatch_boxed(&c.call, cpu.ks, &boxed), -ESHUTDOWN);
	dk_call_leave(&c);
	/* refuses: dk_call_enter_op ESHUTDOWN SHUTDOWN */
	CHECK_INT(late_at(op, &local, &cpu, &served_by), -ESHUTDOWN);
	/* refuses: dk_call_enter_key ESHUTDOWN SHUTDOWN */
	CHECK_INT(late_for_key(op, &local, DK_CPU, &cpu, &served_by), -ESHUTDOWN);
	/* refuses: dk_call_enter_keyset ESHUTDOWN SHUTDOWN */
	CHECK_INT(late_by_keyset(op, &local, cpu.ks, &cpu, &served_by), -ESHUTDOWN);
	/* refuses: dk_call_boxed ESHUTDOWN SHUTDOWN */
	CHECK_INT(dk_call_boxed(op, &late_op, &local, &boxed), -ESHUTDOWN);
	/* refuses: dk_call_boxed_key ESHUTDOWN SHUTDOWN */
	CHECK_INT(dk_call_boxed_key(op, &late_op, &local, DK_CPU, &boxed), -ESHUTDOWN);
	/* refuses: dk_op_route ESHUTDOWN SHUTDOWN */
	CHECK_INT(t_route(op, &cpu, NULL), -ESHUTDOWN);
	/* refuses: dk_stats_enable ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_stats_enable(t_reg, &t_why));
	/* refuses: dk_hooks_register ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_hooks_register(t_reg, &hooks, &t_why));
	/* refuses: dk_provider_register ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_provider_register(&other, &t_why));
	CHECK(!other.core);
	/* refuses: dk_op_define ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_op_define(&prov, &decl, 0, &t_why));
	/* refuses: dk_impls_register ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_impls_register(&prov, impls + 1, 1, &t_why));
	/* refuses: dk_backend_impls_register ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_backend_impls_register(&prov, 2, impls + 1, 1, &t_why));
	fallback = t_fallthrough(NULL, DK_TRACER);
	/* refuses: dk_fallback_register ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_fallback_register(&prov, &fallback, &t_why));
	/* refuses: dk_library_register ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_library_register(&late_lib, &t_why));
	/* refuses: dk_library_def ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_library_def(&lib, &decl, 0, &none, &t_why));
	/* refuses: dk_library_def_impl ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_library_def_impl(&lib, &decl, 0, impls, &none, &t_why));
	/* refuses: dk_library_impl ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_library_impl(&lib, impls, &none, &t_why));
	/* refuses: dk_library_fallback ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_library_fallback(&lib, &fallback, &none, &t_why));
	/* refuses: dk_handle_release ESHUTDOWN SHUTDOWN */
	CHECK_INT(dk_handle_release(&lib, &h), -ESHUTDOWN);
	/* refuses: dk_library_unregister ESHUTDOWN SHUTDOWN */
	CHECK_INT(dk_library_unregister(&lib), -ESHUTDOWN);
	CHECK(h.core && lib.core);
	listener.registry = t_reg;
	/* refuses: dk_listener_register ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_listener_register(&listener, &t_why));
	/* refuses: dk_backend_join ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_backend_join(&prov, "edu", 0, 0, &backend, &t_why));
	/* refuses: dk_device_register ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_device_register(&prov, 1, "more", NULL, NULL, 0, &more,
				     &t_why));
	/* refuses: dk_op_undefine ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_op_undefine(&prov, "after_shutdown::op", &t_why));
	/* refuses: dk_impls_unregister ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_impls_unregister(&prov, impls, &t_why));
	/* refuses: dk_impls_withdraw ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_impls_withdraw(&prov, impls, &t_why));
	/* refuses: dk_device_unregister ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_device_unregister(&prov, device, &t_why));
	/* refuses: dk_provider_drain ESHUTDOWN SHUTDOWN */
	CHECK_INT(dk_provider_drain(&prov), -ESHUTDOWN);
	/* refuses: dk_provider_unregister ESHUTDOWN SHUTDOWN */
	CHECK_INT(dk_provider_unregister(&prov), -ESHUTDOWN);
	/* refuses: dk_device_set_online ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_device_set_online(t_reg, device, 0, &t_why));
	/* refuses: dk_backend_set_online ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_backend_set_online(t_reg, DK_BACKEND_CPU, 0, &t_why));
	/* refuses: dk_device_set_online_timeout ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_device_set_online_timeout(t_reg, device, 0, 1, &t_why));
	/* refuses: dk_backend_set_online_timeout ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_backend_set_online_timeout(t_reg, DK_BACKEND_CPU, 0, 1, &t_why));
	/* refuses: dk_provider_unregister_timeout ESHUTDOWN SHUTDOWN */
	SHUT_DOWN(dk_provider_unregister_timeout(&prov, 0, &t_why));
	CHECK_INT(late_at(op, &local, &cpu, &served_by), -ESHUTDOWN);
	dk_op_put(op);
	CHECK(!dk_op_get(t_reg, "after_shutdown::new"));
	CHECK_INT(served_by, 0);
	t_reg = NULL;
}

/* Runs in a child process, and shuts down all registries as the end of a process does. */
static int in_child(struct dk_provider *me, struct dk_op *in_own)
{
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	struct dk_provider none = DK_PROVIDER("later");
	int served_by = 0;

	dkc_registries_shutdown();
	/* refuses: dk_call_enter ESHUTDOWN SHUTDOWN */
	if (late(&cpu, &served_by) != -ESHUTDOWN)
		return 1;
	if (never(&cpu, &served_by) != -ESHUTDOWN)
		return 2;
	if (dk_impls_register(me, impls, 1, NULL) != -ESHUTDOWN)
		return 3;
	if (dk_provider_unregister(me) != -ESHUTDOWN)
		return 4;
	if (late_at(in_own, dk_local_current(), &cpu, &served_by) != -ESHUTDOWN)
		return 5;
	none.registry = dk_registry_alloc(NULL, 0, NULL);
	if (!none.registry || dk_provider_register(&none, NULL) != -ESHUTDOWN)
		return 6;
	return served_by ? 7 : 0;
}

static void registries_at_exit(void)
{
	struct dk_registry *own = dk_registry_alloc(NULL, DK_REGISTRY_BUILTINS, &t_why);
	struct dk_provider in_own = DK_PROVIDER("in_own");
	static struct dk_provider me = DK_PROVIDER("after_shutdown");
	struct dk_obj cpu = dk_obj_on(DK_BACKEND_CPU, 0);
	int served_by = 0, status = -1;
	struct dk_op *op;
	pid_t child;

	impls[0] = (struct dk_impl)DK_IMPL(late, DK_CPU, late_cpu);
	CHECK_OK(dk_provider_register(&me, &t_why));
	CHECK_OK(dk_op_define(&me, &late_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&me, impls, 1, &t_why));
	CHECK_OK(late(&cpu, &served_by));
	in_own.registry = own;
	CHECK_OK(dk_provider_register(&in_own, &t_why));
	CHECK_OK(dk_op_define(&in_own, &late_op, 0, &t_why));
	CHECK_OK(dk_impls_register(&in_own, impls, 1, &t_why));
	op = dk_op_get(own, "after_shutdown::op");
	fflush(stdout);
	child = fork();
	if (!child)
		_exit(in_child(&me, op));
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
	/* the parent's registries still work */
	CHECK_OK(late(&cpu, &served_by));
	CHECK_OK(late_at(op, dk_local_current(), &cpu, &served_by));
	CHECK_OK(dk_provider_unregister(&me));
	CHECK_OK(dk_provider_unregister(&in_own));
	dk_op_put(op);
	CHECK_OK(dk_registry_free(own, &t_why));
}

T_SUITE(after_shutdown,
	T_PEER(6, requests_after_shutdown_return_errors),
	T_PEER(6, registries_at_exit));
