/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the system says, from machines laid out as files: each kind of control
 * group, files that are missing, cut or nonsense, and the machine that this
 * runs on.
 */
#include "base/compiler.h"
#include "base/thread.h"
#include "dice.h"
#include "machine_files.h"
#include "profiler/system/cgroup.h"
#include "profiler/system/signals.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GIB UINT64_C(1073741824)

#define V2 "1 2 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define V1                                                                     \
  "1 2 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu\n"                              \
  "1 2 0:2 / /cg/memory rw - cgroup cgroup rw,memory\n"

#define TICK_NS 10000000u /* USER_HZ is 100 on Linux */

struct file {
    const char *path, *text;
};

struct layout {
    struct file file[14];
    struct fdl_system_signals expected;
};

/* Only the files of a layout exist. */
static void check(const struct layout *l)
{
    struct fdl_signals *s = NULL;
    struct fdl_system_signals got;
    const struct fdl_system_signals *e = &l->expected;
    for (size_t i = 0; i < FDL_COUNT_OF(l->file) && l->file[i].path; i++)
        put(l->file[i].path, l->file[i].text);
    assert_int_equal(fdl_signals_open(root, &s), 0);
    for (int again = 0; again < 2; again++) {
        memset(&got, 0xa5, sizeof(got));
        fdl_signals_read(s, &got);
        assert_int_equal(got.has_throttle, e->has_throttle);
        assert_int_equal(got.has_pressure, e->has_pressure);
        assert_int_equal(got.has_host, e->has_host);
        assert_int_equal(got.has_memory, e->has_memory);
        assert_int_equal(got.throttled_ns, e->throttled_ns);
        assert_int_equal(got.periods, e->periods);
        assert_int_equal(got.throttled_periods, e->throttled_periods);
        assert_int_equal(got.pressure_cpu_ns, e->pressure_cpu_ns);
        assert_int_equal(got.pressure_io_ns, e->pressure_io_ns);
        assert_int_equal(got.pressure_memory_ns, e->pressure_memory_ns);
        assert_int_equal(got.host_busy_ns, e->host_busy_ns);
        assert_int_equal(got.host_total_ns, e->host_total_ns);
        assert_int_equal(got.process_cpu_ns, e->process_cpu_ns);
        assert_int_equal(got.memory_bytes, e->memory_bytes);
        assert_int_equal(got.memory_limit_bytes, e->memory_limit_bytes);
        assert_int_equal(got.running, e->running);
    }
    fdl_signals_close(s);
}

/* ---- Control groups ----------------------------------------------------- */

TEST_WITH(test_nothing_at_all, setup, teardown)
{
    check(&(struct layout){.expected = {0}});
}

TEST_WITH(test_v2, setup, teardown)
{
    check(&(struct layout){
        {{"/proc/self/cgroup", "0::/jobs/train\n"},
         {"/proc/self/mountinfo", V2},
         {"/sys/fs/cgroup/jobs/train/cpu.max", "200000 100000\n"},
         {"/sys/fs/cgroup/jobs/train/cpu.stat",
          "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 100\n"
          "nr_throttled 40\nthrottled_usec 1234567\nnr_bursts 0\n"},
         {"/sys/fs/cgroup/jobs/train/memory.max", "4294967296\n"},
         {"/sys/fs/cgroup/jobs/train/memory.current", "1073741824\n"},
         {"/sys/fs/cgroup/jobs/train/cpu.pressure",
          "some avg10=1.00 avg60=2.00 avg300=0.00 total=77\n"
          "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"},
         {"/proc/pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=1000\n"},
         {"/proc/pressure/io", "some avg10=0 avg60=0 avg300=0 total=2000\n"},
         {"/proc/pressure/memory",
          "some avg10=0 avg60=0 avg300=0 total=3000\n"}},
        {.has_throttle = true,
         .throttled_ns = 1234567000,
         .periods = 100,
         .throttled_periods = 40,
         .has_memory = true,
         .memory_bytes = GIB,
         .memory_limit_bytes = 4 * GIB,
         .has_pressure = true,
         .pressure_cpu_ns = 77000,
         .pressure_io_ns = 2000000,
         .pressure_memory_ns = 3000000}});
}

