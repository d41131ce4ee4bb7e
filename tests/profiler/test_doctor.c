/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every finding in a good environment and in bad ones, and the facts as they
 * are read from machines laid out as files.
 */
#include "base/compiler.h"
#include "profiler/doctor/doctor_busy.h"
#include "profiler/doctor/doctor_facts.h"
#include "test.h"
#include "tests/profiler/system/machine_files.h"

#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* In which there is nothing to find. */
static struct fdl_doctor_facts healthy(void)
{
    return (struct fdl_doctor_facts){
        .machine = {.cpus_online = 8,
                    .cpus_allowed = 8,
                    .cpus_usable = 8,
                    .memory_bytes = 64 * GIB,
                    .memory_limit_bytes = 64 * GIB,
                    .kernel = "6.1.0-13-amd64",
                    .cpu_model = "c"},
        .seconds = 0.3,
        .other_cores = 0.2,
        .clock_ns = 25,
        .governor = "performance",
        .scaling_driver = "intel_pstate",
        .clocksource = "tsc",
        .simd = "avx2",
        .omp_threads = 1,
        .numa_nodes = 1,
        .has_memory = true,
        .memory_used_bytes = 8 * GIB,
        .memory_free_bytes = 50 * GIB,
        .has_memory_pressure = true,
        .memlock_bytes = UINT64_MAX,
        .has_shm = true,
        .shm_bytes = 8 * GIB,
        .huge_pages = "madvise",
        .io_uring = 1,
        .open_files = 65536,
        .threads = 10,
        .threads_limit = 4096,
        .has_read_ahead = true,
        .read_ahead_bytes = 131072,
        .wants_gpu = true,
        .has_gpu = true,
        .gpu_name = "GPU",
        .gpu_pci = "0000:1b:00.0",
        .driver_version = 12040,
        .gpu_node = -1,
        .has_nvml = true,
        .gpu = {.utilization = 0,
                .memory_used_bytes = 1e9,
                .memory_total_bytes = 8e10,
                .power_watts = 100,
                .power_limit_watts = 300,
                .temperature = 40,
                .driver = "550.54"},
    };
}

static const struct fdl_finding *find(const struct fdl_finding *list,
                                      uint32_t n, const char *id)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].id, id) == 0)
            return &list[i];
    return NULL;
}

/* One line, of a sentence's form, that was not cut. */
static void check_words(const char *text, size_t capacity)
{
    assert_in_range(strlen(text), 5, capacity - 2);
    assert_null(strchr(text, '\n'));
    assert_true(text[strlen(text) - 1] != '.');
}

static void expect(const struct fdl_doctor_facts *f, const char *id,
                   enum fdl_finding_level level, const char *part)
{
    struct fdl_finding list[FDL_FINDINGS_MAX];
    uint32_t n = fdl_doctor_judge(f, list);
    const struct fdl_finding *found = find(list, n, id);
    if (!found)
        fail_msg("no finding %s", id);
    if (found->level != level || !strstr(found->text, part))
        fail_msg("%s: level %d, %s", id, (int)found->level, found->text);
    check_words(found->text, sizeof(found->text));
    if (level == FDL_FINDING_OK)
        assert_string_equal(found->remedy, "");
    else
        check_words(found->remedy, sizeof(found->remedy));
}

static void expect_none(const struct fdl_doctor_facts *f, const char *id)
{
    struct fdl_finding list[FDL_FINDINGS_MAX];
    uint32_t n = fdl_doctor_judge(f, list);
    assert_null(find(list, n, id));
}

#define OK      FDL_FINDING_OK
#define NOTE    FDL_FINDING_NOTE
#define WARNING FDL_FINDING_WARNING
#define ERROR   FDL_FINDING_ERROR

/* WITH(change; change, id, level, part): the healthy machine, changed. */
#define WITH(changes, id, level, part)                                         \
  do {                                                                         \
    struct fdl_doctor_facts f = healthy();                                     \
    struct fdl_machine *m = &f.machine;                                        \
    (void)m;                                                                   \
    changes;                                                                   \
    expect(&f, id, level, part);                                               \
  } while (0)

#define WITHOUT(changes, id)                                                   \
  do {                                                                         \
    struct fdl_doctor_facts f = healthy();                                     \
    changes;                                                                   \
    expect_none(&f, id);                                                       \
  } while (0)

#define SET(field, text) strcpy(f.field, text)

