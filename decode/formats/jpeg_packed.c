/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks are asked for MCU by MCU, as libjpeg does. A lane is a row of blocks
 * that the MCUs of a row run through: it knows where its row begins, and keeps
 * open the segment that the last block came from.
 */
#include "decode/formats/jpeg_packed.h"

#include "base/compiler.h"
#include "base/status.h"

#include <inttypes.h>
#include <jpegint.h>
#include <string.h>

struct lane {
    const struct fdl_packed_plane *plane;
    const uint8_t *lengths, *data; /* of its row */
    uint32_t row;
    uint32_t next;  /* segment of the row; the one before it is open */
    uint64_t ahead; /* bytes of the row before `next` */
    struct fdl_segment *segment;
};

struct block {
    struct lane *lane;
    uint32_t column, columns; /* in an MCU */
};

struct fdl_jpeg_packed {
    struct jpeg_entropy_decoder pub; /* first: what libjpeg sees */
    struct fdl_jpeg_blocks source;
    void (*fail)(j_decompress_ptr c);
    const uint8_t *file;
    const struct fdl_packed *packed;
    uint32_t row, column; /* of the next MCU */
    uint32_t left;        /* to be taken */
    struct fdl_jpeg_lane *to;
    uint32_t n_lanes, n_blocks;
    struct lane lanes[D_MAX_BLOCKS_IN_MCU];
    uint32_t rows[D_MAX_BLOCKS_IN_MCU]; /* of its plane in an MCU, by lane */
    struct block blocks[D_MAX_BLOCKS_IN_MCU];
};

/* Only forward: libjpeg and jpeg_rows.h go from top to bottom. */
static void to_row(struct lane *l, uint32_t row)
{
    uint32_t n = fdl_packed_segments(l->plane);
    uint64_t skipped = (uint64_t)n * (row - l->row);
    l->data += fdl_packed_length(l->lengths, skipped);
    l->lengths += 2 * skipped;
    l->row = row;
    l->next = 0;
    l->ahead = 0;
}

/* Opens segment i of the row. All of them lie in the plane, as their lengths
 * add up to it. */
static bool open_segment(struct fdl_jpeg_packed *e, struct lane *l, uint32_t i)
{
    const struct fdl_packed *p = e->packed;
    if (i < l->next)
        l->next = 0, l->ahead = 0;
    l->ahead +=
        fdl_packed_length(l->lengths + 2 * (size_t)l->next, i - l->next);
    const uint8_t *data = l->data + l->ahead;
    uint64_t size = fdl_packed_length(l->lengths + 2 * (size_t)i, 1);
    size_t readable = (size_t)(p->tail + p->tail_bytes - data);
    l->ahead += size;
    l->next = i + 1;
    if (fdl_segment_open(l->segment, data, size, readable,
                         fdl_packed_blocks(l->plane, i)))
        return true;
    fdl_fail(FEEDLINE_EDECODE,
             "offset %" PRIu64 ": coefficients of a packed JPEG are damaged",
             (uint64_t)(data - e->file));
    return false;
}

/* The MCU at e->column into blocks whose rows are `stride` coefficients apart.
 */
static void read_mcu(struct fdl_jpeg_packed *e, j_decompress_ptr c,
                     JBLOCKROW *mcu, size_t stride, uint8_t *last)
{
    for (uint32_t i = 0; i < e->n_blocks; i++) {
        const struct block *b = &e->blocks[i];
        uint32_t at = e->column * b->columns + b->column;
        uint32_t segment = at / FDL_SEGMENT_BLOCKS;
        if (FDL_UNLIKELY(b->lane->next != segment + 1) &&
            !open_segment(e, b->lane, segment))
            e->fail(c);
        last[i] = (uint8_t)fdl_segment_block(
            b->lane->segment, at % FDL_SEGMENT_BLOCKS, mcu[i][0], stride);
    }
}

/* The row of MCUs that e is in: its lanes. */
static void begin_row(struct fdl_jpeg_packed *e)
{
    for (uint32_t i = 0, k = 0; i < e->n_lanes; i++) {
        k = i > 0 && e->lanes[i].plane == e->lanes[i - 1].plane ? k + 1 : 0;
        to_row(&e->lanes[i], e->row * e->rows[i] + k);
    }
}

static void step(struct fdl_jpeg_packed *e, j_decompress_ptr c)
{
    if (++e->column < c->MCUs_per_row)
        return;
    e->column = 0;
    if (++e->row < c->MCU_rows_in_scan)
        begin_row(e);
}

/* ---- For libjpeg, and for jpeg_rows.h ------------------------------------ */

