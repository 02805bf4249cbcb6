// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Formats names and lists for several subcommands. */
#include "live.h"

#include <string.h>

const char *state_word(__u32 state)
{
	return dk_nl_word(DK_NL_WORDS_STATE, state);
}

enum color state_color(__u32 state)
{
	return state == DK_NL_STATE_ONLINE ? COLOR_GOOD : COLOR_BAD;
}

const char *provider_word(const char *provider)
{
	return *provider ? provider : "(built in)";
}

static const struct {
	__u32 flag;
	const char *word;
} op_flags[] = {
	{ DK_NL_OP_ATOMIC, "atomic" },
	{ DK_NL_OP_SAME_DEVICE, "same-device" },
}, impl_flags[] = {
	{ DK_NL_IMPL_FALLTHROUGH, "fallthrough" },
	{ DK_NL_IMPL_BOXED, "boxed" },
	{ DK_NL_IMPL_OFFLINE, "offline" },
};

static void add(char *buf, size_t size, const char *word)
{
	size_t n = strlen(buf);

	snprintf(buf + n, size - n, "%s%s", n ? " " : "", word);
}

void put_op_flags(__u32 flags, char *buf, size_t size)
{
	size_t i;

	buf[0] = '\0';
	for (i = 0; i < ARRAY_SIZE(op_flags); i++) {
		if (flags & op_flags[i].flag)
			add(buf, size, op_flags[i].word);
	}
}

static void put_impl_flags(struct columns *l, __u32 flags)
{
	char buf[64] = "";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(impl_flags); i++) {
		if (flags & impl_flags[i].flag)
			add(buf, sizeof(buf), impl_flags[i].word);
	}
	/* a function that is not active is overridden or offline */
	if (!(flags & (DK_NL_IMPL_ACTIVE | DK_NL_IMPL_OFFLINE)))
		add(buf, sizeof(buf), "overridden");
	columns_put(l, COLOR_DIM, "%s", buf);
}

void put_impl(struct columns *l, const struct dk_nl_impl *i)
{
	columns_put(l, COLOR_NONE, "%s", i->key_name);
	columns_put(l, COLOR_NONE, "%s", i->label);
	columns_put(l, COLOR_NONE, "%s", provider_word(i->provider));
	columns_put(l, COLOR_NONE, "%s", i->device_name);
	put_impl_flags(l, i->flags);
}

void json_op_flags(struct json *j, __u32 flags)
{
	json_bool(j, "atomic", flags & DK_NL_OP_ATOMIC);
	json_bool(j, "same_device", flags & DK_NL_OP_SAME_DEVICE);
}

void json_name(struct json *j, const char *name, const char *s)
{
	if (*s)
		json_string(j, name, s);
	else
		json_null(j, name);
}

void json_impl(struct json *j, const struct dk_nl_impl *i)
{
	json_string(j, "key", i->key_name);
	json_uint(j, "key_number", i->key);
	json_string(j, "function", i->label);
	json_name(j, "provider", i->provider);
	json_name(j, "device", i->device_name);
	json_bool(j, "fallthrough", i->flags & DK_NL_IMPL_FALLTHROUGH);
	json_bool(j, "boxed", i->flags & DK_NL_IMPL_BOXED);
	json_bool(j, "active", i->flags & DK_NL_IMPL_ACTIVE);
	json_bool(j, "offline", i->flags & DK_NL_IMPL_OFFLINE);
}

void json_names(struct json *j, const char *name, const char *const *names, __u32 n)
{
	__u32 i;

	json_array(j, name);
	for (i = 0; i < n; i++)
		json_string(j, NULL, names[i]);
	json_close(j);
}

void put_names(struct columns *l, const char *const *names, __u32 n, __u32 all)
{
	char text[1000] = "";
	size_t len = 0;
	__u32 i;

	/* the module's names are shorter than DK_NAME_MAX, but an answer may have longer ones */
	for (i = 0; i < n && len + strlen(names[i]) + sizeof("  and 4294967295 more") <
			    sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
					i ? " " : "", names[i]);
	if (i < all)
		snprintf(text + len, sizeof(text) - len, "%s%u more", i ? " and " : "", all - i);
	columns_put(l, COLOR_NONE, "%s", text);
}

const char *plural(char buf[64], unsigned long long n, const char *one, const char *many)
{
	snprintf(buf, 64, "%llu %s", n, n == 1 ? one : many);
	return buf;
}
