/* SPDX-License-Identifier: Apache-2.0 */
/* Machines whose kernels, or containers, lack something: decoders are held in
 * without it, or an error says what is missing; nothing is left out in silence.
 */
#include "base/log.h"
#include "tests/decode/isolate/decoders.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ANY      UINT32_MAX
#define LANDLOCK 444
#define PIDFD    434
#define CLOSING  436

/* From here on a system call, with that first argument, fails in this process
 * and in those that it starts. */
static void lose(uint32_t call, uint32_t argument, uint32_t error)
{
    const uint32_t at = offsetof(struct seccomp_data, args);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argument, 0,
                 argument == ANY ? 0 : 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {FDL_COUNT_OF(code), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        test_skip("seccomp: %s", strerror(errno));
}

/* Of an image, and of a decoder for it. */
static int32_t decode(void)
{
    const struct fdl_decode_limits limits = {
        .isolate = true, .max_pixels = 10000, .max_scans = 10};
    struct make_jpeg m = {.width = 64, .height = 48, .components = 3};
    size_t size;
    uint8_t *file = make_jpeg(&m, &size), out[16 * 16 * 3];
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_render_cost cost;
    struct fdl_decoder *d;
    setenv("FEEDLINE_DECODE_PROGRAM", TEST_DECODE_PROGRAM, 1);
    fdl_log_set_level(FDL_LOG_INFO);
    int32_t status = fdl_decoder_create(&limits, &d);
    if (status == FEEDLINE_OK)
        status = rig_decode(d, &bytes, (struct fdl_box){0, 0, 64, 48}, 16, out,
                            &cost);
    fdl_decoder_destroy(d);
    free(file);
    return status;
}

static void check_missing(int32_t status, const char *words)
{
    pid_t found;
    int32_t got = decode();
    if (got != status)
        fail_msg("%d: %s, not %d", got, fdl_last_error(), status);
    if (!strstr(fdl_last_error(), words))
        fail_msg("%s: not a word of %s", fdl_last_error(), words);
    /* What cannot be waited for ends a moment later. */
    while (decoders_find(getpid(), true, &found, 1) > 0)
        sched_yield();
}

TEST(without_seccomp_nothing_is_decoded)
{
    lose(SYS_prctl, PR_SET_SECCOMP, EINVAL);
    check_missing(FEEDLINE_ENOSYS, "isolate=decode: seccomp, which has to");
}

TEST(without_pidfd_nothing_is_decoded)
{
    lose(PIDFD, ANY, ENOSYS);
    check_missing(FEEDLINE_ENOSYS, "pidfd_open, which Linux has since 5.3");
}

TEST(without_memfd_nothing_is_decoded)
{
    lose(SYS_memfd_create, ANY, ENOSYS);
    check_missing(FEEDLINE_ENOSYS, "memory of");
}

TEST(without_processes_nothing_is_decoded)
{
    if (TEST_SANITIZED)
        test_skip("a sanitizer looks for leaks in a process of its own");
    lose(SYS_clone, ANY, EAGAIN);
    check_missing(FEEDLINE_EIO, "temporarily unavailable");
}

/* As in QEMU's user mode. */
TEST(without_ends_in_silence_nothing_is_decoded)
{
    lose(SYS_clone, CLONE_VM | CLONE_VFORK, EINVAL);
    check_missing(FEEDLINE_ENOSYS, "isolate=decode: clone of a process that");
}

TEST(without_landlock_seccomp_is_enough)
{
    char log[4096];
    uint64_t needed;
    lose(LANDLOCK, ANY, ENOSYS);
    assert_int_equal(decode(), FEEDLINE_OK);
    assert_true(fdl_log_read(log, sizeof(log), &needed) >= 0);
    assert_non_null(strstr(log, "by seccomp alone"));
}

TEST(without_close_range_it_works)
{
    lose(CLOSING, ANY, ENOSYS);
    assert_int_equal(decode(), FEEDLINE_OK);
}

TEST_MAIN("machines")
