/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders one sample: strips of source rows go through the resampler and the
 * last pass while they are in the second-level cache.
 *
 *   source --read--> strip --horizontal--> ring --vertical--> line --finish-->
 *                    128 KiB               rows that coming            dst
 *                                          outputs still need
 *
 * Only rows and columns that some tap of the wanted window touches are read. An
 * output row is made as soon as its last tap is in the ring, so it is written
 * once, in its final place and form, and no whole image exists anywhere.
 *
 * An image that is stored mirrored is turned upright by mirrored tables. If it
 * is stored on its side, its rows are the upright columns, while the rounding
 * between the passes must be that of upright rows; so the passes swap places,
 * and each step makes one column:
 *
 *   strip --copy--> ring --vertical--> line --horizontal--> column of an image
 *                                                 of the output's size
 *
 * Pillow 13 itself, but not torch, resamples columns first if that leaves much
 * less to do. With the limit `columns_first` the passes then swap once more:
 * which of them comes last, and whether rows or columns of the output are made,
 * are two independent questions.
 *
 * If the plan has pixel steps, the same code makes the small image that they
 * work on (plan/canvas.h), and the last pass follows them.
 *
 * Alpha is split from the rows and takes the same path as one more plane,
 * through kernels for one channel; so an image without alpha costs nothing, and
 * gets 255 in the last pass. Colours are multiplied by alpha before anything
 * mixes them, and divided by it afterwards (alpha.h).
 *
 * The clock is read twice per strip, a few times per image.
 */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "decode/decoder_state.h"
#include "decode/kernels/alpha.h"
#include "decode/kernels/colour.h"
#include "decode/kernels/levels.h"
#include "decode/plan/channels.h"
#include "decode/render_axes.h"

#include <inttypes.h>
#include <string.h>

/* Half of the smallest second-level cache there is. Strips of 4 to 32 KiB made
 * both halves of the work slower (resampling by 20 to 50 %: each change between
 * the two starts with the other's code and tables in the caches); from 64 KiB
 * to 1 MiB there is no difference beyond noise. */
#define STRIP_BYTES 131072

/* libjpeg-turbo writes rows that begin at a multiple of 16 bytes past the
 * caches, and they would be read back from memory. So no row of a strip does.
 */
#define STRIP_SHIFT 8

/* One render. */
struct render {
    struct fdl_decoder *d;
    const struct fdl_plan *plan;
    const struct fdl_output_format *format;
    const struct fdl_resample_kernels *kernels;
    fdl_finish_fn finish;
    void *dst;
    uint32_t pixel_steps;           /* that are carried out */
    uint8_t last[FDL_CHANNELS_MAX]; /* order of planes in the last pass */
    const uint8_t *order;           /* and now */
    int32_t channels;   /* that are resampled, without alpha: 1 or 3 */
    bool alpha;         /* is resampled too */
    bool multiplied;    /* colours are, with alpha, on their way */
    bool raw_ring;      /* the horizontal pass comes behind the vertical one */
    bool backwards;     /* rows come from the last one on */
    int32_t shift;      /* the source gives 1/2^shift of the image */
    struct fdl_box box; /* of the plan, in what the source gives */
    struct fdl_box have;
    size_t stride; /* of the strip */
    int32_t strip_rows;
    size_t skip;  /* bytes from the start of a strip row to the first tap */
    int32_t top;  /* source row of the first vertical tap */
    size_t plane; /* bytes */
    size_t ring_bytes; /* of a row in the ring */
    size_t alpha_at;   /* in there; bytes */
    int32_t ring_rows;
    int32_t row;  /* next, in the order of the vertical table */
    size_t pitch; /* of a row of the upright image; bytes */
};

/* ---- Buffers ------------------------------------------------------------ */

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

/* What the horizontal pass makes where it comes last, and for columns a planar
 * image of the output's size. */
static int32_t prepare_columns(struct render *r)
{
    struct fdl_decoder *d = r->d;
    size_t channels = (size_t)r->channels + r->alpha;
    int32_t status = FEEDLINE_OK;
    if (r->raw_ring)
        status = fdl_scratch_grow(&d->column, r->plane * channels, "a column");
    r->pitch = fdl_plane_bytes(r->format->width);
    if (!status && d->turn.transposed)
        status =
            fdl_scratch_grow_rows(&d->upright, (size_t)r->format->height,
                                  r->pitch * channels, 0, "an upright image");
    return status;
}

