/* SPDX-License-Identifier: Apache-2.0 */
/* A value to a place of the output, whatever its layout and type. */
#include "decode/store.h"

#include "decode/kernels/half.h"

static uint8_t byte_of(float value)
{
    if (value <= 0)
        return 0;
    return value >= 255 ? 255 : (uint8_t)value;
}

#include "decode/kernels/half.h"

void fdl_output_store(const struct fdl_output_format *f, void *dst, int32_t c,
                      int32_t y, int32_t x, float value)
{
    size_t width = (size_t)f->width, channels = (size_t)f->channels;
    size_t at = f->nhwc ? ((size_t)y * width + (size_t)x) * channels + (size_t)c
                        : ((size_t)c * (size_t)f->height + (size_t)y) * width +
                              (size_t)x;
    switch (f->dtype) {
    case FEEDLINE_U8:
        ((uint8_t *)dst)[at] = byte_of(value);
        break;
    case FEEDLINE_F16:
        ((uint16_t *)dst)[at] = fdl_f16_of(value);
        break;
    case FEEDLINE_BF16:
        ((uint16_t *)dst)[at] = fdl_bf16_of(value);
        break;
    default:
        ((float *)dst)[at] = value;
        break;
    }
}
