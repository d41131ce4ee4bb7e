/* SPDX-License-Identifier: Apache-2.0 */
/* What holds a decoder in: each thing that it may not do is tried by a process
 * that is held in as a decoder is, and ends it. */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/isolate/isolate_confine.h"
#include "tests/decode/isolate/decoders.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MEMORY (UINT64_C(1) << 28)

/* How a process ends that is held in and then does `what`, with its end of a
 * socket; 0: by itself. */
static int end_of(void (*what)(int socket))
{
    int ends[2], how;
    int32_t landlock;
    decoders_need_seccomp();
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (fdl_isolate_confine(ends[1], MEMORY, &landlock) != FEEDLINE_OK)
            _exit(1);
        what(ends[1]);
        syscall(SYS_exit_group, 0);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    close(ends[0]);
    close(ends[1]);
    if (WIFEXITED(how))
        assert_int_equal(WEXITSTATUS(how), 0);
    return WIFSIGNALED(how) ? WTERMSIG(how) : 0;
}

/* ---- Refused ------------------------------------------------------------- */

static void opens(int socket)
{
    (void)socket;
    (void)open("/etc/passwd", O_RDONLY);
}

static void connects(int socket_)
{
    (void)socket_;
    (void)socket(AF_INET, SOCK_STREAM, 0);
}

static void passes_on(int socket)
{
    struct msghdr message = {0};
    (void)sendmsg(socket, &message, 0);
}

static void reads_another(int socket)
{
    char byte;
    (void)!read(socket + 1, &byte, 1);
}

static void writes_another(int socket)
{
    (void)!write(socket - 1, "", 1);
}

static void starts(int socket)
{
    char *const none[] = {NULL};
    (void)socket;
    (void)execve("/bin/true", none, none);
}

static void forks(int socket)
{
    (void)socket;
    syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void kills(int socket)
{
    (void)socket;
    kill(getppid(), 0);
}

static void kills_thread(int socket)
{
    (void)socket;
    syscall(SYS_tgkill, getpid() - 1, getpid() - 1, SIGTERM);
}

static void traces(int socket)
{
    (void)socket;
    ptrace(PTRACE_ATTACH, 1, 0, 0);
}

static void maps_code(int socket)
{
    (void)socket;
    (void)!mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
}

static void maps_file(int socket)
{
    (void)!mmap(NULL, 4096, PROT_READ, MAP_SHARED, socket, 0);
}

static void makes_code(int socket)
{
    static char page[8192];
    (void)socket;
    mprotect((void *)((uintptr_t)(page + 4095) & ~(uintptr_t)4095), 4096,
             PROT_READ | PROT_EXEC);
}

static void asks_for_keys(int socket)
{
    (void)socket;
    syscall(SYS_add_key, 0, 0, 0, 0, 0);
}

static void loosens(int socket)
{
    (void)socket;
    prctl(PR_SET_DUMPABLE, 1);
}

static void unshares(int socket)
{
    (void)socket;
    unshare(CLONE_NEWUSER);
}

static void sleeps(int socket)
{
    struct timespec t = {0, 1};
    (void)socket;
    nanosleep(&t, NULL);
}

#if defined(__x86_64__)
/* The same call by the table of another architecture. */
static void calls_as_32_bits(int socket)
{
    long number = 5; /* open */
    (void)socket;
    __asm__ volatile("int $0x80"
                     : "+a"(number)
                     : "b"(0), "c"(0), "d"(0)
                     : "memory");
}

static void calls_as_x32(int socket)
{
    (void)socket;
    syscall(0x40000000 | SYS_open, 0, 0, 0);
}
#endif

TEST(what_it_may_not_do_ends_it)
{
    static void (*const refused[])(int) = {
        opens,
        connects,
        passes_on,
        reads_another,
        writes_another,
        starts,
        forks,
        kills,
        kills_thread,
        traces,
        maps_code,
        maps_file,
        makes_code,
        asks_for_keys,
        loosens,
        unshares,
        sleeps,
#if defined(__x86_64__)
        calls_as_32_bits,
        calls_as_x32,
#endif
    };
    for (size_t i = 0; i < FDL_COUNT_OF(refused); i++) {
        int how = end_of(refused[i]);
        if (how != SIGSYS)
            fail_msg("number %zu: signal %d, not SIGSYS", i, how);
    }
}

/* ---- Allowed ------------------------------------------------------------- */

static void works(int socket)
{
    char *some = malloc(100), *much = malloc(1 << 24);
    struct timespec t;
    if (!some || !much || clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        syscall(SYS_exit_group, 1);
    memset(much, 1, 1 << 24);
    much = realloc(much, 1 << 25);
    if (!much || write(socket, "a", 1) != 1)
        syscall(SYS_exit_group, 1);
    free(much);
    free(some);
}

static void aborts(int socket)
{
    (void)socket;
    abort();
}

TEST(what_it_has_to_do_it_may)
{
    assert_int_equal(end_of(works), 0);
    assert_int_equal(end_of(aborts), SIGABRT);
}

static void takes_too_much(int socket)
{
    (void)socket;
    if (malloc(2 * MEMORY))
        syscall(SYS_exit_group, 1);
}

TEST(memory_ends_at_its_limit)
{
    if (TEST_SANITIZED)
        test_skip("a sanitizer has a malloc of its own, without that limit");
    assert_int_equal(end_of(takes_too_much), 0);
}

/* ---- Landlock alone ------------------------------------------------------ */

TEST(landlock_is_asked_where_there_is_one)
{
    int32_t landlock;
    long version = syscall(444, NULL, 0, 1u);
    decoders_need_seccomp();
    pid_t pid = fork();
    if (pid == 0) {
        int32_t status = fdl_isolate_confine(0, MEMORY, &landlock);
        syscall(SYS_exit_group, status == FEEDLINE_OK ? landlock : 99);
    }
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), version < 0 ? 0 : version);
}

TEST_MAIN("confine")