/* What alpha takes: a row of it, or one for images that have none. */
static int32_t prepare_alpha(struct render *r, size_t width, size_t overread)
{
    struct fdl_decoder *d = r->d;
    if (r->alpha)
        return fdl_scratch_grow(&d->alpha, width + overread, "a row of alpha");
    if (!FDL_HAS_ALPHA(r->format->channels))
        return FEEDLINE_OK;
    int32_t status = fdl_scratch_grow(
        &d->opaque, fdl_plane_bytes(r->format->width), "a row of alpha");
    if (!status)
        memset(d->opaque.data, 255, d->opaque.bytes);
    return status;
}

static int32_t prepare_buffers(struct render *r)
{
    struct fdl_decoder *d = r->d;
    size_t width = (size_t)r->have.width;
    size_t file_channels = (size_t)d->info.channels + r->alpha;
    size_t channels = (size_t)r->channels;
    size_t overread =
        ((size_t)d->horizontal.taps + FDL_TAP_BLOCK) * channels + FDL_ROW_SLACK;

    r->stride = (width * file_channels + FDL_CACHE_LINE - 1) &
                ~(size_t)(FDL_CACHE_LINE - 1);
    size_t rows = FDL_MAX(STRIP_BYTES / r->stride, 1);
    r->strip_rows = (int32_t)FDL_MIN(rows, (size_t)r->have.height);
    r->skip = (size_t)(r->box.x + d->horizontal.origin - r->have.x) * channels;
    r->top = r->box.y + d->vertical.origin;
    r->plane = fdl_plane_bytes(d->horizontal.key.count);
    r->ring_rows = ring_rows(&d->vertical);
    r->alpha_at = r->plane * channels;
    if (r->raw_ring)
        r->alpha_at = fdl_plane_bytes(d->horizontal.extent * r->channels);
    r->ring_bytes = r->alpha_at;
    if (r->alpha)
        r->ring_bytes +=
            r->raw_ring ? fdl_plane_bytes(d->horizontal.extent) : r->plane;

    int32_t status =
        fdl_scratch_grow_rows(&d->strip, (size_t)r->strip_rows, r->stride,
                              overread + STRIP_SHIFT, "a strip of rows");
    if (!status)
        status =
            fdl_scratch_grow_rows(&d->ring, (size_t)r->ring_rows, r->ring_bytes,
                                  overread, "rows between the passes");
    if (!status)
        status = fdl_scratch_grow_rows(&d->line, 1, r->ring_bytes, overread,
                                       "a row");
    if (!status)
        status = prepare_alpha(r, width, overread);
    if (!status)
        status = prepare_columns(r);
    if (!status)
        status = fdl_scratch_grow_rows(&d->taps, (size_t)d->vertical.taps,
                                       sizeof(uint8_t *), 0, "row pointers");
    return status;
}

/* ---- Rows --------------------------------------------------------------- */

static uint8_t *ring_row(const struct render *r, int32_t row)
{
    size_t place = (size_t)(row % r->ring_rows);
    return r->d->ring.data + place * r->ring_bytes;
}

/* Row `row` of the output; its planes are `step` bytes apart. */
static void finish_row(const struct render *r, const uint8_t *line, size_t step,
                       int32_t row)
{
    int32_t colours = FDL_COLOURS(r->format->channels);
    const uint8_t *planes[FDL_CHANNELS_MAX];
    for (int32_t c = 0; c < colours; c++) /* gray is in all planes */
        planes[c] = line + (size_t)FDL_MIN(r->order[c], r->channels - 1) * step;
    for (int32_t c = colours; c < FDL_CHANNELS_MAX; c++)
        planes[c] =
            r->alpha ? line + (size_t)r->channels * step : r->d->opaque.data;
    r->finish(planes, &r->d->affine, r->format, row, r->dst);
}

/* The horizontal pass over a row and its alpha. */
static void resample_row(const struct render *r, const uint8_t *row,
                         const uint8_t *alpha, uint8_t *planes)
{
    const struct fdl_decoder *d = r->d;
    r->kernels->horizontal(&d->horizontal, row, r->channels, planes, r->plane);
    if (r->alpha)
        r->kernels->horizontal(&d->beside, alpha, 1,
                               planes + (size_t)r->channels * r->plane,
                               r->plane);
}

/* Divides resampled planes by alpha. */
static void divide_planes(const struct render *r, uint8_t *planes)
{
    for (size_t c = 0; c < (size_t)r->channels; c++)
        fdl_alpha_divide(planes + c * r->plane,
                         (size_t)r->d->horizontal.key.count,
                         planes + (size_t)r->channels * r->plane);
}

