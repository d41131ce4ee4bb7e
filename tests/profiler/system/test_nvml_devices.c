/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs that CUDA would show, from a double of NVML (nvml_double.c). */
#include "base/compiler.h"
#include "base/status.h"
#include "profiler/system/nvml_devices.h"
#include "tests/profiler/system/nvml_says.h"

static void setup(void)
{
    setup_double();
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
}

/* Buses of the GPUs in the order of CUDA's numbers, as "1 2". */
static void lists(const char *visible, const char *buses)
{
    struct fdl_nvml_devices found;
    char text[256] = "";
    if (visible)
        setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    if (fdl_nvml_list(&found) < 0)
        fail_msg("%s: %s", visible ? visible : "all", fdl_last_error());
    for (uint32_t i = 0; i < found.n; i++) {
        size_t length = strlen(text);
        assert_memory_equal(found.at[i].pci, "ffff:0", 6);
        assert_string_equal(found.at[i].pci + 7, ":00.0");
        snprintf(text + length, sizeof(text) - length, "%s%c",
                 length ? " " : "", found.at[i].pci[6]);
    }
    assert_string_equal(text, buses);
}

static void leaves_it_to_cuda(const char *visible, const char *words)
{
    struct fdl_nvml_devices found = {.n = 77};
    if (visible)
        setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    assert_int_equal(fdl_nvml_list(&found), FEEDLINE_ENOSYS);
    if (!strstr(fdl_last_error(), words))
        fail_msg("%s: %s", words, fdl_last_error());
    assert_int_equal(found.n, 77);
}

TEST_WITH(lists_all, setup, teardown)
{
    struct fdl_nvml_devices found;
    say("count 3\n");
    lists(NULL, "1 2 3");
    assert_int_equal(fdl_nvml_list(&found), FEEDLINE_OK);
    assert_string_equal(found.at[1].name, "GPU of kind 0");
    assert_string_equal(found.at[1].pci, "ffff:02:00.0");
    assert_int_equal(found.cuda_version, 12040);
    say("count 0\n");
    lists(NULL, "");
    say("count 3\nfail_nvmlSystemGetCudaDriverVersion_v2 3\n");
    assert_int_equal(fdl_nvml_list(&found), FEEDLINE_OK);
    assert_int_equal(found.cuda_version, 0);
}

/* As CUDA reads it: up to the first entry that is no GPU. */
TEST_WITH(lists_the_visible, setup, teardown)
{
    static const struct {
        const char *visible, *buses;
    } of[] = {{"2,0", "3 1"},
              {" 1 , 3 ", "2 4"},
              {"", ""},
              {"-1", ""},
              {"NoDevFiles", ""},
              {"1,7,0", "2"},
              {"0,x,1", "1"},
              {"0,1x", "1"},
              {"0 1", "1"},
              {"0,", "1"},
              {"99999999999999999999", ""},
              {"GPU-a200-0123", "3"},
              {"gpu-A3", "4"},
              {"GPU-a1,GPU-a0", "2 1"},
              {"GPU-a", ""}, /* of several */
              {"GPU-b", ""}};
    say("count 4\n");
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++)
        lists(of[i].visible, of[i].buses);
}

TEST_WITH(leaves_parts_and_repeats, setup, teardown)
{
    say("count 4\n");
    leaves_it_to_cuda("MIG-0123", "MIG");
    leaves_it_to_cuda("0,MIG-GPU-a0/1/2", "MIG");
    leaves_it_to_cuda("1,1", "repeats");
    leaves_it_to_cuda("1,GPU-a1", "repeats");
    say("count 4\nmig 2\n");
    leaves_it_to_cuda("0", "split");
}

/* CUDA numbers by speed, unless it is told otherwise. */
TEST_WITH(leaves_the_order, setup, teardown)
{
    say("count 4\nmixed 1\n");
    leaves_it_to_cuda(NULL, "differ");
    leaves_it_to_cuda("0", "differ");
    lists("GPU-a3,GPU-a0", "4 1");
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    lists("3,0", "4 1");
    setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST", 1);
    leaves_it_to_cuda("3,0", "differ");
}

TEST_WITH(leaves_what_fails, setup, teardown)
{
    static const char *const functions[] = {
        "nvmlInit_v2",       "nvmlDeviceGetCount_v2",
        "nvmlDeviceGetName", "nvmlDeviceGetHandleByIndex_v2",
        "nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo_v3"};
    for (size_t i = 0; i < FDL_COUNT_OF(functions); i++) {
        char text[96];
        say("");
        missing = functions[i];
        leaves_it_to_cuda(NULL, "lacks functions");
        missing = NULL;
        snprintf(text, sizeof(text), "fail_%s 999\n", functions[i]);
        say(text);
        leaves_it_to_cuda(NULL, "NVML does not");
    }
    say("fail_nvmlDeviceGetMigMode 3\n"); /* no GPU before Ampere has it */
    lists(NULL, "1 2");
    setenv("FEEDLINE_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
    leaves_it_to_cuda(NULL, "/nonexistent/");
}

TEST_MAIN("nvml_devices")
