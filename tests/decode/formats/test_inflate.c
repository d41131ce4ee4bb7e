/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflate beside zlib's: streams in order, of every kind that zlib writes;
 * damaged ones, and codes that nobody writes, without a checksum, so that the
 * verdict is about the rest.
 */
#include "base/cpu.h"
#include "decode/formats/adler32.h"
#include "decode/formats/inflate.h"
#include "tests/decode/rig.h"
#include "tests/decode/zlib_verdict.h"
#include "tests/dice.h"

#include <zlib.h>

#define ROOM    200000u
#define FIXED   1u /* types of blocks */
#define DYNAMIC 2u

/* Any bytes, few, runs, what was there before, or differences of pixels. */
static void fill(struct dice *d, uint8_t *bytes, size_t n)
{
    uint32_t kind = dice_below(d, 5);
    for (size_t i = 0; i < n; i++) {
        uint64_t any = dice_u64(d);
        if (kind == 0)
            bytes[i] = (uint8_t)any;
        else if (kind == 1)
            bytes[i] = (uint8_t)(any % 3);
        else if (kind == 2)
            bytes[i] = any % 50 || i == 0 ? bytes[i - (i > 0)] : (uint8_t)any;
        else if (kind == 3 && i > 40 && any % 8)
            bytes[i] = bytes[i - 1 - i % 40];
        else
            bytes[i] = (uint8_t)((int)(any % 9) - (int)(any >> 20) % 9);
    }
}

/* Without header and checksum, behind two bytes of room. */
static uint8_t *compressed(struct dice *d, const uint8_t *from, size_t n,
                           size_t *size)
{
    z_stream z = {0};
    int level = (int)dice_below(d, 10), strategy = (int)dice_below(d, 5);
    int memory = 1 + (int)dice_below(d, 9), window = 9 + (int)dice_below(d, 7);
    assert_int_equal(
        deflateInit2(&z, level, Z_DEFLATED, -window, memory, strategy), Z_OK);
    size_t room = deflateBound(&z, (uLong)n) + 64;
    uint8_t *stream = rig_alloc(room + 6);
    memcpy(&z.next_in, &from, sizeof(z.next_in));
    z.avail_in = (uInt)n;
    z.next_out = stream + 2;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *size = z.total_out;
    deflateEnd(&z);
    return stream;
}

struct bench {
    struct fdl_inflate *inflate;
    uint8_t *want, *got; /* ROOM each */
};

static struct bench bench_of(void)
{
    struct bench b = {fdl_inflate_create(), rig_alloc(ROOM), rig_alloc(ROOM)};
    assert_non_null(b.inflate);
    return b;
}

static void end_bench(struct bench *b)
{
    fdl_inflate_destroy(b->inflate);
    free(b->want);
    free(b->got);
}

/* The n bytes of a stream from its third on, by both, at every level. */
static bool is_as_by_zlib(struct bench *b, const uint8_t *stream, size_t n)
{
    struct zlib_verdict v = zlib_verdict(stream + 2, n, b->want, ROOM);
    uint8_t *exact = rig_copy(stream + 2, n); /* nothing is read behind it, */
    size_t room = v.ends ? v.size : ROOM;
    uint8_t *out = rig_alloc(room); /* or written */
    for (int level = FDL_CPU_C; level < FDL_CPU_LEVELS; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        struct fdl_inflated done;
        assert_int_equal(
            fdl_inflate_raw(b->inflate, exact, n, out, room, &done), v.ends);
        if (v.ends) {
            assert_int_equal(done.read, v.read);
            assert_int_equal(done.made, v.size);
            assert_memory_equal(out, b->want, v.size);
        }
    }
    free(out);
    free(exact);
    return v.ends;
}