/* Where the CPU controller is off the file has no such lines. */
TEST_WITH(test_v2_without_cpu_controller, setup, teardown)
{
    check(&(struct layout){{{"/proc/self/cgroup", "0::/a\n"},
                            {"/proc/self/mountinfo", V2},
                            {"/sys/fs/cgroup/a/cpu.stat",
                             "usage_usec 5\nuser_usec 3\nsystem_usec 2\n"}},
                           {0}});
}

TEST_WITH(test_v1, setup, teardown)
{
    check(&(struct layout){
        {{"/proc/self/cgroup", "4:memory:/t\n1:cpu:/t\n"},
         {"/proc/self/mountinfo", V1},
         {"/cg/cpu/t/cpu.cfs_quota_us", "200000\n"},
         {"/cg/cpu/t/cpu.cfs_period_us", "100000\n"},
         {"/cg/cpu/t/cpu.stat",
          "nr_periods 7\nnr_throttled 3\nthrottled_time 987654321\n"},
         {"/cg/memory/t/memory.limit_in_bytes", "2147483648\n"},
         {"/cg/memory/t/memory.usage_in_bytes", "1073741824\n"},
         {"/proc/pressure/io", "some avg10=0 avg60=0 avg300=0 total=1\n"}},
        {.has_throttle = true,
         .throttled_ns = 987654321,
         .periods = 7,
         .throttled_periods = 3,
         .has_memory = true,
         .memory_bytes = GIB,
         .memory_limit_bytes = 2 * GIB,
         .has_pressure = true,
         .pressure_io_ns = 1000}});
}

/* Version 1 holds the controllers; version 2's tree is bare, and its cpu.stat
 * counts no throttling. */
TEST_WITH(test_hybrid, setup, teardown)
{
    check(&(struct layout){
        {{"/proc/self/cgroup", "4:memory:/\n1:cpu:/t\n0::/t\n"},
         {"/proc/self/mountinfo",
          V1 "1 2 0:3 / /cg/unified rw - cgroup2 cgroup2 rw\n"},
         {"/cg/cpu/t/cpu.stat",
          "nr_periods 7\nnr_throttled 3\nthrottled_time 5000\n"},
         {"/cg/unified/t/cpu.stat", "usage_usec 12\n"},
         {"/cg/unified/t/io.pressure",
          "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"},
         {"/cg/memory/memory.usage_in_bytes", "4096\n"}},
        {.has_throttle = true,
         .throttled_ns = 5000,
         .periods = 7,
         .throttled_periods = 3,
         .has_memory = true,
         .memory_bytes = 4096,
         .has_pressure = true,
         .pressure_io_ns = 5000}});
}

/* The CPU in version 2, memory in version 1. */
TEST_WITH(test_hybrid_mixed, setup, teardown)
{
    check(
        &(struct layout){{{"/proc/self/cgroup", "4:memory:/m\n0::/t\n"},
                          {"/proc/self/mountinfo", V1
                           "1 2 0:3 / /cg/unified rw - cgroup2 cgroup2 rw\n"},
                          {"/cg/unified/t/cpu.stat",
                           "nr_periods 1\nnr_throttled 1\nthrottled_usec 8\n"},
                          {"/cg/memory/m/memory.usage_in_bytes", "8192\n"}},
                         {.has_throttle = true,
                          .throttled_ns = 8000,
                          .periods = 1,
                          .throttled_periods = 1,
                          .has_memory = true,
                          .memory_bytes = 8192}});
}

