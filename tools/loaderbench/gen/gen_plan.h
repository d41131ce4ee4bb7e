/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What image i of a generated set is like: its size, its chroma sampling and
 * how many bits a pixel of it takes. The proportions are those of ImageNet.
 */
#ifndef LOADERBENCH_GEN_PLAN_H
#define LOADERBENCH_GEN_PLAN_H

#include <stdint.h>

enum photo_kind {
    PHOTO_444 = 0,
    PHOTO_420,
    PHOTO_422,
    PHOTO_GRAY,
    PHOTO_KINDS
};

struct photo_plan {
    enum photo_kind kind;
    uint32_t width, height;
    uint64_t target_bytes;     /* of the JPEG file                      */
    uint32_t scale;            /* of the quantisation tables, percent   */
    uint32_t detail;           /* strength of the texture, 256 is plain */
    int32_t optimised_huffman; /* 0 or 1                                */
    uint64_t key;              /* of all the image's random numbers     */
};

/* Depends on seed and index only, so a longer set begins like a shorter one. */
void gen_plan(uint64_t seed, uint64_t index, struct photo_plan *out);

#endif
