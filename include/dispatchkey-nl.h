/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * See and steer the default registry of dispatchkey.ko from userspace, over
 * generic netlink: libdispatchkey-nl. <dispatchkey.h> does not include this,
 * and libdispatchkey does not need libnl.
 *
 * A handle is opened, asked, and closed. It is used by one thread at a time.
 *
 * What an answer says is in structs that the library allocates. One that there
 * may be several of has a pointer to the next. The first of an answer is given
 * to dk_nl_free(), which frees all of the answer, its strings included; an empty
 * list is NULL.
 *
 * Structs grow at their end. One that the caller allocates says in its first
 * member how long it is for the caller, one that the library allocates how long
 * it is for the library.
 *
 * Attributes that this library does not know are passed by. Where an older
 * module does not send one, a number is 0, a flag is not set, a string is empty
 * and a state is DK_NL_STATE_ONLINE, or DK_NL_STATE_OFFLINE of the counters. No
 * string of an answer is NULL, and a control character in it is a '?'.
 *
 * Errors are negative errno, and dk_nl_why() says them in words. Each function
 * that asks the module returns, beside what stands there,
 *
 *   -ENOENT	the module is not loaded, or has no family in this network
 *		namespace; or what was asked for is not there
 *   -EPERM	a change without CAP_NET_ADMIN in the first user namespace
 *   -EOPNOTSUPP	a module that is older than the request
 *   -EINVAL	a request that the module does not take: a name that is too long,
 *		a number or a struct's size out of range
 *   -EAGAIN	the registry changed whenever it was read, see
 *		struct dk_nl_options
 *   -EBADMSG	an answer that is not well formed
 *   -ENOMEM	no memory, here or there
 *   -ETIMEDOUT	no answer in time, see struct dk_nl_options
 *
 * and any other errno of the module or of a socket.
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
 * struct dk_nl_options - how to talk to the module
 * @size: sizeof(struct dk_nl_options), set by the caller
 * @retries: how often a list is asked for again that changed while it was read;
 *	0 for 16
 * @timeout_ms: how long to wait for an answer; 0 for as long as it takes
 * @buffer: bytes of the receive buffer of a monitor; 0 for 1 MiB, or what the
 *	kernel allows
 * @layout: name of the layout by which the caller counts keys and keysets, such
 *	as DK_LAYOUT_NAME: where the registry has another one, it is not opened.
 *	NULL does not ask.
 */
struct dk_nl_options {
	__u32 size;
	__u32 retries;
	__u32 timeout_ms;
	__u32 buffer;
	const char *layout;
};

/**
 * struct dk_nl_error - why a request was refused
 * @size: sizeof(struct dk_nl_error), set by the caller, or by the library where
 *	it gives one out
 * @code: the negative errno; 0 after success
 * @sentence: all of it in one sentence without a full stop, such as
 *	device "edu9": no such device
 * @message: what the module said; empty if it said nothing. After success it is
 *	a warning.
 * @attribute: the attribute at fault, as the specification names it, one inside
 *	of another as obj.device-name; empty if none is
 * @value: what the caller gave for that attribute
 * @missing: the attribute that the request lacks; empty if it lacks none
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
 * dk_nl_open() - begin to talk to the module
 * @options: how; NULL for the defaults
 * @nl: takes the handle
 * @why: filled on failure; may be NULL. Set @why->size before.
 *
 * Context: Any thread; nothing is read or sent by other threads.
 * Return: 0; -ENOENT if the module is not loaded or has no family in this
 * network namespace; -EPROTO if the registry has another layout; -EINVAL
 * (size); or as said above.
 */
int dk_nl_open(const struct dk_nl_options *options, struct dk_nl **nl,
	       struct dk_nl_error *why);

/**
 * dk_nl_close() - give a handle back
 * @nl: from dk_nl_open(); may be NULL
 *
 * Answers that were got with it stay.
 *
 * Context: Any.
 */
void dk_nl_close(struct dk_nl *nl);

/**
 * dk_nl_why() - what the last request was answered with
 * @nl: the handle
 *
 * Context: Any.
 * Return: The error, valid until the next request. Its code is 0 if the request
 * succeeded.
 */
