/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Makes calls, redispatches them, and describes calls in progress. Included by
 * <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_CALL_H
#define _DISPATCHKEY_CALL_H

#include <dispatchkey-inline.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct dk_frame - a call that dk_call_enter() has entered
 * @call: the call, passed to the function
 * @objs: the objects that the call dispatches on
 * @boxed: NULL if the function has the operator's type; otherwise a helper that boxes the
 *	arguments and calls the function
 * @n: number of objects at @objs
 * @result: what the function returned, for hooks and tracers. id_run() sets it if hooks
 *	or tracers observe the call: DK_OP(my_add, ...) declares my_add_run(). Callers
 *	without DK_OP() set it before dk_call_leave()
 *
 * The other members are private. The caller provides the storage, which must stay
 * valid until dk_call_leave() returns.
 */
struct dk_frame {
	struct dk_call call;
	const struct dk_obj *const *objs;
	dk_boxed_fn_t boxed;
	__u32 n;
	int result;
	/* private: */
	dk_fn_t alone;			/* the function; NULL: id_run() must do more than call it */
	const void *args;		/* with @boxed: the definition's description of arguments */
	struct dk__storage storage;
	__u32 state;
	__u32 hook_kind;
	__u32 hook_depth;
	__u32 reserved;
	__u64 hook_stamp;
	__s64 hook_sequence;
	struct dk_local hook_local;
};

/**
 * dk_call_fn() - the function that serves a call
 * @c: the call
 *
 * Context: Any.
 * Return: The function. It has the operator's type, unless the call has a frame whose
 * @boxed is not NULL.
 */
DK_INLINE dk_fn_t dk_call_fn(const struct dk_call *c)
{
	return c->entry->fn;
}

/**
 * dk_call_local() - the local state that a call was made with
 * @c: the call
 *
 * A call that was made with the thread's own state does not record a pointer to this state. If
 * another thread called this function, it would get its own state instead.
 *
 * Context: Any; in userspace only the thread that made the call.
 * Return: The local state. In the kernel, pass it to calls made from inside @c.
 */
DK_INLINE const struct dk_local *dk_call_local(const struct dk_call *c)
{
	return dk__local_of(c);
}

/**
 * dk_call_frame() - the frame of a call
 * @c: the call
 *
 * Most calls made with the functions of DK_OP() have no frame. Calls made with
 * dk_call_enter() or its variants have a frame, and so do calls to functions registered
 * as boxed, and calls that hooks observe.
 *
 * Context: Any.
 * Return: The frame, or NULL.
 */
DK_INLINE const struct dk_frame *dk_call_frame(const struct dk_call *c)
{
	return c->made & DK__CALL_FRAME ? DK__CAST(const struct dk_frame *, c) : NULL;
}

/**
 * dk_call_priv() - the private pointer of the function that serves a call
 * @c: the call, from inside the function
 *
 * Context: Any.
 * Return: The @priv of dk_device_register() for a device's function, otherwise the
 * @priv of the function's struct dk_provider.
 */
void *dk_call_priv(const struct dk_call *c);

/**
 * dk_call_device() - the device whose function serves a call
 * @c: the call, from inside the function
 *
 * Context: Any.
 * Return: Its number, or 0 if the function belongs to no device.
 */
__u32 dk_call_device(const struct dk_call *c);

/**
 * dk_call_key() - the key that a call was routed by
 * @c: the call, in a registry of layout v1
 *
 * Context: Any.
 * Return: The key of highest priority in @c->ks.
 */
DK_INLINE unsigned int dk_call_key(const struct dk_call *c)
{
	return dk_keyset_key(NULL, c->ks);
}

/**
 * dk_call_enter() - route a call and keep its provider registered
 * @f: filled with the call. To run the function, call @f->boxed or, if that is NULL,
 *	the function that dk_call_fn() returns, with &@f->call as the first argument.
 *	id_run(), which DK_OP() declares, does this
 * @decl: the operator, in the default registry
 * @local: local state, never NULL
 * @objs: the arguments that the call dispatches on, in order; NULL for absent ones
 * @n: number of arguments at @objs
 *
 * For batches, and for callers without DK_OP(). After dk_call_enter() has returned 0, the
 * function may be run any number of times. Then dk_call_leave() must be called. If
 * dk_call_enter() fails, dk_call_leave() must not be called: it would only report this
 * mistake. If id_run() or @f->boxed is called after a failure, it returns the error of
 * dk_call_enter() again. @f points to @decl, @local and @objs, which must stay valid
 * until dk_call_leave() returns.
 *
 * Context: In the kernel, an atomic operator may be called wherever rcu_read_lock() may be
 * called, except in NMI. The call is inside an RCU read-side critical section until
 * dk_call_leave(). Any other operator must be called in process context, and not from
 * inside an atomic call. In userspace any thread; async-signal-safe after the thread's
 * first call, except for the operator's first call, which looks it up.
 * Return:
 * * 0: success
 * * -ENOSYS: no function serves the call
 * * -ENOTUNIQ: the call is routed to an ambiguous entry (SEMANTICS 7.6)
 * * -ENODEV: the device is unregistered or offline, and no other function serves the call
 * * -EXDEV: the arguments are on several devices, and the operator allows only one. The
 *   call is routed first: if no function serves it, it fails with one of the errors above
 * * -ENOENT: the operator is not defined
 * * -EPROTOTYPE: the signature of @decl differs from that of the definition, or @decl is of
 *   another ABI version
 * * -ESHUTDOWN: in userspace, the process is ending, and the destructors of all users of the
 *   library have run
 * * -ENOMEM: in userspace, the first call of the thread has no memory to allocate the
 *   thread's record (dk_thread_init()); on bare metal, more than 64 calls of operators
 *   that are not atomic are nested
 */
