/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For suites about waits. Makes calls that stay inside a function of provider "guest" until the
 * test releases them. Starts threads that wait for these calls.
 */
#ifndef _SELFTESTS_API_VISIT_H
#define _SELFTESTS_API_VISIT_H

#include "../world.h"
#include "test.h"

#define V_LONG_MS	60000	/* far more than any step of a test takes */
#define V_STEP_US	200

struct stay {
	bool inside, may_return, too_long;
	int plain;		/* written at the end of the function */
};

/* A call of one of these operators returns at once if @s is NULL. */
DK_OP(stay, "visit::stay", (struct dk_obj *x, struct stay *s, int *served_by),
	(x, s, served_by), (x));
DK_OP(spin, "visit::spin", (struct dk_obj *x, struct stay *s, int *served_by),
	(x, s, served_by), (x));

/* Values of *served_by. */
enum { V_NONE, V_BASE, V_GUEST };

/* "host" has functions for all keys. "guest" has functions for CPU and for its device "card". */
extern struct dk_provider v_host, v_guest;
extern struct dk_op *v_stay, *v_spin;
extern unsigned int v_backend;	/* "edu", of the card */
extern u32 v_card;

#define V_GUEST_IMPLS	3
extern const struct dk_impl v_guest_impls[V_GUEST_IMPLS];

int stay_guest(struct dk_call *c, struct dk_obj *x, struct stay *s, int *served_by);
int spin_guest(struct dk_call *c, struct dk_obj *x, struct stay *s, int *served_by);

/* Opens a registry with these operators and providers, the backend and the card. */
void v_open(void);
/* Returns which provider serves a call that does not stay inside. */
int v_served(struct dk_op *op, struct dk_obj x);
/* Returns call number @i that is inside the guest. */
struct dk_inside v_inside_at(unsigned int i);
/* Returns whether the name in the last refusal begins with @text. */
bool v_why_begins(const char *text);

/* A thread that stays inside a call. */
struct v_caller {
	struct w_thread thread;
	struct stay stay;
	struct dk_obj x;
	bool spins, done;
	int err;
};

/* Returns when the thread is inside v_spin or v_stay; false if it never is. */
bool v_enter(struct v_caller *v, struct dk_obj x, bool spins);
void v_release(struct v_caller *v);

/* A thread that unregisters the guest. */
struct v_unregister {
	struct w_thread thread;
	struct dk_library *lib;
	struct dk_handle *handle;
	bool done;
	int err;
};

/* Returns when new calls no longer find the guest's functions; unregistering can take longer. */
bool v_begin_unregister(struct v_unregister *l);
void v_end_unregister(struct v_unregister *l);

/* A thread that takes a device offline, or the backend if @device is 0. */
struct switcher {
	struct w_thread thread;
	struct dk_diag why;
	bool is_off;
	u32 device;
	unsigned int ms;	/* a deadline, or 0 */
	int err;
};

/* The function of this thread. @data: its struct switcher. */
void v_switch_off(void *data);
/* Returns when a call is inside and the thread @s has taken its device or backend offline. */
bool v_switch_off_during_call(struct v_caller *v, const struct dk_obj x, struct switcher *s);

#endif /* _SELFTESTS_API_VISIT_H */
