/* SPDX-License-Identifier: Apache-2.0 */
/* Where a loader's threads run, on machines laid out as files. */
#include "base/compiler.h"
#include "base/status.h"
#include "machine_files.h"
#include "profiler/system/affinity.h"

#include <string.h>

#define PCI  "0000:1B:00.0"
#define GPU  "/sys/bus/pci/devices/0000:1b:00.0/"
#define NODE "/sys/devices/system/node/"

/* Two nodes of 32 CPUs, hyperthreads apart; the GPU is on the second. */
static void put_two_nodes(void)
{
    put("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-63\n");
    put("/sys/devices/system/cpu/online", "0-63\n");
    put(NODE "online", "0-1\n");
    put(NODE "has_cpu", "0-1\n");
    put(NODE "node0/cpulist", "0-15,32-47\n");
    put(NODE "node1/cpulist", "16-31,48-63\n");
    put(GPU "numa_node", "1\n");
    put(GPU "local_cpulist", "16-31,48-63\n");
}

static void set_mask(const char *list)
{
    char text[128];
    snprintf(text, sizeof(text), "Cpus_allowed_list:\t%s\n", list);
    put("/proc/self/status", text);
}

static struct fdl_affinity choose(const char *asked, const char *pci,
                                  uint32_t workers, uint32_t local_world)
{
    struct fdl_affinity a;
    struct fdl_affinity_question q = {asked, pci, workers, local_world};
    if (fdl_affinity_choose(&q, root, &a) < 0)
        fail_msg("%s", fdl_last_error());
    return a;
}

/* With its words, and the cores of one rank. */
static void expect_free(const struct fdl_affinity *a, uint32_t share,
                        const char *words)
{
    if (a->bound || !strstr(a->reason, words))
        fail_msg("bound %d: %s", a->bound, a->reason);
    assert_int_equal(a->share, share);
}

static void expect_bound(const struct fdl_affinity *a, const char *cpus,
                         uint32_t share)
{
    char list[64];
    if (!a->bound)
        fail_msg("%s", a->reason);
    fdl_cpu_set_print(&a->cpus, list, sizeof(list));
    assert_string_equal(list, cpus);
    assert_int_equal(a->share, share);
}

TEST_WITH(binds_to_the_node, setup, teardown)
{
    put_two_nodes();
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_bound(&a, "16-31,48-63", 32);
    assert_int_equal(a.node, 1);
    assert_int_equal(a.usable, 32);
    assert_int_equal(a.ranks, 1);
    assert_non_null(strstr(a.reason, "NUMA node 1"));
}

TEST_WITH(asked_for_none, setup, teardown)
{
    put_two_nodes();
    struct fdl_affinity a = choose("none", PCI, 0, 2);
    expect_free(&a, 32, "affinity");
    assert_int_equal(a.node, 1);
    assert_int_equal(fdl_cpu_set_count(&a.near), 32); /* for the slabs */
    assert_int_equal(a.usable, 64);
    assert_int_equal(a.ranks, 2);
}

TEST_WITH(nothing_to_be_near_to, setup, teardown)
{
    put_two_nodes();
    struct fdl_affinity a = choose("auto", NULL, 0, 1);
    expect_free(&a, 64, "no GPU");
    assert_int_equal(a.node, -1);
}

TEST_WITH(one_node, setup, teardown)
{
    put_two_nodes();
    put(NODE "has_cpu", "0\n");
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_free(&a, 64, "one NUMA node");
}

/* The second has memory only. */
TEST_WITH(a_node_without_cpus, setup, teardown)
{
    put_two_nodes();
    put(NODE "has_cpu", "what\n");
    put(NODE "node0/cpulist", "0-63\n");
    put(NODE "node1/cpulist", "\n");
    put(GPU "numa_node", "0\n");
    put(GPU "local_cpulist", "0-63\n");
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_free(&a, 64, "all usable CPUs");
}

TEST_WITH(the_gpu_has_no_node, setup, teardown)
{
    static const char *const nodes[] = {"-1\n", "\n", "one\n",
                                        "99999999999999999999\n"};
    put_two_nodes();
    for (size_t i = 0; i < FDL_COUNT_OF(nodes); i++) {
        put(GPU "numa_node", nodes[i]);
        struct fdl_affinity a = choose("auto", PCI, 0, 1);
        expect_free(&a, 64, PCI);
        assert_int_equal(a.node, -1);
    }
    struct fdl_affinity a = choose("auto", "0000:ff:00.0", 0, 1);
    expect_free(&a, 64, "0000:ff:00.0");
}

TEST_WITH(nothing_can_be_read, setup, teardown)
{
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_free(&a, 1, "does not list");
    a = choose("none", PCI, 0, 1);
    expect_free(&a, 1, "affinity");
    a = choose("0-3", PCI, 0, 1);
    expect_bound(&a, "0-3", 4);
    put(NODE "has_cpu", "0-1\n");
    put(GPU "numa_node", "1\n");
    a = choose("auto", PCI, 0, 1);
    expect_free(&a, 1, "does not say");
}

/* The node's own list, where the device's is garbage or missing. */
TEST_WITH(garbage_in_the_list, setup, teardown)
{
    static const char *const lists[] = {"", "\n", "16-", "0xffff\n", "31-16\n"};
    put_two_nodes();
    for (size_t i = 0; i < FDL_COUNT_OF(lists); i++) {
        put(GPU "local_cpulist", lists[i]);
        struct fdl_affinity a = choose("auto", PCI, 0, 1);
        expect_bound(&a, "16-31,48-63", 32);
    }
    put(NODE "node1/cpulist", "16-\n");
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_free(&a, 64, "does not say");
}

