/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * libdispatchkey-nl: inspect and control the default registry of dispatchkey.ko from
 * userspace, over generic netlink. <dispatchkey.h> does not include this header, and
 * libdispatchkey does not need libnl.
 *
 * A handle may be used by one thread at a time. A child of fork() must not use the handles
 * and monitors of its parent: the two processes would read each other's answers.
 *
 * Answers are structs that the library allocates. Each element of a list points to the
 * next one; an empty list is NULL. To free an answer and its strings, pass its first
 * element to dk_nl_free().
 *
 * Structs grow at their end. The first member is the size of the struct. The caller sets
 * it in structs that the caller allocates, and the library in those that it returns. Only
 * struct dk_nl_obj, the element of an array, has no size and does not grow.
 *
 * Unknown attributes are ignored. For attributes that an older module does not send,
 * numbers are 0, flags are clear, and strings are empty. A missing state is
 * DK_NL_STATE_ONLINE or, for the counters, DK_NL_STATE_OFFLINE. Strings are never NULL;
 * control characters in them are replaced by '?'.
 *
 * Errors are negative errnos; dk_nl_why() describes them. Every request can return
 *
 *   -ENOENT	the module is not loaded or has no family in this network
 *		namespace; or the requested object does not exist, and then @message
 *		of struct dk_nl_error is not empty
 *   -ENODEV	the requested device does not exist
 *   -EPERM	a change, or reading restricted counters, without CAP_NET_ADMIN in
 *		the initial user namespace
 *   -EOPNOTSUPP	the module is older than the request
 *   -EINVAL	the library or the module rejects the request: a name is too long,
 *		a number is unknown, or a struct's size is not supported
 *   -ERANGE	a number is out of the range that the specification allows
 *   -EAGAIN	the registry changed each time it was read, see
 *		struct dk_nl_options
 *   -EBADMSG	malformed answer
 *   -ENOMEM	out of memory in the library or the module
 *   -ETIMEDOUT	no answer in time, see struct dk_nl_options
 *
 * or any other errno of the module or the socket.
 */
#ifndef _DISPATCHKEY_NL_H
#define _DISPATCHKEY_NL_H

#include <dispatchkey-base.h>
#include <linux/dispatchkey_netlink.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dk_nl;
struct dk_nl_monitor;

/* ---- handles and errors --------------------------------------------------- */

/**
 * struct dk_nl_options - options of a handle or monitor
 * @size: sizeof(struct dk_nl_options), set by the caller
 * @retries: how often a list is requested again if it changed while it was
 *	read; 0 for 16
 * @timeout_ms: how long to wait for an answer, in milliseconds; 0 for no
 *	limit. The kernel runs a request while the library sends it, and makes the
 *	parts of a list while the library receives them. The limit does not shorten
 *	that, such as the wait for running calls in dk_nl_device_set_online()
 * @buffer: size of a monitor's receive buffer in bytes; 0 for 1 MiB, or what
 *	the kernel allows
 * @layout: name of the layout that the caller uses for keys and keysets, such
 *	as DK_LAYOUT_NAME; opening fails if the registry has another layout. NULL
 *	to skip the check
 */
struct dk_nl_options {
	__u32 size;
	__u32 retries;
	__u32 timeout_ms;
	__u32 buffer;
	const char *layout;
};

/**
 * struct dk_nl_error - the result of a request
 * @size: sizeof(struct dk_nl_error), set by the caller, or by the library in
 *	structs that it returns. If the caller sets 0, the library sets the first
 *	published size
 * @code: the negative errno; 0 after success
 * @sentence: the whole error as one sentence without a full stop, such as:
 *	device "edu9": no such device
 * @message: the module's message, or empty; after success, a warning or empty
 * @attribute: name of the invalid attribute in the specification, such as
 *	obj.device-name for a nested one; empty if there is none
 * @value: the caller's value of that attribute
 * @missing: the attribute that the request lacks, or empty
 */
struct dk_nl_error {
	__u32 size;
	__s32 code;
	char sentence[512];
	char message[256];
	char attribute[64];
	char value[DK_NAME_MAX];
	char missing[64];
};

/**
 * dk_nl_open() - open a handle to the module
 * @options: options; NULL for the defaults
 * @nl: set to the handle, or to NULL on failure
 * @why: filled on failure; may be NULL. Set @why->size first
 *
 * Context: Any thread. The library starts no threads.
 * Return: 0; -ENOENT if the module is not loaded or has no family in this network
 * namespace; -EPROTO if the registry has another layout; -EINVAL (size); or an error that
 * every request can return.
 */
int dk_nl_open(const struct dk_nl_options *options, struct dk_nl **nl,
	       struct dk_nl_error *why);

/**
 * dk_nl_close() - close a handle
 * @nl: from dk_nl_open(), or NULL
 *
 * Answers that were requested with the handle stay valid.
 *
 * Context: Any.
 */
void dk_nl_close(struct dk_nl *nl);

