/* SPDX-License-Identifier: Apache-2.0 */
/* libjpeg repeats samples at the image's edges where upsampling needs one past
 * them, and so do the planes. */
#include "decode/formats/jpeg_rows.h"

#include "base/clock.h"
#include "base/compiler.h"

#include <string.h>

#define LUMA_ZERO 128

/* ---- Time --------------------------------------------------------------- */

#define TIMED_ROWS 16        /* one of these */
#define MANY_TICKS (1 << 26) /* some 20 ms */
#define LAP_TICKS  (1 << 20) /* longer: other threads had the core */

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)fdl_now_ns();
#endif
}

static void begin_lap(struct fdl_jpeg_pace *p)
{
    if (FDL_UNLIKELY(p->timed))
        p->since = ticks();
}

static void end_lap(struct fdl_jpeg_pace *p, uint64_t *to)
{
    if (FDL_LIKELY(!p->timed))
        return;
    uint64_t now = ticks();
    if (now - p->since < LAP_TICKS)
        *to += now - p->since;
    p->since = now;
}

static void begin_row(struct fdl_jpeg_pace *p)
{
    p->timed = p->rows++ % TIMED_ROWS == 0;
    if (p->timed && p->unpack + p->transform > MANY_TICKS) {
        p->unpack /= 2;
        p->transform /= 2;
    }
    begin_lap(p);
}

int64_t fdl_jpeg_rows_unpacking(const struct fdl_jpeg_rows *r, int64_t ns)
{
    double unpack = (double)r->pace.unpack;
    double all = unpack + (double)r->pace.transform;
    return all > 0 ? (int64_t)((double)ns * (unpack / all)) : 0;
}

/* ---- Kinds of files ----------------------------------------------------- */

/* Chroma of up to two columns is not interpolated by libjpeg, nor is any at an
 * eighth. */
static bool is_interpolated(const jpeg_component_info *i)
{
    int side = FDL_JPEG_SIDE(&i[0]), small = FDL_JPEG_SIDE(&i[1]);
    bool across = i[0].h_samp_factor * side > small;
    bool down = i[0].v_samp_factor * side > small;
    return (!across || i[1].downsampled_width > 2) &&
           (side > 1 || !(across || down));
}

static bool is_colour(const struct jpeg_decompress_struct *c)
{
    const jpeg_component_info *i = c->comp_info;
    return c->num_components == FDL_JPEG_PLANES &&
           c->jpeg_color_space == JCS_YCbCr && c->out_color_space == JCS_RGB &&
           i[0].h_samp_factor <= 2 && i[0].v_samp_factor <= 2 &&
           i[1].h_samp_factor == 1 && i[1].v_samp_factor == 1 &&
           i[2].h_samp_factor == 1 && i[2].v_samp_factor == 1 &&
           is_interpolated(i);
}

static bool is_gray(const struct jpeg_decompress_struct *c)
{
    return c->num_components == 1 && c->jpeg_color_space == JCS_GRAYSCALE &&
           c->out_color_space == JCS_GRAYSCALE &&
           c->comp_info[0].h_samp_factor == 1 &&
           c->comp_info[0].v_samp_factor == 1;
}

bool fdl_jpeg_rows_can(const struct jpeg_decompress_struct *c)
{
    return fdl_jpeg_transform() && (is_colour(c) || is_gray(c));
}

static bool is_in_order(const struct jpeg_decompress_struct *c)
{
    for (int i = 0; i < c->num_components; i++) {
        if (c->cur_comp_info[i] != &c->comp_info[i])
            return false;
    }
    return true;
}

/* ---- Before the first row, without libjpeg ------------------------------ */

/* libjpeg-turbo has tables of its own for files that leave these out. */
#define USUAL_TABLES 2

/* As libjpeg has it: no code is all ones, and values have 15 bits at most. */
static bool is_table_sound(const JHUFF_TBL *t, int number, bool is_dc)
{
    uint32_t code = 0, n = 0;
    if (!t)
        return number < USUAL_TABLES;
    for (unsigned length = 1; length <= 16; length++) {
        code += t->bits[length];
        n += t->bits[length];
        if (code > 0 && code >= 1u << length)
            return false;
        code <<= 1;
    }
    for (uint32_t i = 0; is_dc && i < FDL_MIN(n, 256u); i++) {
        if (t->huffval[i] > 15)
            return false;
    }
    return n <= 256;
}

