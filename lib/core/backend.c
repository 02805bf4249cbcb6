// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Private backends: joined by name, and the names of their keys.
 */
#include "registry.h"

bool dkc_is_private(const struct dk_layout *l, unsigned int b)
{
	static const char prefix[] = "PrivateUse";
	const char *name;
	unsigned int i;

	if (!b || b > l->nb)
		return false;
	name = l->backend_names[b];
	for (i = 0; prefix[i] && name[i] == prefix[i]; i++)
		;
	return !prefix[i];
}

/* The backend that a private name is bound to, or 0. */
static unsigned int dkc_bound(const struct dk_registry *reg, const char *name)
{
	unsigned int b;

	for (b = 1; b <= reg->layout->nb; b++)
		if (reg->private_backend[b].name[0] &&
		    dkc_strcaseeq(reg->private_backend[b].name, name))
			return b;
	return 0;
}

/* Is it the name of a backend of the layout itself? */
static unsigned int dkc_own_name(const struct dk_layout *l, const char *name)
{
	unsigned int b;

	for (b = 1; b <= l->nb; b++)
		if (dkc_strcaseeq(l->backend_names[b], name))
			return b;
	return 0;
}

/* Would a parser of the layout take the name for something else? */
static bool dkc_name_taken(const struct dk_layout *l, const char *name)
{
	char buf[DK_NAME_MAX];
	unsigned int key;

	for (key = 0; key < dk_layout_keys(l); key++)
		if (dkc_strcaseeq(dk_key_name(l, key, buf), name))
			return true;
	return dkc_own_name(l, name) || !dk_backend_bit_parse(l, name, &key, NULL) ||
	       dkc_strcaseeq(name, "privateuseone");
}

/* "all are taken", with their names */
static int dkc_no_backend(const struct dk_registry *reg, struct dk_diag *why)
{
	char names[DK_NAME_MAX] = "";
	size_t at = 0;
	unsigned int b;

	for (b = 1; b <= reg->layout->nb; b++) {
		if (!reg->private_backend[b].name[0])
			continue;
		if (at)
			dkc_strcpy(names + at, ", ", sizeof(names) - at);
		at += dkc_strlen(names + at);
		dkc_strcpy(names + at, reg->private_backend[b].name,
			   sizeof(names) - at);
		at += dkc_strlen(names + at);
	}
	return dkc_refuse(why, DK_WHY_BACKENDS_TAKEN, names);
}

/* Find the backend of a name, or the one to bind it to. */
static int dkc_choose_backend(struct dk_registry *reg, const char *name,
			      unsigned int pin, unsigned int *backend,
			      struct dk_diag *why)
{
	unsigned int b = dkc_bound(reg, name);

	if (b) {
		if (pin && pin != b)
			return dkc_refuse(why, DK_WHY_BACKEND_PINNED, name);
		*backend = b;
		return 0;
	}
	if (pin) {
		if (pin > reg->layout->nb)
			return dkc_refuse_number(why, DK_WHY_NOT_PRIVATE, pin);
		if (!dkc_is_private(reg->layout, pin))
			return dkc_refuse(why, DK_WHY_NOT_PRIVATE,
					  reg->layout->backend_names[pin]);
		if (reg->private_backend[pin].name[0])
			return dkc_refuse(why, DK_WHY_BACKEND_PINNED,
					  reg->private_backend[pin].name);
		*backend = pin;
		return 0;
	}
	for (b = 1; b <= reg->layout->nb; b++)
		if (dkc_is_private(reg->layout, b) &&
		    !reg->private_backend[b].name[0]) {
			*backend = b;
			return 0;
		}
	return dkc_no_backend(reg, why);
}

static int dkc_join_backend(struct dkc_provider *core, const char *name,
			    unsigned int pin, unsigned int flags,
			    unsigned int *backend, struct dk_diag *why)
{
	struct dkc_private_backend *pb;
	unsigned int b = 0, others;
	int err = dkc_choose_backend(core->reg, name, pin, &b, why);

	if (err)
		return err;
	pb = &core->reg->private_backend[b];
	others = pb->users - (core->joined >> b & 1);
	if (pb->alone && pb->alone != core)
		return dkc_refuse(why, DK_WHY_BACKEND_OWNED, pb->alone->name);
	if ((flags & DK_JOIN_ALONE) && others)
		return dkc_refuse(why, DK_WHY_BACKEND_SHARED, name);
	if (!(core->joined >> b & 1) || (!pb->alone && (flags & DK_JOIN_ALONE)))
		core->reg->generation++;
	if (!pb->name[0]) {
		dkc_strcpy(pb->name, name, sizeof(pb->name));
		dkc_saw_backend(core->reg, b, core, DKC_BACKEND_CAME);
	}
	if (flags & DK_JOIN_ALONE)
		pb->alone = core;
	pb->users = others + 1;
	core->joined |= 1u << b;
	*backend = b;
	return 0;
}

