// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * dk_client: provides /dev/dk_client, through which programs create objects on the CPU or on a
 * device, and call the sample operators on them. See dk_client.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include "dk_client.h"
#include "ops.h"

/* The number of calls sent. A call is counted before it is routed. */
static atomic64_t client_sent;

/* An object. It is freed when no file and no call refers to it. */
struct client_obj {
	struct kref ref;
	struct sample_buf buf;
};

/* An open file. */
struct client {
	struct xarray objs;
};

/* ---- objects -------------------------------------------------------------- */

static void client_obj_release(struct kref *ref)
{
	struct client_obj *o = container_of(ref, struct client_obj, ref);

	kvfree(o->buf.data);
	kfree(o);
}

static void client_obj_put(struct client_obj *o)
{
	if (o)
		kref_put(&o->ref, client_obj_release);
}

static struct client_obj *client_obj_get(struct client *cl, u32 id)
{
	struct client_obj *o;

	xa_lock(&cl->objs);
	o = xa_load(&cl->objs, id);
	if (o)
		kref_get(&o->ref);
	xa_unlock(&cl->objs);
	return o;
}

static bool client_name_ok(const char *name)
{
	return strnlen(name, DK_CLIENT_NAME) < DK_CLIENT_NAME;
}

/* Looks up the device with this name or, if there is none, the backend with this name. */
static int client_place(const char *on, struct dk_obj *obj)
{
	unsigned int backend;

	if (!dk_device_find(NULL, on, obj, NULL))
		return 0;
	if (dk_backend_find(NULL, on, &backend, NULL))
		return -ENOENT;
	*obj = dk_obj_on(backend, 0);
	return 0;
}

static struct client_obj *client_obj_alloc(const struct dk_obj *dk, u32 len)
{
	struct client_obj *o;

	o = kzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT);
	if (!o)
		return NULL;
	o->buf.data = kvzalloc(max(len, 1U), GFP_KERNEL_ACCOUNT);
	if (!o->buf.data) {
		kfree(o);
		return NULL;
	}
	kref_init(&o->ref);
	o->buf.dk = *dk;
	o->buf.len = len;
	return o;
}

static int client_new(struct client *cl, struct dk_client_new __user *arg)
{
	struct dk_client_new req;
	struct client_obj *o;
	struct dk_obj dk;
	int err;

	if (copy_from_user(&req, arg, sizeof(req)))
		return -EFAULT;
	if (req.len > DK_CLIENT_BYTES || req.reserved || !client_name_ok(req.on))
		return -EINVAL;
	err = client_place(req.on, &dk);
	if (err)
		return err;
	o = client_obj_alloc(&dk, req.len);
	if (!o)
		return -ENOMEM;
	req.device = dk.device;
	req.keyset = dk.ks.bits;

	err = xa_alloc(&cl->objs, &req.id, NULL, XA_LIMIT(1, DK_CLIENT_OBJS),
		       GFP_KERNEL_ACCOUNT);
	if (err) {
		client_obj_put(o);
		return err == -EBUSY ? -ENOSPC : err;
	}
	/* The id is only reserved: no other thread can use it before xa_store(). */
	if (copy_to_user(arg, &req, sizeof(req)))
		err = -EFAULT;
	else
		err = xa_err(xa_store(&cl->objs, req.id, o, GFP_KERNEL_ACCOUNT));
	if (err) {
		xa_release(&cl->objs, req.id);
		client_obj_put(o);
	}
	return err;
}

static int client_free(struct client *cl, u32 __user *arg)
{
	struct client_obj *o;
	u32 id;

	if (get_user(id, arg))
		return -EFAULT;
	xa_lock(&cl->objs);
	o = xa_load(&cl->objs, id);
	/* If client_new() has only reserved the id, there is no object yet. */
	if (o)
		__xa_erase(&cl->objs, id);
	xa_unlock(&cl->objs);
	if (!o)
		return -ENOENT;
	client_obj_put(o);
	return 0;
}

