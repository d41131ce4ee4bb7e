/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a program out of a process of many threads, none of whose business it
 * is:
 *
 *     this thread --clone--> between --clone--> feedline-decode
 *       waits for             ends at once        has nobody's child to be
 *
 * Both share our memory until the program begins (as posix_spawn does it), so
 * nothing of it is copied however much that is, and between them only system
 * calls are made. The first one ends without a signal, and wait() without
 * __WALL does not see it. A program that began would end with SIGCHLD to its
 * parent whatever was asked for: hence the one between, with which the parent
 * is gone.
 *
 * Where this process adopts orphans (it is the first of its container), the
 * program becomes its child after all; then it is reaped here, by its
 * descriptor.
 */
#include "decode/isolate/isolate_process.h"

#include "base/compiler.h"
#include "base/status.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM     "feedline-decode"
#define STACK_BYTES 65536
#define PATIENCE_MS 1000

/* The thread sanitizer has a clone() of its own, which takes a child that
 * shares our memory for one of fork(), and then forbids new threads, here. */
#ifdef FDL_TSAN
int __clone(int (*function)(void *), void *stack, int flags, void *arg, ...);
#  define clone __clone
#endif

/* Newer than the headers of some systems. */
#define CALL_PIDFD_SEND_SIGNAL 424
#define CALL_PIDFD_OPEN        434
#define WAIT_BY_PIDFD          3

/* ---- Where it is -------------------------------------------------------- */

/* The file that this code is in: of a program, dladdr knows no more than how it
 * was called. */
static bool own_file(char *path)
{
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)&fdl_isolate_start, &info) &&
        strchr(info.dli_fname, '/') && realpath(info.dli_fname, path))
        return true;
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Beside it, or where an installation has it: the tree may have been moved. */
static int32_t find_program(char *path)
{
    static const char *const places[] = {"", FDL_LIBEXEC_FROM_LIB "/",
                                         "../libexec/feedline/"};
    char own[PATH_MAX];
    const char *given = secure_getenv("FEEDLINE_DECODE_PROGRAM");
    if (given) {
        snprintf(path, PATH_MAX, "%s", given);
        return FEEDLINE_OK;
    }
    if (!own_file(own))
        return fdl_fail(FEEDLINE_EIO, "/proc/self/exe: %s", strerror(errno));
    int folder = (int)(strrchr(own, '/') + 1 - own);
    for (size_t i = 0; i < FDL_COUNT_OF(places); i++) {
        int n =
            snprintf(path, PATH_MAX, "%.*s%s" PROGRAM, folder, own, places[i]);
        if (n < PATH_MAX && access(path, X_OK) == 0)
            return FEEDLINE_OK;
    }
    return fdl_fail(FEEDLINE_ENOENT,
                    "isolate=decode: the program " PROGRAM
                    " is neither in %.*s nor in libexec/feedline beside it; "
                    "it is installed with the library "
                    "(FEEDLINE_DECODE_PROGRAM names another place)",
                    folder, own);
}

/* ---- Start -------------------------------------------------------------- */

/* What the two functions below are told, and tell. */
struct launch {
    const char *path;
    char *const *arguments;
    char *const *environment;
    int area, socket;
    void *stack; /* its end, of the second one */
    int pid;
    int error; /* errno of what this names; 0: it runs */
    const char *failed;
};

/* Shares our memory, with descriptors of its own. */
FDL_UNSANITIZED static int run_program(void *arg)
{
    struct launch *l = arg;
    setsid(); /* what a terminal sends to our group is not meant for it */
    if (fcntl(l->area, F_SETFD, 0) == 0 && fcntl(l->socket, F_SETFD, 0) == 0)
        execve(l->path, l->arguments, l->environment);
    l->error = errno;
    l->failed = l->path;
    syscall(SYS_exit_group, 127);
    return 0;
}

FDL_UNSANITIZED static int run_between(void *arg)
{
    struct launch *l = arg;
    l->pid = clone(run_program, l->stack, CLONE_VM | CLONE_VFORK | SIGCHLD, l);
    if (l->pid < 0)
        l->error = errno;
    else if (l->error)
        waitpid(l->pid, NULL, 0);
    syscall(SYS_exit_group, 0);
    return 0;
}

