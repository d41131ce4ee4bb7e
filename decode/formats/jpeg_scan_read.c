/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where libjpeg goes from coefficient to coefficient, this goes from symbol to
 * symbol: which coefficients of a block are not zero is a word, in which the
 * place that a symbol of a refining scan is about is found by counting zeros,
 * and the coefficients before it, each of which has a bit of correction, are
 * counted at once. Blocks that are not wanted need only the word.
 *
 * Input and symbols are as in jpeg_entropy.c.
 */
#include "decode/formats/jpeg_scan_read.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "decode/formats/jpeg_scan.h"
#include "decode/formats/jpeg_transform.h"
#include "decode/formats/jpeg_unstuff.h"

#include <string.h>

#if defined(__x86_64__)
#  include <immintrin.h>
#  define FAST FDL_TARGET("avx2,bmi,bmi2,lzcnt")
#else
#  define FAST
#endif

/* For an MCU and the window: of one block, or of ten first coefficients. */
#define ROOM         (FDL_BITS_BLOCK_BYTES + 2 * FDL_BITS_WINDOW_BYTES)
#define CHUNK_BYTES  1024 /* unstuffed at once */
#define BUFFER_BYTES (FDL_BITS_WINDOW_BYTES + ROOM + CHUNK_BYTES + ROOM)

/* Past these a coefficient might not have 16 bits. */
#define MOST_LOW 4

/* ---- Input -------------------------------------------------------------- */

static void refill(struct fdl_jpeg_scan *s)
{
    const uint8_t *from = s->window.next - FDL_BITS_WINDOW_BYTES;
    size_t left = (size_t)(s->end - from);
    memmove(s->buffer, from, left);
    s->window.next = s->buffer + FDL_BITS_WINDOW_BYTES;
    uint8_t *to = s->buffer + left, *to_end = to + CHUNK_BYTES;
    uint8_t *end = fdl_jpeg_unstuff(&s->raw, s->raw_end, to, to_end);
    s->end = end;
    s->at_marker = end < to_end;
    if (s->at_marker)
        memset(end, 0, ROOM);
    s->limit = s->at_marker ? end : end - ROOM;
}

static void begin_segment(struct fdl_jpeg_scan *s, const uint8_t *raw)
{
    memset(s->last_dc, 0, sizeof(s->last_dc));
    s->mcus_to_restart = s->restart_interval;
    s->raw = raw;
    s->at_marker = false;
    s->end = s->buffer + FDL_BITS_WINDOW_BYTES;
    s->window = (struct fdl_bits){.next = s->end};
    s->limit = s->buffer;
}

/* Bits used past the end of the data; those left, if negative. */
static int64_t overrun(const struct fdl_jpeg_scan *s)
{
    return (int64_t)(s->window.next - s->end) * 8 - s->window.count;
}

/* Past the limit. False: the data has ended. */
static bool prepare_input(struct fdl_jpeg_scan *s)
{
    if (!s->at_marker)
        refill(s);
    return overrun(s) <= 0;
}

/* Whether all that is there was read, except for bits that fill up a byte. */
static bool is_at_end(struct fdl_jpeg_scan *s)
{
    if (!s->at_marker && s->end - s->window.next < ROOM)
        refill(s);
    return s->at_marker && s->run == 0 && overrun(s) <= 0 && overrun(s) > -8;
}

/* Which markers are there is known. */
static bool restart(struct fdl_jpeg_scan *s)
{
    if (!is_at_end(s) || s->raw_end - s->raw < 2)
        return false;
    begin_segment(s, s->raw + 2);
    return true;
}

/* ---- First coefficients ------------------------------------------------- */

/* Of block number i of a place. False: it is not sound. */
FAST FDL_INLINE bool read_one_dc(const struct fdl_jpeg_place *p, uint32_t i,
                                 struct fdl_bits *w, unsigned low)
{
    fdl_bits_fill(w);
    uint16_t entry = fdl_bits_symbol(p->dc, w);
    int32_t dc = *p->last_dc + fdl_bits_value(w->bits, entry);
    int32_t shifted = dc * (1 << low);
    if (FDL_UNLIKELY(entry == 0 || shifted != (int16_t)shifted))
        return false;
    fdl_bits_drop(w, entry);
    *p->last_dc = dc;
    p->row->dc[p->at + i * p->step] = (int16_t)shifted;
    return true;
}