/* A pod with a quota around a container without: only the pod's file knows. */
TEST_WITH(test_quota_of_a_parent, setup, teardown)
{
    check(
        &(struct layout){{{"/proc/self/cgroup", "0::/pod/c\n"},
                          {"/proc/self/mountinfo", V2},
                          {"/sys/fs/cgroup/pod/c/cpu.max", "max 100000\n"},
                          {"/sys/fs/cgroup/pod/c/cpu.stat",
                           "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"},
                          {"/sys/fs/cgroup/pod/c/memory.max", "max\n"},
                          {"/sys/fs/cgroup/pod/c/memory.current", "4096\n"},
                          {"/sys/fs/cgroup/pod/cpu.max", "150000 100000\n"},
                          {"/sys/fs/cgroup/pod/cpu.stat",
                           "nr_periods 9\nnr_throttled 8\nthrottled_usec 7\n"},
                          {"/sys/fs/cgroup/pod/memory.max", "1073741824\n"},
                          {"/sys/fs/cgroup/pod/memory.current", "8192\n"}},
                         {.has_throttle = true,
                          .throttled_ns = 7000,
                          .periods = 9,
                          .throttled_periods = 8,
                          .has_memory = true,
                          .memory_bytes = 8192,
                          .memory_limit_bytes = GIB}});
}

/* Of two quotas the smaller one holds the process back. */
TEST_WITH(test_two_quotas, setup, teardown)
{
    check(
        &(struct layout){{{"/proc/self/cgroup", "0::/pod/c\n"},
                          {"/proc/self/mountinfo", V2},
                          {"/sys/fs/cgroup/pod/c/cpu.max", "100000 100000\n"},
                          {"/sys/fs/cgroup/pod/c/cpu.stat",
                           "nr_periods 3\nnr_throttled 2\nthrottled_usec 1\n"},
                          {"/sys/fs/cgroup/pod/cpu.max", "400000 100000\n"},
                          {"/sys/fs/cgroup/pod/cpu.stat",
                           "nr_periods 9\nnr_throttled 8\nthrottled_usec 7\n"}},
                         {.has_throttle = true,
                          .throttled_ns = 1000,
                          .periods = 3,
                          .throttled_periods = 2}});
}

/* The group's own folder is not there: the nearest one that is. */
TEST_WITH(test_nearest_visible_parent, setup, teardown)
{
    check(&(struct layout){
        {{"/proc/self/cgroup", "0::/a/b/c\n"},
         {"/proc/self/mountinfo", V2},
         {"/sys/fs/cgroup/a/cpu.stat",
          "nr_periods 3\nnr_throttled 2\nthrottled_usec 1\n"},
         {"/sys/fs/cgroup/a/memory.current", "4096\n"},
         {"/sys/fs/cgroup/a/memory.pressure",
          "some avg10=0.00 avg60=0.00 avg300=0.00 total=4\n"},
         {"/sys/fs/cgroup/cpu.stat",
          "nr_periods 30\nnr_throttled 20\nthrottled_usec 10\n"}},
        {.has_throttle = true,
         .throttled_ns = 1000,
         .periods = 3,
         .throttled_periods = 2,
         .has_memory = true,
         .memory_bytes = 4096,
         .has_pressure = true,
         .pressure_memory_ns = 4000}});
}

/* ---- The machine -------------------------------------------------------- */

/* Without a group, what is resident. */
TEST_WITH(test_no_group, setup, teardown)
{
    check(&(struct layout){
        {{"/proc/self/statm", "1000 25 3 4 5 6 7\n"},
         {"/proc/stat", "cpu  10 20 30 400 50 6 7 8 9 10\ncpu0 1 2 3 4\n"},
         {"/proc/loadavg", "0.20 0.18 0.12 3/80 11206\n"},
         {"/proc/self/stat", "12 (a (b) c) R 1 12 12 0 -1 4194304 80 0 0 0 "
                             "150 25 0 0 20 0 1 0 9 1 1 1\n"}},
        {.has_memory = true,
         .memory_bytes = 25 * (uint64_t)sysconf(_SC_PAGESIZE),
         .has_host = true,
         .host_busy_ns = UINT64_C(81) * TICK_NS,
         .host_total_ns = UINT64_C(531) * TICK_NS,
         .running = 3,
         .process_cpu_ns = UINT64_C(175) * TICK_NS}});
}

