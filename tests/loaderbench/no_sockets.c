/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_sockets COMMAND...: the kernel ends a process of that command which asks
 * for a socket, of whatever kind: SIGSYS. A name cannot be looked up without
 * one, nor a host be reached. 77: the kernel does not take such a filter.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#  define OURS AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#  define OURS AUDIT_ARCH_AARCH64
#else
#  define OURS 0
#endif

/* Another architecture's calls have other numbers: they are not judged, and so
 * not allowed. */
static struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OURS, 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

int main(int argc, char **argv)
{
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    if (argc < 2) {
        fprintf(stderr, "usage: no_sockets COMMAND...\n");
        return 2;
    }
    if (OURS == 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        printf("skipped: no filter of system calls here: %s\n",
               strerror(errno));
        return 77;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "no_sockets: %s: %s\n", argv[1], strerror(errno));
    return 127;
}
