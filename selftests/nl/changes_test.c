// SPDX-License-Identifier: GPL-2.0-only
/* Tests lists that change while the client reads them, and a module that is loaded and unloaded. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

/* ---- lists that change --------------------------------------------------- */

static unsigned int interruptions;

/* Replies to a dump with an element that later dumps lack, and marks the dump as interrupted. */
static void answer_interrupted(const struct nlmsghdr *request)
{
	struct fake_msg m;

	if (!interruptions || !fake_is_dump(request)) {
		answer_well(request);
		return;
	}
	interruptions--;
	fake_begin_genl(&m, fake_cmd(request), NLM_F_MULTI, request->nlmsg_seq);
	put_element(&m, fake_cmd(request), 9, true);
	fake_queue(&m);
	fake_done(request, NLM_F_DUMP_INTR, 0);
}

TEST(a_list_that_changed_twice)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_op *op;

	fake.answer = answer_interrupted;
	interruptions = 2;
	EXPECT_EQ(dk_nl_ops(nl, NULL, &op), 0);
	EXPECT_EQ(fake_requests, 3);
	EXPECT_STREQ(op->name, "aten::op00000");
	EXPECT(!op->next->next->next);
	dk_nl_free(op);
	close_nl(nl);
}

TEST(a_list_that_changes_all_the_time)
{
	struct dk_nl_options o = { .size = sizeof(o), .retries = 3 };
	const struct dk_nl_op *op;
	struct dk_nl *nl;

	dk_nl_close(open_nl());
	EXPECT_EQ(dk_nl_open(&o, &nl, NULL), 0);
	fake.answer = answer_interrupted;
	interruptions = UINT32_MAX;
	EXPECT_EQ(dk_nl_ops(nl, NULL, &op), -EAGAIN);
	EXPECT(!op);
	EXPECT_EQ(fake_requests, 4);
	EXPECT_STREQ(dk_nl_strerror(nl),
		     "the registry changed during each of 4 attempts to read it: try again");
	interruptions = 0;
	EXPECT_EQ(dk_nl_ops(nl, NULL, &op), 0);
	dk_nl_free(op);
	close_nl(nl);
}

/* An operator with more functions than fit into a message. */
static unsigned int num_impls;

static void answer_many_impls(const struct nlmsghdr *request)
{
	struct fake_msg m;

	if (fake_is_dump(request)) {
		EXPECT_STREQ(fake_find_string(request, DK_A_IMPL_OP), "aten::add");
		answer_well(request);
		return;
	}
	fake_begin_genl(&m, DK_CMD_OP_GET, 0, request->nlmsg_seq);
	fake_string(&m, DK_A_OP_NAME, "aten::add");
	fake_u32(&m, DK_A_OP_NUM_IMPLS, num_impls++);
	fake_queue(&m);
	fake_ack(request, 0);
}

TEST(functions_that_do_not_fit)
{
	struct dk_nl_options o = { .size = sizeof(o), .retries = 2 };
	const struct dk_nl_impl *i;
	const struct dk_nl_op *op;
	unsigned int n = 0;
	struct dk_nl *nl;

	dk_nl_close(open_nl());
	EXPECT_EQ(dk_nl_open(&o, &nl, NULL), 0);
	fake.answer = answer_many_impls;
	num_impls = 2;			/* unlike the list, which has 3; the second reply has 3 */
	EXPECT_EQ(dk_nl_op_get(nl, "aten::add", &op), 0);
	EXPECT_EQ(fake_requests, 4);
	for (i = op->impls; i; i = i->next)
		n += !strcmp(i->op, "aten::add");
	EXPECT_EQ(n, 3);
	dk_nl_free(op);
	num_impls = 10;
	EXPECT_EQ(dk_nl_op_get(nl, "aten::add", &op), -EAGAIN);
	EXPECT(!op);
	close_nl(nl);
}

/* The registry changes before each reply, and therefore also between the route and the steps. */
static void answer_changing(const struct nlmsghdr *request)
{
	if (interruptions) {
		generation++;
		interruptions--;
	}
	answer_well(request);
}

