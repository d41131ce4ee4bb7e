/* SPDX-License-Identifier: Apache-2.0 */
/* Opens images of any format, and holds what render_sample.c needs. */
#include "base/compiler.h"
#include "base/status.h"
#include "decode/decoder_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int32_t fdl_decoder_create(const struct fdl_decode_limits *limits,
                           struct fdl_decoder **out)
{
    *out = NULL;
    struct fdl_decoder *d = calloc(1, sizeof(*d));
    if (!d)
        return fdl_fail_memory(sizeof(*d), "a decoder");
    d->limits = *limits;
    d->canvas.columns_first = limits->columns_first;
    int32_t status = limits->isolate ? fdl_isolated_create(limits, &d->isolated)
                                     : fdl_format_set_init(&d->formats, limits,
                                                           &d->deadline);
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
    fdl_format_set_fini(&d->formats);
    fdl_isolated_destroy(d->isolated);
    fdl_axis_fini(&d->horizontal);
    fdl_axis_fini(&d->vertical);
    fdl_axis_fini(&d->beside);
    fdl_scratch_fini(&d->strip);
    fdl_scratch_fini(&d->ring);
    fdl_scratch_fini(&d->line);
    fdl_scratch_fini(&d->taps);
    fdl_scratch_fini(&d->column);
    fdl_scratch_fini(&d->upright);
    fdl_scratch_fini(&d->alpha);
    fdl_scratch_fini(&d->opaque);
    fdl_canvas_fini(&d->canvas);
    fdl_kept_fini(&d->kept);
    free(d);
}

/* Reads the header of whatever it is; d->source is set where it has to be
 * aborted. */
static int32_t open_source(struct fdl_decoder *d,
                           const struct fdl_encoded *bytes)
{
    if (!d->isolated)
        return fdl_format_set_open(&d->formats, bytes, &d->source,
                                   &d->source_self, &d->info);
    d->source = &fdl_isolated_source;
    d->source_self = d->isolated;
    return d->source->open(d->source_self, bytes, &d->info);
}

/* Whether the image is what images here have to be. */
static int32_t check_mode(const struct fdl_decoder *d)
{
#define MODE(value, text) [value] = (text),
    static const char *const modes[] = {FDL_STORED_CHOICES(MODE)};
    const struct fdl_image_info *info = &d->info;
    enum fdl_stored wanted =
        d->limits.masks ? FDL_STORED_ANY : d->limits.stored_mode;
    if (d->limits.masks && info->channels != 1)
        return fdl_fail(FEEDLINE_EDECODE,
                        "offset 0: a mask has one channel, and this %s image "
                        "has %" PRId32,
                        info->format->name, info->channels);
    if (wanted == FDL_STORED_ANY || strcmp(info->mode, modes[wanted]) == 0)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EDECODE,
                    "offset 0: an image of Pillow's mode %s, where "
                    "stored_mode=%s takes no other",
                    info->mode, modes[wanted]);
}

void fdl_decoder_info(const struct fdl_decoder *d, struct fdl_image_info *info)
{
    *info = d->info;
    if (d->turn.transposed) {
        info->width = d->info.height;
        info->height = d->info.width;
    }
}

const struct fdl_palette *fdl_decoder_indices(struct fdl_decoder *d)
{
    const struct fdl_palette *palette = NULL;
    if (d->source->indices)
        palette = d->source->indices(d->source_self);
    if (palette)
        d->info.channels = 1;
    return palette;
}

int32_t fdl_decoder_open(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                         struct fdl_image_info *info)
{
    fdl_decoder_abort(d);
    fdl_deadline_start(&d->deadline, d->limits.max_image_ms);
    FDL_TSAN_READS(bytes->data, bytes->size);
    int32_t status = open_source(d, bytes);
    if (status) {
        fdl_decoder_abort(d);
        return status;
    }
    status = check_mode(d);
    if (status) {
        fdl_decoder_abort(d);
        return status;
    }
    if (!d->limits.apply_exif || d->info.orientation == 0)
        d->info.orientation = 1;
    d->turn = fdl_turn_of(d->info.orientation);
    fdl_decoder_info(d, info);
    return FEEDLINE_OK;
}

void fdl_decoder_abort(struct fdl_decoder *d)
{
    if (d->source)
        d->source->abort(d->source_self);
    d->source = NULL;
}

void fdl_decoder_tell(struct fdl_decoder *d, _Atomic uint32_t *step)
{
    d->canvas.step = step;
}

uint64_t fdl_decoder_memory(const struct fdl_decoder *d)
{
    return sizeof(*d) + fdl_canvas_memory(&d->canvas) + d->strip.bytes +
           d->ring.bytes + d->line.bytes + d->taps.bytes + d->column.bytes +
           d->upright.bytes + d->alpha.bytes + d->opaque.bytes +
           fdl_axis_memory(&d->beside) + fdl_axis_memory(&d->horizontal) +
           fdl_axis_memory(&d->vertical) + d->kept.rows.bytes +
           (d->isolated ? fdl_isolated_memory(d->isolated)
                        : fdl_format_set_memory(&d->formats));
}
