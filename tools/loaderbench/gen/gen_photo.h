/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures that cost a decoder what photographs cost it: planned (gen_plan.c),
 * drawn (gen_photo.c) and made a JPEG file of about the planned size
 * (gen_jpeg.c).
 */
#ifndef LOADERBENCH_GEN_PHOTO_H
#define LOADERBENCH_GEN_PHOTO_H

#include <stdint.h>

/* What image i of a generated set is like: its size, its chroma sampling and
 * how many bits a pixel of it takes. The proportions are those of ImageNet. */
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

/* Searches the quantisation for plan->target_bytes, a few encodings. *data is
 * the caller's to free(). 0, or -1 without memory. */
int photo_encode(const struct photo *p, const struct photo_plan *plan,
                 unsigned char **data, uint64_t *size);

#endif