/* Column `x` of the upright image, from planes of it. */
static void put_column(const struct render *r, const uint8_t *line, int32_t x)
{
    struct fdl_decoder *d = r->d;
    size_t height = (size_t)r->format->height;
    for (size_t c = 0; c < (size_t)r->channels + r->alpha; c++) {
        const uint8_t *from = line + c * r->plane;
        uint8_t *to = d->upright.data + c * height * r->pitch + (size_t)x;
        for (size_t y = 0; y < height; y++)
            to[y * r->pitch] = from[y];
    }
}

static void finish_columns(const struct render *r)
{
    size_t step = (size_t)r->format->height * r->pitch;
    for (int32_t row = 0; row < r->format->height; row++)
        finish_row(r, r->d->upright.data + (size_t)row * r->pitch, step, row);
}

/* The planes of one row, or column, of the output; all its taps are in the
 * ring. */
static const uint8_t *make_line(const struct render *r)
{
    struct fdl_decoder *d = r->d;
    const struct fdl_axis *v = &d->vertical;
    int32_t start = v->start[r->row], taps = v->length[r->row];
    const uint8_t *line = ring_row(r, start);
    if (taps > 1) { /* one tap has the weight 1 */
        const uint8_t **rows = (const uint8_t **)(void *)d->taps.data;
        for (int32_t t = 0; t < taps; t++)
            rows[t] = ring_row(r, start + t);
        r->kernels->vertical(v, r->row, rows, d->line.data, r->ring_bytes);
        line = d->line.data;
    }
    if (r->raw_ring) {
        resample_row(r, line, line + r->alpha_at, d->column.data);
        if (r->multiplied)
            divide_planes(r, d->column.data);
        line = d->column.data;
    } else if (r->multiplied) {
        if (taps == 1) /* other rows may still need it as it is */
            memcpy(d->line.data, line, r->ring_bytes);
        divide_planes(r, d->line.data);
        line = d->line.data;
    }
    return line;
}

/* Makes one row, or column, of the output. */
static void emit_row(struct render *r)
{
    struct fdl_decoder *d = r->d;
    const struct fdl_axis *v = &d->vertical;
    const uint8_t *line = make_line(r);
    int32_t place = r->backwards ? v->key.count - 1 - r->row : r->row;
    if (d->turn.transposed)
        put_column(r, line, place);
    else
        finish_row(r, line, r->plane, place);
    r->row++;
}

/* From a row of the file to what is resampled, in place. */
static void convert_row(const struct render *r, uint8_t *row)
{
    struct fdl_decoder *d = r->d;
    size_t width = (size_t)r->have.width;
    if (r->alpha)
        fdl_alpha_split(row, width, d->info.channels, d->alpha.data);
    if (d->info.channels == 4)
        fdl_cmyk_to_rgb(row, width);
    if (d->info.channels > 1 && r->channels == 1)
        fdl_rgb_to_gray(row, width);
    if (r->multiplied)
        fdl_alpha_multiply(row, width, r->channels, d->alpha.data);
}

/* Takes row y of the image, the bytes of which are in the strip. */
static void take_row(struct render *r, uint8_t *row, int32_t y)
{
    struct fdl_decoder *d = r->d;
    const struct fdl_axis *v = &d->vertical;
    int32_t place = y - r->top;
    if (place < 0)
        return; /* the source had to begin higher */
    if (v->taps == 1 && r->row < v->key.count && place < v->start[r->row])
        return; /* nearest, and not this one */
    convert_row(r, row);
    const uint8_t *alpha = NULL;
    if (r->alpha)
        alpha = d->alpha.data + r->skip / (size_t)r->channels;
    uint8_t *to = ring_row(r, place);
    if (r->raw_ring) {
        size_t extent = (size_t)d->horizontal.extent;
        memcpy(to, row + r->skip, extent * (size_t)r->channels);
        if (r->alpha)
            memcpy(to + r->alpha_at, alpha, extent);
    } else {
        resample_row(r, row + r->skip, alpha, to);
    }
    while (r->row < v->key.count &&
           v->start[r->row] + v->length[r->row] <= place + 1)
        emit_row(r);
}