const struct dk_nl_error *dk_nl_why(const struct dk_nl *nl);

/**
 * dk_nl_strerror() - the same as one sentence
 * @nl: the handle
 *
 * Context: Any.
 * Return: The sentence, valid until the next request; empty if it succeeded.
 */
const char *dk_nl_strerror(const struct dk_nl *nl);

/**
 * dk_nl_free() - give an answer back
 * @answer: what a function below gave; the first of a list; may be NULL
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
 * enum dk_nl_words - the enums of the specification
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
 * dk_nl_word() - what the specification calls a value
 * @of: of which enum
 * @value: the value
 *
 * Context: Any.
 * Return: A constant string, such as "default-backend" or "op-came"; "unknown"
 * for a value that this library does not know.
 */
const char *dk_nl_word(enum dk_nl_words of, __u32 value);

/* ---- the module and its layout -------------------------------------------- */

/**
 * struct dk_nl_info - the module and its registry
 * @size: length of the struct
 * @abi: DK_ABI_VERSION of the module
 * @operators: how many are defined or have functions
 * @impls: how many functions of operators are registered
 * @providers: how many there are
 * @devices: how many there are
 * @counters: whether calls are counted, of enum dk_nl_state
 * @reserved: zero
 * @generation: grows with every change of the registry
 * @version: of the module, such as "0.1.0"
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
 * dk_nl_info_get() - ask for the module and its registry
 * @nl: the handle
 * @info: takes the answer, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_info_get(struct dk_nl *nl, const struct dk_nl_info **info);

/**
 * struct dk_nl_layout_key - a backend, functionality or alias of the layout
 * @size: length of the struct
 * @number: of a backend, so that bit @number - 1 of a keyset is its; of another
 *	one, the number of its key
 * @slot: first table entry, of a functionality
 * @is_per_backend: whether it has one table entry a backend, of a functionality
 * @name: the layout's name
 * @next: the next of the list, or NULL
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
 * @size: length of the struct
 * @entries: of an operator's table
 * @num_backends: how many
 * @num_functionalities: how many
 * @num_aliases: how many
 * @reserved: zero
 * @name: of the layout
 * @backends: lowest bit first
 * @functionalities: lowest priority first
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
 * dk_nl_layout_get() - ask for the layout
 * @nl: the handle
 * @layout: takes the answer, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_layout_get(struct dk_nl *nl, const struct dk_nl_layout **layout);

/* ---- backends and devices ------------------------------------------------- */

/**
 * struct dk_nl_backend - a backend
 * @size: length of the struct
 * @number: bit @number - 1 of a keyset is its
 * @state: of enum dk_nl_state
 * @is_bound: whether it is a private backend that is bound to a name
 * @is_alone: whether one provider has it alone
 * @reserved: zero
 * @devices: how many are registered below it
 * @impls: how many functions are registered at its keys
 * @num_providers: how many names @providers has
 * @joined: how many providers have joined it, which may be more
 * @name: the name that people know it by, such as "edu" or "CPU"
 * @key_name: the layout's name for it, such as "PrivateUse1"
 * @providers: names of providers that have joined it, as many as a message holds
 * @next: the next of the list, or NULL
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
 * dk_nl_backend_get() - ask for one backend
 * @nl: the handle
 * @number: its number, or 0 to go by name
 * @name: its name, or NULL to go by number
 * @backend: takes the answer, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_backend_get(struct dk_nl *nl, __u32 number, const char *name,
		      const struct dk_nl_backend **backend);

/**
 * dk_nl_backends() - ask for all backends
 * @nl: the handle
 * @backends: takes the list, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_backends(struct dk_nl *nl, const struct dk_nl_backend **backends);

/**
 * struct dk_nl_switched - a backend or device that was switched
 * @size: length of the struct
 * @number: its number
 * @state: of enum dk_nl_state; not what was asked for where somebody else has
 *	switched it while calls were waited for
 * @reserved: zero
 * @name: its name
 * @unserved: an operator that nothing serves any more for its objects; empty if
 *	there is none
 * @inside: a call that was inside of it and has not returned: its operator,
 *	function and task, and for how long it is known to be there; empty if there is
 *	none
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
 * dk_nl_backend_set_online() - take a backend offline or online again
 * @nl: the handle
 * @number: its number, or 0 to go by name
 * @name: its name, or NULL to go by number
 * @online: 0 offline, 1 online
 * @switched: takes the answer, for dk_nl_free(); may be NULL
 *
 * Offline, whatever is registered at its keys is as if absent, and calls that
 * were inside have returned when this returns 0.
 *
 * Context: May wait for the module, and a second for calls inside.
 * Return: 0; -EINPROGRESS: it is offline, and a call has not returned yet, which
 * @switched reports: ask again to go on waiting; -ECANCELED: another request brought
 * it online before the calls had returned; or as said at the top of the header.
 */