static bool has_tables(const struct jpeg_decompress_struct *c,
                       jpeg_component_info *info)
{
    int quant = info->quant_tbl_no, dc = info->dc_tbl_no, ac = info->ac_tbl_no;
    if (quant < 0 || quant >= NUM_QUANT_TBLS || dc < 0 || dc >= NUM_HUFF_TBLS ||
        ac < 0 || ac >= NUM_HUFF_TBLS)
        return false;
    info->quant_table = c->quant_tbl_ptrs[quant];
    return info->quant_table &&
           is_table_sound(c->dc_huff_tbl_ptrs[dc], dc, true) &&
           is_table_sound(c->ac_huff_tbl_ptrs[ac], ac, false);
}

static JDIMENSION quotient(JDIMENSION a, int b)
{
    return (a + (JDIMENSION)b - 1) / (JDIMENSION)b;
}

bool fdl_jpeg_rows_prepare(struct jpeg_decompress_struct *c)
{
    bool one = c->comps_in_scan == 1;
    jpeg_calc_output_dimensions(c);
    if (c->comps_in_scan != c->num_components || !fdl_jpeg_rows_can(c) ||
        !is_in_order(c))
        return false;
    c->MCUs_per_row = quotient(c->image_width, c->max_h_samp_factor * DCTSIZE);
    c->MCU_rows_in_scan =
        quotient(c->image_height, c->max_v_samp_factor * DCTSIZE);
    c->blocks_in_MCU = 0;
    for (int i = 0; i < c->comps_in_scan; i++) {
        jpeg_component_info *info = c->cur_comp_info[i];
        info->MCU_width = one ? 1 : info->h_samp_factor;
        info->MCU_height = one ? 1 : info->v_samp_factor;
        if (!has_tables(c, info))
            return false;
        for (int n = info->MCU_width * info->MCU_height; n > 0; n--)
            c->MCU_membership[c->blocks_in_MCU++] = i;
    }
    return true;
}

/* ---- Planes ------------------------------------------------------------- */

static void *take(struct jpeg_decompress_struct *c, size_t bytes)
{
    return c->mem->alloc_large((j_common_ptr)c, JPOOL_IMAGE, bytes);
}

static void make_plane(struct fdl_jpeg_rows *r, int i)
{
    const jpeg_component_info *info = &r->c->comp_info[i];
    struct fdl_jpeg_plane *p = &r->planes[i];
    p->columns = info->h_samp_factor;
    p->rows = info->v_samp_factor;
    p->side = FDL_JPEG_SIDE(info);
    p->wide = p->side * p->columns;
    p->high = p->side * p->rows;
    p->width = (int32_t)info->downsampled_width;
    p->height = (int32_t)info->downsampled_height;
    p->ring = (FDL_JPEG_ROWS + 1) * p->high;
    /* One MCU more: the last pair may have only one block. */
    size_t width = (size_t)(r->n + 1) * (size_t)p->wide;
    p->stride = width + 2 * FDL_TRANSFORM_MARGIN;
    p->samples = (uint8_t *)take(r->c, p->stride * (size_t)p->ring) +
                 FDL_TRANSFORM_MARGIN;
    p->pair = r->transform->pair[__builtin_ctz((unsigned)p->side)];
    memcpy(p->quant, info->quant_table->quantval, sizeof(p->quant));
}

static uint8_t *plane_row(const struct fdl_jpeg_plane *p, int32_t y)
{
    return p->samples + (size_t)(y % p->ring) * p->stride;
}

/* A sample more on either side, for upsampling across. */
static void extend(const struct fdl_jpeg_rows *r,
                   const struct fdl_jpeg_plane *p, int32_t mcu_row)
{
    int32_t n = FDL_MIN(r->n * p->wide, p->width - r->first * p->wide);
    uint8_t *row = plane_row(p, mcu_row * p->high);
    for (int32_t i = 0; i < p->high; i++, row += p->stride) {
        row[-1] = row[0];
        row[n] = row[n - 1];
    }
}

/* ---- Blocks ------------------------------------------------------------- */

#define MCU_BLOCKS (2 * 2 + 2)

/* Pairs of a unit: two MCUs, or four whose blocks are few. */
#define LANE_PAIRS (2 * MCU_BLOCKS)

/* Where the blocks of an MCU of a unit go. Luma's two columns are a pair; of
 * others, the same blocks of two MCUs are. A pair of the second kind lies with
 * the first MCU. */