TEST(streams_in_order_are_taken)
{
    struct dice d = {test_seed()};
    struct bench b = bench_of();
    for (int round = 0; round < 150; round++) {
        size_t n = dice_below(&d, round % 4 ? 3000 : ROOM), size;
        fill(&d, b.got, n);
        uint8_t *stream = compressed(&d, b.got, n, &size);
        assert_true(is_as_by_zlib(&b, stream, size));
        assert_memory_equal(b.got, b.want, n);
        free(stream);
    }
    end_bench(&b);
}

/* `stream`, with room for 6 bytes around the n bytes from its third on, becomes
 * one of zlib's that makes `made`. */
static void wrap(uint8_t *stream, size_t n, const uint8_t *made, size_t size)
{
    uint32_t sum = (uint32_t)adler32(1, made, (uInt)size);
    stream[0] = 0x78;
    stream[1] = 0x9c;
    for (size_t i = 0; i < 4; i++)
        stream[2 + n + i] = (uint8_t)(sum >> (24 - 8 * i));
}

TEST(streams_out_of_order_are_refused)
{
    struct dice d = {test_seed()};
    struct bench b = bench_of();
    for (int round = 0; round < 100; round++) {
        size_t n = 1 + dice_below(&d, 5000), size;
        fill(&d, b.got, n);
        uint8_t *stream = compressed(&d, b.got, n, &size);
        wrap(stream, size, b.got, n);
        size += 6;
        uint8_t *more = rig_alloc(size + 1);
        memcpy(more, stream, size);
        more[size] = 0;
        assert_true(fdl_inflate_all(b.inflate, more, size, b.want, n));
        assert_false(fdl_inflate_all(b.inflate, more, size, b.want, n - 1));
        assert_false(fdl_inflate_all(b.inflate, more, size, b.want, n + 1));
        assert_false(fdl_inflate_all(b.inflate, more, size + 1, b.want, n));
        assert_false(fdl_inflate_all(
            b.inflate, more, dice_below(&d, (uint32_t)size), b.want, n));
        more[0] ^= (uint8_t)(1u << dice_below(&d, 8)); /* breaks its check */
        assert_false(fdl_inflate_all(b.inflate, more, size, b.want, n));
        memcpy(more, stream, 2);
        more[size - 1 - dice_below(&d, 4)] ^= 1;
        assert_false(fdl_inflate_all(b.inflate, more, size, b.want, n));
        free(more);
        free(stream);
    }
    end_bench(&b);
}

/* A preset dictionary is another one's, too. */
TEST(headers_are_checked)
{
    static const uint8_t bytes[] = {0x78, 0x9c, 3, 0, 0, 0, 0, 1};
    struct bench b = bench_of();
    assert_true(fdl_inflate_all(b.inflate, bytes, 8, b.got, 0));
    int taken = 0;
    for (uint32_t pair = 0; pair < 65536; pair++) {
        uint8_t other[8];
        memcpy(other, bytes, sizeof(other));
        other[0] = (uint8_t)pair;
        other[1] = (uint8_t)(pair >> 8);
        uLong none = 0;
        bool zlib = uncompress(b.want, &none, other, 8) == Z_OK;
        assert_int_equal(fdl_inflate_all(b.inflate, other, 8, b.got, 0), zlib);
        taken += zlib;
    }
    assert_true(taken > 8);
    end_bench(&b);
}

TEST(damage_is_judged_as_by_zlib)
{
    struct dice d = {test_seed()};
    struct bench b = bench_of();
    int taken = 0, rounds = 3000;
    for (int round = 0; round < rounds; round++) {
        size_t n = dice_below(&d, 600), size;
        fill(&d, b.got, n);
        uint8_t *stream = compressed(&d, b.got, n, &size);
        for (uint32_t k = 1 + dice_below(&d, 3); k > 0; k--)
            stream[2 + dice_below(&d, (uint32_t)size)] ^=
                (uint8_t)(1u << dice_below(&d, 8));
        taken += is_as_by_zlib(&b, stream, size - dice_below(&d, 10) / 9);
        free(stream);
    }
    assert_in_range(taken, rounds / 50, rounds - rounds / 50);
    end_bench(&b);
}