static boolean decode_mcu(j_decompress_ptr c, JBLOCKROW *mcu)
{
    struct fdl_jpeg_packed *e = (struct fdl_jpeg_packed *)c->entropy;
    uint8_t last[D_MAX_BLOCKS_IN_MCU];
    if (mcu && e->column >= c->master->first_iMCU_col &&
        e->column <= c->master->last_iMCU_col)
        read_mcu(e, c, mcu, DCTSIZE, last);
    step(e, c);
    return TRUE;
}

static struct fdl_jpeg_packed *of_source(struct fdl_jpeg_blocks *b)
{
    const size_t at = offsetof(struct fdl_jpeg_packed, source);
    return (struct fdl_jpeg_packed *)(void *)((char *)b - at);
}

/* One row at a time: others would gain nothing. */
static int32_t go(struct fdl_jpeg_blocks *b, j_decompress_ptr c, uint32_t row,
                  int32_t rows, uint32_t column, uint32_t n,
                  struct fdl_jpeg_lane *lanes)
{
    struct fdl_jpeg_packed *e = of_source(b);
    (void)c;
    (void)rows;
    if (e->row != row) {
        e->row = row;
        begin_row(e);
    }
    e->column = column;
    e->left = n;
    e->to = lanes;
    lanes->row = 0;
    return 1;
}

static int32_t take(struct fdl_jpeg_blocks *b, j_decompress_ptr c)
{
    struct fdl_jpeg_packed *e = of_source(b);
    uint32_t unit = FDL_MIN(fdl_jpeg_unit(c), e->left);
    e->left -= unit;
    for (uint32_t m = 0; m < unit; m++) {
        read_mcu(e, c, e->to->blocks[m], 2 * DCTSIZE, e->to->last[m]);
        step(e, c);
    }
    return 0;
}

static void start_pass(j_decompress_ptr c)
{
    (void)c;
}

/* ---- Attaching ----------------------------------------------------------- */

bool fdl_jpeg_packed_is_of(const struct fdl_packed *p,
                           const struct jpeg_decompress_struct *c)
{
    if (c->progressive_mode || c->arith_code || c->data_precision != 8 ||
        c->comps_in_scan != c->num_components ||
        (unsigned)c->num_components != p->n_planes)
        return false;
    for (unsigned i = 0; i < p->n_planes; i++) {
        const jpeg_component_info *info = c->cur_comp_info[i];
        if (info != &c->comp_info[i] ||
            c->MCUs_per_row * (JDIMENSION)info->MCU_width !=
                p->planes[i].blocks_wide ||
            c->MCU_rows_in_scan * (JDIMENSION)info->MCU_height !=
                p->planes[i].blocks_high)
            return false;
    }
    return true;
}

static void make_lanes(struct fdl_jpeg_packed *e, j_decompress_ptr c)
{
    for (unsigned i = 0; i < e->packed->n_planes; i++) {
        const struct fdl_packed_plane *plane = &e->packed->planes[i];
        uint32_t rows = (uint32_t)c->comp_info[i].MCU_height;
        uint32_t columns = (uint32_t)c->comp_info[i].MCU_width;
        for (uint32_t k = 0; k < rows; k++) {
            struct lane *l = &e->lanes[e->n_lanes];
            e->rows[e->n_lanes++] = rows;
            *l = (struct lane){
                .plane = plane, .lengths = plane->lengths, .data = plane->data};
            l->segment = c->mem->alloc_large((j_common_ptr)c, JPOOL_IMAGE,
                                             sizeof(*l->segment));
            for (uint32_t m = 0; m < columns; m++)
                e->blocks[e->n_blocks++] = (struct block){l, m, columns};
        }
    }
}

struct fdl_jpeg_packed *fdl_jpeg_packed_attach(
    struct jpeg_decompress_struct *c, const struct fdl_packed *p,
    const uint8_t *file, void (*fail)(struct jpeg_decompress_struct *c))
{
    if (!fdl_jpeg_packed_is_of(p, c)) {
        fdl_fail(FEEDLINE_EDECODE, "offset 0: packed JPEG: its headers do not "
                                   "describe its coefficients");
        return NULL;
    }
    struct fdl_jpeg_packed *e =
        c->mem->alloc_small((j_common_ptr)c, JPOOL_IMAGE, sizeof(*e));
    memset(e, 0, sizeof(*e));
    e->pub = (struct jpeg_entropy_decoder){
        .start_pass = start_pass,
        .decode_mcu = decode_mcu,
        .insufficient_data = FALSE,
    };
    e->source = (struct fdl_jpeg_blocks){go, take};
    e->fail = fail;
    e->file = file;
    e->packed = p;
    make_lanes(e, c);
    begin_row(e);
    c->entropy = &e->pub;
    return e;
}

struct fdl_jpeg_blocks *fdl_jpeg_packed_blocks(struct fdl_jpeg_packed *e)
{
    return &e->source;
}
