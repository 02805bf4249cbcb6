// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * dk_edu: drives QEMU's edu accelerator (docs/specs/edu of QEMU). Every card is a
 * device of the private backend "edu". The device is named after the card's PCI address,
 * and implements the sample operators in hardware.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/pm.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>

#include "ops.h"

#define EDU_REG_ID		0x00
#define EDU_ID_MASK		0x0000ffff	/* the upper half is the version */
#define EDU_ID			0x000000ed
#define EDU_REG_LIVE		0x04		/* reads what was written, inverted */
#define EDU_REG_FACTORIAL	0x08
#define EDU_REG_STATUS		0x20
#define EDU_STATUS_COMPUTING	BIT(0)
#define EDU_STATUS_IRQ		BIT(7)		/* interrupt after computing */
#define EDU_REG_IRQ_STATUS	0x24
#define EDU_IRQ_COMPUTED	BIT(0)
#define EDU_IRQ_DMA		BIT(8)
#define EDU_REG_IRQ_ACK		0x64
/* These registers are 64 bits wide; the card uses only the lower half. */
#define EDU_REG_DMA_SRC		0x80
#define EDU_REG_DMA_DST		0x88
#define EDU_REG_DMA_COUNT	0x90
#define EDU_REG_DMA_CMD		0x98
#define EDU_DMA_RUN		BIT(0)
#define EDU_DMA_FROM_CARD	BIT(1)
#define EDU_DMA_IRQ		BIT(2)		/* interrupt when done */

/* The card's own buffer, in its address space. */
#define EDU_CARD_BUF		0x40000
/* The buffer has 4096 bytes, but QEMU aborts if a transfer reaches its end. */
#define EDU_DMA_MAX		4095
#define EDU_DMA_BITS		28

/* On most machines the registers of a removed card have this value. */
#define EDU_GONE		U32_MAX

/* A factorial takes microseconds and a transfer 100 ms; a virtual machine may be slow. */
#define EDU_TIMEOUT		(5 * HZ)

enum edu_counter {
	EDU_SERVED_FACTORIAL,
	EDU_SERVED_COPY,
	EDU_DMA_BYTES,
	EDU_INTERRUPTS,
	EDU_NUM_COUNTERS
};

/**
 * struct edu_card - a card
 * @pdev: its PCI device
 * @regs: its registers
 * @lock: protects the factorial unit and @done
 * @done: completed by the interrupt of the factorial unit
 * @queue_lock: protects the DMA engine, @buf, and the members from @queue to @started
 * @queue: copies; the DMA engine works on the first one
 * @part: length of the current transfer, in bytes
 * @from_card: whether the transfer is from the card to @buf
 * @started: when the transfer began, in jiffies
 * @watchdog: runs when the transfer has taken too long
 * @buf: DMA buffer of EDU_DMA_MAX bytes
 * @buf_dma: DMA address of @buf
 * @device: the dispatcher's number of the device
 * @was_online: whether the device was online when the system was suspended
 * @counter: statistics for sysfs
 */
struct edu_card {
	struct pci_dev *pdev;
	void __iomem *regs;
	struct mutex lock;	/* see above */
	struct completion done;
	spinlock_t queue_lock;	/* see above */
	struct sample_job *queue;
	u32 part;
	bool from_card;
	unsigned long started;
	struct delayed_work watchdog;
	void *buf;
	dma_addr_t buf_dma;
	__u32 device;
	bool was_online;
	atomic64_t counter[EDU_NUM_COUNTERS];
};

/* The sums over all cards since the module was loaded, including removed cards. */
static atomic64_t edu_total[EDU_NUM_COUNTERS];

static void edu_count(struct edu_card *card, enum edu_counter which, s64 n)
{
	atomic64_add(n, &card->counter[which]);
	atomic64_add(n, &edu_total[which]);
}

static u32 edu_read(struct edu_card *card, unsigned int reg)
{
	return readl(card->regs + reg);
}

static void edu_write(struct edu_card *card, unsigned int reg, u32 val)
{
	writel(val, card->regs + reg);
}

