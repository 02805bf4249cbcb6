/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * A keyset of one layout as a keyset of another, by the names of its keys and
 * backends. Included by <dispatchkey.h>.
 */
#ifndef _DISPATCHKEY_TRANSLATE_H
#define _DISPATCHKEY_TRANSLATE_H

#include <dispatchkey-base.h>
#include <dispatchkey-keyset.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dk_note_kind - what a translation has to tell of a key; flags
 * @DK_NOTE_LOST: a key, a backend or a bit that has no counterpart
 * @DK_NOTE_RENAMED: a key that has another name, such as ORT, which became MAIA
 * @DK_NOTE_CHANGED: a key that is of another kind, such as Meta of PyTorch
 *	1.12, which became a backend
 * @DK_NOTE_ADDED: a runtime key of the result that the set had not: bits stand
 *	for all their combinations
 * @DK_NOTE_ALONE: a building block of the result that lost all its backends;
 *	it is routed as with the first backend
 */
enum dk_note_kind {
	DK_NOTE_LOST = 1,
	DK_NOTE_RENAMED = 2,
	DK_NOTE_CHANGED = 4,
	DK_NOTE_ADDED = 8,
	DK_NOTE_ALONE = 16,
};

/**
 * struct dk_note - one thing that a translation has to tell
 * @kind: flags of enum dk_note_kind; only RENAMED and CHANGED come together
 * @from_kind: kind of the key, one of enum dk_key_kind, in the set
 * @to_kind: and in the result
 * @reserved: zero
 * @name: of the key in the set, or, ADDED and ALONE, in the result; of a
 *	backend with "Bit"; of bits that mean nothing "0x..."
 * @other: the key's name in the result, where it is RENAMED or CHANGED
 */
struct dk_note {
	__u32 kind;
	__u32 from_kind;
	__u32 to_kind;
	__u32 reserved;
	char name[DK_NAME_MAX];
	char other[DK_NAME_MAX];
};

/**
 * struct dk_translation - a translation, and how far its notes were read
 * @from: layout of the set
 * @to: layout of the result
 * @set: the set
 * @result: the set in the other layout
 * @stage: of the walk over the notes; not to be touched
 * @at: likewise
 */
struct dk_translation {
	const struct dk_layout *from;
	const struct dk_layout *to;
	struct dk_keyset set;
	struct dk_keyset result;
	__u32 stage;
	__u32 at;
};

/**
 * dk_translate() - a keyset of one layout as a keyset of another
 * @t: takes the translation, the answer is in its result
 * @from: layout of the set, NULL for v1
 * @to: layout of the result, NULL for v1
 * @ks: the set; any bits
 *
 * Backends, building blocks and runtime keys are looked up by name one by one.
 * What the result does not tell, dk_translation_next() does.
 *
 * Context: Any.
 */
void dk_translate(struct dk_translation *t, const struct dk_layout *from,
		  const struct dk_layout *to, struct dk_keyset ks);

/**
 * dk_translation_next() - the next thing that a translation has to tell
 * @t: the translation
 * @note: takes it
 *
 * First come the losses among backends, then what became of the keys of the
 * set, lowest priority first, then what the result has beyond them. Without a
 * note, translating back gives the same set.
 *
 * Context: Any.
 * Return: 1, or 0 at the end.
 */
int dk_translation_next(struct dk_translation *t, struct dk_note *note);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_TRANSLATE_H */
