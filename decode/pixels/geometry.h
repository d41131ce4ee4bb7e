/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The geometric part of a pipeline for one image, folded into four steps that
 * are done in one pass over the decoder's rows:
 *
 *     source image --crop box--> resample to resize_* --keep window--> flip
 *
 * A flip before the resampling is treated as one after it, but is not quite the
 * same: if a sample is exactly between two others, filters take the one on a
 * given side, and Pillow's sums round differently from the other end. So the
 * resampling records that it saw a mirrored image.
 *
 * Everything here is arithmetic on sizes; no pixel is touched.
 */
#ifndef FDL_DECODE_GEOMETRY_H
#define FDL_DECODE_GEOMETRY_H

#include "base/choice.h"

#include <stdbool.h>
#include <stdint.h>

/* Pillow's filters, under torchvision's names; numbers as in the public
 * header. */
#define FDL_FILTER_CHOICES(C)                                                  \
  C(FDL_FILTER_BILINEAR, "bilinear")                                           \
  C(FDL_FILTER_NEAREST, "nearest")                                             \
  C(FDL_FILTER_BOX, "box")                                                     \
  C(FDL_FILTER_HAMMING, "hamming")                                             \
  C(FDL_FILTER_BICUBIC, "bicubic")                                             \
  C(FDL_FILTER_LANCZOS, "lanczos")
enum fdl_filter { FDL_CHOICE_VALUES(FDL_FILTER_CHOICES) FDL_FILTERS };

/* Which of `in` samples nearest takes for output i of `out`: Pillow the one
 * under its middle, torch floor(i * in / out), the quotient in float. */
#define FDL_NEAREST_CHOICES(C)                                                 \
  C(FDL_NEAREST_PILLOW, "pillow")                                              \
  C(FDL_NEAREST_TORCH, "torch")
enum fdl_nearest { FDL_CHOICE_VALUES(FDL_NEAREST_CHOICES) };

struct fdl_box {
    int32_t x, y, width, height; /* pixels */
};

/* Makes *box the least box that has all pixels of both. */
void fdl_box_join(struct fdl_box *box, const struct fdl_box *other);

/* A part of an image, which may begin and end inside of its pixels. */
struct fdl_span {
    double from, size; /* 0, 0: all of the image */
};

struct fdl_geometry {
    struct fdl_box box;   /* of the source image, inside it */
    struct fdl_span x, y; /* the part of it that is resampled, as it is seen
                             then; what surrounds it counts */
    int32_t resize_width, resize_height;
    struct fdl_box window;    /* of the resized image, inside it */
    bool flip;                /* mirror the window left to right */
    bool flip_vertical;       /* and top to bottom */
    enum fdl_filter filter;   /* of the resampling */
    enum fdl_nearest nearest; /* which, by FDL_FILTER_NEAREST */
    bool tensor;              /* other filters as torch's, not Pillow's */

    /* Weights are those for the box mirrored left to right, top to bottom. */
    bool resize_mirrored, resize_mirrored_vertical;
};

/* The identity for an image of that size. */
void fdl_geometry_init(struct fdl_geometry *g, int32_t width, int32_t height);

/* Size of what g produces now. */
int32_t fdl_geometry_width(const struct fdl_geometry *g);
int32_t fdl_geometry_height(const struct fdl_geometry *g);

bool fdl_geometry_is_resampled(const struct fdl_geometry *g);

/* Keep only `box` of what g produces now. */
void fdl_geometry_crop(struct fdl_geometry *g, struct fdl_box box);

/* Resample what g produces now. EINVAL where that would be a second
 * resampling, which one pass cannot do. */
int32_t fdl_geometry_resize(struct fdl_geometry *g, int32_t width,
                            int32_t height);

/* The same of a part of what g produces now, which was not resampled. */
void fdl_geometry_resize_part(struct fdl_geometry *g, int32_t width,
                              int32_t height, const struct fdl_span *x,
                              const struct fdl_span *y);

/* Pixels of the source image of which others are not made: of the box, all that
 * are in reach of the part, or some more. */
struct fdl_box fdl_geometry_reach(const struct fdl_geometry *g);

void fdl_geometry_flip(struct fdl_geometry *g);
void fdl_geometry_flip_vertical(struct fdl_geometry *g);

#endif