TEST(test_healthy)
{
    struct fdl_doctor_facts f = healthy();
    struct fdl_finding list[FDL_FINDINGS_MAX];
    f.machine.cpu_quota = 8;
    uint32_t n = fdl_doctor_judge(&f, list);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].level != OK)
            fail_msg("%s: %s", list[i].id, list[i].text);
        check_words(list[i].text, sizeof(list[i].text));
        assert_ptr_equal(find(list, n, list[i].id), &list[i]);
    }
    assert_int_equal(n, 28); /* all but ranks, of which there is one */
}

/* Nothing is known: nothing is claimed, and nothing crashes. */
TEST(test_nothing_known)
{
    struct fdl_doctor_facts f = {.overcommit = -1, .gpu_node = -1};
    struct fdl_finding list[FDL_FINDINGS_MAX];
    uint32_t n = fdl_doctor_judge(&f, list);
    for (uint32_t i = 0; i < n; i++)
        assert_true(list[i].level < WARNING);
    assert_null(find(list, n, "gpu"));
    assert_null(find(list, n, "memory"));
    assert_null(find(list, n, "clocksource"));
}

TEST(test_cores)
{
    WITH((void)0, "cpu_quota", OK, "no CPU quota");
    WITH(m->cpu_quota = 8, "cpu_quota", OK, "no less");
    WITH(m->cpu_quota = 4, "cpu_quota", NOTE, "4 of the 8 cores");
    WITH(m->cpu_quota = 1.5, "cpu_quota", WARNING, "1.5 of 8 cores");

    WITHOUT((void)0, "cpu_throttling");
    WITHOUT((f.machine.cpu_quota = 4, f.seconds = 0), "cpu_throttling");
    WITH(m->cpu_quota = 4, "cpu_throttling", OK, "not throttle");
    WITH((m->cpu_quota = 4, f.throttled_share = 2.0 / 3), "cpu_throttling",
         WARNING, "67 % of the periods");

    WITH((void)0, "affinity", OK, "all 8");
    WITH(m->cpus_allowed = 4, "affinity", NOTE, "4 of 8");
    WITH(m->cpus_allowed = 1, "affinity", WARNING, "one of 8");
    WITH((m->cpus_allowed = 1, m->cpus_online = 1), "affinity", OK, "all 1");

    WITH((void)0, "other_load", OK, "0.2 of the 8");
    WITH(f.other_cores = 1, "other_load", NOTE, "1.0 of the 8");
    WITH(f.other_cores = 2.5, "other_load", WARNING, "2.5 of the 8");
    WITH((f.other_cores = 2.5, f.n_busiest = 2,
          f.busiest[0] = (struct fdl_busy){4711, 1.9, "python3"},
          f.busiest[1] = (struct fdl_busy){12, 0.5, "cc1"}),
         "other_load", WARNING,
         "2.5 of the 8 cores: python3 (4711) 1.9, cc1 (12) 0.5");
    WITHOUT(f.seconds = 0, "other_load");
    /* A large host that is busy, but for our part of it. */
    WITH((m->cpus_online = 64, m->cpu_quota = 4, f.other_cores = 5),
         "other_load", OK, "5.0 of the 64");
    WITH((m->cpus_online = 64, m->cpus_allowed = 64, f.other_cores = 40),
         "other_load", WARNING, "40.0 of the 64");
}

TEST(test_threads_for_mathematics)
{
    WITH((void)0, "math_threads", OK, "1 process of 1 thread ");
    WITH(f.omp_threads = 8, "math_threads", OK, "8 threads");
    WITH(f.omp_threads = 16, "math_threads", WARNING, "16 threads");
    WITH(f.mkl_threads = 16, "math_threads", WARNING, "16 threads");
    WITH(f.blas_threads = 16, "math_threads", WARNING, "16 threads");
    WITH((f.ranks = 4, f.omp_threads = 2), "math_threads", OK, "4 processes");
    WITH((f.ranks = 4, f.omp_threads = 4), "math_threads", WARNING,
         "4 processes of 4 threads");
    WITH(f.omp_threads = 0, "math_threads", NOTE, "up to 8 threads");
    WITH((f.omp_threads = 0, m->cpu_quota = 2), "math_threads", WARNING,
         "8 threads for mathematics (OMP_NUM_THREADS is not set)");
    WITH((f.omp_threads = 0, f.ranks = 2), "math_threads", WARNING,
         "2 processes of 8");
    WITH((f.omp_threads = 0, m->cpus_allowed = 1), "math_threads", OK, "one");

    WITHOUT((void)0, "ranks");
    WITHOUT(f.ranks = 1, "ranks");
    WITH(f.ranks = 2, "ranks", NOTE, "4.0 each");
    WITH(f.ranks = 8, "ranks", WARNING, "1.0 each");
    WITH((f.ranks = 2, m->cpu_quota = 2), "ranks", WARNING, "1.0 each");
}

