/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Huffman decoder spends its time in one dependency chain, symbol after
 * symbol:
 *
 *     window --top bits--> table entry --length--> shift the window
 *
 * so everything else is kept off that chain, which is a shift, a load from the
 * first-level cache and a shift:
 *
 *   - An entry holds the length of code and value together, so the next symbol
 *     does not wait for this one's value, which is computed on the side,
 *     without a branch, from the length of the value.
 *   - The input is unstuffed a few kilobytes ahead (FF 00 -> FF) into a buffer
 *     with room for a whole MCU past any read position. So filling the window
 *     is one unaligned load, nothing is checked inside an MCU, and the end of
 *     the data is looked for once per MCU.
 *   - Blocks outside the crop are only skipped, in large files several symbols
 *     at a time.
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
#include "decode/formats/huffman.h"
#include "decode/formats/jpeg_bits.h"
#include "decode/formats/jpeg_scan.h"
#include "decode/formats/jpeg_transform.h"

#include <jpegint.h>
#include <stdlib.h>
#include <string.h>

/* Read position to end: room for one MCU and the window. */
#define MCU_BYTES                                                              \
  (D_MAX_BLOCKS_IN_MCU * FDL_BITS_BLOCK_BYTES + 2 * FDL_BITS_WINDOW_BYTES)

/* Unstuffed at once. More would be for nothing where a row is left early. */
#define CHUNK_BYTES 2048

/* Tables to go over several symbols at once pay from this many bytes. */
#define SKIP_FROM_BYTES 262144

struct block {
    const struct fdl_huffman *dc, *ac;
    int component;   /* in the scan */
    bool first_only; /* of its values; so it is at 1/8 */
};

struct fdl_jpeg_entropy {
    struct jpeg_entropy_decoder pub; /* first: what libjpeg sees */
    struct fdl_jpeg_blocks source;
    void (*give_up)(j_decompress_ptr c);
    bool (*take)(struct fdl_jpeg_entropy *e, JBLOCKROW *mcu);
    const uint8_t *order; /* where coefficients go, from their zigzag places */
    uint8_t last[D_MAX_BLOCKS_IN_MCU]; /* of the blocks taken, zigzag places */

    const uint8_t *begin;         /* of the data */
    const uint8_t *raw, *raw_end; /* not unstuffed yet */
    struct fdl_bits window;
    const uint8_t *end; /* of what is in the buffer */
    bool at_marker;     /* raw is at a marker or at the end of the data */

    uint32_t restart_interval, mcus_to_restart;
    unsigned next_restart; /* 0 to 7 */
    uint64_t restarts;     /* that are still to come */
    uint32_t column;       /* of the next MCU */
    uint64_t mcu;          /* its number */

    uint32_t room; /* for one MCU and the window */

    /* While places are noted: a byte in the buffer, at or before the next bit,
     * and where it is in the file. */
    const uint8_t *mark, *mark_raw;
    struct fdl_entry_notes *notes; /* NULL: none */
    uint64_t n_known;              /* entries */
    uint64_t note_at;              /* the MCU before which the next one is */
    int components;

    bool skip; /* tables to skip by are made */
    uint32_t n_blocks;
    struct block blocks[D_MAX_BLOCKS_IN_MCU];
    int32_t last_dc[MAX_COMPS_IN_SCAN];

    struct fdl_huffman dc[NUM_HUFF_TBLS], ac[NUM_HUFF_TBLS];
    uint8_t buffer[FDL_BITS_WINDOW_BYTES + MCU_BYTES + CHUNK_BYTES + MCU_BYTES];
};

/* Zigzag to natural order. What ends a block writes a zero, past its end, which
 * goes to the last place: that is zero then. */
static const uint8_t natural[2 * DCTSIZE2] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26,
    33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50,
    43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53,
    60, 61, 54, 47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
};

/* ---- Input -------------------------------------------------------------- */

