/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines laid out as files below a temporary folder, from tables: what the
 * process's own files say, the groups with their limits, and what must come
 * out.
 */
#include "base/compiler.h"
#include "machine_files.h"
#include "profiler/system/machine.h"

#define GIB (UINT64_C(1) << 30)

#define V2_MOUNT                                                               \
  "24 1 0:21 / /proc rw - proc proc rw\n"                                      \
  "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"

#define V1_MOUNTS                                                              \
  "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"                          \
  "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "                \
  "rw,cpu,cpuacct\n"                                                           \
  "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"          \
  "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"

#define V1_GROUPS                                                              \
  "9:name=systemd:/user\n4:memory:/jobs/train\n3:cpuset:/jobs\n"               \
  "1:cpu,cpuacct:/jobs/train\n"

#define NO_LIMIT_V1 "9223372036854771712\n"

struct file {
    const char *path;
    const char *text;
};

struct layout {
    struct file file[12];
    bool v1;                  /* V1_GROUPS below V1_MOUNTS */
    const char *v2;           /* the one group below V2_MOUNT */
    uint32_t allowed, usable; /* 0: all */
    double quota;
    uint64_t memory; /* 0: all */
};

/* Eight cores, all allowed, 16 GiB; then the layout's files, which may replace
 * these. */
