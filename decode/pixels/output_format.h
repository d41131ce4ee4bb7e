/* SPDX-License-Identifier: Apache-2.0 */
/* How a sample is delivered, and access to single values of it. */
#ifndef FDL_DECODE_OUTPUT_FORMAT_H
#define FDL_DECODE_OUTPUT_FORMAT_H

#include "base/choice.h"
#include "decode/pixels/image.h"

#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

/* Of the sample in the slot: contiguous, NCHW or NHWC without the N. */
struct fdl_output_format {
    int32_t width, height;
    int32_t channels; /* gray, gray and alpha, RGB, or RGB and alpha: 1 to 4 */
    int32_t dtype;    /* FEEDLINE_U8, F16, BF16 or F32 */
    bool nhwc;
};

/* First element of plane c of a row in NCHW. */
static inline size_t fdl_planar_place(const struct fdl_output_format *f,
                                      int32_t c, int32_t row)
{
    return ((size_t)c * (size_t)f->height + (size_t)row) * (size_t)f->width;
}

/* Channel c of pixel (x, y), as the number of an element. */
static inline size_t fdl_output_place(const struct fdl_output_format *f,
                                      int32_t c, int32_t y, int32_t x)
{
    size_t width = (size_t)f->width, channels = (size_t)f->channels;
    if (f->nhwc)
        return ((size_t)y * width + (size_t)x) * channels + (size_t)c;
    return fdl_planar_place(f, c, y) + (size_t)x;
}

/* Of one element; 0: not a type of pixels. */
uint64_t fdl_dtype_bytes(int32_t dtype);
uint64_t fdl_output_bytes(const struct fdl_output_format *format);

/* How floats are rounded, the choices of option rounding: once, or after each
 * step as in torchvision: its ToTensor and Normalize, which divide by 255, or
 * its v2.ToDtype, which multiplies. */
#define FDL_ROUNDING_CHOICES(C)                                                \
  C(FDL_ROUNDING_ONCE, "once")                                                 \
  C(FDL_ROUNDING_DIVIDE, "divide")                                             \
  C(FDL_ROUNDING_MULTIPLY, "multiply")
enum fdl_rounding { FDL_CHOICE_VALUES(FDL_ROUNDING_CHOICES) };

/* (pixel / 255 - mean) / std, per channel of the output; else pixel / 255. */
struct fdl_norm {
    bool on;
    float mean[FDL_CHANNELS_MAX], std[FDL_CHANNELS_MAX];
};

/* value, rounded to the type (halves to even; u8: cut off and clipped), as
 * channel c of pixel (x, y). */
void fdl_output_store(const struct fdl_output_format *format, void *dst,
                      int32_t c, int32_t y, int32_t x, float value);

#endif