FAST static bool read_dc(struct fdl_jpeg_scan *s, uint32_t from, uint32_t n,
                         bool keep)
{
    struct fdl_bits w = s->window;
    (void)keep;
    for (uint32_t i = from; i < from + n; i++) {
        if (FDL_UNLIKELY(w.next > s->limit)) {
            s->window = w;
            if (!prepare_input(s))
                return false;
            w = s->window;
        }
        for (uint32_t k = 0; k < s->n_places; k++) {
            if (!read_one_dc(&s->places[k], i, &w, s->low))
                return false;
        }
    }
    s->window = w;
    return overrun(s) <= 0;
}

FAST static bool refine_dc(struct fdl_jpeg_scan *s, uint32_t from, uint32_t n,
                           bool keep)
{
    struct fdl_bits w = s->window;
    (void)keep;
    for (uint32_t i = from; i < from + n; i++) {
        if (FDL_UNLIKELY(w.next > s->limit)) {
            s->window = w;
            if (!prepare_input(s))
                return false;
            w = s->window;
        }
        fdl_bits_fill(&w);
        for (uint32_t k = 0; k < s->n_places; k++) {
            const struct fdl_jpeg_place *p = &s->places[k];
            p->row->dc[p->at + i * p->step] |=
                (int16_t)(w.bits >> 63 << s->low);
            w.bits <<= 1;
        }
        w.count -= (int)s->n_places;
    }
    s->window = w;
    return overrun(s) <= 0;
}

/* ---- Other coefficients, for the first time ----------------------------- */

/* What ends a block, and others after it: how many. The window was filled
 * before its code, or before the one before. */
FAST FDL_INLINE uint32_t end_run(struct fdl_bits *w, uint16_t entry)
{
    unsigned n = FDL_LOOK_VALUE(entry);
    uint64_t more = w->bits << (FDL_LOOK_TOTAL(entry) - n) >> 1 >> (63 - n);
    fdl_bits_drop(w, entry);
    return (1u << n) + (uint32_t)more;
}

/* Of an entry: not of a coefficient, or of zeros before one. */
FAST FDL_INLINE bool is_end(uint16_t entry)
{
    return (uint16_t)(entry - 1) >= (FDL_LOOK_END << 10) - 1; /* or no entry */
}

/* A coefficient, or 16 zeros. False, with *entry: what ends the block, or no
 * such code, or one that goes too far. */
FAST FDL_INLINE bool read_one(const struct fdl_jpeg_scan *s, struct fdl_bits *w,
                              unsigned *k, uint64_t *seen, int16_t *block,
                              uint16_t *entry)
{
    *entry = fdl_bits_symbol(s->ac, w);
    if (is_end(*entry))
        return false;
    *k += FDL_LOOK_ADVANCE(*entry);
    if (FDL_UNLIKELY(*k > s->last + 1)) {
        *entry = 0;
        return false;
    }
    *seen |= (uint64_t)(FDL_LOOK_VALUE(*entry) > 0) << (*k - 1);
    if (block)
        block[fdl_jpeg_pair_order[*k - 1]] =
            (int16_t)(fdl_bits_value(w->bits, *entry) * (1 << s->low));
    fdl_bits_drop(w, *entry);
    return true;
}

/* One block. -1: it is not sound; else how many blocks ended here, this one
 * included, if that was said. */
FAST FDL_INLINE int64_t read_ac(const struct fdl_jpeg_scan *s,
                                struct fdl_bits *w, uint64_t *seen,
                                int16_t *block)
{
    unsigned k = s->first;
    uint16_t entry;
    do {
        fdl_bits_fill(w);
        if (!read_one(s, w, &k, seen, block, &entry))
            break;
        if (k > s->last)
            return 0;
        if (!read_one(s, w, &k, seen, block, &entry))
            break;
        if (k > s->last)
            return 0;
    } while (true);
    return entry != 0 ? (int64_t)end_run(w, entry) : -1;
}

/* whole: with the first coefficients. */
FAST FDL_INLINE bool read_blocks(struct fdl_jpeg_scan *s, uint32_t from,
                                 uint32_t n, bool keep, bool whole)
{
    const struct fdl_jpeg_block_row *row = s->places[0].row;
    struct fdl_bits w = s->window;
    uint32_t run = s->run;
    for (uint32_t i = from; i < from + n; i++) {
        if (run > 0) {
            uint32_t skip = FDL_MIN(run, from + n - i);
            run -= skip;
            i += skip - 1;
            continue;
        }
        if (FDL_UNLIKELY(w.next > s->limit)) {
            s->window = w;
            if (!prepare_input(s))
                return false;
            w = s->window;
        }
        if (whole && !read_one_dc(&s->places[0], i, &w, 0))
            return false;
        int64_t ended = read_ac(s, &w, &row->seen[i],
                                keep ? fdl_jpeg_block_at(row, i) : NULL);
        if (ended < 0)
            return false;
        run = ended > 0 ? (uint32_t)ended - 1 : 0;
    }
    s->window = w;
    s->run = run;
    return overrun(s) <= 0;
}