/* ---- the hardware --------------------------------------------------------- */

static bool edu_is_present(struct edu_card *card)
{
	return (edu_read(card, EDU_REG_ID) & EDU_ID_MASK) == EDU_ID;
}

/*
 * Check that the card is present and idle before it computes a number. The card can be busy only
 * if an earlier call timed out.
 */
static int edu_begin(struct edu_card *card)
{
	lockdep_assert_held(&card->lock);
	if (!edu_is_present(card))
		return -EIO;
	if (edu_read(card, EDU_REG_STATUS) & EDU_STATUS_COMPUTING)
		return -EBUSY;
	reinit_completion(&card->done);
	return 0;
}

/* Wait until the card has computed the number. */
static int edu_wait(struct edu_card *card)
{
	unsigned long left = EDU_TIMEOUT;
	u32 status;

	/*
	 * Check the register and do not rely on the interrupt: the interrupt of earlier work can
	 * be late, and the interrupt of this work can be lost.
	 */
	do {
		left = wait_for_completion_timeout(&card->done, left);
		status = edu_read(card, EDU_REG_STATUS);
	} while ((status & EDU_STATUS_COMPUTING) && left);

	if (!left && !edu_is_present(card))
		return -EIO;
	return status & EDU_STATUS_COMPUTING ? -ETIMEDOUT : 0;
}

static int edu_compute(struct edu_card *card, u32 n, u32 *res)
{
	int err;

	err = edu_begin(card);
	if (err)
		return err;
	/* Larger numbers have the same result, but the card needs seconds for them. */
	n = min_t(u32, n, SAMPLE_FACTORIAL_ZERO);
	edu_write(card, EDU_REG_STATUS, EDU_STATUS_IRQ);
	edu_write(card, EDU_REG_FACTORIAL, n);
	err = edu_wait(card);
	if (err)
		return err;
	*res = edu_read(card, EDU_REG_FACTORIAL);
	/* EDU_GONE is not a factorial: factorials are even, except 0! and 1!. */
	return *res == EDU_GONE ? -EIO : 0;
}

/* ---- the queue of copies ---------------------------------------------------- */

/* Start to transfer a part of the first job to or from the card's own buffer. */
static int edu_start(struct edu_card *card)
{
	const struct sample_job *job = card->queue;
	u32 host = lower_32_bits(card->buf_dma);
	u32 cmd = EDU_DMA_RUN | EDU_DMA_IRQ;

	lockdep_assert_held(&card->queue_lock);
	if (!edu_is_present(card))
		return -EIO;
	/* busy with a transfer that timed out */
	if (edu_read(card, EDU_REG_DMA_CMD) & EDU_DMA_RUN)
		return -EBUSY;
	card->part = min_t(u32, job->src->len - job->at, EDU_DMA_MAX);
	if (card->from_card)
		cmd |= EDU_DMA_FROM_CARD;
	else
		memcpy(card->buf, job->src->data + job->at, card->part);
	edu_write(card, EDU_REG_DMA_SRC, card->from_card ? EDU_CARD_BUF : host);
	edu_write(card, EDU_REG_DMA_DST, card->from_card ? host : EDU_CARD_BUF);
	edu_write(card, EDU_REG_DMA_COUNT, card->part);
	edu_write(card, EDU_REG_DMA_CMD, cmd);
	card->started = jiffies;
	mod_delayed_work(system_wq, &card->watchdog, EDU_TIMEOUT);
	return 0;
}

/* Called when the transfer that was started has ended. */
static void edu_transferred(struct edu_card *card)
{
	struct sample_job *job = card->queue;

	edu_count(card, EDU_DMA_BYTES, card->part);
	if (card->from_card) {
		memcpy(job->dst->data + job->at, card->buf, card->part);
		job->at += card->part;
	} else {
		/* Clear the buffer, so that the result can only come from the card. */
		memset(card->buf, 0, card->part);
	}
	card->from_card = !card->from_card;
}

/*
 * Start the next transfer. @err is the result of the first job so far. Returns the jobs that
 * have ended; the caller passes them to edu_end_jobs() after it has released the lock.
 */
