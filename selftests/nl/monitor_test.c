// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests the events of a monitor, lost events, and the unloading of the module.
 * selftests/api/full_registry.h explains the comments "refuses:".
 */
#include <dispatchkey-nl.h>
#include <errno.h>
#include <linux/genetlink.h>

#include "answers.h"
#include "tap.h"

static struct dk_nl_monitor *open_monitor(void)
{
	struct dk_nl_monitor *m = NULL;

	fake_reset();
	EXPECT_EQ(dk_nl_monitor_open(NULL, &m, NULL), 0);
	return m;
}

static void close_monitor(struct dk_nl_monitor *m)
{
	dk_nl_monitor_close(m);
	EXPECT_EQ(fake_sockets, 0);
}

static void put_event(struct fake_msg *m, uint32_t number)
{
	fake_begin_genl(m, DK_CMD_EVENT, 0, 0);
	fake_u32(m, DK_A_EVENT_KIND, DK_NL_EVENT_DEVICE_STATE);
	fake_string(m, DK_A_EVENT_NAME, "edu0");
	fake_u32(m, DK_A_EVENT_NUMBER, number);
	fake_u32(m, DK_A_EVENT_KEY, 0);
	fake_string(m, DK_A_EVENT_KEY_NAME, "Undefined");
	fake_string(m, DK_A_EVENT_PROVIDER, "dk_edu");
	fake_u8(m, DK_A_EVENT_STATE, DK_NL_STATE_OFFLINE);
	fake_u32(m, DK_A_EVENT_COUNT, 2);
	fake_u64(m, DK_A_EVENT_TIME, 1700000000123456789ULL);
	fake_u64(m, DK_A_EVENT_GENERATION, 78);
}

static void queue_event(uint32_t number)
{
	struct fake_msg m;

	put_event(&m, number);
	fake_queue(&m);
}

TEST(an_event)
{
	struct dk_nl_monitor *m = open_monitor();
	struct dk_nl_event e = { .size = sizeof(e) };

	EXPECT_EQ(fake_joined, 1U << FAKE_GROUP | 1U << 16);
	EXPECT(dk_nl_monitor_fd(m) >= 0);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 0);
	queue_event(65536);
	EXPECT_EQ(dk_nl_monitor_next(m, -1, &e), 1);
	EXPECT_EQ(e.size, sizeof(e));
	EXPECT_EQ(e.kind, DK_NL_EVENT_DEVICE_STATE);
	EXPECT_EQ(e.number, 65536);
	EXPECT_EQ(e.key, 0);
	EXPECT_EQ(e.has_key, 1);
	EXPECT_EQ(e.state, DK_NL_STATE_OFFLINE);
	EXPECT_EQ(e.count, 2);
	EXPECT_EQ(e.time, 1700000000123456789ULL);
	EXPECT_EQ(e.generation, 78);
	EXPECT_STREQ(e.name, "edu0");
	EXPECT_STREQ(e.key_name, "Undefined");
	EXPECT_STREQ(e.provider, "dk_edu");
	EXPECT_EQ(dk_nl_monitor_why(m)->code, 0);
	EXPECT_EQ(dk_nl_monitor_next(m, 10, &e), 0);
	close_monitor(m);
}

TEST(sizes_of_the_receive_buffer)
{
	static const struct {
		__u32 asked;
		int set;
	} sizes[] = {
		{ 0, 1024 * 1024 }, { 4096, 4096 }, { INT32_MAX, INT32_MAX },
		{ UINT32_MAX, INT32_MAX },
	};
	struct dk_nl_options o = { .size = sizeof(o) };
	struct dk_nl_monitor *m;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fake_reset();
		o.buffer = sizes[i].asked;
		EXPECT_EQ(dk_nl_monitor_open(&o, &m, NULL), 0);
		EXPECT_EQ(fake_buffer, sizes[i].set);
		close_monitor(m);
	}
}

TEST(several_in_a_datagram)
{
	struct dk_nl_monitor *m = open_monitor();
	struct dk_nl_event e = { .size = sizeof(e) };
	struct fake_msg one, all = { 0 };
	uint32_t i;

	for (i = 0; i < 3; i++) {
		put_event(&one, i);
		memcpy(all.bytes + all.len, one.bytes, one.len);
		all.len += one.len;
	}
	fake_queue(&all);
	queue_event(3);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
		EXPECT_EQ(e.number, i);
	}
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 0);
	close_monitor(m);
}