TEST(test_processor)
{
    WITH((void)0, "governor", OK, "performance");
    WITH(SET(governor, "powersave"), "governor", NOTE, "powersave");
    WITH(SET(governor, "schedutil"), "governor", NOTE, "schedutil");
    WITH((SET(governor, "powersave"), SET(scaling_driver, "acpi-cpufreq")),
         "governor", WARNING, "acpi-cpufreq");
    WITH((SET(governor, "powersave"), SET(scaling_driver, "amd-pstate-epp")),
         "governor", NOTE, "powersave");
    WITHOUT(SET(governor, ""), "governor");

    WITH((void)0, "clocksource", OK, "tsc, 25 ns");
    WITH(SET(clocksource, "kvm-clock"), "clocksource", OK, "kvm-clock");
    WITH((SET(clocksource, "hpet"), f.clock_ns = 900), "clocksource", WARNING,
         "hpet, 900 ns");
    WITH((SET(clocksource, "xen"), f.clock_ns = 0), "clocksource", WARNING,
         "xen");
    WITH((SET(clocksource, ""), f.clock_ns = 700), "clocksource", WARNING,
         "unknown, 700 ns");
    WITHOUT((SET(clocksource, ""), f.clock_ns = 0), "clocksource");

    WITH((void)0, "simd", OK, "avx2");
    WITH(SET(simd, "c"), "simd", WARNING, "no AVX2");
    WITH(f.simd_is_masked = true, "simd", WARNING, "environment");
    WITHOUT(SET(simd, ""), "simd");
}

TEST(test_memory)
{
    WITH((void)0, "memory", OK, "50.0 of 64.0 GiB of the machine");
    WITH((m->memory_limit_bytes = 16 * GIB, f.memory_free_bytes = 9 * GIB),
         "memory", OK, "9.0 of 16.0 GiB under the memory limit");
    WITH(f.memory_free_bytes = 800 * MIB, "memory", WARNING, "0.78 of 64.0");
    WITH(f.memory_free_bytes = 100 * MIB, "memory", ERROR, "killed");
    WITHOUT(f.has_memory = false, "memory");

    WITH((void)0, "memory_pressure", OK, "no task waits");
    WITH(f.memory_pressure = 0.2, "memory_pressure", WARNING, "20 %");
    WITHOUT(f.has_memory_pressure = false, "memory_pressure");

    WITH((void)0, "swap", OK, "no swap");
    WITH(f.swap_bytes = 8 * GIB, "swap", OK, "not in use");
    WITH((f.swap_bytes = 8 * GIB, f.swap_used_bytes = GIB), "swap", NOTE,
         "1.0 of 8.0");
    WITH((f.swap_bytes = 8 * GIB, f.swap_used_bytes = 5 * GIB), "swap", WARNING,
         "5.0 of 8.0");

    WITH((void)0, "page_cache", OK, "50.0 GiB");
    WITH(f.memory_free_bytes = 2 * GIB, "page_cache", NOTE, "2.0 GiB");
    WITHOUT(f.has_memory = false, "page_cache");

    WITH((void)0, "huge_pages", OK, "madvise");
    WITH(SET(huge_pages, "never"), "huge_pages", NOTE, "off");
    WITHOUT(SET(huge_pages, ""), "huge_pages");

    WITH((void)0, "overcommit", OK, "=0");
    WITH(f.overcommit = 2, "overcommit", NOTE, "strict");
    WITHOUT(f.overcommit = -1, "overcommit");
}

