/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The suites in the order in which they run, each in the file of its name, and
 * where: in both worlds, in userspace or in the kernel. big is fed: in
 * the kernel it waits for a text.
 */
#define T_SUITES(both, user, kernel, fed)				\
	user(nomem)	/* first: wants a process without a registry */	\
	both(first)							\
	both(stale)							\
	both(devices)							\
	both(refusals)							\
	both(failing)							\
	both(leaving)							\
	both(peers)							\
	both(wrap)							\
	kernel(rcu)							\
	both(batch)							\
	both(ways)							\
	both(slots)							\
	both(regress)							\
	both(lattice)							\
	both(dispatch)							\
	both(statements)						\
	both(see)							\
	both(explain)							\
	both(hook)							\
	both(local)							\
	both(indexes)							\
	both(layouts)							\
	both(trimmed)							\
	user(schema)							\
	both(library)							\
	both(lists)							\
	user(order)							\
	user(sums)							\
	both(listeners)							\
	both(watchers)							\
	both(hot)							\
	both(fallbacks)							\
	both(boxed)							\
	both(described)							\
	both(extract)							\
	both(waiting)							\
	both(offline)							\
	both(graces)							\
	both(stats)							\
	both(moved)							\
	both(registries)						\
	fed(big)							\
	kernel(kthreads)						\
	kernel(kpeers)							\
	kernel(kwork)							\
	user(fast)							\
	user(threads)							\
	user(regress_threads)						\
	user(exits)							\
	user(signals)							\
	user(torn)							\
	user(late)