TEST(lost_events)
{
	struct dk_nl_monitor *m = open_monitor();
	struct dk_nl_event e = { .size = sizeof(e) };

	queue_event(1);
	fake_queue_error(ENOBUFS);
	queue_event(2);
	queue_event(3);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	EXPECT_EQ(e.number, 1);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	EXPECT_EQ(e.kind, DK_NL_EVENT_LOST);
	EXPECT_EQ(e.count, 0);
	EXPECT_EQ(e.generation, 0);
	EXPECT_STREQ(e.name, "");
	EXPECT_EQ(dk_nl_monitor_drain(m), 0);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 0);
	queue_event(4);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	EXPECT_EQ(e.number, 4);
	close_monitor(m);
}

/* The module's own report has a count, and does not mean that the socket is full. */
TEST(events_that_the_module_lost)
{
	struct dk_nl_monitor *m = open_monitor();
	struct dk_nl_event e = { .size = sizeof(e) };
	struct fake_msg msg;

	fake_begin_genl(&msg, DK_CMD_EVENT, 0, 0);
	fake_u32(&msg, DK_A_EVENT_KIND, DK_NL_EVENT_LOST);
	fake_u32(&msg, DK_A_EVENT_COUNT, 17);
	fake_u64(&msg, DK_A_EVENT_GENERATION, 78);
	fake_queue(&msg);
	queue_event(1);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	EXPECT_EQ(e.kind, DK_NL_EVENT_LOST);
	EXPECT_EQ(e.count, 17);
	EXPECT_EQ(e.generation, 78);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	EXPECT_EQ(e.number, 1);
	close_monitor(m);
}

static void queue_family(int cmd, int id)
{
	struct genlmsghdr genl = { .cmd = (uint8_t)cmd, .version = 2 };
	struct fake_msg m;

	fake_begin(&m, GENL_ID_CTRL, 0, 0);
	fake_bytes(&m, &genl, sizeof(genl));
	fake_string(&m, CTRL_ATTR_FAMILY_NAME, "some");
	fake_u16(&m, CTRL_ATTR_FAMILY_ID, (uint16_t)id);
	fake_queue(&m);
}

TEST(the_module_is_unloaded)
{
	struct dk_nl_monitor *m = open_monitor();
	struct dk_nl_event e = { .size = sizeof(e) };

	queue_family(CTRL_CMD_DELFAMILY, FAKE_FAMILY + 5);
	queue_family(CTRL_CMD_NEWFAMILY, FAKE_FAMILY);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 0);
	queue_event(1);
	queue_family(CTRL_CMD_DELFAMILY, FAKE_FAMILY);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	/* refuses: dk_nl_monitor_next ENODEV */
	EXPECT_EQ(dk_nl_monitor_next(m, -1, &e), -ENODEV);
	EXPECT_STREQ(dk_nl_monitor_why(m)->sentence, "the dispatchkey module was unloaded");
	EXPECT_EQ(dk_nl_monitor_next(m, -1, &e), -ENODEV);
	/* refuses: dk_nl_monitor_drain ENODEV */
	EXPECT_EQ(dk_nl_monitor_drain(m), -ENODEV);
	close_monitor(m);
}

/* The receive buffer is full when the family is removed. */
TEST(the_module_is_unloaded_unnoticed)
{
	static const int families[] = { 0, FAKE_FAMILY + 1 };
	struct dk_nl_event e = { .size = sizeof(e) };
	struct dk_nl_monitor *m;
	size_t i;

	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		m = open_monitor();
		fake_queue_error(ENOBUFS);
		fake.family = families[i];
		EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
		EXPECT_EQ(e.kind, DK_NL_EVENT_LOST);
		EXPECT_EQ(dk_nl_monitor_drain(m), -ENODEV);
		EXPECT_STREQ(dk_nl_monitor_why(m)->sentence,
			     "the dispatchkey module was unloaded");
		EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), -ENODEV);
		close_monitor(m);
	}
}

/* libnl reports each failure of the lookup as a missing family. */
TEST(the_family_is_not_looked_up_without_memory)
{
	struct dk_nl_monitor *m = open_monitor();
	struct dk_nl_event e = { .size = sizeof(e) };

	fake_queue_error(ENOBUFS);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	EXPECT_EQ(e.kind, DK_NL_EVENT_LOST);
	fake.lookup_error = ENOMEM;
	EXPECT_EQ(dk_nl_monitor_drain(m), -ENOMEM);
	fake.lookup_error = 0;
	EXPECT_EQ(dk_nl_monitor_drain(m), 0);
	queue_event(1);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	EXPECT_EQ(e.number, 1);
	close_monitor(m);
}

