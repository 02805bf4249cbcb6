// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the API tests as a module. They run when the module is loaded, which succeeds even if tests
 * fail. The results are in debugfs:
 *
 * dk_api_test/results		KTAP
 * dk_api_test/registrations	when registrations.txt is written here and the file is
 *			closed, the suite "pytorch_operators" runs; its KTAP can
 *			then be read here
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>

#include "pytorch_operators.h"
#include "test.h"

#define BIGGEST_TEXT	(4 << 20)

static const struct t_suite *const suites[] = {
	T_SUITES(T_TAKE, T_LEAVE, T_TAKE, T_LEAVE)
};

static const struct t_suite *const big_suites[] = {
	T_SUITES(T_LEAVE, T_LEAVE, T_LEAVE, T_TAKE)
};

static char *only;
module_param(only, charp, 0);
MODULE_PARM_DESC(only, "suites to run, with commas between them");
module_param_named(most, t_most, uint, 0);
MODULE_PARM_DESC(most, "largest number of registrations of which all orders are tried");

/* A text in a buffer that grows. */
struct text {
	char *at;
	size_t size;
	size_t room;
};

static struct text results, big_results, registrations;
static struct text *output = &results;
static DEFINE_MUTEX(lock);
static struct dentry *dir;

static bool reserve(struct text *t, size_t more)
{
	size_t room = t->room ? t->room : 4096;
	char *at;

	if (t->size + more <= t->room)
		return true;
	while (room < t->size + more)
		room *= 2;
	at = kvmalloc(room, GFP_KERNEL);
	if (!at)
		return false;
	if (t->size)
		memcpy(at, t->at, t->size);
	kvfree(t->at);
	t->at = at;
	t->room = room;
	return true;
}

static void forget(struct text *t)
{
	kvfree(t->at);
	memset(t, 0, sizeof(*t));
}

void t_vprint(const char *fmt, va_list args)
{
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	/* without memory, this text is missing in the output */
	if (!reserve(output, n + 1))
		return;
	vsnprintf(output->at + output->size, n + 1, fmt, args);
	output->size += n;
}

void *t_alloc(size_t size)
{
	return kvzalloc(size, GFP_KERNEL | __GFP_NOFAIL);
}

void t_free(void *p)
{
	kvfree(p);
}

void t_capture_stderr(char *text, size_t size, void (*run)(void *data), void *data)
{
	text[0] = 0;
	run(data);
}

static ssize_t text_read(struct text *t, char __user *to, size_t n, loff_t *pos)
{
	ssize_t ret;

	mutex_lock(&lock);
	ret = simple_read_from_buffer(to, n, pos, t->at, t->size);
	mutex_unlock(&lock);
	return ret;
}

static ssize_t results_read(struct file *file, char __user *to, size_t n, loff_t *pos)
{
	return text_read(&results, to, n, pos);
}

static const struct file_operations results_fops = {
	.owner = THIS_MODULE,
	.read = results_read,
	.llseek = default_llseek,
};

static ssize_t big_read(struct file *file, char __user *to, size_t n, loff_t *pos)
{
	return text_read(&big_results, to, n, pos);
}

static ssize_t big_write(struct file *file, const char __user *from, size_t n,
			 loff_t *pos)
{
	ssize_t ret = n;

	mutex_lock(&lock);
	if (registrations.size + n > BIGGEST_TEXT)
		ret = -EFBIG;
	else if (!reserve(&registrations, n + 1))
		ret = -ENOMEM;
	else if (copy_from_user(registrations.at + registrations.size, from, n))
		ret = -EFAULT;
	else
		registrations.size += n;
	mutex_unlock(&lock);
	return ret;
}

static int big_release(struct inode *inode, struct file *file)
{
	mutex_lock(&lock);
	if ((file->f_mode & FMODE_WRITE) && registrations.size) {
		forget(&big_results);
		registrations.at[registrations.size] = 0;
		t_big_text = registrations.at;
		t_big_size = registrations.size;
		output = &big_results;
		t_run(big_suites, ARRAY_SIZE(big_suites));
		output = &results;
		t_big_text = NULL;
		forget(&registrations);
	}
	mutex_unlock(&lock);
	return 0;
}

static const struct file_operations big_fops = {
	.owner = THIS_MODULE,
	.read = big_read,
	.write = big_write,
	.release = big_release,
	.llseek = default_llseek,
};

static int __init api_test_init(void)
{
	const struct t_suite *chosen[ARRAY_SIZE(suites)];
	unsigned int num, failed;

	num = only ? t_choose(suites, ARRAY_SIZE(suites), only, chosen, 0) : 0;
	if (only && !num) {
		pr_err("only=%s: no such suites\n", only);
		return -EINVAL;
	}
	failed = only ? t_run(chosen, num) : t_run(suites, ARRAY_SIZE(suites));
	if (failed)
		pr_info("%u tests failed\n", failed);
	dir = debugfs_create_dir("dk_api_test", NULL);
	debugfs_create_file("results", 0400, dir, NULL, &results_fops);
	debugfs_create_file("registrations", 0600, dir, NULL, &big_fops);
	return 0;
}

static void __exit api_test_exit(void)
{
	debugfs_remove(dir);
	forget(&results);
	forget(&big_results);
	forget(&registrations);
}

module_init(api_test_init);
module_exit(api_test_exit);
MODULE_DESCRIPTION("Tests of dispatchkey's API");
MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
