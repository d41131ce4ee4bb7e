/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of huffman.h, huffman_steps.h and huffman_skips.h against the
 * definition: random codes, read bit by bit as T.81 F.2.2.3 does, and random
 * windows. And MCUs of such codes, sound and damaged, that are skipped.
 */
#include "base/compiler.h"
#include "decode/formats/huffman_steps.h"
#include "decode/formats/jpeg_bits.h"
#include "decode/formats/jpeg_skip.h"
#include "test.h"
#include "tests/decode/make_jpeg.h"

struct code {
    uint8_t counts[17];
    uint8_t symbols[256];
    bool is_ac;
};

/* A random prefix code, as deep as 16 bits; its symbols are distinct. */
static struct code make_code(uint64_t *seed, bool is_ac)
{
    struct code c = {.is_ac = is_ac};
    uint32_t room = 1; /* codes of this length that are still free */
    unsigned used = 0, most = is_ac ? 162 : 12;
    for (unsigned length = 1; length <= 16; length++) {
        room *= 2;
        uint32_t limit = FDL_MIN(room - 1, most - used); /* never all ones */
        uint32_t n = length < 3 ? (uint32_t)(make_random(seed) % 2)
                                : (uint32_t)(make_random(seed) % (limit + 1));
        n = FDL_MIN(n, limit);
        c.counts[length] = (uint8_t)n;
        used += n;
        room -= n;
    }
    uint8_t all[256];
    unsigned n_all = 0;
    for (unsigned s = 0; s < 256; s++) {
        if (is_ac ? (s & 15) <= 10 : s <= 11)
            all[n_all++] = (uint8_t)s;
    }
    for (unsigned i = 0; i < used; i++) {
        unsigned j = i + (unsigned)(make_random(seed) % (n_all - i));
        uint8_t symbol = all[j];
        all[j] = all[i];
        c.symbols[i] = all[i] = symbol;
    }
    return c;
}

struct symbol {
    unsigned length; /* of the code; 0: there is none */
    unsigned value, advance;
    bool ends;
};

/* The symbol on top of bits. */
static struct symbol read_slowly(const struct code *c, uint64_t bits)
{
    uint32_t code = 0, first = 0;
    unsigned at = 0;
    for (unsigned length = 1; length <= 16; length++) {
        code = code << 1 | (uint32_t)(bits >> (64 - length) & 1);
        if (code - first < c->counts[length]) {
            unsigned s = c->symbols[at + code - first];
            struct symbol out = {length, c->is_ac ? s & 15 : s,
                                 c->is_ac ? (s >> 4) + 1 : 1, false};
            out.ends = c->is_ac && out.value == 0 && out.advance != 16;
            return out;
        }
        at += c->counts[length];
        first = (first + c->counts[length]) << 1;
    }
    return (struct symbol){0};
}

TEST(symbols_are_as_defined)
{
    uint64_t seed = test_seed();
    struct fdl_huffman *t = calloc(1, sizeof(*t));
    for (int round = 0; round < 300; round++) {
        struct code c = make_code(&seed, round % 2);
        assert_true(fdl_huffman_make(t, c.counts, c.symbols, c.is_ac));
        for (int i = 0; i < 2000; i++) {
            uint64_t bits = make_random(&seed);
            struct symbol want = read_slowly(&c, bits);
            uint16_t got = t->look[bits >> (64 - FDL_LOOK_BITS)];
            assert_true((got == 0) ==
                        (want.length == 0 || want.length > FDL_LOOK_BITS));
            if (got == 0)
                got = fdl_huffman_long(t, bits);
            assert_int_equal(got == 0, want.length == 0);
            if (got == 0)
                continue;
            assert_int_equal(FDL_LOOK_TOTAL(got), want.length + want.value);
            assert_int_equal(FDL_LOOK_VALUE(got), want.value);
            assert_int_equal(FDL_LOOK_ADVANCE(got),
                             want.ends ? FDL_LOOK_END : want.advance);
        }
    }
    free(t);
}

