/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three layers. seccomp ends the process at any system call that is not in the
 * table below, which alone keeps it from files, network and other processes.
 * Landlock says the same about files, sockets and signals in the kernel's other
 * words, should a call be overlooked. Limits say how much of what is allowed.
 */
#include "decode/isolate/isolate_confine.h"

#include "base/compiler.h"
#include "base/status.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#  define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#  define ARCH AUDIT_ARCH_AARCH64
#else
#  define ARCH 0 /* nobody has tried it */
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define SANITIZED true
#else
#  define SANITIZED false
#endif

/* ---- seccomp ------------------------------------------------------------ */

/* A call is allowed if argument `arg` & mask is `value`, for both conditions;
 * a mask of 0 asks nothing. */
struct condition {
    uint32_t arg, mask, value;
};
struct allowed {
    uint32_t call;
    struct condition when[2];
};

#define ANY          0xffffffffu
#define ALLOWED_MOST 32

struct program {
    struct sock_filter code[8 + ALLOWED_MOST * 8];
    uint16_t n;
};

static void add(struct program *p, uint16_t code, uint32_t k, uint8_t yes,
                uint8_t no)
{
    p->code[p->n++] = (struct sock_filter){code, yes, no, k};
}

/* The lower half is what all of these arguments are about. */
static uint32_t place_of(uint32_t arg)
{
    uint32_t at = (uint32_t)offsetof(struct seccomp_data, args) + 8 * arg;
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? at + 4 : at;
}

static void add_allowed(struct program *p, const struct allowed *a)
{
    uint8_t length = 1;
    for (size_t i = 0; i < FDL_COUNT_OF(a->when); i++)
        length = (uint8_t)(length + (a->when[i].mask ? 4 : 0));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, a->call, 0, length);
    for (size_t i = 0; i < FDL_COUNT_OF(a->when); i++) {
        const struct condition *c = &a->when[i];
        if (c->mask == 0)
            continue;
        add(p, BPF_LD | BPF_W | BPF_ABS, place_of(c->arg), 0, 0);
        add(p, BPF_ALU | BPF_AND | BPF_K, c->mask, 0, 0);
        add(p, BPF_JMP | BPF_JEQ | BPF_K, c->value, 1, 0);
        add(p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    }
    add(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static void make_program(struct program *p, const struct allowed *a, size_t n)
{
    p->n = 0;
    add(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    add(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    for (size_t i = 0; i < n; i++)
        add_allowed(p, &a[i]);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
}

static int32_t allow_few(int socket)
{
    const uint32_t self = (uint32_t)getpid();
    const struct allowed allowed[] = {
        {SYS_read, {{0, ANY, (uint32_t)socket}}},
        {SYS_write, {{0, ANY, (uint32_t)socket}}},
        /* Memory of its own, that is no code. */
        {SYS_mmap, {{2, PROT_EXEC, 0}, {3, MAP_ANONYMOUS, MAP_ANONYMOUS}}},
        {SYS_mremap, {{0}}},
        {SYS_munmap, {{0}}},
        {SYS_madvise, {{0}}},
        {SYS_brk, {{0}}},
        /* FUTEX_WAIT and FUTEX_WAKE, of pthread_once. */
        {SYS_futex, {{1, ~0x81u, 0}}},
        /* Where the kernel has no clock in user space. */
        {SYS_clock_gettime, {{0}}},
        /* abort(), with the words that it says to nobody. */
        {SYS_writev, {{0, ANY, STDERR_FILENO}}},
        {SYS_rt_sigprocmask, {{0}}},
        {SYS_getpid, {{0}}},
        {SYS_gettid, {{0}}},
        {SYS_tgkill, {{0, ANY, self}}},
        {SYS_rt_sigreturn, {{0}}},
        /* Sanitizers, where a function does not return. */
        {SANITIZED ? SYS_sigaltstack : SYS_exit, {{0}}},
        {SYS_exit, {{0}}},
        {SYS_exit_group, {{0}}},
    };
    struct program program;
    make_program(&program, allowed, FDL_COUNT_OF(allowed));
    const struct sock_fprog filter = {program.n, program.code};
    if (ARCH == 0)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "there is no list of system calls for this processor");
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "seccomp, which has to hold the decoder in: %s",
                        strerror(errno));
    return FEEDLINE_OK;
}

/* ---- Landlock ----------------------------------------------------------- */

/* Newer than the headers of some systems; numbers are the same everywhere. */
#define LANDLOCK_CREATE   444
#define LANDLOCK_RESTRICT 446
#define LANDLOCK_VERSION  1u

struct rules {
    uint64_t files, network, scope;
};

static int refuse_everything(int version)
{
    /* Rights by the version they came with. */
    struct rules all = {0x1fff, 0, 0};
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    if (version >= 2)
        all.files |= 1u << 13; /* moves between folders */
    if (version >= 3)
        all.files |= 1u << 14; /* truncate */
    if (version >= 5)
        all.files |= 1u << 15; /* ioctl of devices */
    if (version >= 4)
        all.network = 3; /* bind, connect */
    if (version >= 6)
        all.scope = 3; /* abstract sockets, signals */
    int rules = (int)syscall(LANDLOCK_CREATE, &all, size, 0);
    if (rules < 0)
        return -1;
    int result = (int)syscall(LANDLOCK_RESTRICT, rules, 0);
    close(rules);
    return result;
}

static int32_t enter_landlock(int32_t *version)
{
    long found = syscall(LANDLOCK_CREATE, NULL, 0, LANDLOCK_VERSION);
    *version = found < 0 ? 0 : (int32_t)found;
    if (*version > 0 && refuse_everything(*version) < 0)
        return fdl_fail(FEEDLINE_EIO, "Landlock: %s", strerror(errno));
    return FEEDLINE_OK;
}

/* ---- Limits ------------------------------------------------------------- */

static int32_t set_limit(__rlimit_resource_t what, uint64_t value)
{
    const struct rlimit limit = {value, value};
    struct rlimit now;
    if (getrlimit(what, &now) == 0 && now.rlim_max < value)
        return FEEDLINE_OK; /* it is tighter */
    if (setrlimit(what, &limit) < 0)
        return fdl_fail(FEEDLINE_EIO, "setrlimit: %s", strerror(errno));
    return FEEDLINE_OK;
}

static int32_t set_limits(uint64_t memory)
{
    int32_t status = set_limit(RLIMIT_NOFILE, 0);
    if (status == FEEDLINE_OK)
        status = set_limit(RLIMIT_FSIZE, 0);
    if (status == FEEDLINE_OK)
        status = set_limit(RLIMIT_CORE, 0);
    if (status == FEEDLINE_OK && !SANITIZED) /* they map more than there is */
        status = set_limit(RLIMIT_DATA, memory);
    return status;
}

int32_t fdl_isolate_confine(int socket, uint64_t memory, int32_t *landlock)
{
    *landlock = 0;
    /* No dumps, which would write what it was given somewhere. */
    if (prctl(PR_SET_DUMPABLE, 0) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return fdl_fail(FEEDLINE_ENOSYS, "prctl: %s", strerror(errno));
    int32_t status = enter_landlock(landlock);
    if (status == FEEDLINE_OK)
        status = set_limits(memory);
    if (status == FEEDLINE_OK)
        status = allow_few(socket);
    return status;
}