/* An FF in the buffer was two bytes in the file. */
static void move_mark(struct fdl_jpeg_entropy *e, const uint8_t *to)
{
    while (e->mark < to) {
        size_t n = FDL_MIN((size_t)(to - e->mark), fdl_bits_before_ff(e->mark));
        e->mark += FDL_MAX(n, 1);
        e->mark_raw += n > 0 ? n : 2;
    }
}

/* Moves the rest to the front, behind what the window has of it, and fills up
 * after it; zeros past the end of the data. */
static void refill_buffer(struct fdl_jpeg_entropy *e, j_decompress_ptr c)
{
    fdl_assert(e->window.next <= e->end);
    const uint8_t *from = e->window.next - FDL_BITS_WINDOW_BYTES;
    if (e->note_at != UINT64_MAX) {
        move_mark(e, from);
        e->mark -= from - e->buffer;
    }
    size_t left = (size_t)(e->end - from);
    memmove(e->buffer, from, left);
    e->window.next = e->buffer + FDL_BITS_WINDOW_BYTES;
    uint8_t *to = e->buffer + left, *to_end = to + CHUNK_BYTES;
    uint8_t *end = fdl_bits_unstuff(&e->raw, e->raw_end, to, to_end);
    e->end = end;
    e->at_marker = end < to_end;
    if (e->at_marker)
        memset(end, 0, e->room);
    c->src->next_input_byte = e->raw;
    c->src->bytes_in_buffer = (size_t)(e->raw_end - e->raw);
}

/* Nothing is in the buffer but what comes from `raw` on. */
static void begin_input(struct fdl_jpeg_entropy *e, const uint8_t *raw)
{
    e->raw = e->mark_raw = raw;
    e->at_marker = false;
    e->mark = e->end = e->buffer + FDL_BITS_WINDOW_BYTES;
    e->window = (struct fdl_bits){.next = e->end};
}

static void begin_segment(struct fdl_jpeg_entropy *e, const uint8_t *raw)
{
    memset(e->last_dc, 0, sizeof(e->last_dc));
    e->mcus_to_restart = e->restart_interval;
    begin_input(e, raw);
}

/* Bits used past the end of the data; those left, if negative. */
static int64_t overrun(const struct fdl_jpeg_entropy *e)
{
    return (int64_t)(e->window.next - e->end) * 8 - e->window.count;
}

/* False unless the data ends here, except for bits that fill up its last byte,
 * with the expected marker; continues after it. */
static bool restart(struct fdl_jpeg_entropy *e)
{
    if (!e->at_marker || overrun(e) <= -8 || e->raw_end - e->raw < 2 ||
        e->raw[1] != 0xd0 + e->next_restart)
        return false;
    e->restarts--;
    e->next_restart = (e->next_restart + 1) & 7;
    begin_segment(e, e->raw + 2);
    return true;
}

/* Room for one MCU. False where the data ends without a marker, or with bytes
 * that may fill up the space before one: how far such a file can be used is not
 * for e to say. */
static bool prepare_input(struct fdl_jpeg_entropy *e, j_decompress_ptr c)
{
    if (e->end - e->window.next >= e->room)
        return true;
    if (!e->at_marker)
        refill_buffer(e, c);
    return !e->at_marker || (e->raw_end - e->raw >= 2 && e->raw[1] != 0xff);
}

/* ---- Blocks ------------------------------------------------------------- */

/* One symbol of the 63 that follow the first; 0: no such code. */
FDL_INLINE uint16_t take_ac(const struct fdl_huffman *t, struct fdl_bits *w,
                            unsigned *k, JCOEF *block, const uint8_t *order,
                            bool store)
{
    uint16_t entry = fdl_bits_symbol(t, w);
    *k += FDL_LOOK_ADVANCE(entry);
    if (store)
        block[order[*k - 1]] = (JCOEF)fdl_bits_value(w->bits, entry);
    fdl_bits_drop(w, entry);
    return entry;
}