int dk_call_enter(struct dk_frame *f, struct dk_op_decl *decl,
		  const struct dk_local *local, const struct dk_obj *const *objs,
		  unsigned int n);

/**
 * dk_call_enter_op() - dk_call_enter() by handle, in any registry
 * @f: filled with the call
 * @op: the operator, from dk_op_get(); NULL for the operator of @decl, as in
 *	dk_call_enter()
 * @decl: a declaration whose signature is compared with that of @op. If the signatures
 *	are equal, @decl->sig_mark records this, and later calls do not compare them
 * @local: local state, never NULL. Its bits are those of the registry's layout
 * @objs: the arguments that the call dispatches on, in order
 * @n: number of arguments at @objs
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter().
 */
int dk_call_enter_op(struct dk_frame *f, struct dk_op *op,
		     struct dk_op_decl *decl, const struct dk_local *local,
		     const struct dk_obj *const *objs, unsigned int n);

/**
 * dk_call_enter_key() - dk_call_enter() for the function at a given key
 * @f: filled with the call
 * @op: the operator, from dk_op_get(), or NULL for that of @decl in the default
 *	registry
 * @decl: declaration of the operator. With @op, only its signature is used
 * @local: local state, never NULL
 * @key: a key of any kind. Nothing can be registered at DK_UNDEFINED itself
 * @objs: the arguments that the call dispatches on, in order
 * @n: number of arguments at @objs
 *
 * Calls the newest function that is registered at exactly this key, which may be an alias
 * key or building block. If there is none, calls the key's backend fallback; for a building
 * block, that of its first backend. The dispatch table is not used. The keyset of the call
 * is computed from its arguments, as for any other call. Equivalent to PyTorch's
 * callBoxedForDispatchKey() (SEMANTICS 8.3).
 *
 * Context: As dk_call_enter().
 * Return:
 * * 0: success
 * * -EINVAL: the layout has no such key
 * * -ENOSYS: no function is registered at the key, or a fallthrough is
 * * -ENODEV, -EXDEV, -ENOENT, -EPROTOTYPE, -ESHUTDOWN or -ENOMEM as dk_call_enter()
 */
int dk_call_enter_key(struct dk_frame *f, struct dk_op *op, struct dk_op_decl *decl,
		      const struct dk_local *local, unsigned int key,
		      const struct dk_obj *const *objs, unsigned int n);

/**
 * dk_call_enter_keyset() - redispatch by a keyset, from outside a call
 * @f: filled with the call
 * @op: the operator, from dk_op_get(), or NULL for that of @decl in the default
 *	registry
 * @decl: declaration of the operator. With @op, only its signature is used
 * @local: local state, never NULL. The call records it, but it does not affect the
 *	route
 * @ks: the keyset by which the call is routed, as in dk_call_redispatch()
 * @objs: the arguments that the call dispatches on, in order
 * @n: number of arguments at @objs
 *
 * The keysets of the arguments are ignored; only their devices are used. From inside
 * a function, use dk_call_redispatch() instead. Equivalent to PyTorch's
 * Dispatcher::redispatch() (SEMANTICS 8.3).
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter().
 */
int dk_call_enter_keyset(struct dk_frame *f, struct dk_op *op, struct dk_op_decl *decl,
			 const struct dk_local *local, struct dk_keyset ks,
			 const struct dk_obj *const *objs, unsigned int n);

/**
 * dk_call_redispatch() - route a call again, from inside its function
 * @f: filled with the new call
 * @from: the call that the function serves
 * @decl: the operator of @from; any other fails with -EPROTOTYPE
 * @ks: the keyset by which the new call is routed. The local state is not applied.
 *	Fallthrough keys stay in the set, unless the key of highest priority is one of them,
 *	for example because its function was unregistered: then all of them are removed
 * @objs: the arguments that the call dispatches on
 * @n: number of arguments at @objs
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter().
 */