static struct sample_job *edu_run_queue(struct edu_card *card, int err)
{
	struct sample_job *job, *ended = NULL, **end = &ended;

	lockdep_assert_held(&card->queue_lock);
	while ((job = card->queue)) {
		if (!err && job->at < job->src->len) {
			err = edu_start(card);
			if (!err)
				break;
		}
		job->err = err;
		err = 0;
		card->queue = job->next;
		card->from_card = false;
		job->next = NULL;
		*end = job;
		end = &job->next;
	}
	return ended;
}

static void edu_end_jobs(struct edu_card *card, struct sample_job *job)
{
	struct sample_job *next;

	for (; job; job = next) {
		next = job->next;
		if (!job->err)
			edu_count(card, EDU_SERVED_COPY, 1);
		/*
		 * As soon as the last job is completed, dk_device_unregister() in edu_remove() may
		 * return. edu_remove() then waits for this code before the card is freed.
		 */
		if (job->is_deferred)
			WARN_ON_ONCE(dk_call_complete(&job->token, job->err));
		job->done(job, job->err);
	}
}

static void edu_queue(struct edu_card *card, struct sample_job *job)
{
	struct sample_job **end = &card->queue, *ended = NULL;
	unsigned long flags;

	job->next = NULL;
	job->at = 0;
	spin_lock_irqsave(&card->queue_lock, flags);
	while (*end)
		end = &(*end)->next;
	*end = job;
	if (card->queue == job)
		ended = edu_run_queue(card, 0);
	spin_unlock_irqrestore(&card->queue_lock, flags);
	edu_end_jobs(card, ended);
}

/* Remove a job from the queue. Returns false if it is the first, or has ended. */
static bool edu_cancel(struct edu_card *card, const struct sample_job *job)
{
	struct sample_job *before;
	unsigned long flags;

	spin_lock_irqsave(&card->queue_lock, flags);
	before = card->queue;
	while (before && before->next != job)
		before = before->next;
	if (before)
		before->next = job->next;
	spin_unlock_irqrestore(&card->queue_lock, flags);
	return before;
}

/* Reads the register to see if the work has ended: an interrupt of earlier work can be late. */
static void edu_dma_irq(struct edu_card *card)
{
	struct sample_job *ended = NULL;
	unsigned long flags;

	spin_lock_irqsave(&card->queue_lock, flags);
	if (card->queue && !(edu_read(card, EDU_REG_DMA_CMD) & EDU_DMA_RUN)) {
		edu_transferred(card);
		ended = edu_run_queue(card, 0);
	}
	spin_unlock_irqrestore(&card->queue_lock, flags);
	edu_end_jobs(card, ended);
}

/* True if the card may read and write memory. If not, it transfers nothing and reports no error. */
static bool edu_is_master(struct edu_card *card)
{
	u16 command;

	return !pci_read_config_word(card->pdev, PCI_COMMAND, &command) &&
	       (command & PCI_COMMAND_MASTER);
}

/* Runs if the interrupt of a transfer was lost, or if the card does not respond. */
static void edu_watchdog(struct work_struct *work)
{
	struct edu_card *card = container_of(work, struct edu_card, watchdog.work);
	struct sample_job *ended = NULL;

	spin_lock_irq(&card->queue_lock);
	if (card->queue && time_after_eq(jiffies, card->started + EDU_TIMEOUT)) {
		if (!edu_is_present(card) || !edu_is_master(card)) {
			ended = edu_run_queue(card, -EIO);
		} else if (edu_read(card, EDU_REG_DMA_CMD) & EDU_DMA_RUN) {
			ended = edu_run_queue(card, -ETIMEDOUT);
		} else {
			edu_transferred(card);
			ended = edu_run_queue(card, 0);
		}
	}
	spin_unlock_irq(&card->queue_lock);
	edu_end_jobs(card, ended);
}

