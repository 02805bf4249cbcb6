// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Reasons for failures. Each reason has a number, an errno and a constant sentence. */
#include "base.h"

static const struct {
	int error;
	const char *text;
} reasons[] = {
#define REASON(R, e, t) { (e), (t) },
	DK_REASONS(REASON)
#undef REASON
};

/* The size of struct dk_diag in the first release; must not change. */
#define DIAG_FIRST_SIZE	(offsetof(struct dk_diag, name) + DK_NAME_MAX)

const char *dk_reason_text(unsigned int reason)
{
	return reason < DK_NUM_REASONS ? reasons[reason].text : "unknown reason";
}

const char *dk_call_error_text(int error)
{
	static const u8 reason_of[] = {
		DK_WHY_MISSING, DK_WHY_AMBIGUOUS, DK_WHY_DEVICE_GONE, DK_WHY_TWO_DEVICES,
		DK_WHY_NOT_DEFINED, DK_WHY_SIGNATURE, DK_WHY_SHUTDOWN, DK_WHY_NO_MEMORY,
	};
	unsigned int i;

	if (error >= 0)
		return dk_reason_text(DK_WHY_NONE);
	if (error == -EINVAL)
		return "the function returned -EINVAL, or the call was made at an unknown key";
	for (i = 0; i < ARRAY_SIZE(reason_of); i++)
		if (-reasons[reason_of[i]].error == error)
			return reasons[reason_of[i]].text;
	return "the function returned an error of its own";
}

/* The struct dk_diag of a caller built for another version may be smaller or larger. */
int dkc_refuse(struct dk_diag *why, enum dk_reason reason, const char *name)
{
	size_t size = why && why->size ? why->size : DIAG_FIRST_SIZE, space;

	if (why && size >= offsetof(struct dk_diag, name)) {
		why->reason = reason;
		why->text = dk_reason_text(reason);
		space = size - offsetof(struct dk_diag, name);
		dkc_strcpy(why->name, name ? name : "",
			   space < sizeof(why->name) ? space : sizeof(why->name));
	}
	return -reasons[reason].error;
}

int dkc_accept(struct dk_diag *why)
{
	return dkc_refuse(why, DK_WHY_NONE, NULL);
}

int dkc_refuse_joined(struct dk_diag *why, enum dk_reason reason,
		      const char *const *part, unsigned int n)
{
	char text[DK_NAME_MAX];

	dkc_join(text, part, n);
	return dkc_refuse(why, reason, text);
}

int dkc_refuse_number(struct dk_diag *why, enum dk_reason reason, unsigned int n)
{
	char buf[DKC_NUMBER_MAX];

	return dkc_refuse(why, reason, dkc_number(buf, n));
}