/* Linux 2.6 had four numbers, then seven. */
TEST_WITH(test_old_kernels, setup, teardown)
{
    check(&(struct layout){{{"/proc/stat", "cpu  10 20 30 400\ncpu0 1 2\n"}},
                           {.has_host = true,
                            .host_busy_ns = UINT64_C(60) * TICK_NS,
                            .host_total_ns = UINT64_C(460) * TICK_NS}});
    check(
        &(struct layout){{{"/proc/stat", "cpu  10 20 30 400 5 6 7\nintr 1\n"}},
                         {.has_host = true,
                          .host_busy_ns = UINT64_C(73) * TICK_NS,
                          .host_total_ns = UINT64_C(478) * TICK_NS}});
}

TEST_WITH(test_huge_numbers, setup, teardown)
{
    check(&(struct layout){
        {{"/proc/self/cgroup", "0::/\n"},
         {"/proc/self/mountinfo", V2},
         {"/sys/fs/cgroup/cpu.stat",
          "nr_periods 18446744073709551615\nnr_throttled "
          "99999999999999999999999999\nthrottled_usec 18446744073709551615\n"},
         {"/sys/fs/cgroup/memory.current", "18446744073709551616\n"},
         {"/proc/stat", "cpu  18446744073709551615 1 1 1 1 1 1 1 1 1\n"},
         {"/proc/pressure/cpu",
          "some avg10=0 avg60=0 avg300=0 total=9999999999999999999999\n"},
         {"/proc/loadavg", "0.20 0.18 0.12 99999999999/80 1\n"}},
        {.has_throttle = true,
         .throttled_ns = UINT64_MAX,
         .periods = UINT64_MAX,
         .throttled_periods = UINT64_MAX,
         .has_memory = true,
         .memory_bytes = UINT64_MAX,
         .has_host = true,
         .host_busy_ns = UINT64_MAX,
         .host_total_ns = UINT64_MAX,
         .has_pressure = true,
         .pressure_cpu_ns = UINT64_MAX,
         .running = UINT32_MAX}});
}

/* A number at the end of a text may have lost its last digits. */
TEST_WITH(test_cut_files, setup, teardown)
{
    check(&(struct layout){
        {{"/proc/self/cgroup", "0::/\n"},
         {"/proc/self/mountinfo", V2},
         {"/sys/fs/cgroup/cpu.stat",
          "nr_periods 5\nnr_throttled 4\nthrottled_usec 12"},
         {"/sys/fs/cgroup/memory.current", "12"},
         {"/proc/self/statm", "1 2 3\n"},
         {"/proc/stat", "cpu  10 20 30 4"},
         {"/proc/pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=1"},
         {"/proc/pressure/io", "some avg10=0 avg60=0 avg"},
         {"/proc/loadavg", "0.20 0.18 0.12 3"},
         {"/proc/self/stat", "12 (x) R 1 12 12 0 -1 4194304 80 0 0 0 150 2"}},
        {0}});
}

TEST_WITH(test_garbage, setup, teardown)
{
    static const char *const garbage[] = {"",
                                          "\n",
                                          "max\n",
                                          "-1\n",
                                          "x y z\n",
                                          "cpu\n",
                                          "cpu  \n",
                                          "some total=\n",
                                          "total=7\n",
                                          "throttled_usec\n",
                                          " ",
                                          "\t\t\n",
                                          "throttled_usec -1\n",
                                          "some \n full total=1\n",
                                          "cpu  a b c d\n",
                                          "throttled_usec x\n",
                                          "0.1 0.2 0.3 x/9 8\n"};
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo", V2);
    for (size_t i = 0; i < FDL_COUNT_OF(garbage); i++)
        check(&(struct layout){{{"/sys/fs/cgroup/cpu.stat", garbage[i]},
                                {"/sys/fs/cgroup/memory.current", garbage[i]},
                                {"/sys/fs/cgroup/io.pressure", garbage[i]},
                                {"/proc/self/statm", garbage[i]},
                                {"/proc/self/stat", garbage[i]},
                                {"/proc/stat", garbage[i]},
                                {"/proc/pressure/cpu", garbage[i]},
                                {"/proc/loadavg", garbage[i]}},
                               {0}});
}

/* ---- Over time ---------------------------------------------------------- */