/* The value that `want`, on top of bits, has (T.81 F.2.2.1). */
static int32_t read_value(const struct symbol *want, uint64_t bits)
{
    int32_t value = 0;
    for (unsigned i = 0; i < want->value; i++)
        value = 2 * value + (int32_t)(bits << want->length << i >> 63);
    bool is_high = want->value > 0 && value >> (want->value - 1) != 0;
    return is_high ? value : value + 1 - (1 << want->value);
}

static void check_step(const struct fdl_huffman_steps *t, const struct code *c,
                       uint64_t bits)
{
    struct symbol want = read_slowly(c, bits);
    size_t i = bits >> (64 - FDL_LOOK_BITS);
    unsigned got = t->one.length[i];
    bool is_short =
        want.length > 0 && want.length + (want.value > 0) <= FDL_LOOK_BITS;
    unsigned advance = want.ends ? FDL_STEP_END : want.advance;
    assert_int_equal(got != 0, is_short);
    if (is_short) {
        assert_int_equal(got, want.length + want.value);
        assert_int_equal(
            (int32_t)((uint32_t)(bits >> (64 - got)) - t->one.less[i]),
            read_value(&want, bits));
        if (c->is_ac)
            assert_int_equal(t->one.advance[i], advance);
        return;
    }
    assert_int_equal(t->one.advance[i], FDL_STEP_LONG);
}

TEST(steps_are_as_defined)
{
    uint64_t seed = test_seed();
    struct fdl_huffman_steps *t = calloc(1, sizeof(*t));
    for (int round = 0; round < 300; round++) {
        struct code c = make_code(&seed, round % 2);
        assert_true(fdl_huffman_make_steps(t, c.counts, c.symbols, c.is_ac));
        for (int i = 0; i < 2000; i++)
            check_step(t, &c, make_random(&seed));
    }
    free(t);
}

/* What a skip says of bits, symbol by symbol. */
static void check_skip(const struct fdl_huffman_skips *t, const struct code *c,
                       uint64_t bits)
{
    uint32_t skip = t->at[bits >> (64 - FDL_LOOK_BITS)];
    unsigned wanted = FDL_SKIP_LENGTH(skip), total = 0, advance = 0, n = 0;
    bool ended = false;
    for (; total < wanted && !ended; n++) {
        struct symbol s = read_slowly(c, bits << total);
        assert_true(s.length > 0 && total + s.length <= FDL_LOOK_BITS);
        total += s.length + s.value;
        advance += s.ends ? FDL_SKIP_END : s.advance;
        ended = s.ends;
    }
    assert_true(n <= 3 && wanted <= FDL_SKIP_BITS);
    assert_int_equal(total, wanted);
    if (wanted > 0) {
        assert_int_equal(FDL_SKIP_ADVANCE(skip), advance);
        return;
    }
    struct symbol s = read_slowly(c, bits);
    assert_int_equal(skip, FDL_SKIP_NONE);
    assert_true(s.length == 0 || s.length > FDL_LOOK_BITS ||
                s.length + s.value > FDL_SKIP_BITS);
}

TEST(skips_are_their_symbols)
{
    uint64_t seed = test_seed();
    struct fdl_huffman *h = calloc(1, sizeof(*h));
    struct fdl_huffman_skips *t = calloc(1, sizeof(*t));
    for (int round = 0; round < 200; round++) {
        struct code c = make_code(&seed, true);
        assert_true(fdl_huffman_make(h, c.counts, c.symbols, true));
        fdl_huffman_make_skips(t, h);
        for (uint64_t top = 0; top < 1u << FDL_LOOK_BITS; top++)
            check_skip(t, &c, top << (64 - FDL_LOOK_BITS));
    }
    free(t);
    free(h);
}

/* ---- MCUs --------------------------------------------------------------- */

enum { BLOCKS = 6, COMPONENTS = 3, MOST_MCUS = 40, CODES = 2 };

