/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists all suites, in the order in which they run. Suite NAME is in NAME.c. The macro states where
 * it runs: in userspace and the kernel (both), or only in one of them. A "fed" suite runs in both,
 * but in the kernel only after its input was written to debugfs (main_kernel.c).
 */
#define T_SUITES(both, user, kernel, fed)				\
	user(nomem_user)	/* first: needs a process without a registry */	\
	both(basics)							\
	both(stale_entries)						\
	both(backends)							\
	both(devices)							\
	both(device_numbers)						\
	both(device_priv)						\
	both(errors)							\
	both(errors_registrations)					\
	both(errors_calls)						\
	both(alloc_failures)						\
	both(alloc_tables)						\
	both(signatures)						\
	both(unregister_nomem)						\
	both(peers)							\
	both(counter_wrap)						\
	kernel(rcu)							\
	both(batch)							\
	both(call_paths)						\
	both(trimmed_layouts)	/* before suites that use the layouts of PyTorch */ \
	both(table_slots)						\
	both(fallthroughs)						\
	both(registration_order)					\
	both(dispatch)							\
	both(dispatch_python)						\
	both(statements)						\
	both(dumps)							\
	both(explain)							\
	both(hook)							\
	both(local)							\
	both(table_indexes)						\
	both(layouts)							\
	both(layout_texts)						\
	user(schema)							\
	user(schema_pytorch)						\
	both(library)							\
	both(library_refusals)						\
	both(enumeration)						\
	user(sorted_operators)						\
	user(counter_sums)						\
	both(listeners)							\
	both(listener_removal)						\
	both(changes_during_calls)					\
	both(fallbacks)							\
	both(boxed)							\
	both(arg_descriptions)						\
	both(arguments)							\
	both(waiting)							\
	both(waiting_offline)						\
	both(deferred)							\
	both(deferred_calls)						\
	both(offline)							\
	both(grace_periods)						\
	both(stats)							\
	both(stats_changes)						\
	both(stats_threads)						\
	both(moved_function)						\
	both(registries)						\
	fed(pytorch_operators)						\
	kernel(kthreads)						\
	kernel(peers_kernel)						\
	kernel(lock_hold)						\
	user(fast_path)							\
	user(threads)							\
	user(two_waits)							\
	user(owners)							\
	user(fork)							\
	user(cancellation)						\
	user(thread_exit)						\
	user(liburcu)							\
	user(signals)							\
	user(change_inside_call)					\
	user(after_shutdown)