FDL_INLINE unsigned take_skip(const struct fdl_huffman *t, struct fdl_bits *w)
{
    uint16_t skip = t->skip[w->bits >> (64 - FDL_SKIP_BITS)];
    w->bits <<= FDL_SKIP_TOTAL(skip);
    w->count -= (int)FDL_SKIP_TOTAL(skip);
    return FDL_SKIP_ADVANCE(skip);
}

/* Skips the 63 values that follow the first. False, with w unchanged, if a code
 * is long, or a lookup reached into the next block, which happens if the last
 * value is present and no code ends the block. */
FDL_INLINE bool skip_ac(const struct fdl_huffman *t, struct fdl_bits *w)
{
    struct fdl_bits at = *w;
    unsigned k = 1, goes;
    do {
        fdl_bits_fill(&at);
        k += goes = take_skip(t, &at);
        if (k >= DCTSIZE2 || FDL_UNLIKELY(goes == 0))
            break;
        k += goes = take_skip(t, &at);
    } while (k < DCTSIZE2 && FDL_LIKELY(goes != 0));
    if (k != DCTSIZE2 && (k < FDL_SKIP_END || k >= FDL_SKIP_END + DCTSIZE2))
        return false;
    *w = at;
    return true;
}

/* block: NULL to go over it. skip: there are tables for that. The zigzag place
 * of the last value where it is stored; -1: the block is not sound. */
FDL_INLINE int take_block(const struct block *b, int32_t *last_dc,
                          struct fdl_bits *w, JCOEF *block,
                          const uint8_t *order, bool store, bool skip)
{
    fdl_bits_fill(w);
    uint16_t entry = fdl_bits_symbol(b->dc, w);
    int32_t dc = *last_dc + fdl_bits_value(w->bits, entry);
    if (FDL_UNLIKELY(entry == 0 || dc != (JCOEF)dc))
        return -1;
    fdl_bits_drop(w, entry);
    *last_dc = dc;
    if (store)
        block[0] = (JCOEF)dc;
    if (skip && (!store || b->first_only) && skip_ac(b->ac, w))
        return 0;

    unsigned k = 1;
    do {
        fdl_bits_fill(w);
        entry = take_ac(b->ac, w, &k, block, order, store);
        if (k >= DCTSIZE2 || FDL_UNLIKELY(entry == 0))
            break;
        entry = take_ac(b->ac, w, &k, block, order, store);
    } while (k < DCTSIZE2 && FDL_LIKELY(entry != 0));
    if (entry != 0 && FDL_LOOK_ADVANCE(entry) == FDL_LOOK_END)
        return (int)k - (int)FDL_LOOK_END - 1;
    return entry != 0 && k == DCTSIZE2 ? DCTSIZE2 - 1 : -1;
}

FDL_INLINE bool take_blocks(struct fdl_jpeg_entropy *e, JBLOCKROW *mcu,
                            bool store, bool skip)
{
    struct fdl_bits w = e->window; /* in registers */
    for (uint32_t i = 0; i < e->n_blocks; i++) {
        const struct block *b = &e->blocks[i];
        int last = take_block(b, &e->last_dc[b->component], &w,
                              store ? mcu[i][0] : NULL, e->order, store, skip);
        if (last < 0)
            return false;
        if (store)
            e->last[i] = (uint8_t)last;
    }
    e->window = w;
    return overrun(e) <= 0;
}

/* mcu: NULL to go over it. False: it is not sound. */
FDL_INLINE bool take_mcu(struct fdl_jpeg_entropy *e, JBLOCKROW *mcu)
{
    if (e->skip)
        return mcu ? take_blocks(e, mcu, true, true)
                   : take_blocks(e, NULL, false, true);
    return mcu ? take_blocks(e, mcu, true, false)
               : take_blocks(e, NULL, false, false);
}

static bool take_any(struct fdl_jpeg_entropy *e, JBLOCKROW *mcu)
{
    return take_mcu(e, mcu);
}