/**
 * dk_nl_why() - the result of the last request
 * @nl: the handle
 *
 * Context: Any.
 * Return: The result, valid until the next request. Its @code is 0 after success.
 */
const struct dk_nl_error *dk_nl_why(const struct dk_nl *nl);

/**
 * dk_nl_strerror() - the result of the last request as a sentence
 * @nl: the handle
 *
 * Context: Any.
 * Return: The sentence, valid until the next request; empty after success.
 */
const char *dk_nl_strerror(const struct dk_nl *nl);

/**
 * dk_nl_free() - free an answer
 * @answer: the answer, for a list its first element; may be NULL
 *
 * Context: Any.
 */
void dk_nl_free(const void *answer);

/**
 * dk_nl_version() - the version of this library
 *
 * Context: Any.
 * Return: A constant string, such as "0.1.0".
 */
const char *dk_nl_version(void);

/**
 * enum dk_nl_words - the enums of the netlink specification
 * @DK_NL_WORDS_STATE: enum dk_nl_state
 * @DK_NL_WORDS_PROVIDER_STATE: enum dk_nl_provider_state
 * @DK_NL_WORDS_PROVENANCE: enum dk_nl_provenance
 * @DK_NL_WORDS_STEP_KIND: enum dk_nl_step_kind
 * @DK_NL_WORDS_VERDICT: enum dk_nl_verdict
 * @DK_NL_WORDS_BEARING: enum dk_nl_bearing
 * @DK_NL_WORDS_STAT_KIND: enum dk_nl_stat_kind
 * @DK_NL_WORDS_EVENT_KIND: enum dk_nl_event_kind
 * @DK_NL_WORDS_READERS: enum dk_nl_readers
 */
enum dk_nl_words {
	DK_NL_WORDS_STATE,
	DK_NL_WORDS_PROVIDER_STATE,
	DK_NL_WORDS_PROVENANCE,
	DK_NL_WORDS_STEP_KIND,
	DK_NL_WORDS_VERDICT,
	DK_NL_WORDS_BEARING,
	DK_NL_WORDS_STAT_KIND,
	DK_NL_WORDS_EVENT_KIND,
	DK_NL_WORDS_READERS,
};

/**
 * dk_nl_word() - the specification's name of an enum value
 * @of: the enum
 * @value: the value
 *
 * Context: Any.
 * Return: A constant string, such as "default-backend" or "op-added"; "unknown" for a
 * value unknown to this library.
 */
const char *dk_nl_word(enum dk_nl_words of, __u32 value);

/* ---- the module and its layout -------------------------------------------- */

/**
 * struct dk_nl_info - the module and its registry
 * @size: size of the struct
 * @abi: DK_ABI_VERSION of the module
 * @operators: number of operators that are defined or have functions
 * @impls: number of functions of operators
 * @providers: number of providers
 * @devices: number of devices
 * @counters: whether calls are counted, of enum dk_nl_state
 * @reserved: zero
 * @generation: increases with every change of the registry
 * @version: version of the module, such as "0.1.0"
 * @layout: name of the layout of keys and keysets
 */
struct dk_nl_info {
	__u32 size;
	__u32 abi;
	__u32 operators;
	__u32 impls;
	__u32 providers;
	__u32 devices;
	__u32 counters;
	__u32 reserved;
	__u64 generation;
	const char *version;
	const char *layout;
};

/**
 * dk_nl_info_get() - get information on the module and its registry
 * @nl: the handle
 * @info: set to the answer; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_info_get(struct dk_nl *nl, const struct dk_nl_info **info);

/**
 * struct dk_nl_layout_key - a backend, functionality or alias of the layout
 * @size: size of the struct
 * @number: for a backend, the position of its bit in a keyset, plus 1;
 *	otherwise the number of the key
 * @slot: for a functionality, its first table entry
 * @is_per_backend: for a functionality, whether it has a table entry for each
 *	backend
 * @name: the layout's name for it
 * @next: the next element, or NULL
 */
struct dk_nl_layout_key {
	__u32 size;
	__u32 number;
	__u32 slot;
	__u32 is_per_backend;
	const char *name;
	const struct dk_nl_layout_key *next;
};

/**
 * struct dk_nl_layout - the layout of all keys and keysets
 * @size: size of the struct
 * @entries: number of entries of an operator's table
 * @num_backends: number of backends
 * @num_functionalities: number of functionalities
 * @num_aliases: number of alias keys
 * @reserved: zero
 * @name: name of the layout
 * @backends: the backends, lowest bit first
 * @functionalities: the functionalities, lowest priority first
 * @aliases: the alias keys
 */
struct dk_nl_layout {
	__u32 size;
	__u32 entries;
	__u32 num_backends;
	__u32 num_functionalities;
	__u32 num_aliases;
	__u32 reserved;
	const char *name;
	const struct dk_nl_layout_key *backends;
	const struct dk_nl_layout_key *functionalities;
	const struct dk_nl_layout_key *aliases;
};

