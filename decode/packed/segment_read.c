/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing in a segment says where a stream of it begins: each is as long as the
 * ones before it tell. So every length is held against the end before it is
 * used.
 */
#include "base/cpu.h"
#include "decode/packed/segment_parts.h"

const uint8_t fdl_segment_natural[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* ---- Kernels in plain C ------------------------------------------------- */

static uint64_t order(uint64_t zigzag)
{
    uint64_t natural = 0;
    for (unsigned z = 1; z < 64; z++)
        natural |= (zigzag >> z & 1) << fdl_segment_natural[z];
    return natural;
}

static unsigned read_places(struct fdl_segment *s, const uint8_t *from,
                            unsigned n)
{
    return fdl_segment_read_places(s, from, n, order);
}

static bool excess(const struct fdl_segment_streams *in, uint8_t *to,
                   size_t *bytes, unsigned *words)
{
    const uint8_t *byte = in->bytes;
    *words = 0;
    for (unsigned i = 0; i < in->n_large; i++) {
        to[i] = in->nibbles[i / 2] >> (i % 2 * 4) & 15;
        if (to[i] < NIBBLE_FULL)
            continue;
        if (byte == in->end || *byte > BYTE_FULL)
            return false;
        *words += *byte == BYTE_FULL;
        to[i] = (uint8_t)(NIBBLE_FULL + *byte++);
    }
    *bytes = (size_t)(byte - in->bytes);
    return true;
}

static void values(const struct fdl_segment_streams *in, const uint8_t *from,
                   int16_t *to)
{
    const uint8_t *word = in->words;
    for (unsigned i = 0; i < in->values; i++) {
        int large = in->large[i / 8] >> (i % 8) & 1;
        int sign = in->signs[i / 8] >> (i % 8) & 1;
        int m = large ? 2 + *from++ : 1;
        if (m == MARKED) {
            m = fdl_segment_word(word);
            word += 2;
        }
        to[i] = (int16_t)(uint16_t)(sign ? -m : m);
    }
}

static void block(uint64_t places, const int16_t *from, int16_t *to,
                  size_t stride)
{
    for (unsigned y = 0; y < 8; y++, to += stride, places >>= 8) {
        for (unsigned x = 0; x < 8; x++)
            to[x] = places >> x & 1 ? *from++ : 0;
    }
}

static size_t lasts(struct fdl_segment *s, const uint8_t *from, unsigned n)
{
    return fdl_segment_read_lasts(s, from, n);
}

static void dc(struct fdl_segment *s, const uint8_t *from, unsigned bits,
               unsigned n)
{
    fdl_segment_read_dc(s, from, bits, n);
}

const struct fdl_segment_kernels fdl_segment_plain = {
    lasts, dc, read_places, fdl_segment_count_bits, excess, values, block};

/* ---- Reading ------------------------------------------------------------ */

static const struct fdl_segment_kernels *best(void)
{
#if defined(__x86_64__)
    if (fdl_cpu_level() >= FDL_CPU_AVX512)
        return &fdl_segment_avx512;
    if (fdl_cpu_level() >= FDL_CPU_AVX2)
        return &fdl_segment_avx2;
#endif
    return &fdl_segment_plain;
}

static size_t bytes_of(size_t bits)
{
    return (bits + 7) / 8;
}

/* Where the next stream begins, or NULL if this one does not end in time. */
static const uint8_t *after(const uint8_t *at, const uint8_t *end, size_t bits)
{
    if (!at || bytes_of(bits) > (size_t)(end - at))
        return NULL;
    return at + bytes_of(bits);
}

static bool read_values(struct fdl_segment *s,
                        const struct fdl_segment_kernels *k, const uint8_t *at,
                        const uint8_t *end, unsigned n)
{
    struct fdl_segment_streams in = {.signs = at, .end = end, .values = n};
    in.large = after(in.signs, end, n);
    in.nibbles = after(in.large, end, n);
    if (!in.nibbles)
        return false;
    in.n_large = k->count(in.large, n);
    in.bytes = after(in.nibbles, end, (size_t)in.n_large * 4);
    size_t bytes;
    unsigned words;
    if (!in.bytes || !k->excess(&in, s->excess, &bytes, &words) ||
        (size_t)(end - in.bytes) != bytes + (size_t)words * 2)
        return false;
    in.words = in.bytes + bytes;
    k->values(&in, s->excess, s->values);
    return true;
}

static bool read_all(struct fdl_segment *s, const struct fdl_segment_kernels *k,
                     const uint8_t *data, const uint8_t *end, unsigned n)
{
    const uint8_t *lasts = data + SEGMENT_HEAD;
    unsigned dc_bits = data[0];
    const uint8_t *dc = after(lasts, end, (size_t)n * LAST_BITS);
    const uint8_t *from = after(dc, end, (size_t)(n - 1) * dc_bits);
    if (dc_bits > DC_BITS || !from)
        return false;
    const uint8_t *rest = after(from, end, k->lasts(s, lasts, n));
    if (!rest)
        return false;
    s->dc[0] = (int16_t)(uint16_t)(data[1] | data[2] << 8);
    k->dc(s, dc, dc_bits, n);
    return read_values(s, k, rest, end, k->places(s, from, n));
}

bool fdl_segment_open(struct fdl_segment *s, const uint8_t *data, size_t size,
                      size_t readable, unsigned n)
{
    if (size < SEGMENT_HEAD || size > FDL_SEGMENT_BYTES)
        return false;
    const struct fdl_segment_kernels *k = best();
    s->place = k->block;
    if (readable - size < FDL_SEGMENT_MARGIN) {
        memcpy(s->copy, data, size);
        memset(s->copy + size, 0, FDL_SEGMENT_MARGIN);
        data = s->copy;
    }
    return read_all(s, k, data, data + size, n);
}
