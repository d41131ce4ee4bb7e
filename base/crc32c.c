/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crc32c.h"

#include "base/compiler.h"
#include "base/cpu.h"

#include <string.h>

#if defined(__x86_64__)
#  include <immintrin.h>

FDL_TARGET("sse4.2")
static uint32_t add_sse42(uint32_t crc, const uint8_t *p, size_t bytes)
{
    uint64_t wide = crc, x;
    for (; bytes >= sizeof(x); p += sizeof(x), bytes -= sizeof(x)) {
        memcpy(&x, p, sizeof(x));
        wide = _mm_crc32_u64(wide, x);
    }
    crc = (uint32_t)wide;
    for (; bytes > 0; p++, bytes--)
        crc = _mm_crc32_u8(crc, *p);
    return crc;
}
#endif

static uint32_t add_any(uint32_t crc, const uint8_t *p, size_t bytes)
{
    static const uint32_t of_nibble[] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    for (; bytes > 0; p++, bytes--) {
        crc ^= *p;
        crc = crc >> 4 ^ of_nibble[crc & 15];
        crc = crc >> 4 ^ of_nibble[crc & 15];
    }
    return crc;
}

uint32_t fdl_crc32c(uint32_t before, const void *data, size_t bytes)
{
#if defined(__x86_64__)
    if (fdl_cpu_level() >= FDL_CPU_AVX2)
        return ~add_sse42(~before, data, bytes);
#endif
    return ~add_any(~before, data, bytes);
}