static irqreturn_t edu_irq(int irq, void *data)
{
	struct edu_card *card = data;
	u32 why = edu_read(card, EDU_REG_IRQ_STATUS);

	/* INTx is shared; the register of a removed card reads as EDU_GONE. */
	if (!why || why == EDU_GONE)
		return IRQ_NONE;
	edu_write(card, EDU_REG_IRQ_ACK, why);
	edu_count(card, EDU_INTERRUPTS, 1);
	if (why & EDU_IRQ_COMPUTED)
		complete(&card->done);
	if (why & EDU_IRQ_DMA)
		edu_dma_irq(card);
	return IRQ_HANDLED;
}

/* ---- the operators -------------------------------------------------------- */

static int edu_factorial(struct dk_call *c, const struct dk_obj *x, __u32 n,
			 __u32 *res)
{
	struct edu_card *card = dk_call_priv(c);
	int err;

	err = mutex_lock_killable(&card->lock);
	if (err)
		return err;
	err = edu_compute(card, n, res);
	mutex_unlock(&card->lock);
	if (!err)
		edu_count(card, EDU_SERVED_FACTORIAL, 1);
	return err;
}

/* A copy whose caller waits for it. */
struct edu_waiter {
	struct sample_job job;
	struct completion done;
};

static void edu_wake(struct sample_job *job, int err)
{
	complete(&container_of(job, struct edu_waiter, job)->done);
}

static int edu_copy(struct dk_call *c, struct sample_buf *dst,
		    const struct sample_buf *src)
{
	struct edu_waiter w = { .job = { .dst = dst, .src = src, .done = edu_wake } };
	struct edu_card *card = dk_call_priv(c);
	int err;

	if (dst->len < src->len)
		return -EINVAL;
	init_completion(&w.done);
	edu_queue(card, &w.job);
	err = wait_for_completion_killable(&w.done);
	if (err && edu_cancel(card, &w.job))
		return err;
	if (err)
		wait_for_completion(&w.done);
	return w.job.err;
}

/* Returns at once. The call continues until the card has copied all bytes: edu_end_jobs(). */
static int edu_queue_copy(struct dk_call *c, struct sample_job *job)
{
	int err;

	if (job->dst->len < job->src->len)
		return -EINVAL;
	err = dk_call_defer(c, &job->token);
	if (err)
		return err;
	job->is_deferred = true;
	edu_queue(dk_call_priv(c), job);
	return 0;
}

/* The functions of a card. DK_DENSE means the Dense key of its backend. */
static const struct dk_impl edu_impls[] = {
	DK_IMPL(sample_factorial, DK_DENSE, edu_factorial),
	DK_IMPL(sample_copy, DK_DENSE, edu_copy),
	DK_IMPL(sample_queue_copy, DK_DENSE, edu_queue_copy),
};

static struct dk_provider edu = DK_PROVIDER("dk_edu");
static unsigned int edu_backend;

/* ---- counters in sysfs ---------------------------------------------------- */

/* Defines a file for each card, and one for the driver with the sum. */
#define EDU_COUNTER(name, which)						\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr,	\
			   char *buf)						\
{										\
	struct edu_card *card = dev_get_drvdata(dev);				\
										\
	return sysfs_emit(buf, "%lld\n", atomic64_read(&card->counter[which]));	\
}										\
static DEVICE_ATTR_RO(name);							\
static ssize_t name##_sum(struct device_driver *drv, char *buf)			\
{										\
	return sysfs_emit(buf, "%lld\n", atomic64_read(&edu_total[which]));	\
}										\
static struct driver_attribute driver_attr_##name = __ATTR(name, 0444, name##_sum, NULL)

EDU_COUNTER(served_factorial, EDU_SERVED_FACTORIAL);
EDU_COUNTER(served_copy, EDU_SERVED_COPY);
EDU_COUNTER(dma_bytes, EDU_DMA_BYTES);
EDU_COUNTER(interrupts, EDU_INTERRUPTS);

static struct attribute *edu_card_attrs[] = {
	&dev_attr_served_factorial.attr,
	&dev_attr_served_copy.attr,
	&dev_attr_dma_bytes.attr,
	&dev_attr_interrupts.attr,
	NULL
};
ATTRIBUTE_GROUPS(edu_card);

