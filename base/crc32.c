/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes are a polynomial over one bit, and its CRC the remainder of a division.
 * A message that is replaced by a shorter one of the same remainder keeps its
 * CRC: the kernels do that, several times as fast as one can divide, and plain
 * C divides the 64 bytes that are left.
 *
 *     message   | a | b | c | d | e | f | g | h | ...    16 bytes each
 *     becomes                   | e'| f'| g'| h'| ...    e' = e + a * x^512
 *
 * x^512 mod P has 32 bits, and so the product fits: of each half of `a`, which
 * is as much as one carry-less multiplication takes, with a power of its own.
 * Bits are stored in the order of the wire, the highest power in bit 0, so a
 * product comes out one place too low; the powers are kept one place higher.
 */
#include "base/crc32.h"

#include "base/compiler.h"
#include "base/cpu.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#  include <immintrin.h>
#endif

struct polynomial {
    uint32_t bits;
    /* x^(n + 32) and x^(n - 32), mirrored, one place higher, n the bits that a
     * step skips. */
    uint64_t skip64[2];       /* bytes */
    uint64_t skip256[2];      /* bytes */
    uint32_t of_byte[8][256]; /* at that distance from the end, see divide */
};

static struct polynomial ieee = {
    .bits = 0xedb88320,
    .skip64 = {0x154442bd4, 0x1c6e41596},
    .skip256 = {0x11542778a, 0x1322d1430},
};
static struct polynomial castagnoli = {
    .bits = 0x82f63b78,
    .skip64 = {0x0740eef02, 0x09e4addf8},
    .skip256 = {0x0dcb17aa4, 0x0b9e02b86},
};
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void fill(struct polynomial *p)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ ((crc & 1) ? p->bits : 0);
        p->of_byte[0][i] = crc;
    }
    for (uint32_t k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t before = p->of_byte[k - 1][i];
            p->of_byte[k][i] = before >> 8 ^ p->of_byte[0][before & 255];
        }
}

static void fill_tables(void)
{
    fill(&ieee);
    fill(&castagnoli);
}

/* What a byte adds to the remainder depends on how many follow it: with a table
 * for each distance eight need not wait for each other. */
static uint32_t divide(const struct polynomial *p, uint32_t crc,
                       const uint8_t *at, size_t bytes)
{
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint32_t next = 0;
        for (unsigned i = 0; i < 4; i++)
            next ^= p->of_byte[7 - i][at[i] ^ (crc >> 8 * i & 255)];
        for (unsigned i = 4; i < 8; i++)
            next ^= p->of_byte[7 - i][at[i]];
        crc = next;
    }
    for (; bytes > 0; at++, bytes--)
        crc = crc >> 8 ^ p->of_byte[0][(crc ^ *at) & 255];
    return crc;
}

#if defined(__x86_64__)
#  define LANES 4 /* as many as hide the time of a multiplication */

