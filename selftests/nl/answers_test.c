// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the structs that the client returns. Three modules send the replies: one that follows the
 * specification, an older one and a newer one.
 */
#include <errno.h>
#include <stdlib.h>

#include "client.h"

/* ---- every answer -------------------------------------------------------- */

TEST(info)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_info *info;

	EXPECT_EQ(dk_nl_info_get(nl, &info), 0);
	EXPECT_EQ(info->size, sizeof(*info));
	EXPECT_STREQ(info->version, "0.9.1");
	EXPECT_EQ(info->abi, 1);
	EXPECT_STREQ(info->layout, "v1");
	EXPECT_EQ(info->generation, 77);
	EXPECT_EQ(info->operators, 412);
	EXPECT_EQ(info->impls, 1000);
	EXPECT_EQ(info->providers, 2);
	EXPECT_EQ(info->devices, 4);
	EXPECT_EQ(info->counters, DK_NL_STATE_ONLINE);
	EXPECT_EQ(dk_nl_why(nl)->code, 0);
	EXPECT_STREQ(dk_nl_strerror(nl), "");
	dk_nl_free(info);
	close_nl(nl);
}

TEST(layout)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_layout *l;

	EXPECT_EQ(dk_nl_layout_get(nl, &l), 0);
	EXPECT_STREQ(l->name, "v1");
	EXPECT_EQ(l->entries, 1000);
	EXPECT_EQ(l->num_backends, 2);
	EXPECT_EQ(l->num_functionalities, 3);
	EXPECT_EQ(l->num_aliases, 1);
	EXPECT_STREQ(l->backends->name, "CPU");
	EXPECT_STREQ(l->backends->next->name, "CUDA");
	EXPECT_EQ(l->backends->next->number, 2);
	EXPECT(!l->backends->next->next);
	EXPECT_EQ(l->functionalities->is_per_backend, 0);
	EXPECT_EQ(l->functionalities->next->is_per_backend, 1);
	EXPECT_EQ(l->functionalities->next->slot, 16);
	EXPECT_STREQ(l->aliases->name, "Autograd");
	EXPECT_EQ(l->aliases->number, 200);
	dk_nl_free(l);
	close_nl(nl);
}

TEST(backends)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_backend *list, *b;
	unsigned int n = 0;

	EXPECT_EQ(dk_nl_backend_get(nl, 0, "edu", &b), 0);
	EXPECT_EQ(b->number, 14);
	EXPECT_EQ(b->state, DK_NL_STATE_OFFLINE);
	EXPECT_EQ(b->is_bound, 1);
	EXPECT_EQ(b->is_alone, 0);
	EXPECT_EQ(b->devices, 2);
	EXPECT_EQ(b->impls, 9);
	EXPECT_EQ(b->joined, 20);
	EXPECT_STREQ(b->name, "edu");
	EXPECT_STREQ(b->key_name, "PrivateUse1");
	EXPECT_EQ(b->num_providers, 2);
	EXPECT_STREQ(b->providers[0], "dk_edu");
	EXPECT_STREQ(b->providers[1], "other");
	EXPECT(!b->next);
	dk_nl_free(b);
	EXPECT_EQ(dk_nl_backends(nl, &list), 0);
	for (b = list; b; b = b->next)
		EXPECT_EQ(b->number, 14 + n++);
	EXPECT_EQ(n, 3);
	dk_nl_free(list);
	close_nl(nl);
}

TEST(devices)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_device *d;

	EXPECT_EQ(dk_nl_device_get(nl, 65536, NULL, &d), 0);
	EXPECT_EQ(d->number, 65536);
	EXPECT_EQ(d->backend, 14);
	EXPECT_EQ(d->state, DK_NL_STATE_ONLINE);
	EXPECT_EQ(d->backend_state, DK_NL_STATE_OFFLINE);
	EXPECT_EQ(d->impls, 5);
	EXPECT_STREQ(d->name, "edu0");
	EXPECT_STREQ(d->backend_name, "edu");
	EXPECT_STREQ(d->provider, "dk_edu");
	dk_nl_free(d);
	EXPECT_EQ(dk_nl_devices(nl, 14, &d), 0);
	EXPECT_STREQ(d->next->name, "edu1");
	dk_nl_free(d);
	close_nl(nl);
}