TEST(explanations_are_of_one_state)
{
	struct dk_nl_call call = { .size = sizeof(call), .op = "aten::add" };
	struct dk_nl *nl = open_nl();
	const struct dk_nl_route *r;
	const struct dk_nl_step *s;

	fake.answer = answer_changing;
	interruptions = 4;
	generation = 100;
	EXPECT_EQ(dk_nl_explain(nl, &call, &r, &s), 0);
	EXPECT_EQ(r->generation, 104);
	EXPECT_EQ(s->generation, 104);
	EXPECT_EQ(fake_requests, 6);
	dk_nl_free(r);
	dk_nl_free(s);
	interruptions = UINT32_MAX;
	EXPECT_EQ(dk_nl_explain(nl, &call, &r, &s), -EAGAIN);
	EXPECT(!r && !s);
	generation = 77;
	close_nl(nl);
}

/* ---- a module that is loaded and unloaded -------------------------------- */

TEST(the_module_is_not_loaded)
{
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl *nl = (void *)1;

	fake_reset();
	fake.family = 0;
	fake.module_state = NULL;
	/* refuses: dk_nl_open ENOENT */
	EXPECT_EQ(dk_nl_open(NULL, &nl, &why), -ENOENT);
	EXPECT(!nl);
	EXPECT_EQ(why.code, -ENOENT);
	EXPECT_STREQ(why.sentence,
		     "dispatchkey.ko is not loaded; type: sudo modprobe dispatchkey");
	EXPECT_EQ(fake_sockets, 0);
	/* a struct whose size is 0 is filled, too */
	memset(&why, 0, sizeof(why));
	EXPECT_EQ(dk_nl_open(NULL, &nl, &why), -ENOENT);
	EXPECT_EQ(why.size, sizeof(why));
	EXPECT_EQ(why.code, -ENOENT);
}

/*
 * The module's folder in sysfs exists before the netlink family is registered, and after it is
 * unregistered.
 */
TEST(the_module_is_being_loaded_or_unloaded)
{
	static const char *const states[] = { "coming\n", "going\n", "" };
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl *nl;
	size_t i;

	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		fake_reset();
		fake.family = 0;
		fake.module_state = states[i];
		EXPECT_EQ(dk_nl_open(NULL, &nl, &why), -ENOENT);
		EXPECT(strstr(why.sentence, "is not loaded"));
	}
}

TEST(another_network_namespace)
{
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl_monitor *m;
	struct dk_nl *nl;

	fake_reset();
	fake.family = 0;
	EXPECT_EQ(dk_nl_open(NULL, &nl, &why), -ENOENT);
	EXPECT(strstr(why.sentence, "network namespace"));
	EXPECT(strstr(why.sentence, "nsenter"));
	/* refuses: dk_nl_monitor_open ENOENT */
	EXPECT_EQ(dk_nl_monitor_open(NULL, &m, &why), -ENOENT);
	EXPECT(!m);
	EXPECT_EQ(fake_sockets, 0);
}

TEST(the_module_was_loaded_again)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_info *info;

	fake.family = FAKE_FAMILY + 1;
	EXPECT_EQ(dk_nl_info_get(nl, &info), 0);
	EXPECT_EQ(dk_nl_why(nl)->code, 0);
	dk_nl_free(info);
	close_nl(nl);
}

/* Marks the dump as interrupted, and changes the family number: the module was reloaded. */
static void answer_reloaded(const struct nlmsghdr *request)
{
	fake_done(request, NLM_F_DUMP_INTR, 0);
	fake.family++;
	fake.answer = answer_well;
}

TEST(the_module_was_loaded_again_after_a_list)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_device *list;

	fake.answer = answer_reloaded;
	EXPECT_EQ(dk_nl_devices(nl, 0, &list), 0);
	EXPECT(list);
	dk_nl_free(list);
	close_nl(nl);
}

