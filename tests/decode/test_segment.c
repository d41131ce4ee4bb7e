/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of packed coefficients: what is written comes back, and whatever
 * else is read does no harm, by every level of the processor alike. */
#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/packed/segment.h"
#include "test.h"
#include "tests/decode/make_jpeg.h"

struct blocks {
    unsigned n;
    int16_t of[FDL_SEGMENT_BLOCKS][64];
};

/* Values up to 2^bits, of which one in `rarity` is not zero. */
static struct blocks make_blocks(uint64_t *seed, unsigned n, unsigned bits,
                                 unsigned rarity)
{
    struct blocks b = {.n = n};
    for (unsigned i = 0; i < n; i++) {
        unsigned used = (unsigned)(make_random(seed) % 65);
        for (unsigned k = 0; k < used; k++) {
            if (make_random(seed) % rarity > 0)
                continue;
            unsigned width = (unsigned)(make_random(seed) % (bits + 1));
            uint64_t value = make_random(seed) & ((1u << width) - 1);
            bool negative = make_random(seed) % 2;
            b.of[i][k] = (int16_t)(uint16_t)(negative ? 0 - value - 1 : value);
        }
    }
    return b;
}

/* A copy that ends where the segment does, or FDL_SEGMENT_MARGIN behind, so
 * that a sanitizer sees every byte that is read too far. */
static bool open_copy(struct fdl_segment *s, const uint8_t *data, size_t size,
                      unsigned n, size_t margin)
{
    uint8_t *copy = malloc(size + margin + 1);
    assert_non_null(copy);
    memcpy(copy + 1, data, size);
    memset(copy + 1 + size, 0xff, margin);
    bool sound = fdl_segment_open(s, copy + 1, size, size + margin, n);
    free(copy);
    return sound;
}

static unsigned last_of(const int16_t *block)
{
    static const uint8_t zigzag[64] = {
        0,  1,  5,  6,  14, 15, 27, 28, 2,  4,  7,  13, 16, 26, 29, 42,
        3,  8,  12, 17, 25, 30, 41, 43, 9,  11, 18, 24, 31, 40, 44, 53,
        10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38, 46, 51, 55, 60,
        21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63};
    unsigned last = 0;
    for (unsigned k = 1; k < 64; k++) {
        if (block[k] != 0)
            last = FDL_MAX(last, zigzag[k]);
    }
    return last;
}

static void assert_same(const struct fdl_segment *s, const struct blocks *b,
                        size_t stride)
{
    int16_t to[8 * 16] FDL_ALIGNED(32);
    for (unsigned i = 0; i < b->n; i++) {
        memset(to, 0x55, sizeof(to));
        assert_int_equal(fdl_segment_block(s, i, to, stride),
                         last_of(b->of[i]));
        for (size_t y = 0; y < 8; y++)
            assert_memory_equal(to + y * stride, b->of[i] + 8 * y, 16);
    }
}

static void check_blocks(const struct blocks *b)
{
    static struct fdl_segment s;
    uint8_t data[FDL_SEGMENT_BYTES];
    size_t size = fdl_segment_write(b->of, b->n, data);
    assert_true(size <= sizeof(data));
    enum fdl_cpu_level top = fdl_cpu_level();
    for (int level = 0; level <= (int)top; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        for (size_t margin = 0; margin <= FDL_SEGMENT_MARGIN;
             margin += FDL_SEGMENT_MARGIN) {
            assert_true(open_copy(&s, data, size, b->n, margin));
            assert_same(&s, b, margin ? 8 : 16);
        }
        assert_false(open_copy(&s, data, size - 1, b->n, 0));
    }
    fdl_cpu_set_level(top);
}

TEST(values_come_back)
{
    uint64_t seed = test_seed();
    for (unsigned n = 1; n <= FDL_SEGMENT_BLOCKS; n++) {
        for (unsigned bits = 0; bits <= 15; bits++) {
            struct blocks b = make_blocks(&seed, n, bits, 1 + bits % 4);
            check_blocks(&b);
        }
    }
}

/* Everything as long as it can be: the bound holds, and is needed. */
TEST(the_longest_segment)
{
    struct blocks b = {.n = FDL_SEGMENT_BLOCKS};
    for (unsigned i = 0; i < b.n; i++) {
        for (unsigned k = 0; k < 64; k++)
            b.of[i][k] = (i + k) % 2 ? INT16_MAX : INT16_MIN;
    }
    check_blocks(&b);
    uint8_t data[FDL_SEGMENT_BYTES];
    size_t size = fdl_segment_write(b.of, b.n, data);
    assert_in_range(size, FDL_SEGMENT_BYTES - 8, FDL_SEGMENT_BYTES);
}

TEST(the_edges_of_each_stream)
{
    static const int16_t edges[] = {1, 2, 16, 17, 18, 255, 256, 257, 258, 2047};
    struct blocks b = {.n = 2};
    for (size_t i = 0; i < FDL_COUNT_OF(edges); i++) {
        for (unsigned k = 1; k < 64; k++) {
            b.of[0][k] = (int16_t)(k % 2 ? edges[i] : -edges[i]);
            b.of[1][k] = edges[(i + k) % FDL_COUNT_OF(edges)];
        }
        check_blocks(&b);
    }
}

/* All levels say the same of it; a sanitizer says whether it was read in
 * bounds. */
static bool judge(const uint8_t *data, size_t size, unsigned n)
{
    static struct fdl_segment plain, s;
    enum fdl_cpu_level top = fdl_cpu_set_level(FDL_CPU_LEVELS - 1);
    fdl_cpu_set_level(FDL_CPU_C);
    bool sound = open_copy(&plain, data, size, n, 0);
    for (int level = 1; level <= (int)top; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        assert_int_equal(open_copy(&s, data, size, n, FDL_SEGMENT_MARGIN),
                         sound);
        for (unsigned i = 0; i < n && sound; i++) {
            int16_t want[64] FDL_ALIGNED(32), to[64] FDL_ALIGNED(32);
            assert_int_equal(fdl_segment_block(&s, i, to, 8),
                             fdl_segment_block(&plain, i, want, 8));
            assert_memory_equal(to, want, sizeof(to));
        }
    }
    return sound;
}

TEST(damage_does_no_harm)
{
    uint64_t seed = test_seed();
    int sound = 0, unsound = 0;
    for (unsigned round = 0; round < 4000; round++) {
        unsigned n = 1 + (unsigned)(make_random(&seed) % FDL_SEGMENT_BLOCKS);
        struct blocks b = make_blocks(&seed, n, round % 12, 1 + n % 5);
        uint8_t data[FDL_SEGMENT_BYTES];
        size_t size = fdl_segment_write(b.of, n, data);
        for (unsigned i = 0; i <= round % 4; i++)
            data[make_random(&seed) % size] ^=
                (uint8_t)(1 << make_random(&seed) % 8);
        if (round % 3 == 0)
            size = make_random(&seed) % (size + 1);
        *(judge(data, size, n) ? &sound : &unsound) += 1;
    }
    assert_true(sound > 100 && unsound > 1000);
}

TEST_MAIN("decode_segment")
