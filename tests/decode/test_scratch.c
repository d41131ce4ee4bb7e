/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a decoder's own, which loops without the thread sanitizer work on:
 * two threads that have it at once are reported all the same. Each race is
 * planted in a process of its own, the same without a race in another.
 */
#include "decode/formats/arena.h"
#include "decode/kernels/resample.h"
#include "decode/pixels/scratch.h"
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES    4096
#define REPORTED 66 /* exit status of a process with a report */

static struct fdl_scratch scratch;
static struct fdl_arena arena;
static struct fdl_axis axis;
static void *taken;
static _Atomic bool is_taken;

/* Each for a second image, so that nothing is allocated any more. */
static void *take_scratch(void)
{
    assert_int_equal(fdl_scratch_grow(&scratch, BYTES, "a test"), 0);
    return scratch.data;
}

static void *take_arena(void)
{
    fdl_arena_reset(&arena);
    return fdl_arena_take(&arena, BYTES);
}

static void *take_weights(void)
{
    static bool mirror;
    const struct fdl_axis_key key = {
        .in = 100, .out = 40, .count = 40, .mirror = mirror = !mirror};
    assert_int_equal(fdl_axis_prepare(&axis, &key), 0);
    return axis.memory;
}

static void *take_on_thread(void *take)
{
    taken = (*(void *(**)(void))take)();
    atomic_store_explicit(&is_taken, true, memory_order_relaxed);
    return NULL;
}

/* Another thread takes it; this one writes to it, after a join or at once. */
static void share(void *(*take)(void), bool joins)
{
    pthread_t thread;
    uint8_t *own = take();
    own = take();
    own[1] = 1;
    assert_int_equal(pthread_create(&thread, NULL, take_on_thread, &take), 0);
    while (!atomic_load_explicit(&is_taken, memory_order_relaxed))
        sched_yield();
    if (joins)
        pthread_join(thread, NULL);
    own[1] = 2;
    if (!joins)
        pthread_join(thread, NULL);
}

/* The exit status of this case in a process of its own, which plants. */
static int run_planted(const char *name, const char *how)
{
    extern char **environ;
    posix_spawn_file_actions_t quiet;
    char *const argv[] = {(char *)(uintptr_t) "test_scratch",
                          (char *)(uintptr_t)name, NULL};
    pid_t child;
    int status;
    setenv("FDL_TEST_PLANT", how, 1);
    setenv("TSAN_OPTIONS", "halt_on_error=1 exitcode=66", 1);
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    assert_int_equal(
        posix_spawn(&child, "/proc/self/exe", &quiet, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&quiet);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void check(const char *name, void *(*take)(void))
{
#ifdef FDL_TSAN
    const char *how = getenv("FDL_TEST_PLANT");
    if (how) {
        share(take, strcmp(how, "join") == 0);
        return;
    }
    assert_int_equal(run_planted(name, "join"), 0);
    assert_int_equal(run_planted(name, "race"), REPORTED);
#else
    (void)name;
    (void)run_planted;
    share(take, true);
    test_skip("a race is seen by the thread sanitizer alone");
#endif
}

TEST(a_race_on_scratch_memory_is_seen)
{
    check("a_race_on_scratch_memory_is_seen", take_scratch);
}

TEST(a_race_on_an_arena_is_seen)
{
    check("a_race_on_an_arena_is_seen", take_arena);
}

TEST(a_race_on_weights_is_seen)
{
    check("a_race_on_weights_is_seen", take_weights);
}

TEST_MAIN("scratch")
