/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation, mapping or thread of a backend is missing, for each n:
 * a clean code and nothing left behind. */
#include "base/status.h"
#include "test.h"
#include "tests/wrap.h"
#include "transfer/backend.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/types.h>

static int nth; /* 0: none */

static int is_nth(void)
{
    return nth > 0 && --nth == 0;
}

WRAP(void *, malloc, size_t bytes)
{
    return is_nth() ? NULL : __real_malloc(bytes);
}

WRAP(void *, calloc, size_t n, size_t bytes)
{
    return is_nth() ? NULL : __real_calloc(n, bytes);
}

WRAP(void *, mmap, void *at, size_t bytes, int prot, int flags, int fd,
     off_t offset)
{
    return is_nth() ? MAP_FAILED
                    : __real_mmap(at, bytes, prot, flags, fd, offset);
}

WRAP(int, pthread_create, pthread_t *out, const pthread_attr_t *attr,
     void *(*run)(void *), void *arg)
{
    return is_nth() ? EAGAIN : __real_pthread_create(out, attr, run, arg);
}

TEST(fake_create_fails_cleanly)
{
    static const int32_t expected[] = {FEEDLINE_ENOMEM, FEEDLINE_ENOMEM,
                                       FEEDLINE_ESTATE};
    for (int n = 1; n <= 3; n++) {
        void *backend = NULL;
        nth = n;
        assert_int_equal(fdl_backend_fake.create(NULL, &backend),
                         expected[n - 1]);
        assert_int_equal(nth, 0);
        assert_null(backend);
        assert_string_not_equal(fdl_last_error(), "");
    }
}

TEST(slabs_fail_cleanly)
{
    void *backend = NULL;
    struct fdl_slab slab = {.bytes = 7};
    nth = 1;
    assert_int_equal(fdl_backend_host.slab_alloc(NULL, 100, &slab),
                     FEEDLINE_ENOMEM);
    assert_int_equal(fdl_backend_fake.create(NULL, &backend), FEEDLINE_OK);
    for (int n = 1; n <= 2; n++) {
        nth = n;
        assert_int_equal(fdl_backend_fake.slab_alloc(backend, 100, &slab),
                         FEEDLINE_ENOMEM);
        assert_int_equal(nth, 0);
    }
    assert_int_equal(slab.bytes, 7);
    assert_string_equal(fdl_last_error(),
                        "out of memory: 100 bytes for a batch");
    fdl_backend_fake.destroy(backend);
}

static void never(struct fdl_transfer *t, int32_t status, const char *reason)
{
    (void)status;
    (void)reason;
    *(int *)t->user += 1;
}

TEST(a_refused_submit_is_never_done)
{
    void *backend = NULL;
    struct fdl_slab slab;
    int calls = 0;
    assert_int_equal(fdl_backend_fake.create(NULL, &backend), FEEDLINE_OK);
    assert_int_equal(fdl_backend_fake.slab_alloc(backend, 100, &slab),
                     FEEDLINE_OK);
    struct fdl_transfer t = {
        .slab = &slab, .bytes = 100, .done = never, .user = &calls};
    nth = 1;
    assert_int_equal(fdl_backend_fake.submit(backend, &t), FEEDLINE_ENOMEM);
    assert_int_equal(nth, 0);
    fdl_backend_fake.destroy(backend);
    assert_int_equal(calls, 0);
    fdl_backend_fake.slab_free(NULL, &slab);
}

TEST_MAIN("backend_fault")
