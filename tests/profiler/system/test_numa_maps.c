/* SPDX-License-Identifier: Apache-2.0 */
/* Where memory lies, on machines laid out as files, and on this one. */
#include "machine_files.h"
#include "profiler/system/numa_maps.h"

#include <stdint.h>
#include <string.h>

#define MAPS "/proc/self/numa_maps"

static const void *address(uint64_t a)
{
    return (const void *)(uintptr_t)a;
}

TEST_WITH(counts_the_mappings_asked_for, setup, teardown)
{
    char text[128];
    struct fdl_numa_bytes b;
    const void *at[] = {address(0x7f2a40001000), address(0x7f2a40002000),
                        address(0x7f2a50000000)};
    put(MAPS, "55d0c0a00000 default file=/usr/bin/x N1=7 mapped=1 "
              "kernelpagesize_kB=4\n"
              "7f2a40000000 prefer:1 anon=512 dirty=512 N0=12 N1=500 "
              "kernelpagesize_kB=4\n"
              "7f2a48000000 default\n"
              "7f2a50000000 default huge anon=1 N1=1 kernelpagesize_kB=2048\n");
    assert_true(fdl_numa_maps_read(root, at, 3, &b));
    assert_int_equal(b.node[0], 12 * 4096);
    assert_int_equal(b.node[1], 500 * 4096 + (2 << 20));
    assert_int_equal(b.node[2], 0);
    fdl_numa_bytes_print(&b, text, sizeof(text));
    assert_string_equal(text, "99 % on NUMA node 1, 1 % on NUMA node 0");
    fdl_numa_bytes_print(&b, text, 9);
    assert_string_equal(text, "99 % on ");
}

TEST_WITH(does_not_say, setup, teardown)
{
    struct fdl_numa_bytes b;
    const void *at[] = {address(0x5000)};
    assert_false(fdl_numa_maps_read(root, at, 1, &b)); /* there is no file */
    put(MAPS, "4000 default\n9000 default N0=1\nx N0=\n");
    assert_false(fdl_numa_maps_read(root, at, 1, &b)); /* nothing touched */
    put(MAPS, "4000 default N64=1 N=3 Nx=1 N9");
    assert_false(fdl_numa_maps_read(root, at, 1, &b));
    put(MAPS, "4000 default N63=1");
    assert_true(fdl_numa_maps_read(root, at, 1, &b));
    assert_int_equal(b.node[63], 4096);
}

TEST(of_this_process)
{
    static char memory[1 << 20];
    struct fdl_numa_bytes b;
    uint64_t sum = 0;
    const void *at[] = {memory + sizeof(memory) / 2};
    memset(memory, 1, sizeof(memory));
    if (!fdl_numa_maps_read("", at, 1, &b))
        test_skip("this system has no numa_maps");
    for (uint32_t i = 0; i < FDL_NUMA_NODES; i++)
        sum += b.node[i];
    assert_true(sum >= sizeof(memory) / 2);
}

TEST_MAIN("numa_maps")
