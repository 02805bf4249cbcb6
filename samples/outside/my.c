// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* my: a driver outside of this tree; README.md quotes it and its Makefile. */
#include <linux/module.h>
#include <dispatchkey.h>

DK_OP(my_add, "my::add", (const struct dk_obj *x, int a, int b, int *sum), (x, a, b, sum), (x));

static int card_add(struct dk_call *c, const struct dk_obj *x, int a, int b, int *sum)
{
	pr_info("%s adds\n", (const char *)dk_call_priv(c));	/* the card of x */
	*sum = a + b;
	return 0;
}

static const struct dk_impl impls[] = { DK_IMPL(my_add, DK_DENSE, card_add) };
static struct dk_provider me = DK_PROVIDER("my");

static int __init my_init(void)
{
	struct dk_diag why = { .size = sizeof(why) };
	struct dk_obj x = {};
	unsigned int backend;
	int err, sum;

	err = dk_provider_register(&me, &why) ?:
	      dk_backend_join(&me, "my", 0, 0, &backend, &why) ?:
	      dk_device_register(&me, backend, "card0", "card 0", impls, 1, &x.device, &why) ?:
	      dk_op_define(&me, &my_add_op, 0, &why) ?:
	      dk_device_find(NULL, "card0", &x, &why);	/* an object on it */
	if (err) {
		pr_err("%d, %s: %s\n", err, why.text, why.name);
	} else {
		err = my_add(&x, 1, 2, &sum);	/* card_add */
		if (err)
			pr_err("my::add: %d, %s\n", err, dk_call_error_text(err));
	}
	if (err)
		dk_provider_unregister(&me);	/* unregisters everything */
	return err == -ENOSYS ? -ENODEV : err;	/* on -ENOSYS insmod would try again */
}
module_init(my_init);

static void __exit my_exit(void)
{
	dk_provider_unregister(&me);	/* when it returns, no call is inside */
}
module_exit(my_exit);

MODULE_LICENSE("GPL");
DK_MODULE_IMPORT();