static int32_t render_rows(struct render *r, struct fdl_render_cost *cost,
                           int64_t now)
{
    struct fdl_decoder *d = r->d;
    uint8_t *strip = d->strip.data + STRIP_SHIFT;
    for (int32_t done = 0; done < r->have.height;) {
        int32_t n = FDL_MIN(r->strip_rows, r->have.height - done);
        int32_t status = d->source->read(d->source_self, strip, r->stride, n);
        if (status)
            return status;
        int64_t decoded = fdl_now_ns();
        cost->decode_ns += decoded - now;
        for (int32_t i = 0; i < n; i++)
            take_row(r, strip + (size_t)i * r->stride, r->have.y + done + i);
        done += n;
        now = fdl_now_ns();
        cost->augment_ns += now - decoded;
        cost->clock_reads += 2;
        status = fdl_deadline_check(&d->deadline, now);
        if (status)
            return status;
    }
    fdl_assert(r->row == d->vertical.key.count);
    if (d->turn.transposed) {
        finish_columns(r);
        cost->augment_ns += fdl_now_ns() - now;
        cost->clock_reads++;
    }
    return FEEDLINE_OK;
}

/* ---- Rendering ---------------------------------------------------------- */

static int32_t fail_size(int32_t width, int32_t height,
                         const struct fdl_output_format *f)
{
    return fdl_fail(FEEDLINE_EINVAL,
                    "the pipeline makes this image %" PRId32 "x%" PRId32
                    ", but the batch holds %" PRId32 "x%" PRId32,
                    width, height, f->width, f->height);
}

static int32_t check_plan(const struct fdl_decoder *d,
                          const struct fdl_plan *plan,
                          const struct fdl_output_format *f)
{
    const struct fdl_geometry *g = &plan->geometry;
    fdl_assert(g->box.x >= 0 && g->box.y >= 0 && g->box.width > 0 &&
               g->box.height > 0);
    struct fdl_image_info info;
    fdl_decoder_info(d, &info);
    fdl_assert(g->box.width <= info.width - g->box.x);
    fdl_assert(g->box.height <= info.height - g->box.y);
    fdl_assert(f->channels >= 1 && f->channels <= FDL_CHANNELS_MAX);
    if (g->window.width != f->width || g->window.height != f->height)
        return fail_size(g->window.width, g->window.height, f);
    return FEEDLINE_OK;
}

/* Tables for the plan. */
static int32_t prepare_tables(struct render *r)
{
    struct fdl_decoder *d = r->d;
    struct fdl_render_axes axes;
    fdl_render_axes(d, &r->plan->geometry, &axes);
    r->shift = axes.shift;
    r->box = axes.box;
    r->raw_ring = d->turn.transposed != axes.columns_first;
    r->backwards = axes.backwards;
    int32_t status = fdl_axis_prepare(&d->horizontal, &axes.horizontal);
    if (!status)
        status = fdl_axis_pack(&d->horizontal, &r->kernels->horizontal_packing,
                               r->channels);
    if (!status && r->alpha)
        status = fdl_axis_prepare(&d->beside, &axes.horizontal);
    if (!status && r->alpha)
        status = fdl_axis_pack(&d->beside, &r->kernels->horizontal_packing, 1);
    if (!status)
        status = fdl_axis_prepare(&d->vertical, &axes.vertical);
    if (!status)
        status = fdl_axis_pack(&d->vertical, &r->kernels->vertical_packing,
                               r->channels);
    return status;
}

static bool same_norm(const struct fdl_norm *a, const struct fdl_norm *b)
{
    return a->on == b->on && memcmp(a->mean, b->mean, sizeof(a->mean)) == 0 &&
           memcmp(a->std, b->std, sizeof(a->std)) == 0;
}

/* What the last pass does. Plans of one pipeline differ in geometry only: this
 * does something once. */
static void prepare_finish(struct fdl_decoder *d, const struct fdl_plan *plan,
                           const struct fdl_output_format *format)
{
    const struct fdl_norm *norm = &plan->norm;
    enum fdl_rounding rounding =
        plan->rounds ? plan->rounding : d->limits.rounding;
    bool floats = format->dtype != FEEDLINE_U8 && !plan->lookup;
    bool ready =
        d->affine_valid && d->rounding == rounding && same_norm(&d->norm, norm);
    if (floats && !ready) {
        fdl_affine_init(&d->affine, norm, rounding);
        d->norm = *norm;
        d->rounding = rounding;
        d->affine_valid = true;
    }
    if (plan->lookup)
        fdl_finish_set_lookup(fdl_kernels[fdl_cpu_level()].lookup, format,
                              plan->lookup, plan->lookup_bytes, &d->affine);
}

