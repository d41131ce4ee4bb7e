/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th call that a decoder's process is made with fails, for each n: an
 * error with words, or none; nothing is left; and it works the next time. */
#include "tests/decode/isolate/decoders.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"
#include "wrap.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Of the calls below, from the next one on; 0: none fails. */
static uint32_t fails_at, calls;

static bool fails(void)
{
    errno = ENOMEM;
    return ++calls == fails_at;
}

WRAP(void *, calloc, size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

WRAP(void *, mmap, void *at, size_t n, int may, int flags, int fd, off_t from)
{
    return fails() ? MAP_FAILED : __real_mmap(at, n, may, flags, fd, from);
}

WRAP(int, memfd_create, const char *name, unsigned flags)
{
    return fails() ? -1 : __real_memfd_create(name, flags);
}

WRAP(int, ftruncate, int fd, off_t size)
{
    return fails() ? -1 : __real_ftruncate(fd, size);
}

WRAP(int, socketpair, int domain, int type, int protocol, int *ends)
{
    return fails() ? -1 : __real_socketpair(domain, type, protocol, ends);
}

WRAP(ssize_t, send, int fd, const void *data, size_t n, int flags)
{
    return fails() ? -1 : __real_send(fd, data, n, flags);
}

WRAP(ssize_t, recv, int fd, void *data, size_t n, int flags)
{
    return fails() ? -1 : __real_recv(fd, data, n, flags);
}

/* Those below run between clone and exec, too, and are not looked at then. */
int __real_fcntl(int fd, int command, ...);
__attribute__((no_sanitize_thread, no_sanitize_address)) int __wrap_fcntl(
    int fd, int command, long value);
__attribute__((no_sanitize_thread, no_sanitize_address)) int __wrap_fcntl(
    int fd, int command, long value)
{
    return fails() ? -1 : __real_fcntl(fd, command, value);
}

int __real_clone(int (*run)(void *), void *stack, int flags, void *arg, ...);
__attribute__((no_sanitize_thread, no_sanitize_address)) int __wrap_clone(
    int (*run)(void *), void *stack, int flags, void *arg);
__attribute__((no_sanitize_thread, no_sanitize_address)) int __wrap_clone(
    int (*run)(void *), void *stack, int flags, void *arg)
{
    return fails() ? -1 : __real_clone(run, stack, flags, arg);
}

static uint32_t open_descriptors(void)
{
    uint32_t n = 0;
    DIR *fds = opendir("/proc/self/fd");
    assert_non_null(fds);
    while (readdir(fds))
        n++;
    closedir(fds);
    return n;
}

/* A decoder's life with two images, as far as it comes. */
static int32_t live(const struct fdl_encoded *bytes)
{
    const struct fdl_decode_limits limits = {
        .isolate = true, .max_pixels = 10000, .max_scans = 10};
    struct fdl_decoder *d;
    int32_t status = fdl_decoder_create(&limits, &d);
    for (int i = 0; i < 2 && status == FEEDLINE_OK; i++) {
        uint8_t out[16 * 16 * 3];
        struct fdl_render_cost cost;
        status = rig_decode(d, bytes, (struct fdl_box){0, 0, 64, 48}, 16, out,
                            &cost);
    }
    if (status < 0)
        assert_true(strlen(fdl_last_error()) > 10);
    fdl_decoder_destroy(d);
    return status;
}

TEST(every_call_fails_in_turn)
{
    struct make_jpeg m = {.width = 64, .height = 48, .components = 3};
    size_t size;
    uint8_t *file = make_jpeg(&m, &size);
    struct fdl_encoded bytes = file_of(file, size);
    pid_t found;
    decoders_need_seccomp();
    setenv("FEEDLINE_DECODE_PROGRAM", TEST_DECODE_PROGRAM, 1);
    assert_int_equal(live(&bytes), FEEDLINE_OK);
    uint32_t before = open_descriptors(), errors = 0;
    for (uint32_t n = 1;; n++) {
        calls = 0;
        fails_at = n;
        errors += live(&bytes) < 0;
        fails_at = 0;
        assert_int_equal(open_descriptors(), before);
        assert_int_equal(decoders_find(getpid(), true, &found, 1), 0);
        if (calls < n)
            break;
    }
    assert_true(errors > 8);
    assert_int_equal(live(&bytes), FEEDLINE_OK);
    free(file);
}

TEST_MAIN("isolate_fault")