TEST(switches)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_switched *s;

	EXPECT_EQ(dk_nl_backend_set_online(nl, 0, "edu", 0, &s), 0);
	EXPECT_EQ(s->number, 14);
	EXPECT_EQ(s->state, DK_NL_STATE_OFFLINE);
	EXPECT_STREQ(s->name, "edu0");
	EXPECT_STREQ(s->unserved, "aten::add at edu");
	EXPECT_STREQ(s->inside, "");
	dk_nl_free(s);
	EXPECT_EQ(dk_nl_device_set_online(nl, 0, "edu0", 1, &s), 0);
	EXPECT_STREQ(s->unserved, "aten::add at edu");
	dk_nl_free(s);
	EXPECT_EQ(dk_nl_device_set_online(nl, 0, "edu0", 1, NULL), 0);
	close_nl(nl);
}

/*
 * The device goes offline, but a call is still inside. The client returns -EINPROGRESS, and also
 * the reply, which names the call.
 */
TEST(switched_and_inside)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_switched *s;

	calls_inside = true;
	/* refuses: dk_nl_device_set_online EINPROGRESS */
	EXPECT_EQ(dk_nl_device_set_online(nl, 0, "edu0", 0, &s), -EINPROGRESS);
	EXPECT_STREQ(s->unserved, "aten::add at edu");
	EXPECT_STREQ(s->inside, "aten::add add_edu python3[17] 1500 ms");
	dk_nl_free(s);
	EXPECT_STREQ(dk_nl_why(nl)->sentence,
		     "\"edu0\" is offline, but a call has not returned: "
		     "aten::add add_edu python3[17] 1500 ms");
	/* refuses: dk_nl_backend_set_online EINPROGRESS */
	EXPECT_EQ(dk_nl_backend_set_online(nl, 0, "edu", 0, NULL), -EINPROGRESS);
	calls_inside = false;
	close_nl(nl);
}

TEST(providers)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_provider *p;

	EXPECT_EQ(dk_nl_provider_get(nl, "dk_edu", &p), 0);
	EXPECT_STREQ(p->name, "dk_edu");
	EXPECT_STREQ(p->module, "dk_edu");
	EXPECT_EQ(p->state, DK_NL_PROVIDER_UNREGISTERING);
	EXPECT_EQ(p->operators, 3);
	EXPECT_EQ(p->impls, 6);
	EXPECT_EQ(p->devices, 2);
	EXPECT_EQ(p->num_backends, 1);
	EXPECT_STREQ(p->backends[0], "edu");
	EXPECT_EQ(p->has_calls, 1);
	EXPECT_EQ(p->calls, 1ULL << 40);
	EXPECT_EQ(p->num_inside, 2);
	EXPECT_STREQ(p->inside[0], "aten::add add_edu python3[17] 1500 ms");
	EXPECT_STREQ(p->inside[1], "aten::add add_edu (deferred)[18] 90 ms");
	dk_nl_free(p);
	EXPECT_EQ(dk_nl_providers(nl, &p), 0);
	EXPECT_EQ(p->next->has_calls, 0);
	EXPECT_EQ(p->next->calls, 0);
	dk_nl_free(p);
	close_nl(nl);
}

TEST(operators)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_op *op;

	EXPECT_EQ(dk_nl_op_get(nl, "aten::op00000", &op), 0);
	EXPECT_STREQ(op->name, "aten::op00000");
	EXPECT_STREQ(op->schema, "op(Tensor x) -> Tensor");
	EXPECT_STREQ(op->provider, "dk_cpu");
	EXPECT_EQ(op->flags, DK_NL_OP_ATOMIC);
	EXPECT_EQ(op->num_impls, 2);
	EXPECT_EQ(op->num_device_impls, 1);
	EXPECT_EQ(op->max_objs, 3);
	EXPECT_STREQ(op->impls->op, "aten::op00000");
	EXPECT_EQ(op->impls->next->key, 31);
	EXPECT(!op->impls->next->next);
	EXPECT_EQ(fake_requests, 1);
	dk_nl_free(op);
	EXPECT_EQ(dk_nl_ops(nl, NULL, &op), 0);
	EXPECT_STREQ(op->next->next->name, "aten::op00002");
	EXPECT(!op->impls);
	dk_nl_free(op);
	close_nl(nl);
}

TEST(functions)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_impl *i;

	EXPECT_EQ(dk_nl_impl_get(nl, "aten::add", 30, 0, &i), 0);
	EXPECT_STREQ(i->op, "aten::add");
	EXPECT_EQ(i->key, 30);
	EXPECT_STREQ(i->key_name, "edu");
	EXPECT_STREQ(i->label, "add");
	EXPECT_STREQ(i->provider, "dk_edu");
	EXPECT_EQ(i->device, 65536);
	EXPECT_STREQ(i->device_name, "edu0");
	EXPECT_EQ(i->flags, DK_NL_IMPL_ACTIVE | DK_NL_IMPL_BOXED);
	dk_nl_free(i);
	EXPECT_EQ(dk_nl_impls(nl, NULL, &i), 0);
	EXPECT_EQ(i->next->next->key, 32);
	dk_nl_free(i);
	close_nl(nl);
}

