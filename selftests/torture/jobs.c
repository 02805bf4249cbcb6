// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests deferred calls: functions submit a job and return. A thread completes the jobs. Before it
 * completes a job, it checks that the provider of the job is still registered.
 */
#include "torture.h"

enum { JOB_FREE, JOB_SUBMITTED };

static struct w_thread completer;
static struct actor *completes;
static bool started, stop;

void torture_submit(const struct dk_call *c, const struct context *me,
		    const struct call_record *t)
{
	struct actor *a = t->actor;
	struct job *job = &a->jobs[w_one_of(&a->random, JOBS)];

	/* pairs with the release in job_end() */
	if (!a->submits || w_load_acquire(job->state) != JOB_FREE)
		return;
	dk_deferred_init(&job->token);
	job->me = me;
	job->op = t->op->decl->name;
	if (dk_call_defer(c, &job->token)) {
		torture_error(a, E_REFUSED, "a call was not deferred", job->op, 0, 0);
		return;
	}
	if (torture.set.breaks == BREAK_EARLY)
		dk_call_complete(&job->token, 0);
	bump(a->calls[K_DEFERRED]);
	w_store_release(job->state, JOB_SUBMITTED);	/* pairs with complete_jobs() */
}

static void job_end(struct job *job)
{
	u32 alive = ALIVE;
	int err;

	/* with BREAK_EARLY, the context might have been freed */
	if (torture.set.breaks != BREAK_EARLY)
		alive = w_load(job->me->alive);
	if (alive != ALIVE)
		torture_error(completes, E_STALE, "a call was deferred", job->op, alive, ALIVE);
	err = dk_call_complete(&job->token, 0);
	if (err)
		torture_error(completes, E_REFUSED, "a call was completed", job->op, -err, 0);
	w_store_release(job->state, JOB_FREE);	/* pairs with torture_submit() */
}

static void complete_submitted(void)
{
	unsigned int i, k;

	for (i = 0; i < w_load(torture.num_actors); i++) {
		struct actor *a = &torture.actors[i];

		for (k = 0; k < JOBS; k++) {
			/* pairs with the release in torture_submit() */
			if (w_load_acquire(a->jobs[k].state) != JOB_SUBMITTED)
				continue;
			job_end(&a->jobs[k]);
		}
	}
}

static void complete_jobs(void *unused)
{
	bool last;

	/* the last repetition begins after the last job was submitted */
	do {
		last = w_load_acquire(stop); /* pairs with the release in torture_jobs_end() */
		complete_submitted();
		w_sleep_us(100);
	} while (!last);
}

int torture_jobs_begin(void)
{
	int err;

	completes = torture_actor(false, false);
	stop = false;
	err = w_start(&completer, "dk_torture_done", complete_jobs, NULL);
	started = !err;
	return err;
}

void torture_jobs_end(void)
{
	if (!started)
		return;
	w_store_release(stop, true);	/* pairs with complete_jobs() */
	w_join(&completer);
	started = false;
}
