/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Huffman decoder spends its time in one dependency chain, symbol after
 * symbol:
 *
 *     window --top bits--> table entry --length--> shift the window
 *
 * which takes three times as long as its instructions would. So up to
 * FDL_JPEG_LANES of them are followed side by side, in rows of MCUs that lie
 * below each other, where places to enter each are known (jpeg_entries.h):
 *
 *     rows of a crop      ....entry---[############]....
 *                         ........entry-[##########]....      [ ] the crop
 *                         .....entry--[############]....
 *
 *   - A chain is a bit, where it goes on, and a place in a block. Turns go
 *     round: two symbols of one chain, two of the next. Each moves to its next
 *     block by itself, at the cost of a branch that nobody can foresee.
 *   - A table entry holds the length of code and value together, so the next
 *     symbol does not wait for this one's value; and it holds what to subtract
 *     from both, read as one number, to have the value.
 *   - A turn reads its window from memory. With several chains the latency
 *     costs nothing, and to keep one takes more instructions and registers.
 *     A chain alone reads it for each symbol, from where the one before began,
 *     which is known early.
 *   - The input is unstuffed a few kilobytes ahead (FF 00 -> FF) into a buffer
 *     with room for an MCU or a few past any bit. So nothing is checked inside
 *     such a stretch, and the end of the data is looked for once in each.
 *   - MCUs outside the crop are only skipped, several symbols at a time where
 *     the tables for that pay (jpeg_skip.h). Those that have to be looked at,
 *     or follow an entry, go through the loop; what it stores goes nowhere.
 *
 * Tables that include values with their codes, the usual next step, were slower
 * on files of high quality: code plus value are too long for a table that stays
 * in the first-level cache, and the branch between the two cases costs more
 * than the arithmetic.
 *
 * The format: ITU-T T.81, annexes B and F.
 */
#include "decode/formats/jpeg_entropy.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/formats/huffman_steps.h"
#include "decode/formats/jpeg_bits.h"
#include "decode/formats/jpeg_scan.h"
#include "decode/formats/jpeg_skip.h"
#include "decode/formats/jpeg_transform.h"
#include "decode/formats/jpeg_unstuff.h"

#include <jpegint.h>
#include <stdlib.h>
#include <string.h>

/* MCUs that are followed without a look at the input are one, or have so many
 * blocks. */
#define STRETCH_BLOCKS 6

/* A bit to the end: room for a stretch and the window. */
#define MOST_ROOM                                                              \
  (D_MAX_BLOCKS_IN_MCU * FDL_BITS_BLOCK_BYTES + 2 * FDL_BITS_WINDOW_BYTES)

/* Unstuffed at once, besides. More would be for nothing where a row is left
 * early. */
#define CHUNK_BYTES 512

/* Tables to go over several symbols at once pay where so many bytes are gone
 * over, and always in files of that many. */
#define SKIP_FROM_BYTES  3072
#define SKIP_ALWAYS_FROM 262144

/* A block of an MCU: its tables, and where it goes. */
struct block {
    const struct fdl_huffman_steps *dc, *ac;
    JCOEF *first, *rest; /* the first value, and the others */
    uint8_t *last;       /* the place of the last one */
    int32_t component;   /* in the scan */
};

/* Where a chain is, as the loop has it. */
struct place {
    uint64_t bit; /* the next one, from the first of struct fdl_jpeg_entropy */
    JCOEF *block;
    const struct fdl_steps *steps;
    size_t k; /* place in the block, in zigzag order, of what came last */
};

struct chain {
    struct place at;
    const struct block *block, *end_block; /* of the stretch */
    struct block blocks[FDL_JPEG_UNIT * D_MAX_BLOCKS_IN_MCU]; /* of a unit */

    uint64_t over;        /* MCUs to go over */
    uint32_t unit, taken; /* MCUs to be taken after that, and those that
                                   were */
    uint32_t left;        /* MCUs to be taken in later units */
    struct fdl_jpeg_lane *lane;

    const uint8_t *raw; /* not unstuffed yet */
    const uint8_t *end; /* of what is in the buffer */
    bool at_marker;     /* raw is at a marker or at the end of the data */

    uint32_t mcus_to_restart;
    unsigned next_restart; /* 0 to 7 */
    uint64_t restarts;     /* that are still to come */
    uint64_t number;       /* of the next MCU */
    int32_t last_dc[MAX_COMPS_IN_SCAN];

    /* While places are noted: a byte in the buffer, at or before the next bit,
     * and where it is in the file. */
    const uint8_t *mark, *mark_raw;

    uint8_t buffer[MOST_ROOM + CHUNK_BYTES + MOST_ROOM];
};

/* Follows the first n of `active` until one has done its unit: which one. */
typedef uint32_t follow_chains(struct fdl_jpeg_entropy *e, uint32_t n);

struct fdl_jpeg_entropy {
    struct jpeg_entropy_decoder pub; /* first: what libjpeg sees */
    struct fdl_jpeg_blocks source;
    void (*give_up)(j_decompress_ptr c);
    j_decompress_ptr c;
    follow_chains *follow;
    uint8_t order[FDL_STEP_PLACES]; /* where coefficients go, from their zigzag
                                       places, and what is past the last */

    const uint8_t *begin, *raw_end; /* of the data */
    uint32_t restart_interval;
    uint32_t column;  /* of the next MCU, for libjpeg */
    uint32_t stretch; /* MCUs, at most */
    uint32_t room;    /* for it and the window */

    struct fdl_entry_notes *notes; /* NULL: none */
    uint64_t n_known;              /* entries */
    uint64_t note_at;              /* the MCU before which the next one is */
    int components;

    bool can_skip; /* tables to skip by are made */
    struct fdl_jpeg_skip_block skip[D_MAX_BLOCKS_IN_MCU];
    uint32_t n_blocks;
    struct block over[FDL_MAX(
        STRETCH_BLOCKS, D_MAX_BLOCKS_IN_MCU)]; /* of a stretch to go over */
    bool first_only[D_MAX_BLOCKS_IN_MCU]; /* of their values: they come at 1/8
                                             */
    uint8_t no_last;
    JCOEF nowhere[2 * DCTSIZE2]; /* blocks that are skipped */

    uint32_t last;     /* chain: the one that is furthest */
    uint32_t n_active; /* chains with something left to take */
    struct chain *active[FDL_JPEG_LANES];
    struct chain *waits; /* the one of them that waits for its next unit */
    struct fdl_jpeg_lane *lanes;

    /* What was gone to: rows of n MCUs; where the next one begins that is not
     * active yet, and how many there are from it on. */
    uint64_t row_at;
    uint32_t row_mcus, rows_left;
    int32_t row;
    struct fdl_jpeg_lane one; /* for libjpeg */
    struct chain chains[FDL_JPEG_LANES];

    struct fdl_huffman_steps dc[NUM_HUFF_TBLS], ac[NUM_HUFF_TBLS];
    struct fdl_huffman_skips skips[NUM_HUFF_TBLS]; /* of ac */
};

/* Zigzag to natural order. */
static const uint8_t natural[DCTSIZE2] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

/* ---- Input -------------------------------------------------------------- */

/* An FF in the buffer was two bytes in the file. */
static void move_mark(struct chain *c, const uint8_t *to)
{
    while (c->mark < to) {
        size_t n = FDL_MIN((size_t)(to - c->mark), fdl_bits_before_ff(c->mark));
        c->mark += FDL_MAX(n, 1);
        c->mark_raw += n > 0 ? n : 2;
    }
}

static uint64_t bit_of(const struct fdl_jpeg_entropy *e, const uint8_t *p)
{
    return (uint64_t)(p - (const uint8_t *)e) * 8;
}

static const uint8_t *byte_of(const struct fdl_jpeg_entropy *e, uint64_t bit)
{
    return (const uint8_t *)e + (bit >> 3);
}

/* At least 57 bits, with bit number `bit` on top. */
FDL_INLINE uint64_t window(const struct fdl_jpeg_entropy *e, uint64_t bit)
{
    return FDL_BITS_BIG_ENDIAN(fdl_bits_load(byte_of(e, bit))) << (bit & 7);
}

/* Moves the rest to the front and fills up after it; zeros past the end of the
 * data. */
static void refill_buffer(struct fdl_jpeg_entropy *e, struct chain *c)
{
    const uint8_t *from = byte_of(e, c->at.bit);
    fdl_assert(from <= c->end);
    if (e->note_at != UINT64_MAX) {
        move_mark(c, from);
        c->mark -= from - c->buffer;
    }
    size_t left = (size_t)(c->end - from);
    memmove(c->buffer, from, left);
    c->at.bit = bit_of(e, c->buffer) + (c->at.bit & 7);
    const uint8_t *to_end = c->buffer + e->room + CHUNK_BYTES;
    uint8_t *end =
        fdl_jpeg_unstuff(&c->raw, e->raw_end, c->buffer + left, to_end);
    c->end = end;
    c->at_marker = end < to_end;
    if (c->at_marker)
        memset(end, 0, e->room);
    e->c->src->next_input_byte = c->raw;
    e->c->src->bytes_in_buffer = (size_t)(e->raw_end - c->raw);
}

/* Nothing is in the buffer but what comes from `raw` on. */
static void begin_input(const struct fdl_jpeg_entropy *e, struct chain *c,
                        const uint8_t *raw)
{
    c->raw = c->mark_raw = raw;
    c->at_marker = false;
    c->mark = c->end = c->buffer;
    c->at.bit = bit_of(e, c->buffer);
}

static void begin_segment(const struct fdl_jpeg_entropy *e, struct chain *c,
                          const uint8_t *raw)
{
    memset(c->last_dc, 0, sizeof(c->last_dc));
    c->mcus_to_restart = e->restart_interval;
    begin_input(e, c, raw);
}

/* Bits used past the end of the data; those left, if negative. */
static int64_t overrun(const struct fdl_jpeg_entropy *e, const struct chain *c)
{
    return (int64_t)(c->at.bit - bit_of(e, c->end));
}

/* False unless the data ends here, except for bits that fill up its last byte,
 * with the expected marker; continues after it. */
static bool restart(const struct fdl_jpeg_entropy *e, struct chain *c)
{
    if (!c->at_marker || overrun(e, c) <= -8 || e->raw_end - c->raw < 2 ||
        c->raw[1] != 0xd0 + c->next_restart)
        return false;
    c->restarts--;
    c->next_restart = (c->next_restart + 1) & 7;
    begin_segment(e, c, c->raw + 2);
    return true;
}

/* Room for a stretch. False where the data ends without a marker, or with bytes
 * that may fill up the space before one: how far such a file can be used is not
 * for e to say. */
static bool prepare_input(struct fdl_jpeg_entropy *e, struct chain *c)
{
    if (c->end - byte_of(e, c->at.bit) >= e->room)
        return true;
    if (!c->at_marker)
        refill_buffer(e, c);
    return !c->at_marker || (e->raw_end - c->raw >= 2 && c->raw[1] != 0xff);
}

/* ---- Entries ------------------------------------------------------------ */

/* Notes the place before the next MCU, and before a restart marker that is
 * there. */
static void note(struct fdl_jpeg_entropy *e, struct chain *c)
{
    struct fdl_entry_notes *to = e->notes;
    move_mark(c, byte_of(e, c->at.bit));
    uint64_t place = (uint64_t)(c->mark_raw - e->begin) * 8 + c->at.bit % 8;
    uint64_t entry = fdl_entry_pack(place, c->last_dc, e->components);
    e->note_at += to->spacing;
    if (entry == 0 || to->n == FDL_ENTRIES_MOST)
        e->note_at = UINT64_MAX; /* there are no gaps */
    else
        to->at[to->n++] = entry;
}

/* Goes on where the next bit is bit number `bit` of the data. */
static void set_input(struct fdl_jpeg_entropy *e, struct chain *c, uint64_t bit)
{
    uint64_t size = (uint64_t)(e->raw_end - e->begin);
    begin_input(e, c, e->begin + FDL_MIN(bit / 8, size));
    refill_buffer(e, c);
    c->at.bit += bit % 8;
}

static uint64_t all_mcus(const struct fdl_jpeg_entropy *e)
{
    return (uint64_t)e->c->MCUs_per_row * e->c->MCU_rows_in_scan;
}

/* Goes on before MCU number `mcu`, which an entry is of. */
static void enter(struct fdl_jpeg_entropy *e, struct chain *c, uint64_t mcu,
                  uint64_t entry)
{
    int32_t dc[FDL_ENTRY_COMPONENTS];
    uint64_t bit = fdl_entry_unpack(entry, dc);
    uint64_t passed = fdl_jpeg_scan_restarts(mcu, e->restart_interval);
    uint64_t all = fdl_jpeg_scan_restarts(all_mcus(e), e->restart_interval);
    c->number = mcu;
    if (e->restart_interval > 0) {
        c->mcus_to_restart =
            (uint32_t)((passed + 1) * e->restart_interval - mcu);
        c->next_restart = passed & 7;
        c->restarts = all - passed;
    }
    for (int i = 0; i < e->components; i++)
        c->last_dc[i] = dc[i];
    set_input(e, c, bit);
}

void fdl_jpeg_entropy_use(struct fdl_jpeg_entropy *e,
                          const struct jpeg_decompress_struct *c,
                          struct fdl_entry_notes *notes)
{
    uint64_t mcus = (uint64_t)c->MCUs_per_row * c->MCU_rows_in_scan;
    uint64_t most = (mcus - 1) / notes->spacing;
    e->notes = notes;
    e->components = c->comps_in_scan;
    e->n_known = 0;
    if (notes->same && c->comps_in_scan <= FDL_ENTRY_COMPONENTS)
        e->n_known = fdl_entries_count(notes->known);
    e->n_known = FDL_MIN(e->n_known, most);
    notes->capacity = (uint32_t)most;
    notes->first = (uint32_t)e->n_known;
    if (notes->learn && e->n_known < most)
        e->note_at = (e->n_known + 1) * notes->spacing;
}

/* ---- Blocks ------------------------------------------------------------- */

/* A symbol on top of bits that has no step. 0: nor a code; else the bits it
 * takes. */
static unsigned take_long(const struct fdl_huffman *t, uint64_t bits,
                          unsigned *advance, int32_t *value)
{
    uint16_t entry = t->look[bits >> (64 - FDL_LOOK_BITS)];
    if (entry == 0)
        entry = fdl_huffman_long(t, bits);
    *value = fdl_bits_value(bits, entry);
    *advance = fdl_step_advance(entry);
    return FDL_LOOK_TOTAL(entry);
}

/* The value of a symbol that has step i: of code and value, read as one
 * number. */
FDL_INLINE int32_t short_value(const struct fdl_steps *t, size_t i,
                               uint64_t bits)
{
    return (int32_t)((uint32_t)(bits >> (-t->length[i] & 63)) - t->less[i]);
}

/* The first value of c->block, which p comes to. False: it is not sound. */
FDL_INLINE bool begin_block(struct fdl_jpeg_entropy *e, struct chain *c,
                            struct place *p)
{
    const struct block *b = c->block;
    uint64_t bits = window(e, p->bit);
    size_t i = bits >> (64 - FDL_LOOK_BITS);
    unsigned taken = b->dc->one.length[i], advance;
    int32_t value = short_value(&b->dc->one, i, bits);
    if (FDL_UNLIKELY(taken == 0))
        taken = take_long(&b->dc->codes, bits, &advance, &value);
    p->bit += taken;
    int32_t dc = c->last_dc[b->component] + value;
    c->last_dc[b->component] = dc;
    p->block = b->rest;
    p->steps = &b->ac->one;
    p->k = 0;
    b->first[0] = (JCOEF)dc;
    return taken > 0 && dc == (JCOEF)dc;
}

/* As many MCUs, up to n, as nothing has to be done between, once what is due
 * before them is done. 0: they are not sound. */
static uint64_t next_mcus(struct fdl_jpeg_entropy *e, struct chain *c,
                          uint64_t n)
{
    if (c->number == e->note_at)
        note(e, c);
    if (e->restart_interval > 0) {
        if (c->mcus_to_restart == 0 && !restart(e, c))
            return 0;
        n = FDL_MIN(n, c->mcus_to_restart);
    }
    if (e->note_at > c->number)
        n = FDL_MIN(n, e->note_at - c->number);
    return prepare_input(e, c) ? n : 0;
}

/* n MCUs that next_mcus gave are behind c, or will be with its stretch. */
static void pass(struct chain *c, uint64_t n)
{
    c->number += n;
    c->mcus_to_restart -= (uint32_t)n;
    if (c->over > 0)
        c->over -= n;
    else
        c->taken += (uint32_t)n;
}

/* Several symbols at a time, as long as that goes well. False: what comes next
 * is not sound. */
static bool skip_over(struct fdl_jpeg_entropy *e, struct chain *c)
{
    uint64_t n, done = 1;
    for (; e->can_skip && c->over > 0 && done > 0; pass(c, done)) {
        if ((n = next_mcus(e, c, c->over)) == 0)
            return false;
        struct fdl_jpeg_skip s = {
            .data = (const uint8_t *)e,
            .bit = c->at.bit,
            .last_dc = c->last_dc,
            .blocks = e->skip,
            .n_blocks = e->n_blocks,
        };
        uint64_t end = bit_of(e, c->end), room = (uint64_t)e->room * 8;
        done = s.bit + room <= end ? fdl_jpeg_skip(&s, n, end - room) : 0;
        c->at.bit = s.bit;
    }
    return true;
}

/* False: it is not sound. */
static bool begin_stretch(struct fdl_jpeg_entropy *e, struct chain *c)
{
    uint64_t most = c->over > 0 ? c->over : c->unit - c->taken;
    uint64_t n = next_mcus(e, c, FDL_MIN(most, e->stretch));
    c->block = c->over > 0 ? e->over : c->blocks + c->taken * e->n_blocks;
    c->end_block = c->block + n * e->n_blocks;
    pass(c, n);
    return n > 0 && begin_block(e, c, &c->at);
}

enum outcome { GO_ON, UNIT_DONE, UNSOUND };

static enum outcome sound(bool is_sound)
{
    return is_sound ? GO_ON : UNSOUND;
}

static enum outcome end_stretch(struct fdl_jpeg_entropy *e, struct chain *c)
{
    if (overrun(e, c) > 0 || !skip_over(e, c))
        return UNSOUND;
    return c->over == 0 && c->taken == c->unit ? UNIT_DONE
                                               : sound(begin_stretch(e, c));
}

static enum outcome end_block(struct fdl_jpeg_entropy *e, struct chain *c,
                              size_t last)
{
    *c->block->last = (uint8_t)last;
    return ++c->block == c->end_block ? end_stretch(e, c)
                                      : sound(begin_block(e, c, &c->at));
}

/* Like take_symbols, where there is no entry for what is next. */
static bool take_long_ac(const struct fdl_jpeg_entropy *e, struct chain *c)
{
    struct place *p = &c->at;
    unsigned advance;
    int32_t value;
    unsigned taken =
        take_long(&c->block->ac->codes, window(e, p->bit), &advance, &value);
    p->bit += taken;
    p->k = p->k - FDL_STEP_LONG + advance;
    p->block[e->order[DCTSIZE2 - 1]] = 0; /* take_symbols wrote there */
    p->block[e->order[p->k]] = (JCOEF)value;
    return taken > 0;
}

/* Anything but the end of a block that is not the last of its stretch. */
static enum outcome move_on(struct fdl_jpeg_entropy *e, struct chain *c)
{
    struct place *p = &c->at;
    if (p->k >= FDL_STEP_LONG && !take_long_ac(e, c))
        return UNSOUND;
    if (p->k < DCTSIZE2 - 1)
        return GO_ON;
    if (p->k == DCTSIZE2 - 1)
        return end_block(e, c, DCTSIZE2 - 1);
    if (p->k - FDL_STEP_END < DCTSIZE2 - 1)
        return end_block(e, c, p->k - FDL_STEP_END);
    return UNSOUND;
}

/* ---- The loop ----------------------------------------------------------- */

/* One of the 63 symbols that follow the first. How many bits it takes, which is
 * 21 at most. */
FDL_INLINE unsigned take_symbol(const struct fdl_jpeg_entropy *e,
                                struct place *p, uint64_t bits)
{
    size_t i = bits >> (64 - FDL_LOOK_BITS);
    unsigned length = p->steps->length[i];
    p->k += p->steps->advance[i];
    p->block[e->order[p->k]] = (JCOEF)short_value(p->steps, i, bits);
    p->bit += length;
    return length;
}

/* Two symbols, or up to the end of the block if p is alone; then what would be
 * waited for counts, and a window is read from where the symbol before began.
 * False: p has left its block, or there is no entry for what is next. */
FDL_INLINE bool take_symbols(const struct fdl_jpeg_entropy *e, struct place *p,
                             bool alone)
{
    uint64_t bits = window(e, p->bit);
    while (alone) {
        uint64_t again = window(e, p->bit);
        bits = again << (take_symbol(e, p, bits) & 63);
        if (p->k >= DCTSIZE2 - 1)
            return false;
    }
    bits <<= take_symbol(e, p, bits) & 63;
    if (p->k >= DCTSIZE2 - 1)
        return false;
    take_symbol(e, p, bits);
    return p->k < DCTSIZE2 - 1;
}

/* To the next block of a stretch, behind a code that ends one. False: p is not
 * there. */
FDL_INLINE bool next_block(struct fdl_jpeg_entropy *e, struct chain *c,
                           struct place *p, enum outcome *outcome)
{
    size_t last = p->k - FDL_STEP_END;
    if (last >= DCTSIZE2 - 1 || c->block + 1 == c->end_block)
        return false;
    *c->block++->last = (uint8_t)last;
    *outcome = sound(begin_block(e, c, p));
    return true;
}

/* A turn of a chain, whose place p is. */
FDL_INLINE enum outcome step(struct fdl_jpeg_entropy *e, struct chain *c,
                             struct place *p, bool alone)
{
    enum outcome outcome = GO_ON;
    if (FDL_LIKELY(take_symbols(e, p, alone)) || next_block(e, c, p, &outcome))
        return outcome;
    c->at = *p;
    outcome = move_on(e, c);
    *p = c->at;
    return outcome;
}

/* n is a constant: places are in registers. */
FDL_INLINE uint32_t follow(struct fdl_jpeg_entropy *e, uint32_t n)
{
    struct chain *const *chains = e->active;
    struct place a = chains[0]->at, b = n > 1 ? chains[1]->at : a;
    struct place c = n > 2 ? chains[2]->at : a;
    enum outcome outcome;
    uint32_t i;
    for (;;) {
        if ((outcome = step(e, chains[i = 0], &a, n == 1)) != GO_ON)
            break;
        if (n > 1 && (outcome = step(e, chains[i = 1], &b, false)) != GO_ON)
            break;
        if (n > 2 && (outcome = step(e, chains[i = 2], &c, false)) != GO_ON)
            break;
    }
    chains[0]->at = a;
    if (n > 1)
        chains[1]->at = b;
    if (n > 2)
        chains[2]->at = c;
    if (outcome == UNSOUND)
        e->give_up(e->c);
    return i;
}

FDL_INLINE uint32_t follow_n(struct fdl_jpeg_entropy *e, uint32_t n)
{
    return n == 1 ? follow(e, 1) : n == 2 ? follow(e, 2) : follow(e, 3);
}

static uint32_t follow_any(struct fdl_jpeg_entropy *e, uint32_t n)
{
    return follow_n(e, n);
}

#if defined(__x86_64__)
/* Shifts by a variable without the detour via the flags. */
FDL_TARGET("bmi,bmi2")
static uint32_t follow_bmi2(struct fdl_jpeg_entropy *e, uint32_t n)
{
    return follow_n(e, n);
}
#endif

/* ---- Units -------------------------------------------------------------- */

/* The next `unit` MCUs of c, behind those to go over. False: all of them are
 * behind it. */
static bool begin_unit(struct fdl_jpeg_entropy *e, struct chain *c,
                       uint32_t unit)
{
    c->unit = unit;
    c->left -= unit;
    c->taken = 0;
    bool is_sound = skip_over(e, c), more = c->over > 0 || unit > 0;
    if (!is_sound || (more && !begin_stretch(e, c)))
        e->give_up(e->c);
    return more;
}

/* One chain alone. */
static void read_unit(struct fdl_jpeg_entropy *e, struct chain *c,
                      uint32_t unit)
{
    e->active[0] = c;
    if (begin_unit(e, c, unit))
        (void)e->follow(e, 1);
}

/* The blocks of an MCU that go to `mcu`. */
static void point_blocks(struct fdl_jpeg_entropy *e, struct block *blocks,
                         JBLOCKROW *mcu, uint8_t *last)
{
    for (uint32_t i = 0; i < e->n_blocks; i++) {
        blocks[i] = e->over[i];
        blocks[i].first = mcu[i][0];
        if (e->first_only[i])
            continue;
        blocks[i].rest = mcu[i][0];
        blocks[i].last = last + i;
    }
}

static boolean decode_mcu(j_decompress_ptr j, JBLOCKROW *mcu)
{
    struct fdl_jpeg_entropy *e = (struct fdl_jpeg_entropy *)j->entropy;
    struct chain *c = &e->chains[e->last];
    bool wanted = mcu && e->column >= j->master->first_iMCU_col &&
                  e->column <= j->master->last_iMCU_col;
    if (++e->column == j->MCUs_per_row)
        e->column = 0;
    c->over = wanted ? 0 : 1;
    c->left = wanted ? 1 : 0;
    if (wanted)
        point_blocks(e, c->blocks, mcu, e->one.last[0]);
    read_unit(e, c, c->left);
    return TRUE;
}

static struct fdl_jpeg_entropy *of_source(struct fdl_jpeg_blocks *b)
{
    const size_t at = offsetof(struct fdl_jpeg_entropy, source);
    return (struct fdl_jpeg_entropy *)(void *)((char *)b - at);
}

static void set_order(struct fdl_jpeg_entropy *e, const uint8_t *order)
{
    memcpy(e->order, order, DCTSIZE2);
    memset(e->order + DCTSIZE2, order[DCTSIZE2 - 1],
           sizeof(e->order) - DCTSIZE2);
}

/* The number of the last entry that is known of MCU `mcu` or before it, from 1
 * on; 0: there is none. */
static uint64_t entry_before(const struct fdl_jpeg_entropy *e, uint64_t mcu)
{
    return e->notes ? FDL_MIN(mcu / e->notes->spacing, e->n_known) : 0;
}

/* Makes c a lane: the next row of those gone to. */
static void begin_lane(struct fdl_jpeg_entropy *e, struct chain *c,
                       struct fdl_jpeg_lane *lane)
{
    lane->row = e->row++;
    c->lane = lane;
    c->over = e->row_at - c->number;
    c->left = e->row_mcus;
    e->row_at += e->c->MCUs_per_row;
    e->rows_left--;
    e->last = (uint32_t)(c - e->chains);
}

/* c goes on at entry number `entry` instead of where the row ends at `end`. */
static void jump(struct fdl_jpeg_entropy *e, struct chain *c, uint64_t entry,
                 uint64_t end)
{
    uint64_t mcu = entry * e->notes->spacing;
    enter(e, c, mcu, e->notes->known->at[entry - 1]);
    e->notes->jumped += mcu - end; /* or less than nothing */
}

/* The next row in a lane of its own, from an entry. */
static void begin_below(struct fdl_jpeg_entropy *e, struct chain *c,
                        struct fdl_jpeg_lane *lane)
{
    uint64_t end = e->row_at - e->c->MCUs_per_row + e->row_mcus;
    jump(e, c, entry_before(e, e->row_at), end);
    begin_lane(e, c, lane);
}

/* How many rows, from that at `mcu` on, the first excepted have entries of
 * their own that are known to be the last ones before them. */
static uint32_t count_rows(const struct fdl_jpeg_entropy *e, uint64_t mcu,
                           uint32_t most)
{
    uint32_t n = 1;
    for (; n < most; n++) {
        uint64_t before = entry_before(e, mcu);
        mcu += e->c->MCUs_per_row;
        uint64_t entry = entry_before(e, mcu);
        if (entry <= before || entry < mcu / e->notes->spacing)
            break;
    }
    return n;
}

static void point_lane(struct fdl_jpeg_entropy *e, struct chain *c,
                       struct fdl_jpeg_lane *lane)
{
    memset(lane->last, 0, sizeof(lane->last));
    for (uint32_t m = 0; m < fdl_jpeg_unit(e->c); m++)
        point_blocks(e, c->blocks + m * e->n_blocks, lane->blocks[m],
                     lane->last[m]);
}

static void make_skips(struct fdl_jpeg_entropy *e)
{
    const struct jpeg_decompress_struct *c = e->c;
    for (int i = 0; i < c->comps_in_scan; i++) {
        int n = c->cur_comp_info[i]->ac_tbl_no;
        fdl_huffman_make_skips(&e->skips[n], &e->ac[n].codes);
    }
    e->can_skip = true;
}

/* Of c, and of rows of n MCUs each that follow it and have no entries. */
static bool skips_pay(const struct fdl_jpeg_entropy *e, const struct chain *c,
                      uint64_t rows)
{
    const struct jpeg_decompress_struct *j = e->c;
    uint64_t over = c->over + rows * (j->MCUs_per_row - e->row_mcus);
    uint64_t bytes = (uint64_t)(e->raw_end - e->begin);
    return bytes * over / all_mcus(e) >= SKIP_FROM_BYTES;
}

/* The chain that is furthest goes on, or jumps. */
static int32_t go(struct fdl_jpeg_blocks *b, j_decompress_ptr j, uint32_t row,
                  int32_t rows, uint32_t column, uint32_t n,
                  struct fdl_jpeg_lane lanes[FDL_JPEG_LANES])
{
    struct fdl_jpeg_entropy *e = of_source(b);
    struct chain *c = &e->chains[e->last];
    uint64_t mcu = (uint64_t)row * j->MCUs_per_row + column;
    uint64_t entry = entry_before(e, mcu);
    set_order(e, fdl_jpeg_pair_order);
    e->row_at = mcu;
    e->row_mcus = n;
    e->row = 0;
    e->rows_left = count_rows(e, mcu, FDL_MIN((uint32_t)rows, FDL_JPEG_ROWS));
    uint32_t n_rows = e->rows_left;
    if (entry > 0 && entry * e->notes->spacing > c->number)
        jump(e, c, entry, c->number);
    begin_lane(e, c, lanes);
    point_lane(e, c, lanes);
    e->waits = c;
    e->n_active = 1;
    if (!e->can_skip && skips_pay(e, c, entry > 0 ? 0 : (uint32_t)rows - 1))
        make_skips(e);
    if (n_rows == 1 && c->over > 0)
        read_unit(e, c, 0);
    e->active[0] = c;
    for (; e->n_active < FDL_JPEG_LANES && e->rows_left > 0; e->n_active++) {
        c = &e->chains[(e->last + 1) % FDL_JPEG_LANES];
        begin_below(e, c, lanes + e->n_active);
        point_lane(e, c, lanes + e->n_active);
        begin_unit(e, c, FDL_MIN(n, fdl_jpeg_unit(j)));
        e->active[e->n_active] = c;
    }
    e->lanes = lanes;
    return (int32_t)n_rows;
}

static int32_t take(struct fdl_jpeg_blocks *b, j_decompress_ptr j)
{
    struct fdl_jpeg_entropy *e = of_source(b);
    struct chain *c = e->waits;
    if (c && c->left == 0)
        begin_below(e, c, c->lane);
    if (c)
        begin_unit(e, c, FDL_MIN(c->left, fdl_jpeg_unit(j)));
    uint32_t i = e->follow(e, e->n_active);
    c = e->active[i];
    e->waits = c;
    if (c->left == 0 && e->rows_left == 0) {
        e->waits = NULL;
        e->active[i] = e->active[--e->n_active];
    }
    return (int32_t)(c->lane - e->lanes);
}

struct fdl_jpeg_blocks *fdl_jpeg_entropy_blocks(struct fdl_jpeg_entropy *e)
{
    return &e->source;
}

/* Only libjpeg's own is started by it, before this one takes its place. */
static void start_pass(j_decompress_ptr c)
{
    (void)c;
}

static bool is_sequential(const struct jpeg_decompress_struct *c)
{
    return !c->progressive_mode && !c->arith_code && c->data_precision == 8 &&
           c->comps_in_scan == c->num_components && c->Ss == 0 &&
           c->Se == DCTSIZE2 - 1 && c->Ah == 0 && c->Al == 0;
}

bool fdl_jpeg_entropy_is_through(const struct fdl_jpeg_entropy *e)
{
    return e->chains[e->last].number == all_mcus(e);
}

void fdl_jpeg_entropy_note_rest(struct fdl_jpeg_entropy *e)
{
    struct chain *c = &e->chains[e->last];
    if (e->note_at == UINT64_MAX)
        return;
    uint64_t known = e->n_known * e->notes->spacing;
    if (known > c->number)
        enter(e, c, known, e->notes->known->at[e->n_known - 1]);
    c->over = all_mcus(e) - c->number;
    e->row_mcus = 0;
    if (!e->can_skip && skips_pay(e, c, 0))
        make_skips(e);
    read_unit(e, c, 0);
}

/* The tables of each block of an MCU. */
static bool prepare_blocks(struct fdl_jpeg_entropy *e,
                           const struct jpeg_decompress_struct *c)
{
    e->n_blocks = (uint32_t)c->blocks_in_MCU;
    e->stretch = FDL_MAX(STRETCH_BLOCKS / e->n_blocks, 1);
    e->room = e->stretch * e->n_blocks * FDL_BITS_BLOCK_BYTES +
              2 * FDL_BITS_WINDOW_BYTES;
    for (uint32_t i = 0; i < e->n_blocks; i++) {
        int component = c->MCU_membership[i];
        const jpeg_component_info *info = c->cur_comp_info[component];
        struct fdl_huffman_steps *dc = &e->dc[info->dc_tbl_no];
        struct fdl_huffman_steps *ac = &e->ac[info->ac_tbl_no];
        const JHUFF_TBL *dc_from = c->dc_huff_tbl_ptrs[info->dc_tbl_no];
        const JHUFF_TBL *ac_from = c->ac_huff_tbl_ptrs[info->ac_tbl_no];
        if (!dc_from || !ac_from ||
            !fdl_huffman_make_steps(dc, dc_from->bits, dc_from->huffval,
                                    FDL_HUFFMAN_DC) ||
            !fdl_huffman_make_steps(ac, ac_from->bits, ac_from->huffval,
                                    FDL_HUFFMAN_AC))
            return false;
        e->skip[i] = (struct fdl_jpeg_skip_block){
            .dc = &dc->codes,
            .ac = &ac->codes,
            .skips = &e->skips[info->ac_tbl_no],
            .component = component,
        };
        e->first_only[i] = FDL_JPEG_SIDE(info) == 1;
        e->over[i] = (struct block){.dc = dc,
                                    .ac = ac,
                                    .first = e->nowhere,
                                    .rest = e->nowhere,
                                    .last = &e->no_last,
                                    .component = component};
    }
    for (uint32_t i = e->n_blocks; i < e->stretch * e->n_blocks; i++)
        e->over[i] = e->over[i - e->n_blocks];
    return true;
}

bool fdl_jpeg_entropy_attach(struct fdl_jpeg_entropy *e,
                             struct jpeg_decompress_struct *c,
                             const uint8_t *end,
                             void (*give_up)(struct jpeg_decompress_struct *c))
{
    if (!is_sequential(c) || c->src->next_input_byte > end ||
        c->unread_marker != 0)
        return false;
    FDL_TSAN_WRITES(e, sizeof(*e));
    e->c = c;
    e->begin = c->src->next_input_byte;
    e->raw_end = end;
    e->notes = NULL;
    e->note_at = UINT64_MAX;
    e->n_known = 0;
    if (!prepare_blocks(e, c))
        return false;
    e->can_skip = false;
    if (e->raw_end - e->begin >= SKIP_ALWAYS_FROM)
        make_skips(e);
    e->pub = (struct jpeg_entropy_decoder){
        .start_pass = start_pass,
        .decode_mcu = decode_mcu,
        .insufficient_data = FALSE,
    };
    e->source = (struct fdl_jpeg_blocks){go, take};
    e->follow = follow_any;
#if defined(__x86_64__)
    if (fdl_cpu_level() >= FDL_CPU_AVX2)
        e->follow = follow_bmi2;
#endif
    e->give_up = give_up;
    e->restart_interval = c->restart_interval;
    e->column = e->last = 0;
    set_order(e, natural);
    struct chain *first = &e->chains[0];
    first->number = 0;
    first->next_restart = 0;
    first->restarts = fdl_jpeg_scan_restarts(
        (uint64_t)c->MCUs_per_row * c->MCU_rows_in_scan, c->restart_interval);
    begin_segment(e, first, e->begin);
    c->entropy = &e->pub;
    return true;
}

bool fdl_jpeg_entropy_rest_is_sound(const struct fdl_jpeg_entropy *e)
{
    const struct chain *c = &e->chains[e->last];
    return fdl_jpeg_scan_is_sound(c->raw, e->raw_end, c->restarts,
                                  c->next_restart);
}

struct fdl_jpeg_entropy *fdl_jpeg_entropy_create(void)
{
    struct fdl_jpeg_entropy *e = fdl_alloc_aligned(sizeof(*e));
    if (e)
        memset(e, 0, sizeof(*e));
    return e;
}

void fdl_jpeg_entropy_destroy(struct fdl_jpeg_entropy *e)
{
    free(e);
}

size_t fdl_jpeg_entropy_memory(void)
{
    return sizeof(struct fdl_jpeg_entropy);
}
