/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 1950 and 1951. All of the input is there and all of the output is wanted,
 * so bits come eight bytes at a time, and most of a block goes through a loop
 * that looks at no limits; what is close to an end goes by another one.
 */
#include "decode/formats/inflate.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/formats/adler32.h"
#include "decode/formats/deflate_codes.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES   2u
#define CHECKSUM_BYTES 4u
#define WORD           8u  /* of which bits are read, */
#define BLOCK          16u /* and in which matches are copied */

/* More than what one round of the fast loop reads and writes: a few words; a
 * pair and a match, of which a block may go past its end. */
#define FAST_IN  (4u * WORD)
#define FAST_OUT 320u

#define LITERAL_CODES_MOST  286u
#define DISTANCE_CODES_MOST 30u

struct fdl_inflate {
    uint32_t literals[FDL_LITERAL_ROOM];
    uint32_t distances[FDL_DISTANCE_ROOM];
};

struct input {
    const uint8_t *next, *end; /* end: of the stream */
    uint64_t buffer;
    uint32_t bits;
    uint32_t beyond; /* bytes past the end that the buffer has, as zeros */
};

struct output {
    uint8_t *first, *next, *end;
};

enum block { BLOCK_STORED, BLOCK_FIXED, BLOCK_DYNAMIC };

struct fdl_inflate *fdl_inflate_create(void)
{
    return calloc(1, sizeof(struct fdl_inflate));
}

void fdl_inflate_destroy(struct fdl_inflate *i)
{
    free(i);
}

/* ---- Bits --------------------------------------------------------------- */

FDL_INLINE uint64_t load_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* At least 56 bits then. Those above are what follows, and are put there again
 * by the next refill. */
FDL_INLINE void refill_fast(struct input *in)
{
    in->buffer |= load_word(in->next) << (in->bits & 63);
    in->next += 7 - (in->bits >> 3 & 7);
    in->bits |= 56;
}

static void refill(struct input *in)
{
    in->bits &= 63;
    if ((size_t)(in->end - in->next) >= WORD) {
        refill_fast(in);
        return;
    }
    for (; in->bits < 56; in->bits += 8) {
        bool there = in->next < in->end;
        uint64_t byte = there ? *in->next++ : 0;
        in->beyond += !there;
        in->buffer |= byte << in->bits;
    }
}

FDL_INLINE void drop(struct input *in, uint32_t n)
{
    in->buffer >>= n;
    in->bits -= n;
}

/* What an entry takes is in its lowest 6 bits, all that counts of a shift and
 * of in->bits: so the next look-up waits for no mask. */
FDL_INLINE void drop_code(struct input *in, uint32_t entry)
{
    in->buffer >>= entry & 63;
    in->bits -= entry;
}

FDL_INLINE uint32_t peek(const struct input *in, uint32_t n)
{
    return (uint32_t)in->buffer & ((1u << n) - 1);
}

static uint32_t take(struct input *in, uint32_t n)
{
    uint32_t value = peek(in, n);
    drop(in, n);
    return value;
}

/* Whole bytes in the buffer go back; false: some were not there. */
static bool to_bytes(struct input *in)
{
    uint32_t whole = (in->bits & 63) / 8;
    if (whole < in->beyond)
        return false;
    in->next -= whole - in->beyond;
    in->buffer = 0;
    in->bits = in->beyond = 0;
    return true;
}

/* ---- Symbols ------------------------------------------------------------ */

FDL_INLINE uint32_t look_up(const uint32_t *table, const struct input *in,
                            uint32_t bits)
{
    return table[peek(in, bits)];
}

/* The entry of the next code of an entry that is another one; the buffer begins
 * behind its index then, if the code is a long one. */
FDL_INLINE uint32_t look_up_long(const uint32_t *table, struct input *in,
                                 uint32_t entry)
{
    if (!fdl_code_is_long(entry))
        return entry;
    drop_code(in, entry);
    return look_up(table + fdl_code_base(entry), in, fdl_code_bits(entry));
}

/* What an entry takes of the buffer: the bits behind its codes. */
FDL_INLINE uint32_t take_extra(struct input *in, uint32_t entry)
{
    uint64_t bits = in->buffer;
    drop_code(in, entry);
    bits -= in->buffer << (entry & 63);
    return (uint32_t)(bits >> fdl_code_bits(entry));
}

