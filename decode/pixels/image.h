/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small image on the way: planes of bytes, one after the other, rows without
 * gaps, so operations that treat all pixels alike see one long line.
 */
#ifndef FDL_DECODE_IMAGE_H
#define FDL_DECODE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#define FDL_CHANNELS_MAX 4

/* Kernels read planes and rows in whole vectors of this many bytes. */
#define FDL_PLANE_ALIGN 64

/* What indices stand for: red, green, blue, alpha. */
struct fdl_palette {
    uint8_t colour[256][4];
};

struct fdl_image {
    uint8_t *data; /* readable for FDL_PLANE_ALIGN bytes past its end */
    int32_t width, height, channels; /* as in fdl_output_format */
    size_t plane;                    /* bytes of one: width * height */
};

static inline uint8_t *fdl_image_row(const struct fdl_image *image,
                                     int32_t channel, int32_t y)
{
    size_t row = (size_t)y * (size_t)image->width;
    return image->data + (size_t)channel * image->plane + row;
}

/* Of a row alone, in whole vectors. */
static inline size_t fdl_plane_bytes(int32_t width)
{
    return ((size_t)width + FDL_PLANE_ALIGN - 1) &
           ~(size_t)(FDL_PLANE_ALIGN - 1);
}

#endif
