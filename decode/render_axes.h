/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan asks of the rows and columns of the image as it is stored: which
 * part of it at which scale, and what the tables of both axes are made from.
 * For whoever carries a plan out: render_sample.c, make_job.c.
 */
#ifndef FDL_DECODE_RENDER_AXES_H
#define FDL_DECODE_RENDER_AXES_H

#include "decode/decoder_state.h"

struct fdl_render_axes {
    struct fdl_axis_key horizontal, vertical;
    int32_t shift;      /* the source gives 1/2^shift of the image */
    struct fdl_box box; /* of the plan, in what the source gives */
    bool columns_first; /* of the upright image: their pass */
    bool backwards;     /* the vertical table begins with the last output */
};

/* d is open. */
void fdl_render_axes(const struct fdl_decoder *d, const struct fdl_geometry *g,
                     struct fdl_render_axes *out);

#endif