/* Unstuffed data, with room behind it for whoever looks past its end. */
struct scan {
    struct code codes[2 * CODES]; /* of first values; then of others */
    struct fdl_huffman tables[2 * CODES];
    struct fdl_huffman_skips skips[CODES];
    struct fdl_jpeg_skip_block blocks[BLOCKS];
    unsigned code_of[BLOCKS];
    uint32_t n_blocks;
    uint64_t end; /* bits */
    uint8_t data[(MOST_MCUS + 2) * BLOCKS * FDL_BITS_BLOCK_BYTES];
};

static uint64_t window_at(const struct scan *s, uint64_t bit)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 64; i++, bit++)
        bits = bits << 1 | (s->data[bit / 8] >> (7 - bit % 8) & 1u);
    return bits;
}

static void put(struct scan *s, uint64_t bits, unsigned n)
{
    for (; n > 0; n--, bits <<= 1, s->end++)
        s->data[s->end / 8] |= (uint8_t)(bits >> 63 << (7 - s->end % 8));
}

/* A symbol that keeps a block sound, and its value; or after some tries any. */
static struct symbol put_any(struct scan *s, const struct code *c,
                             uint64_t *seed, unsigned room)
{
    struct symbol any = {0};
    uint64_t bits = 0;
    for (int i = 0; i < 60; i++) {
        bits = make_random(seed);
        any = read_slowly(c, bits);
        if (any.length > 0 && (any.ends || any.advance <= room))
            break;
    }
    put(s, bits, any.length + any.value);
    return any;
}

static void put_block(struct scan *s, unsigned code, uint64_t *seed)
{
    put_any(s, &s->codes[code], seed, 63);
    for (unsigned k = 0; k < 63;) {
        struct symbol any = put_any(s, &s->codes[CODES + code], seed, 63 - k);
        if (any.ends || any.length == 0)
            break;
        k += any.advance;
    }
}

/* Random codes, and MCUs of them; n of them are sound, more or less. */
static void make_scan(struct scan *s, uint64_t *seed, int32_t n)
{
    memset(s, 0, sizeof(*s));
    for (unsigned i = 0; i < 2 * CODES; i++) {
        struct code *c = &s->codes[i];
        *c = make_code(seed, i >= CODES);
        assert_true(
            fdl_huffman_make(&s->tables[i], c->counts, c->symbols, c->is_ac));
    }
    for (unsigned i = 0; i < CODES; i++)
        fdl_huffman_make_skips(&s->skips[i], &s->tables[CODES + i]);
    s->n_blocks = (uint32_t)make_within(seed, 1, BLOCKS);
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        unsigned code = s->code_of[i] = (unsigned)make_within(seed, 0, 1);
        s->blocks[i] = (struct fdl_jpeg_skip_block){
            &s->tables[code], &s->tables[CODES + code], &s->skips[code],
            make_within(seed, 0, COMPONENTS - 1)};
    }
    for (int32_t i = 0; i < n; i++)
        for (uint32_t b = 0; b < s->n_blocks; b++)
            put_block(s, s->code_of[b], seed);
    for (size_t i = s->end / 8 + 1; i < sizeof(s->data); i++)
        s->data[i] = (uint8_t)make_random(seed);
}

struct place {
    uint64_t bit;
    int32_t dc[4];
};

static bool skip_block_slowly(const struct scan *s, uint32_t block,
                              struct place *p)
{
    unsigned code = s->code_of[block];
    int32_t *dc = &p->dc[s->blocks[block].component];
    uint64_t bits = window_at(s, p->bit);
    struct symbol any = read_slowly(&s->codes[code], bits);
    *dc += any.length > 0 ? read_value(&any, bits) : 0;
    p->bit += any.length + any.value;
    if (any.length == 0 || *dc < INT16_MIN || *dc > INT16_MAX)
        return false;
    for (unsigned k = 0; k < 63; k += any.advance) {
        any = read_slowly(&s->codes[CODES + code], window_at(s, p->bit));
        p->bit += any.length + any.value;
        if (any.ends)
            return true;
        if (any.length == 0 || k + any.advance > 63)
            return false;
    }
    return true;
}