static int client_bytes(struct client *cl, struct dk_client_bytes __user *arg,
			bool write)
{
	struct dk_client_bytes req;
	struct client_obj *o;
	void __user *user;
	u32 end;
	int err = 0;

	if (copy_from_user(&req, arg, sizeof(req)))
		return -EFAULT;
	if (req.reserved)
		return -EINVAL;
	o = client_obj_get(cl, req.id);
	if (!o)
		return -ENOENT;
	user = u64_to_user_ptr(req.data);
	if (check_add_overflow(req.at, req.len, &end) || end > o->buf.len)
		err = -EINVAL;
	else if (write && copy_from_user(o->buf.data + req.at, user, req.len))
		err = -EFAULT;
	else if (!write && copy_to_user(user, o->buf.data + req.at, req.len))
		err = -EFAULT;
	client_obj_put(o);
	return err;
}

/* ---- calls ---------------------------------------------------------------- */

/*
 * sample_factorial(&o->buf.dk, n, &res) would make the same call. Here the call is made in separate
 * steps, so that dk_call_device() can return the device that the call is routed to.
 */
static int client_call_factorial(struct client_obj *o,
				 struct dk_client_factorial *req)
{
	const struct dk_obj *objs[] = { &o->buf.dk };
	struct dk_frame frame;
	int err;

	err = dk_call_enter(&frame, &sample_factorial_op, &dk_local_default, objs,
			    ARRAY_SIZE(objs));
	if (err)
		return err;
	req->device = dk_call_device(&frame.call);
	err = sample_factorial_run(&frame, &o->buf.dk, req->n, &req->result);
	dk_call_leave(&frame);
	return err;
}

static int client_factorial(struct client *cl,
			    struct dk_client_factorial __user *arg)
{
	struct dk_client_factorial req;
	struct client_obj *o;
	int err;

	if (copy_from_user(&req, arg, sizeof(req)))
		return -EFAULT;
	o = client_obj_get(cl, req.id);
	if (!o)
		return -ENOENT;
	req.result = 0;
	req.device = 0;
	atomic64_inc(&client_sent);
	err = client_call_factorial(o, &req);
	client_obj_put(o);
	if (copy_to_user(arg, &req, sizeof(req)))
		return -EFAULT;
	return err;
}

static int client_call_copy(struct client_obj *dst, struct client_obj *src,
			    struct dk_client_copy *req)
{
	const struct dk_obj *objs[] = { &dst->buf.dk, &src->buf.dk };
	struct dk_frame frame;
	int err;

	err = dk_call_enter(&frame, &sample_copy_op, &dk_local_default, objs,
			    ARRAY_SIZE(objs));
	if (err)
		return err;
	req->device = dk_call_device(&frame.call);
	err = sample_copy_run(&frame, &dst->buf, &src->buf);
	dk_call_leave(&frame);
	return err;
}

static int client_copy(struct client *cl, struct dk_client_copy __user *arg)
{
	struct client_obj *dst, *src;
	struct dk_client_copy req;
	int err = -ENOENT;

	if (copy_from_user(&req, arg, sizeof(req)))
		return -EFAULT;
	if (req.reserved)
		return -EINVAL;
	req.device = 0;
	dst = client_obj_get(cl, req.dst);
	src = client_obj_get(cl, req.src);
	if (dst && src) {
		atomic64_inc(&client_sent);
		err = client_call_copy(dst, src, &req);
	}
	client_obj_put(src);
	client_obj_put(dst);
	if (copy_to_user(arg, &req, sizeof(req)))
		return -EFAULT;
	return err;
}

/* ---- calls that finish later ------------------------------------------------ */

struct client_job {
	struct sample_job job;
	struct client_batch *batch;
};

struct client_batch {
	atomic_t left;		/* jobs that have not ended, plus one while jobs are submitted */
	atomic_t copied;
	int err;
	struct completion ended;
	struct client_job jobs[];
};

/* Called in the context in which the copy has ended, such as a hard interrupt. */
static void client_job_ended(struct client_batch *batch, int err)
{
	if (err)
		WRITE_ONCE(batch->err, err);
	else
		atomic_inc(&batch->copied);
	if (atomic_dec_and_test(&batch->left))
		complete(&batch->ended);
}

static void client_job_done(struct sample_job *job, int err)
{
	client_job_ended(container_of(job, struct client_job, job)->batch, err);
}

static void client_submit(struct client_batch *batch, unsigned int n, struct client_obj *dst,
			  struct client_obj *src, struct dk_client_queue *req)
{
	const struct dk_obj *objs[] = { &dst->buf.dk, &src->buf.dk };
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct client_job *j = &batch->jobs[i];
		struct dk_frame frame;
		int err;

