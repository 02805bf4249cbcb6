// SPDX-License-Identifier: GPL-2.0-only
/*
 * This library only uses thread-local storage. With -DSTATIC the storage is in the static
 * block, which has little space for libraries that are loaded late.
 */
#ifdef STATIC
static __thread char storage[64] __attribute__((tls_model("initial-exec")));
#else
static __thread char storage[4096];
#endif

void use_storage(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(storage); i++)
		storage[i] = 1;
}