/* ---- Codes that nobody writes ------------------------------------------- */

struct writer {
    uint8_t bytes[4000];
    size_t at; /* in bits */
};

static void put(struct writer *w, uint32_t value, uint32_t bits)
{
    for (uint32_t i = 0; i < bits; i++, w->at++)
        w->bytes[w->at / 8] |= (uint8_t)((value >> i & 1) << w->at % 8);
}

/* Lengths of a complete code of `used` of n symbols; then some are wrong. */
static void draw_lengths(struct dice *d, uint8_t *lengths, uint32_t n,
                         uint32_t used)
{
    uint8_t split[288] = {0};
    uint32_t have = used > 0;
    while (have > 0 && have < used) {
        uint32_t i = dice_below(d, have);
        if (dice_below(d, 3) == 0)
            i = have - 1; /* some codes are long */
        if (split[i] == 15)
            continue;
        split[have++] = ++split[i];
    }
    if (used == 1)
        split[0] = (uint8_t)(1 + dice_below(d, 3) / 2);
    memset(lengths, 0, n);
    for (uint32_t i = 0; i < used; i++) {
        uint32_t at = dice_below(d, n);
        while (lengths[at] > 0)
            at = (at + 1) % n;
        lengths[at] = split[i];
    }
    if (dice_below(d, 4) == 0)
        lengths[dice_below(d, n)] = (uint8_t)dice_below(d, 16);
}

/* A code begins with its highest bit. */
static void put_code(struct writer *w, uint32_t code, uint32_t bits)
{
    while (bits-- > 0)
        put(w, code >> bits & 1, 1);
}

/* The codes of 0 to 12 have 4 bits, those of 13 to 18 have 5. */
static void put_length(struct writer *w, uint32_t symbol)
{
    if (symbol < 13)
        put_code(w, symbol, 4);
    else
        put_code(w, 26 + symbol - 13, 5);
}

/* How many are like the first, which may be like the one before. */
static uint32_t run_of(const uint8_t *lengths, uint32_t n, uint32_t most)
{
    uint32_t k = 1;
    while (k < FDL_MIN(n, most) && lengths[k] == lengths[0])
        k++;
    return k;
}

/* Some as runs, of which a few are too long, or of what is not there. */
static void put_lengths(struct dice *d, struct writer *w,
                        const uint8_t *lengths, uint32_t n)
{
    for (uint32_t i = 0; i < n;) {
        uint32_t more = dice_below(d, 400) == 0;
        uint32_t run = run_of(lengths + i, n - i, lengths[i] ? 6 : 138);
        bool again = i > 0 && lengths[i] == lengths[i - 1];
        if (i == 0 && dice_below(d, 20) == 0) {
            put_length(w, 16);
            put(w, 0, 2);
            i += 3;
        } else if (run < 3 || dice_below(d, 2) || (lengths[i] && !again)) {
            put_length(w, lengths[i++]);
        } else if (lengths[i]) {
            put_length(w, 16);
            put(w, FDL_MIN(run - 3 + more, 3), 2);
            i += run;
        } else {
            put_length(w, run < 11 ? 17 : 18);
            put(w, run < 11 ? FDL_MIN(run - 3 + more, 7) : run - 11,
                run < 11 ? 3 : 7);
            i += run;
        }
    }
}

