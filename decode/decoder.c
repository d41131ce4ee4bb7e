/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample: strips of source rows go through the resampler and the last pass
 * while they are in the second-level cache.
 *
 *   source --read--> strip --horizontal--> ring --vertical--> line --finish-->
 *                    128 KiB               rows that coming            dst
 *                                          outputs still need
 *
 * Only rows and columns that some tap of the wanted window touches are read. An
 * output row is made as soon as its last tap is in the ring, so it is written
 * once, in its final place and form, and no whole image exists anywhere.
 *
 * The clock is read twice per strip, a few times per image.
 */
#include "decode/decoder.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/colour.h"
#include "decode/finish.h"
#include "decode/jpeg.h"
#include "decode/raw.h"
#include "decode/resample.h"
#include "decode/sniff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Half of the smallest second-level cache there is. Strips of 4 to 32 KiB made
 * both halves of the work slower (resampling by 20 to 50 %: each change between
 * the two starts with the other's code and tables in the caches); from 64 KiB
 * to 1 MiB there is no difference beyond noise (checkdec --bench). */
#define STRIP_BYTES 131072

struct buffer {
    uint8_t *data;
    size_t bytes;
};

struct fdl_decoder {
    struct fdl_decode_limits limits;
    struct fdl_jpeg *jpeg;
    struct fdl_raw raw;
    const struct fdl_source *source; /* of the open image; NULL: none */
    void *source_self;
    struct fdl_image_info info;

    struct fdl_axis horizontal, vertical;
    struct fdl_plan affine_plan; /* the one that affine was made for */
    struct fdl_affine affine;
    bool affine_valid;
    struct buffer strip, ring, line, taps;
};

/* One render. */
struct render {
    struct fdl_decoder *d;
    const struct fdl_plan *plan;
    const struct fdl_output_format *format;
    const struct fdl_resample_kernels *kernels;
    fdl_finish_fn finish;
    void *dst;
    int32_t channels; /* that are resampled: 1 or 3 */
    struct fdl_box have;
    size_t stride; /* of the strip */
    int32_t strip_rows;
    size_t skip;  /* bytes from the start of a strip row to the first tap */
    int32_t top;  /* source row of the first vertical tap */
    size_t plane; /* bytes */
    int32_t ring_rows;
    int32_t row; /* next of the output */
};

/* ---- Buffers ------------------------------------------------------------ */

/* At least n bytes, of any content, all initialised. */
static int32_t grow(struct buffer *b, size_t n, const char *what)
{
    if (n <= b->bytes)
        return FEEDLINE_OK;
    free(b->data);
    b->bytes = 0;
    b->data = fdl_alloc_aligned(n);
    if (!b->data)
        return fdl_fail_memory(n, what);
    b->bytes = n;
    memset(b->data, 0, n);
    return FEEDLINE_OK;
}

static int32_t grow_rows(struct buffer *b, size_t rows, size_t row_bytes,
                         size_t extra, const char *what)
{
    size_t n;
    if (!fdl_mul_size(rows, row_bytes, &n) || !fdl_add_size(n, extra, &n))
        return fdl_fail_memory(UINT64_MAX, what);
    return grow(b, n, what);
}

/* Rows that are in the ring at once: from the first tap of an output to the
 * last row that was read for it or any before it. */
static int32_t ring_rows(const struct fdl_axis *v)
{
    int32_t rows = 1, end = 0;
    for (int32_t i = 0; i < v->key.count; i++) {
        end = FDL_MAX(end, v->start[i] + v->length[i]);
        rows = FDL_MAX(rows, end - v->start[i]);
    }
    return rows;
}

static int32_t prepare_buffers(struct render *r)
{
    struct fdl_decoder *d = r->d;
    size_t width = (size_t)r->have.width;
    size_t file_channels = (size_t)d->info.channels;
    size_t channels = (size_t)r->channels;
    size_t overread =
        ((size_t)d->horizontal.taps + FDL_TAP_BLOCK) * channels + FDL_ROW_SLACK;

    r->stride = (width * file_channels + FDL_CACHE_LINE - 1) &
                ~(size_t)(FDL_CACHE_LINE - 1);
    size_t rows = FDL_MAX(STRIP_BYTES / r->stride, 1);
    r->strip_rows = (int32_t)FDL_MIN(rows, (size_t)r->have.height);
    r->skip =
        (size_t)(r->plan->geometry.box.x + d->horizontal.origin - r->have.x) *
        channels;
    r->top = r->plan->geometry.box.y + d->vertical.origin;
    r->plane = fdl_plane_bytes(d->horizontal.key.count);
    r->ring_rows = ring_rows(&d->vertical);

    int32_t status = grow_rows(&d->strip, (size_t)r->strip_rows, r->stride,
                               overread, "a strip of rows");
    if (!status)
        status = grow_rows(&d->ring, (size_t)r->ring_rows, r->plane * channels,
                           0, "resampled rows");
    if (!status)
        status = grow(&d->line, r->plane * channels, "a row");
    if (!status)
        status = grow_rows(&d->taps, (size_t)d->vertical.taps,
                           sizeof(uint8_t *), 0, "row pointers");
    return status;
}

/* ---- Rows --------------------------------------------------------------- */

static uint8_t *ring_row(const struct render *r, int32_t row)
{
    size_t place = (size_t)(row % r->ring_rows);
    return r->d->ring.data + place * r->plane * (size_t)r->channels;
}

/* Makes one output row; all its taps are in the ring. */
static void emit_row(struct render *r)
{
    struct fdl_decoder *d = r->d;
    const struct fdl_axis *v = &d->vertical;
    int32_t start = v->start[r->row], taps = v->length[r->row];
    const uint8_t *line = ring_row(r, start);
    if (taps > 1) { /* one tap has the weight 1 */
        const uint8_t **rows = (const uint8_t **)(void *)d->taps.data;
        for (int32_t t = 0; t < taps; t++)
            rows[t] = ring_row(r, start + t);
        r->kernels->vertical(v, r->row, rows, d->line.data,
                             r->plane * (size_t)r->channels);
        line = d->line.data;
    }
    size_t step = r->channels == 1 ? 0 : r->plane; /* gray is in all planes */
    const uint8_t *planes[FDL_CHANNELS_MAX] = {line, line + step,
                                               line + 2 * step};
    r->finish(planes, &d->affine, r->format, r->row, r->dst);
    r->row++;
}

/* Takes row y of the image, the bytes of which are in the strip. */
static void take_row(struct render *r, uint8_t *row, int32_t y)
{
    struct fdl_decoder *d = r->d;
    int32_t place = y - r->top;
    if (place < 0)
        return; /* the source had to begin higher */
    if (d->info.channels == 4)
        fdl_cmyk_to_rgb(row, (size_t)r->have.width);
    if (d->info.channels > 1 && r->channels == 1)
        fdl_rgb_to_gray(row, (size_t)r->have.width);
    r->kernels->horizontal(&d->horizontal, row + r->skip, r->channels,
                           ring_row(r, place), r->plane);
    const struct fdl_axis *v = &d->vertical;
    while (r->row < v->key.count &&
           v->start[r->row] + v->length[r->row] <= place + 1)
        emit_row(r);
}

static int32_t render_rows(struct render *r, struct fdl_render_cost *cost,
                           int64_t now)
{
    struct fdl_decoder *d = r->d;
    for (int32_t done = 0; done < r->have.height;) {
        int32_t n = FDL_MIN(r->strip_rows, r->have.height - done);
        int32_t status =
            d->source->read(d->source_self, d->strip.data, r->stride, n);
        if (status)
            return status;
        int64_t decoded = fdl_now_ns();
        cost->decode_ns += decoded - now;
        for (int32_t i = 0; i < n; i++)
            take_row(r, d->strip.data + (size_t)i * r->stride,
                     r->have.y + done + i);
        done += n;
        now = fdl_now_ns();
        cost->augment_ns += now - decoded;
        cost->clock_reads += 2;
    }
    fdl_assert(r->row == d->vertical.key.count);
    return FEEDLINE_OK;
}

/* ---- Rendering ---------------------------------------------------------- */

static int32_t check_plan(const struct fdl_decoder *d,
                          const struct fdl_plan *plan,
                          const struct fdl_output_format *f)
{
    const struct fdl_geometry *g = &plan->geometry;
    fdl_assert(g->box.x >= 0 && g->box.y >= 0 && g->box.width > 0 &&
               g->box.height > 0);
    fdl_assert(g->box.width <= d->info.width - g->box.x);
    fdl_assert(g->box.height <= d->info.height - g->box.y);
    fdl_assert(f->channels == 1 || f->channels == 3);
    if (g->window.width != f->width || g->window.height != f->height)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the pipeline makes this image %" PRId32 "x%" PRId32
                        ", but the batch holds %" PRId32 "x%" PRId32,
                        g->window.width, g->window.height, f->width, f->height);
    return FEEDLINE_OK;
}

