// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the client and the module, with the sample drivers and two edu accelerators. The last test
 * unloads the module, which test_live.sh has loaded.
 */
#include <dispatchkey-nl.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define FACTORIAL	"sample::factorial"

static struct dk_nl *open_nl(void)
{
	struct dk_nl_options o = { .size = sizeof(o), .layout = "v1" };
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl *nl = NULL;

	if (!EXPECT_EQ(dk_nl_open(&o, &nl, &why), 0)) {
		printf("# %s\n", why.sentence);
		exit(1);
	}
	return nl;
}

/* Expects that a request has succeeded. Returns true if it has. */
static bool went_well(struct dk_nl *nl, int err)
{
	if (!EXPECT_EQ(err, 0)) {
		printf("#   %s\n", dk_nl_strerror(nl));
		return false;
	}
	return true;
}

/* The name of an accelerator, and its number. */
static char card[DK_NAME_MAX];
static __u32 card_number;

/* ---- lists ---------------------------------------------------------------- */

TEST(the_module)
{
	const struct dk_nl_info *info;
	struct dk_nl *nl = open_nl();

	if (went_well(nl, dk_nl_info_get(nl, &info))) {
		EXPECT_STREQ(info->version, dk_nl_version());
		EXPECT_STREQ(info->layout, "v1");
		EXPECT_EQ(info->abi, DK_ABI_VERSION);
		EXPECT(info->operators > 0 && info->impls > 0 && info->providers >= 2);
		EXPECT(info->devices >= 2);
		dk_nl_free(info);
	}
	dk_nl_close(nl);
}

TEST(the_layout)
{
	const struct dk_nl_layout *l;
	struct dk_nl *nl = open_nl();

	if (went_well(nl, dk_nl_layout_get(nl, &l))) {
		EXPECT_STREQ(l->name, "v1");
		EXPECT_EQ(l->num_backends, DK_NUM_BACKENDS);
		/* all but Undefined, which has no bit */
		EXPECT_EQ(l->num_functionalities, DK_NUM_FUNCTIONALITIES - 1);
		EXPECT_STREQ(l->backends->name, "CPU");
		EXPECT(l->num_aliases > 0);
		dk_nl_free(l);
	}
	dk_nl_close(nl);
}

TEST(backends)
{
	const struct dk_nl_backend *list, *b, *edu = NULL, *one;
	struct dk_nl *nl = open_nl();

	if (went_well(nl, dk_nl_backends(nl, &list))) {
		for (b = list; b; b = b->next)
			if (!strcmp(b->name, "edu"))
				edu = b;
		if (EXPECT(edu)) {
			EXPECT(edu->is_bound);
			EXPECT(edu->devices >= 2);
			EXPECT_EQ(edu->state, DK_NL_STATE_ONLINE);
			EXPECT(edu->num_providers >= 1);
			EXPECT(!strncmp(edu->key_name, "PrivateUse", 10));
			went_well(nl, dk_nl_backend_get(nl, edu->number, NULL, &one));
			EXPECT_STREQ(one ? one->name : NULL, "edu");
			dk_nl_free(one);
		}
		dk_nl_free(list);
	}
	dk_nl_close(nl);
}

TEST(devices)
{
	const struct dk_nl_device *list, *d, *one;
	struct dk_nl *nl = open_nl();
	unsigned int n = 0;

	if (went_well(nl, dk_nl_devices(nl, 0, &list))) {
		for (d = list; d; d = d->next, n++)
			EXPECT_STREQ(d->backend_name, "edu");
		EXPECT(n >= 2);
		strcpy(card, list->name);
		card_number = list->number;
		dk_nl_free(list);
	}
	if (went_well(nl, dk_nl_device_get(nl, 0, card, &one))) {
		EXPECT_EQ(one->number, card_number);
		EXPECT_STREQ(one->name, card);
		dk_nl_free(one);
	}
	dk_nl_close(nl);
}

TEST(providers)
{
	const struct dk_nl_provider *list, *p;
	struct dk_nl *nl = open_nl();
	unsigned int seen = 0;

	if (went_well(nl, dk_nl_providers(nl, &list))) {
		for (p = list; p; p = p->next)
			seen += !strcmp(p->module, "dk_cpu") || !strcmp(p->module, "dk_edu");
		EXPECT(seen >= 2);
		if (went_well(nl, dk_nl_provider_get(nl, list->name, &p))) {
			EXPECT_STREQ(p->name, list->name);
			dk_nl_free(p);
		}
		dk_nl_free(list);
	}
	dk_nl_close(nl);
}