/**
 * dk_nl_layout_get() - get the layout
 * @nl: the handle
 * @layout: set to the answer; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_layout_get(struct dk_nl *nl, const struct dk_nl_layout **layout);

/* ---- backends and devices ------------------------------------------------- */

/**
 * struct dk_nl_backend - a backend
 * @size: size of the struct
 * @number: its number; bit @number - 1 of a keyset
 * @state: of enum dk_nl_state
 * @is_bound: whether it is a private backend that is bound to a name
 * @is_alone: whether a provider joined it with DK_JOIN_ALONE
 * @reserved: zero
 * @devices: number of its registered devices
 * @impls: number of functions registered at its keys
 * @num_providers: number of names at @providers
 * @joined: number of providers that have joined it; may exceed @num_providers
 * @name: its displayed name, such as "edu" or "CPU"
 * @key_name: the layout's name for it, such as "PrivateUse1"
 * @providers: names of providers that have joined it, at most 16
 * @next: the next element, or NULL
 */
struct dk_nl_backend {
	__u32 size;
	__u32 number;
	__u32 state;
	__u8 is_bound;
	__u8 is_alone;
	__u8 reserved[2];
	__u32 devices;
	__u32 impls;
	__u32 num_providers;
	__u32 joined;
	const char *name;
	const char *key_name;
	const char *const *providers;
	const struct dk_nl_backend *next;
};

/**
 * dk_nl_backend_get() - get one backend
 * @nl: the handle
 * @number: its number, or 0 to use @name
 * @name: its name, or NULL to use @number
 * @backend: set to the answer; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_backend_get(struct dk_nl *nl, __u32 number, const char *name,
		      const struct dk_nl_backend **backend);

/**
 * dk_nl_backends() - get all backends
 * @nl: the handle
 * @backends: set to the list; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_backends(struct dk_nl *nl, const struct dk_nl_backend **backends);

/**
 * struct dk_nl_switched - a backend or device after a change of its state
 * @size: size of the struct
 * @number: its number
 * @state: its state, of enum dk_nl_state
 * @reserved: zero
 * @name: its name
 * @unserved: one of the operators that have no function left for the objects of the
 *	backend or device, and the key, as text: "aten::add at edu"; or empty
 * @inside: a call that is still running, as text: operator, function, device, task, and the
 *	minimum time for which it has been running; or empty
 */
struct dk_nl_switched {
	__u32 size;
	__u32 number;
	__u32 state;
	__u32 reserved;
	const char *name;
	const char *unserved;
	const char *inside;
};

/**
 * dk_nl_backend_set_online() - take a backend offline or bring it online
 * @nl: the handle
 * @number: its number, or 0 to use @name
 * @name: its name, or NULL to use @number
 * @online: 0 for offline, 1 for online
 * @switched: set to the answer; free it with dk_nl_free(); may be NULL
 *
 * While a backend is offline, no function at its keys is called. After this function
 * returns 0 for @online 0, no call is running in the functions at its keys. See
 * dk_backend_set_online().
 *
 * Context: Waits for the module, which waits up to a second for running calls.
 * Return:
 * * 0: success
 * * -EINPROGRESS: the backend is offline, and the call in @switched is still running;
 *   repeat the request to continue waiting
 * * -ECANCELED: another request brought the backend online during the wait
 * * an error that every request can return
 */
int dk_nl_backend_set_online(struct dk_nl *nl, __u32 number, const char *name,
			     int online, const struct dk_nl_switched **switched);

/**
 * dk_nl_backend_release() - release the name of a private backend
 * @nl: the handle
 * @name: the name that is bound to it
 *
 * The backend can then be bound to another name; see dk_backend_release().
 *
 * Context: Waits for the module.
 * Return: 0; -EBUSY: a provider or device uses the name; or an error that every request
 * can return.
 */
int dk_nl_backend_release(struct dk_nl *nl, const char *name);

/**
 * struct dk_nl_device - a device
 * @size: size of the struct
 * @number: its number; never reused
 * @state: the device's own state, of enum dk_nl_state. The device's functions are called
 *	only while both the device and its backend are online
 * @backend: number of its backend
 * @backend_state: state of its backend, of enum dk_nl_state
 * @impls: number of functions that it was registered with
 * @name: its name
 * @backend_name: name of its backend
 * @provider: name of the provider that registered it
 * @next: the next element, or NULL
 */
struct dk_nl_device {
	__u32 size;
	__u32 number;
	__u32 state;
	__u32 backend;
	__u32 backend_state;
	__u32 impls;
	const char *name;
	const char *backend_name;
	const char *provider;
	const struct dk_nl_device *next;
};