int dk_nl_backend_set_online(struct dk_nl *nl, __u32 number, const char *name,
			     int online, const struct dk_nl_switched **switched);

/**
 * dk_nl_backend_release() - release the name of a private backend
 * @nl: the handle
 * @name: the name that is bound to it
 *
 * The next name that is joined may then get the backend; see
 * dk_backend_release().
 *
 * Context: May wait for the module.
 * Return: 0; -EBUSY: a provider or a device uses the name; or as said at the top
 * of the header.
 */
int dk_nl_backend_release(struct dk_nl *nl, const char *name);

/**
 * struct dk_nl_device - a device
 * @size: length of the struct
 * @number: never used again for another device
 * @state: its own, of enum dk_nl_state; it does not serve either while its
 *	backend is offline
 * @backend: number of its backend
 * @backend_state: of enum dk_nl_state
 * @impls: how many functions it was registered with
 * @name: its name
 * @backend_name: name of its backend
 * @provider: who registered it
 * @next: the next of the list, or NULL
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
 * dk_nl_device_get() - ask for one device
 * @nl: the handle
 * @number: its number, or 0 to go by name
 * @name: its name, or NULL to go by number
 * @device: takes the answer, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_device_get(struct dk_nl *nl, __u32 number, const char *name,
		     const struct dk_nl_device **device);

/**
 * dk_nl_devices() - ask for all devices
 * @nl: the handle
 * @backend: number of the backend whose devices are asked for, 0 for all
 * @devices: takes the list, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_devices(struct dk_nl *nl, __u32 backend, const struct dk_nl_device **devices);

/**
 * dk_nl_device_set_online() - take a device offline or online again
 * @nl: the handle
 * @number: its number, or 0 to go by name
 * @name: its name, or NULL to go by number
 * @online: 0 offline, 1 online
 * @switched: takes the answer, for dk_nl_free(); may be NULL
 *
 * Offline, its functions are as if absent, and calls that were inside have
 * returned when this returns 0.
 *
 * Context: May wait for the module, and a second for calls inside.
 * Return: 0; -EINPROGRESS: it is offline, and a call has not returned yet, which
 * @switched reports: ask again to go on waiting; -ECANCELED: another request brought
 * it online before the calls had returned; or as said at the top of the header.
 */
int dk_nl_device_set_online(struct dk_nl *nl, __u32 number, const char *name,
			    int online, const struct dk_nl_switched **switched);

/* ---- providers, operators and their functions ----------------------------- */

/**
 * struct dk_nl_provider - who registers functions
 * @size: length of the struct
 * @state: of enum dk_nl_provider_state
 * @operators: how many it defines
 * @impls: how many functions it has registered
 * @devices: how many it has registered
 * @num_backends: how many backends it has joined
 * @has_calls: whether @calls is known; 0 if calls are not counted or the user
 *	may not read the counters
 * @reserved: zero
 * @calls: how many calls its functions served
 * @name: its name; several may have the same
 * @module: the module that it is of; empty if it is none's
 * @backends: names of the backends that it has joined
 * @next: the next of the list, or NULL
 */
struct dk_nl_provider {
	__u32 size;
	__u32 state;
	__u32 operators;
	__u32 impls;
	__u32 devices;
	__u32 num_backends;
	__u32 has_calls;
	__u32 reserved;
	__u64 calls;
	const char *name;
	const char *module;
	const char *const *backends;
	const struct dk_nl_provider *next;
};