/* A block of drawn codes, and any bits behind them. */
static void draw_block(struct dice *d, struct writer *w)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t literals[288], distances[32], lengths[320];
    uint32_t n = 257 + dice_below(d, 31), m = 1 + dice_below(d, 32);
    uint32_t most = FDL_MIN(m, 30), used = dice_below(d, most + 1);
    if (dice_below(d, 2))
        n = 286, m = most;
    draw_lengths(d, literals, n, 1 + dice_below(d, dice_below(d, 2) ? 9 : n));
    draw_lengths(d, distances, m, dice_below(d, 3) ? used : used % 2);
    if (dice_below(d, 8) && literals[256] == 0) {
        uint32_t i = 0;
        while (literals[i] == 0)
            i++;
        literals[256] = literals[i];
        literals[i] = 0;
    }
    put(w, 1 | DYNAMIC << 1, 3);
    put(w, n - 257, 5);
    put(w, m - 1, 5);
    put(w, 15, 4);
    for (int i = 0; i < 19; i++)
        put(w, order[i] < 13 ? 4 : 5, 3);
    memcpy(lengths, literals, n);
    memcpy(lengths + n, distances, m);
    put_lengths(d, w, lengths, n + m);
    while (w->at < 8 * 400)
        put(w, dice_below(d, 256), 8);
}

TEST(any_codes_are_judged_as_by_zlib)
{
    struct dice d = {test_seed()};
    struct bench b = bench_of();
    int taken = 0, rounds = 4000;
    for (int round = 0; round < rounds; round++) {
        struct writer *w = rig_alloc(sizeof(*w));
        memset(w, 0, sizeof(*w));
        w->at = 16;
        draw_block(&d, w);
        size_t n = w->at / 8 - 2;
        taken += is_as_by_zlib(&b, w->bytes, n);
        free(w);
    }
    assert_in_range(taken, rounds / 20, rounds - rounds / 20);
    end_bench(&b);
}

/* A stored block, then one of fixed codes: a match and the end. */
static bool is_match_taken(struct bench *b, uint32_t length, uint32_t distance)
{
    enum { STORED = 60000 };
    uint8_t *stream = rig_alloc(STORED + 100);
    memset(stream, 0, STORED + 100);
    struct writer w = {.at = 0};
    put(&w, 1 | FIXED << 1, 3);
    put_code(&w, 0xc0 + length - 280, 8);
    put_code(&w, distance, 5);
    put(&w, 0, 5 + 13 + 7); /* no more of either, and the end */
    stream[2 + 1] = STORED & 255;
    stream[2 + 2] = STORED >> 8;
    stream[2 + 3] = (uint8_t)~stream[2 + 1];
    stream[2 + 4] = (uint8_t)~stream[2 + 2];
    size_t n = (w.at + 7) / 8;
    memcpy(stream + 2 + 5 + STORED, w.bytes, n);
    bool taken = is_as_by_zlib(b, stream, 5 + STORED + n);
    free(stream);
    return taken;
}

/* Two of the fixed codes of each mean nothing, however much there is to go back
 * to. */
TEST(codes_without_meaning_are_refused)
{
    struct bench b = bench_of();
    for (uint32_t distance = 28; distance < 32; distance++)
        assert_int_equal(is_match_taken(&b, 285, distance), distance < 30);
    for (uint32_t length = 284; length < 288; length++)
        assert_int_equal(is_match_taken(&b, length, 2), length < 286);
    end_bench(&b);
}

/* ---- The checksum ------------------------------------------------------- */

TEST(checksums_are_zlibs)
{
    struct dice d = {test_seed()};
    uint8_t *bytes = rig_alloc(ROOM);
    for (int round = 0; round < 60; round++) {
        size_t n = dice_below(&d, round % 3 ? 300 : ROOM);
        fill(&d, bytes, n);
        if (round % 5 == 0)
            memset(bytes, 255, n); /* the largest sums */
        uint32_t want = (uint32_t)adler32(1, bytes, (uInt)n);
        for (int level = FDL_CPU_C; level < FDL_CPU_LEVELS; level++) {
            fdl_cpu_set_level((enum fdl_cpu_level)level);
            assert_int_equal(fdl_adler32(bytes, n), want);
        }
    }
    free(bytes);
}

TEST_MAIN("decode_inflate")