/* Tables for the plan. */
static int32_t prepare_tables(struct render *r)
{
    struct fdl_decoder *d = r->d;
    const struct fdl_geometry *g = &r->plan->geometry;
    struct fdl_axis_key horizontal = {.in = g->box.width,
                                      .out = g->resize_width,
                                      .first = g->window.x,
                                      .count = g->window.width,
                                      .mirror = g->flip};
    struct fdl_axis_key vertical = {.in = g->box.height,
                                    .out = g->resize_height,
                                    .first = g->window.y,
                                    .count = g->window.height};
    int32_t status = fdl_axis_prepare(&d->horizontal, &horizontal);
    if (!status)
        status = fdl_axis_pack(&d->horizontal, &r->kernels->horizontal_packing,
                               r->channels);
    if (!status)
        status = fdl_axis_prepare(&d->vertical, &vertical);
    if (!status)
        status = fdl_axis_pack(&d->vertical, &r->kernels->vertical_packing,
                               r->channels);
    return status;
}

/* Plans of one pipeline differ in geometry only: this does something once. */
static void prepare_affine(struct fdl_decoder *d, const struct fdl_plan *plan)
{
    const struct fdl_plan *old = &d->affine_plan;
    if (d->affine_valid && old->normalize == plan->normalize &&
        memcmp(old->mean, plan->mean, sizeof(plan->mean)) == 0 &&
        memcmp(old->std, plan->std, sizeof(plan->std)) == 0)
        return;
    fdl_affine_init(&d->affine, plan);
    d->affine_plan = *plan;
    d->affine_valid = true;
}

