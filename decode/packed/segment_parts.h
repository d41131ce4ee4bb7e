/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What writing and all ways of reading a segment share: constants of the
 * format, and the steps of reading that a processor has kernels for.
 */
#ifndef FDL_DECODE_SEGMENT_PARTS_H
#define FDL_DECODE_SEGMENT_PARTS_H

#include "base/compiler.h"
#include "decode/packed/segment.h"

#include <string.h>

#define SEGMENT_HEAD 3 /* bits of a difference of DC; the first DC */
#define LAST_BITS    6
#define DC_BITS      17 /* most of a difference */

/* A value is 1, or 2 and an excess. That is a nibble; if it is NIBBLE_FULL, a
 * byte is added to it; if that is BYTE_FULL, the magnitude is a word. */
#define NIBBLE_FULL 15
#define BYTE_FULL   240
#define MARKED      (2 + NIBBLE_FULL + BYTE_FULL)

/* Natural place of a place in zigzag order. */
extern const uint8_t fdl_segment_natural[64];

/* One after the other; each begins on a whole byte. */
struct fdl_segment_streams {
    const uint8_t *signs, *large; /* a bit for each value */
    const uint8_t *nibbles;       /* for each large one */
    const uint8_t *bytes;         /* for each full nibble */
    const uint8_t *words;         /* for each full byte */
    const uint8_t *end;
    unsigned values, n_large;
};

struct fdl_segment_kernels {
    /* The last places of n blocks; how many bits their places have. Reads
     * FDL_SEGMENT_MARGIN more. */
    size_t (*lasts)(struct fdl_segment *s, const uint8_t *from, unsigned n);

    /* DC of blocks 1 to n - 1, from the first one and differences of `bits`
     * bits. Reads FDL_SEGMENT_MARGIN more. */
    void (*dc)(struct fdl_segment *s, const uint8_t *from, unsigned bits,
               unsigned n);

    /* The places of n blocks whose last ones are known, and how many there are:
     * returns the sum. */
    unsigned (*places)(struct fdl_segment *s, const uint8_t *from, unsigned n);

    unsigned (*count)(const uint8_t *bits, unsigned n);

    /* Excess of the large values. Sets how many bytes were taken, and how many
     * of those are full. May read and write FDL_SEGMENT_MARGIN more. False: the
     * streams end too early, or have what no writer writes. */
    bool (*excess)(const struct fdl_segment_streams *in, uint8_t *excess,
                   size_t *bytes, unsigned *words);

    void (*values)(const struct fdl_segment_streams *in, const uint8_t *excess,
                   int16_t *values);
    fdl_segment_placer *block;
};

extern const struct fdl_segment_kernels fdl_segment_plain;
extern const struct fdl_segment_kernels fdl_segment_avx2;
extern const struct fdl_segment_kernels fdl_segment_avx512;

FDL_INLINE uint64_t fdl_segment_load(const uint8_t *p)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t x;
    memcpy(&x, p, sizeof(x));
    return x;
#else
    uint64_t x = 0;
    for (int i = 7; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
#endif
}

FDL_INLINE unsigned fdl_segment_count(uint64_t x)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_popcountll(x);
#else
    unsigned n = 0;
    for (; x != 0; x &= x - 1)
        n++;
    return n;
#endif
}

FDL_INLINE unsigned fdl_segment_count_bits(const uint8_t *bits, unsigned n)
{
    unsigned sum = 0, i = 0;
    for (; i + 64 <= n; i += 64)
        sum += fdl_segment_count(fdl_segment_load(bits + i / 8));
    if (i < n)
        sum +=
            fdl_segment_count(fdl_segment_load(bits + i / 8) << (64 - (n - i)));
    return sum;
}

/* n bits from bit `at` on, n <= 57. Reads 8 bytes. */
FDL_INLINE uint64_t fdl_segment_bits(const uint8_t *p, size_t at, unsigned n)
{
    uint64_t x = fdl_segment_load(p + at / 8) >> (at % 8);
    return x & (((uint64_t)1 << n) - 1);
}

FDL_INLINE size_t fdl_segment_read_lasts(struct fdl_segment *s,
                                         const uint8_t *from, unsigned n)
{
    size_t sum = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t last =
            fdl_segment_bits(from, (size_t)i * LAST_BITS, LAST_BITS);
        s->last[i] = (uint8_t)last;
        sum += last > 0 ? last - 1 : 0;
    }
    return sum;
}

FDL_INLINE void fdl_segment_read_dc(struct fdl_segment *s, const uint8_t *from,
                                    unsigned bits, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        uint32_t d =
            (uint32_t)fdl_segment_bits(from, (size_t)(i - 1) * bits, bits);
        d = d >> 1 ^ (0 - (d & 1));
        s->dc[i] = (int16_t)(uint16_t)((uint16_t)s->dc[i - 1] + d);
    }
}

FDL_INLINE uint16_t fdl_segment_word(const uint8_t *p)
{
    return (uint16_t)(p[0] | (unsigned)p[1] << 8);
}

/* Places in zigzag order, up to the last one; place 0 is left out. */
FDL_INLINE uint64_t fdl_segment_places(const uint8_t *from, size_t at,
                                       unsigned last)
{
    uint64_t x = fdl_segment_load(from + at / 8) >> (at % 8);
    x |= fdl_segment_load(from + at / 8 + 7) >> (at % 8) << 56;
    uint64_t end = ((uint64_t)1 << last) >> 1;
    return ((x & (end - (last > 0))) | end) << 1;
}

FDL_INLINE unsigned fdl_segment_read_places(struct fdl_segment *s,
                                            const uint8_t *from, unsigned n,
                                            uint64_t (*order)(uint64_t zigzag))
{
    size_t at = 0;
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned last = s->last[i];
        uint64_t places = fdl_segment_places(from, at, last);
        at += last - (last > 0);
        s->first[i] = (uint16_t)sum;
        sum += fdl_segment_count(places);
        s->places[i] = order(places);
    }
    return sum;
}

#endif