#define STAT_OF(ticks) "cpu  " ticks " 0 0 1000 0 0 0 0 0 0\n"

TEST_WITH(test_files_are_read_anew, setup, teardown)
{
    struct fdl_signals *s;
    struct fdl_system_signals got;
    put("/proc/stat", STAT_OF("10"));
    assert_int_equal(fdl_signals_open(root, &s), 0);
    fdl_signals_read(s, &got);
    assert_int_equal(got.host_busy_ns, UINT64_C(10) * TICK_NS);
    put("/proc/stat", STAT_OF("123"));
    fdl_signals_read(s, &got);
    assert_int_equal(got.host_busy_ns, UINT64_C(123) * TICK_NS);
    fdl_signals_close(s);
}

/* The kernel corrects idle time downwards at times, a group may be left: no
 * difference of two readings may wrap round. */
TEST_WITH(test_counters_never_fall, setup, teardown)
{
    struct fdl_signals *s;
    struct fdl_system_signals got;
    static const char *const later[] = {STAT_OF("3"), "", "cpu nonsense\n"};
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo", V2);
    put("/sys/fs/cgroup/cpu.stat",
        "nr_periods 3\nnr_throttled 2\nthrottled_usec 9\n");
    put("/proc/pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=6\n");
    put("/proc/stat", STAT_OF("10"));
    assert_int_equal(fdl_signals_open(root, &s), 0);
    fdl_signals_read(s, &got);
    for (size_t i = 0; i < FDL_COUNT_OF(later); i++) {
        put("/proc/stat", later[i]);
        put("/sys/fs/cgroup/cpu.stat",
            i ? "" : "nr_periods 1\nnr_throttled 1\nthrottled_usec 1\n");
        put("/proc/pressure/cpu", i ? "" : "some total=5\n");
        fdl_signals_read(s, &got);
        assert_true(got.has_host && got.has_throttle && got.has_pressure);
        assert_int_equal(got.host_busy_ns, UINT64_C(10) * TICK_NS);
        assert_int_equal(got.throttled_ns, 9000);
        assert_int_equal(got.periods, 3);
        assert_int_equal(got.throttled_periods, 2);
        assert_int_equal(got.pressure_cpu_ns, 6000);
    }
    fdl_signals_close(s);
}

/* ---- Threads ------------------------------------------------------------ */

static void put_thread(int tid, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
    put(path, text);
}

static struct fdl_signals *open_root(void)
{
    struct fdl_signals *s = NULL;
    assert_int_equal(fdl_signals_open(root, &s), 0);
    return s;
}

TEST_WITH(test_thread, setup, teardown)
{
    struct fdl_signals *s = open_root();
    struct fdl_thread_signals t;
    put_thread(7, "schedstat", "123456 789 12\n");
    put_thread(7, "status",
               "Name:\tx\nvoluntary_ctxt_switches:\t31\n"
               "nonvoluntary_ctxt_switches:\t5\n");
    assert_true(fdl_signals_thread(s, 7, &t));
    assert_true(t.has_runq && t.has_switches);
    assert_int_equal(t.cpu_ns, 123456);
    assert_int_equal(t.runq_ns, 789);
    assert_int_equal(t.voluntary, 31);
    assert_int_equal(t.involuntary, 5);
    assert_false(fdl_signals_thread(s, 8, &t));
    assert_int_equal(t.cpu_ns, 123456);
    fdl_signals_close(s);
}

/* A kernel without the statistics says nothing, or 0 to all. */
TEST_WITH(test_thread_without_run_queue, setup, teardown)
{
    static const char *const texts[] = {NULL,    "0 0 0\n", "",
                                        "5 6\n", "x\n",     "5 6 7"};
    struct fdl_signals *s = open_root();
    struct fdl_thread_signals t;
    put_thread(7, "stat", "7 (x) R 1 12 12 0 -1 4194304 80 0 0 0 3 4 0 0\n");
    for (size_t i = 0; i < FDL_COUNT_OF(texts); i++) {
        if (texts[i])
            put_thread(7, "schedstat", texts[i]);
        assert_true(fdl_signals_thread(s, 7, &t));
        assert_false(t.has_runq);
        assert_false(t.has_switches);
        assert_int_equal(t.runq_ns, 0);
        assert_int_equal(t.voluntary, 0);
        assert_int_equal(t.cpu_ns, 7u * TICK_NS);
    }
    put_thread(7, "status",
               "voluntary_ctxt_switches:\t31\n"
               "nonvoluntary_ctxt_switches:\t5\n");
    assert_true(fdl_signals_thread(s, 7, &t));
    assert_false(t.has_switches); /* the first line is never that one */
    fdl_signals_close(s);
}

