/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Antialiased resampling, one axis at a time, equal to Pillow's bit for bit and
 * for each of its filters: weights of 22 bits, the horizontal pass first,
 * rounded to bytes. torch's of uint8 tensors has weights of 16 bits and the
 * same sums, so it is another table for the same kernels.
 *
 *     source row, interleaved  --horizontal-->  planar row  (in the ring)
 *     planar rows of the ring  --vertical---->  planar row  (output)
 *
 * A planar row holds one plane per channel, one after the other, each `plane`
 * bytes apart; the mirrored image comes from a mirrored horizontal table.
 * Every level of kernels gives the same bytes.
 */
#ifndef FDL_DECODE_RESAMPLE_H
#define FDL_DECODE_RESAMPLE_H

#include "base/cpu.h"
#include "decode/pixels/geometry.h"
#include "decode/pixels/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDL_WEIGHT_BITS 22

/* Samples past the touched ones that a horizontal kernel may read, without
 * using them: tables are packed in blocks of four taps, and the last load is
 * one or two vectors long. */
#define FDL_TAP_BLOCK 4
#define FDL_ROW_SLACK 128 /* bytes */

/* What a table depends on: `in` samples become `out`, of which `count` from
 * `first` on are wanted, in mirrored order if `mirror`. With `reverse` the
 * samples lie in memory from the last to the first.
 *
 * Where span is not 0, only the part of the samples from `from` to from + span
 * becomes `out`, which may begin and end inside a sample; taps still reach into
 * all of them. It is Pillow's resize() with a box. */
struct fdl_axis_key {
    int32_t in, out, first, count;
    bool mirror, reverse;
    enum fdl_filter filter;
    enum fdl_nearest nearest;
    bool tensor; /* torch's weights */
    double from, span;
};

struct fdl_axis {
    struct fdl_axis_key key;
    int32_t origin;  /* first sample that any tap touches */
    int32_t extent;  /* how many from there on are touched */
    int32_t taps;    /* most that one output has */
    int32_t stride;  /* from one output's weights to the next's: so many times
                        FDL_TAP_BLOCK that all taps have room */
    int32_t *start;  /* [count] first tap of each, from origin */
    int32_t *length; /* [count] taps of each */
    int32_t *weight; /* [count][stride], 0 behind length */
    const struct fdl_packing *packing; /* of packed; NULL: not packed */
    int32_t packed_channels;           /* that it was made for */
    int32_t packed_form;               /* the kernel's own note */
    void *packed; /* the weights in the form that a kernel reads */
    void *memory;
    size_t capacity, packed_capacity; /* bytes */
};

/* Weight `tap` of output i; 0 past the last of either. */
static inline int32_t fdl_axis_weight(const struct fdl_axis *axis, int32_t i,
                                      int32_t tap)
{
    if (i >= axis->key.count || tap >= axis->length[i])
        return 0;
    return axis->weight[(size_t)i * (size_t)axis->stride + (size_t)tap];
}

/* Makes the table for key, if it is not there already. ENOMEM. */
int32_t fdl_axis_prepare(struct fdl_axis *axis, const struct fdl_axis_key *key);
void fdl_axis_fini(struct fdl_axis *axis);

static inline size_t fdl_axis_memory(const struct fdl_axis *axis)
{
    return axis->capacity + axis->packed_capacity;
}

/* How a kernel wants its weights; bytes is NULL where it takes them as they
 * are. What pack returns becomes packed_form. */
struct fdl_packing {
    size_t (*bytes)(const struct fdl_axis *axis, int32_t channels);
    int32_t (*pack)(const struct fdl_axis *axis, int32_t channels,
                    void *packed);
};

struct fdl_resample_kernels {
    struct fdl_packing horizontal_packing, vertical_packing;

    /* row: sample `origin` of an interleaved row of 1 or 3 channels. */
    void (*horizontal)(const struct fdl_axis *axis, const uint8_t *row,
                       int32_t channels, uint8_t *planes, size_t plane);

    /* Output i from its rows; n: a multiple of FDL_PLANE_ALIGN. */
    void (*vertical)(const struct fdl_axis *axis, int32_t i,
                     const uint8_t *const *rows, uint8_t *out, size_t n);
};

/* Pillow 13 resamples columns first where they become much shorter. */
static inline bool fdl_columns_first(int64_t width, int64_t height,
                                     int64_t new_width, int64_t new_height)
{
    return new_height < height && height - new_height > 2 * (width - new_width);
}

/* Of each level; levels.h has them all. */
extern const struct fdl_resample_kernels fdl_resample_c, fdl_resample_avx2,
    fdl_resample_avx512, fdl_resample_neon;

/* Packs the weights for a kernel, if they are not already. ENOMEM. */
int32_t fdl_axis_pack(struct fdl_axis *axis, const struct fdl_packing *packing,
                      int32_t channels);

#endif
