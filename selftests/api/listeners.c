// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests listeners (SEMANTICS 8.1 and 11.3), and events that PyTorch does not have. full_registry.h
 * explains the comments "refuses:".
 */
#include "full_registry.h"

/* A listener that records its events as "+op", "-op" and "op@key". */
struct recorder {
	struct dk_listener l;
	char seen[512];
	unsigned int n;
	void (*on_event)(struct recorder *self, const struct dk_event *event);
};

static struct dk_provider prov;

static void record_event(struct dk_listener *l, const struct dk_event *event)
{
	struct recorder *e = l->priv;
	size_t len = strlen(e->seen);
	char name[DK_NAME_MAX];

	CHECK_INT(event->size, sizeof(*event));
	e->n++;
	if (event->kind == DK_EVENT_IMPL)
		snprintf(e->seen + len, sizeof(e->seen) - len, "%s@%s ", event->name,
			 dk_key_name(NULL, event->key, name));
	else
		snprintf(e->seen + len, sizeof(e->seen) - len, "%c%s ",
			 event->kind == DK_EVENT_DEFINED ? '+' : '-', event->name);
	if (e->on_event)
		e->on_event(e, event);
}

static void listen(struct recorder *e)
{
	memset(e, 0, sizeof(*e));
	e->l.size = sizeof(e->l);
	e->l.registry = t_reg;
	e->l.notify = record_event;
	e->l.priv = e;
	CHECK_OK(dk_listener_register(&e->l, &t_why));
}

static void check_events(struct recorder *e, const char *text)
{
	CHECK_STR(e->seen, text);
	e->seen[0] = 0;
}

static struct recorder one, two;