static void check_layout(const struct layout *l)
{
    struct fdl_machine m;
    put("/proc/self/status", "Name:\tx\nCpus_allowed:\tff\n"
                             "Cpus_allowed_list:\t0-7\n");
    put("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
    put("/sys/devices/system/cpu/online", "0-7\n");
    if (l->v1) {
        put("/proc/self/cgroup", V1_GROUPS);
        put("/proc/self/mountinfo", V1_MOUNTS);
    }
    if (l->v2) {
        char group[64];
        snprintf(group, sizeof(group), "0::%s\n", l->v2);
        put("/proc/self/cgroup", group);
        put("/proc/self/mountinfo", V2_MOUNT);
    }
    for (size_t i = 0; i < FDL_COUNT_OF(l->file) && l->file[i].path; i++)
        put(l->file[i].path, l->file[i].text);
    fdl_machine_read(&m, root);
    assert_int_equal(m.cpus_online, 8);
    assert_int_equal(m.cpus_allowed, l->allowed ? l->allowed : 8);
    assert_int_equal(m.cpus_usable, l->usable ? l->usable : 8);
    assert_true(m.cpu_quota > l->quota - 1e-9 && m.cpu_quota < l->quota + 1e-9);
    assert_int_equal(m.memory_bytes, 16 * GIB);
    assert_int_equal(m.memory_limit_bytes,
                     l->memory ? l->memory : m.memory_bytes);
}

#define check(...) check_layout(&(struct layout){__VA_ARGS__})

TEST_WITH(test_no_cgroup, setup, teardown)
{
    check(.usable = 8);
}

TEST_WITH(test_affinity_only, setup, teardown)
{
    check(.file = {{"/proc/self/status", "Cpus_allowed_list:\t1,3,5\n"}},
          .allowed = 3, .usable = 3);
}

TEST_WITH(test_v1_quota, setup, teardown)
{
    check(.v1 = true,
          .file = {{"/sys/fs/cgroup/cpu,cpuacct/jobs/train/cpu.cfs_quota_us",
                    "250000\n"},
                   {"/sys/fs/cgroup/cpu,cpuacct/jobs/train/cpu.cfs_period_us",
                    "50000\n"},
                   {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
                   {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
                   {"/sys/fs/cgroup/memory/jobs/train/memory.limit_in_bytes",
                    NO_LIMIT_V1}},
          .usable = 5, .quota = 5);
}

TEST_WITH(test_v1_nested_parent, setup, teardown)
{
    check(.v1 = true,
          .file = {{"/sys/fs/cgroup/cpu,cpuacct/jobs/train/cpu.cfs_quota_us",
                    "600000\n"},
                   {"/sys/fs/cgroup/cpu,cpuacct/jobs/train/cpu.cfs_period_us",
                    "100000\n"},
                   {"/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_quota_us",
                    "200000\n"},
                   {"/sys/fs/cgroup/cpu,cpuacct/jobs/cpu.cfs_period_us",
                    "100000\n"},
                   {"/sys/fs/cgroup/memory/jobs/train/memory.limit_in_bytes",
                    NO_LIMIT_V1},
                   {"/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes",
                    "2147483648\n"}},
          .usable = 2, .quota = 2, .memory = 2 * GIB);
}

TEST_WITH(test_v1_cpuset_only, setup, teardown)
{
    check(.v1 = true,
          .file = {{"/sys/fs/cgroup/cpuset/jobs/cpuset.cpus", "2-5\n"},
                   {"/sys/fs/cgroup/cpuset/cpuset.cpus", "0-63\n"}},
          .allowed = 4, .usable = 4);
}

/* Version 1 without inheritance: cpuset.cpus is empty until it is set. */
TEST_WITH(test_v1_effective_cpuset, setup, teardown)
{
    check(.v1 = true,
          .file = {{"/sys/fs/cgroup/cpuset/jobs/cpuset.cpus", "\n"},
                   {"/sys/fs/cgroup/cpuset/jobs/cpuset.effective_cpus", "7\n"}},
          .allowed = 1, .usable = 1);
}

/* A container without a cgroup namespace: the host's path in both files. */
TEST_WITH(test_v1_container, setup, teardown)
{
    check(.file =
              {{"/proc/self/cgroup",
                "5:memory:/docker/ab\n2:cpu:/docker/ab/job\n"},
               {"/proc/self/mountinfo",
                "1 2 0:1 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup "
                "rw,cpu\n"
                "1 2 0:2 /docker/ab /sys/fs/cgroup/memory rw master:9 - cgroup "
                "cgroup rw,memory\n"},
               {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "400000\n"},
               {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"},
               {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"},
               {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
               {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"}},
          .usable = 3, .quota = 3, .memory = GIB);
}

TEST_WITH(test_v2, setup, teardown)
{
    check(.v2 = "/jobs/train",
          .file = {{"/sys/fs/cgroup/jobs/train/cpu.max", "200000 100000\n"},
                   {"/sys/fs/cgroup/jobs/train/memory.max", "4294967296\n"},
                   {"/sys/fs/cgroup/jobs/train/cpuset.cpus.effective", "0-5\n"},
                   {"/sys/fs/cgroup/jobs/cpu.max", "max 100000\n"},
                   {"/sys/fs/cgroup/jobs/memory.max", "max\n"}},
          .allowed = 6, .usable = 2, .quota = 2, .memory = 4 * GIB);
}

TEST_WITH(test_v2_nested, setup, teardown)
{
    check(.v2 = "/a/b/c/d",
          .file = {{"/sys/fs/cgroup/a/b/c/d/cpu.max", "max 100000\n"},
                   {"/sys/fs/cgroup/a/b/c/d/memory.max", "max\n"},
                   {"/sys/fs/cgroup/a/b/c/cpu.max", "500000 100000\n"},
                   {"/sys/fs/cgroup/a/b/c/memory.max", "8589934592\n"},
                   {"/sys/fs/cgroup/a/b/memory.max", "3221225472\n"},
                   {"/sys/fs/cgroup/a/cpu.max", "30000 10000\n"},
                   {"/sys/fs/cgroup/a/memory.max", "6442450944\n"}},
          .usable = 3, .quota = 3, .memory = 3 * GIB);
}

/* A cgroup namespace: the process sees itself at "/". */
TEST_WITH(test_v2_namespace, setup, teardown)
{
    check(.v2 = "/",
          .file = {{"/sys/fs/cgroup/cpu.max", "150000 100000\n"},
                   {"/sys/fs/cgroup/memory.max", "536870912\n"}},
          .usable = 2, .quota = 1.5, .memory = GIB / 2);
}

/* A namespace, and the process was moved out of its root: no path leads there,
 * so the mount point stands for it. */
TEST_WITH(test_v2_outside_namespace, setup, teardown)
{
    check(.v2 = "/../other",
          .file = {{"/sys/fs/cgroup/cpu.max", "200000 100000\n"},
                   {"/sys/fs/other/cpu.max", "100000 100000\n"}},
          .usable = 2, .quota = 2);
}

/* The container's own mount, and its host's beside it: only the one that
 * contains the group counts. */
TEST_WITH(test_two_mounts, setup, teardown)
{
    check(.file =
              {{"/proc/self/cgroup", "0::/docker/ab\n"},
               {"/proc/self/mountinfo",
                "1 2 0:1 /docker/zz /other\\040one rw - cgroup2 cgroup2 rw\n"
                "1 2 0:1 /docker/a /wrong rw - cgroup2 cgroup2 rw\n"
                "1 2 0:1 /docker/ab /mine\\040here rw - cgroup2 cgroup2 rw\n"},
               {"/other one/cpu.max", "100000 100000\n"},
               {"/wrong/cpu.max", "200000 100000\n"},
               {"/mine here/cpu.max", "700000 100000\n"}},
          .usable = 7, .quota = 7);
}

/* Version 1 controllers and a version 2 tree without any. */
TEST_WITH(test_hybrid, setup, teardown)
{
    check(.file = {{"/proc/self/cgroup", V1_GROUPS "0::/jobs/train\n"},
                   {"/proc/self/mountinfo", V1_MOUNTS
                    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 "
                    "rw\n"},
                   {"/sys/fs/cgroup/cpu,cpuacct/jobs/train/cpu.cfs_quota_us",
                    "400000\n"},
                   {"/sys/fs/cgroup/cpu,cpuacct/jobs/train/cpu.cfs_period_us",
                    "100000\n"},
                   {"/sys/fs/cgroup/memory/jobs/train/memory.limit_in_bytes",
                    "1073741824\n"},
                   {"/sys/fs/cgroup/unified/jobs/train/cgroup.procs", "1\n"}},
          .usable = 4, .quota = 4, .memory = GIB);
}

/* Some controllers in version 1, others in version 2. */
TEST_WITH(test_hybrid_mixed, setup, teardown)
{
    check(.file = {{"/proc/self/cgroup", "2:cpu:/x\n0::/y\n"},
                   {"/proc/self/mountinfo",
                    "1 2 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
                    "1 2 0:2 / /cg/unified rw - cgroup2 cgroup2 rw\n"},
                   {"/cg/cpu/x/cpu.cfs_quota_us", "300000\n"},
                   {"/cg/cpu/x/cpu.cfs_period_us", "100000\n"},
                   {"/cg/unified/y/memory.max", "1073741824\n"}},
          .usable = 3, .quota = 3, .memory = GIB);
}

TEST_WITH(test_quota_of_half_a_core, setup, teardown)
{
    check(.v2 = "/", .file = {{"/sys/fs/cgroup/cpu.max", "50000 100000\n"}},
          .usable = 1, .quota = 0.5);
}

/* The fourth worker still adds half a core. */
TEST_WITH(test_quota_rounds_up, setup, teardown)
{
    check(.v2 = "/", .file = {{"/sys/fs/cgroup/cpu.max", "350000 100000\n"}},
          .usable = 4, .quota = 3.5);
}

TEST_WITH(test_quota_above_affinity, setup, teardown)
{
    check(.v2 = "/",
          .file = {{"/proc/self/status", "Cpus_allowed_list:\t0-1\n"},
                   {"/sys/fs/cgroup/cpu.max", "6400000 100000\n"}},
          .allowed = 2, .usable = 2, .quota = 64);
}

/* Every file is there, and none says anything. */
TEST_WITH(test_garbage_is_no_limit, setup, teardown)
{
    static const char *const garbage[] = {
        "",         "\n",         "max",       "-1",
        "x 100000", "100000 0",   "0 1",       "200000 -5",
        "::",       "- - - -",    "100000 xx", "1e-9 100000",
        "100000.5", "0 0 0 0\n0", "\\0\\9",    " "};
    for (size_t i = 0; i < FDL_COUNT_OF(garbage); i++)
        check(.file = {{"/proc/self/cgroup",
                        "bad\n:\n::\n0::\n7:cpu\n0::/g\n2:cpu:/g\n"},
                       {"/proc/self/mountinfo",
                        "\n1\n1 2 3 4\n1 2 3 / /x rw\n1 2 3 / /x rw - cgroup2\n"
                        "1 2 3 / /x rw - cgroup2 c\n1 2 3 / /one rw - cgroup c "
                        "rw,cpu\n"
                        "1 2 3 / /two rw - cgroup2 c rw"},
                       {"/one/g/cpu.cfs_quota_us", garbage[i]},
                       {"/one/g/cpu.cfs_period_us", "0\n"},
                       {"/two/g/cpu.max", garbage[i]},
                       {"/two/g/memory.max", i % 2 ? "-7\n" : "12x\n"},
                       {"/two/g/cpuset.cpus.effective", "what\n"}});
}

/* Nothing can be read at all. */
TEST_WITH(test_empty_root, setup, teardown)
{
    struct fdl_machine m;
    fdl_machine_read(&m, root);
    assert_int_equal(m.cpus_online, 1);
    assert_int_equal(m.cpus_allowed, 1);
    assert_int_equal(m.cpus_usable, 1);
    assert_true(m.cpu_quota <= 0);
    assert_int_equal(m.memory_bytes, 0);
    assert_int_equal(m.memory_limit_bytes, 0);
    assert_string_equal(m.kernel, "");
    assert_string_equal(m.cpu_model, "");
}

TEST_WITH(test_many_cpus, setup, teardown)
{
    struct fdl_machine m;
    put("/proc/self/status", "Cpus_allowed_list:\t0-1535\n");
    put("/sys/devices/system/cpu/online", "0-2047\n");
    fdl_machine_read(&m, root);
    assert_int_equal(m.cpus_online, 2048);
    assert_int_equal(m.cpus_allowed, 1536);
    assert_int_equal(m.cpus_usable, 1536);
}

/* The mask of a process that nobody bound has CPUs that could be plugged in. */
TEST_WITH(test_offline_cpus, setup, teardown)
{
    struct fdl_machine m;
    struct fdl_machine_grant grant;
    put("/proc/self/status", "Cpus_allowed_list:\t0-239\n");
    put("/sys/devices/system/cpu/online", "0-3,5\n");
    fdl_machine_read(&m, root);
    assert_int_equal(m.cpus_online, 5);
    assert_int_equal(m.cpus_allowed, 5);
    assert_int_equal(m.cpus_usable, 5);
    fdl_machine_read_grant(&grant, NULL, root);
    assert_int_equal(grant.cpus_allowed, 5);
}

/* Threads that are bound have the CPUs that are left to them, and where nothing
 * is left the kernel lets them run on the rest. */
TEST_WITH(test_grant_within, setup, teardown)
{
    struct fdl_machine_grant grant;
    struct fdl_cpu_set within;
    assert_true(fdl_cpu_set_parse(&within, "2-5"));
    fdl_machine_read_grant(&grant, &within, root);
    assert_int_equal(grant.cpus_allowed, 4);
    put("/proc/self/status", "Cpus_allowed_list:\t0-3\n");
    fdl_machine_read_grant(&grant, &within, root);
    assert_int_equal(grant.cpus_allowed, 2);
    put("/proc/self/status", "Cpus_allowed_list:\t6-9\n");
    fdl_machine_read_grant(&grant, &within, root);
    assert_int_equal(grant.cpus_allowed, 4);
}

TEST_WITH(test_online_from_cpuinfo, setup, teardown)
{
    struct fdl_machine m;
    put("/proc/cpuinfo", "processor\t: 0\nx: y\n\nprocessor\t: 1\nx: y\n");
    fdl_machine_read(&m, root);
    assert_int_equal(m.cpus_online, 2);
    assert_int_equal(m.cpus_usable, 2);
}

TEST_WITH(test_models, setup, teardown)
{
    static const struct {
        const char *cpuinfo;
        const char *model;
    } of[] = {
        {"processor\t: 0\nmodel\t\t: 167\nmodel name\t: Some CPU @ 3GHz  \n",
         "Some CPU @ 3GHz"},
        {"processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
         "ARM implementer 0x41 part 0xd0c"},
        {"processor\t: 0\nCPU part\t: 0xd08\n\nModel\t\t: Board 4\n",
         "Board 4"},
        {"processor\t: 0\ncpu\t\t: POWER9\n", "POWER9"},
        {"processor\t: 0\n", ""},
    };
    put("/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n");
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++) {
        struct fdl_machine m;
        put("/proc/cpuinfo", of[i].cpuinfo);
        fdl_machine_read(&m, root);
        assert_string_equal(m.cpu_model, of[i].model);
        assert_string_equal(m.kernel, "6.1.0-13-amd64");
    }
}

TEST(test_this_machine)
{
    const struct fdl_machine *m = fdl_machine_get();
    assert_ptr_equal(m, fdl_machine_get());
    assert_in_range(m->cpus_online, 1, FDL_CPU_SET_MAX);
    assert_in_range(m->cpus_allowed, 1, m->cpus_online);
    assert_in_range(m->cpus_usable, 1, m->cpus_allowed);
    assert_true(m->memory_bytes > 0);
    assert_in_range(m->memory_limit_bytes, 1, m->memory_bytes);
    assert_true(strlen(m->kernel) > 0);
    assert_null(strchr(m->kernel, '\n'));
}

TEST(test_json)
{
    char buf[512];
    struct fdl_json j;
    uint64_t needed;
    struct fdl_machine m = {.cpus_online = 8,
                            .cpus_allowed = 6,
                            .cpus_usable = 2,
                            .cpu_quota = 1.5,
                            .memory_bytes = 100,
                            .memory_limit_bytes = 50,
                            .kernel = "k",
                            .cpu_model = "c"};
    fdl_json_init(&j, buf, sizeof(buf));
    fdl_machine_json(&m, NULL, &j);
    assert_int_equal(fdl_json_finish(&j, &needed), 0);
    assert_string_equal(
        buf, "{\"kernel\":\"k\",\"cpu_model\":\"c\",\"cpus_online\":8,"
             "\"cpus_allowed\":6,\"cpus_usable\":2,\"cpu_quota\":1.5,"
             "\"memory_bytes\":100,\"memory_limit_bytes\":50}");
    m.cpu_quota = 0;
    fdl_json_init(&j, buf, sizeof(buf));
    fdl_machine_json(&m, NULL, &j);
    assert_int_equal(fdl_json_finish(&j, &needed), 0);
    assert_non_null(strstr(buf, "\"cpu_quota\":null"));
}

TEST_MAIN("machine")
