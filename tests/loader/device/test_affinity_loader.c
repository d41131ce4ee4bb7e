/* SPDX-License-Identifier: Apache-2.0 */
/* Where a loader's threads really run, on a machine that is said to have two
 * NUMA nodes: each is one of this process's CPUs, and the GPU, a double, is on
 * the second. */
#include "base/cpu_set.h"
#include "base/log.h"
#include "base/thread.h"
#include "cuda_double.h"
#include "loader/loader.h"
#include "loader/report/live_gather.h"
#include "profiler/system/affinity.h"
#include "tests/loader/fixture.h"
#include "tests/profiler/system/machine_files.h"
#include "tests/wrap.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GPU  "/sys/bus/pci/devices/ffff:01:00.0/"
#define NODE "/sys/devices/system/node/"

static struct fixture images;
static feedline_dataset *dataset;
static struct fdl_cpu_set all, nodes[2];
static char names[2][16]; /* of their CPUs */

static void put_node(uint32_t node, uint32_t cpu)
{
    char path[64];
    nodes[node].word[cpu / 64] = UINT64_C(1) << cpu % 64;
    snprintf(names[node], sizeof(names[node]), "%u", cpu);
    snprintf(path, sizeof(path), NODE "node%u/cpulist", node);
    put(path, names[node]);
}

static void open_machine(void)
{
    char list[64], mask[96];
    uint32_t cpu = 0;
    assert_true(fdl_cpu_set_of_thread(0, &all));
    if (fdl_cpu_set_count(&all) < 2)
        test_skip("this process has one CPU");
    setup();
    for (uint32_t node = 0; node < 2; cpu++)
        if (fdl_cpu_set_has(&all, cpu))
            put_node(node++, cpu);
    snprintf(list, sizeof(list), "%s,%s", names[0], names[1]);
    snprintf(mask, sizeof(mask), "Cpus_allowed_list:\t%s\n", list);
    put("/proc/self/status", mask);
    put("/sys/devices/system/cpu/online", list);
    put(NODE "has_cpu", "0-1\n");
    put(GPU "numa_node", "1\n");
    put(GPU "local_cpulist", names[1]);
    fdl_affinity_set_root(root);
    double_reset();
    fixture_create(&images, 32);
    dataset = fixture_folder(&images);
}

static void close_machine(void)
{
    feedline_dataset_close(dataset);
    fixture_remove(&images);
    fdl_affinity_set_root(NULL);
    teardown();
}

static feedline_loader *start(const char *options)
{
    char text[256];
    snprintf(text, sizeof(text), "batch_size=4 %s", options);
    feedline_loader *l = fixture_open(dataset, text);
    fixture_pass(l, 1);
    return l;
}

static void read_name(const char *tid, char *name, int capacity)
{
    char path[320];
    snprintf(path, sizeof(path), "/proc/self/task/%s/comm", tid);
    FILE *f = fopen(path, "r");
    name[0] = '\0';
    if (f && !fgets(name, capacity, f))
        name[0] = '\0';
    if (f)
        fclose(f);
}

/* How many threads have such a name; each is to run there. */
static uint32_t expect_on(const char *prefix, const struct fdl_cpu_set *cpus)
{
    uint32_t n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *e; (e = readdir(tasks)) != NULL;) {
        char name[32];
        struct fdl_cpu_set seen;
        read_name(e->d_name, name, sizeof(name));
        if (e->d_name[0] == '.' || strncmp(name, prefix, strlen(prefix)) != 0 ||
            !fdl_cpu_set_of_thread(atoi(e->d_name), &seen))
            continue;
        if (memcmp(&seen, cpus, sizeof(seen)) != 0)
            fail_msg("%s runs elsewhere", name);
        n++;
    }
    closedir(tasks);
    return n;
}

/* A thread that was just started may have no name yet. */
static void await_on(const char *prefix, const struct fdl_cpu_set *cpus,
                     uint32_t n)
{
    while (expect_on(prefix, cpus) < n)
        sched_yield();
}

