/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Translates a keyset from one layout to another, by the names of its keys and
 * backends. Included by <dispatchkey.h>.
 *
 * These functions exist in userspace and on bare metal, but not in the kernel module.
 */
#ifndef _DISPATCHKEY_TRANSLATE_H
#define _DISPATCHKEY_TRANSLATE_H

#include <dispatchkey-base.h>
#include <dispatchkey-keyset.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * enum dk_note_kind - what a note reports; flags
 * @DK_NOTE_LOST: a key, backend or bit without a counterpart
 * @DK_NOTE_RENAMED: a key with another name, such as ORT, which became MAIA
 * @DK_NOTE_CHANGED: a key of another kind, such as Meta of PyTorch 1.12,
 *	which became a backend
 * @DK_NOTE_ADDED: a runtime key of the result that was not in the set. It appears
 *	because each functionality bit is combined with each backend bit
 * @DK_NOTE_ALONE: a building block of the result that lost all its backends, or that was one
 *	key for all backends. Calls are routed as if the set had the first backend
 * @DK_NOTE_TOP: the key of highest priority differs between the set and the result; for
 *	example, PrivateUse1 is above Meta in PyTorch 2.0, but below Meta in 2.14
 */
enum dk_note_kind {
	DK_NOTE_LOST = 1,
	DK_NOTE_RENAMED = 2,
	DK_NOTE_CHANGED = 4,
	DK_NOTE_ADDED = 8,
	DK_NOTE_ALONE = 16,
	DK_NOTE_TOP = 32,
};

/**
 * struct dk_note - a note on a translation
 * @size: sizeof(struct dk_note), set by the caller
 * @kind: flags of enum dk_note_kind; only RENAMED and CHANGED are combined
 * @from_kind: kind of the key in the set, of enum dk_key_kind
 * @to_kind: kind of the key in the result
 * @name: name of the key in the set or, for ADDED and ALONE, in the result. A backend's
 *	name ends with "Bit"; the name of bits without meaning is "0x...". For TOP: the
 *	key with the highest priority among the keys of the set that are not lost
 * @other: name of the key in the result, for RENAMED and CHANGED. For TOP: the key with the
 *	highest priority in the result
 */
struct dk_note {
	__u32 size;
	__u32 kind;
	__u32 from_kind;
	__u32 to_kind;
	char name[DK_NAME_MAX];
	char other[DK_NAME_MAX];
};

/**
 * struct dk_translation - a translation, and the position in its notes
 * @from: layout of the set
 * @to: layout of the result
 * @set: the set
 * @result: the set in the other layout
 * @stage: private
 * @at: private
 * @reserved: zero
 */
struct dk_translation {
	const struct dk_layout *from;
	const struct dk_layout *to;
	struct dk_keyset set;
	struct dk_keyset result;
	__u32 stage;
	__u32 at;
	__u64 reserved[2];
};

/**
 * dk_translate() - translate a keyset from one layout to another
 * @t: filled with the translation; see its @result
 * @from: layout of the set, NULL for v1
 * @to: layout of the result, NULL for v1
 * @ks: the set; may have any bits
 *
 * Each backend, building block and runtime key is looked up by name.
 * dk_translation_next() reports differences.
 *
 * Context: Any. Not in the kernel module.
 */
void dk_translate(struct dk_translation *t, const struct dk_layout *from,
		  const struct dk_layout *to, struct dk_keyset ks);

/**
 * dk_translation_next() - get the next note on a translation
 * @t: the translation
 * @note: filled with the note; set @note->size first
 *
 * Notes are in this order: bits without meaning, lost backends, building blocks, runtime
 * keys of the set by rising priority, then ADDED, ALONE and TOP. If there are no notes,
 * translating back gives the same set.
 *
 * Context: Any. Not in the kernel module.
 * Return: 1; 0 at the end; -EINVAL (size).
 */
int dk_translation_next(struct dk_translation *t, struct dk_note *note);

#ifdef __cplusplus
}
#endif

#endif /* _DISPATCHKEY_TRANSLATE_H */
