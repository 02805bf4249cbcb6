// SPDX-License-Identifier: GPL-2.0-only
/*
 * dk_sleeper: suspends or resumes the cards of dk_edu, as the kernel does when the system goes to
 * sleep and wakes up: write "suspend" or "resume" to the parameter "cards". A real suspend would
 * also stop the file system of a test machine.
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>
#include <linux/string.h>

/* Calls one of the driver's functions, whose address is at @data, for a card. */
static int card_call(struct device *dev, void *data)
{
	int (**call)(struct device *dev) = data;
	int err;

	device_lock(dev);
	err = (*call)(dev);
	device_unlock(dev);
	return err;
}

static int cards_set(const char *value, const struct kernel_param *kp)
{
	struct device_driver *edu = driver_find("dk_edu", &pci_bus_type);
	int (*call)(struct device *dev);

	if (!edu || !edu->pm)
		return -ENODEV;
	if (sysfs_streq(value, "suspend"))
		call = edu->pm->suspend;
	else if (sysfs_streq(value, "resume"))
		call = edu->pm->resume;
	else
		return -EINVAL;
	return driver_for_each_device(edu, NULL, &call, card_call);
}

static const struct kernel_param_ops cards_ops = { .set = cards_set };
module_param_cb(cards, &cards_ops, NULL, 0200);
MODULE_PARM_DESC(cards, "suspend or resume");

MODULE_DESCRIPTION("dispatchkey selftest: suspends and resumes the cards of dk_edu");
MODULE_LICENSE("GPL");
