/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Calls in flight. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_CALL_H
#define _DISPATCHKEY_CALL_H

#include <dispatchkey-inline.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct dk_frame - a call that dk_call_enter() has entered
 * @call: the call, for the function
 * @objs: the objects that it dispatches on
 * @boxed: NULL; or, where the function is not of the operator's type, what calls it
 *	with boxed arguments
 * @n: how many objects it dispatches on
 * @result: what the function returned, for the hooks after the call; a caller
 *	without DK_OP() sets it before dk_call_leave()
 *
 * The rest is the dispatcher's own. Its storage is the caller's, until
 * dk_call_leave() has returned.
 */
struct dk_frame {
	struct dk_call call;
	const struct dk_obj *const *objs;
	dk_boxed_fn_t boxed;
	__u32 n;
	int result;
	/* private: */
	const void *args;		/* of the definition, with @boxed */
	struct dk__room room;
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
 * Return: The function, of the operator's type unless the call has a frame with a @boxed.
 */
DK_INLINE dk_fn_t dk_call_fn(const struct dk_call *c)
{
	return c->entry->fn;
}

/**
 * dk_call_local() - the local state that a call was made with
 * @c: the call
 *
 * In userspace a call with the thread's own local state refers to no struct of the
 * caller's: on another thread than the call's this returns the other thread's state.
 *
 * Context: Any; in userspace the thread that made the call.
 * Return: The local state; in the kernel for calls from inside of @c.
 */
DK_INLINE const struct dk_local *dk_call_local(const struct dk_call *c)
{
	return dk__local_of(c);
}

/**
 * dk_call_frame() - what the dispatcher knows of a call besides the call
 * @c: the call
 *
 * A call that takes the slow path has a frame: every one of a function that is registered
 * as a boxed one, and every one that hooks see.
 *
 * Context: Any.
 * Return: The frame, or NULL.
 */
DK_INLINE const struct dk_frame *dk_call_frame(const struct dk_call *c)
{
	return c->made & DK__CALL_FRAME ? DK__CAST(const struct dk_frame *, c) : NULL;
}

/**
 * dk_call_priv() - what belongs to the function that serves a call
 * @c: the call, from inside the function
 *
 * Context: Any.
 * Return: The @priv of dk_device_register() where it is a device's function,
 * else that of its struct dk_provider.
 */
void *dk_call_priv(const struct dk_call *c);

/**
 * dk_call_device() - the device whose function serves a call
 * @c: the call, from inside the function
 *
 * Context: Any.
 * Return: Its number, or 0 where the function is no device's.
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
 * dk_call_enter() - route a call and keep the provider from leaving
 * @f: takes the call; dk_call_fn() is to be called with &@f->call, or @f->boxed unless
 *	that is NULL: id_run() of DK_OP() does that
 * @decl: the operator, in the default registry
 * @local: local state, never NULL
 * @objs: the arguments that it dispatches on, in order; NULL ones are absent
 * @n: how many
 *
 * For a batch, and for callers without DK_OP(): the function that it found may be run
 * any number of times until dk_call_leave(), which has to follow when it returns 0 and
 * only then.
 *
 * Context: In the kernel, of an atomic operator any in which RCU may read, and an RCU
 * read section lasts until dk_call_leave(); of others process context, and not from
 * inside an atomic call. In userspace any thread; async-signal-safe after the thread's
 * first call.
 * Return: 0, -ENOSYS (nothing serves), -ENOTUNIQ (ambiguous AutogradOther),
 * -ENODEV (the device is gone or offline and nothing else serves), -EXDEV,
 * -ENOENT (not defined), -EPROTOTYPE, -ESHUTDOWN, -ENOMEM (userspace: the
 * thread's first call).
 */
int dk_call_enter(struct dk_frame *f, struct dk_op_decl *decl,
		  const struct dk_local *local, const struct dk_obj *const *objs,
		  unsigned int n);

/**
 * dk_call_enter_op() - dk_call_enter() by handle, in any registry
 * @f: takes the call
 * @op: the operator, from dk_op_get()
 * @decl: gives its type, which is compared with the operator's once: a call that
 *	fits is noted in @decl->sig_mark
 * @local: local state, never NULL; its sets have the bits of the registry's
 * @objs: the arguments that it dispatches on, in order
 * @n: how many
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter().
 */
int dk_call_enter_op(struct dk_frame *f, struct dk_op *op,
		     struct dk_op_decl *decl, const struct dk_local *local,
		     const struct dk_obj *const *objs, unsigned int n);

/**
 * dk_call_enter_key() - dk_call_enter() for what is registered at one key
 * @f: takes the call
 * @op: the operator, from dk_op_get(), or NULL for @decl's in the default
 *	registry
 * @decl: the operator, or gives its type
 * @local: local state, never NULL
 * @key: a key of any kind; DK_UNDEFINED is none that anything is registered at
 * @objs: the arguments that it dispatches on, in order
 * @n: how many
 *
 * The newest function registered at exactly this key, an alias or a building
 * block too, else the backend fallback of the key; the table is not asked. The
 * keyset of the call is what any call with these arguments gets
 * (callBoxedForDispatchKey() in PyTorch, SEMANTICS 8.3).
 *
 * Context: As dk_call_enter().
 * Return: 0, -EINVAL (no such key in the layout), -ENOSYS (nothing is there, or
 * a fallthrough), -ENODEV, -EXDEV, -ENOENT, -EPROTOTYPE, -ESHUTDOWN, -ENOMEM:
 * the same as from dk_call_enter().
 */
int dk_call_enter_key(struct dk_frame *f, struct dk_op *op, struct dk_op_decl *decl,
		      const struct dk_local *local, unsigned int key,
		      const struct dk_obj *const *objs, unsigned int n);

/**
 * dk_call_enter_keyset() - dk_call_enter() by a keyset, from outside of a call
 * @f: takes the call
 * @op: the operator, from dk_op_get(), or NULL for @decl's in the default
 *	registry
 * @decl: the operator, or gives its type
 * @local: local state for the @local of the call, never NULL; it does not change the
 *	route
 * @ks: the keyset, used as in dk_call_redispatch()
 * @objs: the arguments that it dispatches on, in order
 * @n: how many
 *
 * What the arguments carry does not count, but for the device of the call.
 * PyTorch's Dispatcher::redispatch() (SEMANTICS 8.3). A function that has a call
 * uses dk_call_redispatch().
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter().
 */
int dk_call_enter_keyset(struct dk_frame *f, struct dk_op *op, struct dk_op_decl *decl,
			 const struct dk_local *local, struct dk_keyset ks,
			 const struct dk_obj *const *objs, unsigned int n);

/**
 * dk_call_redispatch() - route the rest of a call from inside a function
 * @f: takes the new call
 * @from: the call that we are inside of
 * @decl: its operator; another one's is -EPROTOTYPE
 * @ks: the keyset, used as it is: no local state, and no mask unless its entry
 *	is a fallthrough, as when a function has left since the call was masked
 * @objs: the arguments that it dispatches on
 * @n: how many
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter().
 */
int dk_call_redispatch(struct dk_frame *f, const struct dk_call *from,
		       const struct dk_op_decl *decl, struct dk_keyset ks,
		       const struct dk_obj *const *objs, unsigned int n);

/* What the functions of DK_OP() ask of the slow path. */
struct dk__request {
	struct dk_op *op;		/* NULL: @decl's */
	struct dk_op_decl *decl;
	const struct dk_local *local;
	const struct dk_call *from;	/* of a redispatch */
	struct dk_keyset ks;		/* of a redispatch, and with DK__BY_KEYSET */
	unsigned int key;		/* with DK__BY_KEY */
	__u8 flags;			/* of enum dk__request_flags */
	__u8 how;			/* of enum dk__how */
};

enum dk__request_flags {
	DK__BY_KEY = 1,
	DK__BY_KEYSET = 2,
	DK__FROM_BOXED = 4,		/* the caller has the arguments boxed */
	DK__ASKED = 8,			/* dk__find() has no answer */
};

/*
 * What dk__begin() does not call, looked up out of line: functions of the devices of other
 * objects than the first, and keysets that nothing serves. @table and @ks are what it found,
 * @ask is dk__ask(). If dk__is_entry(), it is to be called, and then dk__end(); else the call
 * is out again. All of it is in registers.
 */
const struct dk__entry *dk__find(struct dk_call *c, struct dk__slot slot,
				 const struct dk__table *table, __u64 ks,
				 const struct dk_obj *const *objs, __u64 ask) DK__HOT;

/* The slow path: all that dk__find() does not serve. */
int dk__call_enter(struct dk_frame *f, struct dk__request *rq,
		   const struct dk_obj *const *objs, unsigned int n) DK__HOT;

#ifdef __KERNEL__
/**
 * dk_call_enter_rcu() - dk_call_enter() from inside an RCU read section
 * @f: takes the call
 * @decl: the operator, in the default registry
 * @local: local state, never NULL
 * @objs: the arguments that it dispatches on, in order
 * @n: how many
 *
 * The call takes no read section of its own, because the caller's lasts until the
 * call is left.
 *
 * Context: Inside rcu_read_lock(). The operator must be atomic: a call of another
 * one is entered, and only might_sleep() in debug kernels reports it.
 * Return: 0, or as from dk_call_enter() -ENOSYS, -ENOTUNIQ, -ENODEV, -EXDEV,
 * -ENOENT or -EPROTOTYPE.
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
 * dk_call_leave() - end a call that was entered
 * @f: from dk_call_enter(), dk_call_redispatch() or another one of these
 *
 * Must be called on the task or thread that entered the call. In userspace
 * another thread cannot leave a call: the library reports the attempt on stderr, the
 * call stays inside, and drains wait for it until the thread that entered it leaves
 * it. @f must stay valid until then. In the kernel a call of an atomic operator is
 * not checked.
 *
 * Context: As dk_call_enter().
 */
void dk_call_leave(struct dk_frame *f) DK__HOT;

/**
 * dk_call_error_text() - the sentence for what a call returned
 * @error: what the last call returned: 0 or a negative errno
 *
 * A function may return one of the dispatcher's errnos, too: dk_op_route() reports
 * which of the two it was, and dk_missing_text() and dk_ambiguous_text() name operator
 * and keys.
 *
 * Context: Any.
 * Return: A constant sentence without a full stop: that of the reason for which
 * dk_call_enter() returns @error, "the function returned an error of its own" for
 * an errno that the dispatcher does not return, "no error" for 0 and above.
 */
const char *dk_call_error_text(int error);

/* dk_call_below() of a call that may be of another layout than v1. */
struct dk_keyset dk__call_below(const struct dk_call *c);

/**
 * dk_call_below() - the keys behind the one that a call was routed by
 * @c: the call, from inside its function
 *
 * PythonDispatcher stays in the set, as in PyTorch's FULL_AFTER, which has it
 * behind every key: a function at that key that redispatches with this set gets
 * the call again. It has to take its key out of the set.
 *
 * Context: Any.
 * Return: The set to redispatch with.
 */
DK_INLINE struct dk_keyset dk_call_below(const struct dk_call *c)
{
	return c->made & DK__CALL_FRAME ? dk__call_below(c) : dk__below(c);
}

/* ---- boxed calls ---------------------------------------------------------- */

/**
 * dk_call_boxed() - call an operator with boxed arguments
 * @op: the operator, from dk_op_get(), or NULL for @decl's in the default
 *	registry
 * @decl: the operator, or gives its type
 * @local: local state, never NULL
 * @args: points to the struct of the arguments, that of DK_OP() or one that
 *	dk_args_pack() filled
 *
 * What it dispatches on is what the DK_OP() line says, without generators
 * (SEMANTICS 6.1); of a declaration made by hand, all objects and lists that @decl
 * describes, or the operator's definition if @decl describes nothing.
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter(), or the function's own answer. -EPROTOTYPE also
 * where neither @decl nor the operator's definition describes the arguments, where
 * there are more than 64 of them, and where it is not known how the function is called.
 */
int dk_call_boxed(struct dk_op *op, struct dk_op_decl *decl,
		  const struct dk_local *local, void *args);

/**
 * dk_call_boxed_key() - dk_call_boxed() for what is registered at one key
 * @op: the operator, or NULL
 * @decl: the operator, or gives its type
 * @local: local state, never NULL
 * @key: as in dk_call_enter_key()
 * @args: the arguments
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_enter_key(), or the function's own answer. -EPROTOTYPE also
 * for the reasons of dk_call_boxed().
 */
int dk_call_boxed_key(struct dk_op *op, struct dk_op_decl *decl,
		      const struct dk_local *local, unsigned int key, void *args);

/**
 * dk_redispatch_boxed() - from inside a function, call what comes behind
 * @from: the call that we are inside of
 * @ks: the keyset, such as dk_call_below(@from)
 * @args: the arguments; their objects may be others than those of the call
 *
 * Context: As dk_call_enter().
 * Return: As dk_call_redispatch(), or the function's own answer.
 */
int dk_redispatch_boxed(struct dk_call *from, struct dk_keyset ks, void *args);

/**
 * dk_extracted() - make a boxed call, once its objects are known
 * @x: what a dk_extract_fn_t was given
 * @objs: the arguments that it dispatches on, in order; NULL ones are absent
 * @n: how many
 *
 * For functions that DK_OP() makes.
 *
 * Context: From inside a dk_extract_fn_t only.
 * Return: What the dk_extract_fn_t has to return.
 */
int dk_extracted(struct dk_extract *x, const struct dk_obj *const *objs,
		 unsigned int n);

/**
 * dk_call_described() - the declaration that describes the arguments of a call
 * @c: the call, from inside its function
 *
 * For dk_arg_find(), dk_arg_get() and dk_arg_set(). In a boxed function the description is
 * that of the operator's definition, as it was when the call was entered: a copy that
 * outlasts the definition. A definition that describes nothing leaves it to the caller's
 * declaration, dk_call_decl(), and so does one whose signature could not be compared with that of a
 * caller that describes the arguments itself.
 *
 * Context: Any.
 * Return: The declaration, which lives as long as the call. That of the definition has no
 * members but @name, @num_params, @param and @args_size: calls are made with dk_call_decl().
 */
const struct dk_op_decl *dk_call_described(const struct dk_call *c);

/**
 * dk_call_takes() - are the arguments of a boxed call those of an operator?
 * @c: the call, from inside its function
 * @decl: the operator
 *
 * Context: Any.
 * Return: 0, or -EPROTOTYPE where the signature is another one, or unknown.
 */
int dk_call_takes(const struct dk_call *c, const struct dk_op_decl *decl);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_CALL_H */
