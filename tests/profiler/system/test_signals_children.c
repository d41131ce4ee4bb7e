/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes: from machines laid out as files, and real ones that this
 * test starts.
 */
#include "base/compiler.h"
#include "machine_files.h"
#include "profiler/system/signals.h"
#include "test.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS UINT64_C(10000000) /* USER_HZ is 100 on Linux */

static struct fdl_children_signals read_root(const char *where)
{
    struct fdl_signals *s = NULL;
    struct fdl_children_signals c;
    memset(&c, 0xa5, sizeof(c));
    assert_int_equal(fdl_signals_open(where, &s), 0);
    fdl_signals_children(s, &c);
    fdl_signals_close(s);
    return c;
}

/* The children that thread `tid` of process `pid` started. */
static void put_children(const char *pid, int tid, const char *children)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%s/task/%d/children", pid, tid);
    put(path, children);
}

/* utime, stime, cutime and cstime, in ticks; any name. */
static void put_times(const char *pid, const char *name, const char *times)
{
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    snprintf(text, sizeof(text),
             "%s (%s) S 1 12 12 0 -1 4194304 80 0 0 0 %s 20 0 1 0\n", pid, name,
             times);
    put(path, text);
}

static void put_queued(const char *pid, const char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%s/schedstat", pid);
    put(path, text);
}

TEST_WITH(no_process_is_no_child, setup, teardown)
{
    struct fdl_children_signals c = read_root(root);
    assert_int_equal(c.processes, 0);
    assert_int_equal(c.cpu_ns, 0);
    assert_int_equal(c.queued_ns, 0);
}

/* Of all threads, each child's four times, and ours of those that ended. */
TEST_WITH(children_of_every_thread_add_up, setup, teardown)
{
    put_times("self", "python3", "1000 1000 3 4");
    put_children("self", 12, "21 22 ");
    put_children("self", 13, "");
    put_children("self", 14, "23 ");
    put_times("21", "pt_main_thread", "10 20 0 0");
    put_times("22", "a (b) c", "100 200 1000 2000");
    put_times("23", ") S 1 1 1", "1 1 1 1");
    put_queued("21", "999 500 7\n");
    put_queued("23", "999 70 7\n");
    struct fdl_children_signals c = read_root(root);
    assert_int_equal(c.processes, 3);
    assert_int_equal(c.cpu_ns, (7u + 30u + 3300u + 4u) * TICK_NS);
    assert_int_equal(c.queued_ns, 570);
}

/* Workers of a fork server are its children. */
TEST_WITH(grandchildren_count, setup, teardown)
{
    put_times("self", "python3", "0 0 0 0");
    put_children("self", 12, "21 ");
    put_times("21", "forkserver", "1 0 5 0");
    put_children("21", 21, "31 32 ");
    put_times("31", "worker", "10 0 0 0");
    put_times("32", "worker", "20 0 0 0");
    put_queued("31", "1 100 1\n");
    put_queued("32", "1 200 1\n");
    struct fdl_children_signals c = read_root(root);
    assert_int_equal(c.processes, 3);
    assert_int_equal(c.cpu_ns, 36u * TICK_NS);
    assert_int_equal(c.queued_ns, 300);
}

/* A process that lists itself among its children ends the walk all the same. */
TEST_WITH(a_circle_ends, setup, teardown)
{
    put_children("self", 12, "21 ");
    put_times("21", "odd", "1 0 0 0");
    put_children("21", 21, "21 ");
    struct fdl_children_signals c = read_root(root);
    assert_int_equal(c.processes, 3); /* generations */
}

/* One that ended while it was looked at, and files that make no sense. */
TEST_WITH(what_cannot_be_read_is_left_out, setup, teardown)
{
    static const char *const broken[] = {"", "21", "21 (x", "21 (x) S 1 2 3",
                                         "21 (x) S 1 1 1 0 -1 4 8 0 0 0 3 x"};
    put_children("self", 12, "20 21 22 12345678901 ");
    put_times("22", "worker", "2 0 0 0");
    for (size_t i = 0; i < FDL_COUNT_OF(broken); i++) {
        put("/proc/21/stat", broken[i]);
        struct fdl_children_signals c = read_root(root);
        assert_int_equal(c.processes, 1);
        assert_int_equal(c.cpu_ns, 2u * TICK_NS);
    }
    put_queued("22", "x y\n");
    assert_int_equal(read_root(root).queued_ns, 0);
}

/* A child that ended and was waited for is in its parent's sums. */
TEST_WITH(the_sum_does_not_fall, setup, teardown)
{
    put_times("self", "python3", "0 0 1 0");
    put_children("self", 12, "21 22 ");
    put_times("21", "worker", "10 0 0 0");
    put_times("22", "worker", "20 0 0 0");
    uint64_t before = read_root(root).cpu_ns;
    put_times("self", "python3", "0 0 11 0");
    put_children("self", 12, "22 ");
    struct fdl_children_signals c = read_root(root);
    assert_int_equal(c.processes, 1);
    assert_int_equal(c.cpu_ns, before);
}

/* ---- Real ones ----------------------------------------------------------- */

static uint64_t own_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Computes for ten ticks, and says so. */
static void be_a_worker(int tell)
{
    while (own_cpu_ns() < 10 * TICK_NS)
        ;
    if (write(tell, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

TEST(a_real_child)
{
    int told[2];
    char byte;
    if (access("/proc/thread-self/children", R_OK) != 0)
        test_skip("this kernel does not list children");
    assert_int_equal(pipe(told), 0);
    struct fdl_children_signals before = read_root("");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        be_a_worker(told[1]);
    assert_int_equal(read(told[0], &byte, 1), 1);
    struct fdl_children_signals during = read_root("");
    assert_int_equal(during.processes, before.processes + 1);
    assert_true(during.cpu_ns >= before.cpu_ns + 8 * TICK_NS);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct fdl_children_signals after = read_root("");
    assert_int_equal(after.processes, before.processes);
    /* The kernel's sums are scaled to ticks one by one. */
    assert_true(after.cpu_ns + 2 * TICK_NS >= during.cpu_ns);
    close(told[0]);
    close(told[1]);
}

TEST_MAIN("signals_children")