int dk_call_redispatch(struct dk_frame *f, const struct dk_call *from,
		       const struct dk_op_decl *decl, struct dk_keyset ks,
		       const struct dk_obj *const *objs, unsigned int n);

/* A call that the slow path is to make. The functions that DK_OP() defines fill it, too. */
struct dk__request {
	struct dk_op *op;		/* NULL for the operator of @decl */
	struct dk_op_decl *decl;
	const struct dk_local *local;
	const struct dk_call *from;	/* for a redispatch */
	struct dk_keyset ks;		/* for a redispatch, or with DK__BY_KEYSET */
	__u16 flags;			/* of enum dk__request_flags */
	__u16 how;			/* of enum dk__how */
	unsigned int key;		/* with DK__BY_KEY */
};

enum dk__request_flags {
	DK__BY_KEY = 1,
	DK__BY_KEYSET = 2,
	DK__FROM_BOXED = 4,		/* the caller has boxed arguments */
	DK__SKIP_FAST = 8,		/* dk__find() has already found no entry */
};

/*
 * Continues the lookup out of line if dk__begin() finds no entry to call. Handles the
 * devices of objects other than the first, keysets without a function, and functions that
 * take packed arguments: for these it returns @pack of the caller's declaration. @table and
 * @ks are from dk__begin(), @numbers are from dk__pack(). If dk__is_entry() is true for
 * the result, the caller must call the entry's function and then dk__end(). Otherwise
 * the slot or read-side critical section is already released. All arguments are passed
 * in registers.
 */
const struct dk__entry *dk__find(struct dk_call *c, struct dk__slot slot,
				 const struct dk__table *table, __u64 ks,
				 const struct dk_obj *const *objs, __u64 numbers) DK__HOT;

/*
 * Runs the function of @c, which is boxed or plain, for @pack of the caller's declaration. @args
 * are the packed arguments.
 */
int dk__call_packed(struct dk_call *c, const struct dk_obj *const *objs, unsigned int n,
		    void *args) DK__HOT;

/* The slow path, for all calls that dk__find() does not handle. */
int dk__call_enter(struct dk_frame *f, struct dk__request *rq,
		   const struct dk_obj *const *objs, unsigned int n) DK__HOT;

#ifdef __KERNEL__
/**
 * dk_call_enter_rcu() - dk_call_enter() inside an RCU read-side critical section
 * @f: filled with the call
 * @decl: the operator, in the default registry
 * @local: local state, never NULL
 * @objs: the arguments that the call dispatches on, in order
 * @n: number of arguments at @objs
 *
 * Does not enter a read-side critical section. The caller's section must last until
 * dk_call_leave().
 *
 * Context: Only in the kernel, inside rcu_read_lock(). The operator must be atomic. This
 * is not checked, except by might_sleep() in debug kernels.
 * Return: 0, or -ENOSYS, -ENOTUNIQ, -ENODEV, -EXDEV, -ENOENT or -EPROTOTYPE as
 * dk_call_enter().
 */
static inline int dk_call_enter_rcu(struct dk_frame *f, struct dk_op_decl *decl,
				    const struct dk_local *local,
				    const struct dk_obj *const *objs, unsigned int n)
{
	struct dk__request rq = {
		.decl = decl, .local = local, .how = DK__HOW_IN_RCU,
	};

	return dk__call_enter(f, &rq, objs, n);
}
#endif

/**
 * dk_call_leave() - leave a call that was entered
 * @f: from dk_call_enter(), dk_call_redispatch() or one of their variants
 *
 * Must be called by the task or thread that entered the call. @f must stay valid until
 * this function returns. Two mistakes have no effect, and are reported on stderr or in the
 * kernel's log: leaving a call twice, and leaving a call whose dk_call_enter() failed. Userspace
 * also reports a call that is left on another thread. That call stays entered, and
 * unregistering waits for it. The kernel does not detect this mistake.
 *
 * Context: As dk_call_enter().
 */
void dk_call_leave(struct dk_frame *f) DK__HOT;

/**
 * dk_call_error_text() - describe what a call returned
 * @error: 0 or a negative errno
 *
 * The operator's function may return the same errnos as the dispatcher. To find out
 * whether the function returned @error, route the same call with dk_op_route(). If
 * dk_op_route() returns 0, the error is from the function. dk_missing_text() and
 * dk_ambiguous_text() describe an error of the dispatcher with the names of the operator
 * and the keys. The kernel module does not have these two functions. There, dk_op_route()
 * returns the keyset of the call, and dk_keyset_print() prints it.
 *
 * Context: Any.
 * Return: A constant sentence without a full stop, which says why dk_call_enter() returns
 * @error. For an errno that the dispatcher never returns, "the function returned an error
 * of its own". For 0 and positive numbers, "no error".
 */
