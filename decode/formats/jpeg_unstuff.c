/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Photos have an FF every 250 bytes. With vectors of 16 or 32 bytes, or words
 * of 8, each costs a branch that nobody can foresee, and that costs as much as
 * copying what lies between two. AVX-512 leaves bytes out of 64 by one
 * instruction, wherever they are, and branches at markers alone.
 */
#include "decode/formats/jpeg_unstuff.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/formats/jpeg_bits.h"

#include <string.h>

#if defined(__x86_64__)
#  include <immintrin.h>
#  define AVX512                                                               \
    FDL_TARGET("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi,bmi2,popcnt")
#  define LOOK 64 /* bytes at once; the one behind them is looked at, too */

/* As far as there are whole vectors without a marker. */
AVX512 static uint8_t *unstuff_vectors(const uint8_t **raw,
                                       const uint8_t *raw_end, uint8_t *to,
                                       const uint8_t *to_end)
{
    const __m512i ones = _mm512_set1_epi8(-1);
    const uint8_t *from = *raw;
    uint64_t stuffed = 0; /* of the vector's bytes: here, of the first one */
    while (raw_end - from > LOOK && to_end - to >= LOOK) {
        __m512i x = _mm512_loadu_si512(from);
        __m512i behind = _mm512_loadu_si512(from + 1);
        uint64_t ff = _mm512_cmpeq_epi8_mask(x, ones);
        if (FDL_UNLIKELY(_mm512_mask_test_epi8_mask(ff, behind, behind)))
            break;
        uint64_t keep = ~(stuffed | ff << 1);
        _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(keep, x));
        to += __builtin_popcountll(keep);
        from += LOOK;
        stuffed = ff >> (LOOK - 1);
    }
    *raw = from + stuffed;
    return to;
}
#endif

uint8_t *fdl_jpeg_unstuff(const uint8_t **raw, const uint8_t *raw_end,
                          uint8_t *to, const uint8_t *to_end)
{
#if defined(__x86_64__)
    if (fdl_cpu_level() >= FDL_CPU_AVX512)
        to = unstuff_vectors(raw, raw_end, to, to_end);
#endif
    const uint8_t *from = *raw;
    while (to < to_end) {
        if (raw_end - from >= 8 && to_end - to >= 8) {
            unsigned n = fdl_bits_before_ff(from);
            memcpy(to, from, 8);
            from += n;
            to += n;
            if (n == 8)
                continue;
        }
        uint8_t byte = from < raw_end ? *from : 0xff;
        if (byte == 0xff && (raw_end - from < 2 || from[1] != 0))
            break;
        from += byte == 0xff ? 2 : 1;
        *to++ = byte;
    }
    *raw = from;
    return to;
}
