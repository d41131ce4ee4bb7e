/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program and kills it at its n-th change of the disk: a system call
 * that makes, writes, renames or removes a file, or locks one.
 *
 *     killed N COMMAND...       before the n-th change happens
 *     killed half:N COMMAND...  the n-th change is a write of half its bytes,
 *                               or happens; then the program is killed
 *     killed 0 COMMAND...       never; "changes: 57" is the last line on
 *                               standard error
 *
 * By ptrace, so that the program and the C library are those that ship, stdio's
 * writes are seen, and no moment depends on time. Exit status: that of the
 * program, 137 if it was killed here, 77 where the kernel does not let us.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77
#define KILLED  137

static unsigned long kill_at, changes;
static bool half;
static pid_t program;

static int cannot(const char *what)
{
    printf("skipped: %s: %s\n", what, strerror(errno));
    return SKIPPED;
}

/* ---- Which calls are changes --------------------------------------------- */

/* Of an ordinary file, not of a pipe, a terminal or memory. */
static bool is_file(pid_t thread, uint64_t fd)
{
    char path[64], target[32];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread, (int)fd);
    ssize_t n = readlink(path, target, sizeof(target) - 1);
    return n > 0 && strncmp(target, "/memfd:", 7) != 0 &&
           stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_write(uint64_t nr)
{
    return nr == SYS_write || nr == SYS_pwrite64;
}

static bool is_change(pid_t thread, uint64_t nr, const uint64_t *args)
{
    switch (nr) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_fsync:
    case SYS_fdatasync:
        return is_file(thread, args[0]);
    case SYS_openat:
        return args[2] & (O_CREAT | O_TRUNC);
#ifdef SYS_open
    case SYS_open:
        return args[1] & (O_CREAT | O_TRUNC);
    case SYS_mkdir:
    case SYS_rename:
    case SYS_unlink:
    case SYS_rmdir:
    case SYS_link:
#endif
    case SYS_mkdirat:
#ifdef SYS_renameat
    case SYS_renameat:
#endif
    case SYS_renameat2:
    case SYS_unlinkat:
    case SYS_linkat:
    case SYS_truncate:
    case SYS_flock:
        return true;
    default:
        return false;
    }
}

/* ---- The end ------------------------------------------------------------- */

static void cut_in_half(pid_t thread)
{
#ifdef __x86_64__
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, thread, NULL, &regs) == 0) {
        regs.rdx /= 2;
        ptrace(PTRACE_SETREGS, thread, NULL, &regs);
    }
#else
    (void)thread;
#endif
}

/* All its threads, and what it has started (PTRACE_O_EXITKILL). */
static int end_all(void)
{
    kill(program, SIGKILL);
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
        ;
    return KILLED;
}

/* A thread stands before or behind a system call. true: it is over. */
static bool stands(pid_t thread, pid_t *dies)
{
    struct __ptrace_syscall_info info;
    memset(&info, 0, sizeof(info));
    ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof(info), &info);
    if (info.op == PTRACE_SYSCALL_INFO_EXIT)
        return thread == *dies;
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY ||
        !is_change(thread, info.entry.nr, (const uint64_t *)info.entry.args))
        return false;
    changes++;
    if (changes != kill_at)
        return false;
    fprintf(stderr, "killed: at change %lu, system call %d\n", changes,
            (int)info.entry.nr);
    if (!half)
        return true;
    if (is_write(info.entry.nr))
        cut_in_half(thread);
    *dies = thread;
    return false;
}

/* ---- The program --------------------------------------------------------- */

static int exit_status(int status)
{
    fprintf(stderr, "changes: %lu\n", changes);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What a stopped thread is to get on its way. */
static int signal_for(int status)
{
    int signal = WSTOPSIG(status);
    bool event = status >> 16 != 0 || signal == (SIGTRAP | 0x80);
    return event || signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
}

static int follow(void)
{
    pid_t dies = 0;
    int status;
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno == EINTR)
            continue;
        if (thread < 0)
            return cannot("wait");
        if (!WIFSTOPPED(status)) {
            if (thread == program)
                return exit_status(status);
            continue;
        }
        if (WSTOPSIG(status) == (SIGTRAP | 0x80) && stands(thread, &dies))
            return end_all();
        ptrace(PTRACE_SYSCALL, thread, NULL,
               (void *)(intptr_t)signal_for(status));
    }
}

int main(int argc, char **argv)
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
                         PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                         PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    int status;
    if (argc < 3)
        return 2;
    half = strncmp(argv[1], "half:", 5) == 0;
    kill_at = strtoul(argv[1] + (half ? 5 : 0), NULL, 10);
    program = fork();
    if (program < 0)
        return cannot("fork");
    if (program == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(cannot("ptrace"));
        raise(SIGSTOP);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (waitpid(program, &status, 0) != program)
        return cannot("wait");
    if (!WIFSTOPPED(status))
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (ptrace(PTRACE_SETOPTIONS, program, NULL, (void *)options) != 0)
        return cannot("PTRACE_SETOPTIONS");
    ptrace(PTRACE_SYSCALL, program, NULL, NULL);
    return follow();
}
