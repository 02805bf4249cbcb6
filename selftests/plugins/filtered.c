// SPDX-License-Identifier: GPL-2.0-only
/*
 * filtered PROGRAM ARGUMENT...: runs a program for which the kernel refuses membarrier(), as
 * sandboxes and old kernels do.
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (argc < 2)
		errx(2, "filtered PROGRAM ARGUMENT...");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		err(4, "no filter");
	if (syscall(SYS_membarrier, 0, 0, 0) >= 0 || errno != ENOSYS)
		errx(1, "membarrier() is not refused");
	execv(argv[1], argv + 1);
	err(1, "%s", argv[1]);
}