#if defined(__x86_64__)
/* Shifts by a variable without the detour via the flags. */
FDL_TARGET("bmi,bmi2")
static bool take_bmi2(struct fdl_jpeg_entropy *e, JBLOCKROW *mcu)
{
    return take_mcu(e, mcu);
}
#endif

/* ---- Entries ------------------------------------------------------------ */

/* Notes the place before the next MCU, and before a restart marker that is
 * there. */
static void note(struct fdl_jpeg_entropy *e)
{
    struct fdl_entry_notes *to = e->notes;
    size_t bit = (size_t)(e->window.next - e->buffer) * 8;
    bit -= (size_t)e->window.count;
    move_mark(e, e->buffer + bit / 8);
    uint64_t place = (uint64_t)(e->mark_raw - e->begin) * 8 + bit % 8;
    uint64_t entry = fdl_entry_pack(place, e->last_dc, e->components);
    e->note_at += to->spacing;
    if (entry == 0 || to->n == FDL_ENTRIES_MOST)
        e->note_at = UINT64_MAX; /* there are no gaps */
    else
        to->at[to->n++] = entry;
}

/* Goes on where the next bit is bit number `bit` of the data. */
static void set_input(struct fdl_jpeg_entropy *e, j_decompress_ptr c,
                      uint64_t bit)
{
    uint64_t size = (uint64_t)(e->raw_end - e->begin);
    begin_input(e, e->begin + FDL_MIN(bit / 8, size));
    refill_buffer(e, c);
    fdl_bits_fill(&e->window);
    e->window.bits <<= bit % 8;
    e->window.count -= (int)(bit % 8);
}

