/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of huffman.h and huffman_steps.h against the definition: random
 * codes, read bit by bit as T.81 F.2.2.3 does, and random windows.
 */
#include "base/compiler.h"
#include "decode/formats/huffman_steps.h"
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

/* What skip says of bits, symbol by symbol. */
static void check_skip(const struct fdl_huffman_steps *t, const struct code *c,
                       uint64_t bits)
{
    size_t i = bits >> (64 - FDL_LOOK_BITS);
    unsigned wanted = t->skip.length[i], total = 0, advance = 0;
    bool ended = false;
    while (total < wanted && !ended) {
        struct symbol s = read_slowly(c, bits << total);
        assert_true(s.length > 0 && total + s.length <= FDL_LOOK_BITS);
        total += s.length + s.value;
        advance += s.ends ? 0 : s.advance;
        ended = s.ends;
    }
    assert_int_equal(total, wanted);
    assert_true(advance <= FDL_STEP_MOST);
    if (wanted > 0)
        assert_int_equal(t->skip.advance[i],
                         advance + (ended ? FDL_STEP_END : 0));
    else
        assert_int_equal(t->skip.advance[i], FDL_STEP_LONG);
    assert_int_equal(wanted == 0, t->one.length[i] == 0);
}

TEST(skips_are_their_symbols)
{
    uint64_t seed = test_seed();
    struct fdl_huffman_steps *t = calloc(1, sizeof(*t));
    for (int round = 0; round < 100; round++) {
        struct code c = make_code(&seed, true);
        assert_true(fdl_huffman_make_steps(t, c.counts, c.symbols, true));
        assert_false(t->can_skip);
        fdl_huffman_make_skips(t);
        for (uint64_t top = 0; top < 1u << FDL_LOOK_BITS; top++)
            check_skip(t, &c, top << (64 - FDL_LOOK_BITS));
    }
    free(t);
}

TEST(the_same_code_is_made_once)
{
    uint64_t seed = test_seed();
    struct fdl_huffman_steps *t = calloc(1, sizeof(*t));
    struct code a = make_code(&seed, true), b = make_code(&seed, true);
    assert_true(fdl_huffman_make_steps(t, a.counts, a.symbols, true));
    fdl_huffman_make_skips(t);
    assert_true(fdl_huffman_make_steps(t, a.counts, a.symbols, true));
    assert_true(t->can_skip); /* kept */
    assert_true(fdl_huffman_make_steps(t, b.counts, b.symbols, true));
    assert_false(t->can_skip);
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