/**
 * dk_nl_provider_get() - ask for one provider
 * @nl: the handle
 * @name: its name; of several of one name the first that came
 * @provider: takes the answer, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_provider_get(struct dk_nl *nl, const char *name,
		       const struct dk_nl_provider **provider);

/**
 * dk_nl_providers() - ask for all providers, in the order of their coming
 * @nl: the handle
 * @providers: takes the list, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_providers(struct dk_nl *nl, const struct dk_nl_provider **providers);

/**
 * struct dk_nl_impl - a registered function
 * @size: length of the struct
 * @key: where it is registered: a runtime key, a building block or an alias key
 * @flags: of enum dk_nl_impl_flags
 * @device: number of the device that it is of, or 0
 * @op: the operator; empty of a backend fallback
 * @key_name: the key as people know its backend, such as "Autogradedu"
 * @label: of the function
 * @provider: who registered it; empty if the registry was born with it
 * @device_name: name of that device, or empty
 * @next: the next of the list, or NULL
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
 * @size: length of the struct
 * @flags: of enum dk_nl_op_flags
 * @num_impls: how many functions are registered for it, those of devices, too
 * @num_device_impls: how many of them are of devices
 * @max_objs: how many objects a call dispatches on at most; 0 if that is not known, or if a
 *	list has any number of them
 * @name: its name
 * @schema: empty if it was defined without
 * @provider: who defines it; empty if nobody does
 * @impls: all of its functions by key, newest first, as dk_nl_op_get() reports them;
 *	NULL in a list of dk_nl_ops()
 * @next: the next of the list, or NULL
 */
struct dk_nl_op {
	__u32 size;
	__u32 flags;
	__u32 num_impls;
	__u32 num_device_impls;
	__u32 max_objs;
	const char *name;
	const char *schema;
	const char *provider;
	const struct dk_nl_impl *impls;
	const struct dk_nl_op *next;
};

/**
 * dk_nl_op_get() - ask for one operator with its functions
 * @nl: the handle
 * @name: its name
 * @op: takes the answer, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_op_get(struct dk_nl *nl, const char *name, const struct dk_nl_op **op);

/**
 * struct dk_nl_op_filter - which operators
 * @size: sizeof(struct dk_nl_op_filter), set by the caller
 * @has_key: whether @key is asked for
 * @key: with a function at exactly this key, which may be an alias key
 * @backend: with a function at a key of this backend, or of a device below it;
 *	0 for any
 * @prefix: whose name begins so; NULL for any
 * @provider: that this provider defines or has functions for; NULL for any
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
 * dk_nl_ops() - ask for operators, by name and without their functions
 * @nl: the handle
 * @filter: which; NULL for all
 * @ops: takes the list, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_ops(struct dk_nl *nl, const struct dk_nl_op_filter *filter,
	      const struct dk_nl_op **ops);

/**
 * dk_nl_impl_get() - ask for the active function at exactly a key
 * @nl: the handle
 * @op: the operator, or NULL for the backend fallback
 * @key: the key
 * @device: number of the device whose function it is, or 0
 * @impl: takes the answer, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_impl_get(struct dk_nl *nl, const char *op, __u32 key, __u32 device,
		   const struct dk_nl_impl **impl);

/**
 * struct dk_nl_impl_filter - which functions
 * @size: sizeof(struct dk_nl_impl_filter), set by the caller
 * @has_key: whether @key is asked for
 * @key: at exactly this key, which may be an alias key
 * @backend: at a key of this backend, or of a device below it; 0 for any
 * @device: number of the device that they are of; 0 for any
 * @reserved: zero
 * @op: of this operator; NULL for any, and backend fallbacks
 * @provider: of this provider; NULL for any
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
 * dk_nl_impls() - ask for functions, by operator, key and newest first
 * @nl: the handle
 * @filter: which; NULL for all
 * @impls: takes the list, for dk_nl_free(); the backend fallbacks come last
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_impls(struct dk_nl *nl, const struct dk_nl_impl_filter *filter,
		const struct dk_nl_impl **impls);

/* ---- where calls go, and why ---------------------------------------------- */