static void put_busy(int tid, const char *name, unsigned cpu)
{
    char text[32];
    put_thread(tid, "comm", name);
    snprintf(text, sizeof(text), "%u 0 1\n", cpu);
    put_thread(tid, "schedstat", text);
}

TEST_WITH(test_foreign, setup, teardown)
{
    struct fdl_signals *s = open_root();
    struct fdl_foreign_thread list[FDL_FOREIGN_MAX];
    assert_int_equal(fdl_signals_foreign(s, list), 0);
    put_busy(1, "python3\n", 500);
    put_busy(2, "feedline-dec-0\n", 900);
    put_busy(3, "omp thread\n", 700);
    put_busy(4, "feedline\n", 600);
    put_busy(5, "a name that is far too long\n", 100);
    put_thread(6, "comm", "no-cpu\n");
    put_thread(8, "comm", "by-ticks\n");
    put_thread(8, "stat", "8 (x) R 1 12 12 0 -1 4194304 80 0 0 0 3 4 0 0\n");
    put("/proc/self/task/9x/comm", "no-thread\n");
    put("/proc/self/task/0/comm", "no-thread\n");
    assert_int_equal(fdl_signals_foreign(s, list), 5);
    assert_string_equal(list[0].name, "by-ticks");
    assert_int_equal(list[0].cpu_ns, 7u * TICK_NS);
    assert_string_equal(list[1].name, "omp thread");
    assert_int_equal(list[1].tid, 3);
    assert_int_equal(list[1].cpu_ns, 700);
    assert_string_equal(list[2].name, "feedline");
    assert_string_equal(list[3].name, "python3");
    assert_string_equal(list[4].name, "a name that is ");
    fdl_signals_close(s);
}

TEST_WITH(test_many_foreign, setup, teardown)
{
    struct fdl_signals *s = open_root();
    struct fdl_foreign_thread list[FDL_FOREIGN_MAX];
    enum { N = 100 };
    for (int i = 0; i < N; i++)
        put_busy(i + 1, "w\n", (unsigned)(i * 37 % N + 1));
    assert_int_equal(fdl_signals_foreign(s, list), FDL_FOREIGN_MAX);
    for (uint32_t i = 0; i < FDL_FOREIGN_MAX; i++)
        assert_int_equal(list[i].cpu_ns, N - i);
    fdl_signals_close(s);
}

/* ---- Mutations ---------------------------------------------------------- */

static void mutate(char *text, size_t capacity, struct dice *d)
{
    static const char bytes[] = "0123456789 \n\t-:/.()x=%";
    size_t length = strlen(text);
    for (uint32_t n = 1 + dice_below(d, 4); n > 0 && length > 0; n--) {
        size_t at = dice_below(d, (uint32_t)length);
        switch (dice_below(d, 4)) {
        case 0:
            text[at] = bytes[dice_below(d, sizeof(bytes) - 1)];
            break;
        case 1:
            text[at] = (char)(1 + dice_below(d, 255));
            break;
        case 2:
            text[at] = '\0';
            length = at;
            break;
        default:
            if (length + 1 < capacity) {
                memmove(text + at + 1, text + at, length - at + 1);
                length++;
            }
        }
    }
}

