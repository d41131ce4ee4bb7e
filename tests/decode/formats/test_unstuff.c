/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unstuffing at every level against one byte after the other: data that is full
 * of FF, or has few, with markers or without, to buffers of any length.
 */
#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/formats/jpeg_unstuff.h"
#include "test.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#include <string.h>

#define ROUNDS 3000
#define MOST   700

/* The bytes up to a marker or `room`; *taken: of the data. */
static size_t unstuff_slowly(const uint8_t *data, size_t n, uint8_t *to,
                             size_t room, size_t *taken)
{
    size_t at = 0, made = 0;
    while (made < room && at < n) {
        bool ff = data[at] == 0xff;
        if (ff && (at + 1 == n || data[at + 1] != 0))
            break;
        to[made++] = data[at];
        at += ff ? 2 : 1;
    }
    *taken = at;
    return made;
}

/* `dense`: of 256 bytes so many are FF; of these, so many are markers. */
static void fill(uint8_t *data, size_t n, uint64_t *seed)
{
    uint64_t dense = make_random(seed) % 3 == 0 ? 128 : 3;
    uint64_t markers = make_random(seed) % 2 ? 0 : 32;
    for (size_t i = 0; i < n; i++) {
        data[i] = (uint8_t)(make_random(seed) % 255);
        if (make_random(seed) % 256 >= dense)
            continue;
        data[i] = 0xff;
        if (i + 1 < n && make_random(seed) % 256 >= markers)
            data[++i] = 0;
    }
}

/* Copies of exact size, so that what is touched outside is seen. */
static void check(uint64_t *seed)
{
    size_t n = make_random(seed) % MOST, room = make_random(seed) % MOST;
    uint8_t *data = rig_alloc(FDL_MAX(n, 1)), want[MOST];
    uint8_t *got = rig_alloc(FDL_MAX(room, 1));
    size_t taken;
    fill(data, n, seed);
    size_t made = unstuff_slowly(data, n, want, room, &taken);
    const uint8_t *raw = data;
    const uint8_t *end = fdl_jpeg_unstuff(&raw, data + n, got, got + room);
    assert_int_equal(end - got, made);
    assert_int_equal(raw - data, taken);
    assert_memory_equal(got, want, made);
    free(data);
    free(got);
}

TEST(levels_unstuff_as_byte_after_byte)
{
    enum fdl_cpu_level most = fdl_cpu_level();
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_C; level <= (int)most; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        for (int i = 0; i < ROUNDS; i++)
            check(&seed);
    }
    fdl_cpu_set_level(most);
}

TEST_MAIN("decode_unstuff")
