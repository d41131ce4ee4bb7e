/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaders that share cores: what is left for one more, by closed forms; others
 * that are found, read and forgotten; and a loader that takes no more than its
 * share. The others are pages with invented numbers, in this process and in
 * children; which of them draw from the same grant is laid out as files, so
 * that loaders of other tests are none.
 */
#include "base/clock.h"
#include "control_rig.h"
#include "dice.h"
#include "loader/loader.h"
#include "loader/stream/engine_own.h"
#include "loader/tune/control_own.h"
#include "loader/tune/neighbours.h"
#include "loader/watch/live_page.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND 1000000000

static struct fixture images;
static char root[128];

static void setup(void)
{
    fixture_create(&images, 8);
    snprintf(root, sizeof(root), "%s/machine", images.folder);
}

static void teardown(void)
{
    fixture_remove(&images);
}

/* ---- What is left -------------------------------------------------------- */

static void near(double is, double expected)
{
    if (!(fabs(is - expected) < 1e-9))
        fail_msg("%.12g is not %.12g", is, expected);
}

TEST_WITH(shares, setup, teardown)
{
    double greedy[] = {2, 2}, queueing[] = {4, 3}, idle[] = {0, 0};
    double modest[] = {0.3}, mixed[] = {2, 0.3, 1}, even[] = {1.5, 1.5};
    near(fdl_neighbours_share(2, NULL, 0), 2);
    near(fdl_neighbours_share(2, greedy, 2), 2.0 / 3);
    near(fdl_neighbours_share(2, queueing, 2), 2.0 / 3);
    near(fdl_neighbours_share(2, idle, 2), 2);
    near(fdl_neighbours_share(2, modest, 1), 1.7);
    near(fdl_neighbours_share(4, mixed, 3), 1.35); /* 0.3 + 1 + 2 * 1.35 */
    near(fdl_neighbours_share(4.5, even, 2), 1.5); /* all at the level */
    near(fdl_neighbours_share(0.5, greedy, 2), 0.5 / 3);
}

/* Everybody has what he wants or the level, and nothing is left over. */
TEST_WITH(nothing_is_left_over, setup, teardown)
{
    struct dice dice = {20261121};
    for (uint32_t round = 0; round < 2000; round++) {
        double wants[FDL_NEIGHBOURS_MAX];
        uint32_t n = round % 9;
        double granted = 0.5 + round % 13;
        for (uint32_t i = 0; i < n; i++)
            wants[i] = dice_between(&dice, 0, 4);
        double level = fdl_neighbours_share(granted, wants, n);
        double sum = level;
        for (uint32_t i = 0; i < n; i++)
            sum += fmin(wants[i], level);
        near(sum, granted);
        assert_true(level * (n + 1) >= granted * (1 - 1e-12));
    }
}

TEST_WITH(small_changes_are_none, setup, teardown)
{
    double wants[FDL_NEIGHBOURS_MAX] = {2, 2};
    uint32_t n = 2;
    near(fdl_neighbours_part(1, 2, wants, &n), 1.0 / 3);
    assert_int_equal(n, 2);
    wants[0] = 0.05; /* it watches */
    near(fdl_neighbours_part(1.0 / 3, 2, wants, &n), 0.5);
    assert_int_equal(n, 1);
    wants[0] = 0.9; /* 0.55 by what is seen */
    near(fdl_neighbours_part(0.5, 2, wants, &n), 0.5);
    wants[0] = 0.7; /* 0.65 */
    near(fdl_neighbours_part(0.5, 2, wants, &n), 0.65);
    wants[0] = 0.05;
    near(fdl_neighbours_part(0.65, 2, wants, &n), 1);
    assert_int_equal(n, 0);
    near(fdl_neighbours_part(0.95, 2, wants, &n), 1);
}

/* ---- Others that are seen ------------------------------------------------ */

static void put_group(int32_t pid, const char *text)
{
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
    rig_put(&images, name, text);
}

/* A page as of a loader whose workers and process did so much by then. */
static void publish(struct fdl_live_page *page, int64_t now, double cpu,
                    double queued, double process)
{
    struct feedline_live_stats *s = calloc(1, sizeof(*s));
    s->struct_size = sizeof(*s);
    s->updated_ns = now;
    s->threads.cpu_ns = (uint64_t)(cpu * SECOND);
    s->threads.runq_ns = (uint64_t)(queued * SECOND);
    s->process_cpu_ns = (uint64_t)(process * SECOND);
    fdl_live_page_publish(page, s);
    free(s);
}

