// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Parses names of keys and devices as PyTorch and its users write them: SEMANTICS 1.6 and 10.
 */
#include "pytorch.h"

/*
 * Converts the name of a private backend to capitals. The strict parser accepts the private name
 * only in capitals, but anywhere in the name of a key: SEMANTICS 1.6.
 */
static void capitalize(char *s)
{
	for (; *s; s++)
		if (*s >= 'a' && *s <= 'z')
			*s -= 'a' - 'A';
}

int dk_registry_key_parse_strict(struct dk_registry *reg, const char *name,
				 unsigned int *key, struct dk_diag *why)
{
	char bound[DK_NAME_MAX] = "", buf[DK_NAME_MAX];
	const struct dk_layout *l;
	unsigned int b;

	if (!name)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "name");
	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, name);
	l = reg->layout;
	b = dkc_find_backend(l, "PrivateUse1");
	if (l->privateuseone && b) {
		mutex_lock(&reg->lock);
		dkc_strcpy(bound, reg->private_backend[b]->name, sizeof(bound));
		mutex_unlock(&reg->lock);
	}
	if (!bound[0])
		return dk_key_parse(l, name, DK_PARSE_STRICT, key, why);
	capitalize(bound);
	dkc_replace(buf, name, bound, "PrivateUse1");
	if (!dkc_key_parse_strict(l, name, key) && !dkc_key_parse_strict(l, buf, key))
		return dkc_refuse(why, l->has_strict ? DK_WHY_PARSE_KEY : DK_WHY_NO_STRICT,
				  l->has_strict ? name : l->name);
	return dkc_accept(why);
}

/* Returns the private backend with this name in lower case, or 0. */
static unsigned int parse_private_name(const struct dk_registry *reg, const char *word,
				       size_t len)
{
	unsigned int b;
	size_t i;

	dkc_assert_writer(reg);
	for (b = 1; b <= reg->layout->nb; b++) {
		const char *name = reg->private_backend[b]->name;

		for (i = 0; i < len && name[i] && word[i] == dkc_lower(name[i]); i++)
			;
		if (name[0] && i == len && !name[i])
			return b;
	}
	return 0;
}

int dk_key_for_device(struct dk_registry *reg, const char *device, unsigned int *key,
		      struct dk_diag *why)
{
	const struct dk_layout *l;
	const char *type;
	unsigned int b;
	size_t len = 0;

	if (!device)
		return dkc_refuse(why, DK_WHY_NULL_ARGUMENT, "device");
	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, device);
	l = reg->layout;
	while (device[len] && device[len] != ':')
		len++;
	mutex_lock(&reg->lock);
	b = parse_private_name(reg, device, len);
	mutex_unlock(&reg->lock);
	type = b ? l->backend_names[b] : dkc_parse_device_type(l, device, len);
	if (!type)
		return dkc_refuse(why, DK_WHY_BAD_DEVICE_TYPE, device);
	if (device[len])
		return dkc_refuse(why, DK_WHY_DEVICE_INDEX, device);
	if (!b)
		return dk_compute_key(l, NULL, NULL, type, key, why);
	*key = dk_runtime_key(l, l->role[DKC_ROLE_DENSE], b);
	return dkc_accept(why);
}