static void place_blocks(const struct fdl_jpeg_rows *r, int lane, int mcu,
                         JBLOCKROW *blocks)
{
    int n = 0;
    int16_t *to = r->coefficients + lane * LANE_PAIRS * FDL_PAIR_COEFFICIENTS;
    for (int i = 0; i < r->n_planes; i++) {
        const struct fdl_jpeg_plane *p = &r->planes[i];
        for (int k = 0; k < p->rows * p->columns; k++, n++) {
            bool within = p->columns == 2;
            int pair = within ? MCU_BLOCKS * mcu + n / 2 * 2
                              : MCU_BLOCKS * (mcu / 2) + n;
            int side = within ? k % 2 : mcu % 2;
            blocks[n] = (JBLOCKROW)(void *)(to + pair * FDL_PAIR_COEFFICIENTS +
                                            side * 8);
        }
    }
}

static void place_pair(struct fdl_jpeg_rows *r, int plane, int row, int mcu,
                       int pair, int left, int right)
{
    const struct fdl_jpeg_plane *p = &r->planes[plane];
    r->pairs[r->n_pairs++] = (struct fdl_jpeg_pair_place){
        .plane = p,
        .mcu = mcu,
        .at = pair * FDL_PAIR_COEFFICIENTS,
        .block = {(uint8_t)left, (uint8_t)right},
        .zero = plane == 0 ? LUMA_ZERO : 0,
        .to = (size_t)(row * p->side) * p->stride + (size_t)(mcu * p->wide),
    };
}

/* Those of MCU `mcu` of a unit and the next one, as place_blocks has them. */
static void place_pairs(struct fdl_jpeg_rows *r, int mcu)
{
    const int next = D_MAX_BLOCKS_IN_MCU;
    int n = 0;
    for (int i = 0; i < r->n_planes; i++) {
        const struct fdl_jpeg_plane *p = &r->planes[i];
        for (int k = 0; k < p->rows; k++, n += p->columns) {
            int at = mcu * next + n;
            if (p->columns == 1) {
                place_pair(r, i, k, mcu, MCU_BLOCKS * (mcu / 2) + n, at,
                           at + next);
                continue;
            }
            for (int m = mcu; m < mcu + 2; m++, at += next)
                place_pair(r, i, k, m, MCU_BLOCKS * m + n, at, at + 1);
        }
    }
}

/* A unit that is `count` MCUs from MCU `mcu` of the row on. Where the right one
 * of a pair is past them, `last` of it is of an earlier one, which is not
 * wrong, as its blocks are zero. */
static void finish_unit(const struct fdl_jpeg_rows *r, int32_t lane,
                        int32_t mcu, int32_t count)
{
    const struct fdl_jpeg_lane *l = &r->lanes[lane];
    const uint8_t *last = l->last[0];
    int16_t *from = r->coefficients + lane * LANE_PAIRS * FDL_PAIR_COEFFICIENTS;
    uint8_t *begin[FDL_JPEG_PLANES];
    for (int i = 0; i < r->n_planes; i++) {
        const struct fdl_jpeg_plane *p = &r->planes[i];
        begin[i] = plane_row(p, (r->next + l->row) * p->high) +
                   (size_t)(mcu * p->wide);
    }
    for (int i = 0; i < r->n_pairs; i++) {
        const struct fdl_jpeg_pair_place *p = &r->pairs[i];
        if (FDL_UNLIKELY(p->mcu >= count))
            continue;
        p->plane->pair(from + p->at, p->plane->quant,
                       FDL_MAX(last[p->block[0]], last[p->block[1]]), p->zero,
                       begin[p->plane - r->planes] + p->to, p->plane->stride);
    }
}

static void go_to_rows(struct fdl_jpeg_rows *r)
{
    r->n_rows =
        r->source->go(r->source, r->c, (uint32_t)r->next, r->end - r->next,
                      (uint32_t)r->first, (uint32_t)r->n, r->lanes);
}

/* As many as the source goes to at once. */
static void next_rows(struct fdl_jpeg_rows *r)
{
    int32_t unit = (int32_t)fdl_jpeg_unit(r->c), done[FDL_JPEG_ROWS] = {0};
    begin_row(&r->pace);
    if (r->n_rows == 0)
        go_to_rows(r);
    for (int32_t left = r->n_rows * r->n; left > 0;) {
        int32_t lane = r->source->take(r->source, r->c);
        int32_t *at = &done[r->lanes[lane].row];
        int32_t count = FDL_MIN(r->n - *at, unit);
        end_lap(&r->pace, &r->pace.unpack);
        finish_unit(r, lane, *at, count);
        end_lap(&r->pace, &r->pace.transform);
        *at += count;
        left -= count;
    }
    for (int32_t row = r->next; row < r->next + r->n_rows; row++)
        for (int i = 1; i < r->n_planes && r->planes[0].columns > 1; i++)
            extend(r, &r->planes[i], row);
    r->next += r->n_rows;
    r->n_rows = 0;
}

/* ---- Rows --------------------------------------------------------------- */

