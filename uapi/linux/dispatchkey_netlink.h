/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/dispatchkey.yaml */
/* YNL-GEN uapi header */

#ifndef _UAPI_LINUX_DISPATCHKEY_NETLINK_H
#define _UAPI_LINUX_DISPATCHKEY_NETLINK_H

#define DK_GENL_NAME	"dispatchkey"
#define DK_GENL_VERSION	1

/**
 * enum dk_nl_state - State of a backend, a device or the counters.
 * @DK_NL_STATE_OFFLINE: The backend or device serves no calls, or calls are
 *   not counted.
 * @DK_NL_STATE_ONLINE: The backend or device serves calls, or calls are
 *   counted.
 */
enum dk_nl_state {
	DK_NL_STATE_OFFLINE,
	DK_NL_STATE_ONLINE,
};

/**
 * enum dk_nl_provider_state - State of a provider.
 * @DK_NL_PROVIDER_REGISTERED: The functions of the provider can be called.
 * @DK_NL_PROVIDER_UNREGISTERING: The provider is being unregistered. It serves
 *   no new calls, and the module waits for running calls.
 */
enum dk_nl_provider_state {
	DK_NL_PROVIDER_REGISTERED,
	DK_NL_PROVIDER_UNREGISTERING,
};

/**
 * enum dk_nl_op_flags - How an operator was defined.
 * @DK_NL_OP_ATOMIC: The operator may be called in any context but NMI.
 * @DK_NL_OP_SAME_DEVICE: The arguments of a call must be on one device.
 */
enum dk_nl_op_flags {
	DK_NL_OP_ATOMIC = 1,
	DK_NL_OP_SAME_DEVICE = 2,
};

/**
 * enum dk_nl_impl_flags - Properties of a registered function.
 * @DK_NL_IMPL_FALLTHROUGH: The function is a fallthrough: calls skip its key.
 * @DK_NL_IMPL_BOXED: The function is boxed: its arguments are in a struct.
 * @DK_NL_IMPL_ACTIVE: The function is online, and it is the newest function of
 *   its device at its key. A function of no device must be the newest of those
 *   without a device.
 * @DK_NL_IMPL_OFFLINE: The device or backend of the function is offline, so
 *   calls are routed as if the function were absent.
 */
enum dk_nl_impl_flags {
	DK_NL_IMPL_FALLTHROUGH = 1,
	DK_NL_IMPL_BOXED = 2,
	DK_NL_IMPL_ACTIVE = 4,
	DK_NL_IMPL_OFFLINE = 8,
};

/**
 * enum dk_nl_provenance - The rule that decides a table entry.
 * @DK_NL_PROV_MISSING: No rule. No function serves the entry.
 * @DK_NL_PROV_KERNEL: A function at exactly this key.
 * @DK_NL_PROV_DEFAULT_BACKEND: A function at CompositeExplicitAutograd or
 *   CompositeExplicitAutogradNonFunctional.
 * @DK_NL_PROV_NESTED: A function at CompositeImplicitAutogradNestedTensor.
 * @DK_NL_PROV_AMBIGUOUS: The entry is ambiguous. There are functions at
 *   CompositeImplicitAutograd and at a backend of AutogradOther.
 * @DK_NL_PROV_MATH: A function at CompositeImplicitAutograd.
 * @DK_NL_PROV_AUTOGRAD: A function at Autograd.
 * @DK_NL_PROV_BATCHED: A function at FuncTorchBatchedDecomposition.
 * @DK_NL_PROV_FALLBACK: The backend fallback.
 * @DK_NL_PROV_NO_ENTRY: No rule. The table is trimmed and has no such entry.
 */
enum dk_nl_provenance {
	DK_NL_PROV_MISSING,
	DK_NL_PROV_KERNEL,
	DK_NL_PROV_DEFAULT_BACKEND,
	DK_NL_PROV_NESTED,
	DK_NL_PROV_AMBIGUOUS,
	DK_NL_PROV_MATH,
	DK_NL_PROV_AUTOGRAD,
	DK_NL_PROV_BATCHED,
	DK_NL_PROV_FALLBACK,
	DK_NL_PROV_NO_ENTRY,
};

/**
 * enum dk_nl_step_kind - What a step of an explanation is about.
 * @DK_NL_STEP_MASK: A functionality that a fallthrough removes from the set.
 * @DK_NL_STEP_RULE: The result of a rule for the entry of the call.
 * @DK_NL_STEP_IMPL: The effect of a registration on the call.
 */