static fdl_finish_fn choose_finish(const struct fdl_plan *plan,
                                   const struct fdl_output_format *format)
{
    const struct fdl_kernels *k = &fdl_kernels[fdl_cpu_level()];
    if (plan->lookup)
        return fdl_finish_lookup(k->lookup, format, plan->lookup_bytes);
    return fdl_finish_choose_last(k->finish, format);
}

/* Whether there is alpha on the way. Where pixels are only picked or copied it
 * has nothing to do with their colours, and to torch it is one more channel. */
static void choose_alpha(struct render *r)
{
    const struct fdl_decoder *d = r->d;
    const struct fdl_geometry *g = &r->plan->geometry;
    r->alpha = FDL_HAS_ALPHA(r->format->channels) && d->source->alpha &&
               d->source->alpha(d->source_self, r->format->channels);
    r->multiplied = r->alpha && fdl_geometry_is_resampled(g) && !g->tensor &&
                    g->filter != FDL_FILTER_NEAREST;
}

static int32_t begin_source(struct render *r)
{
    struct fdl_decoder *d = r->d;
    if (r->shift > 0)
        d->source->shrink(d->source_self, r->shift);
    struct fdl_box need = {r->box.x + d->horizontal.origin,
                           r->box.y + d->vertical.origin, d->horizontal.extent,
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
    choose_alpha(r);
    status = prepare_tables(r);
    if (status)
        return status;

    int64_t begin = fdl_now_ns();
    cost->augment_ns = begin - start;
    cost->clock_reads = 2;
    status = begin_source(r);
    if (!status)
        status = prepare_buffers(r);
    if (!status)
        status = render_rows(r, cost, begin);
    cost->pixels = (uint64_t)r->have.width * (uint64_t)r->have.height;
    cost->truncated =
        d->source->truncated && d->source->truncated(d->source_self);
    if (d->source->parts)
        d->source->parts(d->source_self, &cost->parts);
    return status;
}

/* ---- Steps -------------------------------------------------------------- */

static int32_t decoded_channels(const struct fdl_plan *plan,
                                const struct fdl_output_format *format)
{
    return plan->channels ? plan->channels : format->channels;
}

static const uint8_t as_they_are[FDL_CHANNELS_MAX] = {0, 1, 2, 3};

/* Rendering goes to the canvas, as planes of bytes. */
static int32_t begin_canvas(struct render *r, struct fdl_output_format *drawing)
{
    const struct fdl_plan *plan = r->plan;
    const struct fdl_output_format *f = r->format;
    if (plan->width != f->width || plan->height != f->height)
        return fail_size(plan->width, plan->height, f);
    *drawing = (struct fdl_output_format){
        .width = plan->geometry.window.width,
        .height = plan->geometry.window.height,
        .channels = decoded_channels(plan, f),
        .dtype = FEEDLINE_U8,
    };
    int32_t status = fdl_canvas_begin(&r->d->canvas, drawing->width,
                                      drawing->height, drawing->channels);
    if (status)
        return status;
    r->format = drawing;
    r->dst = r->d->canvas.image.data;
    r->order = as_they_are;
    r->finish = fdl_finish_choose(fdl_kernels[fdl_cpu_level()].finish, drawing);
    return FEEDLINE_OK;
}

/* In place of rows of a source. */
static void draw(const struct render *r, struct fdl_render_cost *cost)
{
    int64_t begin = fdl_now_ns();
    r->d->drawing->draw(r->d->drawing, r->plan, &r->d->canvas);
    cost->augment_ns += fdl_now_ns() - begin;
    cost->clock_reads += 2;
}

/* The last pass over the canvas. */
static void finish_canvas(struct render *r)
{
    const struct fdl_image *image = &r->d->canvas.image;
    r->finish = choose_finish(r->plan, r->format);
    r->order = r->last;
    r->channels = FDL_COLOURS(image->channels);
    r->alpha = FDL_HAS_ALPHA(image->channels);
    for (int32_t y = 0; y < image->height; y++)
        finish_row(r, fdl_image_row(image, 0, y), image->plane, y);
}

/* Time in custom operations is theirs, not augmentation. */
static int64_t custom_ns(const struct fdl_render_cost *cost)
{
    int64_t ns = 0;
    for (size_t i = 0; i < FDL_COUNT_OF(cost->custom); i++)
        ns += cost->custom[i].wall_ns;
    return ns;
}

/* The pixel steps [first, end). */
static int32_t run_pixel_steps(struct render *r, uint32_t first, uint32_t end,
                               struct fdl_render_cost *cost)
{
    struct fdl_canvas *canvas = &r->d->canvas;
    canvas->cost = cost;
    fdl_canvas_tell(canvas, FDL_STEP_AUGMENT);
    return fdl_steps_run(r->plan->steps + first, end - first, canvas);
}

/* Pixel steps from `first` on, the last pass, and finished steps. */
static int32_t run_to_end(struct render *r, uint32_t first,
                          struct fdl_render_cost *cost)
{
    const struct fdl_plan *plan = r->plan;
    if (r->pixel_steps > 0) {
        struct fdl_canvas *canvas = &r->d->canvas;
        int32_t status = run_pixel_steps(r, first, r->pixel_steps, cost);
        if (status)
            return status;
        fdl_assert(canvas->image.width == plan->width);
        fdl_assert(canvas->image.height == plan->height);
        finish_canvas(r);
    }
    for (uint32_t i = plan->n_pixel_steps; i < plan->n_steps; i++)
        plan->steps[i].kind->finish(&plan->steps[i], r->format, 0, 0, r->dst);
    return FEEDLINE_OK;
}

/* What the views share is done once, the rest for each of them. */
static int32_t run_views(struct render *r, struct fdl_render_cost *cost)
{
    const struct fdl_plan *plan = r->plan;
    struct fdl_canvas *canvas = &r->d->canvas;
    uint64_t bytes = fdl_output_bytes(r->format);
    int32_t status = run_pixel_steps(r, 0, plan->view_step, cost);
    if (status)
        return status;
    fdl_canvas_keep(canvas);
    for (uint32_t v = 0; v < plan->n_views && !status; v++) {
        fdl_canvas_begin_view(canvas, v);
        status = run_to_end(r, plan->view_step, cost);
        r->dst = (uint8_t *)r->dst + bytes;
    }
    return status;
}

static int32_t run_steps(struct render *r, struct fdl_render_cost *cost)
{
    int64_t begin = fdl_now_ns();
    int32_t status =
        r->plan->n_views > 1 ? run_views(r, cost) : run_to_end(r, 0, cost);
    if (status)
        return status;
    cost->augment_ns += fdl_now_ns() - begin - custom_ns(cost);
    cost->clock_reads += 2;
    return FEEDLINE_OK;
}

/* A last step that only exchanges planes is left to the last pass; not of an
 * image that is drawn, which needs the canvas. */
static void take_order(struct render *r)
{
    uint8_t from[3];
    if (r->d->drawing || r->plan->n_views > 1 ||
        !fdl_plan_ends_in_order(r->plan, from))
        return;
    memcpy(r->last, from, sizeof(from));
    r->pixel_steps--;
}

int32_t fdl_decoder_render(struct fdl_decoder *d, const struct fdl_plan *plan,
                           const struct fdl_output_format *format, void *dst,
                           struct fdl_render_cost *cost)
{
    fdl_assert(d->source);
    int32_t channels = decoded_channels(plan, format);
    struct fdl_output_format drawing; /* of the image that steps work on */
    struct render r = {
        .d = d,
        .plan = plan,
        .format = format,
        .kernels = fdl_kernels[fdl_cpu_level()].resample,
        .finish = choose_finish(plan, format),
        .dst = dst,
        .pixel_steps = plan->n_pixel_steps,
        .last = {0, 1, 2, 3},
        .channels =
            FDL_MIN(d->info.channels, FDL_COLOURS(channels)) > 1 ? 3 : 1,
    };
    struct fdl_render_cost spent = {0};
    int32_t status = FEEDLINE_OK;
    prepare_finish(d, plan, format);
    take_order(&r);
    r.order = r.last;
    if (r.pixel_steps > 0)
        status = begin_canvas(&r, &drawing);
    if (!status && d->drawing)
        draw(&r, &spent);
    else if (!status)
        status = render(&r, &spent);
    if (d->source != &fdl_kept_source)
        fdl_decoder_abort(d);
    if (!status && plan->n_steps > 0) {
        r.format = format;
        r.dst = dst;
        status = run_steps(&r, &spent);
    }
    fdl_finish_end();
    if (!status)
        *cost = spent;
    memcpy(cost->custom, spent.custom, sizeof(cost->custom));
    return status;
}