static void listener_is_notified_of_definitions_and_functions(void)
{
	struct dk_op_decl a = t_decl("t::a"), b = t_decl("t::b");
	struct dk_impl impls[2] = { t_impl(&a, DK_CPU, 1), t_impl(&b, DK_CUDA, 2) };
	struct dk_impl fallback = t_fallthrough(NULL, DK_PYTHON);
	struct dk_library lib = DK_LIBRARY(&prov, DEF, "t", DK_UNDEFINED);
	struct dk_op_decl c = t_decl("c");
	struct dk_handle h = { NULL };

	t_open("v1", 0);
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&prov, &a, 0, &t_why));
	listen(&one);
	/*
	 * a new listener is notified of operators that are defined already, but not of their
	 * functions
	 */
	check_events(&one, "+t::a ");
	CHECK_OK(dk_impls_register(&prov, impls, 2, &t_why));
	check_events(&one, "t::a@CPU t::b@CUDA ");
	listen(&two);
	check_events(&two, "+t::a ");
	check_events(&one, "");
	CHECK_OK(dk_op_define(&prov, &b, 0, &t_why));
	check_events(&one, "+t::b ");
	check_events(&two, "+t::b ");
	/* a listener is notified of a removed definition, but not of removed functions */
	CHECK_OK(dk_op_undefine(&prov, "t::a", &t_why));
	CHECK_OK(dk_impls_unregister(&prov, impls, &t_why));
	check_events(&one, "-t::a ");
	/* a listener is not notified of fallbacks, which belong to no operator */
	CHECK_OK(dk_fallback_register(&prov, &fallback, &t_why));
	CHECK_OK(dk_impls_unregister(&prov, &fallback, &t_why));
	check_events(&one, "");
	CHECK_OK(dk_listener_unregister(&two.l));
	CHECK_OK(dk_listener_unregister(&two.l));
	CHECK_OK(dk_library_register(&lib, &t_why));
	CHECK_OK(dk_library_def(&lib, &c, 0, &h, &t_why));
	CHECK_OK(dk_handle_release(&lib, &h));
	check_events(&one, "+t::c -t::c ");
	/* refused changes cause no events */
	CHECK_INT(dk_op_define(&prov, &b, 0, &t_why), -EEXIST);
	impls[0].size = 0;
	CHECK_INT(dk_impls_register(&prov, impls, 2, &t_why), -EINVAL);
	impls[1].op = &c;
	CHECK_INT(dk_library_def_impl(&lib, &c, DK_OP_ATOMIC, &impls[1], &h, &t_why),
		  -EINVAL);
	check_events(&one, "");
	/* unregistering a provider removes its definitions */
	t_unregister(&prov);
	check_events(&one, "-t::b ");
	check_events(&two, "-t::a ");
	/* refuses: dk_listener_register EEXIST LISTENING */
	CHECK_INT(dk_listener_register(&one.l, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_LISTENING);
	CHECK_INT(dk_registry_free(t_reg, &t_why), -EBUSY);
	CHECK_OK(dk_listener_unregister(&one.l));
	/* refuses: dk_listener_register EINVAL NO_LISTENER */
	one.l.notify = NULL;
	CHECK_INT(dk_listener_register(&one.l, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_NO_LISTENER);
	one.l.size = 0;
	CHECK_INT(dk_listener_register(&one.l, &t_why), -EINVAL);
	CHECK_INT(t_why.reason, DK_WHY_BAD_SIZE);
	t_close();
}

static struct dk_op_decl more;

/*
 * When "t::a" is defined, undefines it and defines "t::more". Both listeners receive all three
 * events, in order.
 */
static void change_operators(struct recorder *self, const struct dk_event *event)
{
	if (event->kind != DK_EVENT_DEFINED || strcmp(event->name, "t::a"))
		return;
	CHECK_OK(dk_op_undefine(&prov, "t::a", &t_why));
	CHECK_OK(dk_op_define(&prov, &more, 0, &t_why));
	/* refuses: dk_listener_unregister EDEADLK INSIDE */
	CHECK_INT(dk_listener_unregister(&self->l), -EDEADLK);
	/* the listener is notified of these changes after this function has returned */
	CHECK_STR(self->seen, "+t::a ");
}

static void listener_changes_the_registry(void)
{
	struct dk_op_decl a = t_decl("t::a");

	t_open("v1", 0);
	t_join(&prov, "prov");
	more = t_decl("t::more");
	listen(&one);
	listen(&two);
	/* the first listener makes the changes, and later the second one */
	one.on_event = change_operators;
	CHECK_OK(dk_op_define(&prov, &a, 0, &t_why));
	check_events(&one, "+t::a -t::a +t::more ");
	check_events(&two, "+t::a -t::a +t::more ");
	one.on_event = NULL;
	two.on_event = change_operators;
	CHECK_OK(dk_op_undefine(&prov, "t::more", &t_why));
	check_events(&one, "-t::more ");
	two.seen[0] = 0;
	CHECK_OK(dk_op_define(&prov, &a, 0, &t_why));
	check_events(&one, "+t::a -t::a +t::more ");
	check_events(&two, "+t::a -t::a +t::more ");
	CHECK_OK(dk_listener_unregister(&one.l));
	CHECK_OK(dk_listener_unregister(&two.l));
	t_unregister(&prov);
	t_close();
}

static void unregister_other(struct recorder *self, const struct dk_event *event)
{
	self->on_event = NULL;
	CHECK_OK(dk_listener_unregister(self == &one ? &two.l : &one.l));
}

/* A listener that is unregistered during the notification of an event receives no more events. */
static void unregistered_listener_gets_no_event(void)
{
	struct dk_op_decl a = t_decl("t::a"), b = t_decl("t::b");

	t_open("v1", 0);
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&prov, &a, 0, &t_why));
	listen(&one);
	listen(&two);
	one.on_event = unregister_other;
	two.on_event = unregister_other;
	one.n = 0;
	two.n = 0;
	CHECK_OK(dk_op_define(&prov, &b, 0, &t_why));
	CHECK_INT(one.n + two.n, 1);
	CHECK_OK(dk_listener_unregister(&one.l));
	CHECK_OK(dk_listener_unregister(&two.l));
	t_unregister(&prov);
	t_close();
}

static struct recorder three;

