/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the output, and values in it, whatever its layout and type. */
#include "decode/pixels/output_format.h"

#include "decode/pixels/half.h"

uint64_t fdl_dtype_bytes(int32_t dtype)
{
    switch (dtype) {
    case FEEDLINE_U8:
        return 1;
    case FEEDLINE_F16:
    case FEEDLINE_BF16:
        return 2;
    case FEEDLINE_F32:
        return 4;
    default:
        return 0;
    }
}

uint64_t fdl_output_bytes(const struct fdl_output_format *f)
{
    return (uint64_t)f->width * (uint64_t)f->height * (uint64_t)f->channels *
           fdl_dtype_bytes(f->dtype);
}

static uint8_t byte_of(float value)
{
    if (value <= 0)
        return 0;
    return value >= 255 ? 255 : (uint8_t)value;
}

void fdl_output_store(const struct fdl_output_format *f, void *dst, int32_t c,
                      int32_t y, int32_t x, float value)
{
    size_t at = fdl_output_place(f, c, y, x);
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
