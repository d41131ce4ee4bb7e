/* SPDX-License-Identifier: Apache-2.0 */
/* The scans of a file, side by side; jpeg_scan_read.h reads each. */
#include "decode/formats/jpeg_progressive.h"

#include "base/compiler.h"
#include "decode/formats/jpeg_rows.h"
#include "decode/formats/jpeg_scan_read.h"

#include <jpegint.h>
#include <string.h>

/* Files of programs have up to 20. */
#define MOST_SCANS 40

struct component {
    struct fdl_jpeg_block_row rows[FDL_JPEG_BLOCK_ROWS];
    int16_t *pairs; /* of all rows */
    size_t pairs_bytes;

    /* Of each coefficient, in zigzag order: bits that are still to come. */
    int8_t missing[DCTSIZE2];
};
#define NOTHING_YET (-1)

struct fdl_jpeg_progressive {
    struct fdl_jpeg_blocks source;
    struct fdl_jpeg_progressive_user user;
    int n_components;
    struct component components[FDL_JPEG_PLANES];

    uint32_t row, column; /* of the next MCU */
    bool row_is_read;
    uint32_t n_places; /* in an MCU of the image */
    struct fdl_jpeg_place places[D_MAX_BLOCKS_IN_MCU];
    uint32_t left; /* MCUs to be taken */
    struct fdl_jpeg_lane *to;

    uint32_t n_scans;
    struct fdl_jpeg_scan scans[MOST_SCANS];
};

/* ---- The markers of a file ---------------------------------------------- */

static void *take_zeros(struct jpeg_decompress_struct *c, size_t bytes)
{
    void *memory = c->mem->alloc_large((j_common_ptr)c, JPOOL_IMAGE, bytes);
    return memset(memory, 0, bytes);
}

/* A component's quantisation table is that of its first scan. False: there is
 * none. */
static bool latch_table(struct jpeg_decompress_struct *c,
                        jpeg_component_info *info)
{
    int n = info->quant_tbl_no;
    if (info->quant_table)
        return true;
    if (n < 0 || n >= NUM_QUANT_TBLS || !c->quant_tbl_ptrs[n])
        return false;
    info->quant_table = c->mem->alloc_small((j_common_ptr)c, JPOOL_IMAGE,
                                            sizeof(*info->quant_table));
    *info->quant_table = *c->quant_tbl_ptrs[n];
    return true;
}

/* What the scan has of a component. False: it does not go on from where the
 * scans before it left, or comes before any. */
static bool count_bits(const struct jpeg_decompress_struct *c,
                       struct component *to)
{
    int before = c->Ah > 0 ? c->Ah : NOTHING_YET;
    if (c->Ss > 0 && to->missing[0] == NOTHING_YET)
        return false;
    for (int k = c->Ss; k <= c->Se; k++) {
        if (to->missing[k] != before)
            return false;
        to->missing[k] = (int8_t)c->Al;
    }
    return true;
}

/* c has read a scan's header. */
static bool add_scan(struct fdl_jpeg_progressive *p,
                     struct jpeg_decompress_struct *c, const uint8_t *end)
{
    struct fdl_jpeg_scan *s = &p->scans[p->n_scans];
    struct fdl_jpeg_block_row *rows[MAX_COMPS_IN_SCAN];
    if (p->n_scans == MOST_SCANS || c->unread_marker != 0)
        return false;
    for (int i = 0; i < c->comps_in_scan; i++) {
        jpeg_component_info *info = c->cur_comp_info[i];
        struct component *of = &p->components[info->component_index];
        rows[i] = of->rows;
        if (!latch_table(c, info) || c->Se >= DCTSIZE2 || !count_bits(c, of))
            return false;
    }
    if (!fdl_jpeg_scan_open(s, c, end, rows))
        return false;
    if (c->Ss > 0 && FDL_JPEG_SIDE(c->cur_comp_info[0]) == 1)
        s->read = NULL; /* one sample of each block */
    p->n_scans++;
    return true;
}