FDL_TARGET("avx2,pclmul")
static __m128i skip128(__m128i a, __m128i power, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(a, power, 0x00);
    __m128i high = _mm_clmulepi64_si128(a, power, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* What is left of a CRC-32C, for which there is an instruction. */
FDL_TARGET("avx2,pclmul")
static uint32_t divide64(const __m128i a[LANES])
{
    uint64_t crc = 0;
    for (unsigned i = 0; i < LANES; i++) {
        crc = _mm_crc32_u64(crc, (uint64_t)_mm_cvtsi128_si64(a[i]));
        crc = _mm_crc32_u64(crc, (uint64_t)_mm_extract_epi64(a[i], 1));
    }
    return (uint32_t)crc;
}

/* Whole runs of 64 bytes, at least one. */
FDL_TARGET("avx2,pclmul")
static uint32_t fold_avx2(const struct polynomial *p, uint32_t crc,
                          const uint8_t *at, size_t bytes)
{
    __m128i power =
        _mm_set_epi64x((int64_t)p->skip64[1], (int64_t)p->skip64[0]);
    const __m128i *from = (const __m128i *)(const void *)at;
    __m128i a[LANES];
    for (unsigned i = 0; i < LANES; i++)
        a[i] = _mm_loadu_si128(from + i);
    a[0] = _mm_xor_si128(a[0], _mm_cvtsi32_si128((int)crc));
    for (size_t n = bytes / sizeof(a) - 1; n > 0; n--) {
        from += LANES;
        for (unsigned i = 0; i < LANES; i++)
            a[i] = skip128(a[i], power, _mm_loadu_si128(from + i));
    }
    if (p == &castagnoli)
        return divide64(a);
    return divide(p, 0, (const uint8_t *)a, sizeof(a));
}

/* Processors have an instruction for CRC-32C: 8 bytes, three cycles, one begun
 * in each. So three runs go side by side; what the first two are is multiplied
 * by the powers of x that follow them. */
#  define RUN 1024u

FDL_TARGET("avx2,pclmul")
static uint64_t load64(const uint8_t *at)
{
    uint64_t x;
    memcpy(&x, at, sizeof(x));
    return x;
}

/* crc * x^(n + 33) for the power x^n, as the instruction divides by that. */
FDL_TARGET("avx2,pclmul")
static uint32_t put_before(uint64_t crc, uint32_t power)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc),
                                           _mm_cvtsi32_si128((int)power), 0);
    return (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* Whole times three runs. */
FDL_TARGET("avx2,pclmul")
static uint32_t divide_by_three(uint32_t crc, const uint8_t *at, size_t bytes)
{
    const uint32_t one_run = 0x170076fa, two_runs = 0xa51b6135;
    for (; bytes > 0; at += 3 * RUN, bytes -= 3 * RUN) {
        uint64_t a = crc, b = 0, c = 0;
        for (const uint8_t *end = at + RUN, *p = at; p < end; p += 8) {
            a = _mm_crc32_u64(a, load64(p));
            b = _mm_crc32_u64(b, load64(p + RUN));
            c = _mm_crc32_u64(c, load64(p + 2 * RUN));
        }
        crc = put_before(a, two_runs) ^ put_before(b, one_run) ^ (uint32_t)c;
    }
    return crc;
}

FDL_TARGET("avx512f,avx512bw,avx512vl,vpclmulqdq")
static __m512i skip512(__m512i a, __m512i power, __m512i next)
{
    __m512i low = _mm512_clmulepi64_epi128(a, power, 0x00);
    __m512i high = _mm512_clmulepi64_epi128(a, power, 0x11);
    return _mm512_ternarylogic_epi64(low, high, next, 0x96); /* xor of all */
}

/* Whole runs of 256 bytes, at least one. */
FDL_TARGET("avx512f,avx512bw,avx512vl,vpclmulqdq")
static uint32_t fold_avx512(const struct polynomial *p, uint32_t crc,
                            const uint8_t *at, size_t bytes)
{
    __m512i power = _mm512_broadcast_i32x4(
        _mm_set_epi64x((int64_t)p->skip256[1], (int64_t)p->skip256[0]));
    __m512i a[LANES];
    for (unsigned i = 0; i < LANES; i++)
        a[i] = _mm512_loadu_si512(at + i * sizeof(*a));
    a[0] = _mm512_xor_si512(
        a[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    for (size_t n = bytes / sizeof(a) - 1; n > 0; n--) {
        at += sizeof(a);
        for (unsigned i = 0; i < LANES; i++)
            a[i] =
                skip512(a[i], power, _mm512_loadu_si512(at + i * sizeof(*a)));
    }
    return fold_avx2(p, 0, (const uint8_t *)a, sizeof(a));
}

/* The fastest that takes at least one of its runs goes first. */
static uint32_t add(const struct polynomial *p, uint32_t crc, const uint8_t *at,
                    size_t bytes)
{
    enum fdl_cpu_level level = fdl_cpu_level();
    size_t taken = 0;
    if (level >= FDL_CPU_AVX512 && bytes >= 256) {
        taken = bytes - bytes % 256;
        crc = fold_avx512(p, crc, at, taken);
    } else if (level >= FDL_CPU_AVX2 && p == &castagnoli && bytes >= 3 * RUN) {
        taken = bytes - bytes % (3 * RUN);
        crc = divide_by_three(crc, at, taken);
    }
    at += taken;
    bytes -= taken;
    if (level >= FDL_CPU_AVX2 && bytes >= 64) {
        taken = bytes - bytes % 64;
        crc = fold_avx2(p, crc, at, taken);
        at += taken;
        bytes -= taken;
    }
    return divide(p, crc, at, bytes);
}
#else
#  define add divide
#endif

uint32_t fdl_crc32(uint32_t before, const void *data, size_t bytes)
{
    pthread_once(&tables_once, fill_tables);
    return ~add(&ieee, ~before, data, bytes);
}

uint32_t fdl_crc32c(uint32_t before, const void *data, size_t bytes)
{
    pthread_once(&tables_once, fill_tables);
    return ~add(&castagnoli, ~before, data, bytes);
}
