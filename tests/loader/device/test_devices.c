/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions about devices, on the double of the CUDA driver: what
 * is there, what is said where nothing is, copies that are timed, a stream that
 * is busy, and loaders on devices that are too small or break. Each case is a
 * process of its own and finds a driver that nobody has loaded yet. */
#include "cuda_double.h"
#include "loader/loader.h"
#include "loader/stream/finishing.h"
#include "tests/loader/fixture.h"

#include <feedline/bench.h>
#include <feedline/tuning.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void says_what_is_missing(const char *setting, const char *words)
{
    feedline_busy *busy = (feedline_busy *)&words;
    struct feedline_device_info info = {.struct_size = sizeof(info)};
    struct feedline_copy_time time = {.struct_size = sizeof(time)};
    struct feedline_copy_test test = {
        .struct_size = sizeof(test), .bytes = 1, .copies = 1, .repeats = 1};
    double_reset();
    assert_true(double_set(setting));
    assert_int_equal(feedline_device_count(), FEEDLINE_ENOSYS);
    assert_non_null(strstr(feedline_last_error(), words));
    assert_non_null(strstr(feedline_last_error(), "device=host"));
    assert_int_equal(feedline_device_get_info("cuda:0", &info),
                     FEEDLINE_ENOSYS);
    assert_int_equal(feedline_device_time_copy("cuda", &test, &time),
                     FEEDLINE_ENOSYS);
    assert_int_equal(feedline_busy_create("cuda:0", &busy), FEEDLINE_ENOSYS);
    assert_null(busy);
    struct double_counters c;
    double_get_counters(&c);
    assert_int_equal(c.contexts, 0);
}

TEST(no_driver)
{
    setenv("FEEDLINE_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
    says_what_is_missing("", "FEEDLINE_LIBCUDA=/nonexistent/libcuda.so.1: ");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver)
        test_skip("this machine has a driver");
    unsetenv("FEEDLINE_LIBCUDA");
    says_what_is_missing("", "CUDA needs an NVIDIA driver");
}

TEST(another_library_is_no_driver)
{
    setenv("FEEDLINE_LIBCUDA", "libc.so.6", 1);
    says_what_is_missing("", "FEEDLINE_LIBCUDA=libc.so.6: that is no libcuda");
}

TEST(old_driver)
{
    says_what_is_missing("driver_version=10020",
                         "driver is for CUDA 10.2, and one for 11.0");
}

