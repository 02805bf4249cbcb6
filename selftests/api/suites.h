/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The suites in the order in which they run. Each is in the file of its name. The macro says
 * where it runs: in both worlds, in userspace, or in the kernel. "fed" is as both, but in the
 * kernel the suite runs when its text has been written.
 */
#define T_SUITES(both, user, kernel, fed)				\
	user(nomem_user)	/* first: wants a process without a registry */	\
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
	both(trimmed_layouts)						\
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
	user(fork)							\
	user(cancellation)						\
	user(thread_exit)						\
	user(signals)							\
	user(change_inside_call)					\
	user(after_shutdown)