/* Chroma's row of row y, and its neighbour that is nearer to y. */
static void chroma_rows(const struct fdl_jpeg_rows *r, int32_t y, int32_t *near,
                        int32_t *far)
{
    const struct fdl_jpeg_plane *p = &r->planes[1];
    *near = *far = y;
    if (r->n_planes == 1 || r->planes[0].high == p->high)
        return;
    *near = y / 2;
    *far = FDL_MIN(FDL_MAX(*near + (y % 2 ? 1 : -1), 0), p->height - 1);
}

/* The rows of MCUs that row y of pixels needs. */
static void mcu_rows(const struct fdl_jpeg_rows *r, int32_t y, int32_t *first,
                     int32_t *last)
{
    int32_t near, far, high = r->planes[r->n_planes - 1].high;
    chroma_rows(r, y, &near, &far);
    *first = FDL_MIN(near, far) / high;
    *last = FDL_MAX(near, far) / high;
}

static void find_rows(struct fdl_jpeg_rows *r, int32_t height)
{
    int32_t last, unused;
    mcu_rows(r, r->y, &r->next, &unused);
    mcu_rows(r, r->y + height - 1, &unused, &last);
    r->end = last + 1;
}

bool fdl_jpeg_rows_begin(struct fdl_jpeg_rows *r,
                         struct jpeg_decompress_struct *c,
                         struct fdl_jpeg_blocks *source, JDIMENSION *x,
                         JDIMENSION *width, JDIMENSION y, JDIMENSION height)
{
    if (!fdl_jpeg_rows_can(c) || !is_in_order(c))
        return false;
    r->transform = fdl_jpeg_transform();
    r->c = c;
    r->source = source;
    r->n_planes = c->num_components;
    const jpeg_component_info *luma = &c->comp_info[0];
    JDIMENSION wide = (JDIMENSION)(FDL_JPEG_SIDE(luma) * luma->h_samp_factor);
    JDIMENSION right = *x + *width;
    *x = *x / wide * wide;
    *width = right - *x;
    r->first = (int32_t)(*x / wide);
    r->n = (int32_t)((*width + wide - 1) / wide);
    r->width = *width;
    r->y = (int32_t)y;
    for (int i = 0; i < r->n_planes; i++)
        make_plane(r, i);
    size_t bytes =
        FDL_JPEG_LANES * LANE_PAIRS * FDL_PAIR_COEFFICIENTS * sizeof(int16_t);
    r->coefficients = take(c, bytes);
    memset(r->coefficients, 0, bytes);
    for (int i = 0; i < 2; i++)
        r->chroma[i] = take(c, r->planes[0].stride);
    memset(r->lanes, 0, sizeof(r->lanes));
    for (int i = 0; i < FDL_JPEG_LANES; i++)
        for (int m = 0; m < (int)fdl_jpeg_unit(c); m++)
            place_blocks(r, i, m, r->lanes[i].blocks[m]);
    r->n_pairs = 0;
    for (int m = 0; m < (int)fdl_jpeg_unit(c); m += 2)
        place_pairs(r, m);
    find_rows(r, (int32_t)height);
    go_to_rows(r);
    return true;
}

/* A row of chroma in the size of luma, or where it is. */
static const int8_t *chroma_row(const struct fdl_jpeg_rows *r, int i,
                                int32_t near, int32_t far)
{
    const struct fdl_jpeg_plane *luma = &r->planes[0], *p = &r->planes[i];
    const int8_t *row = (const int8_t *)plane_row(p, near);
    bool across = luma->wide > p->wide, down = luma->high > p->high;
    if (!across && !down)
        return row;
    r->transform->upsample[across][down](row, (const int8_t *)plane_row(p, far),
                                         far > near, (size_t)(r->n * p->wide),
                                         r->chroma[i - 1]);
    return r->chroma[i - 1];
}

void fdl_jpeg_rows_read(struct fdl_jpeg_rows *r, uint8_t *to)
{
    const struct fdl_jpeg_plane *luma = &r->planes[0];
    int32_t near = 0, far = 0, y = r->y++;
    chroma_rows(r, y, &near, &far);
    while (r->next <= FDL_MAX(near, far) / r->planes[r->n_planes - 1].high)
        next_rows(r);
    const uint8_t *from = plane_row(luma, y);
    begin_lap(&r->pace);
    if (r->n_planes == 1)
        memcpy(to, from, r->width);
    else
        r->transform->rgb(from, chroma_row(r, 1, near, far),
                          chroma_row(r, 2, near, far), r->width, to);
    end_lap(&r->pace, &r->pace.transform);
}