		j->batch = batch;
		j->job.dst = &dst->buf;
		j->job.src = &src->buf;
		j->job.done = client_job_done;
		dk_deferred_init(&j->job.token);
		atomic64_inc(&client_sent);
		atomic_inc(&batch->left);
		err = dk_call_enter(&frame, &sample_queue_copy_op, &dk_local_default, objs,
				    ARRAY_SIZE(objs));
		if (!err) {
			if (!i)
				req->device = dk_call_device(&frame.call);
			err = sample_queue_copy_run(&frame, &j->job);
			dk_call_leave(&frame);
		}
		if (err)
			client_job_ended(batch, err);
	}
}

static int client_call_queue(struct client_obj *dst, struct client_obj *src,
			     struct dk_client_queue *req)
{
	struct client_batch *batch;

	batch = kvzalloc(struct_size(batch, jobs, req->n), GFP_KERNEL_ACCOUNT);
	if (!batch)
		return -ENOMEM;
	atomic_set(&batch->left, 1);
	init_completion(&batch->ended);
	client_submit(batch, req->n, dst, src, req);
	/*
	 * Not killable: the copies use the objects. 16 copies of 64 KiB take a minute, and callers
	 * share the card's queue. So wait in steps: a long wait would be reported as a hung task.
	 */
	if (!atomic_dec_and_test(&batch->left))
		while (!wait_for_completion_timeout(&batch->ended, 30 * HZ))
			;
	req->copied = atomic_read(&batch->copied);
	req->error = batch->err;
	kvfree(batch);
	return 0;
}

static int client_queue(struct client *cl, struct dk_client_queue __user *arg)
{
	struct client_obj *dst, *src;
	struct dk_client_queue req;
	int err = -ENOENT;

	if (copy_from_user(&req, arg, sizeof(req)))
		return -EFAULT;
	if (!req.n || req.n > DK_CLIENT_JOBS)
		return -EINVAL;
	req.device = 0;
	dst = client_obj_get(cl, req.dst);
	src = client_obj_get(cl, req.src);
	if (dst && src)
		err = client_call_queue(dst, src, &req);
	client_obj_put(src);
	client_obj_put(dst);
	if (!err && copy_to_user(arg, &req, sizeof(req)))
		return -EFAULT;
	return err;
}

/* ---- routes and tables ---------------------------------------------------- */

static void client_fill_entry(struct dk_client_entry *to, const struct dk_entry *e)
{
	to->device = e->device;
	to->passes = e->is_fallthrough;
	strscpy(to->provenance, dk_provenance_name(e->provenance),
		sizeof(to->provenance));
	strscpy(to->label, e->label, sizeof(to->label));
	strscpy(to->provider, e->provider, sizeof(to->provider));
	strscpy(to->device_name, e->device_name, sizeof(to->device_name));
}

static int client_get_route(struct client_obj *const *objs, struct dk_op *op,
			    struct dk_client_route *req)
{
	const struct dk_obj *dk[DK_CLIENT_ARGS];
	struct dk_route *r;
	unsigned int i;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	r->size = sizeof(*r);
	for (i = 0; i < req->n; i++)
		dk[i] = objs[i] ? &objs[i]->buf.dk : NULL;
	req->err = dk_op_route(op, dk_local_included(&dk_local_default),
			       dk_local_excluded(&dk_local_default), dk, req->n, r);
	req->raw = r->raw.bits;
	req->effective = r->effective.bits;
	dk_key_name(NULL, dk_slot_key(NULL, r->slot), req->key);
	client_fill_entry(&req->entry, &r->entry);
	kfree(r);
	return 0;
}

static int client_route(struct client *cl, struct dk_client_route __user *arg)
{
	struct client_obj *objs[DK_CLIENT_ARGS] = { NULL };
	struct dk_client_route *req;
	struct dk_op *op = NULL;
	unsigned int i;
	int err = 0;

	req = memdup_user(arg, sizeof(*req));
	if (IS_ERR(req))
		return PTR_ERR(req);
	if (req->n > DK_CLIENT_ARGS || !client_name_ok(req->op)) {
		err = -EINVAL;
		goto free;
	}
	for (i = 0; i < req->n; i++) {
		if (!req->ids[i])
			continue;
		objs[i] = client_obj_get(cl, req->ids[i]);
		if (!objs[i]) {
			err = -ENOENT;
			goto put;
		}
	}
	op = dk_op_get(NULL, req->op);
	if (!op) {
		err = -ENOENT;
		goto put;
	}
	err = client_get_route(objs, op, req);
	dk_op_put(op);
	if (!err && copy_to_user(arg, req, sizeof(*req)))
		err = -EFAULT;
put:
	for (i = 0; i < DK_CLIENT_ARGS; i++)
		client_obj_put(objs[i]);
free:
	kfree(req);
	return err;
}