/**
 * dk_nl_device_get() - get one device
 * @nl: the handle
 * @number: its number, or 0 to use @name
 * @name: its name, or NULL to use @number
 * @device: set to the answer; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_device_get(struct dk_nl *nl, __u32 number, const char *name,
		     const struct dk_nl_device **device);

/**
 * dk_nl_devices() - get all devices
 * @nl: the handle
 * @backend: number of the backend whose devices to list, 0 for all
 * @devices: set to the list; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_devices(struct dk_nl *nl, __u32 backend, const struct dk_nl_device **devices);

/**
 * dk_nl_device_set_online() - take a device offline or bring it online
 * @nl: the handle
 * @number: its number, or 0 to use @name
 * @name: its name, or NULL to use @number
 * @online: 0 for offline, 1 for online
 * @switched: set to the answer; free it with dk_nl_free(); may be NULL
 *
 * While a device is offline, its functions are not called. After this function returns 0
 * for @online 0, no call is running in the device's functions. See
 * dk_device_set_online().
 *
 * Context: Waits for the module, which waits up to a second for running calls.
 * Return:
 * * 0: success
 * * -EINPROGRESS: the device is offline, and the call in @switched is still running;
 *   repeat the request to continue waiting
 * * -ECANCELED: another request brought the device online during the wait
 * * an error that every request can return
 */
int dk_nl_device_set_online(struct dk_nl *nl, __u32 number, const char *name,
			    int online, const struct dk_nl_switched **switched);

/* ---- providers, operators and their functions ----------------------------- */

/**
 * struct dk_nl_provider - a provider
 * @size: size of the struct
 * @state: of enum dk_nl_provider_state
 * @operators: number of operators that the provider defines
 * @impls: number of functions that the provider has registered
 * @devices: number of devices that the provider has registered
 * @num_backends: number of backends that the provider has joined
 * @has_calls: whether @calls is valid; 0 if calls are not counted or the user
 *	may not read the counters
 * @num_inside: number of texts at @inside
 * @calls: number of calls of its functions
 * @name: its name, which need not be unique
 * @module: name of its kernel module, or empty
 * @backends: names of the backends that the provider has joined
 * @inside: while it is unregistering, calls that are still running, at most 8, such as "ns::op
 *	function@device task[17] 1500 ms" for a call that has been running for at least 1500 ms.
 *	Only administrators get these texts
 * @next: the next element, or NULL
 */
struct dk_nl_provider {
	__u32 size;
	__u32 state;
	__u32 operators;
	__u32 impls;
	__u32 devices;
	__u32 num_backends;
	__u32 has_calls;
	__u32 num_inside;
	__u64 calls;
	const char *name;
	const char *module;
	const char *const *backends;
	const char *const *inside;
	const struct dk_nl_provider *next;
};

/**
 * dk_nl_provider_get() - get one provider
 * @nl: the handle
 * @name: its name. If several providers have the name, the oldest is returned
 * @provider: set to the answer; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_provider_get(struct dk_nl *nl, const char *name,
		       const struct dk_nl_provider **provider);

/**
 * dk_nl_providers() - get all providers, oldest first
 * @nl: the handle
 * @providers: set to the list; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_providers(struct dk_nl *nl, const struct dk_nl_provider **providers);

/**
 * struct dk_nl_impl - a registered function
 * @size: size of the struct
 * @key: the key that it is registered at: a runtime key, building block or
 *	alias key
 * @flags: of enum dk_nl_impl_flags; in a step of an explanation, at most
 *	DK_NL_IMPL_FALLTHROUGH
 * @device: number of the device that it belongs to, or 0
 * @op: the operator; empty for a backend fallback
 * @key_name: name of the key with the bound name of its backend, such as
 *	"Autogradedu"
 * @label: label of the function
 * @provider: name of the provider that registered it; empty for a builtin
 *	fallback (DK_REGISTRY_BUILTINS)
 * @device_name: name of that device, or empty
 * @next: the next element, or NULL
 */
struct dk_nl_impl {
	__u32 size;
	__u32 key;
	__u32 flags;
	__u32 device;
	const char *op;
	const char *key_name;
	const char *label;
	const char *provider;
	const char *device_name;
	const struct dk_nl_impl *next;
};

/**
 * struct dk_nl_op - an operator
 * @size: size of the struct
 * @flags: of enum dk_nl_op_flags
 * @num_impls: number of functions registered for it, including those of
 *	devices
 * @num_device_impls: number of those that belong to devices
 * @max_objs: maximum number of objects that a call dispatches on; 0 if
 *	unknown, unlimited because of a list, or above 254
 * @reserved: zero
 * @name: its name
 * @schema: its schema, or empty
 * @provider: name of the provider that defines it; empty if it is not defined
 * @impls: all of its functions by key, newest first, in the answer of
 *	dk_nl_op_get(); NULL in the answer of dk_nl_ops()
 * @next: the next element, or NULL
 */
struct dk_nl_op {
	__u32 size;
	__u32 flags;
	__u32 num_impls;
	__u32 num_device_impls;
	__u32 max_objs;
	__u32 reserved;
	const char *name;
	const char *schema;
	const char *provider;
	const struct dk_nl_impl *impls;
	const struct dk_nl_op *next;
};