TEST_WITH(the_mask_narrows, setup, teardown)
{
    put_two_nodes();
    set_mask("8-31");
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_bound(&a, "16-31", 16);
    assert_int_equal(fdl_cpu_set_count(&a.near), 16);
}

TEST_WITH(the_mask_excludes_the_node, setup, teardown)
{
    put_two_nodes();
    set_mask("0-15,32-47");
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_free(&a, 32, "none of the 32");
    assert_int_equal(fdl_cpu_set_count(&a.near), 0);
}

/* As under torchrun --numa-binding, or numactl. */
TEST_WITH(the_mask_is_the_node, setup, teardown)
{
    put_two_nodes();
    set_mask("16-31,48-63");
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_free(&a, 32, "all usable CPUs");
}

/* A container whose files show the whole machine. */
TEST_WITH(the_cpuset_narrows, setup, teardown)
{
    put_two_nodes();
    put("/proc/self/cgroup", "0::/job\n");
    put("/proc/self/mountinfo",
        "1 2 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/job/cpuset.cpus.effective", "0-31\n");
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_bound(&a, "16-31", 16);
    put("/sys/fs/cgroup/job/cpuset.cpus.effective", "0-17\n");
    a = choose("auto", PCI, 0, 1);
    expect_free(&a, 18, "2 of the 18");
}

TEST_WITH(offline_cpus_do_not_count, setup, teardown)
{
    put_two_nodes();
    set_mask("0-1023"); /* all that could be plugged in */
    put("/sys/devices/system/cpu/online", "0-17,32-47\n");
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_free(&a, 34, "2 of the 34");
    put("/sys/devices/system/cpu/online", "0-31\n");
    a = choose("auto", PCI, 0, 1);
    expect_bound(&a, "16-31", 16);
}

/* 16 CPUs and half of all, or all of a smaller share. */
TEST_WITH(too_few_are_worse_than_none, setup, teardown)
{
    put_two_nodes();
    put(GPU "local_cpulist", "0-1\n"); /* of 64 */
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_free(&a, 64, "too few");
    put(GPU "local_cpulist", "0-30\n");
    a = choose("auto", PCI, 0, 1);
    expect_free(&a, 64, "31 of the 64");
    put(GPU "local_cpulist", "0-31\n");
    a = choose("auto", PCI, 0, 1);
    expect_bound(&a, "0-31", 32);
    set_mask("0-7,32-39"); /* 16 CPUs, half of them near */
    a = choose("auto", PCI, 0, 1);
    expect_free(&a, 16, "8 of the 16");
}

TEST_WITH(as_many_as_workers_are_enough, setup, teardown)
{
    put_two_nodes();
    set_mask("0-7,16-23");
    struct fdl_affinity a = choose("auto", PCI, 8, 1);
    expect_bound(&a, "16-23", 8);
    a = choose("auto", PCI, 9, 1);
    expect_free(&a, 16, "too few");
}

/* A quota is the limit then, not the CPUs. */
TEST_WITH(enough_for_the_quota, setup, teardown)
{
    put_two_nodes();
    set_mask("0-7,16-23");
    put("/proc/self/cgroup", "0::/job\n");
    put("/proc/self/mountinfo",
        "1 2 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/job/cpu.max", "350000 100000\n");
    struct fdl_affinity a = choose("auto", PCI, 0, 1);
    expect_bound(&a, "16-23", 4);
    assert_int_equal(a.usable, 4);
}

/* Half of the ranks share a node: each has what it had. */
TEST_WITH(ranks_spread_over_the_nodes, setup, teardown)
{
    put_two_nodes();
    struct fdl_affinity a = choose("auto", PCI, 0, 8);
    expect_bound(&a, "16-31,48-63", 8);
    assert_int_equal(a.ranks, 4);
    a = choose("auto", PCI, 0, 3);
    expect_bound(&a, "16-31,48-63", 16);
    assert_int_equal(a.ranks, 2);
    a = choose("auto", PCI, 0, 1000);
    expect_bound(&a, "16-31,48-63", 1);
    put(GPU "local_cpulist", "16-23\n");
    a = choose("auto", PCI, 0, 8);
    expect_free(&a, 8, "too few");
}

/* It is this process's own, and needs no GPU. */
TEST_WITH(a_list_is_taken, setup, teardown)
{
    put_two_nodes();
    struct fdl_affinity a = choose("3,5-6", NULL, 0, 8);
    expect_bound(&a, "3,5-6", 3);
    set_mask("6-9");
    a = choose("3,5-6", PCI, 64, 1);
    expect_bound(&a, "6", 1);
    assert_int_equal(a.node, 1);
}

TEST_WITH(a_list_is_refused, setup, teardown)
{
    static const struct {
        const char *asked;
        int32_t status;
        const char *words;
    } of[] = {{"", FEEDLINE_EINVAL, "auto, none"},
              {"node1", FEEDLINE_EINVAL, "'node1'"},
              {"3-1", FEEDLINE_EINVAL, "0-15,32-47"},
              {"64-127", FEEDLINE_ERANGE, "leave 0-63"}};
    put_two_nodes();
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++) {
        struct fdl_affinity a = {.node = 77};
        struct fdl_affinity_question q = {of[i].asked, PCI, 0, 1};
        assert_int_equal(fdl_affinity_choose(&q, root, &a), of[i].status);
        assert_non_null(strstr(fdl_last_error(), of[i].words));
        assert_int_equal(a.node, 77);
    }
}

TEST_MAIN("affinity")
