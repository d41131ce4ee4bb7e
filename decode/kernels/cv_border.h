/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenCV finds beyond the edges of an image. */
#ifndef FDL_DECODE_CV_BORDER_H
#define FDL_DECODE_CV_BORDER_H

#include <stdint.h>

/* OpenCV's numbers. */
enum fdl_cv_border {
    FDL_CV_CONSTANT,
    FDL_CV_REPLICATE,
    FDL_CV_REFLECT,
    FDL_CV_WRAP,
    FDL_CV_REFLECT_101,
    FDL_CV_BORDERS
};

/* Where pixel `at` of a line of n comes from, -1: from nowhere. */
static inline int32_t fdl_cv_source(enum fdl_cv_border border, int32_t at,
                                    int32_t n)
{
    if (at >= 0 && at < n)
        return at;
    if (border == FDL_CV_CONSTANT)
        return -1;
    if (border == FDL_CV_REPLICATE || n == 1)
        return at < 0 ? 0 : n - 1;
    int64_t behind = border == FDL_CV_REFLECT ? 1 : 0;
    int64_t once = border == FDL_CV_WRAP ? n : 2 * (n - 1 + behind);
    int64_t place = at % once;
    if (place < 0)
        place += once;
    return (int32_t)(place < n ? place : once - place - behind);
}

#endif