/* 0: there is none. At least 8 bits are left behind it. */
FDL_INLINE uint32_t take_distance(const struct fdl_inflate *i, struct input *in)
{
    uint32_t entry = look_up(i->distances, in, FDL_DISTANCE_BITS);
    if (FDL_UNLIKELY(fdl_code_is_other(entry))) {
        refill(in);
        entry = look_up_long(i->distances, in, entry);
        if (fdl_code_is_other(entry))
            return 0;
    }
    return fdl_code_base(entry) + take_extra(in, entry);
}

/* ---- Most of a block ---------------------------------------------------- */

/* They may overlap. */
FDL_INLINE void copy_block(uint8_t *to, const uint8_t *from, size_t bytes)
{
    uint8_t block[BLOCK];
    memcpy(block, from, bytes);
    memcpy(to, block, bytes);
}

/* What is written behind the end is overwritten, or written again. Most matches
 * are short, and it says less which of them repeat what they make. */
FDL_INLINE void copy_fast(uint8_t *to, size_t distance, size_t n)
{
    const uint8_t *from = to - distance, *end = to + n;
    if (FDL_LIKELY(n <= distance)) {
        copy_block(to, from, BLOCK);
        for (size_t k = BLOCK; k < n; k += BLOCK)
            copy_block(to + k, from + k, BLOCK);
    } else if (distance >= BLOCK) {
        for (; to < end; to += BLOCK, from += BLOCK)
            copy_block(to, from, BLOCK);
    } else if (distance == 1) {
        for (int byte = *from; to < end; to += BLOCK)
            memset(to, byte, BLOCK);
    } else {
        /* Of each word, as many bytes as `step` are right. */
        size_t step = FDL_MIN(distance, WORD);
        for (; to < end; to += step, from += step)
            copy_block(to, from, WORD);
    }
}