TEST(operators_and_their_functions)
{
	struct dk_nl_op_filter f = { .size = sizeof(f), .prefix = "sample::" };
	struct dk_nl_impl_filter fi = { .size = sizeof(fi) };
	const struct dk_nl_op *list, *o, *op;
	const struct dk_nl_impl *i, *impls;
	struct dk_nl *nl = open_nl();
	unsigned int n, all = 0;

	if (went_well(nl, dk_nl_ops(nl, &f, &list))) {
		for (o = list; o; o = o->next, all++) {
			EXPECT(!strncmp(o->name, "sample::", 8));
			EXPECT(!o->next || strcmp(o->name, o->next->name) < 0);
			if (!went_well(nl, dk_nl_op_get(nl, o->name, &op)))
				continue;
			for (n = 0, i = op->impls; i; i = i->next, n++)
				EXPECT_STREQ(i->op, op->name);
			EXPECT_EQ(n, op->num_impls);
			EXPECT_EQ(o->num_impls, op->num_impls);
			dk_nl_free(op);
			fi.op = o->name;
			went_well(nl, dk_nl_impls(nl, &fi, &impls));
			for (n = 0, i = impls; i; i = i->next)
				n++;
			EXPECT_EQ(n, o->num_impls);
			dk_nl_free(impls);
		}
		EXPECT(all >= 2);
		dk_nl_free(list);
	}
	dk_nl_close(nl);
}

TEST(limits)
{
	const struct dk_nl_limit *list, *l;
	struct dk_nl *nl = open_nl();

	if (went_well(nl, dk_nl_limits(nl, &list))) {
		EXPECT(list && list->name[0] && list->most);
		if (went_well(nl, dk_nl_limit_get(nl, list->name, &l))) {
			EXPECT_EQ(l->most, list->most);
			dk_nl_free(l);
		}
		dk_nl_free(list);
	}
	dk_nl_close(nl);
}

/* ---- routes of calls ------------------------------------------------------ */

TEST(tables)
{
	const struct dk_nl_run *list, *run, *one;
	struct dk_nl *nl = open_nl();
	int err;

	if (went_well(nl, dk_nl_table_get(nl, FACTORIAL, 0, card, &list))) {
		EXPECT(list);
		for (run = list; run; run = run->next) {
			EXPECT(run->first <= run->last);
			EXPECT(!run->next || run->last < run->next->first);
			EXPECT(run->label[0] && run->first_key[0] && run->last_key[0]);
		}
		err = dk_nl_table_entry_get(nl, FACTORIAL, 0, card, list->last, &one);
		if (went_well(nl, err)) {
			EXPECT_EQ(one->first, list->first);
			EXPECT_EQ(one->last, list->last);
			EXPECT_STREQ(one->label, list->label);
			dk_nl_free(one);
		}
		dk_nl_free(list);
	}
	dk_nl_close(nl);
}

/* Returns true if a function of the card serves calls with an object on it. */
static bool goes_to_card(struct dk_nl *nl)
{
	struct dk_nl_obj obj = { .device_name = card };
	struct dk_nl_call call = {
		.size = sizeof(call), .op = FACTORIAL, .objs = &obj, .num_objs = 1,
	};
	const struct dk_nl_route *r;
	bool does = false;

	if (went_well(nl, dk_nl_route_get(nl, &call, &r))) {
		does = r->device == card_number && !r->error;
		EXPECT_STREQ(r->op, FACTORIAL);
		EXPECT(r->raw.bits);
		dk_nl_free(r);
	}
	return does;
}

TEST(routes)
{
	struct dk_nl_obj obj = { .device_name = card };
	struct dk_nl_call call = {
		.size = sizeof(call), .op = FACTORIAL, .objs = &obj, .num_objs = 1,
	};
	unsigned int rules = 0, serving = 0;
	struct dk_nl *nl = open_nl();
	const struct dk_nl_route *r;
	const struct dk_nl_step *steps, *s;

	EXPECT(goes_to_card(nl));
	if (went_well(nl, dk_nl_explain(nl, &call, &r, &steps))) {
		for (s = steps; s; s = s->next) {
			rules += s->kind == DK_NL_STEP_RULE;
			serving += s->kind == DK_NL_STEP_IMPL &&
				   s->bearing == DK_NL_BEARING_SERVES;
			if (s->impl)
				EXPECT_STREQ(s->impl->op, s->is_fallback ? "" : FACTORIAL);
			EXPECT_EQ(s->generation, r->generation);
		}
		EXPECT_EQ(rules, 11);
		EXPECT_EQ(serving, 1);
		dk_nl_free(r);
		dk_nl_free(steps);
	}
	dk_nl_close(nl);
}