/* Whether the program runs. */
static bool launch(struct launch *l)
{
    sigset_t all, before;
    char *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) {
        l->error = errno;
        return false;
    }
    l->stack = stacks + STACK_BYTES;
    /* A handler of the program's would run on its memory. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int pid =
        clone(run_between, stacks + 2 * STACK_BYTES, CLONE_VM | CLONE_VFORK, l);
    if (pid < 0)
        l->error = errno;
    while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stacks, 2 * STACK_BYTES);
    return l->error == 0;
}

/* Linux refuses no such flags. QEMU's user mode, which makes system calls for a
 * program, can only do what fork() does, with SIGCHLD in the end. */
static int32_t fail_launch(const struct launch *l)
{
    if (l->error == EINVAL && l->failed != l->path)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "isolate=decode: clone of a process that ends without "
                        "a signal: %s; emulators as QEMU's user mode have no "
                        "such processes: decode on a machine of its own kind, "
                        "or with isolate=off",
                        strerror(l->error));
    return fdl_fail(l->error == ENOMEM ? FEEDLINE_ENOMEM : FEEDLINE_EIO,
                    "isolate=decode: %s: %s", l->failed, strerror(l->error));
}

/* "NAME=value", where this process has it, in turn: what the dynamic linker and
 * a sanitizer go by. Nothing else of ours is the decoder's business. */
#define PASSED_ON 5
static void choose_environment(char *out[PASSED_ON + 1])
{
    static const char *const names[PASSED_ON] = {
        "LD_LIBRARY_PATH=", "FDL_CPU_MASK=", "ASAN_OPTIONS=", "TSAN_OPTIONS=",
        "UBSAN_OPTIONS="};
    size_t n = 0;
    for (size_t i = 0; i < PASSED_ON; i++)
        for (char **e = environ; *e; e++)
            if (strncmp(*e, names[i], strlen(names[i])) == 0) {
                out[n++] = *e;
                break;
            }
    out[n] = NULL;
}

/* theirs: its end of the socket. */
static int32_t start_program(int area, int theirs,
                             struct fdl_isolate_process *p)
{
    char path[PATH_MAX], numbers[3][16];
    char *environment[PASSED_ON + 1];
    char *arguments[] = {path, numbers[0], numbers[1], numbers[2], NULL};
    int32_t status = find_program(path);
    if (status < 0)
        return status;
    snprintf(numbers[0], sizeof(numbers[0]), "%d", area);
    snprintf(numbers[1], sizeof(numbers[1]), "%d", theirs);
    snprintf(numbers[2], sizeof(numbers[2]), "%d", (int)getpid());
    choose_environment(environment);
    struct launch l = {.path = path,
                       .arguments = arguments,
                       .environment = environment,
                       .area = area,
                       .socket = theirs,
                       .failed = "a process for the decoder"};
    if (!launch(&l))
        return fail_launch(&l);
    p->pid = l.pid;
    return FEEDLINE_OK;
}

int32_t fdl_isolate_start(int area, struct fdl_isolate_process *out)
{
    struct fdl_isolate_process p = {-1, -1, 0};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return fdl_fail(FEEDLINE_EIO, "isolate=decode: socketpair: %s",
                        strerror(errno));
    p.socket = ends[0];
    int32_t status = start_program(area, ends[1], &p);
    close(ends[1]);
    if (status < 0) {
        close(p.socket);
        return status;
    }
    p.pidfd = (int)syscall(CALL_PIDFD_OPEN, p.pid, 0);
    if (p.pidfd < 0) {
        status = fdl_fail(errno == ENOSYS ? FEEDLINE_ENOSYS : FEEDLINE_EIO,
                          "isolate=decode: pidfd_open, which Linux has since "
                          "5.3: %s",
                          strerror(errno));
        fdl_isolate_end(&p);
        return status;
    }
    *out = p;
    return FEEDLINE_OK;
}

/* ---- End ---------------------------------------------------------------- */

static bool wait_end(int pidfd)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    int n;
    do
        n = poll(&end, 1, PATIENCE_MS);
    while (n < 0 && errno == EINTR);
    return n > 0;
}

void fdl_isolate_end(struct fdl_isolate_process *p)
{
    siginfo_t how;
    /* Not only closed: a fork of this process may have it as well. */
    shutdown(p->socket, SHUT_RDWR);
    close(p->socket);
    if (p->pidfd < 0)
        return;
    if (!wait_end(p->pidfd)) { /* it was stopped, say */
        syscall(CALL_PIDFD_SEND_SIGNAL, p->pidfd, SIGKILL, NULL, 0);
        wait_end(p->pidfd);
    }
    waitid((idtype_t)WAIT_BY_PIDFD, (id_t)p->pidfd, &how,
           WEXITED | WNOHANG | __WALL);
    close(p->pidfd);
}
