/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of samples in one line each, carried out on an image of noise. */
#ifndef FDL_DECODE_RECORDED_PROGRAMS_H
#define FDL_DECODE_RECORDED_PROGRAMS_H

#include "base/status.h"
#include "decode/recorded_image.h"
#include "recorded_steps.h"
#include "tests/decode/rig.h"
#include "tests/dice.h"

enum { WIDTH = 40, HEIGHT = 30, OUT_MAX = 1 << 16 };

static _Alignas(8) uint8_t out[OUT_MAX];

#define COUNT FDL_COUNT_OF

static inline struct feedline_recorded_image program(
    const struct feedline_recorded_step *steps, size_t n, int32_t channels,
    int32_t width, int32_t height)
{
    struct feedline_recorded_image image = {
        .struct_size = sizeof(image),
        .n_steps = (uint32_t)n,
        .steps = steps,
        .out = out,
        .out_bytes = (uint64_t)channels * (uint64_t)width * (uint64_t)height,
        .dtype = FEEDLINE_U8,
        .nhwc = 1,
        .channels = channels,
        .height = height,
        .width = width,
    };
    assert_true(image.out_bytes <= sizeof(out));
    return image;
}

static inline struct feedline_recorded_image floats(
    struct feedline_recorded_image image)
{
    image.dtype = FEEDLINE_F32;
    image.out_bytes *= sizeof(float);
    return image;
}

static inline uint8_t *noise(void)
{
    static uint8_t pixels[WIDTH * HEIGHT * 3];
    fill_noise(pixels, sizeof(pixels));
    return pixels;
}

static inline int32_t carry_out(const struct feedline_recorded_image *image)
{
    struct fdl_decoder *d = rig_decoder((struct fdl_decode_limits){0});
    struct fdl_encoded bytes = raw_of(noise(), WIDTH, HEIGHT, 3);
    struct fdl_image_info info;
    struct fdl_render_cost cost = {0};
    int32_t status = fdl_recorded_render(d, &bytes, image, &info, &cost);
    if (!status)
        assert_true(cost.pixels > 0 && info.width == WIDTH &&
                    info.height == HEIGHT);
    fdl_decoder_destroy(d);
    return status;
}

static inline void expect(int32_t got, int32_t status, const char *words)
{
    if (got != status || !strstr(fdl_last_error(), words))
        fail_msg("%d: %s, not %d: %s", got, fdl_last_error(), status, words);
}

#endif
