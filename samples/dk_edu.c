// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * dk_edu: driver of QEMU's edu accelerator (docs/specs/edu of QEMU). Every card
 * is a device of the private backend "edu" under its PCI name, and serves the
 * sample operators in hardware.
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
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "ops.h"

#define EDU_REG_ID		0x00
#define EDU_ID_MASK		0x0000ffff	/* the version is above */
#define EDU_ID			0x000000ed
#define EDU_REG_LIVE		0x04		/* reads what was written, inverted */
#define EDU_REG_FACTORIAL	0x08
#define EDU_REG_STATUS		0x20
#define EDU_STATUS_COMPUTING	BIT(0)
#define EDU_STATUS_IRQ		BIT(7)		/* interrupt when computed */
#define EDU_REG_IRQ_STATUS	0x24
#define EDU_REG_IRQ_ACK		0x64
/* These are 64 bits wide; the card's addresses fit into the lower half. */
#define EDU_REG_DMA_SRC		0x80
#define EDU_REG_DMA_DST		0x88
#define EDU_REG_DMA_COUNT	0x90
#define EDU_REG_DMA_CMD		0x98
#define EDU_DMA_RUN		BIT(0)
#define EDU_DMA_FROM_CARD	BIT(1)
#define EDU_DMA_IRQ		BIT(2)		/* interrupt when done */

/* The card's own buffer, in its address space. */
#define EDU_CARD_BUF		0x40000
/* It has 4096 bytes, but QEMU aborts when a transfer reaches its end. */
#define EDU_DMA_MAX		4095
#define EDU_DMA_BITS		28

/* What a card that is not there reads as, on most machines. */
#define EDU_GONE		U32_MAX

/* A factorial takes microseconds and a transfer 100 ms, but of a virtual machine. */
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
 * @lock: one user of factorial unit, DMA engine, @buf and @done at a time
 * @done: completed by the interrupt
 * @buf: what the DMA engine reads and writes, EDU_DMA_MAX bytes
 * @buf_dma: its address for the card
 * @device: number with the dispatcher
 * @counter: what it has done
 */
struct edu_card {
	struct pci_dev *pdev;
	void __iomem *regs;
	struct mutex lock;	/* see above */
	struct completion done;
	void *buf;
	dma_addr_t buf_dma;
	__u32 device;
	atomic64_t counter[EDU_NUM_COUNTERS];
};

/* Of all cards since the module was loaded, also of those that are gone. */
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

static irqreturn_t edu_irq(int irq, void *data)
{
	struct edu_card *card = data;
	u32 why = edu_read(card, EDU_REG_IRQ_STATUS);

	/* INTx is shared, and an unplugged card has no reason either. */
	if (!why || why == EDU_GONE)
		return IRQ_NONE;
	edu_write(card, EDU_REG_IRQ_ACK, why);
	edu_count(card, EDU_INTERRUPTS, 1);
	complete(&card->done);
	return IRQ_HANDLED;
}

static bool edu_is_there(struct edu_card *card)
{
	return (edu_read(card, EDU_REG_ID) & EDU_ID_MASK) == EDU_ID;
}

/*
 * Before work is started: the card is there and has nothing to do. Only work
 * that a call gave up waiting for can keep it busy.
 */
static int edu_begin(struct edu_card *card, unsigned int reg, u32 busy)
{
	lockdep_assert_held(&card->lock);
	if (!edu_is_there(card))
		return -EIO;
	if (edu_read(card, reg) & busy)
		return -EBUSY;
	reinit_completion(&card->done);
	return 0;
}

/* Sleep until the work that was started is done. */
static int edu_wait(struct edu_card *card, unsigned int reg, u32 busy)
{
	unsigned long left = EDU_TIMEOUT;
	u32 status;

	/*
	 * The register decides, not the interrupt: one of earlier work may come
	 * late, and what was computed counts even if its own has been lost.
	 */
	do {
		left = wait_for_completion_timeout(&card->done, left);
		status = edu_read(card, reg);
	} while ((status & busy) && left);

	if (!left && !edu_is_there(card))
		return -EIO;
	return status & busy ? -ETIMEDOUT : 0;
}

static int edu_compute(struct edu_card *card, u32 n, u32 *res)
{
	int err;

	err = edu_begin(card, EDU_REG_STATUS, EDU_STATUS_COMPUTING);
	if (err)
		return err;
	/* The result is the same, but the card would multiply for seconds. */
	n = min_t(u32, n, SAMPLE_FACTORIAL_ZERO);
	edu_write(card, EDU_REG_STATUS, EDU_STATUS_IRQ);
	edu_write(card, EDU_REG_FACTORIAL, n);
	err = edu_wait(card, EDU_REG_STATUS, EDU_STATUS_COMPUTING);
	if (err)
		return err;
	*res = edu_read(card, EDU_REG_FACTORIAL);
	/* All ones is no factorial: they are even, but for 0! and 1!. */
	return *res == EDU_GONE ? -EIO : 0;
}