TEST(test_locked_and_shared_memory)
{
    WITH((void)0, "memlock", OK, "no limit");
    WITH(f.memlock_bytes = 65536, "memlock", NOTE, "64 KiB");
    WITH((f.memlock_bytes = 65536, f.wants_gpu = false), "memlock", OK,
         "64 KiB");
    WITH((f.memlock_bytes = 65536, SET(machine.kernel, "5.4.0-1")), "memlock",
         WARNING, "rings");
    WITH((f.memlock_bytes = 65536, f.wants_gpu = false,
          SET(machine.kernel, "5.15.0-1")),
         "memlock", OK, "64 KiB");

    WITH((void)0, "shm", OK, "8.0 GiB");
    WITH(f.shm_bytes = 64 * MIB, "shm", NOTE, "64 MiB");
    WITH((f.shm_bytes = 64 * MIB, f.ranks = 2), "shm", WARNING, "NCCL");
    WITHOUT(f.has_shm = false, "shm");
}

TEST(test_system)
{
    WITH((void)0, "kernel", OK, "6.1.0");
    WITH(SET(machine.kernel, "6.18.44-x"), "kernel", OK, "6.18");
    WITH(SET(machine.kernel, "10.0"), "kernel", OK, "10.0");
    WITH(SET(machine.kernel, "5.15.0"), "kernel", NOTE, "interrupt");
    WITH(SET(machine.kernel, "4.18.0-553.el8"), "kernel", NOTE, "no io_uring");
    WITHOUT(SET(machine.kernel, ""), "kernel");
    WITHOUT(SET(machine.kernel, "mainline"), "kernel");

    WITH((void)0, "io_uring", OK, "works");
    WITH((f.io_uring = -9,
          SET(io_uring_reason, "io_uring: the system forbids it")),
         "io_uring", NOTE, "forbids");
    WITHOUT(f.io_uring = 0, "io_uring");

    WITH((void)0, "open_files", OK, "65536");
    WITH(f.open_files = UINT64_MAX, "open_files", OK, "no limit");
    WITH(f.open_files = 1024, "open_files", OK, "1024");
    WITH(f.open_files = 512, "open_files", NOTE, "512");
    WITH(f.open_files = 64, "open_files", WARNING, "64 files");
    WITHOUT(f.open_files = 0, "open_files");

    WITH((void)0, "threads_limit", OK, "4086 of 4096");
    WITH(f.threads = 4090, "threads_limit", WARNING, "6 of 4096");
    WITH(f.threads = 5000, "threads_limit", WARNING, "0 of 4096");
    WITHOUT(f.threads_limit = 0, "threads_limit");

    WITH((void)0, "read_ahead", OK, "128 KiB");
    WITH(f.read_ahead_bytes = 0, "read_ahead", NOTE, "no read-ahead");
    WITHOUT(f.has_read_ahead = false, "read_ahead");
}

TEST(test_gpu)
{
    WITH((void)0, "gpu", OK, "0000:1b:00.0");
    WITHOUT(f.wants_gpu = false, "gpu");
    WITH((f.has_gpu = false, SET(gpu_reason, "no driver is loaded")), "gpu",
         ERROR, "no driver is loaded");

    WITH((void)0, "cuda_versions", OK, "driver for CUDA 12.4");
    WITHOUT(f.driver_version = 0, "cuda_versions");
    WITHOUT(f.wants_gpu = false, "cuda_versions");

    WITH((void)0, "gpu_numa", OK, "one");
    WITH((f.numa_nodes = 2, f.gpu_node = 1, f.cpus_on_gpu_node = 8), "gpu_numa",
         OK, "node 1");
    WITH((f.numa_nodes = 2, f.gpu_node = 1, f.cpus_on_gpu_node = 4), "gpu_numa",
         NOTE, "4 of the 8");
    WITH((f.numa_nodes = 2, f.gpu_node = 1), "gpu_numa", WARNING,
         "none of the 8");
    WITH(f.numa_nodes = 2, "gpu_numa", NOTE, "does not say");
    WITHOUT(f.numa_nodes = 0, "gpu_numa");
    WITHOUT(f.has_gpu = false, "gpu_numa");

    WITH((void)0, "nvml", OK, "550.54");
    WITH((f.has_nvml = false, SET(nvml_reason, "cannot open")), "nvml", NOTE,
         "cannot open");
    WITHOUT(f.has_gpu = false, "nvml");

    WITH((void)0, "gpu_clocks", OK, "not throttled");
    WITH(f.gpu.power_capped = true, "gpu_clocks", NOTE, "100 of 300 W");
    WITH(f.gpu.thermal_capped = true, "gpu_clocks", WARNING, "40 degrees");
    WITHOUT(f.has_nvml = false, "gpu_clocks");

    WITH((void)0, "gpu_busy", OK, "idle");
    WITH(f.gpu.utilization = 0.9, "gpu_busy", WARNING, "90 %");
    WITHOUT(f.gpu.utilization = -1, "gpu_busy");
    WITHOUT(f.has_nvml = false, "gpu_busy");

    WITH((void)0, "gpu_memory", OK, "0.9 of 74.5");
    WITH(f.gpu.memory_used_bytes = 6e10, "gpu_memory", WARNING, "55.9 of 74.5");
    WITHOUT(f.gpu.memory_used_bytes = -1, "gpu_memory");
    WITHOUT(f.has_nvml = false, "gpu_memory");
}