int dk_backend_join(struct dk_provider *prov, const char *name, unsigned int pin,
		    unsigned int flags, unsigned int *backend, struct dk_diag *why)
{
	struct dkc_provider *core;
	int err;

	err = dkc_provider_lock(prov, &core, why);
	if (err)
		return err;
	if (!dkc_name_ok(name))
		err = dkc_refuse(why, DK_WHY_BAD_NAME, name);
	else if (dkc_name_taken(core->reg->layout, name))
		err = dkc_refuse(why, DK_WHY_NAME_TAKEN, name);
	else if (flags & ~DK_JOIN_ALONE)
		err = dkc_refuse(why, DK_WHY_BAD_FLAGS, name);
	else
		err = dkc_join_backend(core, name, pin, flags, backend, why);
	dkc_mutex_unlock(&core->reg->lock);
	return err;
}

/* The bindings stay; only the users go. */
void dkc_backends_leave(struct dkc_provider *prov)
{
	struct dkc_private_backend *pb = prov->reg->private_backend;
	unsigned int b;

	for (b = 1; b <= prov->reg->layout->nb; b++) {
		if (!(prov->joined >> b & 1))
			continue;
		pb[b].users--;
		if (pb[b].alone == prov)
			pb[b].alone = NULL;
	}
	prov->joined = 0;
	prov->reg->generation++;
}

int dk_backend_release(struct dk_registry *reg, const char *name,
		       struct dk_diag *why)
{
	unsigned int b;
	int err = 0;

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_BACKEND, name);
	dkc_remark(why, DK_WHY_NONE, NULL);
	dkc_mutex_lock(&reg->lock);
	b = dkc_bound(reg, name);
	if (!b)
		err = dkc_refuse(why, DK_WHY_NO_BACKEND, name);
	else if (reg->private_backend[b].users || reg->devices_of[b])
		err = dkc_refuse(why, DK_WHY_BACKEND_USED, name);
	else
		err = dkc_backend_online(reg, b, why);
	if (!err) {
		reg->generation++;
		dkc_saw_backend(reg, b, NULL, DKC_BACKEND_WENT);
		reg->private_backend[b].name[0] = 0;
	}
	dkc_mutex_unlock(&reg->lock);
	return err;
}

int dk_backend_find(struct dk_registry *reg, const char *name,
		    unsigned int *backend, struct dk_diag *why)
{
	unsigned int b;

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_BACKEND, name);
	dkc_mutex_lock(&reg->lock);
	b = dkc_bound(reg, name);
	dkc_mutex_unlock(&reg->lock);
	if (!b)
		b = dkc_own_name(reg->layout, name);
	if (!b)
		return dkc_refuse(why, DK_WHY_NO_BACKEND, name);
	dkc_remark(why, DK_WHY_NONE, NULL);
	*backend = b;
	return 0;
}

void dkc_backend_text(const struct dk_registry *reg, unsigned int backend,
		      char buf[DK_NAME_MAX])
{
	const char *name = reg->private_backend[backend].name;

	dkc_strcpy(buf, name[0] ? name : reg->layout->backend_names[backend],
		   DK_NAME_MAX);
}

char *dk_backend_name(struct dk_registry *reg, unsigned int backend,
		      char buf[DK_NAME_MAX])
{
	buf[0] = 0;
	reg = dkc_registry(reg);
	if (!reg || !backend || backend > reg->layout->nb)
		return buf;
	dkc_mutex_lock(&reg->lock);
	dkc_backend_text(reg, backend, buf);
	dkc_mutex_unlock(&reg->lock);
	return buf;
}

