/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the workers' time goes, on custom operations that sleep or burn CPU as
 * they are told: the parts sum to the whole to the nanosecond, and each kind of
 * time shows up as what it is.
 */
#include "base/compiler.h"
#include "tests/loader/fixture.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define N  24
#define MS UINT64_C(1000000)

FIXTURE_IMAGES(N)

/* ---- A loader whose operation does one thing ---------------------------- */

static int32_t sleeps(const struct feedline_op_call *call)
{
    struct timespec t = {.tv_nsec = (long)(intptr_t)call->user};
    nanosleep(&t, NULL);
    return FEEDLINE_OK;
}

static uint64_t clock_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

static uint64_t thread_cpu(void)
{
    return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

/* A crew of workers of which nobody works before all are there, and the sum of
 * how late they came. */
static struct {
    uint32_t n;
    uint64_t began_ns;
    _Atomic uint32_t there;
    _Atomic uint64_t late_ns;
} crew;

static void expect_crew(uint32_t n)
{
    crew.n = n;
    crew.began_ns = now_ns();
    atomic_store(&crew.there, 0);
    atomic_store(&crew.late_ns, 0);
}

static int32_t meets_and_sleeps(const struct feedline_op_call *call)
{
    static _Thread_local bool met;
    if (!met) {
        met = true;
        atomic_fetch_add(&crew.late_ns, now_ns() - crew.began_ns);
        atomic_fetch_add(&crew.there, 1);
    }
    while (atomic_load(&crew.there) < crew.n)
        usleep(100);
    return sleeps(call);
}

static int32_t burns(const struct feedline_op_call *call)
{
    uint64_t end = thread_cpu() + (uint64_t)(intptr_t)call->user;
    while (thread_cpu() < end) {
    }
    return FEEDLINE_OK;
}

typedef int32_t run_fn(const struct feedline_op_call *call);

static feedline_loader *loader_with(run_fn *run, int64_t ns,
                                    const char *workers, const char *reader)
{
    struct feedline_op_def def = {.struct_size = sizeof(def),
                                  .name = "told",
                                  .run = run,
                                  .user = (void *)(intptr_t)ns};
    feedline_loader *l = fixture_with(
        images.files, run ? &def : NULL,
        run ? "resize width=16 height=16;told" : "resize width=16 height=16",
        "batch_size=4 workers=%s reader=%s", workers, reader);
    return l;
}

static struct feedline_worker_stats stats_of(feedline_loader *l)
{
    struct feedline_worker_stats w = fixture_workers(l);
    assert_int_equal(w.wall_ns, w.cpu_ns + w.runq_ns + w.throttle_ns +
                                    w.sleep_ns + w.read_ns + w.blocked_ns +
                                    w.starved_ns + w.parked_ns + w.residual_ns);
    return w;
}

static struct feedline_wait_stats waits_of(feedline_loader *l)
{
    struct feedline_wait_stats w = fixture_waits(l);
    assert_int_equal(w.prep_ns, w.prep_cpu_ns + w.prep_runq_ns +
                                    w.prep_throttle_ns + w.prep_sleep_ns);
    assert_int_equal(w.worker_wait_ns,
                     w.worker_wait_cpu_ns + w.worker_wait_runq_ns +
                         w.worker_wait_throttle_ns + w.worker_wait_sleep_ns);
    return w;
}

/* ---- Cases -------------------------------------------------------------- */

TEST_WITH(parts_sum_to_the_wall, setup, teardown)
{
    static const char *const readers[] = {"pread", "memory", "auto"};
    for (size_t i = 0; i < FDL_COUNT_OF(readers); i++) {
        SCOPED_LOADER l =
            loader_with(meets_and_sleeps, 2 * MS, "3", readers[i]);
        expect_crew(3);
        fixture_pass(l, 6);
        for (int k = 0; k < 40; k++) {
            fixture_pass(l, 2);
            stats_of(l);
            waits_of(l);
        }
        struct feedline_worker_stats w = stats_of(l);
        assert_int_equal(w.threads, 3);
        /* What is missing is how long a thread takes to begin and to end. */
        assert_true(w.residual_ns <= crew.late_ns);
        uint64_t stops = now_ns();
        assert_ok(feedline_loader_stop(l));
        stops = now_ns() - stops;
        w = stats_of(l);
        assert_int_equal(w.threads, 0);
        assert_true(w.residual_ns <= crew.late_ns + 3 * stops);
    }
}

TEST_WITH(sleep_is_sleep, setup, teardown)
{
    SCOPED_LOADER l = loader_with(sleeps, 20 * MS, "2", "pread");
    fixture_pass(l, 10);
    struct feedline_worker_stats w = stats_of(l);
    assert_true(w.sleep_ns > w.cpu_ns);
    assert_true(w.sleep_ns > w.throttle_ns);
    assert_ok(feedline_loader_stop(l)); /* looks a last time */
    struct feedline_wait_stats s = waits_of(l);
    assert_true(s.prep_sleep_ns > s.prep_cpu_ns);
    assert_true(w.voluntary_switches > 0);
}

TEST_WITH(work_is_cpu, setup, teardown)
{
    SCOPED_LOADER l = loader_with(burns, 4 * MS, "1", "pread");
    fixture_pass(l, 40);
    struct feedline_worker_stats w = stats_of(l);
    assert_true(w.cpu_ns > 144 * 4 * MS); /* of 160 samples */
    assert_ok(feedline_loader_stop(l));
    struct feedline_stage_stats s = fixture_stage(l, FEEDLINE_STAGE_COUNT);
    w = stats_of(l);
    /* The operation's own account, and the decoder beside it. */
    assert_true(w.cpu_ns > s.cpu_ns - s.cpu_ns / 10);
}

static bool schedstat_counts(void)
{
    char text[128] = "";
    FILE *f = fopen("/proc/self/schedstat", "r");
    bool counts =
        f && fgets(text, sizeof(text), f) && strncmp(text, "0 0 0", 5) != 0;
    if (f)
        fclose(f);
    return counts;
}

/* Four that burn CPU on one core. */
TEST_WITH(too_many_threads_queue, setup, teardown)
{
    cpu_set_t one;
    if (!schedstat_counts())
        test_skip("the kernel does not count run queue delays");
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    SCOPED_LOADER l = loader_with(burns, 3 * MS, "4", "pread");
    fixture_pass(l, 40);
    assert_ok(feedline_loader_stop(l));
    struct feedline_worker_stats w = stats_of(l);
    struct feedline_wait_stats s = waits_of(l);
    assert_true(w.runq_ns > w.cpu_ns);
    assert_true(w.runq_ns > w.sleep_ns);
    assert_true(s.prep_runq_ns > s.prep_sleep_ns);
    assert_true(w.involuntary_switches > 0);
}

TEST_WITH(parked_workers_are_counted, setup, teardown)
{
    SCOPED_LOADER l = loader_with(sleeps, MS, "4", "pread");
    fixture_pass(l, 4);
    assert_ok(feedline_loader_set_int(l, "workers", 1));
    fixture_pass(l, 40);
    struct feedline_worker_stats w = stats_of(l);
    assert_int_equal(w.threads, 4);
    assert_true(w.parked_ns > w.sleep_ns); /* three of four */
    assert_ok(feedline_loader_stop(l));
    assert_true(stats_of(l).parked_ns >= w.parked_ns);
}

TEST_WITH(workers_that_read, setup, teardown)
{
    feedline_loader *l = loader_with(NULL, 0, "2", "memory");
    fixture_pass(l, 20);
    struct feedline_worker_stats w = stats_of(l);
    assert_true(w.read_ns > 0);
    assert_ok(feedline_loader_stop(l));
    struct feedline_stage_stats s = fixture_stage(l, FEEDLINE_STAGE_READ);
    w = stats_of(l);
    assert_true(w.read_ns >= s.busy_ns); /* the same, and its own end */
    feedline_loader_destroy(l);

    l = loader_with(NULL, 0, "2", "pread");
    fixture_pass(l, 20);
    assert_int_equal(stats_of(l).read_ns, 0);
    feedline_loader_destroy(l);
}

TEST_WITH(a_reset_begins_anew, setup, teardown)
{
    SCOPED_LOADER l = loader_with(meets_and_sleeps, 2 * MS, "2", "pread");
    expect_crew(2);
    fixture_pass(l, 60);
    assert_true(stats_of(l).sleep_ns > 0);
    uint64_t asked = now_ns();
    assert_ok(feedline_loader_reset_stats(l));
    uint64_t done = now_ns();
    fixture_pass(l, 2);
    struct feedline_worker_stats after = stats_of(l);
    waits_of(l);
    /* Two threads have had no more time than this since. */
    assert_true(after.wall_ns <= 2 * (now_ns() - asked));
    /* Books may be read as late as the reset was over. */
    assert_true(after.residual_ns <= 2 * (done - asked));
    fixture_pass(l, 10);
    assert_true(stats_of(l).wall_ns > after.wall_ns);
}

/* ---- A real quota (control groups, version 1) --------------------------- */

static bool write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    bool written = f && fputs(text, f) >= 0;
    if (f && fclose(f) != 0)
        written = false;
    return written;
}

