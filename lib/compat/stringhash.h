/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Defines what the core uses of <linux/stringhash.h>. The hashes are not the kernel's. */
#ifndef _DKC_STRINGHASH_H
#define _DKC_STRINGHASH_H

#define hashlen_hash(hashlen)	((u32)(hashlen))
#define hashlen_len(hashlen)	((u32)((hashlen) >> 32))

/* Hashes word by word. The last word may overlap the word before it. */
static inline u64 hashlen_string(const void *salt, const char *name)
{
	size_t len = strlen(name), i;
	u64 hash = (uintptr_t)salt + len, word = 0;

	for (i = 0; i + sizeof(word) < len; i += sizeof(word)) {
		memcpy(&word, name + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	if (len >= sizeof(word))
		memcpy(&word, name + len - sizeof(word), sizeof(word));
	else
		for (i = 0; i < len; i++)
			word = word << 8 | (u8)name[i];
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return (u64)len << 32 | hash >> 32;
}

#endif /* _DKC_STRINGHASH_H */
