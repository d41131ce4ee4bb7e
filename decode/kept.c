/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes a box of an image, and gives its rows as often as they are needed. */
#include "decode/kept.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "decode/decoder_state.h"
#include "decode/kernels/alpha.h"

#include <string.h>

/* As render_sample.c's strips: between two looks at the deadline. */
#define STRIP_BYTES 131072

/* ---- Keeping ------------------------------------------------------------ */

static int32_t read_rows(struct fdl_decoder *d, struct fdl_render_cost *cost)
{
    struct fdl_kept *kept = &d->kept;
    int32_t height = kept->box.height;
    int32_t strip = (int32_t)FDL_MAX(STRIP_BYTES / kept->stride, 1);
    int64_t now = fdl_now_ns();
    for (int32_t done = 0; done < height;) {
        int32_t n = FDL_MIN(strip, height - done);
        int32_t status = d->source->read(
            d->source_self, kept->rows.data + (size_t)done * kept->stride,
            kept->stride, n);
        if (status)
            return status;
        done += n;
        int64_t then = fdl_now_ns();
        cost->decode_ns += then - now;
        cost->clock_reads++;
        now = then;
        status = fdl_deadline_check(&d->deadline, now);
        if (status)
            return status;
    }
    return FEEDLINE_OK;
}

int32_t fdl_decoder_keep(struct fdl_decoder *d, const struct fdl_box *upright,
                         int32_t channels, struct fdl_render_cost *cost)
{
    struct fdl_kept *kept = &d->kept;
    const struct fdl_format *source = d->source;
    struct fdl_box need =
        fdl_turn_box(&d->turn, upright, d->info.width, d->info.height);
    fdl_assert(source && source != &fdl_kept_source);
    kept->alpha = FDL_HAS_ALPHA(channels) && source->alpha &&
                  source->alpha(d->source_self, channels);
    int32_t status = source->begin(d->source_self, &need, &kept->box);
    if (status)
        return status;
    kept->pixel = (size_t)d->info.channels + kept->alpha;
    kept->stride = (size_t)kept->box.width * kept->pixel;
    status = fdl_scratch_grow_rows(&kept->rows, (size_t)kept->box.height,
                                   kept->stride, FDL_ROW_SLACK,
                                   "an image of several views");
    if (!status)
        status = read_rows(d, cost);
    if (status)
        return status;
    cost->pixels += (uint64_t)kept->box.width * (uint64_t)kept->box.height;
    kept->truncated = source->truncated && source->truncated(d->source_self);
    if (source->parts)
        source->parts(d->source_self, &cost->parts);
    fdl_decoder_abort(d);
    d->source = &fdl_kept_source;
    d->source_self = kept;
    return FEEDLINE_OK;
}

void fdl_kept_fini(struct fdl_kept *kept)
{
    fdl_scratch_fini(&kept->rows);
}

/* ---- Giving ------------------------------------------------------------- */

static bool has_alpha(void *self, int32_t channels)
{
    const struct fdl_kept *kept = self;
    (void)channels; /* those of fdl_decoder_keep */
    return kept->alpha;
}

static int32_t begin(void *self, const struct fdl_box *need,
                     struct fdl_box *have)
{
    struct fdl_kept *kept = self;
    fdl_assert(need->x >= kept->box.x && need->y >= kept->box.y);
    kept->have = *have = *need;
    kept->row = need->y - kept->box.y;
    return FEEDLINE_OK;
}

static int32_t give_rows(void *self, uint8_t *rows, size_t stride, int32_t n)
{
    struct fdl_kept *kept = self;
    size_t skip = (size_t)(kept->have.x - kept->box.x) * kept->pixel;
    size_t bytes = (size_t)kept->have.width * kept->pixel;
    for (int32_t i = 0; i < n; i++, kept->row++)
        memcpy(rows + (size_t)i * stride,
               kept->rows.data + (size_t)kept->row * kept->stride + skip,
               bytes);
    return FEEDLINE_OK;
}

static bool was_truncated(const void *self)
{
    const struct fdl_kept *kept = self;
    return kept->truncated;
}

static void end(void *self)
{
    (void)self; /* the next view begins anew */
}

const struct fdl_format fdl_kept_source = {
    .alpha = has_alpha,
    .begin = begin,
    .read = give_rows,
    .truncated = was_truncated,
    .abort = end,
};