static bool is_complete(const struct fdl_jpeg_progressive *p)
{
    for (int i = 0; i < p->n_components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            if (p->components[i].missing[k] != 0)
                return false;
    return true;
}

static bool read_markers(struct fdl_jpeg_progressive *p,
                         struct jpeg_decompress_struct *c, const uint8_t *end)
{
    int found = JPEG_REACHED_SOS;
    while (found == JPEG_REACHED_SOS) {
        if (!add_scan(p, c, end))
            return false;
        /* As libjpeg does: a scan that is not sound is not one too many. */
        c->progress->progress_monitor((j_common_ptr)c);
        const uint8_t *after = p->scans[p->n_scans - 1].raw_end;
        c->src->next_input_byte = after;
        c->src->bytes_in_buffer = (size_t)(end - after);
        found = c->marker->read_markers(c);
    }
    return found == JPEG_REACHED_EOI && is_complete(p);
}

/* ---- Rows --------------------------------------------------------------- */

static void clear_row(struct fdl_jpeg_progressive *p,
                      const struct jpeg_decompress_struct *c, bool keep)
{
    for (int i = 0; i < p->n_components; i++) {
        struct component *of = &p->components[i];
        size_t n = c->comp_info[i].width_in_blocks;
        for (int y = 0; y < c->comp_info[i].v_samp_factor; y++)
            memset(of->rows[y].seen, 0, n * sizeof(*of->rows[y].seen));
        if (keep)
            memset(of->pairs, 0, of->pairs_bytes);
    }
}

static void read_row(struct fdl_jpeg_progressive *p,
                     struct jpeg_decompress_struct *c, bool keep)
{
    p->user.row(c);
    clear_row(p, c, keep);
    for (uint32_t i = 0; i < p->n_scans; i++)
        if (!fdl_jpeg_scan_row(&p->scans[i], keep))
            p->user.give_up(c);
    p->row_is_read = true;
}

static struct fdl_jpeg_progressive *of_source(struct fdl_jpeg_blocks *b)
{
    const size_t at = offsetof(struct fdl_jpeg_progressive, source);
    return (struct fdl_jpeg_progressive *)(void *)((char *)b - at);
}

/* One row at a time. */
static int32_t go(struct fdl_jpeg_blocks *b, j_decompress_ptr c, uint32_t row,
                  int32_t rows, uint32_t column, uint32_t n,
                  struct fdl_jpeg_lane *lanes)
{
    struct fdl_jpeg_progressive *p = of_source(b);
    (void)rows;
    for (; p->row < row; p->row++) {
        if (!p->row_is_read)
            read_row(p, c, false);
        p->row_is_read = false;
    }
    p->column = column;
    p->left = n;
    p->to = lanes;
    lanes->row = 0;
    return 1;
}

/* Of all coefficients but the first. */
static void copy_block(const int16_t *from, JCOEF *to)
{
    for (int y = 0; y < DCTSIZE; y++)
        memcpy(to + 2 * DCTSIZE * y, from + 2 * DCTSIZE * y,
               DCTSIZE * sizeof(*to));
}

static void take_mcu(struct fdl_jpeg_progressive *p, JBLOCKROW *mcu,
                     uint8_t *last)
{
    for (uint32_t i = 0; i < p->n_places; i++) {
        const struct fdl_jpeg_place *place = &p->places[i];
        const struct fdl_jpeg_block_row *row = place->row;
        uint32_t at = place->at + p->column * place->step;
        uint64_t seen = row->seen[at];
        last[i] = (uint8_t)(63 - __builtin_clzll(seen | 1));
        if (seen != 0)
            copy_block(fdl_jpeg_block_at(row, at), mcu[i][0]);
        mcu[i][0][0] = row->dc[at];
    }
    p->column++;
}

static int32_t take(struct fdl_jpeg_blocks *b, j_decompress_ptr c)
{
    struct fdl_jpeg_progressive *p = of_source(b);
    uint32_t unit = FDL_MIN(fdl_jpeg_unit(c), p->left);
    if (!p->row_is_read)
        read_row(p, c, true);
    p->left -= unit;
    for (uint32_t m = 0; m < unit; m++)
        take_mcu(p, p->to->blocks[m], p->to->last[m]);
    return 0;
}

/* ---- For jpeg_rows.h ---------------------------------------------------- */

/* Blocks that fill up MCUs are in some scans. */
static uint32_t blocks_in_row(const jpeg_component_info *info)
{
    uint32_t wide = (uint32_t)info->h_samp_factor;
    return (info->width_in_blocks + wide - 1) / wide * wide;
}

static void take_rows(struct fdl_jpeg_progressive *p,
                      struct jpeg_decompress_struct *c)
{
    p->n_components = c->num_components;
    for (int i = 0; i < p->n_components; i++) {
        const jpeg_component_info *info = &c->comp_info[i];
        struct component *of = &p->components[i];
        uint32_t step = (uint32_t)info->h_samp_factor;
        size_t n = blocks_in_row(info);
        memset(of->missing, NOTHING_YET, sizeof(of->missing));
        for (int y = 0; y < info->v_samp_factor; y++) {
            struct fdl_jpeg_block_row *row = &of->rows[y];
            row->dc = take_zeros(c, n * sizeof(*row->dc));
            row->seen = take_zeros(c, n * sizeof(*row->seen));
            for (uint32_t x = 0; x < step; x++)
                p->places[p->n_places++] =
                    (struct fdl_jpeg_place){.row = row, .at = x, .step = step};
        }
    }
}

struct fdl_jpeg_progressive *fdl_jpeg_progressive_open(
    struct jpeg_decompress_struct *c, const uint8_t *end,
    struct fdl_jpeg_progressive_user user)
{
    struct fdl_jpeg_progressive *p = take_zeros(c, sizeof(*p));
    p->source = (struct fdl_jpeg_blocks){go, take};
    p->user = user;
    take_rows(p, c);
    if (!read_markers(p, c, end))
        return NULL;
    c->comps_in_scan = c->num_components;
    for (int i = 0; i < c->num_components; i++)
        c->cur_comp_info[i] = &c->comp_info[i];
    return p;
}

struct fdl_jpeg_blocks *fdl_jpeg_progressive_blocks(
    struct fdl_jpeg_progressive *p)
{
    return &p->source;
}

void fdl_jpeg_progressive_keep(struct fdl_jpeg_progressive *p,
                               struct jpeg_decompress_struct *c, uint32_t first,
                               uint32_t n)
{
    for (int i = 0; i < p->n_components; i++) {
        const jpeg_component_info *info = &c->comp_info[i];
        struct component *of = &p->components[i];
        uint32_t step = (uint32_t)info->h_samp_factor;
        size_t pairs = ((size_t)n * step + 1) / 2;
        size_t row = pairs * FDL_PAIR_COEFFICIENTS;
        of->pairs_bytes = row * (size_t)info->v_samp_factor * sizeof(int16_t);
        of->pairs = take_zeros(c, of->pairs_bytes);
        for (int y = 0; y < info->v_samp_factor; y++) {
            of->rows[y].pairs = of->pairs + (size_t)y * row;
            of->rows[y].first = first * step;
            of->rows[y].n = n * step;
        }
    }
}