/* Long reasons are cut, not overrun. */
TEST(test_long_words)
{
    struct fdl_doctor_facts f = healthy();
    struct fdl_finding list[FDL_FINDINGS_MAX];
    f.has_gpu = false;
    f.io_uring = -1;
    memset(f.gpu_reason, 'x', sizeof(f.gpu_reason) - 1);
    memset(f.io_uring_reason, 'y', sizeof(f.io_uring_reason) - 1);
    memset(f.machine.kernel, '9', sizeof(f.machine.kernel) - 1);
    memset(f.governor, 'z', sizeof(f.governor) - 1);
    uint32_t n = fdl_doctor_judge(&f, list);
    assert_true(n > 0);
    for (uint32_t i = 0; i < n; i++)
        assert_true(memchr(list[i].text, '\0', sizeof(list[i].text)) != NULL);
}

/* ---- Facts from files --------------------------------------------------- */

static void put_machine(void)
{
    put("/proc/self/status", "Cpus_allowed_list:\t0-3\n");
    put("/proc/sys/kernel/osrelease", "6.1.0\n");
    put("/sys/devices/system/cpu/online", "0-7\n");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n");
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
        "acpi-cpufreq\n");
    put("/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "tsc\n");
    put("/sys/devices/system/node/online", "0-1\n");
    put("/sys/devices/system/node/node0/cpulist", "0-2,8\n");
    put("/sys/devices/system/node/node1/cpulist", "3-7\n");
    put("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"
                         "SwapTotal: 2097152 kB\nSwapFree: 1048576 kB\n");
    put("/proc/pressure/memory", "some avg10=12.50 avg60=0 avg300=0 total=1\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n");
    put("/proc/sys/vm/overcommit_memory", "2\n");
    put("/sys/block/sda/queue/read_ahead_kb", "4096\n");
    put("/sys/block/nvme0n1/queue/read_ahead_kb", "128\n");
    put("/sys/block/loop0/queue/read_ahead_kb", "0\n");
}

static void put_process(int pid, const char *name, int user, int system,
                        int started)
{
    char path[64], stat[256];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    snprintf(stat, sizeof(stat),
             "%d (%s) R 1 1 1 0 -1 4194304 1 0 0 0 %d %d 0 0 20 0 1 0 %d 1 1\n",
             pid, name, user, system, started);
    put(path, stat);
}

TEST_WITH(test_busiest, setup, teardown)
{
    struct fdl_busy busy[FDL_BUSIEST];
    int ticks = (int)sysconf(_SC_CLK_TCK);
    assert_null(fdl_busy_look("/nonexistent"));
    put_process(10, "idle", 500, 500, 1);
    put_process(11, "a) b (c", 100, 0, 1);
    put_process(12, "replaced", 900 * ticks, 0, 1);
    put_process(13, "bell\a", 0, 0, 1);
    put_process(14, "small", 0, 0, 1);
    put("/proc/15/stat", "15 (cut");
    put("/proc/self/stat", "not a number");
    struct fdl_busy_look *before = fdl_busy_look(root);
    assert_int_equal(fdl_busy_between(before, before, 1, busy), 0);
    put_process(11, "a) b (c", 100 + ticks, ticks, 1);
    put_process(12, "new", ticks, 0, 2); /* the number was given again */
    put_process(13, "bell\a", ticks / 2, 0, 1);
    put_process(14, "small", ticks / 5, 0, 1);
    struct fdl_busy_look *after = fdl_busy_look(root);
    assert_int_equal(fdl_busy_between(before, after, 1, busy), 3);
    assert_string_equal(busy[0].name, "a) b (c");
    assert_true(busy[0].cores > 1.99 && busy[0].cores < 2.01);
    assert_int_equal(busy[0].pid, 11);
    assert_string_equal(busy[1].name, "new");
    assert_string_equal(busy[2].name, "bell?");
    assert_int_equal(fdl_busy_between(NULL, after, 1, busy), 0);
    assert_int_equal(fdl_busy_between(before, NULL, 1, busy), 0);
    assert_int_equal(fdl_busy_between(before, after, 0, busy), 0);
    fdl_busy_free(before);
    fdl_busy_free(after);
    fdl_busy_free(NULL);
}