enum dk_nl_step_kind {
	DK_NL_STEP_MASK,
	DK_NL_STEP_RULE,
	DK_NL_STEP_IMPL,
};

/**
 * enum dk_nl_verdict - The result of a rule for an entry.
 * @DK_NL_VERDICT_NOT_EVALUATED: The rule is not evaluated.
 * @DK_NL_VERDICT_SERVES: The function of the rule serves the entry.
 * @DK_NL_VERDICT_AMBIGUOUS: The entry is ambiguous.
 * @DK_NL_VERDICT_MISSING: No rule has a function.
 * @DK_NL_VERDICT_NO_IMPL: Nothing is registered at the key of the rule.
 * @DK_NL_VERDICT_NO_ALIAS: The layout does not have the alias key of the rule.
 * @DK_NL_VERDICT_OUTSIDE: The alias key of the rule does not include the key
 *   of the entry.
 * @DK_NL_VERDICT_BARS: A function prevents those at CompositeImplicitAutograd
 *   from serving the entry.
 * @DK_NL_VERDICT_BARS_NOT: No function prevents those at
 *   CompositeImplicitAutograd from serving the entry.
 * @DK_NL_VERDICT_BARRED: The rule has a function, but another function
 *   prevents it from serving the entry.
 * @DK_NL_VERDICT_HAS_ENTRY: The table has an entry for the key.
 * @DK_NL_VERDICT_NO_ENTRY: The table is trimmed and has no entry for the key.
 */
enum dk_nl_verdict {
	DK_NL_VERDICT_NOT_EVALUATED,
	DK_NL_VERDICT_SERVES,
	DK_NL_VERDICT_AMBIGUOUS,
	DK_NL_VERDICT_MISSING,
	DK_NL_VERDICT_NO_IMPL,
	DK_NL_VERDICT_NO_ALIAS,
	DK_NL_VERDICT_OUTSIDE,
	DK_NL_VERDICT_BARS,
	DK_NL_VERDICT_BARS_NOT,
	DK_NL_VERDICT_BARRED,
	DK_NL_VERDICT_HAS_ENTRY,
	DK_NL_VERDICT_NO_ENTRY,
};

/**
 * enum dk_nl_bearing - The effect of a registration on a call.
 * @DK_NL_BEARING_NONE: No effect. The result would be the same without the
 *   registration.
 * @DK_NL_BEARING_OVERRIDDEN: No effect. A newer function is registered at the
 *   same key.
 * @DK_NL_BEARING_SERVES: The registration serves the call.
 * @DK_NL_BEARING_DECIDES: The registration does not serve the call, but
 *   without it the call would be routed differently.
 * @DK_NL_BEARING_SET: Without the registration the effective set would differ,
 *   but the same function would serve the call.
 * @DK_NL_BEARING_OFFLINE: No effect. The device or backend of the registration
 *   is offline.
 */
enum dk_nl_bearing {
	DK_NL_BEARING_NONE,
	DK_NL_BEARING_OVERRIDDEN,
	DK_NL_BEARING_SERVES,
	DK_NL_BEARING_DECIDES,
	DK_NL_BEARING_SET,
	DK_NL_BEARING_OFFLINE,
};

/**
 * enum dk_nl_stat_kind - What a counter counts.
 * @DK_NL_STAT_IMPL: Calls of the operator that one of its functions served.
 * @DK_NL_STAT_FALLBACK: Calls of the operator that a backend fallback served.
 * @DK_NL_STAT_MISSING: Calls of the operator that no function served.
 */
enum dk_nl_stat_kind {
	DK_NL_STAT_IMPL,
	DK_NL_STAT_FALLBACK,
	DK_NL_STAT_MISSING,
};

/**
 * enum dk_nl_readers - Which users may read the counters.
 * @DK_NL_READERS_ALL: Every user.
 * @DK_NL_READERS_ADMINS: Users with CAP_NET_ADMIN.
 */
enum dk_nl_readers {
	DK_NL_READERS_ALL,
	DK_NL_READERS_ADMINS,
};

