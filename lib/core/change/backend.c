// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Binds a name to a private backend when a provider joins it. Formats and parses the names of
 * keys, which contain the bound name of their backend.
 */
#include "change.h"

/*
 * If @bound, returns the backend to which this private name is bound. Otherwise returns the backend
 * with this name in the layout. Returns 0 if there is none.
 */
static unsigned int backend_named(const struct dk_registry *reg, const char *name, bool bound)
{
	const char *own;
	unsigned int b;

	for (b = 1; name && b <= reg->layout->nb; b++) {
		own = bound ? reg->private_backend[b]->name : reg->layout->backend_names[b];
		if (own[0] && dkc_strcaseeq(own, name))
			return b;
	}
	return 0;
}

unsigned int dkc_backend_named(const struct dk_registry *reg, const char *name)
{
	unsigned int b;

	dkc_assert_writer(reg);
	b = backend_named(reg, name, true);
	return b ? b : backend_named(reg, name, false);
}

/*
 * True if a key or backend has the name, in upper or lower case, or if a parser would accept it as
 * the name of a key or backend. Replaces @name by the name of that key.
 * noinline, because inlining would make the core larger.
 */
static noinline bool name_taken(const struct dk_registry *reg, char name[DK_NAME_MAX])
{
	const struct dk_layout *l = reg->layout;
	char buf[DK_NAME_MAX];
	unsigned int key;

	for (key = 0; key < dk_layout_keys(l); key++) {
		dkc_key_text(reg, key, buf);
		if (dkc_strcaseeq(buf, name)) {
			dkc_strcpy(name, buf, DK_NAME_MAX);
			return true;
		}
	}
	return dkc_name_parses(l, name) || !dk_key_parse(l, name, 0, &key, NULL) ||
	       dkc_strcaseeq(name, "privateuseone");
}

/* True if @name ends in @end. Sets *@kept to the length of the part before. */
static bool ends_in(const char *name, const char *end, size_t *kept)
{
	size_t len = strlen(name), tail = strlen(end);

	*kept = len - tail;
	return len >= tail && dkc_streq(name + *kept, end);
}

/*
 * True if the private name @name would give one of the backend's keys a name that is taken. For
 * example, "Other" would make a second key AutogradOther. First tests @name itself, which would be
 * the name of the backend's Dense key. If all private backends have names, @backend is any of them.
 * Copies the name that is taken.
 */
static bool key_names_taken(const struct dk_registry *reg, unsigned int backend, const char *name,
			    char buf[DK_NAME_MAX])
{
	const struct dk_layout *l = reg->layout;
	unsigned int key;
	size_t kept;

	dkc_strcpy(buf, name, DK_NAME_MAX);
	if (name_taken(reg, buf))
		return true;
	for (key = 1; key < dk_layout_keys(l); key++) {
		if (!ends_in(dk_key_name(l, key, buf), l->backend_names[backend], &kept))
			continue;
		dkc_strcpy(buf + kept, name, DK_NAME_MAX - kept);
		if (name_taken(reg, buf))
			return true;
	}
	return false;
}

/* Refuses a name because all private backends have names. Lists these names. */
static int refuse_more(const struct dk_registry *reg, struct dk_diag *why)
{
	const char *part[2 * DKC_MAX_BACKENDS];
	unsigned int b, n = 0;

	for (b = 1; b <= reg->layout->nb; b++) {
		if (!reg->private_backend[b]->name[0])
			continue;
		if (n)
			part[n++] = ", ";
		part[n++] = reg->private_backend[b]->name;
	}
	return dkc_refuse_joined(why, DK_WHY_BACKENDS_TAKEN, part, n);
}

/*
 * Finds the backend that the name is bound to. If there is none, chooses one to bind the name to:
 * @pin or, if @pin is 0, the first private backend without a name.
 */
static int choose_backend(struct dk_registry *reg, const char *name, unsigned int pin,
			  unsigned int *backend, struct dk_diag *why)
{
	const struct dk_layout *l = reg->layout;
	unsigned int i, b = backend_named(reg, name, true), private = 0;
	char taken[DK_NAME_MAX];
	bool is_bound = b;

	if (pin && !b) {
		if (pin > l->nb)
			return dkc_refuse_number(why, DK_WHY_NOT_PRIVATE, pin);
		if (!dkc_is_private(l, pin))
			return dkc_refuse(why, DK_WHY_NOT_PRIVATE, l->backend_names[pin]);
		if (reg->private_backend[pin]->name[0])
			return dkc_refuse(why, DK_WHY_BACKEND_PINNED,
					  reg->private_backend[pin]->name);
		b = pin;
	}
	if (pin && pin != b)
		return dkc_refuse(why, DK_WHY_BACKEND_PINNED, name);
	for (i = 1; !b && i <= l->nb; i++)
		if (dkc_is_private(l, i)) {
			private = i;
			b = reg->private_backend[i]->name[0] ? 0 : i;
		}
	*backend = b;
	/* report this first: releasing the name of another backend would not help */
	if (!is_bound && key_names_taken(reg, b ? b : private, name, taken))
		return dkc_refuse(why, DK_WHY_NAME_TAKEN, taken);
	return b ? 0 : refuse_more(reg, why);
}