/* Goes on before MCU number `mcu`, which an entry is of. */
static void enter(struct fdl_jpeg_entropy *e, j_decompress_ptr c, uint64_t mcu,
                  uint64_t entry)
{
    int32_t dc[FDL_ENTRY_COMPONENTS];
    uint64_t bit = fdl_entry_unpack(entry, dc);
    uint64_t passed = fdl_jpeg_scan_restarts(mcu, e->restart_interval);
    uint64_t before = fdl_jpeg_scan_restarts(e->mcu, e->restart_interval);
    e->notes->jumped += mcu - e->mcu;
    e->mcu = mcu;
    e->column = (uint32_t)(mcu % c->MCUs_per_row);
    if (e->restart_interval > 0) {
        e->mcus_to_restart =
            (uint32_t)((passed + 1) * e->restart_interval - mcu);
        e->next_restart = passed & 7;
        e->restarts -= passed - before;
    }
    for (int i = 0; i < e->components; i++)
        e->last_dc[i] = dc[i];
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

/* ---- For libjpeg -------------------------------------------------------- */

/* False: it is not sound. */
static bool read_mcu(struct fdl_jpeg_entropy *e, j_decompress_ptr c,
                     JBLOCKROW *mcu)
{
    if (e->mcu++ == e->note_at)
        note(e);
    if (e->restart_interval > 0 && e->mcus_to_restart-- == 0) {
        if (!restart(e))
            return false;
        e->mcus_to_restart--;
    }
    return prepare_input(e, c) && e->take(e, mcu);
}

/* mcu: NULL to go over it. */
static void next_mcu(struct fdl_jpeg_entropy *e, j_decompress_ptr c,
                     JBLOCKROW *mcu)
{
    if (++e->column == c->MCUs_per_row)
        e->column = 0;
    if (!read_mcu(e, c, mcu))
        e->give_up(c);
}
static boolean decode_mcu(j_decompress_ptr c, JBLOCKROW *mcu)
{
    struct fdl_jpeg_entropy *e = (struct fdl_jpeg_entropy *)c->entropy;
    bool wanted = mcu && e->column >= c->master->first_iMCU_col &&
                  e->column <= c->master->last_iMCU_col;
    next_mcu(e, c, wanted ? mcu : NULL);
    return TRUE;
}

static struct fdl_jpeg_entropy *of_source(struct fdl_jpeg_blocks *b)
{
    const size_t at = offsetof(struct fdl_jpeg_entropy, source);
    return (struct fdl_jpeg_entropy *)(void *)((char *)b - at);
}

static const uint8_t *take(struct fdl_jpeg_blocks *b, j_decompress_ptr c,
                           JBLOCKROW *mcu)
{
    struct fdl_jpeg_entropy *e = of_source(b);
    e->order = fdl_jpeg_pair_order;
    next_mcu(e, c, mcu);
    return e->last;
}

static void go(struct fdl_jpeg_blocks *b, j_decompress_ptr c, uint32_t row,
               uint32_t column)
{
    struct fdl_jpeg_entropy *e = of_source(b);
    uint64_t mcu = (uint64_t)row * c->MCUs_per_row + column;
    uint64_t spacing = e->notes ? e->notes->spacing : UINT64_MAX;
    uint64_t i = FDL_MIN(mcu / spacing, e->n_known);
    if (i > 0 && i * spacing > e->mcu)
        enter(e, c, i * spacing, e->notes->known->at[i - 1]);
    while (e->mcu < mcu)
        next_mcu(e, c, NULL);
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

/* The tables of each block of an MCU. */
static bool prepare_blocks(struct fdl_jpeg_entropy *e,
                           const struct jpeg_decompress_struct *c)
{
    e->n_blocks = (uint32_t)c->blocks_in_MCU;
    e->room = e->n_blocks * FDL_BITS_BLOCK_BYTES + 2 * FDL_BITS_WINDOW_BYTES;
    for (uint32_t i = 0; i < e->n_blocks; i++) {
        int component = c->MCU_membership[i];
        const jpeg_component_info *info = c->cur_comp_info[component];
        int dc = info->dc_tbl_no, ac = info->ac_tbl_no;
        const JHUFF_TBL *dc_from = c->dc_huff_tbl_ptrs[dc];
        const JHUFF_TBL *ac_from = c->ac_huff_tbl_ptrs[ac];
        struct block *b = &e->blocks[i];
        *b = (struct block){&e->dc[dc], &e->ac[ac], component,
                            FDL_JPEG_SIDE(info) == 1};
        if (!dc_from || !ac_from ||
            !fdl_huffman_make(&e->dc[dc], dc_from->bits, dc_from->huffval,
                              FDL_HUFFMAN_DC) ||
            !fdl_huffman_make(&e->ac[ac], ac_from->bits, ac_from->huffval,
                              FDL_HUFFMAN_AC))
            return false;
        if (e->skip)
            fdl_huffman_make_skips(&e->ac[ac]);
    }
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
    e->begin = e->raw = c->src->next_input_byte;
    e->raw_end = end;
    e->notes = NULL;
    e->note_at = UINT64_MAX;
    e->mcu = e->n_known = 0;
    e->skip = e->raw_end - e->raw >= SKIP_FROM_BYTES;
    if (!prepare_blocks(e, c))
        return false;
    e->pub = (struct jpeg_entropy_decoder){
        .start_pass = start_pass,
        .decode_mcu = decode_mcu,
        .insufficient_data = FALSE,
    };
    e->source = (struct fdl_jpeg_blocks){go, take};
    e->take = take_any;
#if defined(__x86_64__)
    if (fdl_cpu_level() >= FDL_CPU_AVX2)
        e->take = take_bmi2;
#endif
    e->give_up = give_up;
    e->restart_interval = c->restart_interval;
    e->next_restart = 0;
    e->restarts = fdl_jpeg_scan_restarts(
        (uint64_t)c->MCUs_per_row * c->MCU_rows_in_scan, c->restart_interval);
    e->column = 0;
    e->order = natural;
    begin_segment(e, e->raw);
    c->entropy = &e->pub;
    return true;
}

bool fdl_jpeg_entropy_rest_is_sound(const struct fdl_jpeg_entropy *e)
{
    return fdl_jpeg_scan_is_sound(e->raw, e->raw_end, e->restarts,
                                  e->next_restart);
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