/* Whatever the files say: nothing crashes, counters do not fall, text ends. */
TEST_WITH(test_mutated_files, setup, teardown)
{
    static const struct file files[] = {
        {"/proc/self/cgroup", "4:memory:/m\n0::/t\n"},
        {"/proc/self/mountinfo", V1 V2},
        {"/sys/fs/cgroup/t/cpu.max", "100000 100000\n"},
        {"/sys/fs/cgroup/t/cpu.stat",
         "usage_usec 5\nnr_periods 3\nnr_throttled 2\nthrottled_usec 9\n"},
        {"/cg/memory/m/memory.usage_in_bytes", "8192\n"},
        {"/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 total=6\n"},
        {"/proc/stat", "cpu  10 20 30 400 50 6 7 8 9 10\ncpu0 1 2 3 4\n"},
        {"/proc/loadavg", "0.20 0.18 0.12 3/80 11206\n"},
        {"/proc/self/stat", "12 (a) R 1 12 12 0 -1 4 80 0 0 0 150 25 0 0\n"},
        {"/proc/self/task/7/schedstat", "123 456 7\n"},
        {"/proc/self/task/7/stat", "7 (x) R 1 1 1 0 -1 4 8 0 0 0 3 4 0 0\n"},
        {"/proc/self/task/7/comm", "python3\n"},
        {"/proc/self/task/7/status", "Name:\tx\nvoluntary_ctxt_switches:\t3\n"
                                     "nonvoluntary_ctxt_switches:\t5\n"},
    };
    struct dice dice = {test_seed()};
    size_t changed[2] = {0, 0};
    for (size_t i = 0; i < FDL_COUNT_OF(files); i++)
        put(files[i].path, files[i].text);
    for (int round = 0; round < 300; round++) {
        struct fdl_system_signals a;
        struct fdl_system_signals b;
        struct fdl_thread_signals t;
        struct fdl_foreign_thread list[FDL_FOREIGN_MAX];
        for (int i = 0; i < 2; i++)
            put(files[changed[i]].path, files[changed[i]].text);
        struct fdl_signals *s = NULL;
        for (int half = 0; half < 2; half++) {
            char text[512];
            changed[half] = dice_below(&dice, FDL_COUNT_OF(files));
            const struct file *f = &files[changed[half]];
            snprintf(text, sizeof(text), "%s", f->text);
            mutate(text, sizeof(text), &dice);
            put(f->path, text);
            if (!s) {
                s = open_root();
                fdl_signals_read(s, &a);
            }
        }
        fdl_signals_read(s, &b);
        assert_true(b.throttled_ns >= a.throttled_ns);
        assert_true(b.host_total_ns >= a.host_total_ns);
        assert_true(b.host_busy_ns >= a.host_busy_ns);
        assert_true(b.process_cpu_ns >= a.process_cpu_ns);
        fdl_signals_thread(s, 7, &t);
        uint32_t n = fdl_signals_foreign(s, list);
        assert_in_range(n, 0, 1);
        assert_true(n == 0 || strlen(list[0].name) < sizeof(list[0].name));
        fdl_signals_close(s);
    }
}

/* ---- This machine ------------------------------------------------------- */

static int32_t own_tid(void)
{
    return (int32_t)syscall(SYS_gettid);
}

static void burn(uint64_t ns)
{
    struct timespec t;
    uint64_t start = 0;
    for (uint64_t now = 0; now < start + ns;) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
        start = start ? start : now;
    }
}

TEST(test_this_process)
{
    struct fdl_signals *s = NULL;
    struct fdl_system_signals a;
    struct fdl_system_signals b;
    struct fdl_thread_signals t;
    struct fdl_thread_signals u;
    assert_int_equal(fdl_signals_open("", &s), 0);
    fdl_signals_read(s, &a);
    assert_true(fdl_signals_thread(s, own_tid(), &t));
    burn(30000000);
    assert_true(fdl_signals_thread(s, own_tid(), &u));
    fdl_signals_read(s, &b);
    assert_true(u.cpu_ns - t.cpu_ns >= 30000000);
    assert_true(b.process_cpu_ns - a.process_cpu_ns >= 30000000);
    assert_true(a.has_memory && a.memory_bytes > 0);
    assert_true(!a.has_host || b.host_total_ns >= b.host_busy_ns);
    assert_true(!a.has_host || b.running > 0);
    assert_true(!u.has_runq || u.runq_ns >= t.runq_ns);
    fdl_signals_close(s);
}