/* One transfer between @card->buf and the card's own buffer. */
static int edu_transfer(struct edu_card *card, u32 len, bool from_card)
{
	u32 host = lower_32_bits(card->buf_dma);
	u32 cmd = EDU_DMA_RUN | EDU_DMA_IRQ;
	int err;

	err = edu_begin(card, EDU_REG_DMA_CMD, EDU_DMA_RUN);
	if (err)
		return err;
	if (from_card)
		cmd |= EDU_DMA_FROM_CARD;
	edu_write(card, EDU_REG_DMA_SRC, from_card ? EDU_CARD_BUF : host);
	edu_write(card, EDU_REG_DMA_DST, from_card ? host : EDU_CARD_BUF);
	edu_write(card, EDU_REG_DMA_COUNT, len);
	edu_write(card, EDU_REG_DMA_CMD, cmd);
	err = edu_wait(card, EDU_REG_DMA_CMD, EDU_DMA_RUN);
	if (!err)
		edu_count(card, EDU_DMA_BYTES, len);
	return err;
}

/* Through the card's buffer and back. */
static int edu_copy_chunk(struct edu_card *card, void *dst, const void *src, u32 len)
{
	int err;

	err = mutex_lock_killable(&card->lock);
	if (err)
		return err;
	memcpy(card->buf, src, len);
	err = edu_transfer(card, len, false);
	if (err)
		goto unlock;
	/* So that what is found there afterwards has come from the card. */
	memset(card->buf, 0, len);
	err = edu_transfer(card, len, true);
	if (err)
		goto unlock;
	memcpy(dst, card->buf, len);
unlock:
	mutex_unlock(&card->lock);
	return err;
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

static int edu_copy(struct dk_call *c, struct sample_buf *dst,
		    const struct sample_buf *src)
{
	struct edu_card *card = dk_call_priv(c);
	u32 at, len;
	int err;

	if (dst->len < src->len)
		return -EINVAL;
	/* Other calls get their turn between two chunks. */
	for (at = 0; at < src->len; at += len) {
		len = min_t(u32, src->len - at, EDU_DMA_MAX);
		err = edu_copy_chunk(card, dst->data + at, src->data + at, len);
		if (err)
			return err;
	}
	edu_count(card, EDU_SERVED_COPY, 1);
	return 0;
}

/* Of one card: here DK_DENSE means the Dense key of the backend it is of. */
static const struct dk_impl edu_impls[] = {
	DK_IMPL(sample_factorial, DK_DENSE, edu_factorial),
	DK_IMPL(sample_copy, DK_DENSE, edu_copy),
};

static struct dk_provider edu = DK_PROVIDER("dk_edu");
static unsigned int edu_backend;

/* ---- counters in sysfs ---------------------------------------------------- */

/* A file of every card, and one of the driver with the sum. */
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

/* ---- coming and going ----------------------------------------------------- */

static int edu_identify(struct edu_card *card)
{
	struct device *dev = &card->pdev->dev;
	const u32 pattern = 0x600dcafe;

	if (!edu_is_there(card))
		return dev_err_probe(dev, -ENODEV, "identification %#x is not edu's\n",
				     edu_read(card, EDU_REG_ID));
	edu_write(card, EDU_REG_LIVE, pattern);
	if (edu_read(card, EDU_REG_LIVE) != ~pattern)
		return dev_err_probe(dev, -EIO, "the card does not answer\n");
	return 0;
}

/* Whoever had the card before may have left work and interrupts behind. */
static int edu_settle(struct edu_card *card)
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

/* No more interrupts, and none pending. */
static void edu_silence(struct edu_card *card)
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
	pci_set_drvdata(pdev, card);

	err = pcim_enable_device(pdev);
	if (err)
		return dev_err_probe(dev, err, "cannot be enabled\n");
	err = pcim_iomap_regions(pdev, BIT(0), KBUILD_MODNAME);
	if (err)
		return dev_err_probe(dev, err, "no registers\n");
	card->regs = pcim_iomap_table(pdev)[0];
	err = edu_identify(card);
	if (err)
		return err;

	err = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(EDU_DMA_BITS));
	if (err)
		return dev_err_probe(dev, err, "no DMA with %u bits\n", EDU_DMA_BITS);
	card->buf = dmam_alloc_coherent(dev, EDU_DMA_MAX, &card->buf_dma, GFP_KERNEL);
	if (!card->buf)
		return -ENOMEM;
	err = edu_settle(card);
	if (err)
		return err;
	edu_silence(card);

	/* From here on by hand, since the order of undoing is what matters. */
	pci_set_master(pdev);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_ALL_TYPES);
	if (err < 0) {
		dev_err_probe(dev, err, "no interrupt\n");
		goto clear_master;
	}
	err = pci_request_irq(pdev, 0, edu_irq, NULL, card, "%s:%s", KBUILD_MODNAME,
			      pci_name(pdev));
	if (err) {
		dev_err_probe(dev, err, "interrupt refused\n");
		goto free_vectors;
	}
	/* Calls may come before this returns, so it is the last. */
	err = dk_device_register(&edu, edu_backend, pci_name(pdev), card, edu_impls,
				 ARRAY_SIZE(edu_impls), &card->device, &why);
	if (err) {
		dev_err_probe(dev, err, "not registered: %s%s%s\n", why.name,
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
	 * When this returns, the calls that were inside have finished on the
	 * card, and the next ones go to whoever else serves them.
	 */
	dk_device_unregister(&edu, card->device, NULL);
	edu_silence(card);
	pci_free_irq(pdev, 0, card);
	pci_free_irq_vectors(pdev);
	/* Even a transfer that a call gave up on ends here, before its buffer. */
	pci_clear_master(pdev);
}

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
	/* Takes out whatever there is, and is fine if that is nothing. */
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