/**
 * struct dk_nl_run - entries of a table that one function serves by one rule
 * @size: length of the struct
 * @first: the first entry
 * @last: the last entry
 * @provenance: the rule, of enum dk_nl_provenance
 * @flags: of the function, of enum dk_nl_impl_flags
 * @device: number of the device that the function is of, or 0
 * @first_key: name of the key of the first entry
 * @last_key: name of the key of the last entry
 * @label: of the function; empty where none serves
 * @provider: who registered it; empty if the registry was born with it
 * @device_name: name of that device, or empty
 * @next: the next of the list, or NULL
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
 * dk_nl_table_get() - ask for the computed table of an operator
 * @nl: the handle
 * @op: the operator
 * @device: number of the device whose table is asked for, or 0
 * @device_name: the same by name, or NULL
 * @runs: takes the list, for dk_nl_free(), by rising entry; what nothing serves
 *	is left out
 *
 * Without a device it is the table of objects that live on none.
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_table_get(struct dk_nl *nl, const char *op, __u32 device,
		    const char *device_name, const struct dk_nl_run **runs);

/**
 * dk_nl_table_entry_get() - ask for the run that an entry is in
 * @nl: the handle
 * @op: the operator
 * @device: number of the device whose table is asked for, or 0
 * @device_name: the same by name, or NULL
 * @slot: the entry
 * @run: takes the answer, for dk_nl_free(), also of one that nothing serves
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_table_entry_get(struct dk_nl *nl, const char *op, __u32 device,
			  const char *device_name, __u32 slot,
			  const struct dk_nl_run **run);

/**
 * struct dk_nl_obj - an argument that a call dispatches on
 * @ks: its keyset; where it is empty and a device is given, the Dense key of the
 *	device's backend is meant
 * @device: number of the device that it lives on, or 0
 * @reserved: zero
 * @device_name: the same by name, or NULL
 */
struct dk_nl_obj {
	struct dk_keyset ks;
	__u32 device;
	__u32 reserved;
	const char *device_name;
};

/**
 * struct dk_nl_call - a call that is asked about
 * @size: sizeof(struct dk_nl_call), set by the caller
 * @num_objs: how many, at most 64
 * @has_included: whether @included is given; else it is the default's
 * @has_excluded: whether @excluded is given; else it is the default's
 * @included: included set of the local state
 * @excluded: excluded set of the local state
 * @op: the operator
 * @objs: the arguments that it dispatches on, in order
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
 * struct dk_nl_route - where a call goes
 * @size: length of the struct
 * @slot: the table entry
 * @key: the key of that entry
 * @error: what the call would be refused with, a negative errno; or 0
 * @provenance: the rule that filled the entry, of enum dk_nl_provenance
 * @flags: of the function, of enum dk_nl_impl_flags
 * @device: number of the device that the function is of, or 0
 * @reserved: zero
 * @included: included set of the local state
 * @excluded: excluded set of the local state
 * @raw: what the arguments carry
 * @merged: with the local state and before the fallthrough mask
 * @effective: after the fallthrough mask
 * @generation: of the registry that the answer is about
 * @op: the operator
 * @key_name: name of the key
 * @label: of the function that serves; empty where none does
 * @provider: who registered it; empty if the registry was born with it
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
 * dk_nl_route_get() - ask where a call goes
 * @nl: the handle
 * @call: the call
 * @route: takes the answer, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, also for a call that would be refused, see @error of the answer; or
 * as said at the top of the header.
 */
int dk_nl_route_get(struct dk_nl *nl, const struct dk_nl_call *call,
		    const struct dk_nl_route **route);

/**
 * struct dk_nl_step - one step of an explanation
 * @size: length of the struct
 * @kind: of enum dk_nl_step_kind
 * @rule: number of the rule; of a mask step, of the one that filled the entry
 * @verdict: of a rule step, of enum dk_nl_verdict
 * @bearing: of an impl step, of enum dk_nl_bearing
 * @key: of a mask step the key taken out, of a rule step the key that the rule
 *	goes by, of an impl step the key of the registration
 * @is_fallback: whether @impl is a backend fallback
 * @reserved: zero
 * @key_name: name of the key
 * @impl: the registration that the step is about, or NULL
 * @next: the next of the list, or NULL
 * @generation: of the registry that the explanation is about
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
 * dk_nl_explain() - ask where a call goes, and why
 * @nl: the handle
 * @call: the call
 * @route: takes where it goes, for dk_nl_free()
 * @steps: takes why, for a dk_nl_free() of its own: what the mask took out, what
 *	each rule says, and what each registration has to do with it
 *
 * Both are of one generation of the registry.
 *
 * Context: May wait for the module.
 * Return: 0, also for a call that would be refused, see @error of the route; or
 * as said at the top of the header.
 */