static uint64_t skip_slowly(const struct scan *s, struct place *p, uint64_t n,
                            uint64_t limit)
{
    uint64_t done = 0;
    for (; done < n && p->bit <= limit; done++) {
        struct place next = *p;
        for (uint32_t i = 0; i < s->n_blocks; i++)
            if (!skip_block_slowly(s, i, &next))
                return done;
        *p = next;
    }
    return done;
}

/* From any first values on, which may be at the end of their range; n MCUs at
 * once and then more, to a limit or not. How many. */
static uint64_t check_scan(const struct scan *s, uint64_t *seed)
{
    struct place want = {0}, got;
    uint64_t all = 0, last_bit = (sizeof(s->data) - 64) * 8;
    for (int i = 0; i < COMPONENTS; i++)
        want.dc[i] = make_within(seed, 0, 3)   ? 0
                     : make_within(seed, 0, 1) ? INT16_MAX
                                               : INT16_MIN;
    got = want;
    for (uint64_t n = 1; n < MOST_MCUS; n *= 3) {
        uint64_t limit = last_bit - FDL_BITS_BLOCK_BYTES * BLOCKS * 8;
        if (make_within(seed, 0, 3) == 0)
            limit = make_random(seed) % (s->end + 1);
        struct fdl_jpeg_skip skip = {s->data, got.bit, got.dc, s->blocks,
                                     s->n_blocks};
        uint64_t done = fdl_jpeg_skip(&skip, n, limit);
        got.bit = skip.bit;
        assert_int_equal(done, skip_slowly(s, &want, n, limit));
        assert_int_equal(got.bit, want.bit);
        assert_memory_equal(got.dc, want.dc, sizeof(got.dc));
        all += done;
    }
    return all;
}

TEST(mcus_are_skipped_as_they_are_read)
{
    static struct scan s;
    uint64_t seed = test_seed(), sound = 0, damaged = 0;
    for (int round = 0; round < 3000; round++) {
        make_scan(&s, &seed, make_within(&seed, 1, MOST_MCUS));
        sound += check_scan(&s, &seed);
        for (int i = make_within(&seed, 1, 4); i > 0; i--) {
            uint64_t bit = make_random(&seed) % (s.end + 1);
            s.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        damaged += check_scan(&s, &seed);
    }
    assert_true(sound > 3000 && damaged > 1000);
}

TEST(the_same_code_is_made_once)
{
    uint64_t seed = test_seed();
    struct fdl_huffman_steps *t = calloc(1, sizeof(*t));
    struct code a = make_code(&seed, true), b = make_code(&seed, true);
    assert_true(fdl_huffman_make_steps(t, a.counts, a.symbols, true));
    uint32_t mark = t->one.less[0] ^ 1;
    t->one.less[0] = mark;
    assert_true(fdl_huffman_make_steps(t, a.counts, a.symbols, true));
    assert_true(t->one.less[0] == mark); /* kept */
    assert_true(fdl_huffman_make_steps(t, b.counts, b.symbols, true));
    assert_true(fdl_huffman_make_steps(t, a.counts, a.symbols, true));
    assert_true(t->one.less[0] == (mark ^ 1));
    free(t);
}

TEST(unsound_codes_are_refused)
{
    struct fdl_huffman *t = calloc(1, sizeof(*t));
    struct code c = {.counts = {[1] = 3}};
    assert_false(fdl_huffman_make(t, c.counts, c.symbols, true));
    c = (struct code){.counts = {[8] = 255, [9] = 2}};
    assert_false(fdl_huffman_make(t, c.counts, c.symbols, true));
    c = (struct code){.counts = {[2] = 1}, .symbols = {12}}; /* too long */
    assert_false(fdl_huffman_make(t, c.counts, c.symbols, false));
    assert_false(fdl_huffman_make(t, c.counts, c.symbols, true));
    c.symbols[0] = 11;
    assert_true(fdl_huffman_make(t, c.counts, c.symbols, false));
    free(t);
}

TEST_MAIN("decode_huffman")
