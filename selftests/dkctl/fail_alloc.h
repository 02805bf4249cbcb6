/* SPDX-License-Identifier: GPL-2.0-only */
/* Fails allocations of dkctl, but not those of the scripted registry. */
#ifndef FAIL_ALLOC_H
#define FAIL_ALLOC_H

/* No allocation between these calls fails. */
void fail_alloc_pause(void);
void fail_alloc_resume(void);

#endif /* FAIL_ALLOC_H */