/* keep is a constant where the two are made. */
FAST static bool read_first(struct fdl_jpeg_scan *s, uint32_t from, uint32_t n,
                            bool keep)
{
    return keep ? read_blocks(s, from, n, true, false)
                : read_blocks(s, from, n, false, false);
}

FAST static bool read_whole(struct fdl_jpeg_scan *s, uint32_t from, uint32_t n,
                            bool keep)
{
    return keep ? read_blocks(s, from, n, true, true)
                : read_blocks(s, from, n, false, true);
}

/* ---- Other coefficients, refined ---------------------------------------- */

/* The place number n of `places`, as a bit; 0: there are not as many. */
FAST FDL_INLINE uint64_t select_place(uint64_t places, unsigned n, bool pdep)
{
#if defined(__x86_64__)
    if (pdep)
        return _pdep_u64(UINT64_C(1) << n, places);
#endif
    (void)pdep;
    for (; n > 0; n--)
        places &= places - 1;
    return places & -places;
}

/* Each coefficient that is not zero has a bit that moves it further from there,
 * those of a block in their order, between its symbols. They are collected, and
 * used when the block ends. */
FAST FDL_INLINE void collect(struct fdl_bits *w, unsigned n, uint64_t *bits)
{
    *bits = *bits << n | w->bits >> 1 >> (63 - n);
    w->bits <<= n;
    w->count -= (int)n;
}

/* Those of the coefficients in `at`. */
FAST FDL_INLINE void collect_of(struct fdl_bits *w, uint64_t at, uint64_t *bits)
{
    unsigned n = (unsigned)__builtin_popcountll(at);
    if (FDL_UNLIKELY(n > 32)) { /* as many are there behind a symbol */
        fdl_bits_fill(w);
        collect(w, 32, bits);
        fdl_bits_fill(w);
        n -= 32;
    }
    collect(w, n, bits);
}

FAST FDL_INLINE void correct(int16_t *block, uint64_t at, uint64_t bits,
                             int one)
{
    bits <<= (64 - __builtin_popcountll(at)) & 63;
    for (; at != 0; at &= at - 1, bits <<= 1) {
        int16_t *x = &block[fdl_jpeg_pair_order[__builtin_ctzll(at)]];
        int sign = *x >> 15, bit = (int)((int64_t)bits >> 63);
        *x = (int16_t)(*x + (((one ^ sign) - sign) & bit));
    }
}

/* As read_ac. left: the places from here on. */
FAST FDL_INLINE int64_t refine_ac(const struct fdl_jpeg_scan *s,
                                  struct fdl_bits *w, uint64_t *left,
                                  uint64_t *seen, uint64_t *bits,
                                  int16_t *block, bool pdep)
{
    do {
        fdl_bits_fill(w);
        uint16_t entry = fdl_bits_symbol(s->ac, w);
        if (is_end(entry))
            return entry != 0 ? (int64_t)end_run(w, entry) : -1;
        uint64_t place =
            select_place(*left & ~*seen, FDL_LOOK_ADVANCE(entry) - 1, pdep);
        unsigned value = FDL_LOOK_VALUE(entry);
        if (FDL_UNLIKELY(place == 0 || value > 1))
            return -1;
        if (block) /* a zero after 15 others remains one */
            block[fdl_jpeg_pair_order[__builtin_ctzll(place)]] =
                (int16_t)(fdl_bits_value(w->bits, entry) * (1 << s->low));
        fdl_bits_drop(w, entry);
        collect_of(w, *left & *seen & (place - 1), bits);
        *left &= -place << 1;
        *seen |= place & -(uint64_t)value;
    } while (*left != 0);
    return 0;
}