/**
 * dk_nl_op_get() - get one operator with its functions
 * @nl: the handle
 * @name: its name
 * @op: set to the answer; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_op_get(struct dk_nl *nl, const char *name, const struct dk_nl_op **op);

/**
 * struct dk_nl_op_filter - selects operators
 * @size: sizeof(struct dk_nl_op_filter), set by the caller
 * @has_key: whether to use @key
 * @key: select operators with a function at exactly this key, which may be an alias
 *	key
 * @backend: select operators with a function at a key of this backend, or of one of
 *	its devices; 0 for any
 * @prefix: select operators whose name begins with this text; NULL for any
 * @provider: select operators that this provider defines or has functions for; NULL
 *	for any
 *
 * If several of @key, @backend and @provider are given, one and the same function must
 * match all of them, and the provider that defines the operator is ignored.
 */
struct dk_nl_op_filter {
	__u32 size;
	__u32 has_key;
	__u32 key;
	__u32 backend;
	const char *prefix;
	const char *provider;
};

/**
 * dk_nl_ops() - get operators, sorted by name and without their functions
 * @nl: the handle
 * @filter: which operators; NULL for all
 * @ops: set to the list; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_ops(struct dk_nl *nl, const struct dk_nl_op_filter *filter,
	      const struct dk_nl_op **ops);

/**
 * dk_nl_impl_get() - get the active function at a given key
 * @nl: the handle
 * @op: the operator, or NULL for the backend fallback
 * @key: the key
 * @device: number of the device that the function belongs to, or 0
 * @impl: set to the answer; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_impl_get(struct dk_nl *nl, const char *op, __u32 key, __u32 device,
		   const struct dk_nl_impl **impl);

/**
 * struct dk_nl_impl_filter - selects functions
 * @size: sizeof(struct dk_nl_impl_filter), set by the caller
 * @has_key: whether to use @key
 * @key: select functions at exactly this key, which may be an alias key
 * @backend: select functions at a key of this backend, or of one of its devices; 0
 *	for any
 * @device: select functions of the device with this number; 0 for any
 * @reserved: zero
 * @op: select functions of this operator; NULL for any, and for backend fallbacks
 * @provider: select functions of this provider; NULL for any
 */
struct dk_nl_impl_filter {
	__u32 size;
	__u32 has_key;
	__u32 key;
	__u32 backend;
	__u32 device;
	__u32 reserved;
	const char *op;
	const char *provider;
};

/**
 * dk_nl_impls() - get functions, sorted by operator and key, newest first
 * @nl: the handle
 * @filter: which functions; NULL for all
 * @impls: set to the list; free it with dk_nl_free(). Backend fallbacks come
 *	last
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_impls(struct dk_nl *nl, const struct dk_nl_impl_filter *filter,
		const struct dk_nl_impl **impls);

/* ---- routes and explanations ---------------------------------------------- */

/**
 * struct dk_nl_run - consecutive table entries with the same function and rule
 * @size: size of the struct
 * @first: the first entry
 * @last: the last entry
 * @provenance: the rule, of enum dk_nl_provenance
 * @flags: flags of the function, of enum dk_nl_impl_flags
 * @device: number of the device that the function belongs to, or 0
 * @first_key: name of the key of the first entry
 * @last_key: name of the key of the last entry
 * @label: label of the function; empty if there is none
 * @provider: name of the provider that registered it; empty for a builtin
 *	fallback (DK_REGISTRY_BUILTINS)
 * @device_name: name of that device, or empty
 * @next: the next element, or NULL
 */
struct dk_nl_run {
	__u32 size;
	__u32 first;
	__u32 last;
	__u32 provenance;
	__u32 flags;
	__u32 device;
	const char *first_key;
	const char *last_key;
	const char *label;
	const char *provider;
	const char *device_name;
	const struct dk_nl_run *next;
};

/**
 * dk_nl_table_get() - get the computed table of an operator
 * @nl: the handle
 * @op: the operator
 * @device: number of the device whose table to get, or 0
 * @device_name: the device's name, or NULL to use @device; if both are given, they
 *	must belong to the same device
 * @runs: set to the list, sorted by entry; free it with dk_nl_free(). Entries without
 *	a function are omitted
 *
 * Without a device, gets the table for objects that are on no device.
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_table_get(struct dk_nl *nl, const char *op, __u32 device,
		    const char *device_name, const struct dk_nl_run **runs);

/**
 * dk_nl_table_entry_get() - get the run that contains an entry
 * @nl: the handle
 * @op: the operator
 * @device: number of the device whose table has the entry, or 0
 * @device_name: the device's name, or NULL to use @device; if both are given, they
 *	must belong to the same device
 * @slot: the entry
 * @run: set to the answer, even for an entry without a function; free it with
 *	dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_table_entry_get(struct dk_nl *nl, const char *op, __u32 device,
			  const char *device_name, __u32 slot,
			  const struct dk_nl_run **run);

/**
 * struct dk_nl_obj - an argument that a call dispatches on
 * @ks: its keyset; if it is empty and a device is given, the Dense key of the
 *	device's backend is used
 * @device: number of the device that it is on, or 0
 * @reserved: zero
 * @device_name: the device's name, or NULL to use @device; if both are given, they
 *	must belong to the same device
 */