const char *dk_call_error_text(int error);

/* dk_call_below() for a call in a registry of any layout. */
struct dk_keyset dk__call_below(const struct dk_call *c);

/**
 * dk_call_below() - the keys below the one that a call was routed by
 * @c: the call, from inside its function
 *
 * As in PyTorch's FULL_AFTER, PythonDispatcher stays in the set. A function at
 * PythonDispatcher must remove this key from the set before it redispatches. If it does
 * not, the redispatch calls the same function again.
 *
 * Context: Any.
 * Return: The keyset to redispatch with.
 */
DK_INLINE struct dk_keyset dk_call_below(const struct dk_call *c)
{
	return c->made & DK__CALL_FRAME ? dk__call_below(c) : dk__below(c);
}

/* ---- boxed calls ---------------------------------------------------------- */

/**
 * dk_call_boxed() - call an operator with boxed arguments
 * @op: the operator, from dk_op_get(), or NULL for that of @decl in the default
 *	registry
 * @decl: declaration of the operator. With @op, only its signature is used
 * @local: local state, never NULL
 * @args: points to the argument struct, that of DK_OP() or one filled by
 *	dk_args_pack()
 *
 * The call dispatches on the objects of the DK_OP() line, but not on generators
 * (SEMANTICS 6.1). If @decl is not from DK_OP(), the call dispatches on all objects and
 * lists that @decl describes. If @decl describes no parameters, the description in the
 * operator's definition is used.
 *
 * Context: As dk_call_enter().
 * Return:
 * * As dk_call_enter(), or the result of the function
 * * -EPROTOTYPE also if neither @decl nor the operator's definition describes the arguments
 * * -EPROTOTYPE also if there are more than 64 arguments
 * * -EPROTOTYPE also if neither @decl nor the declaration of the registered function can
 *   unpack the arguments (@unbox of struct dk_op_decl). The call is counted, and hooks run
 */
int dk_call_boxed(struct dk_op *op, struct dk_op_decl *decl,
		  const struct dk_local *local, void *args);

/**
 * dk_call_boxed_key() - dk_call_boxed() for the function at a given key
 * @op: the operator, or NULL
 * @decl: declaration of the operator. With @op, only its signature is used
 * @local: local state, never NULL
 * @key: as in dk_call_enter_key()
 * @args: the arguments
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter_key(), or what the function returned. Also -EPROTOTYPE
 * for the reasons of dk_call_boxed().
 */
int dk_call_boxed_key(struct dk_op *op, struct dk_op_decl *decl,
		      const struct dk_local *local, unsigned int key, void *args);

/**
 * dk_redispatch_boxed() - redispatch with boxed arguments, from inside a function
 * @from: the call that the function serves
 * @ks: the keyset, such as dk_call_below(@from)
 * @args: the arguments; their objects may differ from those of @from
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_redispatch(), or what the function returned.
 */
int dk_redispatch_boxed(struct dk_call *from, struct dk_keyset ks, void *args);

/**
 * dk_extracted() - make a boxed call with the objects found in its arguments
 * @x: the @x of the dk_extract_fn_t
 * @objs: the arguments that the call dispatches on, in order; NULL for absent ones
 * @n: number of arguments at @objs
 * @raw: the union of their keysets
 *
 * For the functions that DK_OP() declares.
 *
 * Context: From inside a dk_extract_fn_t only.
 * Return: What the dk_extract_fn_t must return.
 */
int dk_extracted(struct dk_extract *x, const struct dk_obj *const *objs,
		 unsigned int n, struct dk_keyset raw);

/**
 * dk_call_described() - the declaration that describes a call's arguments
 * @c: the call, from inside its function
 *
 * Pass the result to dk_arg_find(), dk_arg_get() and dk_arg_set(). It is a copy of the
 * operator's definition: in a boxed function, of the definition when the call was entered
 * or of a newer one, and in any other function, of the current one. In these cases it is
 * the caller's declaration (dk_call_decl()) instead:
 *
 * * The definition describes no parameters.
 * * Both describe them, but not for one struct: an offset, a size or the kind of value
 *   differs.
 * * Both describe them, but one has no signature, so the signatures cannot be compared.
 *
 * Context: Any.
 * Return: The declaration, valid as long as the call. A copy of the definition has
 * only @name, @num_params, @param and @args_size set. To make calls, use
 * dk_call_decl().
 */
const struct dk_op_decl *dk_call_described(const struct dk_call *c);

/**
 * dk_call_takes() - check that a boxed call has the arguments of an operator
 * @c: the call, from inside its function
 * @decl: the operator
 *
 * Context: Any.
 * Return: 0, or -EPROTOTYPE if the signatures differ or are unknown.
 */
int dk_call_takes(const struct dk_call *c, const struct dk_op_decl *decl);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_CALL_H */