/* A loader leaves its program's threads alone. */
static void expect_this_thread(void)
{
    struct fdl_cpu_set seen;
    assert_true(fdl_cpu_set_of_thread(0, &seen));
    assert_memory_equal(&seen, &all, sizeof(seen));
}

static void expect_workers(const char *options, const struct fdl_cpu_set *cpus)
{
    SCOPED_LOADER l = start(options);
    await_on("feedline-dec", cpus, 1);
    await_on("feedline-io", cpus, 1);
    await_on("feedline-watch", &all, 1);
    expect_this_thread();
}

TEST_WITH(near_the_gpu, open_machine, close_machine)
{
    expect_workers("device=cuda:0 workers=1", &nodes[1]);
    expect_workers("device=cuda:0 workers=1 reader=pread io_depth=3",
                   &nodes[1]);
    put(GPU "local_cpulist", names[0]);
    expect_workers("device=cuda:0 workers=1", &nodes[0]);
}

static void expect_json(const char *options, const char *words)
{
    feedline_loader *l = start(options);
    const char *json = fixture_json(l);
    feedline_loader_destroy(l);
    if (!strstr(json, words))
        fail_msg("no %s in %s", words, json);
}

TEST_WITH(statistics_say_where, open_machine, close_machine)
{
    char words[96];
    snprintf(words, sizeof(words),
             "\"placement\":{\"bound\":true,\"cpus\":\"%s\",\"gpu_node\":1,"
             "\"reason\":\"CPUs",
             names[1]);
    expect_json("device=cuda:0 workers=1", words);
    expect_json("device=cuda:1", "\"placement\":{\"bound\":false,\"cpus\":null,"
                                 "\"gpu_node\":null,\"reason\":\"the system");
}

/* What the system says of the mapping that has all of them. */
TEST_WITH(statistics_say_where_pinned_memory_lies, open_machine, close_machine)
{
    expect_json("device=cuda:0", "\"pinned_bytes_by_node\":null");
    put("/proc/self/numa_maps",
        "1000 prefer:1 anon=99 N0=2 N1=97 kernelpagesize_kB=4\n");
    expect_json("device=cuda:0",
                "\"pinned_bytes_by_node\":{\"0\":8192,\"1\":397312}");
    expect_json("device=cuda:1", "\"pinned_bytes_by_node\":null");
    expect_json("device=host", "\"pinned_bytes_by_node\":null");
    put(NODE "has_cpu", "0\n");
    expect_json("device=cuda:0", "\"pinned_bytes_by_node\":null");
}

static void expect_placement(const char *options, const char *words)
{
    struct feedline_live_stats live;
    feedline_loader *l = start(options);
    fdl_live_gather(&l->sources, &live);
    feedline_loader_destroy(l);
    assert_string_equal(live.placement, words);
}

TEST_WITH(the_live_page_says_where, open_machine, close_machine)
{
    char words[128];
    snprintf(words, sizeof(words), "workers on CPUs %s", names[1]);
    expect_placement("device=host", "");
    expect_placement("device=cuda:0 workers=1", words);
    put("/proc/self/numa_maps", "1000 default N0=1 N1=3\n");
    strcat(words, "; pinned memory 75 % on NUMA node 1, 25 % on NUMA node 0");
    expect_placement("device=cuda:0 workers=1", words);
    expect_placement("device=cuda:0 affinity=none",
                     "pinned memory 75 % on NUMA node 1, 25 % on NUMA node 0");
}

/* Workers that the program adds later, too. */
TEST_WITH(later_workers, open_machine, close_machine)
{
    SCOPED_LOADER l = start("device=cuda:0 workers=1");
    assert_ok(feedline_loader_set_int(l, "workers", 3));
    await_on("feedline-dec", &nodes[1], 3);
}

TEST_WITH(anywhere, open_machine, close_machine)
{
    expect_workers("device=cuda:0 workers=1 affinity=none", &all);
    expect_workers("device=host workers=1", &all);
    expect_workers("device=cuda:1 workers=1", &all); /* of no known node */
    expect_workers("device=cuda:0", &all); /* the tuner would have one of two */
}