struct dk_nl_obj {
	struct dk_keyset ks;
	__u32 device;
	__u32 reserved;
	const char *device_name;
};

/**
 * struct dk_nl_call - a call to route or explain
 * @size: sizeof(struct dk_nl_call), set by the caller
 * @num_objs: number of elements at @objs, at most 64
 * @has_included: whether to use @included; otherwise the default is used
 * @has_excluded: whether to use @excluded; otherwise the default is used
 * @included: included set of the local state
 * @excluded: excluded set of the local state
 * @op: the operator
 * @objs: the arguments that the call dispatches on, in order
 */
struct dk_nl_call {
	__u32 size;
	__u32 num_objs;
	__u32 has_included;
	__u32 has_excluded;
	struct dk_keyset included;
	struct dk_keyset excluded;
	const char *op;
	const struct dk_nl_obj *objs;
};

/**
 * struct dk_nl_route - the route of a call
 * @size: size of the struct
 * @slot: the table entry
 * @key: the key of that entry
 * @error: the negative errno that the call would return, or 0
 * @provenance: the rule that filled the entry, of enum dk_nl_provenance
 * @flags: DK_NL_IMPL_FALLTHROUGH if the function is a fallthrough, or 0
 * @device: number of the device that the function belongs to, or 0
 * @reserved: zero
 * @included: included set of the local state
 * @excluded: excluded set of the local state
 * @raw: union of the keysets of the arguments
 * @merged: @raw with the local state applied
 * @effective: @merged without the keys that fall through
 * @generation: generation of the registry when the module answered
 * @op: the operator
 * @key_name: name of the key
 * @label: label of the function; empty if there is none
 * @provider: name of the provider that registered it; empty for a builtin
 *	fallback (DK_REGISTRY_BUILTINS)
 * @device_name: name of that device, or empty
 */
struct dk_nl_route {
	__u32 size;
	__u32 slot;
	__u32 key;
	__s32 error;
	__u32 provenance;
	__u32 flags;
	__u32 device;
	__u32 reserved;
	struct dk_keyset included;
	struct dk_keyset excluded;
	struct dk_keyset raw;
	struct dk_keyset merged;
	struct dk_keyset effective;
	__u64 generation;
	const char *op;
	const char *key_name;
	const char *label;
	const char *provider;
	const char *device_name;
};

/**
 * dk_nl_route_get() - get the route of a call
 * @nl: the handle
 * @call: the call
 * @route: set to the answer; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return. If the call would fail, the
 * result is still 0, and @error of the route has its errno.
 */
int dk_nl_route_get(struct dk_nl *nl, const struct dk_nl_call *call,
		    const struct dk_nl_route **route);

/**
 * struct dk_nl_step - one step of an explanation
 * @size: size of the struct
 * @kind: of enum dk_nl_step_kind
 * @rule: number of the rule; for a mask step (DK_NL_STEP_MASK: a fallthrough removes
 *	a key from the set), the rule that put the fallthrough into that key's entry
 * @verdict: for a rule step, of enum dk_nl_verdict
 * @bearing: for an impl step, of enum dk_nl_bearing
 * @key: for a mask step the key removed, for a rule step the key of the rule,
 *	for an impl step the key of the registration
 * @is_fallback: whether @impl is a backend fallback
 * @reserved: zero
 * @key_name: name of the key
 * @impl: the registration that the step is about, or NULL
 * @next: the next element, or NULL
 * @generation: generation of the registry when the module answered
 */
struct dk_nl_step {
	__u32 size;
	__u32 kind;
	__u32 rule;
	__u32 verdict;
	__u32 bearing;
	__u32 key;
	__u32 is_fallback;
	__u32 reserved;
	const char *key_name;
	const struct dk_nl_impl *impl;
	const struct dk_nl_step *next;
	__u64 generation;
};

/**
 * dk_nl_explain() - get the route of a call with an explanation
 * @nl: the handle
 * @call: the call
 * @route: set to the route; free it with dk_nl_free()
 * @steps: set to the explanation: the keys that the mask removed, the result
 *	of each rule, and the effect of each registration; free it with
 *	dk_nl_free()
 *
 * Both answers describe the registry at the same moment.
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return. If the call would fail, the
 * result is still 0, and @error of the route has its errno.
 */
int dk_nl_explain(struct dk_nl *nl, const struct dk_nl_call *call,
		  const struct dk_nl_route **route, const struct dk_nl_step **steps);

/* ---- counters ------------------------------------------------------------- */