FAST FDL_INLINE bool refine_blocks(struct fdl_jpeg_scan *s, uint32_t from,
                                   uint32_t n, bool keep, bool pdep)
{
    const struct fdl_jpeg_block_row *row = s->places[0].row;
    const uint64_t band = UINT64_MAX >> (63 - s->last) & UINT64_MAX << s->first;
    struct fdl_bits w = s->window;
    uint32_t run = s->run;
    for (uint32_t i = from; i < from + n; i++) {
        int16_t *block = keep ? fdl_jpeg_block_at(row, i) : NULL;
        uint64_t left = band, seen = row->seen[i], old = seen & band, bits = 0;
        if (FDL_UNLIKELY(w.next > s->limit)) {
            s->window = w;
            if (!prepare_input(s))
                return false;
            w = s->window;
        }
        if (run == 0) {
            int64_t ended = refine_ac(s, &w, &left, &seen, &bits, block, pdep);
            if (ended < 0)
                return false;
            run = (uint32_t)ended;
            row->seen[i] = seen;
        }
        if (run > 0) {
            fdl_bits_fill(&w);
            collect_of(&w, left & seen, &bits);
            run--;
        }
        if (keep && bits != 0)
            correct(block, old, bits, 1 << s->low);
    }
    s->window = w;
    s->run = run;
    return overrun(s) <= 0;
}

FAST static bool refine(struct fdl_jpeg_scan *s, uint32_t from, uint32_t n,
                        bool keep)
{
    return keep ? refine_blocks(s, from, n, true, false)
                : refine_blocks(s, from, n, false, false);
}

FAST static bool refine_pdep(struct fdl_jpeg_scan *s, uint32_t from, uint32_t n,
                             bool keep)
{
    return keep ? refine_blocks(s, from, n, true, true)
                : refine_blocks(s, from, n, false, true);
}

/* It makes refining a third faster. AMD's first processors that have it take a
 * hundred cycles or more; those with AVX-512 are none of these. */
static bool has_fast_pdep(void)
{
#if defined(__x86_64__)
    return fdl_cpu_level() >= FDL_CPU_AVX512 || !__builtin_cpu_is("amd");
#else
    return false;
#endif
}

/* ---- A row -------------------------------------------------------------- */

/* As far as MCU `to`, over restart markers. */
static bool read_up_to(struct fdl_jpeg_scan *s, uint32_t *from, uint32_t to,
                       bool keep)
{
    while (*from < to) {
        uint32_t n = to - *from;
        if (s->restart_interval > 0) {
            if (s->mcus_to_restart == 0 && !restart(s))
                return false;
            n = FDL_MIN(n, s->mcus_to_restart);
            s->mcus_to_restart -= n;
        }
        if (!s->read(s, *from, n, keep))
            return false;
        *from += n;
    }
    return true;
}

/* A row of MCUs of the scan. */
static bool read_row(struct fdl_jpeg_scan *s, bool keep)
{
    const struct fdl_jpeg_block_row *row = s->places[0].row;
    uint32_t at = 0, first = s->columns, after = first;
    if (keep && s->component) {
        first = FDL_MIN(row->first, s->columns);
        after = FDL_MIN(row->first + row->n, s->columns);
    }
    bool sound = read_up_to(s, &at, first, false) &&
                 read_up_to(s, &at, after, true) &&
                 read_up_to(s, &at, s->columns, false);
    return sound && (--s->rows_left > 0 || is_at_end(s));
}

bool fdl_jpeg_scan_row(struct fdl_jpeg_scan *s, bool keep)
{
    bool sound = true;
    if (!s->read)
        return true;
    if (!s->component)
        return read_row(s, keep);
    for (uint32_t i = 0; i < s->high && s->rows_left > 0 && sound; i++) {
        s->places[0].row = &s->component[i];
        sound = read_row(s, keep);
    }
    return sound;
}

/* ---- A scan ------------------------------------------------------------- */

/* Whether it is a scan of first coefficients, or of others of one component, or
 * of a whole one. */
static bool is_usual(const struct jpeg_decompress_struct *c)
{
    bool one = c->comps_in_scan == 1;
    if (c->arith_code || c->data_precision != 8)
        return false;
    if (!c->progressive_mode)
        return one && c->Ss == 0 && c->Se == DCTSIZE2 - 1 && c->Ah == 0 &&
               c->Al == 0;
    bool band =
        c->Ss == 0 ? c->Se == 0 : one && c->Ss <= c->Se && c->Se < DCTSIZE2;
    return band && c->Al <= MOST_LOW && (c->Ah == 0 || c->Ah == c->Al + 1);
}

static void add_place(struct fdl_jpeg_scan *s, struct fdl_jpeg_block_row *row,
                      uint32_t at, uint32_t step, int component)
{
    s->places[s->n_places++] = (struct fdl_jpeg_place){
        .row = row, .at = at, .step = step, .last_dc = &s->last_dc[component]};
}