static int join_backend(struct dkc_provider *core, const char *name,
			unsigned int pin, unsigned int flags,
			unsigned int *backend, struct dk_diag *why)
{
	struct dkc_private_backend *pb;
	unsigned int b = 0, others;
	int err = choose_backend(core->reg, name, pin, &b, why);

	if (err)
		return err;
	pb = core->reg->private_backend[b];
	others = pb->users - (core->joined >> b & 1);
	if (pb->alone && pb->alone != core)
		return dkc_refuse(why, DK_WHY_BACKEND_OWNED, pb->alone->name);
	if ((flags & DK_JOIN_ALONE) && others)
		return dkc_refuse(why, DK_WHY_BACKEND_SHARED, name);
	if (!(core->joined >> b & 1) || (!pb->alone && (flags & DK_JOIN_ALONE)))
		core->reg->generation++;
	if (!pb->name[0]) {
		dkc_strcpy(pb->name, name, sizeof(pb->name));
		core->reg->named |= dkc_backend_bit(b);
		dkc_notify_backend(core->reg, b, core, DKC_BACKEND_BOUND);
	}
	if (flags & DK_JOIN_ALONE)
		pb->alone = core;
	pb->users = others + 1;
	core->joined |= 1u << b;
	if (backend)
		*backend = b;
	return 0;
}

int dk_backend_join(struct dk_provider *prov, const char *name, unsigned int pin,
		    unsigned int flags, unsigned int *backend, struct dk_diag *why)
{
	struct dkc_provider *core;
	int err = dkc_provider_lock(prov, &core, why);

	if (err)
		return err;
	if (!name || !dkc_word_ok(name, strlen(name)))
		err = dkc_refuse(why, DK_WHY_LAYOUT_NAME, name);
	else if (flags & ~DK_JOIN_ALONE)
		err = dkc_refuse(why, DK_WHY_BAD_FLAGS, name);
	else
		err = join_backend(core, name, pin, flags, backend, why);
	dkc_registry_unlock_flush(core->reg);
	return err;
}

/* Removes the provider from the backends that it joined. Their names stay bound. */
void dkc_backends_release(struct dkc_provider *prov)
{
	struct dkc_private_backend *pb;
	unsigned int b;

	dkc_assert_writer(prov->reg);
	for (b = 1; b <= prov->reg->layout->nb; b++) {
		if (!(prov->joined >> b & 1))
			continue;
		pb = prov->reg->private_backend[b];
		pb->users--;
		if (pb->alone == prov)
			pb->alone = NULL;
	}
	prov->joined = 0;
}

int dk_backend_release(struct dk_registry *reg, const char *name, struct dk_diag *why)
{
	unsigned int b;
	int err = 0;

	reg = dkc_registry_locked(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_BACKEND, name);
	dkc_accept(why);
	b = backend_named(reg, name, true);
	if (!b)
		err = dkc_refuse(why, DK_WHY_NO_BACKEND, name);
	else if (reg->private_backend[b]->users || reg->devices_of[b])
		err = dkc_refuse(why, DK_WHY_BACKEND_USED, name);
	else
		err = dkc_backend_online(reg, b, why);
	if (!err) {
		reg->generation++;
		dkc_notify_backend(reg, b, NULL, DKC_BACKEND_RELEASED);
		reg->private_backend[b]->name[0] = 0;
		reg->named &= ~dkc_backend_bit(b);
	}
	dkc_registry_unlock_flush(reg);
	return err;
}

int dk_backend_find(struct dk_registry *reg, const char *name,
		    unsigned int *backend, struct dk_diag *why)
{
	unsigned int b;

	reg = dkc_registry_locked(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_BACKEND, name);
	b = dkc_backend_named(reg, name);
	mutex_unlock(&reg->lock);
	if (!b)
		return dkc_refuse(why, DK_WHY_NO_BACKEND, name);
	if (backend)
		*backend = b;
	return dkc_accept(why);
}

char *dk_backend_name(struct dk_registry *reg, unsigned int backend, char buf[DK_NAME_MAX])
{
	buf[0] = 0;
	reg = dkc_registry_locked(reg);
	if (!reg)
		return buf;
	if (backend && backend <= reg->layout->nb)
		dkc_backend_text(reg, backend, buf);
	mutex_unlock(&reg->lock);
	return buf;
}

const char *dkc_private_end(const struct dk_registry *reg, const char *name, size_t *kept)
{
	u32 named;

	dkc_assert_writer(reg);
	for (named = reg->named; named; named &= named - 1) {
		unsigned int b = __ffs64(named) + 1;

		if (ends_in(name, reg->layout->backend_names[b], kept))
			return reg->private_backend[b]->name;
	}
	return NULL;
}

bool dkc_key_text(const struct dk_registry *reg, unsigned int key, char text[DK_NAME_MAX])
{
	const char *private;
	size_t kept;

	dk_key_name(reg->layout, key, text);
	private = dkc_private_end(reg, text, &kept);
	if (private)
		dkc_strcpy(text + kept, private, DK_NAME_MAX - kept);
	return private;
}

char *dk_registry_key_name(struct dk_registry *reg, unsigned int key, char buf[DK_NAME_MAX])
{
	reg = dkc_registry_locked(reg);
	if (!reg)
		return dk_key_name(NULL, key, buf);
	dkc_key_text(reg, key, buf);
	mutex_unlock(&reg->lock);
	return buf;
}

int dk_registry_key_parse(struct dk_registry *reg, const char *name,
			  unsigned int *key, struct dk_diag *why)
{
	char buf[DK_NAME_MAX];
	unsigned int k;
	int err;

	reg = dkc_registry_locked(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, name);
	err = dk_key_parse(reg->layout, name, 0, key, why);
	for (k = dk_layout_keys(reg->layout); err && name && --k; )
		if (dkc_key_text(reg, k, buf) && dkc_strcaseeq(buf, name)) {
			*key = k;
			err = dkc_accept(why);
		}
	mutex_unlock(&reg->lock);
	return err;
}
