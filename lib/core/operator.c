// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Operators and their names. An operator lives while somebody defines,
 * implements or holds it, or once a struct dk_op_decl has found it.
 */
#include "registry.h"

#define DKC_OPTAB_MIN	64	/* slots of the first table of names */
#define DKC_SIG_SHOWN	40	/* of a signature, where two have to fit */

static struct dk_op dkc_removed;	/* marks a slot that was in use */

/* By words; the last one overlaps the one before it. */
static u32 dkc_name_hash(const char *name, size_t len)
{
	u64 hash = len, word = 0;
	size_t i;

	for (i = 0; i + sizeof(word) < len; i += sizeof(word)) {
		memcpy(&word, name + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	if (len >= sizeof(word))
		memcpy(&word, name + len - sizeof(word), sizeof(word));
	else
		for (i = 0; i < len; i++)
			word = word << 8 | (u8)name[i];
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash >> 32;
}

/* Of one length; by words, too, and of short ones by bytes. */
static inline bool dkc_same_name(const char *a, const char *b, size_t len)
{
	u64 x, y;
	size_t i;

	if (len < sizeof(x))
		return !memcmp(a, b, len);
	for (i = 0; i + sizeof(x) < len; i += sizeof(x)) {
		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		if (x != y)
			return false;
	}
	memcpy(&x, a + len - sizeof(x), sizeof(x));
	memcpy(&y, b + len - sizeof(y), sizeof(y));
	return x == y;
}

/* A hash of the text without its white space; never 0. */
u64 dkc_sig_hash(const char *sig)
{
	u64 hash = 14695981039346656037ull;

	if (!sig)
		return 0;
	for (; *sig; sig++)
		if ((u8)*sig > ' ' || (*sig != ' ' && *sig != '\t' && *sig != '\n'))
			hash = (hash ^ (u8)*sig) * 1099511628211ull;
	return hash ? hash : 1;
}

/* Control characters (C0, DEL, C1) and those that change the direction of text. */
static bool dkc_is_control(u32 c)
{
	return c < ' ' || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e ||
	       c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/* The character at @s and its length in bytes, 0 if it is not UTF-8. */
static unsigned int dkc_utf8(const char *s, u32 *c)
{
	static const u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	u8 first = s[0];
	unsigned int n = first < 0x80 ? 1 : first < 0xc0 ? 0 : first < 0xe0 ? 2 :
			 first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
	unsigned int i;

	*c = n > 1 ? first & (0x7f >> n) : first;
	for (i = 1; i < n; i++) {
		if (((u8)s[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | ((u8)s[i] & 0x3f);
	}
	if (*c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff))
		return 0;
	return n;
}

bool dkc_name_ok(const char *name)
{
	unsigned int len;
	size_t n;
	u32 c;

	if (!name)
		return false;
	for (n = 0; name[n]; n += len) {
		len = dkc_utf8(name + n, &c);
		if (!len || c == ' ' || dkc_is_control(c))
			return false;
	}
	return n && n < DK_NAME_MAX;
}

/* The slots where a name can be, from the first one on. */
static u32 dkc_first_slot(const struct dkc_optab *tab, const char *name, size_t len)
{
	return (u64)dkc_name_hash(name, len) * tab->size >> 32;
}

static u32 dkc_next_slot(const struct dkc_optab *tab, u32 slot)
{
	return slot + 1 < tab->size ? slot + 1 : 0;
}

/* By name; under the lock or in a read section. */
struct dk_op *dkc_op_find(struct dk_registry *reg, const char *name)
{
	const struct dkc_optab *tab = dkc_deref(reg->ops);
	size_t len = dkc_strlen(name);
	struct dk_op *op;
	u32 i;

	if (!tab)
		return NULL;
	for (i = dkc_first_slot(tab, name, len); (op = dkc_deref(tab->slot[i]));
	     i = dkc_next_slot(tab, i))
		if (op->name_len == len && op != &dkc_removed &&
		    dkc_same_name(op->name, name, len))
			return op;
	return NULL;
}

/* Walk the operators; under the lock. @pos begins at 0. */
struct dk_op *dkc_op_next_of(struct dk_registry *reg, u32 *pos, u32 *left)
{
	const struct dkc_optab *tab = dkc_deref_locked(reg->ops);
	struct dk_op *op;

	while (tab && *pos < tab->size && *left) {
		op = dkc_deref_locked(tab->slot[*pos]);
		++*pos;
		--*left;
		dkc_work(DKC_WORK_SLOTS, 1);
		if (op && op != &dkc_removed)
			return op;
	}
	return NULL;
}

struct dk_op *dkc_op_next(struct dk_registry *reg, u32 *pos)
{
	u32 left = ~0U;

	return dkc_op_next_of(reg, pos, &left);
}

/* Returns the slot. */
static u32 dkc_optab_put(struct dkc_optab *tab, struct dk_op *op)
{
	u32 i = dkc_first_slot(tab, op->name, op->name_len);

	while (dkc_deref_locked(tab->slot[i]))
		i = dkc_next_slot(tab, i);
	tab->used++;
	dkc_publish(tab->slot[i], op);
	return i;
}

/* Room for one more name: a new table when the old one is three quarters full. */
static int dkc_optab_reserve(struct dk_registry *reg)
{
	struct dkc_optab *tab = dkc_deref_locked(reg->ops), *bigger;
	u32 slots = 2 * (reg->num_ops + 1), pos = 0;
	struct dk_op *op;

	if (tab && (tab->used + 1) * 4 <= tab->size * 3)
		return 0;
	if (slots < DKC_OPTAB_MIN)
		slots = DKC_OPTAB_MIN;
	bigger = dkc_alloc(offsetof(struct dkc_optab, slot) +
			   slots * sizeof(bigger->slot[0]));
	if (!bigger)
		return -ENOMEM;
	bigger->size = slots;
	while ((op = dkc_op_next(reg, &pos)))
		dkc_optab_put(bigger, op);
	dkc_publish(reg->ops, bigger);
	/* they have other slots */
	if (reg->unbuilt)
		reg->unbuilt = 1;
	dkc_calls_restart_ops(reg);
	dkc_order_new_slots(reg);
	if (tab)
		dkc_retire(tab);
	return 0;
}

/* A new operator that nobody finds yet, and room for its name in the table. */
static struct dk_op *dkc_op_new(struct dk_registry *reg, const char *name)
{
	size_t len = dkc_strlen(name);
	struct dk_op *op;

	op = dkc_alloc(offsetof(struct dk_op, name) + len + 1);
	if (!op)
		return NULL;
	if (dkc_optab_reserve(reg)) {
		dkc_free(op);
		return NULL;
	}
	memcpy(op->name, name, len + 1);
	op->name_len = len;
	op->reg = reg;
	dkc_publish(op->row, reg->shutdown ? &dkc_row_gone : &dkc_row_undefined);
	return op;
}

static void dkc_op_show(struct dk_op *op)
{
	op->reg->num_ops++;
	dkc_order_add(op, dkc_optab_put(dkc_deref_locked(op->reg->ops), op));
}

static void dkc_optab_remove(struct dk_op *op)
{
	struct dkc_optab *tab = dkc_deref_locked(op->reg->ops);
	u32 i = dkc_first_slot(tab, op->name, op->name_len);

	while (dkc_deref_locked(tab->slot[i]) != op)
		i = dkc_next_slot(tab, i);
	dkc_publish(tab->slot[i], &dkc_removed);
	dkc_order_remove(op, i);
	op->reg->num_ops--;
}

/*
 * An operator that nobody needs goes, but not while a declaration is finding
 * it: whoever of dkc_op_pin() and this comes second sees the other.
 */
void dkc_op_settle(struct dk_op *op)
{
	const struct dkc_row *base;

	if (dkc_op_alive(op))
		return;
	dkc_store(op->dead, true);
	/* pairs with the second one of dkc_op_keep(): selftests/model/pin.pml */
	dkc_full_barrier();
	base = dkc_deref_locked(op->base);
	dkc_op_set_table(op, op->reg->shutdown ? &dkc_row_gone : &dkc_row_undefined);
	dkc_publish(op->base, NULL);
	dkc_row_retire(op->reg, base);
	if (dkc_load(op->pinned)) {
		dkc_store(op->dead, false);
		return;
	}
	dkc_stats_forget_op(op);
	dkc_args_retire(op);
	dkc_optab_remove(op);
	dkc_retire(op);
}

/*
 * Is it only there because declarations point to it? Then it need not stand in
 * the way of a new operator of its name: they look again.
 */
static bool dkc_op_replaceable(const struct dk_op *op)
{
	return dkc_load(op->pinned) && !dkc_op_alive(op) && !op->changing;
}

/*
 * May callers that have found an operator call it by a new definition? They have found it
 * while it was defined, so its class is known.
 */
static bool dkc_op_fits_again(const struct dk_op *op, const struct dk_op_decl *decl,
			      unsigned int flags)
{
	return op->sig == dkc_sig_hash(decl->sig) &&
	       (flags == DKC_ANY_CLASS || !((op->flags ^ flags) & DK_OP_ATOMIC));
}

/*
 * One for a name that no operator has now. Declarations point to an operator for ever, so
 * that those of a name are as many as the signatures and classes that it was called with:
 * one that was replaced earlier and fits is used again.
 */
static struct dk_op *dkc_op_fresh(struct dk_registry *reg, const struct dk_op_decl *decl,
				  unsigned int flags)
{
	struct dk_op **p = &reg->stale, *old;

	for (; (old = *p); p = &old->next)
		if (dkc_streq(old->name, decl->name) && dkc_op_fits_again(old, decl, flags))
			break;
	if (!old)
		return dkc_op_new(reg, decl->name);
	if (dkc_optab_reserve(reg))
		return NULL;
	*p = old->next;
	old->next = NULL;
	dkc_store(old->stale, false);
	return old;
}

static struct dk_op *dkc_op_replace(struct dk_op *op, const struct dk_op_decl *decl,
				    unsigned int flags)
{
	struct dk_op *fresh = dkc_op_fresh(op->reg, decl, flags);

	if (!fresh)
		return NULL;
	dkc_optab_remove(op);
	dkc_op_show(fresh);
	op->next = op->reg->stale;
	op->reg->stale = op;
	dkc_store(op->stale, true);
	return fresh;
}

/*
 * The first signature that came is the operator's, also that of a definition that may still
 * be cancelled; under the lock. What readers see in @sig stays for ever.
 */
u64 dkc_op_sig(const struct dk_op *op)
{
	const struct dkc_reg *r = NULL;
	u64 sig = op->sig;

	if (!sig && op->decl)
		sig = dkc_sig_hash(op->decl->sig);
	while (!sig && (r = dkc_reg_walk(op, r)))
		sig = dkc_sig_hash(dkc_impl_of(r)->op->sig);
	return sig;
}

/* Is it the very text that somebody else brought, which was compared then? */
static bool dkc_sig_known(const struct dk_op *op, const char *sig)
{
	const struct dkc_reg *r = dkc_deref_locked(op->regs);

	return (op->definer && op->decl->sig == sig) || (r && dkc_impl_of(r)->op->sig == sig);
}

static bool dkc_op_takes(const struct dk_op *op, const struct dk_op_decl *decl)
{
	u64 sig;

	if (!decl->sig || dkc_sig_known(op, decl->sig))
		return true;
	sig = dkc_op_sig(op);
	return !sig || dkc_sig_hash(decl->sig) == sig;
}

/*
 * Make what was not found; the caller settles it in the end. NULL for lack of
 * memory.
 */
struct dk_op *dkc_op_obtain(struct dk_registry *reg, const struct dk_op_decl *decl,
			    struct dk_op *op, unsigned int flags)
{
	if (!op) {
		op = dkc_op_fresh(reg, decl, flags);
		if (op)
			dkc_op_show(op);
		return op;
	}
	if (!dkc_op_replaceable(op) || dkc_op_fits_again(op, decl, flags))
		return op;
	return dkc_op_replace(op, decl, flags);
}

/* For the end of a registry: nobody reads any more. */
void dkc_ops_free(struct dk_registry *reg)
{
	struct dk_op *op;
	u32 pos = 0;

	while ((op = dkc_op_next(reg, &pos))) {
		dkc_row_discard(reg, dkc_deref_locked(op->base));
		dkc_args_free(op);
		dkc_free(op);
	}
	while ((op = reg->stale)) {
		reg->stale = op->next;
		dkc_args_free(op);
		dkc_free(op);
	}
	dkc_free(dkc_deref_locked(reg->ops));
}

/* Who defines an operator: a debug string, or the provider's name. */
static const char *dkc_definer_name(const struct dk_op_decl *decl,
				    const struct dkc_provider *core)
{
	return decl->debug ? decl->debug : core->name;
}

/* A signature, and who brings it: a definition, or a function at a key. */
struct dkc_claim {
	const struct dk_op_decl *decl;
	const struct dk_impl *impl;	/* NULL: a definition */
	const struct dkc_provider *core;
	unsigned int key;
};

/* Whose signature the operator has: the definition's, or the oldest function's. */
static bool dkc_sig_had(struct dkc_claim *had, const struct dk_op *op)
{
	const struct dkc_reg *r = NULL, *oldest = NULL;
	u64 sig = dkc_op_sig(op);

	if (op->definer && dkc_sig_hash(op->decl->sig) == sig) {
		*had = (struct dkc_claim){ .decl = op->decl, .core = op->definer };
		return true;
	}
	while ((r = dkc_reg_walk(op, r)))
		if (dkc_sig_hash(dkc_impl_of(r)->op->sig) == sig)
			oldest = r;
	if (oldest)
		*had = (struct dkc_claim){
			.decl = dkc_impl_of(oldest)->op, .impl = dkc_impl_of(oldest),
			.core = dkc_block_of(oldest)->prov, .key = oldest->key,
		};
	return oldest;
}

/* How much of two signatures is the same, up to a parameter; 0 where both fit. */
static size_t dkc_sig_common(const char *a, const char *b)
{
	size_t i, common = 0;

	if (dkc_strlen(a) < DKC_SIG_SHOWN && dkc_strlen(b) < DKC_SIG_SHOWN)
		return 0;
	for (i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == ',')
			common = i;
	return common;
}

/* "(int x), f1 (provider) at CPU", without the first @common characters. */
static void dkc_put_claim(char text[DK_NAME_MAX], const struct dkc_claim *c,
			  size_t common)
{
	char sig[DKC_SIG_SHOWN], who[DK_NAME_MAX], key[DK_NAME_MAX];
	const char *part[] = {
		common ? "(..." : "", sig, ", ", dkc_definer_name(c->decl, c->core),
		"", "",
	};

	dkc_strcpy(sig, c->decl->sig + common, sizeof(sig));
	if (c->impl) {
		dkc_who(who, c->impl, c->core);
		part[3] = who;
		part[4] = " at ";
		part[5] = dk_key_name(c->core->reg->layout, c->key, key);
	}
	dkc_join(text, DK_NAME_MAX, part, DKC_COUNT(part));
}

static dkc_noinline int dkc_refuse_sig(const struct dk_op *op,
				       const struct dk_op_decl *decl,
				       const struct dk_impl *impl, unsigned int key,
				       const struct dkc_provider *core,
				       struct dk_diag *why)
{
	char first[DK_NAME_MAX], second[DK_NAME_MAX], text[DK_NAME_MAX];
	const char *const part[] = { op->name, ": ", first, " -> ", second };
	struct dkc_claim had, comes = { decl, impl, core, key };
	size_t common = 0;

	dkc_strcpy(first, "that of one who has gone", sizeof(first));
	if (dkc_sig_had(&had, op)) {
		common = dkc_sig_common(had.decl->sig, decl->sig);
		dkc_put_claim(first, &had, common);
	}
	dkc_put_claim(second, &comes, common);
	dkc_join(text, sizeof(text), part, DKC_COUNT(part));
	return dkc_refuse(why, DK_WHY_SIGNATURE, text);
}

int dkc_op_check_sig(const struct dk_op *op, const struct dk_op_decl *decl,
		     const struct dk_impl *impl, unsigned int key,
		     const struct dkc_provider *core, struct dk_diag *why)
{
	if (dkc_op_takes(op, decl))
		return 0;
	return dkc_refuse_sig(op, decl, impl, key, core, why);
}

/* In a read section: keep an operator for a declaration that may call it. */
static int dkc_op_keep(struct dk_op_decl *decl, struct dk_op *op)
{
	u64 sig;

	if (!dkc_load(op->definer))
		return -ENOENT;
	/* pairs with dkc_op_set_definer(), so that the signature is seen: pin.pml */
	dkc_full_barrier();
	sig = dkc_load(op->sig);
	if (decl->sig && sig && dkc_sig_hash(decl->sig) != sig)
		return -EPROTOTYPE;
	dkc_store(op->pinned, true);
	/* pairs with dkc_op_settle() and dkc_check_class(): pin.pml */
	dkc_full_barrier();
	/* undefined meanwhile, it may come back in the other class */
	if (dkc_load(op->dead) || !dkc_load(op->definer))
		return -ENOENT;
	/* what was not compared is compared on every call */
	if (!decl->sig || sig)
		dkc_store(decl->op, op);
	return 0;
}

/* Make a declaration point to its operator, which then stays. */
int dkc_op_pin(struct dk_op_decl *decl, struct dk_op **out)
{
	struct dk_registry *reg = dk_registry_default();
	struct dk_op *op;
	int err;

	if (!reg)
		return -ENOMEM;
	if (!dkc_decl_fits(decl))
		return -EPROTOTYPE;
	dkc_read_lock();
	op = dkc_op_find(reg, decl->name);
	err = op ? dkc_op_keep(decl, op) : -ENOENT;
	if (err == -ENOENT && dkc_load(reg->shutdown))
		err = -ESHUTDOWN;
	dkc_read_unlock();
	*out = op;
	return err;
}

/*
 * Atomic or sleepable: functions that came before are checked now, and callers
 * that have found the operator rely on what it was. It is undefined: whoever of
 * dkc_op_pin() and this comes second sees the other.
 */
static int dkc_check_class(const struct dk_op *op, unsigned int flags,
			   struct dk_diag *why)
{
	const struct dkc_reg *r = NULL;

	/* pairs with the second one of dkc_op_keep(): selftests/model/pin.pml */
	dkc_full_barrier();
	if (op->classed && ((op->flags ^ flags) & DK_OP_ATOMIC) &&
	    (dkc_load(op->pinned) || op->holders))
		return dkc_refuse(why, DK_WHY_CLASS, op->name);
	while ((flags & DK_OP_ATOMIC) && (r = dkc_reg_walk(op, r)))
		if (!(dkc_impl_of(r)->flags & DK_IMPL_F_ATOMIC))
			return dkc_refuse(why, DK_WHY_NOT_ATOMIC, op->name);
	return 0;
}

/* Who had it and who wants it: debug strings, or the providers' names. */
static dkc_noinline int dkc_refuse_defined(const struct dk_op *op,
					   const struct dkc_provider *core,
					   const struct dk_op_decl *decl,
					   struct dk_diag *why)
{
	const char *const part[] = {
		op->name, ": ", dkc_definer_name(op->decl, op->definer),
		" -> ", dkc_definer_name(decl, core),
	};
	char text[DK_NAME_MAX];

	dkc_join(text, sizeof(text), part, sizeof(part) / sizeof(part[0]));
	return dkc_refuse(why, DK_WHY_DEFINED, text);
}

/*
 * What differs, and both schemas with who brought them: "op: 2 vs 1: (Tensor x,
 * int y) -> (), debug, vs (Tensor _0) -> (), label".
 */
static void dkc_tell_misfit(const struct dk_op_decl *decl, const struct dk_impl *impl,
			    struct dk_diag *diff, struct dk_diag *why)
{
	char declared[DKC_SIG_SHOWN], inferred[DKC_SIG_SHOWN], text[DK_NAME_MAX];
	const char *args = decl->schema;
	const char *const part[] = {
		decl->name, ": ", diff->name, ": ", declared, ", ",
		decl->debug ? decl->debug : "", decl->debug ? ", vs " : "vs ", inferred,
		", ", impl->label ? impl->label : "?",
	};

	while (*args && *args != '(')
		args++;
	dkc_strcpy(declared, args, sizeof(declared));
	dkc_strcpy(inferred, impl->schema, sizeof(inferred));
	dkc_join(text, sizeof(text), part, DKC_COUNT(part));
	dkc_remark(why, diff->reason, text);
}

static dkc_noinline int dkc_check_schemas(const struct dk_op_decl *decl,
					  const struct dk_impl *impl,
					  struct dk_diag *why)
{
	struct dk_diag diff = { .size = sizeof(diff) };
	int err = dkc_schema_compare(decl->schema, impl->schema, &diff);

	if (err)
		dkc_tell_misfit(decl, impl, &diff, why);
	return err;
}

static int dkc_check_fits(const struct dk_op_decl *decl, const struct dk_impl *impl,
			  struct dk_diag *why)
{
	return decl->schema && impl->schema ? dkc_check_schemas(decl, impl, why) : 0;
}

int dkc_check_suits(const struct dk_op_decl *decl, unsigned int flags,
		    const struct dk_impl *impl, struct dk_diag *why)
{
	if ((flags & DK_OP_ATOMIC) && !(impl->flags & DK_IMPL_F_ATOMIC))
		return dkc_refuse(why, DK_WHY_NOT_ATOMIC, impl->label);
	return dkc_check_fits(decl, impl, why);
}

/* Functions that came before the definition. */
static int dkc_check_all_fit(const struct dk_op *op, const struct dk_op_decl *decl,
			     struct dk_diag *why)
{
	const struct dkc_reg *r = NULL;
	int err = 0;

	while (!err && decl->schema && (r = dkc_reg_walk(op, r)))
		err = dkc_check_fits(decl, dkc_impl_of(r), why);
	return err;
}

static void dkc_op_set_definer(struct dk_op *op, struct dkc_provider *core)
{
	op->classed = true;
	op->max_objs = DKC_NOT_COUNTED;
	core->reg->generation++;
	if (!op->sig)
		dkc_store(op->sig, dkc_op_sig(op));
	/* pairs with the first one of dkc_op_keep(): selftests/model/pin.pml */
	dkc_full_barrier();
	op->reg->num_there += !dkc_op_is_there(op);
	dkc_store(op->definer, core);
	dkc_saw_op(op, core, true);
}

/* A leak of references must not wrap: the greatest number stays. */
static void dkc_op_hold(struct dk_op *op)
{
	op->holders += op->holders != ~0U;
}

static void dkc_op_unhold(struct dk_op *op)
{
	op->holders -= op->holders != ~0U;
}

/*
 * Begin to define an operator; the lock is held, and @decl is checked. No call
 * sees anything of it before dkc_op_define_end(): until then it can be
 * cancelled. Meanwhile the operator is held, so that it stays.
 */
int dkc_op_define_begin(struct dkc_provider *core, const struct dk_op_decl *decl,
			unsigned int flags, struct dkc_op_def *def,
			struct dkc_change *ch, struct dk_diag *why)
{
	struct dk_op *op = dkc_op_obtain(core->reg, decl, dkc_op_find(core->reg, decl->name),
					 flags);
	struct dkc_args *args;
	int err;

	if (!op)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, decl->name);
	if (op->definer)
		return dkc_refuse_defined(op, core, decl, why);
	err = dkc_op_check_sig(op, decl, NULL, 0, core, why);
	if (!err)
		err = dkc_check_class(op, flags, why);
	if (!err)
		err = dkc_check_all_fit(op, decl, why);
	if (!err && dkc_args_make(op, decl, &args))
		err = dkc_refuse(why, DK_WHY_NO_MEMORY, decl->name);
	if (err) {
		dkc_op_settle(op);
		return err;
	}
	*def = (struct dkc_op_def){ .op = op, .args = args, .flags = op->flags };
	dkc_op_hold(op);
	op->decl = decl;
	dkc_store(op->flags, flags);
	dkc_change_add(ch, op);
	if (op->reg->listeners)
		def->news = dkc_news_make(op->name, DK_EVENT_DEFINED, 0, true);
	return 0;
}

/* The change is prepared and the caller commits it: from here on nothing fails. */
void dkc_op_define_end(struct dkc_provider *core, struct dkc_op_def *def)
{
	dkc_args_give(def->op, def->args);
	dkc_op_set_definer(def->op, core);
	/* of two definitions in turn, calls may have read the same constant table */
	dkc_changed(core->reg, DKC_WHOLE_CHANGE);
	dkc_op_unhold(def->op);
	dkc_news_put(core->reg, def->news);
	dkc_news_lose(core->reg, !def->news);
}

/* The change is cancelled, and no function of it is left. */
void dkc_op_define_cancel(struct dkc_op_def *def)
{
	struct dk_op *op = def->op;

	dkc_news_free(def->news);
	dkc_store(op->flags, def->flags);
	op->decl = NULL;
	dkc_op_unhold(op);
	dkc_args_cancel(op, def->args);
	dkc_op_settle(op);
}

/* Define an operator and nothing else; the lock is held. */
static int dkc_op_define(struct dkc_provider *core, const struct dk_op_decl *decl,
			 unsigned int flags, struct dk_diag *why)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_op_def def;
	int err = dkc_op_define_begin(core, decl, flags, &def, &ch, why);

	if (err)
		return err;
	if (dkc_change_prepare(&ch)) {
		dkc_op_define_cancel(&def);
		return dkc_refuse(why, DK_WHY_NO_MEMORY, decl->name);
	}
	dkc_op_define_end(core, &def);
	dkc_change_commit(&ch);
	return 0;
}

/* Has a schema the name of its operator? */
static bool dkc_schema_named(const char *schema, const char *name)
{
	while (*schema == ' ')
		schema++;
	while (*name && *schema == *name) {
		schema++;
		name++;
	}
	while (*schema == ' ')
		schema++;
	return !*name && *schema == '(';
}

/* "foo::bar vs foo::baz": the name in the schema, and the operator's. */
static dkc_noinline int dkc_refuse_schema_name(const struct dk_op_decl *decl,
					       struct dk_diag *why)
{
	char named[DK_NAME_MAX], text[DK_NAME_MAX];
	const char *schema = decl->schema;
	const char *const part[] = { named, " vs ", decl->name };
	size_t n = 0;

	while (*schema == ' ')
		schema++;
	while (schema[n] && schema[n] != '(')
		n++;
	if (!schema[n])
		return dkc_refuse(why, DK_WHY_SCHEMA, schema);
	while (n && schema[n - 1] == ' ')
		n--;
	dkc_strncpy(named, n ? schema : "no name", n ? n : 7, sizeof(named));
	dkc_join(text, sizeof(text), part, DKC_COUNT(part));
	return dkc_refuse(why, DK_WHY_SCHEMA_NAME, text);
}

int dkc_check_decl(const struct dk_op_decl *decl, unsigned int flags,
		   struct dk_diag *why)
{
	u32 i;

	if (decl->size != sizeof(*decl))
		return dkc_refuse(why, DK_WHY_BAD_SIZE, "struct dk_op_decl");
	if (flags & ~(DK_OP_ATOMIC | DK_OP_SAME_DEVICE))
		return dkc_refuse(why, DK_WHY_BAD_FLAGS, decl->name);
	if (!dkc_name_ok(decl->name))
		return dkc_refuse(why, DK_WHY_BAD_NAME, decl->name);
	if (decl->param && decl->num_params > DKC_MAX_PARAMS)
		return dkc_refuse(why, DK_WHY_SCHEMA_ARGS, decl->name);
	for (i = 0; decl->param && i < decl->num_params; i++)
		if (!decl->param[i].name)
			return dkc_refuse(why, DK_WHY_BAD_NAME, "");
	if (!decl->schema)
		return 0;
	if (!dkc_schema_named(decl->schema, decl->name))
		return dkc_refuse_schema_name(decl, why);
	return dkc_schema_check_decl(decl, why);
}

int dk_op_define(struct dk_provider *prov, const struct dk_op_decl *decl,
		 unsigned int flags, struct dk_diag *why)
{
	struct dkc_provider *core;
	struct dk_registry *reg;
	int err = dkc_check_decl(decl, flags, why);

	if (err)
		return err;
	err = dkc_provider_lock(prov, &core, why);
	if (err)
		return err;
	reg = core->reg;
	err = dkc_op_define(core, decl, flags, why);
	dkc_mutex_unlock(&reg->lock);
	dkc_flush_retired();
	dkc_news_tell(reg);
	return err;
}

void dkc_op_left(struct dk_op *op)
{
	if (dkc_op_is_there(op))
		return;
	op->reg->num_there--;
	dkc_stats_withdraw_op(op);
}

/* The row is the change's. */
void dkc_op_undefine(struct dk_op *op)
{
	struct dkc_news *news = NULL;

	op->reg->generation++;
	if (op->reg->listeners)
		news = dkc_news_make(op->name, DK_EVENT_UNDEFINED, 0, false);
	dkc_news_put(op->reg, news);
	dkc_news_lose(op->reg, !news);
	dkc_saw_op(op, op->definer, false);
	dkc_store(op->definer, NULL);
	dkc_op_left(op);
	op->decl = NULL;
}

int dk_op_undefine(struct dk_provider *prov, const char *name, struct dk_diag *why)
{
	struct dkc_change ch = { .ops = NULL };
	struct dkc_provider *core;
	struct dk_registry *reg;
	struct dk_op *op;
	int err = dkc_provider_lock(prov, &core, why);

	if (err)
		return err;
	reg = core->reg;
	op = dkc_op_find(reg, name);
	if (!op || op->definer != core) {
		err = dkc_refuse(why, op ? DK_WHY_NOT_THERE : DK_WHY_NO_OPERATOR,
				 name);
	} else {
		dkc_op_undefine(op);
		dkc_change_add(&ch, op);
		dkc_change_force(&ch);
		dkc_change_rebuild(reg, true);
	}
	dkc_mutex_unlock(&reg->lock);
	dkc_flush_retired();
	dkc_news_tell(reg);
	return err;
}

static void dkc_op_get(struct dk_op *op)
{
	dkc_op_hold(op);
	op->reg->num_held++;
}

struct dk_op *dk_op_get(struct dk_registry *reg, const char *name)
{
	struct dk_op *op;

	reg = dkc_registry(reg);
	if (!reg)
		return NULL;
	dkc_mutex_lock(&reg->lock);
	op = dkc_op_find(reg, name);
	if (op && dkc_op_alive(op))
		dkc_op_get(op);
	else
		op = NULL;
	dkc_mutex_unlock(&reg->lock);
	return op;
}

int dk_op_get_defined(struct dk_registry *reg, const char *name, struct dk_op **op,
		      struct dk_diag *why)
{
	struct dk_op *found;
	bool dangling;

	*op = NULL;
	reg = dkc_registry(reg);
	if (!reg)
		return dkc_refuse(why, DK_WHY_NO_MEMORY, name);
	dkc_mutex_lock(&reg->lock);
	found = dkc_op_find(reg, name);
	dangling = found && dkc_op_dangles(found);
	if (found && found->definer) {
		dkc_op_get(found);
		*op = found;
	}
	dkc_mutex_unlock(&reg->lock);
	if (!*op)
		return dkc_refuse(why, dangling ? DK_WHY_DANGLING : DK_WHY_NO_OPERATOR,
				  name);
	dkc_remark(why, DK_WHY_NONE, NULL);
	return 0;
}

void dk_op_put(struct dk_op *op)
{
	struct dk_registry *reg;

	if (!op)
		return;
	reg = op->reg;
	dkc_mutex_lock(&reg->lock);
	dkc_op_unhold(op);
	reg->num_held--;
	dkc_op_settle(op);
	dkc_mutex_unlock(&reg->lock);
	dkc_flush_retired();
}

int dk_op_takes(struct dk_op *op, const struct dk_op_decl *decl)
{
	bool takes;

	if (!dkc_decl_fits(decl))
		return -EPROTOTYPE;
	dkc_mutex_lock(&op->reg->lock);
	takes = dkc_op_takes(op, decl);
	dkc_mutex_unlock(&op->reg->lock);
	return takes ? 0 : -EPROTOTYPE;
}

const char *dk_op_name(const struct dk_op *op)
{
	return op->name;
}