/* A child with a loader whose workers take a core each second and queue for
 * two more, and whose consumer takes half a core. */
static pid_t greedy_child(void)
{
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct fdl_live_page *page;
        if (fdl_live_page_create(0, &page) < 0)
            _exit(1);
        for (bool first = true;; first = false) {
            int64_t now = fdl_now_ns();
            double t = (double)now / SECOND;
            publish(page, now, t, 2 * t, 1.5 * t);
            if (first && write(ready[1], "x", 1) != 1)
                _exit(1);
            usleep(20000);
        }
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

static void kill_child(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool has(const struct fdl_neighbours *n, int32_t pid)
{
    for (uint32_t i = 0; i < n->n; i++)
        if (n->all[i].pid == pid)
            return true;
    return false;
}

TEST_WITH(a_process_is_seen_and_forgotten, setup, teardown)
{
    struct fdl_neighbours n = {0};
    struct fdl_neighbour_self self = {root, UINT32_MAX, true};
    double wants[FDL_NEIGHBOURS_MAX];
    rig_put(&images, "/proc/self/cgroup",
            "4:cpu,cpuacct:/job\n3:memory:/mine\n0::/\n");
    pid_t pid = greedy_child();
    put_group(pid, "7:cpuacct,cpu:/job\n");
    assert_false(fdl_neighbours_find(&n, &self)); /* lines that differ */
    put_group(pid, "4:cpu,cpuacct:/job\n3:memory:/other\n0::/\n");
    assert_true(fdl_neighbours_find(&n, &self));
    assert_false(fdl_neighbours_find(&n, &self)); /* it is known */
    assert_int_equal(n.n, 1);
    assert_int_equal(fdl_neighbours_wants(&n, wants), 0); /* and not yet what */
    while (fdl_neighbours_wants(&n, wants) == 0)
        fdl_neighbours_look(&n, fdl_now_ns());
    if (!(fabs(wants[0] - 3.5) < 1e-3))
        fail_msg("it wants %g cores", wants[0]);
    kill(pid, SIGSTOP);
    siginfo_t stopped;
    assert_int_equal(waitid(P_PID, (id_t)pid, &stopped, WSTOPPED), 0);
    fdl_neighbours_look(&n, fdl_now_ns()); /* its last words */
    fdl_neighbours_look(&n, fdl_now_ns() + INT64_C(6) * SECOND);
    assert_int_equal(fdl_neighbours_wants(&n, wants), 1);
    near(wants[0], 0);
    kill_child(pid);
    fdl_neighbours_look(&n, fdl_now_ns());
    assert_int_equal(n.n, 0);
    assert_false(fdl_neighbours_find(&n, &self));
    fdl_neighbours_forget(&n);
}

TEST_WITH(another_group_has_a_quota_of_its_own, setup, teardown)
{
    struct fdl_neighbours n = {0};
    struct fdl_neighbour_self self = {root, UINT32_MAX, true};
    rig_put(&images, "/proc/self/cgroup", "0::/a\n");
    pid_t pid = greedy_child();
    put_group(pid, "0::/b\n");
    assert_false(fdl_neighbours_find(&n, &self));
    assert_int_equal(n.n, 0);
    put_group(pid, "0::/a\n");
    assert_true(fdl_neighbours_find(&n, &self));
    assert_int_equal(n.n, 1);
    put_group(pid, "0::/b\n"); /* moved */
    assert_false(fdl_neighbours_find(&n, &self));
    assert_int_equal(n.n, 0);
    /* Without a quota both draw from the machine. */
    self.by_quota = false;
    assert_true(fdl_neighbours_find(&n, &self));
    assert_true(has(&n, pid));
    kill_child(pid);
    fdl_neighbours_forget(&n);
}

TEST_WITH(other_cores_are_not_ours, setup, teardown)
{
    struct fdl_neighbours n = {0};
    struct fdl_neighbour_self self = {root, UINT32_MAX, false};
    cpu_set_t all, one;
    size_t first = 0, last = CPU_SETSIZE - 1;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    if (CPU_COUNT(&all) < 2) {
        print_message("one core\n");
        skip();
    }
    while (!CPU_ISSET(first, &all))
        first++;
    while (!CPU_ISSET(last, &all))
        last--;
    pid_t pid = greedy_child();
    fdl_neighbours_find(&n, &self);
    assert_true(has(&n, pid));
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    fdl_neighbours_find(&n, &self);
    for (uint32_t i = 0; i < n.n; i++)
        if (n.all[i].pid == pid)
            near(n.all[i].weight, 1.0 / CPU_COUNT(&all));
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    assert_int_equal(sched_setaffinity(pid, sizeof(one), &one), 0);
    fdl_neighbours_find(&n, &self);
    assert_false(has(&n, pid));
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    kill_child(pid);
    fdl_neighbours_forget(&n);
}

/* Three loaders in one process, the third one ours: the time of its consumers
 * falls to them by what their workers do, and our own page is no neighbour. */
TEST_WITH(loaders_of_one_process, setup, teardown)
{
    struct fdl_neighbours n = {0};
    struct fdl_neighbour_self self = {root, 2, true};
    struct fdl_live_page *pages[3];
    double wants[FDL_NEIGHBOURS_MAX];
    rig_put(&images, "/proc/self/cgroup", "0::/\n");
    for (uint32_t i = 0; i < 3; i++)
        assert_ok(fdl_live_page_create(i, &pages[i]));
    assert_true(fdl_neighbours_find(&n, &self));
    assert_int_equal(n.n, 3);
    for (uint32_t t = 1; t <= 2; t++) {
        publish(pages[0], t * INT64_C(1000000000), 1.0 * t, 0, 4.0 * t);
        publish(pages[1], t * INT64_C(1000000000), 0, 0, 4.0 * t);
        publish(pages[2], t * INT64_C(1000000000), 2.0 * t, 0, 4.0 * t);
        fdl_neighbours_look(&n, t * INT64_C(1000000000));
    }
    assert_int_equal(fdl_neighbours_wants(&n, wants), 2);
    near(fmin(wants[0], wants[1]), 0);
    near(fmax(wants[0], wants[1]), 1 + 1.0 / 3); /* of one core outside */

    /* Statistics that were reset say nothing until the next page. */
    publish(pages[0], 3 * INT64_C(1000000000), 0.1, 0, 12);
    fdl_neighbours_look(&n, 3 * INT64_C(1000000000));
    fdl_neighbours_wants(&n, wants);
    near(fmax(wants[0], wants[1]), 1 + 1.0 / 3);
    for (uint32_t i = 0; i < 3; i++)
        fdl_live_page_destroy(pages[i]);
    fdl_neighbours_look(&n, 3 * INT64_C(1000000000));
    assert_int_equal(n.n, 0);
}

/* ---- A loader among them ------------------------------------------------- */

TEST_WITH(a_loader_takes_its_share, setup, teardown)
{
    rig_machine(&images, "200000 100000\n");
    pid_t pid = greedy_child();
    put_group(pid, "0::/\n");
    SCOPED_LOADER l = rig_sleepy(images.ds, SECOND / 1000,
                                 "batch_size=4 tuner=auto workers_start=1");
    fdl_control_set_root(l->control, root);
    fixture_pass(l, 1);
    while (!rig_limits(l).shared)
        fixture_pass(l, 1);
    near(rig_limits(l).cores, 1); /* of two, for two that want more */
    assert_int_equal(rig_limits(l).workers_max, 2 * 32);
    char *text = rig_text(feedline_loader_explain, l);
    if (!strstr(text,
                "2 cores are granted, shared with 1 other loader: 1 for "))
        fail_msg("it says: %s", text);
    free(text);
    kill_child(pid);
    while (rig_limits(l).shared)
        fixture_pass(l, 1);
    near(rig_limits(l).cores, 2);
    text = rig_text(feedline_loader_explain, l);
    assert_null(strstr(text, "shared with"));
    free(text);
}

/* A number of processes that was given divides, and nobody is looked for. */
TEST_WITH(a_world_that_was_told_is_believed, setup, teardown)
{
    static const char *const options[] = {
        "batch_size=4 tuner=auto workers_start=1 local_world=2",
        "batch_size=4 tuner=auto workers_start=1"};
    for (uint32_t i = 0; i < 2; i++) {
        if (i == 1)
            setenv("LOCAL_WORLD_SIZE", "2", 1);
        rig_machine(&images, "200000 100000\n");
        SCOPED_LOADER l = rig_sleepy(images.ds, SECOND / 1000, options[i]);
        fdl_control_set_root(l->control, root);
        assert_false(l->control->share.looks);
        fixture_pass(l, 1);
        while (rig_limits(l).cores != 1.0)
            fixture_pass(l, 1);
        assert_false(rig_limits(l).shared);
        assert_int_equal(l->control->share.neighbours.n, 0);
    }
    unsetenv("LOCAL_WORLD_SIZE");
}

TEST_MAIN("neighbours")