/* Replace the backend's own name at the end of a key's by its private one. */
static bool dkc_private_name(const struct dk_registry *reg, unsigned int b,
			     char name[DK_NAME_MAX])
{
	const char *own = reg->layout->backend_names[b];
	const char *private = reg->private_backend[b].name;
	size_t len, tail;

	if (!private[0])
		return false;
	len = dkc_strlen(name);
	tail = dkc_strlen(own);
	if (len < tail || !dkc_streq(name + len - tail, own))
		return false;
	dkc_strcpy(name + len - tail, private, DK_NAME_MAX - (len - tail));
	return true;
}

bool dkc_key_private_name(const struct dk_registry *reg, unsigned int key,
			  char name[DK_NAME_MAX])
{
	unsigned int b;

	dk_key_name(reg->layout, key, name);
	for (b = 1; b <= reg->layout->nb; b++)
		if (dkc_private_name(reg, b, name))
			return true;
	return false;
}

void dkc_key_text(const struct dk_registry *reg, unsigned int key,
		  char buf[DK_NAME_MAX])
{
	dkc_key_private_name(reg, key, buf);
}

char *dk_registry_key_name(struct dk_registry *reg, unsigned int key,
			   char buf[DK_NAME_MAX])
{
	reg = dkc_registry(reg);
	if (!reg)
		return dk_key_name(NULL, key, buf);
	dkc_mutex_lock(&reg->lock);
	dkc_key_text(reg, key, buf);
	dkc_mutex_unlock(&reg->lock);
	return buf;
}

/* SEMANTICS 1.6: in capitals, wherever it stands; no other spelling is taken. */
static void dkc_capitals(char *s)
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

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, name);
	l = reg->layout;
	b = dkc_find_backend(l, "PrivateUse1");
	if (l->privateuseone && b) {
		dkc_mutex_lock(&reg->lock);
		dkc_strcpy(bound, reg->private_backend[b].name, sizeof(bound));
		dkc_mutex_unlock(&reg->lock);
	}
	if (!bound[0])
		return dk_key_parse(l, name, DK_PARSE_STRICT, key, why);
	dkc_capitals(bound);
	dkc_replace(buf, name, bound, "PrivateUse1");
	if (!dkc_key_parse_strict(l, name, key) && !dkc_key_parse_strict(l, buf, key))
		return dkc_refuse(why, l->has_strict ? DK_WHY_PARSE_KEY : DK_WHY_NO_STRICT,
				  l->has_strict ? name : l->name);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}

int dk_registry_key_parse(struct dk_registry *reg, const char *name,
			  unsigned int *key, struct dk_diag *why)
{
	char buf[DK_NAME_MAX];
	unsigned int k;
	int err = -EINVAL;

	reg = dkc_registry(reg);
	if (!reg || !dk_key_parse(reg->layout, name, 0, key, why))
		return reg ? 0 : dkc_refuse(why, DK_WHY_NO_MEMORY, name);
	dkc_mutex_lock(&reg->lock);
	for (k = 1; err && k < dk_layout_keys(reg->layout); k++)
		if (dkc_key_private_name(reg, k, buf) && dkc_strcaseeq(buf, name)) {
			dkc_remark(why, DK_WHY_NONE, NULL);
			*key = k;
			err = 0;
		}
	dkc_mutex_unlock(&reg->lock);
	return err;
}

/* The private backend that is written so, in lower case, or 0; under the lock. */
static unsigned int dkc_written_backend(const struct dk_registry *reg, const char *word,
					size_t len)
{
	unsigned int b;
	size_t i;

	for (b = 1; b <= reg->layout->nb; b++) {
		const char *name = reg->private_backend[b].name;

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

	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, device);
	l = reg->layout;
	while (device[len] && device[len] != ':')
		len++;
	dkc_mutex_lock(&reg->lock);
	b = dkc_written_backend(reg, device, len);
	dkc_mutex_unlock(&reg->lock);
	type = b ? l->backend_names[b] : dkc_device_written(l, device, len);
	if (!type)
		return dkc_refuse(why, DK_WHY_BAD_DEVICE_TYPE, device);
	if (device[len])
		return dkc_refuse(why, DK_WHY_DEVICE_INDEX, device);
	if (!b)
		return dk_compute_key(l, NULL, NULL, type, key, why);
	*key = dk_runtime_key(l, l->role[DKC_ROLE_DENSE], b);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}
