/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     low = 1 + the sum of all bytes
 *     high = the sum of all values that low has had behind a byte
 *
 * both modulo 65521. Of a run of bytes, high grows by low for each byte, and by
 * each byte as often as there are bytes from it to the end of the run.
 */
#include "decode/formats/adler32.h"

#include "base/compiler.h"
#include "base/cpu.h"

#define PRIME 65521u

/* So many bytes of 255 keep `high` within 32 bits. */
#define RUN_BYTES 5552u

struct sums {
    uint32_t low, high;
};

static void add_bytes(struct sums *s, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->low += p[i];
        s->high += s->low;
    }
}

#if defined(__x86_64__)

#  include <immintrin.h>

#  define AVX2  FDL_TARGET("avx2")
#  define BLOCK 32u

AVX2 static uint32_t sum_of(__m256i v)
{
    __m128i x = _mm_add_epi32(_mm256_castsi256_si128(v),
                              _mm256_extracti128_si256(v, 1));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, _MM_SHUFFLE(1, 0, 3, 2)));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(x);
}

/* A multiple of BLOCK bytes. */
AVX2 static void add_blocks(struct sums *s, const uint8_t *p, size_t n)
{
    const __m256i weights = _mm256_setr_epi8(
        32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15,
        14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi16(1);
    __m256i low = zero, before = zero, high = zero;
    for (const uint8_t *end = p + n; p < end; p += BLOCK) {
        __m256i v = _mm256_loadu_si256((const __m256i *)p);
        before = _mm256_add_epi32(before, low); /* of each block before it */
        low = _mm256_add_epi32(low, _mm256_sad_epu8(v, zero));
        __m256i weighed = _mm256_maddubs_epi16(v, weights);
        high = _mm256_add_epi32(high, _mm256_madd_epi16(weighed, one));
    }
    s->high += s->low * (uint32_t)n + sum_of(before) * BLOCK + sum_of(high);
    s->low += sum_of(low);
}

static void add_run(struct sums *s, const uint8_t *p, size_t n)
{
    size_t whole = fdl_cpu_level() >= FDL_CPU_AVX2 ? n - n % BLOCK : 0;
    if (whole > 0)
        add_blocks(s, p, whole);
    add_bytes(s, p + whole, n - whole);
}

#else

static void add_run(struct sums *s, const uint8_t *p, size_t n)
{
    add_bytes(s, p, n);
}

#endif

uint32_t fdl_adler32(const uint8_t *data, size_t n)
{
    struct sums s = {.low = 1};
    while (n > 0) {
        size_t run = FDL_MIN(n, RUN_BYTES);
        add_run(&s, data, run);
        s.low %= PRIME;
        s.high %= PRIME;
        data += run;
        n -= run;
    }
    return s.high << 16 | s.low;
}
