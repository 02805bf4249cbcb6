// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Lists the names of enum values in the specification. A test compares the lists with the
 * specification.
 */
#include "internal.h"

static const char *const states[] = {
	[DK_NL_STATE_OFFLINE] = "offline",
	[DK_NL_STATE_ONLINE] = "online",
};

static const char *const provider_states[] = {
	[DK_NL_PROVIDER_REGISTERED] = "registered",
	[DK_NL_PROVIDER_UNREGISTERING] = "unregistering",
};

static const char *const provenances[] = {
	[DK_NL_PROV_MISSING] = "missing",
	[DK_NL_PROV_KERNEL] = "kernel",
	[DK_NL_PROV_DEFAULT_BACKEND] = "default-backend",
	[DK_NL_PROV_NESTED] = "nested",
	[DK_NL_PROV_AMBIGUOUS] = "ambiguous",
	[DK_NL_PROV_MATH] = "math",
	[DK_NL_PROV_AUTOGRAD] = "autograd",
	[DK_NL_PROV_BATCHED] = "batched",
	[DK_NL_PROV_FALLBACK] = "fallback",
	[DK_NL_PROV_NO_ENTRY] = "no-entry",
};

static const char *const step_kinds[] = {
	[DK_NL_STEP_MASK] = "mask",
	[DK_NL_STEP_RULE] = "rule",
	[DK_NL_STEP_IMPL] = "impl",
};

static const char *const verdicts[] = {
	[DK_NL_VERDICT_NOT_EVALUATED] = "not-evaluated",
	[DK_NL_VERDICT_SERVES] = "serves",
	[DK_NL_VERDICT_AMBIGUOUS] = "ambiguous",
	[DK_NL_VERDICT_MISSING] = "missing",
	[DK_NL_VERDICT_NO_IMPL] = "no-impl",
	[DK_NL_VERDICT_NO_ALIAS] = "no-alias",
	[DK_NL_VERDICT_OUTSIDE] = "outside",
	[DK_NL_VERDICT_BARS] = "bars",
	[DK_NL_VERDICT_BARS_NOT] = "bars-not",
	[DK_NL_VERDICT_BARRED] = "barred",
	[DK_NL_VERDICT_HAS_ENTRY] = "has-entry",
	[DK_NL_VERDICT_NO_ENTRY] = "no-entry",
};

static const char *const bearings[] = {
	[DK_NL_BEARING_NONE] = "none",
	[DK_NL_BEARING_OVERRIDDEN] = "overridden",
	[DK_NL_BEARING_SERVES] = "serves",
	[DK_NL_BEARING_DECIDES] = "decides",
	[DK_NL_BEARING_SET] = "set",
	[DK_NL_BEARING_OFFLINE] = "offline",
};

static const char *const stat_kinds[] = {
	[DK_NL_STAT_IMPL] = "impl",
	[DK_NL_STAT_FALLBACK] = "fallback",
	[DK_NL_STAT_MISSING] = "missing",
};

static const char *const readers[] = {
	[DK_NL_READERS_ALL] = "all",
	[DK_NL_READERS_ADMINS] = "admins",
};

static const char *const event_kinds[] = {
	[DK_NL_EVENT_OP_ADDED] = "op-added",
	[DK_NL_EVENT_OP_REMOVED] = "op-removed",
	[DK_NL_EVENT_IMPL_ADDED] = "impl-added",
	[DK_NL_EVENT_IMPL_REMOVED] = "impl-removed",
	[DK_NL_EVENT_BACKEND_ADDED] = "backend-added",
	[DK_NL_EVENT_BACKEND_REMOVED] = "backend-removed",
	[DK_NL_EVENT_BACKEND_STATE] = "backend-state",
	[DK_NL_EVENT_DEVICE_ADDED] = "device-added",
	[DK_NL_EVENT_DEVICE_REMOVED] = "device-removed",
	[DK_NL_EVENT_DEVICE_STATE] = "device-state",
	[DK_NL_EVENT_LOST] = "lost",
	[DK_NL_EVENT_PROVIDER_ADDED] = "provider-added",
	[DK_NL_EVENT_PROVIDER_UNREGISTERING] = "provider-unregistering",
	[DK_NL_EVENT_PROVIDER_REMOVED] = "provider-removed",
};

#define WORDS(_words)	{ (_words), sizeof(_words) / sizeof((_words)[0]) }

static const struct {
	const char *const *words;
	unsigned int n;
} enums[] = {
	[DK_NL_WORDS_STATE] = WORDS(states),
	[DK_NL_WORDS_PROVIDER_STATE] = WORDS(provider_states),
	[DK_NL_WORDS_PROVENANCE] = WORDS(provenances),
	[DK_NL_WORDS_STEP_KIND] = WORDS(step_kinds),
	[DK_NL_WORDS_VERDICT] = WORDS(verdicts),
	[DK_NL_WORDS_BEARING] = WORDS(bearings),
	[DK_NL_WORDS_STAT_KIND] = WORDS(stat_kinds),
	[DK_NL_WORDS_READERS] = WORDS(readers),
	[DK_NL_WORDS_EVENT_KIND] = WORDS(event_kinds),
};

const char *dk_nl_word(enum dk_nl_words of, __u32 value)
{
	if ((unsigned int)of >= sizeof(enums) / sizeof(enums[0]) || value >= enums[of].n)
		return "unknown";
	return enums[of].words[value];
}