/**
 * struct dk_nl_stats - the state of the counters
 * @size: size of the struct
 * @state: whether calls are counted, of enum dk_nl_state
 * @count: number of all counted calls
 * @uncounted: number of calls without a counter, as in struct dk_stats
 * @gone: number of calls in @count whose counters no longer exist, because their
 *	functions or operators were removed
 * @readers: the users that may read the counters, of enum dk_nl_readers
 * @has_count: whether @count, @uncounted and @gone are valid; 0 if calls are not
 *	counted, the user may not read the counters, or the counters were reset
 *	repeatedly while the module computed the sum
 */
struct dk_nl_stats {
	__u32 size;
	__u32 state;
	__u64 count;
	__u64 uncounted;
	__u64 gone;
	__u32 readers;
	__u32 has_count;
};

/**
 * dk_nl_stats_get() - get the state of the counters
 * @nl: the handle
 * @stats: set to the answer; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_stats_get(struct dk_nl *nl, const struct dk_nl_stats **stats);

/**
 * dk_nl_stats_enable() - enable or disable the counters
 * @nl: the handle
 * @on: 1 to enable; 0 to disable and free their memory
 *
 * Context: Waits for the module.
 * Return: 0; -ENOMEM: no memory for the counters, which stay disabled; or an error that
 * every request can return.
 */
int dk_nl_stats_enable(struct dk_nl *nl, int on);

/**
 * dk_nl_stats_reset() - set the counters to zero
 * @nl: the handle
 *
 * Context: Waits for the module.
 * Return: 0; -ENODATA: calls are not counted; or an error that every request can return.
 */
int dk_nl_stats_reset(struct dk_nl *nl);

/**
 * dk_nl_stats_set_readers() - set which users may read the counters
 * @nl: the handle
 * @readers: of enum dk_nl_readers; stays set until the module is unloaded, even
 *	while counters are disabled
 *
 * If only administrators may read the counters, a user without CAP_NET_ADMIN gets no
 * numbers: @has_count of dk_nl_stats_get() and @has_calls of dk_nl_provider_get() are 0.
 * For such a user, dk_nl_counters() fails with -EPERM.
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_stats_set_readers(struct dk_nl *nl, __u32 readers);

/**
 * struct dk_nl_counter - the number of calls to an operator that one function served
 * @size: size of the struct
 * @kind: of enum dk_nl_stat_kind
 * @key: the key that the function is registered at
 * @device: number of the device that the function belongs to, or 0
 * @has_count: whether @count is valid; 0 if there was no memory for it
 * @reserved: zero
 * @count: number of calls
 * @op: the operator
 * @key_name: name of the key
 * @label: label of the function
 * @provider: name of the provider that registered it; empty for a builtin
 *	fallback (DK_REGISTRY_BUILTINS)
 * @device_name: name of that device, or empty
 * @next: the next element, or NULL
 */
struct dk_nl_counter {
	__u32 size;
	__u32 kind;
	__u32 key;
	__u32 device;
	__u32 has_count;
	__u32 reserved;
	__u64 count;
	const char *op;
	const char *key_name;
	const char *label;
	const char *provider;
	const char *device_name;
	const struct dk_nl_counter *next;
};

/**
 * struct dk_nl_counter_filter - selects counters
 * @size: sizeof(struct dk_nl_counter_filter), set by the caller
 * @used: select only counters that are not zero
 * @op: select counters of this operator; NULL for any
 * @provider: select counters of this provider's functions; NULL for any
 */
struct dk_nl_counter_filter {
	__u32 size;
	__u32 used;
	const char *op;
	const char *provider;
};

/**
 * dk_nl_counters() - get the counters
 * @nl: the handle
 * @filter: which counters; NULL for all
 * @counters: set to the list, which is empty while calls are not counted; free it
 *	with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0; -EPERM: only administrators may read them, see dk_nl_stats_set_readers(); or
 * an error that every request can return.
 */
int dk_nl_counters(struct dk_nl *nl, const struct dk_nl_counter_filter *filter,
		   const struct dk_nl_counter **counters);

/* ---- limits --------------------------------------------------------------- */

/**
 * struct dk_nl_limit - a limit of the registry
 * @size: size of the struct
 * @has_used: whether @used is valid
 * @most: the limit
 * @used: how much of it is in use
 * @name: name of the limit, such as "private-backends"
 * @next: the next element, or NULL
 */
struct dk_nl_limit {
	__u32 size;
	__u32 has_used;
	__u64 most;
	__u64 used;
	const char *name;
	const struct dk_nl_limit *next;
};

/**
 * dk_nl_limit_get() - get one limit
 * @nl: the handle
 * @name: its name
 * @limit: set to the answer; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_limit_get(struct dk_nl *nl, const char *name, const struct dk_nl_limit **limit);

/**
 * dk_nl_limits() - get all limits
 * @nl: the handle
 * @limits: set to the list; free it with dk_nl_free()
 *
 * Context: Waits for the module.
 * Return: 0, or an error that every request can return.
 */
int dk_nl_limits(struct dk_nl *nl, const struct dk_nl_limit **limits);