/* What cuInit fails with, and what is said of it. */
TEST(driver_that_does_not_start)
{
    static const struct {
        const char *setting, *words;
    } rows[] = {
        {"init=3", "fork"},
        {"init=34", "stub"},
        {"init=100", "CUDA_VISIBLE_DEVICES"},
        {"init=802", "fabricmanager"},
        {"init=999", "nvidia_uvm"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++)
        says_what_is_missing(rows[i].setting, rows[i].words);
}

TEST(no_gpu)
{
    says_what_is_missing("devices=0", "CUDA_VISIBLE_DEVICES");
}

/* What was missing may come: nothing of a failure is remembered. */
TEST(is_looked_for_again)
{
    says_what_is_missing("init=999", "driver");
    double_reset();
    assert_int_equal(feedline_device_count(), 2);
}

TEST(tells_what_there_is)
{
    struct feedline_device_info info = {.struct_size = sizeof(info)};
    struct double_counters c;
    double_reset();
    assert_int_equal(feedline_device_count(), 2);
    assert_int_equal(feedline_device_get_info("cuda:1", &info), FEEDLINE_OK);
    assert_int_equal(info.id, 1);
    assert_true(info.name[0] != '\0' && info.pci[0] != '\0');
    assert_int_equal(info.runtime_version, 0);
    assert_int_equal(info.driver_version, 12040);
    assert_true(info.copy_engines >= 1);
    assert_int_equal(feedline_device_get_info("cuda:2", &info),
                     FEEDLINE_EINVAL);
    assert_non_null(strstr(feedline_last_error(), "shows 2 GPUs"));
    assert_int_equal(feedline_device_get_info("host", &info), FEEDLINE_EINVAL);
    assert_int_equal(feedline_device_get_info(NULL, &info), FEEDLINE_EINVAL);
    assert_int_equal(feedline_device_get_info("cuda", NULL), FEEDLINE_EINVAL);
    double_get_counters(&c);
    assert_int_equal(c.contexts, 0); /* to ask makes none */
}

/* To count and to look starts nothing where NVML can tell; once CUDA is started
 * it is asked itself. */
TEST(looking_starts_nothing)
{
    struct feedline_device_info info = {.struct_size = sizeof(info)};
    double_reset();
    setenv("FEEDLINE_NVML", FDL_TEST_NVML, 1);
    assert_int_equal(feedline_device_count(), 2);
    assert_ok(feedline_device_look("cuda:1", &info));
    assert_int_equal(info.id, 1);
    assert_string_equal(info.pci, "ffff:02:00.0");
    assert_int_equal(info.driver_version, 12040);
    assert_int_equal(info.numa_node, -1);
    assert_int_equal(info.copy_engines, 0);
    assert_error(feedline_device_look("cuda:2", &info), FEEDLINE_EINVAL,
                 "shows 2 GPUs");
    assert_error(feedline_device_look("host", &info), FEEDLINE_EINVAL, "host");
    assert_int_equal(feedline_device_look(NULL, &info), FEEDLINE_EINVAL);
    assert_int_equal(feedline_device_look("cuda", NULL), FEEDLINE_EINVAL);
    assert_int_equal(double_calls("cuInit"), 0);

    setenv("CUDA_VISIBLE_DEVICES", "1", 1); /* the double shows both */
    assert_int_equal(feedline_device_count(), 1);
    assert_ok(feedline_device_get_info("cuda:1", &info));
    assert_true(double_calls("cuInit") > 0);
    assert_int_equal(feedline_device_count(), 2);
    assert_ok(feedline_device_look("cuda:1", &info));
    assert_true(info.copy_engines >= 1);
}

/* Without NVML a count starts CUDA, and a look does not. */
TEST(looking_needs_nvml)
{
    struct feedline_device_info info = {.struct_size = sizeof(info)};
    double_reset();
    setenv("FEEDLINE_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    assert_error(feedline_device_look("cuda:0", &info), FEEDLINE_ENOSYS,
                 "only CUDA");
    assert_int_equal(double_calls("cuInit"), 0);
    assert_int_equal(feedline_device_count(), 2);
    assert_true(double_calls("cuInit") > 0);
}

/* NVML is no use to a container without the CUDA driver. */
TEST(nvml_alone_is_not_enough)
{
    struct feedline_device_info info = {.struct_size = sizeof(info)};
    setenv("FEEDLINE_NVML", FDL_TEST_NVML, 1);
    setenv("FEEDLINE_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
    assert_error(feedline_device_count(), FEEDLINE_ENOSYS, "libcuda.so.1");
    assert_error(feedline_device_look("cuda", &info), FEEDLINE_ENOSYS,
                 "libcuda.so.1");
}

TEST(times_copies)
{
    struct feedline_copy_time time = {.struct_size = sizeof(time)};
    struct feedline_copy_test test = {.struct_size = sizeof(test),
                                      .bytes = 100001,
                                      .copies = 7,
                                      .repeats = 5};
    struct double_counters c;
    double_reset();
    assert_true(double_set("latency_us=1000"));
    for (uint32_t flags = 0; flags < 4; flags++) {
        test.flags = flags;
        double_get_counters(&c);
        uint64_t copies = c.copies, bytes = c.bytes;
        assert_int_equal(feedline_device_time_copy("cuda:0", &test, &time),
                         FEEDLINE_OK);
        assert_int_equal(time.repeats, 5);
        assert_true(time.host_us >= 7 * 1000); /* it cannot be shorter */
        assert_true(time.min_us <= time.host_us && time.host_us <= time.max_us);
        assert_true(time.device_us > 0);
        double_get_counters(&c);
        assert_int_equal(c.copies - copies, 6 * 7); /* one to warm up */
        assert_int_equal(c.bytes - bytes, 6 * 100001);
        assert_int_equal(c.live_allocations + c.live_registrations, 0);
    }
    assert_int_equal(c.pageable_copies, 2 * 6 * 7);
    double_check_leaks();
    assert_int_equal(double_faults(NULL, 0), 0);
}

/* The memory of a measurement that fails stays until its copies are done. */
TEST(a_failed_measurement_waits_for_its_copies)
{
    struct feedline_copy_time time = {.struct_size = sizeof(time)};
    struct feedline_copy_test test = {.struct_size = sizeof(test),
                                      .bytes = 100000,
                                      .copies = 3,
                                      .repeats = 2};
    char faults[512];
    double_reset();
    assert_true(double_set("latency_us=1000"));
    assert_true(double_fail("cuEventSynchronize", 2, 999, false));
    assert_int_equal(feedline_device_time_copy("cuda:0", &test, &time),
                     FEEDLINE_EDEVICE);
    double_check_leaks();
    if (double_faults(faults, sizeof(faults)) > 0)
        fail_msg("%s", faults);
}

TEST(refuses_odd_tests)
{
    struct feedline_copy_time time = {.struct_size = sizeof(time)};
    const struct feedline_copy_test good = {
        .struct_size = sizeof(good), .bytes = 8, .copies = 2, .repeats = 3};
    struct feedline_copy_test tests[7];
    for (size_t i = 0; i < 7; i++)
        tests[i] = good;
    tests[0].struct_size = 8;
    tests[1].flags = 4;
    tests[2].copies = 0;
    tests[3].copies = 4097;
    tests[4].bytes = 1;
    tests[5].repeats = 0;
    tests[6].repeats = 1001;
    double_reset();
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(feedline_device_time_copy("cuda", &tests[i], &time),
                         FEEDLINE_EINVAL);
    assert_int_equal(feedline_device_time_copy("cuda", NULL, &time),
                     FEEDLINE_EINVAL);
    assert_int_equal(feedline_device_time_copy("cuda", &good, NULL),
                     FEEDLINE_EINVAL);
    assert_true(double_set("memory=1"));
    assert_int_equal(feedline_device_time_copy("cuda", &good, &time),
                     FEEDLINE_ENOMEM);
    double_check_leaks();
    assert_int_equal(double_faults(NULL, 0), 0);
}

TEST(keeps_a_stream_busy)
{
    feedline_busy *busy;
    struct double_counters c;
    double_reset();
    assert_int_equal(feedline_busy_create("cuda:0", NULL), FEEDLINE_EINVAL);
    assert_int_equal(feedline_busy_create("cuda:0", &busy), FEEDLINE_OK);
    assert_non_null(feedline_busy_stream(busy));
    for (int i = 0; i < 3; i++)
        assert_int_equal(feedline_busy_work(busy, 1000000), FEEDLINE_OK);
    assert_int_equal(feedline_busy_wait(busy), FEEDLINE_OK);
    double_get_counters(&c);
    assert_int_equal(c.kernels, 3);
    assert_int_equal(feedline_busy_work(busy, -1), FEEDLINE_ERANGE);
    assert_int_equal(feedline_busy_work(busy, 10000000001), FEEDLINE_ERANGE);
    assert_int_equal(feedline_busy_work(NULL, 1), FEEDLINE_EINVAL);
    assert_int_equal(feedline_busy_wait(NULL), FEEDLINE_EINVAL);
    assert_null(feedline_busy_stream(NULL));
    assert_true(double_fail("cuLaunchKernel", 1, 999, false));
    assert_int_equal(feedline_busy_work(busy, 1), FEEDLINE_EDEVICE);
    feedline_busy_destroy(busy);
    feedline_busy_destroy(NULL);
    double_check_leaks();
    assert_int_equal(double_faults(NULL, 0), 0);
}

/* ---- Loaders ------------------------------------------------------------ */

FIXTURE_IMAGES(64)

/* No room for every slot, of either kind of memory: fewer slots, a line in the
 * log, and the run goes on. A slot takes 8 x 32 x 32 x 3 bytes and its tables.
 */
TEST_WITH(goes_on_with_fewer_slots, setup, teardown)
{
    static const char *const limits[] = {"memory=140k", "pinned=140k"};
    for (size_t i = 0; i < 2; i++) {
        double_reset();
        assert_true(double_set(limits[i]));
        feedline_loader *l = fixture_open(
            images.ds, "device=cuda:0 batch_size=8 depth=8 epochs=1 workers=2 "
                       "device_memory_budget=1m");
        assert_int_equal(fixture_pass_epoch(l), 8);
        assert_int_equal(fixture_log_count("depth 3 instead of 8"), 1);
        assert_int_equal(fixture_int(l, "depth"), 3);
        struct feedline_device_stats stats = fixture_device(l);
        assert_true(stats.device_bytes <= 140 << 10);
        assert_true(stats.pinned_bytes <= 140 << 10);
        assert_true(stats.device_bytes >= 5 * 8 * 32 * 32 * 3);
        feedline_loader_destroy(l);
        double_check_leaks();
        assert_int_equal(double_faults(NULL, 0), 0);
    }
}

TEST_WITH(too_small_for_any_batch, setup, teardown)
{
    feedline_batch *b;
    double_reset();
    assert_true(double_set("memory=40k"));
    feedline_loader *l = fixture_open(images.ds, "device=cuda:0 batch_size=8");
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ENOMEM,
                 "device memory for a batch");
    feedline_loader_destroy(l);
    double_check_leaks();
    assert_int_equal(double_faults(NULL, 0), 0);
}

/* A missing device is refused, also where it is open whether host or device
 * finishes the batches, which is decided before anything is made there. */
TEST_WITH(refuses_devices_that_are_not_there, setup, teardown)
{
    static const char *const devices[] = {"cuda:63", "cuda:64", "cuda:999999"};
    double_reset();
    for (size_t i = 0; i < FDL_COUNT_OF(devices); i++) {
        char options[64];
        snprintf(options, sizeof(options), "device=%s dtype=f32", devices[i]);
        assert_null(fixture_loader(images.ds, options));
        assert_non_null(strstr(feedline_last_error(), devices[i]));
    }
}

/* A loader that was only made has no context and no memory on the device. */
TEST_WITH(takes_nothing_before_it_starts, setup, teardown)
{
    struct double_counters c;
    double_reset();
    feedline_loader *l = fixture_open(images.ds, "device=cuda:1 batch_size=8");
    double_get_counters(&c);
    assert_int_equal(c.contexts, 0);
    feedline_loader_destroy(l);
    double_get_counters(&c);
    assert_int_equal(c.contexts, 0);
}

/* One copy for each batch that nobody waits for, and no byte of it moved twice
 * or by way of other memory; nobody waits for the device. */
TEST_WITH(moves_each_byte_once, setup, teardown)
{
    struct double_counters before, after;
    double_reset();
    SCOPED_LOADER l = fixture_open(
        images.ds, "device=cuda:0 batch_size=8 epochs=20 workers=2");
    feedline_batch *b;
    assert_ok(feedline_loader_next(l, -1, &b)); /* measures the bus first */
    double_drain();
    double_get_counters(&before);
    feedline_batch_release(b);
    uint64_t n = 1;
    int32_t status;
    while ((status = feedline_loader_next(l, -1, &b)) >= 0) {
        if (status == FEEDLINE_OK) {
            n++;
            feedline_batch_release(b);
        } else if (n == 160) {
            break;
        }
    }
    assert_int_equal(n, 160);
    double_get_counters(&after);
    assert_int_equal(after.synchronisations, before.synchronisations);
    assert_ok(feedline_loader_stop(l)); /* the last ones land */
    struct feedline_device_stats stats = fixture_device(l);
    assert_int_equal(stats.batches, 160);
    assert_int_equal(stats.copies, 160);
    assert_int_equal(stats.copied_bytes, 160 * (256 + 8 * 32 * 32 * 3));
    double_get_counters(&after);
    assert_true(after.copies - before.copies <= 160);
    assert_int_equal(after.pageable_copies, before.pageable_copies);
    assert_int_equal(after.read_copies, 0);
}

static struct feedline_device_stats after_a_batch(feedline_dataset *ds,
                                                  const char *finish)
{
    char options[96];
    snprintf(options, sizeof(options),
             "device=cuda:0 dtype=f32 batch_size=16 finish=%s", finish);
    feedline_loader *l = fixture_open(ds, options);
    fixture_pass(l, 1);
    struct feedline_device_stats s = fixture_device(l);
    feedline_loader_destroy(l);
    return s;
}

/* Whatever it chooses: how fast copies are found to be depends on the load. */
TEST_WITH(auto_takes_what_its_choice_does, setup, teardown)
{
    double_reset();
    assert_true(double_set("gbps=1"));
    struct feedline_device_stats a = after_a_batch(images.ds, "auto");
    struct feedline_device_stats b =
        after_a_batch(images.ds, a.finish ? "device" : "host");
    assert_int_equal(b.finish, a.finish);
    assert_int_equal(b.pinned_bytes, a.pinned_bytes);
    assert_int_equal(b.device_bytes, a.device_bytes);
}

/* The kernels load on every GPU since Maxwell. */
TEST(old_gpus_run_the_kernels)
{
    feedline_busy *busy;
    double_reset();
    assert_true(double_set("capability=50"));
    assert_int_equal(feedline_busy_create("cuda:0", &busy), FEEDLINE_OK);
    assert_int_equal(feedline_busy_work(busy, 1), FEEDLINE_OK);
    feedline_busy_destroy(busy);
}

/* A child of a process that used CUDA cannot, and is told what to do. */
TEST_WITH(forked_children_are_told, setup, teardown)
{
    if (!TEST_FORKS_SAFELY)
        test_skip("no threads in a child of fork() under this sanitizer");
    double_reset();
    SCOPED_LOADER l = fixture_open(images.ds, "device=cuda:0");
    fixture_pass(l, 1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        feedline_batch *b;
        feedline_loader *own =
            fixture_loader(fixture_memory(&images), "device=cuda:0");
        int32_t status =
            own ? feedline_loader_next(own, -1, &b) : FEEDLINE_EDEVICE;
        _exit(status == FEEDLINE_EDEVICE &&
                      strstr(feedline_last_error(), "spawn")
                  ? 0
                  : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Nothing is compiled for those who only copy, and a stream to measure with
 * needs no kernel. What the driver says of kernels that it does not take comes
 * with what to do. */
TEST_WITH(kernels_are_loaded_when_needed, setup, teardown)
{
    static const struct {
        const char *error, *words;
    } rows[] = {
        {"fail=cuModuleLoadData:1:209", "Maxwell"},
        {"fail=cuModuleLoadData:1:218", "newer"},
        {"fail=cuModuleLoadData:1:221", "libnvidia-ptxjitcompiler.so.1"},
        {"fail=cuModuleLoadData:1:222", "newer"},
        {"fail=cuModuleLoadData:1:223", "CUDA_DISABLE_PTX_JIT"},
    };
    feedline_busy *busy;
    double_reset();
    SCOPED_LOADER l = fixture_open(images.ds, "device=cuda:0 dtype=u8");
    fixture_pass(l, 1);
    assert_int_equal(feedline_busy_create("cuda:0", &busy), FEEDLINE_OK);
    assert_int_equal(double_calls("cuModuleLoadData"), 0);
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        assert_true(double_set(rows[i].error));
        assert_error(feedline_busy_work(busy, 1), FEEDLINE_EDEVICE,
                     rows[i].words);
    }
    assert_int_equal(feedline_busy_work(busy, 1), FEEDLINE_OK);
    assert_int_equal(feedline_busy_work(busy, 1), FEEDLINE_OK);
    assert_int_equal(double_calls("cuModuleLoadData"), FDL_COUNT_OF(rows) + 1);
    feedline_busy_destroy(busy);
}

/* An old GPU is no reason to fail where nobody asked for it to finish. */
TEST_WITH(without_kernels_the_host_finishes, setup, teardown)
{
    feedline_batch *b;
    double_reset();
    assert_true(double_set("gbps=1"));
    assert_true(double_set("capability=37"));
    feedline_loader *l;
    for (int copies = 0; copies < 2; copies++) {
        l = fixture_open(images.ds,
                         copies ? "device=cuda:0 dtype=f32 handover=copy"
                                : "device=cuda:0 dtype=f32");
        fixture_pass(l, 1);
        struct feedline_device_stats stats = fixture_device(l);
        assert_int_equal(stats.finish, 0);
        assert_non_null(strstr(stats.finish_reason, "feedline's kernels"));
        feedline_loader_destroy(l);
    }
    l = fixture_open(images.ds, "device=cuda:0 dtype=f32 finish=device");
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EDEVICE,
                 "finish=device");
    feedline_loader_destroy(l);
}

TEST_WITH(a_lost_device_is_an_error, setup, teardown)
{
    feedline_batch *b;
    double_reset();
    SCOPED_LOADER l =
        fixture_open(images.ds, "device=cuda:0 batch_size=8 workers=2 depth=2");
    assert_ok(feedline_loader_next(l, -1, &b));
    feedline_batch_release(b);
    assert_true(double_fail("copy", 5, 700, false));
    int32_t status;
    do {
        status = feedline_loader_next(l, -1, &b);
        if (status == FEEDLINE_OK)
            feedline_batch_release(b);
    } while (status >= 0);
    assert_int_equal(status, FEEDLINE_EDEVICE);
    assert_non_null(strstr(feedline_last_error(), "cuda:0: "));
}

/* What finish=device cannot do is refused with the reason, and auto says it. */
TEST_WITH(says_why_it_finishes_where, setup, teardown)
{
    static const struct {
        const char *options, *words;
    } rows[] = {
        {"dtype=u8", "u8 batches need no finishing"},
        {"dtype=f32 max_sample_bytes=1m", "max_sample_bytes"},
        {"dtype=f32 device=host", "delivered to the host"},
    };
    double_reset();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char options[256];
        snprintf(options, sizeof(options),
                 "device=cuda:0 batch_size=8 finish=device %s",
                 rows[i].options);
        assert_null(fixture_loader(images.ds, options));
        assert_non_null(strstr(feedline_last_error(), rows[i].words));
    }
    SCOPED_LOADER l =
        fixture_open(images.ds, "device=cuda:0 batch_size=8 dtype=u8");
    struct feedline_device_stats stats = fixture_device(l);
    assert_int_equal(stats.finish, 0);
    assert_non_null(strstr(stats.finish_reason, "u8"));
}

TEST_MAIN("devices")