/* ---- switches and events -------------------------------------------------- */

/* Waits for the next event of this kind. Returns false after a timeout or an error. */
static bool wait_for(struct dk_nl_monitor *m, __u32 kind, struct dk_nl_event *e)
{
	*e = (struct dk_nl_event){ .size = sizeof(*e) };
	while (dk_nl_monitor_next(m, 5000, e) == 1)
		if (e->kind == kind)
			return true;
	return false;
}

TEST(a_card_goes_offline_and_comes_back)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_switched *s;
	const struct dk_nl_device *d;
	struct dk_nl_monitor *m = NULL;
	struct dk_nl_event e;

	EXPECT_EQ(dk_nl_monitor_open(NULL, &m, NULL), 0);
	if (went_well(nl, dk_nl_device_set_online(nl, 0, card, 0, &s))) {
		EXPECT_EQ(s->number, card_number);
		EXPECT_EQ(s->state, DK_NL_STATE_OFFLINE);
		dk_nl_free(s);
	}
	EXPECT(!goes_to_card(nl));
	if (EXPECT(wait_for(m, DK_NL_EVENT_DEVICE_STATE, &e))) {
		EXPECT_STREQ(e.name, card);
		EXPECT_EQ(e.number, card_number);
		EXPECT_EQ(e.state, DK_NL_STATE_OFFLINE);
		EXPECT(e.time && e.generation);
	}
	went_well(nl, dk_nl_device_get(nl, card_number, NULL, &d));
	EXPECT_EQ(d ? d->state : 9, DK_NL_STATE_OFFLINE);
	dk_nl_free(d);
	went_well(nl, dk_nl_device_set_online(nl, card_number, NULL, 1, NULL));
	EXPECT(goes_to_card(nl));
	EXPECT(wait_for(m, DK_NL_EVENT_DEVICE_STATE, &e));
	EXPECT_EQ(e.state, DK_NL_STATE_ONLINE);
	went_well(nl, dk_nl_backend_set_online(nl, 0, "edu", 0, NULL));
	EXPECT(!goes_to_card(nl));
	went_well(nl, dk_nl_backend_set_online(nl, 0, "edu", 1, NULL));
	EXPECT(goes_to_card(nl));
	EXPECT(wait_for(m, DK_NL_EVENT_BACKEND_STATE, &e));
	EXPECT_STREQ(e.name, "edu");
	dk_nl_monitor_close(m);
	dk_nl_close(nl);
}

TEST(counters)
{
	struct dk_nl_counter_filter f = { .size = sizeof(f), .op = FACTORIAL };
	const struct dk_nl_counter *list;
	const struct dk_nl_stats *s;
	struct dk_nl *nl = open_nl();

	went_well(nl, dk_nl_stats_enable(nl, 1));
	went_well(nl, dk_nl_stats_set_readers(nl, DK_NL_READERS_ADMINS));
	if (went_well(nl, dk_nl_stats_get(nl, &s))) {
		EXPECT_EQ(s->state, DK_NL_STATE_ONLINE);
		EXPECT_EQ(s->readers, DK_NL_READERS_ADMINS);
		EXPECT_EQ(s->has_count, 1);
		dk_nl_free(s);
	}
	went_well(nl, dk_nl_stats_set_readers(nl, DK_NL_READERS_ALL));
	went_well(nl, dk_nl_counters(nl, &f, &list));
	EXPECT_STREQ(list ? list->op : NULL, FACTORIAL);
	dk_nl_free(list);
	went_well(nl, dk_nl_stats_reset(nl));
	went_well(nl, dk_nl_stats_enable(nl, 0));
	dk_nl_close(nl);
}

/* ---- refusals ------------------------------------------------------------- */

/* Expects that the error text begins with @begins. The module's message follows. */
static void said(struct dk_nl *nl, const char *begins)
{
	if (!EXPECT(!strncmp(dk_nl_strerror(nl), begins, strlen(begins))))
		printf("#   \"%s\" instead of \"%s...\"\n", dk_nl_strerror(nl), begins);
	else
		printf("# %s\n", dk_nl_strerror(nl));
}