static struct attribute *edu_driver_attrs[] = {
	&driver_attr_served_factorial.attr,
	&driver_attr_served_copy.attr,
	&driver_attr_dma_bytes.attr,
	&driver_attr_interrupts.attr,
	NULL
};
ATTRIBUTE_GROUPS(edu_driver);

/* ---- probe and remove ----------------------------------------------------- */

static int edu_identify(struct edu_card *card)
{
	struct device *dev = &card->pdev->dev;
	const u32 pattern = 0x600dcafe;

	if (!edu_is_present(card))
		return dev_err_probe(dev, -ENODEV, "unexpected identification %#x\n",
				     edu_read(card, EDU_REG_ID));
	edu_write(card, EDU_REG_LIVE, pattern);
	if (edu_read(card, EDU_REG_LIVE) != ~pattern)
		return dev_err_probe(dev, -EIO, "the card does not respond\n");
	return 0;
}

/* Wait for work that a previous driver may have started. */
static int edu_wait_idle(struct edu_card *card)
{
	u32 val;
	int err;

	err = readl_poll_timeout(card->regs + EDU_REG_STATUS, val,
				 !(val & EDU_STATUS_COMPUTING), 1000,
				 jiffies_to_usecs(EDU_TIMEOUT));
	if (!err)
		err = readl_poll_timeout(card->regs + EDU_REG_DMA_CMD, val,
					 !(val & EDU_DMA_RUN), 1000,
					 jiffies_to_usecs(EDU_TIMEOUT));
	if (err)
		return dev_err_probe(&card->pdev->dev, err, "the card stays busy\n");
	return 0;
}

/* Disable interrupts and acknowledge pending ones. */
static void edu_disable_irq(struct edu_card *card)
{
	edu_write(card, EDU_REG_STATUS, 0);
	edu_write(card, EDU_REG_IRQ_ACK, edu_read(card, EDU_REG_IRQ_STATUS));
}

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct device *dev = &pdev->dev;
	struct edu_card *card;
	int err;

	card = devm_kzalloc(dev, sizeof(*card), GFP_KERNEL);
	if (!card)
		return -ENOMEM;
	card->pdev = pdev;
	mutex_init(&card->lock);
	init_completion(&card->done);
	spin_lock_init(&card->queue_lock);
	INIT_DELAYED_WORK(&card->watchdog, edu_watchdog);
	pci_set_drvdata(pdev, card);

	err = pcim_enable_device(pdev);
	if (err)
		return dev_err_probe(dev, err, "cannot enable the device\n");
	/* An administrator can name any PCI device in new_id. */
	if (!(pci_resource_flags(pdev, 0) & IORESOURCE_MEM) ||
	    pci_resource_len(pdev, 0) < EDU_REG_DMA_CMD + sizeof(u64))
		return dev_err_probe(dev, -ENODEV, "BAR 0 does not contain the registers\n");
	err = pcim_iomap_regions(pdev, BIT(0), KBUILD_MODNAME);
	if (err)
		return dev_err_probe(dev, err, "cannot map the registers\n");
	card->regs = pcim_iomap_table(pdev)[0];
	err = edu_identify(card);
	if (err)
		return err;

	err = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(EDU_DMA_BITS));
	if (err)
		return dev_err_probe(dev, err, "cannot use %u-bit DMA addresses\n", EDU_DMA_BITS);
	card->buf = dmam_alloc_coherent(dev, EDU_DMA_MAX, &card->buf_dma, GFP_KERNEL);
	if (!card->buf)
		return -ENOMEM;
	err = edu_wait_idle(card);
	if (err)
		return err;
	edu_disable_irq(card);

	/* Not managed by devres, because the following steps must be undone in a certain order. */
	pci_set_master(pdev);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_ALL_TYPES);
	if (err < 0) {
		dev_err_probe(dev, err, "cannot allocate an interrupt\n");
		goto clear_master;
	}
	err = pci_request_irq(pdev, 0, edu_irq, NULL, card, "%s:%s", KBUILD_MODNAME,
			      pci_name(pdev));
	if (err) {
		dev_err_probe(dev, err, "cannot request the interrupt\n");
		goto free_vectors;
	}
	/* Calls may arrive before dk_device_register() returns, so it must be last. */
	err = dk_device_register(&edu, edu_backend, pci_name(pdev), card, edu_impls,
				 ARRAY_SIZE(edu_impls), &card->device, &why);
	if (err) {
		dev_err_probe(dev, err, "cannot register the device: %s%s%s\n", why.name,
			      why.name[0] ? ": " : "", why.text);
		goto free_irq;
	}
	return 0;