TEST_WITH(where_the_program_says, open_machine, close_machine)
{
    char options[64];
    for (int node = 0; node < 2; node++) {
        snprintf(options, sizeof(options), "workers=2 affinity=%s",
                 names[node]);
        expect_workers(options, &nodes[node]);
    }
}

/* The tuner has the cores that its workers have. */
TEST_WITH(the_tuner_counts_these, open_machine, close_machine)
{
    double granted, cores;
    uint32_t others;
    char options[64];
    snprintf(options, sizeof(options), "affinity=%s", names[1]);
    feedline_loader *l = start(options);
    fdl_control_shared(l->control, &granted, &cores, &others);
    assert_true(granted > 0.99 && granted < 1.01);
    feedline_loader_destroy(l);

    snprintf(options, sizeof(options), "tuner=off affinity=%s", names[1]);
    l = start(options);
    assert_int_equal(fixture_int(l, "workers"), 1);
    feedline_loader_destroy(l);
}

/* ---- Pinned memory ------------------------------------------------------- */

static _Atomic int touchers, strays;
static int mbind_error; /* 0: it works */

WRAP(long, syscall, long number, ...)
{
    va_list args;
    long a[6];
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number != SYS_mbind)
        return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    errno = mbind_error;
    return mbind_error ? -1 : 0;
}

static void see_toucher(const char *name)
{
    struct fdl_cpu_set seen;
    if (strcmp(name, "feedline-pin") != 0)
        return;
    atomic_fetch_add(&touchers, 1);
    if (!fdl_cpu_set_of_thread(0, &seen) ||
        memcmp(&seen, &nodes[1], sizeof(seen)) != 0)
        atomic_fetch_add(&strays, 1);
}

static bool log_warns(const char *words)
{
    char line[FDL_LOG_LINE_BYTES];
    uint64_t needed;
    bool found = false;
    while (fdl_log_read(line, sizeof(line), &needed) == FEEDLINE_OK)
        found |= strncmp(line, "warning: ", 9) == 0 && strstr(line, words);
    return found;
}

/* Whatever workers do, and although the container may not call mbind. */
TEST_WITH(slabs_are_touched_near_the_gpu, open_machine, close_machine)
{
    static const char *const options[] = {"workers=1", "affinity=none"};
    feedline_loader_destroy(start("device=cuda:0")); /* measures the bus */
    mbind_error = EPERM;
    for (size_t i = 0; i < FDL_COUNT_OF(options); i++) {
        char text[64];
        touchers = strays = 0;
        fdl_thread_watch(see_toucher);
        snprintf(text, sizeof(text), "device=cuda:0 depth=3 %s", options[i]);
        feedline_loader_destroy(start(text));
        fdl_thread_watch(NULL);
        assert_true(touchers >= 3);
        assert_int_equal(strays, 0);
    }
    assert_false(log_warns("mbind"));
}

/* Without a CPU near the GPU only mbind can help; one warning says that it may
 * not. */
TEST_WITH(slabs_without_a_cpu_near, open_machine, close_machine)
{
    char mask[64];
    snprintf(mask, sizeof(mask), "Cpus_allowed_list:\t%s\n", names[0]);
    put("/proc/self/status", mask);
    feedline_loader_destroy(start("device=cuda:0"));
    assert_false(log_warns("mbind"));
    mbind_error = EPERM;
    feedline_loader_destroy(start("device=cuda:0"));
    assert_true(log_warns("CAP_SYS_NICE"));
    feedline_loader_destroy(start("device=cuda:0"));
    assert_false(log_warns("mbind"));
}

TEST_WITH(refuses, open_machine, close_machine)
{
    assert_null(fixture_loader(dataset, "affinity=both"));
    assert_non_null(strstr(feedline_last_error(), "affinity='both'"));
    assert_null(fixture_loader(dataset, "affinity=16000"));
    assert_non_null(strstr(feedline_last_error(), "none of these CPUs"));
}

TEST_MAIN("affinity_loader")