/* Registers a listener, unregisters it before its first event, and registers it again. */
static void listen_twice(struct recorder *self, const struct dk_event *event)
{
	self->on_event = NULL;
	listen(&three);
	CHECK_OK(dk_listener_unregister(&three.l));
	listen(&three);
}

/* Events queued for an unregistered listener are not delivered to a new one at its address. */
static void new_listener_gets_no_old_events(void)
{
	struct dk_op_decl a = t_decl("t::a"), b = t_decl("t::b");

	t_open("v1", 0);
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&prov, &a, 0, &t_why));
	listen(&one);
	one.on_event = listen_twice;
	CHECK_OK(dk_op_define(&prov, &b, 0, &t_why));
	CHECK_INT(three.n, 2);
	CHECK_OK(dk_listener_unregister(&three.l));
	CHECK_OK(dk_listener_unregister(&one.l));
	t_unregister(&prov);
	t_close();
}

/* Unregistering a listener that is not registered does not use its registry, which may be freed. */
static void listener_may_outlive_its_registry(void)
{
	t_open("v1", 0);
	listen(&one);
	CHECK_OK(dk_listener_unregister(&one.l));
	t_close();
	/* a pointer to a freed registry would be reported only by ASan or KASAN */
	one.l.registry = (struct dk_registry *)sizeof(long);
	CHECK_OK(dk_listener_unregister(&one.l));
}

/* A listener is in the list of one registry only. */
static void listener_of_another_registry_is_refused(void)
{
	struct dk_registry *other = dk_registry_alloc(NULL, 0, &t_why);

	t_open("v1", 0);
	listen(&one);
	one.l.registry = other;
	CHECK_INT(dk_listener_register(&one.l, &t_why), -EEXIST);
	CHECK_INT(t_why.reason, DK_WHY_LISTENING);
	one.l.registry = t_reg;
	CHECK_OK(dk_listener_unregister(&one.l));
	CHECK_OK(dk_registry_free(other, &t_why));
	t_close();
}

static int refused;

static void unregister_one(struct dk_hooks *h, const struct dk_hook_info *info)
{
	/* refuses: dk_listener_unregister EDEADLK ATOMIC */
	refused = dk_listener_unregister(&one.l);
}

/*
 * A listener can wait for a read-side critical section to end. So inside a section, a wait for a
 * listener is refused.
 */
static void atomic_call_cannot_unregister_a_listener(void)
{
	struct dk_hooks hooks = { .size = sizeof(hooks), .before = unregister_one };
	struct dk_op_decl a = t_decl("t::a"), b = t_decl("t::b");
	struct dk_impl impl = t_impl(&a, DK_CPU, 1);
	struct dk_obj x = t_obj(DK_KEY_BITS(DK_CPU));
	struct dk_op *op;

	if (t_skip_atomic())
		return;
	t_open("v1", 0);
	t_join(&prov, "prov");
	CHECK_OK(dk_op_define(&prov, &a, 0, &t_why));
	CHECK_OK(dk_impls_register(&prov, &impl, 1, &t_why));
	op = dk_op_get(t_reg, "t::a");
	listen(&one);
	one.seen[0] = 0;
	CHECK_OK(dk_hooks_register(t_reg, &hooks, &t_why));
	CHECK_INT(t_call(op, &x, NULL), 1);
	CHECK_OK(dk_hooks_unregister(&hooks, &t_why));
	CHECK_INT(refused, -EDEADLK);
	CHECK_OK(dk_op_define(&prov, &b, 0, &t_why));
	check_events(&one, "+t::b ");
	CHECK_OK(dk_listener_unregister(&one.l));
	dk_op_put(op);
	t_unregister(&prov);
	t_close();
}

T_SUITE(listeners,
	T(listener_is_notified_of_definitions_and_functions),
	T(listener_changes_the_registry),
	T(unregistered_listener_gets_no_event),
	T(new_listener_gets_no_old_events),
	T(listener_may_outlive_its_registry),
	T(listener_of_another_registry_is_refused),
	T(atomic_call_cannot_unregister_a_listener));