free_irq:
	pci_free_irq(pdev, 0, card);
free_vectors:
	pci_free_irq_vectors(pdev);
clear_master:
	pci_clear_master(pdev);
	return err;
}

static void edu_remove(struct pci_dev *pdev)
{
	struct edu_card *card = pci_get_drvdata(pdev);

	/*
	 * After dk_device_unregister() returns, no call is running on the card, and the
	 * queue is empty. New calls are routed to other functions.
	 */
	dk_device_unregister(&edu, card->device, NULL);
	edu_disable_irq(card);
	pci_free_irq(pdev, 0, card);
	cancel_delayed_work_sync(&card->watchdog);
	pci_free_irq_vectors(pdev);
	/* Stop a transfer of a call that timed out, before its buffer is freed. */
	pci_clear_master(pdev);
}

/* ---- suspend and resume --------------------------------------------------- */

#define EDU_SUSPEND_TIMEOUT_MS	1000

/*
 * Other parts of the kernel may call the card while the system is suspended. After the device is
 * offline, no call is running on the card, and the queue is empty. New calls are routed to other
 * functions.
 */
static int edu_suspend(struct device *dev)
{
	struct dk_device_info info = { .size = sizeof(info) };
	struct edu_card *card = dev_get_drvdata(dev);
	int err;

	err = dk_registry_device(NULL, card->device, &info);
	if (err)
		return err;
	card->was_online = info.is_online;
	err = dk_device_set_online_timeout(NULL, card->device, 0, EDU_SUSPEND_TIMEOUT_MS, NULL);
	/* After an error the kernel does not call edu_resume(). */
	if (err && card->was_online)
		dk_device_set_online(NULL, card->device, 1, NULL);
	return err;
}

/* A card that an administrator has taken offline stays offline. */
static int edu_resume(struct device *dev)
{
	struct edu_card *card = dev_get_drvdata(dev);

	return card->was_online ? dk_device_set_online(NULL, card->device, 1, NULL) : 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(edu_pm_ops, edu_suspend, edu_resume);

static const struct pci_device_id edu_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{ }
};
MODULE_DEVICE_TABLE(pci, edu_ids);

static struct pci_driver edu_driver = {
	.name = KBUILD_MODNAME,
	.id_table = edu_ids,
	.probe = edu_probe,
	.remove = edu_remove,
	.driver.pm = pm_sleep_ptr(&edu_pm_ops),
	.groups = edu_driver_groups,
	.dev_groups = edu_card_groups,
};

static int __init edu_init(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	int err;

	err = dk_provider_register(&edu, &why);
	if (!err)
		err = dk_backend_join(&edu, "edu", 0, 0, &edu_backend, &why);
	if (err)
		pr_err("%s%s%s\n", why.name, why.name[0] ? ": " : "", why.text);
	else
		err = pci_register_driver(&edu_driver);
	/* Unregisters everything. Does nothing if the provider is not registered. */
	if (err)
		dk_provider_unregister(&edu);
	return err;
}
module_init(edu_init);

static void __exit edu_exit(void)
{
	pci_unregister_driver(&edu_driver);
	dk_provider_unregister(&edu);
}
module_exit(edu_exit);

MODULE_DESCRIPTION("dispatchkey sample: QEMU's edu accelerator");
MODULE_LICENSE("Dual BSD/GPL");
DK_MODULE_IMPORT();