/**
 * enum dk_nl_event_kind - The kind of an event.
 * @DK_NL_EVENT_OP_ADDED: An operator was defined.
 * @DK_NL_EVENT_OP_REMOVED: An operator was undefined.
 * @DK_NL_EVENT_IMPL_ADDED: A function of an operator, or a backend fallback,
 *   was registered.
 * @DK_NL_EVENT_IMPL_REMOVED: A function of an operator, or a backend fallback,
 *   was unregistered.
 * @DK_NL_EVENT_BACKEND_ADDED: A private backend was bound to a name.
 * @DK_NL_EVENT_BACKEND_REMOVED: The name of a private backend was released.
 * @DK_NL_EVENT_BACKEND_STATE: A backend went offline or came online.
 * @DK_NL_EVENT_DEVICE_ADDED: A device was registered.
 * @DK_NL_EVENT_DEVICE_REMOVED: A device was unregistered.
 * @DK_NL_EVENT_DEVICE_STATE: A device went offline or came online.
 * @DK_NL_EVENT_LOST: Events were lost for lack of memory. The attribute count
 *   is their number. Read the state again.
 * @DK_NL_EVENT_PROVIDER_ADDED: A provider was registered.
 * @DK_NL_EVENT_PROVIDER_UNREGISTERING: A provider is being unregistered. No
 *   new calls reach its functions, but calls may still be running in them.
 * @DK_NL_EVENT_PROVIDER_REMOVED: A provider was unregistered. No call of its
 *   functions is running.
 */
enum dk_nl_event_kind {
	DK_NL_EVENT_OP_ADDED,
	DK_NL_EVENT_OP_REMOVED,
	DK_NL_EVENT_IMPL_ADDED,
	DK_NL_EVENT_IMPL_REMOVED,
	DK_NL_EVENT_BACKEND_ADDED,
	DK_NL_EVENT_BACKEND_REMOVED,
	DK_NL_EVENT_BACKEND_STATE,
	DK_NL_EVENT_DEVICE_ADDED,
	DK_NL_EVENT_DEVICE_REMOVED,
	DK_NL_EVENT_DEVICE_STATE,
	DK_NL_EVENT_LOST,
	DK_NL_EVENT_PROVIDER_ADDED,
	DK_NL_EVENT_PROVIDER_UNREGISTERING,
	DK_NL_EVENT_PROVIDER_REMOVED,
};

enum dk_a_info {
	DK_A_INFO_VERSION = 1,
	DK_A_INFO_ABI,
	DK_A_INFO_LAYOUT,
	DK_A_INFO_GENERATION,
	DK_A_INFO_OPERATORS,
	DK_A_INFO_IMPLS,
	DK_A_INFO_PROVIDERS,
	DK_A_INFO_DEVICES,
	DK_A_INFO_COUNTERS,
	DK_A_INFO_PAD,

	__DK_A_INFO_MAX,
	DK_A_INFO_MAX = (__DK_A_INFO_MAX - 1)
};

enum dk_a_layout {
	DK_A_LAYOUT_NAME = 1,
	DK_A_LAYOUT_ENTRIES,
	DK_A_LAYOUT_BACKEND,
	DK_A_LAYOUT_FUNCTIONALITY,
	DK_A_LAYOUT_ALIAS,

	__DK_A_LAYOUT_MAX,
	DK_A_LAYOUT_MAX = (__DK_A_LAYOUT_MAX - 1)
};

enum dk_a_layout_backend {
	DK_A_LAYOUT_BACKEND_NUMBER = 1,
	DK_A_LAYOUT_BACKEND_NAME,

	__DK_A_LAYOUT_BACKEND_MAX,
	DK_A_LAYOUT_BACKEND_MAX = (__DK_A_LAYOUT_BACKEND_MAX - 1)
};

enum dk_a_layout_functionality {
	DK_A_LAYOUT_FUNCTIONALITY_NUMBER = 1,
	DK_A_LAYOUT_FUNCTIONALITY_NAME,
	DK_A_LAYOUT_FUNCTIONALITY_SLOT,
	DK_A_LAYOUT_FUNCTIONALITY_PER_BACKEND,

	__DK_A_LAYOUT_FUNCTIONALITY_MAX,
	DK_A_LAYOUT_FUNCTIONALITY_MAX = (__DK_A_LAYOUT_FUNCTIONALITY_MAX - 1)
};

enum dk_a_layout_alias {
	DK_A_LAYOUT_ALIAS_NUMBER = 1,
	DK_A_LAYOUT_ALIAS_NAME,

	__DK_A_LAYOUT_ALIAS_MAX,
	DK_A_LAYOUT_ALIAS_MAX = (__DK_A_LAYOUT_ALIAS_MAX - 1)
};