TEST(the_module_is_unloaded_while_a_monitor_is_opened)
{
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl_monitor *m;
	unsigned int n;

	for (n = 1; n <= 2; n++) {
		fake_reset();
		fake.module_state = NULL;
		fake.lookups = n;
		EXPECT_EQ(dk_nl_monitor_open(NULL, &m, &why), -ENOENT);
		EXPECT_STREQ(why.sentence,
			     "dispatchkey.ko is not loaded; type: sudo modprobe dispatchkey");
		EXPECT_EQ(fake_sockets, 0);
	}
}

/* Other modules are loaded while the monitor is opened. */
TEST(families_that_register_meanwhile)
{
	struct dk_nl_error why = { .size = sizeof(why) };
	struct dk_nl_event e = { .size = sizeof(e) };
	struct dk_nl_monitor *m = NULL;

	fake_reset();
	fake.is_busy = true;
	EXPECT_EQ(dk_nl_monitor_open(NULL, &m, &why), 0);
	EXPECT_STREQ(why.sentence, "");
	EXPECT_EQ(fake_joined, 1U << FAKE_GROUP | 1U << 16);
	EXPECT_EQ(fake_sockets, 1);
	if (!m)
		return;
	queue_event(1);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	close_monitor(m);
}

TEST(events_that_are_not_well_formed)
{
	struct dk_nl_monitor *m = open_monitor();
	struct dk_nl_event e = { .size = sizeof(e) };
	struct fake_msg msg;

	put_event(&msg, 1);
	fake_attr(&msg, DK_A_EVENT_NAME, "edu", 3);
	fake_queue(&msg);
	fake_begin_genl(&msg, DK_CMD_EVENT, 0, 0);
	fake_string(&msg, DK_A_EVENT_NAME, "no kind");
	fake_queue(&msg);
	fake_begin(&msg, FAKE_FAMILY, 0, 0);
	fake_queue(&msg);
	fake_begin_genl(&msg, DK_CMD_EVENT + 1, 0, 0);
	fake_queue(&msg);
	fake.is_foreign = true;
	queue_event(2);
	fake.is_foreign = false;
	queue_event(3);
	/* refuses: dk_nl_monitor_next EBADMSG */
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), -EBADMSG);
	EXPECT_STREQ(dk_nl_monitor_why(m)->sentence,
		     "malformed answer from the module: attribute name of event");
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), -EBADMSG);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	EXPECT_EQ(e.number, 3);
	close_monitor(m);
}

TEST(a_name_that_is_longer_than_names_are)
{
	struct dk_nl_monitor *m = open_monitor();
	struct dk_nl_event e = { .size = sizeof(e) };
	struct fake_msg msg;
	char name[300] = { 0 };

	memset(name, 'x', sizeof(name) - 1);
	fake_begin_genl(&msg, DK_CMD_EVENT, 0, 0);
	fake_u32(&msg, DK_A_EVENT_KIND, 99);
	fake_string(&msg, DK_A_EVENT_NAME, name);
	fake_queue(&msg);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	EXPECT_EQ(e.kind, 99);
	EXPECT_STREQ(dk_nl_word(DK_NL_WORDS_EVENT_KIND, e.kind), "unknown");
	EXPECT_EQ(strlen(e.name), DK_NAME_MAX - 1);
	close_monitor(m);
}

TEST(a_caller_of_another_version)
{
	struct dk_nl_monitor *m = open_monitor();
	struct dk_nl_event e;

	memset(&e, 0x55, sizeof(e));
	e.size = offsetof(struct dk_nl_event, name);
	queue_event(7);
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), 1);
	EXPECT_EQ(e.number, 7);
	EXPECT_EQ(e.size, offsetof(struct dk_nl_event, name));
	EXPECT_EQ(e.name[0], 0x55);
	e.size = 0;
	/* refuses: dk_nl_monitor_next EINVAL */
	EXPECT_EQ(dk_nl_monitor_next(m, 0, &e), -EINVAL);
	close_monitor(m);
}

TEST(a_signal)
{
	struct dk_nl_monitor *m = open_monitor();
	struct dk_nl_event e = { .size = sizeof(e) };

	fake_queue_error(EINTR);
	/* refuses: dk_nl_monitor_next EINTR */
	EXPECT_EQ(dk_nl_monitor_next(m, -1, &e), -EINTR);
	close_monitor(m);
}
