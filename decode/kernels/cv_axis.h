/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where OpenCV's resize finds the pixels of one side of its result, and what
 * they weigh. It takes few pixels, whatever the scale: 1, 2 or 8; or with
 * AREA all that a pixel of the result covers, if that is smaller on both sides.
 * Weights are int16_t in units of 1/2048, and of areas floats.
 */
#ifndef FDL_DECODE_CV_AXIS_H
#define FDL_DECODE_CV_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* OpenCV's numbers. */
enum fdl_cv_filter {
    FDL_CV_NEAREST = 0,
    FDL_CV_LINEAR = 1,
    FDL_CV_AREA = 3,
    FDL_CV_LANCZOS4 = 4,
    FDL_CV_FILTERS
};

#define FDL_CV_ONE      2048 /* weights of a pixel add up to about this */
#define FDL_CV_TAPS_MAX 8

#define FDL_CV_AREA_BLOCK 64 /* pixels of the result */

/* What an axis is made from. */
struct fdl_cv_axis_key {
    int32_t in, out; /* pixels of the whole sides */
    double scale;    /* of out to in; normally out / in */
    enum fdl_cv_filter filter;
    bool covers;          /* AREA: by all that a pixel covers */
    bool across;          /* of a row: ends are weighed differently */
    int32_t first, count; /* pixels of out that are made */
    int32_t origin;       /* pixels of `in` that are not there, before it */
};

/* For vectors, four neighbours of two taps each: where to read 16 bytes, and
 * which of these are the low bytes of eight words. Or eight of one tap, which
 * are the first eight bytes. */
struct fdl_cv_quad {
    int32_t at;
    uint8_t order[16];
};

struct fdl_cv_axis {
    int32_t count, taps; /* taps 0: covers */
    int32_t *at;         /* [count * taps]: pixels of `in`, from its origin */
    int16_t *weight;     /* [count * taps] */

    struct fdl_cv_quad *quads; /* for each eight pixels across as many as taps;
                                  NULL: not of one or two, or too wide. Then
                                  weights are there for whole eights, too */

    /* covers: pixels [at[i], at[i] + n[i]), of which number t weighs
     * area[t * pitch + i]; with zeros, whole fours of them and whole blocks.
     * whole: they are as many everywhere, or fewer at the end; else 0. */
    int32_t *n;
    float *area;
    size_t pitch;
    int32_t most, whole;
};

/* Bytes of memory that fdl_cv_axis_make needs, a multiple of 64; 0: they do
 * not fit a size_t. */
size_t fdl_cv_axis_bytes(const struct fdl_cv_axis_key *key);

/* memory: as much, aligned to 64, is used as long as the axis. */
void fdl_cv_axis_make(struct fdl_cv_axis *axis,
                      const struct fdl_cv_axis_key *key, uint8_t *memory);

/* The pixels of `in` that pixels [first, first + count) touch: [*from, *end).
 */
void fdl_cv_axis_touches(const struct fdl_cv_axis_key *key, int32_t *from,
                         int32_t *end);

#endif
