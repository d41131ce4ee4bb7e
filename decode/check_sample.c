/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be said of a whole file. Whether it can be decoded, render_sample.c
 * finds out as well; damage that a decoder passes over only shows where all
 * rows are read.
 */
#include "base/compiler.h"
#include "decode/decoder_state.h"

#define STRIP_ROWS 16

/* After begin. */
static int32_t read_rows(struct fdl_decoder *d, const struct fdl_box *have,
                         size_t pixel)
{
    size_t stride = (size_t)have->width * pixel;
    int32_t status = fdl_scratch_grow_rows(&d->strip, STRIP_ROWS, stride, 0,
                                           "rows of an image");
    for (int32_t done = 0; !status && done < have->height;) {
        int32_t n = FDL_MIN(STRIP_ROWS, have->height - done);
        status = d->source->read(d->source_self, d->strip.data, stride, n);
        if (!status)
            status = fdl_deadline_check(&d->deadline, 0);
        done += n;
    }
    return status;
}

int32_t fdl_decoder_check(struct fdl_decoder *d, struct fdl_checked *out)
{
    const struct fdl_format *f = d->source;
    struct fdl_box have, all = {0, 0, d->info.width, d->info.height};
    bool alpha = f->alpha && f->alpha(d->source_self, d->info.channels);
    int32_t status = f->begin(d->source_self, &all, &have);
    if (!status)
        status = read_rows(d, &have, (size_t)d->info.channels + alpha);
    if (!status)
        *out = (struct fdl_checked){
            .alpha = alpha,
            .truncated = f->truncated && f->truncated(d->source_self),
            .doubtful = f->doubtful && f->doubtful(d->source_self),
        };
    fdl_decoder_abort(d);
    return status;
}