/* Of an entry with any number of them; the second may be anything. */
FDL_INLINE void put_literals(struct output *out, uint32_t entry)
{
    uint16_t both = (uint16_t)(entry >> 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    both = __builtin_bswap16(both);
#endif
    memcpy(out->next, &both, sizeof(both));
    out->next += fdl_code_literals(entry);
}

enum result { DAMAGED, BLOCK_DONE, NEAR_END };

static enum result result_of(uint32_t other)
{
    return fdl_code_base(other) == FDL_CODE_END ? BLOCK_DONE : DAMAGED;
}

/* The buffer is filled again behind the look-up of the entry, which need not
 * wait for it: from 56 bits an entry takes 17 at most and a distance 22, which
 * leaves enough for the next index; codes longer than their index fill it. */
FDL_INLINE enum result run_fast(const struct fdl_inflate *i, struct input *from,
                                struct output *to)
{
    struct input in = *from;
    struct output out = *to;
    enum result result = NEAR_END;
    if ((size_t)(in.end - in.next) < FAST_IN ||
        (size_t)(out.end - out.next) < FAST_OUT)
        return NEAR_END;
    const uint8_t *last_in = in.end - FAST_IN, *last_out = out.end - FAST_OUT;
    refill(&in);
    uint32_t entry = look_up(i->literals, &in, FDL_LITERAL_BITS);
    while (in.next <= last_in && out.next <= last_out) {
        if (FDL_UNLIKELY(fdl_code_is_other(entry))) {
            entry = look_up_long(i->literals, &in, entry);
            if (fdl_code_is_other(entry)) {
                drop_code(&in, entry);
                result = result_of(entry);
                break;
            }
        }
        put_literals(&out, entry);
        if (!fdl_code_is_length(entry)) {
            drop_code(&in, entry);
            entry = look_up(i->literals, &in, FDL_LITERAL_BITS);
            if (fdl_code_is_literal(entry)) {
                put_literals(&out, entry);
                drop_code(&in, entry);
                entry = look_up(i->literals, &in, FDL_LITERAL_BITS);
            }
            refill_fast(&in);
            continue;
        }
        uint32_t n = fdl_code_length(entry) + take_extra(&in, entry);
        uint32_t distance = take_distance(i, &in);
        if (distance - 1 >= (size_t)(out.next - out.first)) {
            result = DAMAGED;
            break;
        }
        entry = look_up(i->literals, &in, FDL_LITERAL_BITS);
        refill_fast(&in);
        copy_fast(out.next, distance, n);
        out.next += n;
    }
    *from = in;
    *to = out;
    return result;
}

static enum result run_plain(const struct fdl_inflate *i, struct input *in,
                             struct output *out)
{
    return run_fast(i, in, out);
}

#if defined(__x86_64__)
/* Shifts by what is in any register. */
FDL_TARGET("bmi2")
static enum result run_bmi2(const struct fdl_inflate *i, struct input *in,
                            struct output *out)
{
    return run_fast(i, in, out);
}

static enum result run(const struct fdl_inflate *i, struct input *in,
                       struct output *out)
{
    return fdl_cpu_level() >= FDL_CPU_AVX2 ? run_bmi2(i, in, out)
                                           : run_plain(i, in, out);
}
#else
static enum result run(const struct fdl_inflate *i, struct input *in,
                       struct output *out)
{
    return run_plain(i, in, out);
}
#endif

static enum result copy_near_end(const struct fdl_inflate *i, struct input *in,
                                 struct output *out, uint32_t n)
{
    uint32_t distance = take_distance(i, in);
    if (distance == 0 || distance > (size_t)(out->next - out->first) ||
        n > (size_t)(out->end - out->next))
        return DAMAGED;
    for (; n > 0; n--, out->next++)
        *out->next = out->next[-(ptrdiff_t)distance];
    return NEAR_END;
}

/* One entry. */
static enum result go_near_end(const struct fdl_inflate *i, struct input *in,
                               struct output *out)
{
    refill(in);
    uint32_t entry = look_up(i->literals, in, FDL_LITERAL_BITS);
    if (fdl_code_is_other(entry))
        entry = look_up_long(i->literals, in, entry);
    uint32_t extra = take_extra(in, entry);
    if (fdl_code_is_other(entry))
        return result_of(entry);
    uint32_t n = fdl_code_literals(entry);
    if (n > (size_t)(out->end - out->next))
        return DAMAGED;
    for (uint32_t k = 0; k < n; k++)
        *out->next++ = (uint8_t)(entry >> (8 + 8 * k));
    if (!fdl_code_is_length(entry))
        return NEAR_END;
    return copy_near_end(i, in, out, fdl_code_length(entry) + extra);
}

static bool read_codes(const struct fdl_inflate *i, struct input *in,
                       struct output *out)
{
    enum result result = run(i, in, out);
    while (result == NEAR_END && in->beyond <= WORD)
        result = go_near_end(i, in, out);
    return result == BLOCK_DONE;
}

/* ---- Blocks ------------------------------------------------------------- */

static bool read_stored(struct input *in, struct output *out)
{
    drop(in, in->bits % 8);
    if (!to_bytes(in) || in->end - in->next < 4)
        return false;
    const uint8_t *p = in->next;
    uint32_t n = p[0] | (uint32_t)p[1] << 8, check = p[2] | (uint32_t)p[3] << 8;
    p += 4;
    if ((n ^ check) != 0xffff || n > (size_t)(in->end - p) ||
        n > (size_t)(out->end - out->next))
        return false;
    memcpy(out->next, p, n);
    out->next += n;
    in->next = p + n;
    return true;
}

static bool fixed_codes(struct fdl_inflate *i)
{
    uint8_t lengths[FDL_LITERAL_SYMBOLS];
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    bool good = fdl_literal_codes(i->literals, lengths, FDL_LITERAL_SYMBOLS);
    memset(lengths, 5, FDL_DISTANCE_SYMBOLS);
    return good &&
           fdl_distance_codes(i->distances, lengths, FDL_DISTANCE_SYMBOLS);
}

/* Lengths of n codes, in runs, by the codes of lengths in i->distances. */
static bool read_lengths(const struct fdl_inflate *i, struct input *in,
                         uint8_t *lengths, uint32_t n)
{
    for (uint32_t k = 0; k < n;) {
        refill(in);
        uint32_t entry = i->distances[peek(in, FDL_LENGTH_BITS)];
        uint32_t symbol = fdl_code_base(entry), times = 1;
        drop_code(in, entry);
        if (symbol == 16 && k == 0)
            return false;
        uint8_t length = symbol < 16    ? (uint8_t)symbol
                         : symbol == 16 ? lengths[k - 1]
                                        : 0;
        if (symbol == 16)
            times = 3 + take(in, 2);
        else if (symbol == 17)
            times = 3 + take(in, 3);
        else if (symbol == 18)
            times = 11 + take(in, 7);
        if (times > n - k)
            return false;
        memset(lengths + k, length, times);
        k += times;
    }
    return true;
}

static bool read_length_codes(struct fdl_inflate *i, struct input *in,
                              uint32_t n)
{
    static const uint8_t order[FDL_LENGTH_SYMBOLS] = {
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[FDL_LENGTH_SYMBOLS] = {0};
    for (uint32_t k = 0; k < n; k++) {
        refill(in);
        lengths[order[k]] = (uint8_t)take(in, 3);
    }
    return fdl_length_codes(i->distances, lengths);
}

static bool dynamic_codes(struct fdl_inflate *i, struct input *in)
{
    uint8_t lengths[LITERAL_CODES_MOST + DISTANCE_CODES_MOST];
    uint32_t literals = 257 + take(in, 5), distances = 1 + take(in, 5);
    uint32_t codes = 4 + take(in, 4);
    return literals <= LITERAL_CODES_MOST && distances <= DISTANCE_CODES_MOST &&
           read_length_codes(i, in, codes) &&
           read_lengths(i, in, lengths, literals + distances) &&
           fdl_literal_codes(i->literals, lengths, literals) &&
           fdl_distance_codes(i->distances, lengths + literals, distances);
}

static bool read_block(struct fdl_inflate *i, struct input *in,
                       struct output *out, bool *last)
{
    refill(in);
    *last = take(in, 1) == 1;
    switch (take(in, 2)) {
    case BLOCK_STORED:
        return read_stored(in, out);
    case BLOCK_FIXED:
        return fixed_codes(i) && read_codes(i, in, out);
    case BLOCK_DYNAMIC:
        return dynamic_codes(i, in) && read_codes(i, in, out);
    default:
        return false;
    }
}

/* ---- The stream --------------------------------------------------------- */

static bool is_header(const uint8_t *p)
{
    bool deflate = (p[0] & 15) == 8 && p[0] >> 4 <= 7;
    bool dictionary = (p[1] & 32) != 0;
    return deflate && !dictionary && (p[0] << 8 | p[1]) % 31 == 0;
}

bool fdl_inflate_raw(struct fdl_inflate *i, const uint8_t *in, size_t in_bytes,
                     uint8_t *out, size_t room, struct fdl_inflated *done)
{
    struct input from = {.next = in, .end = in + in_bytes};
    struct output to = {out, out, out + room};
    for (bool last = false; !last;) {
        if (!read_block(i, &from, &to, &last))
            return false;
    }
    if (!to_bytes(&from))
        return false;
    *done = (struct fdl_inflated){.read = (size_t)(from.next - in),
                                  .made = (size_t)(to.next - out)};
    return true;
}

bool fdl_inflate_stream(struct fdl_inflate *i, const uint8_t *in,
                        size_t in_bytes, uint8_t *out, size_t room,
                        struct fdl_inflated *done)
{
    if (in_bytes < HEADER_BYTES || !is_header(in) ||
        !fdl_inflate_raw(i, in + HEADER_BYTES, in_bytes - HEADER_BYTES, out,
                         room, done))
        return false;
    done->read += HEADER_BYTES;
    if (in_bytes - done->read < CHECKSUM_BYTES)
        return false;
    const uint8_t *sum = in + done->read;
    uint32_t expected = (uint32_t)sum[0] << 24 | (uint32_t)sum[1] << 16 |
                        (uint32_t)sum[2] << 8 | sum[3];
    done->read += CHECKSUM_BYTES;
    return fdl_adler32(out, done->made) == expected;
}

bool fdl_inflate_all(struct fdl_inflate *i, const uint8_t *in, size_t in_bytes,
                     uint8_t *out, size_t out_bytes)
{
    struct fdl_inflated done;
    return fdl_inflate_stream(i, in, in_bytes, out, out_bytes, &done) &&
           done.read == in_bytes && done.made == out_bytes;
}