TEST_WITH(test_read, setup, teardown)
{
    struct fdl_doctor_facts f = {.seconds = 3};
    put_machine();
    fdl_doctor_read(root, &f);
    assert_true(f.seconds > 2); /* not of the files */
    assert_int_equal(f.machine.cpus_allowed, 4);
    assert_string_equal(f.governor, "schedutil");
    assert_string_equal(f.scaling_driver, "acpi-cpufreq");
    assert_string_equal(f.clocksource, "tsc");
    assert_int_equal(f.numa_nodes, 2);
    assert_true(f.has_memory);
    assert_int_equal(f.memory_free_bytes, 8 * GIB);
    assert_int_equal(f.memory_used_bytes, 8 * GIB);
    assert_int_equal(f.swap_bytes, 2 * GIB);
    assert_int_equal(f.swap_used_bytes, GIB);
    assert_true(f.has_memory_pressure);
    assert_true(f.memory_pressure > 0.1249 && f.memory_pressure < 0.1251);
    assert_string_equal(f.huge_pages, "madvise");
    assert_int_equal(f.overcommit, 2);
    assert_true(f.has_read_ahead);
    assert_int_equal(f.read_ahead_bytes, 131072);
    assert_int_equal(f.threads_limit, 0);
    assert_int_equal(fdl_doctor_cpus_on_node(root, 0), 3);
    assert_int_equal(fdl_doctor_cpus_on_node(root, 1), 1);
    assert_int_equal(fdl_doctor_cpus_on_node(root, 2), 0);
}

/* Cached files do not count as used, and the tightest group does. */
TEST_WITH(test_read_v2, setup, teardown)
{
    struct fdl_doctor_facts f = {.seconds = 0};
    put_machine();
    put("/proc/self/cgroup", "0::/pod/c\n");
    put("/proc/self/mountinfo",
        "1 2 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/pod/c/memory.max", "max\n");
    put("/sys/fs/cgroup/pod/c/memory.current", "4096\n");
    put("/sys/fs/cgroup/pod/memory.max", "4294967296\n");
    put("/sys/fs/cgroup/pod/memory.current", "3221225472\n");
    put("/sys/fs/cgroup/pod/memory.stat",
        "anon 5\nactive_file 7\ninactive_file 1073741824\n");
    put("/sys/fs/cgroup/pod/c/pids.max", "max\n");
    put("/sys/fs/cgroup/pod/c/pids.current", "5\n");
    put("/sys/fs/cgroup/pod/pids.max", "100\n");
    put("/sys/fs/cgroup/pod/pids.current", "70\n");
    fdl_doctor_read(root, &f);
    assert_int_equal(f.memory_used_bytes, 2 * GIB);
    assert_int_equal(f.memory_free_bytes, 2 * GIB);
    assert_int_equal(f.threads_limit, 100);
    assert_int_equal(f.threads, 70);
}

TEST_WITH(test_read_v1, setup, teardown)
{
    struct fdl_doctor_facts f = {.seconds = 0};
    put_machine();
    put("/proc/self/cgroup", "4:memory:/t\n3:pids:/t\n1:cpu:/t\n");
    put("/proc/self/mountinfo",
        "1 2 0:2 / /cg/memory rw - cgroup cgroup rw,memory\n"
        "1 2 0:3 / /cg/pids rw - cgroup cgroup rw,pids\n");
    put("/cg/memory/t/memory.limit_in_bytes", "4294967296\n");
    put("/cg/memory/t/memory.usage_in_bytes", "4294967296\n");
    put("/cg/memory/t/memory.stat",
        "cache 9\ninactive_file 5\ntotal_inactive_file 1073741824\n");
    put("/cg/pids/t/pids.max", "64\n");
    put("/cg/pids/t/pids.current", "99\n");
    fdl_doctor_read(root, &f);
    assert_int_equal(f.memory_used_bytes, 3 * GIB);
    assert_int_equal(f.memory_free_bytes, GIB);
    assert_int_equal(f.threads_limit, 64);
    assert_int_equal(f.threads, 64);
}

