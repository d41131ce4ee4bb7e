/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a segment of packed coefficients. All levels of the processor
 * say the same of it, and what was read comes back once it is written.
 *
 *     1 byte     the number of blocks, less 1
 *     the rest   the segment
 */
#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/packed/segment.h"
#include "fuzz.h"

#include <string.h>

struct blocks {
    int16_t of[FDL_SEGMENT_BLOCKS][64] FDL_ALIGNED(32);
};

static bool read_all(enum fdl_cpu_level level, const uint8_t *data, size_t size,
                     unsigned n, struct blocks *to)
{
    static struct fdl_segment s;
    fdl_cpu_set_level(level);
    if (!fdl_segment_open(&s, data, size, size, n))
        return false;
    for (unsigned i = 0; i < n; i++)
        fdl_segment_block(&s, i, to->of[i], 8);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct blocks plain, other;
    static uint8_t again[FDL_SEGMENT_BYTES];
    if (size == 0)
        return 0;
    unsigned n = data[0] % FDL_SEGMENT_BLOCKS + 1;
    data++;
    size--;
    bool sound = read_all(FDL_CPU_C, data, size, n, &plain);
    for (int level = 1; level < FDL_CPU_LEVELS; level++) {
        fuzz_check(read_all((enum fdl_cpu_level)level, data, size, n, &other) ==
                   sound);
        fuzz_check(!sound || memcmp(&plain, &other, n * 128) == 0);
    }
    if (!sound)
        return 0;
    size = fdl_segment_write(plain.of, n, again);
    fuzz_check(size <= sizeof(again));
    fuzz_check(read_all(FDL_CPU_C, again, size, n, &other));
    fuzz_check(memcmp(&plain, &other, n * 128) == 0);
    return 0;
}