/* MCUs of one component are its blocks; those of several, the image's. */
static void lay_out(struct fdl_jpeg_scan *s,
                    const struct jpeg_decompress_struct *c,
                    struct fdl_jpeg_block_row *const *rows)
{
    const jpeg_component_info *only = c->cur_comp_info[0];
    if (c->comps_in_scan == 1) {
        s->component = rows[0];
        s->columns = only->width_in_blocks;
        s->rows_left = only->height_in_blocks;
        s->high = (uint32_t)only->v_samp_factor;
        add_place(s, s->component, 0, 1, 0);
        return;
    }
    uint32_t wide = (uint32_t)c->max_h_samp_factor * DCTSIZE;
    uint32_t high = (uint32_t)c->max_v_samp_factor * DCTSIZE;
    s->columns = (c->image_width + wide - 1) / wide;
    s->rows_left = (c->image_height + high - 1) / high;
    for (int i = 0; i < c->comps_in_scan; i++) {
        const jpeg_component_info *info = c->cur_comp_info[i];
        uint32_t step = (uint32_t)info->h_samp_factor;
        for (int y = 0; y < info->v_samp_factor; y++)
            for (uint32_t x = 0; x < step; x++)
                add_place(s, &rows[i][y], x, step, i);
    }
}

static const struct fdl_huffman *make_table(struct jpeg_decompress_struct *c,
                                            JHUFF_TBL *const *tables, int n,
                                            enum fdl_huffman_kind kind)
{
    const JHUFF_TBL *from = n < NUM_HUFF_TBLS ? tables[n] : NULL;
    if (!from)
        return NULL;
    struct fdl_huffman *t =
        c->mem->alloc_large((j_common_ptr)c, JPOOL_IMAGE, sizeof(*t));
    t->made = false;
    return fdl_huffman_make(t, from->bits, from->huffval, kind) ? t : NULL;
}

/* Each component's, for all of its places. */
static bool make_dc_tables(struct fdl_jpeg_scan *s,
                           struct jpeg_decompress_struct *c)
{
    const struct fdl_huffman *tables[MAX_COMPS_IN_SCAN] = {NULL};
    for (int i = 0; i < c->comps_in_scan; i++) {
        tables[i] = make_table(c, c->dc_huff_tbl_ptrs,
                               c->cur_comp_info[i]->dc_tbl_no, FDL_HUFFMAN_DC);
        if (!tables[i])
            return false;
    }
    for (uint32_t i = 0; i < s->n_places; i++)
        s->places[i].dc = tables[s->places[i].last_dc - s->last_dc];
    return true;
}

static bool make_tables(struct fdl_jpeg_scan *s,
                        struct jpeg_decompress_struct *c)
{
    bool refines = c->Ah > 0;
    if (c->Ss == 0 && !refines && !make_dc_tables(s, c))
        return false;
    if (c->Se > 0)
        s->ac =
            make_table(c, c->ac_huff_tbl_ptrs, c->cur_comp_info[0]->ac_tbl_no,
                       c->progressive_mode ? FDL_HUFFMAN_RUNS : FDL_HUFFMAN_AC);
    return c->Se == 0 || s->ac;
}

static void choose_reader(struct fdl_jpeg_scan *s,
                          const struct jpeg_decompress_struct *c)
{
    if (c->Se == 0)
        s->read = c->Ah > 0 ? refine_dc : read_dc;
    else if (c->Ss == 0)
        s->read = read_whole;
    else
        s->read = c->Ah == 0        ? read_first
                  : has_fast_pdep() ? refine_pdep
                                    : refine;
}

bool fdl_jpeg_scan_open(struct fdl_jpeg_scan *s,
                        struct jpeg_decompress_struct *c, const uint8_t *end,
                        struct fdl_jpeg_block_row *const *rows)
{
    const uint8_t *begin = c->src->next_input_byte;
    memset(s, 0, sizeof(*s));
    if (!is_usual(c))
        return false;
    lay_out(s, c, rows);
    s->restart_interval = c->restart_interval;
    s->raw_end = fdl_jpeg_scan_marker(
        begin, end,
        fdl_jpeg_scan_restarts((uint64_t)s->columns * s->rows_left,
                               s->restart_interval));
    if (!s->raw_end || !make_tables(s, c))
        return false;
    s->low = (unsigned)c->Al;
    s->first = (unsigned)FDL_MAX(c->Ss, 1);
    s->last = (unsigned)c->Se;
    choose_reader(s, c);
    s->buffer = c->mem->alloc_large((j_common_ptr)c, JPOOL_IMAGE, BUFFER_BYTES);
    begin_segment(s, begin);
    return true;
}