enum dk_a_backend {
	DK_A_BACKEND_NUMBER = 1,
	DK_A_BACKEND_NAME,
	DK_A_BACKEND_KEY_NAME,
	DK_A_BACKEND_STATE,
	DK_A_BACKEND_BOUND,
	DK_A_BACKEND_PROVIDER,
	DK_A_BACKEND_ALONE,
	DK_A_BACKEND_DEVICES,
	DK_A_BACKEND_IMPLS,
	DK_A_BACKEND_UNSERVED,
	DK_A_BACKEND_PROVIDERS,
	DK_A_BACKEND_INSIDE,

	__DK_A_BACKEND_MAX,
	DK_A_BACKEND_MAX = (__DK_A_BACKEND_MAX - 1)
};

enum dk_a_device {
	DK_A_DEVICE_NUMBER = 1,
	DK_A_DEVICE_NAME,
	DK_A_DEVICE_BACKEND,
	DK_A_DEVICE_BACKEND_NAME,
	DK_A_DEVICE_PROVIDER,
	DK_A_DEVICE_STATE,
	DK_A_DEVICE_BACKEND_STATE,
	DK_A_DEVICE_IMPLS,
	DK_A_DEVICE_UNSERVED,
	DK_A_DEVICE_INSIDE,

	__DK_A_DEVICE_MAX,
	DK_A_DEVICE_MAX = (__DK_A_DEVICE_MAX - 1)
};

enum dk_a_provider {
	DK_A_PROVIDER_NAME = 1,
	DK_A_PROVIDER_MODULE,
	DK_A_PROVIDER_STATE,
	DK_A_PROVIDER_OPERATORS,
	DK_A_PROVIDER_IMPLS,
	DK_A_PROVIDER_DEVICES,
	DK_A_PROVIDER_BACKEND,
	DK_A_PROVIDER_CALLS,
	DK_A_PROVIDER_PAD,
	DK_A_PROVIDER_INSIDE,

	__DK_A_PROVIDER_MAX,
	DK_A_PROVIDER_MAX = (__DK_A_PROVIDER_MAX - 1)
};

enum dk_a_op {
	DK_A_OP_NAME = 1,
	DK_A_OP_SCHEMA,
	DK_A_OP_PROVIDER,
	DK_A_OP_FLAGS,
	DK_A_OP_NUM_IMPLS,
	DK_A_OP_NUM_DEVICE_IMPLS,
	DK_A_OP_IMPL,
	DK_A_OP_PREFIX,
	DK_A_OP_KEY,
	DK_A_OP_BACKEND,
	DK_A_OP_MAX_OBJS,

	__DK_A_OP_MAX,
	DK_A_OP_MAX = (__DK_A_OP_MAX - 1)
};

enum dk_a_impl {
	DK_A_IMPL_OP = 1,
	DK_A_IMPL_KEY,
	DK_A_IMPL_KEY_NAME,
	DK_A_IMPL_LABEL,
	DK_A_IMPL_PROVIDER,
	DK_A_IMPL_DEVICE,
	DK_A_IMPL_DEVICE_NAME,
	DK_A_IMPL_FLAGS,
	DK_A_IMPL_BACKEND,

	__DK_A_IMPL_MAX,
	DK_A_IMPL_MAX = (__DK_A_IMPL_MAX - 1)
};

enum dk_a_table {
	DK_A_TABLE_OP = 1,
	DK_A_TABLE_DEVICE,
	DK_A_TABLE_DEVICE_NAME,
	DK_A_TABLE_FIRST,
	DK_A_TABLE_LAST,
	DK_A_TABLE_FIRST_KEY,
	DK_A_TABLE_LAST_KEY,
	DK_A_TABLE_PROVENANCE,
	DK_A_TABLE_FLAGS,
	DK_A_TABLE_LABEL,
	DK_A_TABLE_PROVIDER,

	__DK_A_TABLE_MAX,
	DK_A_TABLE_MAX = (__DK_A_TABLE_MAX - 1)
};

enum dk_a_obj {
	DK_A_OBJ_KEYSET = 1,
	DK_A_OBJ_DEVICE,
	DK_A_OBJ_DEVICE_NAME,
	DK_A_OBJ_PAD,

	__DK_A_OBJ_MAX,
	DK_A_OBJ_MAX = (__DK_A_OBJ_MAX - 1)
};