TEST(refusals_in_words)
{
	struct dk_nl_obj obj = { .device_name = "edu9" };
	struct dk_nl_call call = {
		.size = sizeof(call), .op = FACTORIAL, .objs = &obj, .num_objs = 1,
	};
	struct dk_nl_op_filter f = { .size = sizeof(f), .backend = 99 };
	struct dk_nl *nl = open_nl();
	const struct dk_nl_device *d;
	const struct dk_nl_op *op;
	const struct dk_nl_run *run;
	const struct dk_nl_route *r;
	const struct dk_nl_backend *b;

	EXPECT(dk_nl_device_get(nl, 0, "edu9", &d) < 0);
	said(nl, "device \"edu9\": ");
	EXPECT(dk_nl_backend_get(nl, 99, NULL, &b) < 0);
	said(nl, "backend 99: ");
	EXPECT(dk_nl_op_get(nl, "no::such", &op) < 0);
	said(nl, "operator \"no::such\": ");
	EXPECT(dk_nl_ops(nl, &f, &op) < 0);
	said(nl, "backend 99: ");
	EXPECT(dk_nl_table_entry_get(nl, "no::such", 0, NULL, 1, &run) < 0);
	said(nl, "operator \"no::such\": ");
	/* after a dump has begun, Linux 6.1 sends only the message */
	EXPECT(dk_nl_table_get(nl, "no::such", 0, NULL, &run) < 0);
	EXPECT(dk_nl_why(nl)->message[0]);
	printf("# %s\n", dk_nl_strerror(nl));
	EXPECT(dk_nl_route_get(nl, &call, &r) < 0);
	said(nl, "device \"edu9\": ");
	EXPECT_STREQ(dk_nl_why(nl)->attribute, "obj.device-name");
	EXPECT(dk_nl_table_entry_get(nl, NULL, 0, NULL, 1, &run) < 0);
	printf("# %s\n", dk_nl_strerror(nl));
	EXPECT_STREQ(dk_nl_why(nl)->missing, "op");
	dk_nl_close(nl);
}

TEST(another_layout)
{
	struct dk_nl_options o = { .size = sizeof(o), .layout = "v99" };
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl *nl;

	EXPECT_EQ(dk_nl_open(&o, &nl, &why), -EPROTO);
	printf("# %s\n", why.sentence);
	EXPECT(!strncmp(why.sentence, "layout \"v99\": ", 14));
}

/* Runs a test in a child process. Returns 0 if the expectations held. */
static int child(int (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(run());
	waitpid(pid, &status, 0);
	return status;
}

static int as_user_nobody(void)
{
	const struct dk_nl_device *d;
	struct dk_nl *nl;

	if (setgid(65534) || setuid(65534) || dk_nl_open(NULL, &nl, NULL))
		return 1;
	if (dk_nl_devices(nl, 0, &d) || !d)
		return 2;
	if (dk_nl_device_set_online(nl, 0, card, 0, NULL) != -EPERM)
		return 3;
	return strstr(dk_nl_strerror(nl), "CAP_NET_ADMIN") ? 0 : 4;
}

static int elsewhere(void)
{
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl *nl;

	if (unshare(CLONE_NEWNET) || dk_nl_open(NULL, &nl, &why) != -ENOENT)
		return 1;
	return strstr(why.sentence, "initial network namespace") ? 0 : 2;
}

TEST(unprivileged_user_only_reads)
{
	EXPECT_EQ(child(as_user_nobody), 0);
}

TEST(another_network_namespace)
{
	EXPECT_EQ(child(elsewhere), 0);
}

/* ---- the module is unloaded ------------------------------------------------ */

TEST(the_module_is_removed)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_info *info;
	struct dk_nl_monitor *m = NULL;
	struct dk_nl_event e;

	EXPECT_EQ(dk_nl_monitor_open(NULL, &m, NULL), 0);
	EXPECT_EQ(system("rmmod dk_client dk_edu dk_cpu"), 0);
	EXPECT(wait_for(m, DK_NL_EVENT_DEVICE_REMOVED, &e));
	/* the module sends events with a delay, and is unloaded before the delay has passed */
	went_well(nl, dk_nl_backend_release(nl, "edu"));
	EXPECT_EQ(syscall(SYS_delete_module, "dispatchkey", O_NONBLOCK), 0);
	if (EXPECT(wait_for(m, DK_NL_EVENT_BACKEND_REMOVED, &e)))
		EXPECT_STREQ(e.name, "edu");
	while (dk_nl_monitor_next(m, 5000, &e) == 1)
		;
	EXPECT_EQ(dk_nl_monitor_why(m)->code, -ENODEV);
	EXPECT_EQ(dk_nl_info_get(nl, &info), -ENOENT);
	EXPECT_STREQ(dk_nl_strerror(nl),
		     "dispatchkey.ko is not loaded; type: sudo modprobe dispatchkey");
	dk_nl_monitor_close(m);
	dk_nl_close(nl);
}