/* The module was reloaded before the request, and is reloaded after the client has reconnected. */
static void answer_reloading(const struct nlmsghdr *request)
{
	fake_ack(request, -ENOENT);
	fake.family++;
	if (fake.family == FAKE_FAMILY + 3)
		fake.answer = answer_well;
}

TEST(the_module_is_loaded_again_and_again)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_info *info;

	fake.answer = answer_reloading;
	EXPECT_EQ(dk_nl_info_get(nl, &info), 0);
	EXPECT_EQ(fake_requests, 4);
	dk_nl_free(info);
	close_nl(nl);
}

/* While the module is unloaded, its family still exists, but netlink begins no dump. */
static void answer_unloading(const struct nlmsghdr *request)
{
	fake_ack(request, -EPROTONOSUPPORT);
}

TEST(the_module_is_being_unloaded)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_device *list;

	fake.answer = answer_unloading;
	fake.module_state = "going\n";
	EXPECT_EQ(dk_nl_devices(nl, 0, &list), -ENOENT);
	EXPECT_STREQ(dk_nl_strerror(nl),
		     "dispatchkey.ko is not loaded; type: sudo modprobe dispatchkey");
	close_nl(nl);
}

TEST(the_module_was_unloaded)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_info *info;

	fake.family = 0;
	fake.module_state = NULL;
	EXPECT_EQ(dk_nl_info_get(nl, &info), -ENOENT);
	EXPECT(strstr(dk_nl_strerror(nl), "modprobe dispatchkey"));
	/* unlike the message about an object that does not exist */
	EXPECT_STREQ(dk_nl_why(nl)->message, "");
	EXPECT_EQ(dk_nl_info_get(nl, &info), -ENOENT);
	EXPECT(strstr(dk_nl_strerror(nl), "modprobe dispatchkey"));
	fake.family = FAKE_FAMILY;
	EXPECT_EQ(dk_nl_info_get(nl, &info), 0);
	dk_nl_free(info);
	close_nl(nl);
}

static void answer_nothing(const struct nlmsghdr *request)
{
}

TEST(no_answer_in_time)
{
	struct dk_nl_options o = { .size = sizeof(o), .timeout_ms = 20 };
	const struct dk_nl_info *info;
	struct dk_nl *nl;

	dk_nl_close(open_nl());
	EXPECT_EQ(dk_nl_open(&o, &nl, NULL), 0);
	fake.answer = answer_nothing;
	EXPECT_EQ(dk_nl_info_get(nl, &info), -ETIMEDOUT);
	EXPECT_STREQ(dk_nl_strerror(nl), "the module did not answer in time");
	/* an open socket would keep the module from being unloaded */
	EXPECT_EQ(fake_sockets, 0);
	fake.answer = answer_well;
	EXPECT_EQ(dk_nl_info_get(nl, &info), 0);
	dk_nl_free(info);
	close_nl(nl);
}

/* The longest times are not negative for poll(): the child is still waiting. */
TEST(long_timeout)
{
	struct dk_nl_options o = { .size = sizeof(o), .timeout_ms = 1U << 31 };
	const struct dk_nl_info *info;
	struct dk_nl *nl;
	int status;
	pid_t child = fork();

	EXPECT_EQ(child < 0, 0);
	if (!child) {
		_exit(dk_nl_open(&o, &nl, NULL) ||
		      (fake.answer = answer_nothing, dk_nl_info_get(nl, &info)));
	}
	usleep(100000);
	kill(child, SIGKILL);
	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(WIFSIGNALED(status), 1);
}

/* Messages of another process are not replies. */
static void answer_twice(const struct nlmsghdr *request)
{
	fake.is_foreign = true;
	fake_ack(request, -EPERM);
	fake.is_foreign = false;
	answer_well(request);
}

TEST(messages_of_others_are_ignored)
{
	struct dk_nl *nl = open_nl();
	const struct dk_nl_info *info;

	fake.answer = answer_twice;
	EXPECT_EQ(dk_nl_info_get(nl, &info), 0);
	dk_nl_free(info);
	close_nl(nl);
}