/* The group of this process, as a folder. */
static bool own_group(char *folder, size_t size)
{
    char line[512];
    FILE *f = fopen("/proc/self/cgroup", "r");
    bool found = false;
    while (f && !found && fgets(line, sizeof(line), f)) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        line[strcspn(line, "\n")] = '\0';
        if (!path)
            continue;
        *path++ = '\0';
        if (strcmp(list, ":cpu") && strcmp(list, ":cpu,cpuacct"))
            continue;
        snprintf(folder, size, "/sys/fs/cgroup/cpu%s",
                 strcmp(path, "/") ? path : "");
        found = access(folder, W_OK) == 0;
    }
    if (f)
        fclose(f);
    return found;
}

static bool put_in(const char *folder, const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return write_text(path, text);
}

TEST_WITH(a_quota_throttles, setup, teardown)
{
    char home[512], folder[560];
    if (!own_group(home, sizeof(home)))
        test_skip("no control group of version 1 that may be written");
    snprintf(folder, sizeof(folder), "%s/feedline-test-%d", home, getpid());
    if (mkdir(folder, 0755) != 0)
        test_skip("%s: %s", folder, strerror(errno));
    /* Less than other processes, however many, leave of a core. */
    if (!put_in(folder, "cpu.cfs_quota_us", "2000") ||
        !put_in(folder, "cgroup.procs", "0")) {
        rmdir(folder);
        test_skip("%s takes no quota or no process", folder);
    }
    feedline_loader *l = loader_with(burns, 2 * MS, "2", "pread");
    struct feedline_worker_stats w;
    /* Throttled, and not asleep: that ends the loop, or the test's timeout. How
     * much of it was on a core is the kernel's business: a quota's first
     * periods may run on what other groups left. */
    do {
        fixture_pass(l, 1);
        w = stats_of(l);
    } while (w.throttle_ns <= w.sleep_ns + 100 * MS ||
             waits_of(l).prep_throttle_ns == 0);
    int32_t stopped = feedline_loader_stop(l);
    feedline_loader_destroy(l);
    bool back = put_in(home, "cgroup.procs", "0");
    bool gone = rmdir(folder) == 0;
    printf("cpu %.3f runq %.3f throttle %.3f sleep %.3f\n",
           (double)w.cpu_ns / 1e9, (double)w.runq_ns / 1e9,
           (double)w.throttle_ns / 1e9, (double)w.sleep_ns / 1e9);
    assert_ok(stopped);
    assert_true(back && gone);
}

TEST_MAIN("worker_stats")
