/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From encoded bytes to finished pixels in their final place.
 *
 *   open(bytes) -> image size      (the caller makes the plan from it)
 *   render(plan) -> pixels         decode rows -> resample -> finish
 *
 * Several renders of one image, from rows that are decoded once:
 *
 *   open, keep(box), render(plan) ..., abort
 *
 * One decoder per worker thread: it owns the libjpeg state and every scratch
 * buffer, which grow to the largest image seen and are then reused; in the
 * steady state nothing is allocated but by libwebp, by libjpeg for progressive
 * files, and for what one image takes beyond the 4 MiB that are kept. One
 * thread at a time per decoder, and the same thread from open to the end of
 * render (libjpeg-turbo 2.1.5 keeps its SIMD state per thread).
 */
#ifndef FDL_DECODE_DECODER_H
#define FDL_DECODE_DECODER_H

#include "decode/formats/encoded.h"
#include "decode/pixels/output_format.h"
#include "decode/plan/plan.h"
#include "decode/plan/render_cost.h"

#include <stdint.h>

struct fdl_decoder;

int32_t fdl_decoder_create(const struct fdl_decode_limits *limits,
                           struct fdl_decoder **out);
void fdl_decoder_destroy(struct fdl_decoder *d);

/* Sniffs and reads the header. EDECODE: names what it is instead, and the
 * offset; ERANGE: above a limit. After an error the decoder is ready for the
 * next open. */
int32_t fdl_decoder_open(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                         struct fdl_image_info *info);

/* Completes an open, also on error. The plan's window must have the size of
 * `format`. dst: fdl_output_bytes(format) for each of the plan's views,
 * consecutively, aligned to the element; undefined on error. EDECODE, with the
 * library's message, if the file is truncated, or damaged beyond what libjpeg
 * recovers from (as in Pillow), whatever part of it the pixels need. ERANGE for
 * too many scans or too much time; EINVAL if the sizes do not match; ENOMEM.
 * cost is untouched on error. */
int32_t fdl_decoder_render(struct fdl_decoder *d, const struct fdl_plan *plan,
                           const struct fdl_output_format *format, void *dst,
                           struct fdl_render_cost *cost);

/* After an open: decodes `box` of the image as open describes it. From here to
 * abort, each render takes its pixels from there: its plan needs no others, and
 * its format has so many channels. quality=fast saves nothing then. Adds to
 * *cost. Errors as of render; abort follows those too. */
int32_t fdl_decoder_keep(struct fdl_decoder *d, const struct fdl_box *box,
                         int32_t channels, struct fdl_render_cost *cost);

/* What a file is beyond its size. */
struct fdl_checked {
    bool alpha;     /* not 255 all over */
    bool truncated; /* rows were made up (accept_truncated) */
    bool doubtful;  /* damaged, and yet decoded */
};

/* Completes an open, like render, but reads every row and makes nothing of
 * them. Errors as of render. */
int32_t fdl_decoder_check(struct fdl_decoder *d, struct fdl_checked *out);

/* Ends an open that is not rendered, or was kept. */
void fdl_decoder_abort(struct fdl_decoder *d);

/* From now on renders store their current step in *step, one of enum
 * fdl_render_step, for an observer of this thread. */
void fdl_decoder_tell(struct fdl_decoder *d, _Atomic uint32_t *step);

/* Scratch memory held now. */
uint64_t fdl_decoder_memory(const struct fdl_decoder *d);

#endif