struct neighbour {
    pthread_barrier_t ready, done;
    int32_t tid;
};

static void *neighbour_main(void *argument)
{
    struct neighbour *n = argument;
    prctl(PR_SET_NAME, "neighbour");
    burn(20000000);
    n->tid = own_tid();
    pthread_barrier_wait(&n->ready);
    pthread_barrier_wait(&n->done);
    return NULL;
}

TEST(test_foreign_thread_of_this_process)
{
    struct fdl_signals *s = NULL;
    struct fdl_foreign_thread list[FDL_FOREIGN_MAX];
    struct fdl_thread_signals t;
    struct neighbour n = {.tid = 0};
    pthread_t thread;
    bool seen = false;
    pthread_barrier_init(&n.ready, NULL, 2);
    pthread_barrier_init(&n.done, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, neighbour_main, &n), 0);
    pthread_barrier_wait(&n.ready);
    assert_int_equal(fdl_signals_open("", &s), 0);
    uint32_t count = fdl_signals_foreign(s, list);
    assert_true(count >= 2);
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].tid != n.tid)
            continue;
        seen = true;
        assert_string_equal(list[i].name, "neighbour");
        assert_true(list[i].cpu_ns >= 20000000);
    }
    assert_true(seen);
    assert_true(fdl_signals_thread(s, n.tid, &t));
    pthread_barrier_wait(&n.done);
    pthread_join(thread, NULL);
    /* The kernel may take a moment longer than pthread_join. */
    while (syscall(SYS_tgkill, getpid(), n.tid, 0) == 0)
        sched_yield();
    assert_false(fdl_signals_thread(s, n.tid, &t));
    fdl_signals_close(s);
    pthread_barrier_destroy(&n.ready);
    pthread_barrier_destroy(&n.done);
}

/* Writes into a file of the real group; false where that is not allowed. */
static bool tell_group(const char *folder, const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    bool written = fputs(text, f) >= 0;
    return fclose(f) == 0 && written;
}

/* In a child, in a group with a hundredth of a core, which is less than anybody
 * else leaves it: 0 once it sees itself held back, 77 where it cannot get into
 * the group. */
static int be_throttled(const char *folder)
{
    struct fdl_signals *s;
    struct fdl_system_signals a;
    struct fdl_system_signals b;
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    if (!tell_group(folder, "cgroup.procs", pid))
        return 77;
    if (fdl_signals_open("", &s) != 0)
        return 1;
    fdl_signals_read(s, &a);
    do {
        burn(500000);
        fdl_signals_read(s, &b);
    } while (a.has_throttle && b.throttled_ns <= a.throttled_ns + 50000000);
    fdl_signals_close(s);
    return a.has_throttle && b.throttled_periods > a.throttled_periods &&
                   b.periods > a.periods
               ? 0
               : 2;
}

TEST(test_real_quota)
{
    size_t point = 0;
    int status = 77 << 8;
    char folder[512];
    bool v1 = true;
    char *own = fdl_cgroup_folder("", "cpu", &point);
    if (!own) {
        v1 = false;
        own = fdl_cgroup_folder("", FDL_CGROUP_UNIFIED, &point);
    }
    if (!own)
        test_skip("no control groups");
    snprintf(folder, sizeof(folder), "%s/fdl_test_%d", own, (int)getpid());
    free(own);
    if (mkdir(folder, 0700) != 0)
        test_skip("%s: %s", folder, strerror(errno));
    bool limited = v1 ? tell_group(folder, "cpu.cfs_quota_us", "1000")
                      : tell_group(folder, "cpu.max", "1000 100000");
    if (limited) {
        pid_t child = fork();
        if (child == 0)
            _exit(be_throttled(folder));
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    while (rmdir(folder) != 0 && errno == EBUSY)
        sched_yield(); /* the kernel still counts the child */
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        test_skip("a quota cannot be set here");
    assert_int_equal(status, 0);
}

TEST_MAIN("signals")