/* ---- events --------------------------------------------------------------- */

/**
 * struct dk_nl_event - a change of the registry
 * @size: sizeof(struct dk_nl_event), set by the caller
 * @kind: of enum dk_nl_event_kind
 * @number: number of the backend or device; for a function, number of the device that it
 *	belongs to; or 0
 * @key: the key of the function
 * @has_key: whether @key is valid; 0 if the event is not about functions, or is about
 *	several functions at different keys
 * @state: of enum dk_nl_state
 * @count: number of changes that this event reports, all of this kind and to the same
 *	object; for DK_NL_EVENT_LOST the number of lost events, 0 if unknown
 * @reserved: zero
 * @time: time of the last of these changes, in nanoseconds of CLOCK_REALTIME; 0 if
 *	unknown
 * @generation: generation of the registry after the last of these changes; 0 if unknown. For
 *	DK_NL_EVENT_LOST, the generation of the last lost event, which may be lower than
 *	that of an event that was read earlier
 * @name: name of the operator, backend, device or provider; empty for a backend
 *	fallback
 * @key_name: name of the key
 * @provider: name of the provider that made the change; empty if @name is the name of a
 *	provider, or if an administrator made the change
 */
struct dk_nl_event {
	__u32 size;
	__u32 kind;
	__u32 number;
	__u32 key;
	__u32 has_key;
	__u32 state;
	__u32 count;
	__u32 reserved;
	__u64 time;
	__u64 generation;
	char name[DK_NAME_MAX];
	char key_name[DK_NAME_MAX];
	char provider[DK_NAME_MAX];
};

/**
 * dk_nl_monitor_open() - open a monitor of changes
 * @options: options; NULL for the defaults
 * @monitor: set to the monitor, or to NULL on failure
 * @why: filled on failure; may be NULL. Set @why->size first
 *
 * To keep a copy of the state up to date, open a monitor, call dk_nl_info_get(), get the
 * state, then read events. Skip events whose generation is not above that of
 * dk_nl_info_get(): the state already includes their changes. If a later event reports
 * several changes (@count), the state may include some of them. Do not skip
 * DK_NL_EVENT_LOST.
 *
 * Context: Any thread. The library starts no threads.
 * Return: As dk_nl_open().
 */
int dk_nl_monitor_open(const struct dk_nl_options *options,
		       struct dk_nl_monitor **monitor, struct dk_nl_error *why);

/**
 * dk_nl_monitor_close() - close a monitor
 * @monitor: from dk_nl_monitor_open(), or NULL
 *
 * Context: Any.
 */
void dk_nl_monitor_close(struct dk_nl_monitor *monitor);

/**
 * dk_nl_monitor_fd() - the file descriptor to poll for events
 * @monitor: the monitor
 *
 * After poll() returns, call dk_nl_monitor_next() with a timeout of 0 until it returns 0.
 * The library may already have received further events, which poll() does not report.
 *
 * Context: Any.
 * Return: A file descriptor that is readable when there are events. Do not read or
 * close it.
 */
int dk_nl_monitor_fd(const struct dk_nl_monitor *monitor);

/**
 * dk_nl_monitor_next() - get the next event
 * @monitor: the monitor
 * @timeout_ms: how long to wait, in milliseconds; 0 for not at all, -1 for no
 *	limit
 * @event: filled with the event; set @event->size first
 *
 * DK_NL_EVENT_LOST reports that events were lost, so get the state again. If @count of
 * the event is not 0, the module lost them, and the events that follow can be read. If it
 * is 0, this socket was read too slowly. Call dk_nl_monitor_drain() before you get the
 * state; otherwise further events may be lost that nothing reports.
 *
 * Context: Waits for an event.
 * Return:
 * * 1: @event is filled
 * * 0: timeout
 * * -ENODEV: the module was unloaded
 * * -EINVAL: @event->size is not supported
 * * -EBADMSG: an event was malformed and is skipped
 * * -EINTR, or another errno of the socket
 */
int dk_nl_monitor_next(struct dk_nl_monitor *monitor, int timeout_ms,
		       struct dk_nl_event *event);

/**
 * dk_nl_monitor_drain() - discard the events that are queued
 * @monitor: the monitor
 *
 * Call it after DK_NL_EVENT_LOST with a @count of 0, before you get the state again. The
 * new state includes the changes that the discarded events reported.
 *
 * Context: Waits for the kernel, but not for events.
 * Return: 0; -ENODEV if the module was unloaded, even if the message about that was lost;
 * or an errno of the socket.
 */
int dk_nl_monitor_drain(struct dk_nl_monitor *monitor);

/**
 * dk_nl_monitor_why() - the result of a monitor's last call
 * @monitor: the monitor
 *
 * Context: Any.
 * Return: The result, valid until the next call. Its @code is 0 after success.
 */
const struct dk_nl_error *dk_nl_monitor_why(const struct dk_nl_monitor *monitor);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_NL_H */
