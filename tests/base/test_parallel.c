/* SPDX-License-Identifier: Apache-2.0 */
/* Work on many things at once: each once, errors in order, few threads. */
#include "base/parallel.h"
#include "base/status.h"
#include "test.h"
#include "tests/wrap.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define N 1000

static bool refuse;
WRAP(int, pthread_create, pthread_t *handle, const pthread_attr_t *attr,
     void *(*run)(void *), void *arg)
{
    return refuse ? EAGAIN : __real_pthread_create(handle, attr, run, arg);
}

static _Atomic uint32_t calls[N];
static uint64_t first_bad = UINT64_MAX;

static int32_t work(void *arg, uint64_t i)
{
    assert_ptr_equal(arg, calls);
    atomic_fetch_add_explicit(&calls[i], 1, memory_order_relaxed);
    if (i >= first_bad)
        return fdl_fail(FEEDLINE_EIO, "number %d", (int)i);
    return FEEDLINE_OK;
}

static void each_was_called(uint64_t n)
{
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(atomic_load(&calls[i]), i < n ? 1 : 0);
}

TEST(each_is_called_once)
{
    assert_int_equal(fdl_parallel("test", N, work, calls), FEEDLINE_OK);
    each_was_called(N);
    assert_int_equal(fdl_parallel("test", 0, work, calls), FEEDLINE_OK);
}

TEST(works_without_threads)
{
    refuse = true;
    assert_int_equal(fdl_parallel("test", N, work, calls), FEEDLINE_OK);
    each_was_called(N);
    assert_string_equal(fdl_last_error(), "");
}

TEST(the_first_error_is_told)
{
    first_bad = 7;
    assert_int_equal(fdl_parallel("test", N, work, calls), FEEDLINE_EIO);
    assert_string_equal(fdl_last_error(), "number 7");
}

TEST(as_many_as_asked_for)
{
    assert_int_equal(fdl_parallel_waits("test", 1000, N, work, calls),
                     FEEDLINE_OK);
    each_was_called(N);
}

TEST_MAIN("parallel")