enum dk_a_step {
	DK_A_STEP_KIND = 1,
	DK_A_STEP_RULE,
	DK_A_STEP_VERDICT,
	DK_A_STEP_BEARING,
	DK_A_STEP_KEY,
	DK_A_STEP_KEY_NAME,
	DK_A_STEP_IMPL,
	DK_A_STEP_FALLBACK,

	__DK_A_STEP_MAX,
	DK_A_STEP_MAX = (__DK_A_STEP_MAX - 1)
};

enum dk_a_route {
	DK_A_ROUTE_OP = 1,
	DK_A_ROUTE_OBJ,
	DK_A_ROUTE_INCLUDED,
	DK_A_ROUTE_EXCLUDED,
	DK_A_ROUTE_RAW,
	DK_A_ROUTE_MERGED,
	DK_A_ROUTE_EFFECTIVE,
	DK_A_ROUTE_SLOT,
	DK_A_ROUTE_KEY,
	DK_A_ROUTE_KEY_NAME,
	DK_A_ROUTE_ERROR,
	DK_A_ROUTE_PROVENANCE,
	DK_A_ROUTE_FLAGS,
	DK_A_ROUTE_LABEL,
	DK_A_ROUTE_PROVIDER,
	DK_A_ROUTE_DEVICE,
	DK_A_ROUTE_DEVICE_NAME,
	DK_A_ROUTE_GENERATION,
	DK_A_ROUTE_STEP,
	DK_A_ROUTE_PAD,

	__DK_A_ROUTE_MAX,
	DK_A_ROUTE_MAX = (__DK_A_ROUTE_MAX - 1)
};

enum dk_a_stats {
	DK_A_STATS_STATE = 1,
	DK_A_STATS_RESET,
	DK_A_STATS_USED,
	DK_A_STATS_OP,
	DK_A_STATS_PROVIDER,
	DK_A_STATS_KIND,
	DK_A_STATS_KEY,
	DK_A_STATS_KEY_NAME,
	DK_A_STATS_LABEL,
	DK_A_STATS_DEVICE,
	DK_A_STATS_DEVICE_NAME,
	DK_A_STATS_COUNT,
	DK_A_STATS_PAD,
	DK_A_STATS_UNCOUNTED,
	DK_A_STATS_READERS,
	DK_A_STATS_GONE,

	__DK_A_STATS_MAX,
	DK_A_STATS_MAX = (__DK_A_STATS_MAX - 1)
};

enum dk_a_limit {
	DK_A_LIMIT_NAME = 1,
	DK_A_LIMIT_MOST,
	DK_A_LIMIT_USED,
	DK_A_LIMIT_PAD,

	__DK_A_LIMIT_MAX,
	DK_A_LIMIT_MAX = (__DK_A_LIMIT_MAX - 1)
};

enum dk_a_event {
	DK_A_EVENT_KIND = 1,
	DK_A_EVENT_NAME,
	DK_A_EVENT_NUMBER,
	DK_A_EVENT_KEY,
	DK_A_EVENT_KEY_NAME,
	DK_A_EVENT_PROVIDER,
	DK_A_EVENT_STATE,
	DK_A_EVENT_COUNT,
	DK_A_EVENT_TIME,
	DK_A_EVENT_GENERATION,
	DK_A_EVENT_PAD,

	__DK_A_EVENT_MAX,
	DK_A_EVENT_MAX = (__DK_A_EVENT_MAX - 1)
};

enum dk_cmd {
	DK_CMD_INFO_GET = 1,
	DK_CMD_LAYOUT_GET,
	DK_CMD_BACKEND_GET,
	DK_CMD_BACKEND_SET,
	DK_CMD_DEVICE_GET,
	DK_CMD_DEVICE_SET,
	DK_CMD_PROVIDER_GET,
	DK_CMD_OP_GET,
	DK_CMD_IMPL_GET,
	DK_CMD_TABLE_GET,
	DK_CMD_ROUTE_GET,
	DK_CMD_STATS_GET,
	DK_CMD_STATS_SET,
	DK_CMD_LIMIT_GET,
	DK_CMD_EVENT,
	DK_CMD_BACKEND_RELEASE,

	__DK_CMD_MAX,
	DK_CMD_MAX = (__DK_CMD_MAX - 1)
};

#define DISPATCHKEY_MCGRP_CHANGES	"changes"

#endif /* _UAPI_LINUX_DISPATCHKEY_NETLINK_H */