int dk_nl_explain(struct dk_nl *nl, const struct dk_nl_call *call,
		  const struct dk_nl_route **route, const struct dk_nl_step **steps);

/* ---- counters ------------------------------------------------------------- */

/**
 * struct dk_nl_stats - what the counters are about
 * @size: length of the struct
 * @state: whether calls are counted, of enum dk_nl_state
 * @count: all calls that were counted
 * @uncounted: calls for which there was no counter, for lack of memory
 * @gone: of @count, those that no counter has any more: of functions and operators
 *	that are gone
 * @readers: which users may read the counters, of enum dk_nl_readers
 * @has_count: whether @count and @uncounted are known; 0 if calls are not counted
 *	or the user may not read the counters
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
 * dk_nl_stats_get() - ask whether calls are counted, and how many were
 * @nl: the handle
 * @stats: takes the answer, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_stats_get(struct dk_nl *nl, const struct dk_nl_stats **stats);

/**
 * dk_nl_stats_enable() - begin or stop to count calls
 * @nl: the handle
 * @on: 0 stops and gives the memory of the counters back, 1 begins
 *
 * Context: May wait for the module.
 * Return: 0; -ENOMEM where the module has no memory for the counters, which then
 * stay off; or as said at the top of the header.
 */
int dk_nl_stats_enable(struct dk_nl *nl, int on);

/**
 * dk_nl_stats_reset() - count from zero again
 * @nl: the handle
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_stats_reset(struct dk_nl *nl);

/**
 * dk_nl_stats_set_readers() - set who may read the counters
 * @nl: the handle
 * @readers: of enum dk_nl_readers; remains set until the module is unloaded, also
 *	while counters are off
 *
 * Where they are for admins, a user without CAP_NET_ADMIN gets no sum from
 * dk_nl_stats_get(), no calls from dk_nl_provider_get(), and -EPERM from dk_nl_counters().
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_stats_set_readers(struct dk_nl *nl, __u32 readers);

/**
 * struct dk_nl_counter - the calls of an operator that one function served
 * @size: length of the struct
 * @kind: of enum dk_nl_stat_kind
 * @key: where the function is registered
 * @device: number of the device that the function is of, or 0
 * @has_count: whether @count is known; 0 if there was no memory for it
 * @reserved: zero
 * @count: the calls
 * @op: the operator
 * @key_name: name of the key
 * @label: of the function
 * @provider: who registered it; empty if the registry was born with it
 * @device_name: name of that device, or empty
 * @next: the next of the list, or NULL
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
 * struct dk_nl_counter_filter - which counters
 * @size: sizeof(struct dk_nl_counter_filter), set by the caller
 * @used: only what has counted something
 * @op: of this operator; NULL for any
 * @provider: of functions of this provider; NULL for any
 */
struct dk_nl_counter_filter {
	__u32 size;
	__u32 used;
	const char *op;
	const char *provider;
};

/**
 * dk_nl_counters() - ask for the counters
 * @nl: the handle
 * @filter: which; NULL for all
 * @counters: takes the list, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0; -EPERM where they are for admins, see dk_nl_stats_set_readers(); or
 * as said at the top of the header.
 */
int dk_nl_counters(struct dk_nl *nl, const struct dk_nl_counter_filter *filter,
		   const struct dk_nl_counter **counters);

/* ---- limits --------------------------------------------------------------- */

/**
 * struct dk_nl_limit - how much there may be of something
 * @size: length of the struct
 * @has_used: whether @used is known; 0 where it does not apply
 * @most: how much there may be
 * @used: how much there is
 * @name: of what, such as "private-backends"
 * @next: the next of the list, or NULL
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
 * dk_nl_limit_get() - ask for one limit
 * @nl: the handle
 * @name: its name
 * @limit: takes the answer, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_limit_get(struct dk_nl *nl, const char *name, const struct dk_nl_limit **limit);

/**
 * dk_nl_limits() - ask for all limits
 * @nl: the handle
 * @limits: takes the list, for dk_nl_free()
 *
 * Context: May wait for the module.
 * Return: 0, or as said at the top of the header.
 */
