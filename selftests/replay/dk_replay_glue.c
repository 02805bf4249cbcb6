// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_replay_test: replays transcripts inside the kernel.
 *
 * Open /dev/dk_replay_test, write a transcript in pieces of any size, and read the verdict from
 * the same open file: "ok 17 commands checked", or "not ok line 3: expected ..., got ...". After
 * the whole verdict has been read, the next transcript can be written. The interpreter is
 * lib/replay, which uses only exported functions.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../../lib/replay/replay.h"

/* The largest size of a transcript, which also limits the memory that it can allocate. */
#define TRANSCRIPT_MAX	(64u << 20)
#define QUOTE_MAX	240
#define VERDICT_MAX	1024

static bool force_resolve;
module_param(force_resolve, bool, 0600);
MODULE_PARM_DESC(force_resolve, "the rules compute every route, from the next transcript on");

/* An open file. */
struct session {
	struct mutex lock;		/* protects the following members */
	struct dk_replay_check *check;	/* NULL between transcripts */
	size_t fed;
	bool differs;			/* the verdict has the first difference */
	size_t verdict_len;		/* 0 if there is none yet */
	size_t verdict_read;
	char verdict[VERDICT_MAX];
	char piece[PAGE_SIZE];
};

/* Returns the position where two lines begin to differ, or a position shortly before. */
static size_t quote_from(const struct dk_replay_diff *diff)
{
	size_t len = min(diff->expected_len, diff->got_len), n = 0;

	if (!diff->expected || !diff->got)
		return 0;
	while (n < len && diff->expected[n] == diff->got[n])
		n++;
	return n < QUOTE_MAX / 2 ? 0 : n - 40;
}

static void quote(char *to, const char *text, size_t len, size_t from)
{
	size_t shown = min_t(size_t, len - from, QUOTE_MAX - 16);

	if (text)
		snprintf(to, QUOTE_MAX, "\"%s%.*s%s\"", from ? "..." : "", (int)shown,
			 text + from, shown < len - from ? "..." : "");
	else
		strscpy(to, "no more lines", QUOTE_MAX);
}

static void differ(void *ctx, const struct dk_replay_diff *diff)
{
	char expected[QUOTE_MAX], got[QUOTE_MAX];
	struct session *s = ctx;
	size_t from = quote_from(diff);

	if (s->differs)
		return;
	s->differs = true;
	quote(expected, diff->expected, diff->expected_len, from);
	quote(got, diff->got, diff->got_len, from);
	s->verdict_len = scnprintf(s->verdict, sizeof(s->verdict),
				   "not ok line %lu: expected %s, got %s\n",
				   diff->line, expected, got);
}

static void forget(struct session *s)
{
	dk_replay_check_free(s->check);
	s->check = NULL;
	s->fed = 0;
	s->differs = false;
	s->verdict_len = 0;
	s->verdict_read = 0;
}

/* Ends the transcript, and writes the verdict if there was no difference. */
static void judge(struct session *s)
{
	struct dk_replay_count count = {};
	int err = -ENOENT;

	if (s->check)
		err = dk_replay_check_end(s->check, &count);
	dk_replay_check_free(s->check);
	s->check = NULL;
	if (err == -EILSEQ)
		return;
	s->verdict_len = err ?
		scnprintf(s->verdict, sizeof(s->verdict), "not ok %s\n",
			  err == -ENOENT ? "there was no command" : "out of memory") :
		scnprintf(s->verdict, sizeof(s->verdict),
			  "ok %lu commands checked\n", count.commands);
}

static int replay_open(struct inode *inode, struct file *file)
{
	struct session *s = kvzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return -ENOMEM;
	mutex_init(&s->lock);
	file->private_data = s;
	return stream_open(inode, file);
}

static int replay_release(struct inode *inode, struct file *file)
{
	struct session *s = file->private_data;

	forget(s);
	mutex_destroy(&s->lock);
	kvfree(s);
	return 0;
}

static int feed_piece(struct session *s, const char __user *text, size_t len)
{
	if (len > TRANSCRIPT_MAX - s->fed)
		return -EFBIG;
	if (copy_from_user(s->piece, text, len))
		return -EFAULT;
	s->fed += len;
	return dk_replay_check_feed(s->check, s->piece, len);
}

static ssize_t replay_write(struct file *file, const char __user *text,
			    size_t len, loff_t *pos)
{
	struct session *s = file->private_data;
	size_t done = 0;
	int err;

	err = mutex_lock_killable(&s->lock);
	if (err)
		return err;
	if (!s->check) {
		/* discard the previous verdict, of which a part may not have been read */
		forget(s);
		s->check = dk_replay_check_alloc(force_resolve ?
						 DK_REGISTRY_FORCE_RESOLVE : 0,
						 differ, s);
		err = s->check ? 0 : -ENOMEM;
	}
	while (!err && done < len) {
		size_t n = min_t(size_t, len - done, sizeof(s->piece));

		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
		err = feed_piece(s, text + done, n);
		if (!err)
			done += n;
		cond_resched();
	}
	mutex_unlock(&s->lock);
	return done ? done : err;
}

static ssize_t replay_read(struct file *file, char __user *to, size_t len,
			   loff_t *pos)
{
	struct session *s = file->private_data;
	ssize_t n;

	n = mutex_lock_killable(&s->lock);
	if (n)
		return n;
	if (s->check || !s->verdict_len)
		judge(s);
	n = min(len, s->verdict_len - s->verdict_read);
	if (n && copy_to_user(to, s->verdict + s->verdict_read, n))
		n = -EFAULT;
	else if (n)
		s->verdict_read += n;
	else if (len)
		forget(s);
	mutex_unlock(&s->lock);
	return n;
}

static const struct file_operations replay_fops = {
	.owner = THIS_MODULE,
	.open = replay_open,
	.release = replay_release,
	.write = replay_write,
	.read = replay_read,
};

static struct miscdevice replay_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dk_replay_test",
	.fops = &replay_fops,
	.mode = 0600,
};

module_misc_device(replay_misc);

MODULE_DESCRIPTION("dispatchkey selftest: transcripts, replayed in the kernel");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