TEST_WITH(test_read_nothing, setup, teardown)
{
    struct fdl_doctor_facts f;
    memset(&f, 0xa5, sizeof(f));
    fdl_doctor_read(root, &f);
    assert_string_equal(f.governor, "");
    assert_string_equal(f.clocksource, "");
    assert_string_equal(f.huge_pages, "");
    assert_int_equal(f.numa_nodes, 0);
    assert_false(f.has_memory);
    assert_false(f.has_memory_pressure);
    assert_false(f.has_read_ahead);
    assert_int_equal(f.overcommit, -1);
    assert_int_equal(f.swap_bytes, 0);
    assert_int_equal(f.threads_limit, 0);
    assert_int_equal(fdl_doctor_cpus_on_node(root, 0), 0);
}

TEST_WITH(test_read_garbage, setup, teardown)
{
    static const char *const garbage[] = {
        "",
        "\n",
        "[",
        "[]\n",
        "some avg10=\n",
        "some avg10=x\n",
        "-1",
        "][\n",
        "MemAvailable\n",
        "some avg10=1e999\n",
        "a-very-long-word-that-no-field-of-a-fact-has-any-room-for [too]\n",
        "99999999999999999999999999\n"};
    static const char *const paths[] = {
        "/proc/meminfo",
        "/proc/pressure/memory",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/proc/sys/vm/overcommit_memory",
        "/sys/block/sda/queue/read_ahead_kb",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "/sys/devices/system/node/online",
        "/sys/devices/system/node/node0/cpulist",
        "/sys/fs/cgroup/memory.stat",
        "/sys/fs/cgroup/memory.current",
        "/sys/fs/cgroup/pids.current"};
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo",
        "1 2 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/memory.max", "4294967296\n");
    put("/sys/fs/cgroup/pids.max", "100\n");
    for (size_t i = 0; i < FDL_COUNT_OF(garbage); i++) {
        struct fdl_doctor_facts f = {.seconds = 0};
        struct fdl_finding list[FDL_FINDINGS_MAX];
        for (size_t k = 0; k < FDL_COUNT_OF(paths); k++)
            put(paths[k], garbage[i]);
        fdl_doctor_read(root, &f);
        assert_false(f.has_memory_pressure);
        assert_true(f.overcommit == -1);
        assert_true(strlen(f.governor) < sizeof(f.governor));
        assert_int_equal(fdl_doctor_cpus_on_node(root, 0), 0);
        assert_true(fdl_doctor_judge(&f, list) > 0);
    }
}

TEST(test_json)
{
    static char buf[32768];
    struct fdl_doctor_facts f = healthy();
    struct fdl_json j;
    uint64_t needed;
    f.machine.cpus_allowed = 4;
    f.memlock_bytes = UINT64_MAX;
    fdl_json_init(&j, buf, sizeof(buf));
    fdl_json_begin_object(&j, NULL);
    fdl_doctor_json(&f, &j);
    fdl_json_end_object(&j);
    assert_int_equal(fdl_json_finish(&j, &needed), 0);
    assert_non_null(strstr(buf,
                           "{\"findings\":[{\"id\":\"cpu_quota\",\"level\":"
                           "\"ok\",\"text\":\"no CPU quota\",\"remedy\":"
                           "\"\"},"));
    assert_non_null(strstr(buf, "{\"id\":\"affinity\",\"level\":\"note\""));
    assert_non_null(strstr(buf, "\"facts\":{\"machine\":{"));
    assert_non_null(strstr(buf, "\"memlock_bytes\":null"));
    assert_non_null(strstr(buf, "\"omp_num_threads\":1,"));
    assert_non_null(strstr(buf, "\"gpu\":{\"usable\":true,\"reason\":null,"));
    f.wants_gpu = false;
    fdl_json_init(&j, buf, sizeof(buf));
    fdl_json_begin_object(&j, NULL);
    fdl_doctor_json(&f, &j);
    fdl_json_end_object(&j);
    assert_int_equal(fdl_json_finish(&j, &needed), 0);
    assert_non_null(strstr(buf, "\"gpu\":null"));
    assert_string_equal(fdl_finding_level_name(ERROR), "error");
    assert_string_equal(fdl_finding_level_name(WARNING), "warning");
}

TEST_MAIN("doctor")