static int client_slot(struct dk_client_slot __user *arg)
{
	struct dk_client_slot *req;
	struct dk_entry *e;
	struct dk_op *op;
	int err;

	req = memdup_user(arg, sizeof(*req));
	if (IS_ERR(req))
		return PTR_ERR(req);
	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e) {
		err = -ENOMEM;
		goto free;
	}
	e->size = sizeof(*e);
	if (!client_name_ok(req->op)) {
		err = -EINVAL;
		goto free;
	}
	op = dk_op_get(NULL, req->op);
	if (!op) {
		err = -ENOENT;
		goto free;
	}
	err = dk_op_entry(op, req->device, req->slot, e);
	dk_op_put(op);
	if (err)
		goto free;
	client_fill_entry(&req->entry, e);
	if (copy_to_user(arg, req, sizeof(*req)))
		err = -EFAULT;
free:
	kfree(e);
	kfree(req);
	return err;
}

/* ---- the node ------------------------------------------------------------- */

static long client_ioctl(struct file *file, unsigned int cmd, unsigned long val)
{
	struct client *cl = file->private_data;
	void __user *arg = (void __user *)val;

	switch (cmd) {
	case DK_CLIENT_NEW:
		return client_new(cl, arg);
	case DK_CLIENT_FREE:
		return client_free(cl, arg);
	case DK_CLIENT_WRITE:
		return client_bytes(cl, arg, true);
	case DK_CLIENT_READ:
		return client_bytes(cl, arg, false);
	case DK_CLIENT_FACTORIAL:
		return client_factorial(cl, arg);
	case DK_CLIENT_COPY:
		return client_copy(cl, arg);
	case DK_CLIENT_QUEUE:
		return client_queue(cl, arg);
	case DK_CLIENT_ROUTE:
		return client_route(cl, arg);
	case DK_CLIENT_SLOT:
		return client_slot(arg);
	default:
		return -ENOTTY;
	}
}

static int client_open(struct inode *inode, struct file *file)
{
	struct client *cl;

	cl = kzalloc(sizeof(*cl), GFP_KERNEL_ACCOUNT);
	if (!cl)
		return -ENOMEM;
	xa_init_flags(&cl->objs, XA_FLAGS_ALLOC1);
	file->private_data = cl;
	return stream_open(inode, file);
}

/* No call is running, because each call holds a reference to the file. */
static int client_close(struct inode *inode, struct file *file)
{
	struct client *cl = file->private_data;
	struct client_obj *o;
	unsigned long id;

	xa_for_each(&cl->objs, id, o)
		client_obj_put(o);
	xa_destroy(&cl->objs);
	kfree(cl);
	return 0;
}

static const struct file_operations client_fops = {
	.owner = THIS_MODULE,
	.open = client_open,
	.release = client_close,
	.unlocked_ioctl = client_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice client_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dk_client",
	.fops = &client_fops,
	.mode = 0600,
};

module_misc_device(client_misc);

/* Shows /sys/module/dk_client/parameters/sent, which is read-only. */
static int client_sent_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%lld\n", atomic64_read(kp->arg));
}

/* Called if insmod is given the parameter. The kernel needs this function even if it only fails. */
static int client_sent_set(const char *text, const struct kernel_param *param)
{
	return -EINVAL;
}

static const struct kernel_param_ops client_sent_ops = {
	.get = client_sent_get,
	.set = client_sent_set,
};

module_param_cb(sent, &client_sent_ops, &client_sent, 0444);
MODULE_PARM_DESC(sent, "calls sent to the sample operators (read only)");

MODULE_DESCRIPTION("dispatchkey sample: calls from userspace");
MODULE_LICENSE("Dual BSD/GPL");
DK_MODULE_IMPORT();