static int32_t begin_source(struct render *r)
{
    struct fdl_decoder *d = r->d;
    const struct fdl_box *box = &r->plan->geometry.box;
    struct fdl_box need = {box->x + d->horizontal.origin,
                           box->y + d->vertical.origin, d->horizontal.extent,
                           d->vertical.extent};
    return d->source->begin(d->source_self, &need, &r->have);
}

static int32_t render(struct render *r, struct fdl_render_cost *cost)
{
    struct fdl_decoder *d = r->d;
    int32_t status = check_plan(d, r->plan, r->format);
    if (status)
        return status;
    int64_t start = fdl_now_ns();
    status = prepare_tables(r);
    if (status)
        return status;
    prepare_affine(d, r->plan);

    int64_t begin = fdl_now_ns();
    cost->augment_ns = begin - start;
    cost->clock_reads = 2;
    status = begin_source(r);
    if (!status)
        status = prepare_buffers(r);
    if (!status)
        status = render_rows(r, cost, begin);
    cost->pixels = (uint64_t)r->have.width * (uint64_t)r->have.height;
    return status;
}

int32_t fdl_decoder_render(struct fdl_decoder *d, const struct fdl_plan *plan,
                           const struct fdl_output_format *format, void *dst,
                           struct fdl_render_cost *cost)
{
    fdl_assert(d->source);
    enum fdl_cpu_level level = fdl_cpu_level();
    struct render r = {
        .d = d,
        .plan = plan,
        .format = format,
        .kernels = fdl_resample_kernels(level),
        .finish = fdl_finish_choose(fdl_finish_kernels(level), format),
        .dst = dst,
        .channels = FDL_MIN(d->info.channels, format->channels) == 1 ? 1 : 3,
    };
    struct fdl_render_cost spent = {0};
    int32_t status = render(&r, &spent);
    fdl_decoder_abort(d);
    if (!status)
        *cost = spent;
    return status;
}

/* ---- Opening ------------------------------------------------------------ */

int32_t fdl_decoder_create(const struct fdl_decode_limits *limits,
                           struct fdl_decoder **out)
{
    *out = NULL;
    struct fdl_decoder *d = calloc(1, sizeof(*d));
    if (!d)
        return fdl_fail_memory(sizeof(*d), "a decoder");
    d->limits = *limits;
    int32_t status = fdl_jpeg_create(limits, &d->jpeg);
    if (status) {
        fdl_decoder_destroy(d);
        return status;
    }
    *out = d;
    return FEEDLINE_OK;
}

void fdl_decoder_destroy(struct fdl_decoder *d)
{
    if (!d)
        return;
    fdl_jpeg_destroy(d->jpeg);
    fdl_axis_fini(&d->horizontal);
    fdl_axis_fini(&d->vertical);
    free(d->strip.data);
    free(d->ring.data);
    free(d->line.data);
    free(d->taps.data);
    free(d);
}

int32_t fdl_decoder_open(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                         struct fdl_image_info *info)
{
    fdl_decoder_abort(d);
    enum fdl_format format = bytes->format;
    if (format == FDL_FORMAT_UNKNOWN)
        format = fdl_sniff(bytes->data, bytes->size);
    int32_t status;
    if (format == FDL_FORMAT_RAW) {
        status = fdl_raw_open(&d->raw, bytes, &d->limits, &d->info);
        d->source = &fdl_raw_source;
        d->source_self = &d->raw;
    } else if (format == FDL_FORMAT_JPEG) {
        status = fdl_jpeg_open(d->jpeg, bytes, &d->info);
        d->source = &fdl_jpeg_source;
        d->source_self = d->jpeg;
    } else {
        return fdl_fail(FEEDLINE_EDECODE,
                        "offset 0: this is %s, and only JPEG is decoded",
                        fdl_sniff_name(bytes->data, bytes->size));
    }
    if (status) {
        d->source = NULL;
        return status;
    }
    *info = d->info;
    return FEEDLINE_OK;
}

void fdl_decoder_abort(struct fdl_decoder *d)
{
    if (d->source)
        d->source->abort(d->source_self);
    d->source = NULL;
}

uint64_t fdl_decoder_memory(const struct fdl_decoder *d)
{
    return sizeof(*d) + d->strip.bytes + d->ring.bytes + d->line.bytes +
           d->taps.bytes + d->horizontal.capacity +
           d->horizontal.packed_capacity + d->vertical.capacity +
           d->vertical.packed_capacity + fdl_jpeg_memory(d->jpeg);
}

uint64_t fdl_output_bytes(const struct fdl_output_format *f)
{
    uint64_t element = f->dtype == FEEDLINE_F32 ? sizeof(float) : 1;
    return (uint64_t)f->width * (uint64_t)f->height * (uint64_t)f->channels *
           element;
}
