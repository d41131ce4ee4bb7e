/* SPDX-License-Identifier: Apache-2.0 */
/* The check of the order of locks, which this file compiles in every build. */
#ifndef FDL_LOCK_ORDER
#  define FDL_LOCK_ORDER
#endif
#include "base/lock.c"
#include "test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fdl_lock run, books, ring;

static void setup(void)
{
    fdl_lock_init(&run, FDL_RANK_RUN);
    fdl_lock_init(&books, FDL_RANK_BOOKS);
    fdl_lock_init(&ring, FDL_RANK_RING);
}

static void teardown(void)
{
    fdl_lock_destroy(&ring);
    fdl_lock_destroy(&books);
    fdl_lock_destroy(&run);
}

/* Whether this ends the process that does it. */
static bool is_refused(void (*what)(void))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit none = {0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL); /* cmocka's */
        what();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void up_and_down(void)
{
    for (int i = 0; i < 100; i++) {
        fdl_lock(&run);
        fdl_lock(&books);
        fdl_lock(&ring);
        fdl_unlock(&books);
        fdl_unlock(&run);
        fdl_unlock(&ring);
    }
    fdl_lock(&run);
    fdl_unlock(&run);
}

static void against_the_order(void)
{
    fdl_lock(&ring);
    fdl_lock(&books);
}

static void twice(void)
{
    fdl_lock(&books);
    fdl_lock(&books);
}

static void below_one_that_is_still_held(void)
{
    fdl_lock(&run);
    fdl_lock(&ring);
    fdl_unlock(&run);
    fdl_lock(&books);
}

static void against_the_order_without_waiting(void)
{
    fdl_lock(&ring);
    if (!fdl_trylock(&run))
        _exit(1);
    fdl_unlock(&run);
    fdl_unlock(&ring);
}

static void behind_one_that_was_only_tried(void)
{
    if (fdl_trylock(&ring))
        fdl_lock(&books);
}

static void one_that_is_not_held(void)
{
    fdl_lock(&run);
    fdl_unlock(&books);
}

static void one_that_was_never_made(void)
{
    static struct fdl_lock zeroes;
    fdl_lock(&zeroes);
}

TEST_WITH(the_order_is_kept, setup, teardown)
{
    assert_false(is_refused(up_and_down));
    assert_false(is_refused(against_the_order_without_waiting));
    up_and_down(); /* this thread holds nothing behind it */
    assert_int_equal(n_held, 0);
}

TEST_WITH(what_breaks_the_order_ends_the_process, setup, teardown)
{
    assert_true(is_refused(against_the_order));
    assert_true(is_refused(twice));
    assert_true(is_refused(below_one_that_is_still_held));
    assert_true(is_refused(behind_one_that_was_only_tried));
    assert_true(is_refused(one_that_is_not_held));
    assert_true(is_refused(one_that_was_never_made));
}

TEST_MAIN("base_lock")