TEST(tables)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_run *run;

	EXPECT_EQ(dk_nl_table_get(nl, "aten::add", 0, "edu0", &run), 0);
	EXPECT_EQ(run->next->first, 10);
	EXPECT_EQ(run->next->last, 14);
	EXPECT_STREQ(run->first_key, "CPU");
	EXPECT_STREQ(run->last_key, "XPU");
	EXPECT_EQ(run->provenance, DK_NL_PROV_MATH);
	EXPECT_EQ(run->flags, DK_NL_IMPL_ACTIVE);
	EXPECT_STREQ(run->label, "add");
	EXPECT_STREQ(run->provider, "dk_edu");
	EXPECT_EQ(run->device, 65536);
	EXPECT_STREQ(run->device_name, "edu0");
	dk_nl_free(run);
	EXPECT_EQ(dk_nl_table_entry_get(nl, "aten::add", 0, NULL, 3, &run), 0);
	EXPECT_EQ(run->last, 4);
	dk_nl_free(run);
	close_nl(nl);
}

static void check_route(const struct dk_nl_route *r)
{
	EXPECT_STREQ(r->op, "aten::add");
	EXPECT_EQ(r->included.bits, 1);
	EXPECT_EQ(r->excluded.bits, 2);
	EXPECT_EQ(r->raw.bits, 3);
	EXPECT_EQ(r->merged.bits, 4);
	EXPECT_EQ(r->effective.bits, 5ULL << 33);
	EXPECT_EQ(r->slot, 15);
	EXPECT_EQ(r->key, 31);
	EXPECT_STREQ(r->key_name, "edu");
	EXPECT_EQ(r->error, -38);
	EXPECT_EQ(r->provenance, DK_NL_PROV_KERNEL);
	EXPECT_EQ(r->flags, DK_NL_IMPL_ACTIVE);
	EXPECT_STREQ(r->label, "add");
	EXPECT_STREQ(r->provider, "dk_edu");
	EXPECT_EQ(r->device, 65536);
	EXPECT_STREQ(r->device_name, "edu0");
	EXPECT_EQ(r->generation, 77);
}

TEST(routes)
{
	struct dk_nl_obj objs[] = { { .device_name = "edu0" }, { .ks = { 1 } } };
	struct dk_nl_call call = {
		.size = sizeof(call), .op = "aten::add", .objs = objs, .num_objs = 2,
	};
	struct dk_nl *nl = open_nl();
	const struct dk_nl_route *r;
	const struct dk_nl_step *s;

	EXPECT_EQ(dk_nl_route_get(nl, &call, &r), 0);
	check_route(r);
	dk_nl_free(r);
	EXPECT_EQ(dk_nl_explain(nl, &call, &r, &s), 0);
	check_route(r);
	/* the steps do not point into the route */
	dk_nl_free(r);
	EXPECT_EQ(s->size, sizeof(*s));
	EXPECT_EQ(s->kind, DK_NL_STEP_IMPL);
	EXPECT_EQ(s->rule, 1);
	EXPECT_EQ(s->verdict, DK_NL_VERDICT_BARRED);
	EXPECT_EQ(s->bearing, DK_NL_BEARING_DECIDES);
	EXPECT_EQ(s->key, 31);
	EXPECT_STREQ(s->key_name, "edu");
	EXPECT_EQ(s->generation, 77);
	EXPECT_EQ(s->is_fallback, 1);
	EXPECT_STREQ(s->impl->label, "add");
	EXPECT_STREQ(s->impl->op, "");
	EXPECT_EQ(s->next->is_fallback, 0);
	EXPECT_STREQ(s->next->impl->op, "aten::add");
	EXPECT(!s->next->next->impl);
	EXPECT(!s->next->next->next);
	dk_nl_free(s);
	close_nl(nl);
}

/* Structs grow at their end: the members of the first version keep their offsets. */
TEST(counters_grow_at_their_end)
{
	EXPECT_EQ(offsetof(struct dk_nl_stats, state), 4);
	EXPECT_EQ(offsetof(struct dk_nl_stats, count), 8);
	EXPECT_EQ(offsetof(struct dk_nl_stats, uncounted), 16);
	EXPECT(offsetof(struct dk_nl_stats, readers) >
	       offsetof(struct dk_nl_stats, uncounted));
	EXPECT(offsetof(struct dk_nl_stats, has_count) >
	       offsetof(struct dk_nl_stats, readers));
}