int dk_nl_limits(struct dk_nl *nl, const struct dk_nl_limit **limits);

/* ---- events --------------------------------------------------------------- */

/**
 * struct dk_nl_event - something has come, gone or changed its state
 * @size: sizeof(struct dk_nl_event), set by the caller
 * @kind: of enum dk_nl_event_kind
 * @number: of the backend or device, or 0
 * @key: of the function
 * @has_key: whether @key is known; 0 where @count functions have several
 * @state: of enum dk_nl_state
 * @count: how many events this one stands for. Of DK_NL_EVENT_LOST, how many
 *	were lost; 0 where nobody knows.
 * @reserved: zero
 * @time: of the last of them, in nanoseconds of CLOCK_REALTIME; 0 where nobody
 *	knows
 * @generation: of the registry, when it was sent; 0 where nobody knows
 * @name: of the operator, backend or device; empty of a backend fallback
 * @key_name: name of the key
 * @provider: who brought it about; empty where it was an administrator
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
 * dk_nl_monitor_open() - begin to listen to changes
 * @options: how; NULL for the defaults
 * @monitor: takes the handle
 * @why: filled on failure; may be NULL. Set @why->size before.
 *
 * Who wants to know a state and all changes to it opens a monitor first, asks
 * for the state, and then reads events. The first ones may be about changes that
 * the state has already: those whose generation is not above that of
 * dk_nl_info_get(), asked before the state.
 *
 * Context: Any thread; nothing is read by other threads.
 * Return: As dk_nl_open().
 */
int dk_nl_monitor_open(const struct dk_nl_options *options,
		       struct dk_nl_monitor **monitor, struct dk_nl_error *why);

/**
 * dk_nl_monitor_close() - give a monitor back
 * @monitor: from dk_nl_monitor_open(); may be NULL
 *
 * Context: Any.
 */
void dk_nl_monitor_close(struct dk_nl_monitor *monitor);

/**
 * dk_nl_monitor_fd() - what to poll
 * @monitor: the monitor
 *
 * Events that were read with an earlier one are not seen by poll(): whoever
 * polls asks with a timeout of 0 until there is none.
 *
 * Context: Any.
 * Return: A file descriptor that is readable when there are events. It is not
 * to be read, nor closed.
 */
int dk_nl_monitor_fd(const struct dk_nl_monitor *monitor);

/**
 * dk_nl_monitor_next() - the next event
 * @monitor: the monitor
 * @timeout_ms: how long to wait for it, 0 not at all, -1 for as long as it takes
 * @event: takes it; set @event->size before
 *
 * After DK_NL_EVENT_LOST, from the module or as this socket was read too slowly,
 * changes have gone unseen: call dk_nl_monitor_drain() and ask for the state
 * anew.
 *
 * Context: May wait.
 * Return: 1 for an event, 0 if there was none in time, -ENODEV when the module
 * was unloaded, -EINVAL (size), -EINTR, -EBADMSG (an event that is not well
 * formed, which is passed by), or another errno of the socket.
 */
int dk_nl_monitor_next(struct dk_nl_monitor *monitor, int timeout_ms,
		       struct dk_nl_event *event);

/**
 * dk_nl_monitor_drain() - throw away the events that are there already
 * @monitor: the monitor
 *
 * For whoever is about to ask for the state anew, which has them all.
 *
 * Context: Does not wait.
 * Return: 0, -ENODEV when the module was unloaded, or an errno of the socket.
 */
int dk_nl_monitor_drain(struct dk_nl_monitor *monitor);

/**
 * dk_nl_monitor_why() - what the last call of a monitor failed with
 * @monitor: the monitor
 *
 * Context: Any.
 * Return: The error, valid until the next call; its code is 0 after success.
 */
const struct dk_nl_error *dk_nl_monitor_why(const struct dk_nl_monitor *monitor);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_NL_H */
