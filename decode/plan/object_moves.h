/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a sample while its plan is written: each move of the pixels
 * moves them at once, in torchvision v2's float32 arithmetic and with its
 * clamping, so that an operation may look at them before it draws. Boxes are
 * kept inside the image by all but resizing and flips; keypoints never are.
 *
 * The memory is the caller's. NULL in place of objects: nobody asks.
 */
#ifndef FDL_DECODE_OBJECT_MOVES_H
#define FDL_DECODE_OBJECT_MOVES_H

#include "decode/pixels/geometry.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_objects {
    uint32_t n;
    uint32_t keypoints; /* of each */
    float *boxes;       /* [n][4] left, top, right, bottom */
    float *points;      /* [n][keypoints][2] */
    uint32_t *source;   /* [n] which of the sample's it is */
};

/* As fdl_plan_window does; the image is as large as the box then. */
void fdl_objects_window(struct fdl_objects *o, struct fdl_box box);
void fdl_objects_resize(struct fdl_objects *o, int32_t old_width,
                        int32_t old_height, int32_t width, int32_t height);
void fdl_objects_flip(struct fdl_objects *o, int32_t width);
void fdl_objects_flip_vertical(struct fdl_objects *o, int32_t height);

/* By the map that finds a pixel's source, as in affine.h, from which the
 * opposite one is computed. */
void fdl_objects_affine(struct fdl_objects *o, const double a[6], int32_t width,
                        int32_t height);
void fdl_objects_perspective(struct fdl_objects *o, const double a[8],
                             int32_t width, int32_t height);

/* What no longer counts: an empty box at 0. */
void fdl_objects_void(struct fdl_objects *o, uint32_t i);

/* Drops object i if `keep` says so; the others stay in order. */
void fdl_objects_keep(struct fdl_objects *o,
                      bool (*keep)(const float box[4], const void *arg),
                      const void *arg);

#endif
