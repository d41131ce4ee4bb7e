/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures that cost a decoder what photographs cost it. */
#ifndef LOADERBENCH_GEN_PHOTO_H
#define LOADERBENCH_GEN_PHOTO_H

#include "tools/loaderbench/gen/gen_plan.h"

/* Zeroed memory is an empty one; a photo's memory is used again for the next.
 * One thread at a time. */
struct photo {
    uint32_t width, height;
    uint8_t *plane[3]; /* Y, Cb, Cr at full resolution; gray: only Y */

    uint8_t *region;   /* which shape a pixel belongs to */
    int16_t *field[2]; /* two levels of the noise pyramid */
    int16_t *row;
    uint64_t capacity; /* pixels */
};

/* 0, or -1 without memory. */
int photo_draw(struct photo *p, const struct photo_plan *plan);
void photo_fini(struct photo *p);

#endif
