/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a plane with OpenCV's borders on both sides, kept for as long as
 * another row of the result takes them. */
#ifndef FDL_DECODE_CV_ROWS_H
#define FDL_DECODE_CV_ROWS_H

#include "decode/kernels/cv_border.h"
#include "decode/plan/canvas.h"

#include <stddef.h>
#include <stdint.h>

struct fdl_cv_rows {
    const struct fdl_image *image;
    enum fdl_cv_border border; /* not wrap; constant: zeros */
    int32_t channel;
    int32_t margin; /* pixels on either side, and rows */
    int32_t end;    /* of the rows that are or were kept */
    uint8_t *memory;
    size_t pitch;
};

/* Of the image of a canvas, with FDL_CV_MEDIAN_MORE bytes behind each row;
 * memory: scratch of its step. ENOMEM. */
int32_t fdl_cv_rows_begin(struct fdl_cv_rows *r, struct fdl_canvas *c,
                          int32_t margin, enum fdl_cv_border border);

/* Another plane. */
void fdl_cv_rows_channel(struct fdl_cv_rows *r, int32_t channel);

/* rows[i]: row y - margin + i, which begins `margin` before the image's, for
 * 2 * margin + 1 of them; y: 0 and then one more each time. */
void fdl_cv_rows_at(struct fdl_cv_rows *r, int32_t y, const uint8_t **rows);

#endif