TEST(counters)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_counter *c;
	const struct dk_nl_stats *s;

	EXPECT_EQ(dk_nl_stats_get(nl, &s), 0);
	EXPECT_EQ(s->state, DK_NL_STATE_ONLINE);
	EXPECT_EQ(s->count, 5000000000ULL);
	EXPECT_EQ(s->uncounted, 3);
	EXPECT_EQ(s->has_count, 1);
	EXPECT_EQ(s->readers, DK_NL_READERS_ADMINS);
	EXPECT_EQ(s->gone, 4000000000ULL);
	dk_nl_free(s);
	EXPECT_EQ(dk_nl_counters(nl, NULL, &c), 0);
	EXPECT_STREQ(c->op, "aten::add");
	EXPECT_EQ(c->kind, DK_NL_STAT_FALLBACK);
	EXPECT_EQ(c->key, 31);
	EXPECT_STREQ(c->key_name, "edu");
	EXPECT_STREQ(c->provider, "");
	EXPECT_EQ(c->has_count, 1);
	EXPECT_EQ(c->count, 12);
	EXPECT_EQ(c->next->has_count, 0);
	dk_nl_free(c);
	EXPECT_EQ(dk_nl_stats_enable(nl, 1), 0);
	EXPECT_EQ(dk_nl_stats_reset(nl), 0);
	EXPECT_EQ(dk_nl_stats_set_readers(nl, DK_NL_READERS_ADMINS), 0);
	close_nl(nl);
}

TEST(limits)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_limit *l;

	EXPECT_EQ(dk_nl_limit_get(nl, "private-backends", &l), 0);
	EXPECT_STREQ(l->name, "private-backends");
	EXPECT_EQ(l->most, 3);
	EXPECT_EQ(l->has_used, 1);
	EXPECT_EQ(l->used, 1);
	dk_nl_free(l);
	EXPECT_EQ(dk_nl_limits(nl, &l), 0);
	EXPECT_EQ(l->next->has_used, 0);
	dk_nl_free(l);
	close_nl(nl);
}

TEST(an_empty_list)
{
	const struct dk_nl_op *op = (void *)1;
	struct dk_nl *nl = open_nl();

	elements = 0;
	EXPECT_EQ(dk_nl_ops(nl, NULL, &op), 0);
	EXPECT(!op);
	dk_nl_free(op);
	close_nl(nl);
}

TEST(a_long_list)
{
	const struct dk_nl_op *list, *op;
	struct dk_nl *nl = open_nl();
	unsigned int n = 0;

	elements = 65536;
	EXPECT_EQ(dk_nl_ops(nl, NULL, &list), 0);
	for (op = list; op; op = op->next)
		if (strtoul(op->name + strlen("aten::op"), NULL, 10) != n++)
			break;
	EXPECT_EQ(n, 65536);
	dk_nl_free(list);
	close_nl(nl);
}

/* ---- other versions ------------------------------------------------------ */

TEST(fields_missing_from_an_older_module)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_backend *b;
	const struct dk_nl_provider *p;
	const struct dk_nl_device *d;
	const struct dk_nl_op *op;

	module_version = OLDER;
	EXPECT_EQ(dk_nl_backend_get(nl, 14, NULL, &b), 0);
	EXPECT_STREQ(b->key_name, "");
	EXPECT_EQ(b->state, DK_NL_STATE_ONLINE);
	EXPECT_EQ(b->num_providers, 0);
	dk_nl_free(b);
	EXPECT_EQ(dk_nl_device_get(nl, 1, NULL, &d), 0);
	EXPECT_EQ(d->state, DK_NL_STATE_ONLINE);
	EXPECT_EQ(d->backend_state, DK_NL_STATE_ONLINE);
	EXPECT_STREQ(d->provider, "");
	dk_nl_free(d);
	EXPECT_EQ(dk_nl_provider_get(nl, "dk_edu", &p), 0);
	EXPECT_EQ(p->has_calls, 0);
	EXPECT_STREQ(p->module, "");
	dk_nl_free(p);
	EXPECT_EQ(dk_nl_op_get(nl, "aten::op00000", &op), 0);
	EXPECT_STREQ(op->schema, "");
	EXPECT_STREQ(op->impls->device_name, "");
	dk_nl_free(op);
	close_nl(nl);
}

TEST(fields_of_a_newer_module)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_device *d;
	unsigned int n = 0;

	module_version = NEWER;
	EXPECT_EQ(dk_nl_devices(nl, 0, &d), 0);
	for (const struct dk_nl_device *i = d; i; i = i->next)
		n++;
	EXPECT_EQ(n, 3);
	EXPECT_STREQ(d->name, "edu0");
	dk_nl_free(d);
	close_nl(nl);
}
