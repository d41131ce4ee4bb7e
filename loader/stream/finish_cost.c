/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs a worker to finish a sample. The last pass over a row writes
 * its numbers while it is at it, so it has no time of its own to be looked up:
 * the pass is run here over images of zeros, for numbers and for bytes, and the
 * difference is the cost. As in a slot, each image goes to memory that was not
 * written for long: f32 in planes, 224 x 224, takes 45 us more than bytes, and
 * seemed to take 3 in a buffer that stays in the cache. 10 ms, once, when a
 * loader is created for which host or device may finish batches.
 */
#include "loader/stream/finish_cost.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory.h"
#include "decode/kernels/finish.h"
#include "decode/kernels/resample.h"

#include <stdlib.h>

#define COLD_BYTES  (UINT64_C(16) << 20) /* until a place comes again */
#define MOST_IMAGES UINT64_C(256)
#define ROWS        512 /* of an image, at most */
#define REPEATS     3   /* of which the fastest counts */

/* ns on a core of n images, one behind the other; row: zeros. */
static double images_ns(const struct fdl_output_format *format, uint64_t n,
                        const struct fdl_affine *affine, const uint8_t *row,
                        uint8_t *dst)
{
    fdl_finish_fn finish =
        fdl_finish_choose(fdl_finish_kernels(fdl_cpu_level()), format);
    const uint8_t *planes[FDL_CHANNELS_MAX] = {row, row, row, row};
    uint64_t bytes = fdl_output_bytes(format);
    int64_t best = INT64_MAX;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
        int64_t begin = fdl_thread_cpu_ns();
        for (uint64_t i = 0; i < n; i++)
            for (int32_t y = 0; y < format->height; y++)
                finish(planes, affine, format, y, dst + i * bytes);
        best = FDL_MIN(best, fdl_thread_cpu_ns() - begin);
    }
    return (double)best;
}

double fdl_finish_cost_ns(const struct fdl_output_format *delivered,
                          const struct fdl_output_format *wire)
{
    static const struct fdl_plan plain; /* what is added makes no difference */
    struct fdl_output_format numbers = *delivered, bytes = *wire;
    numbers.height = bytes.height = FDL_MIN(delivered->height, ROWS);
    uint64_t n = COLD_BYTES / fdl_output_bytes(&numbers);
    n = FDL_MIN(FDL_MAX(n, UINT64_C(1)), MOST_IMAGES);
    uint64_t room = n * fdl_output_bytes(&numbers);
    struct fdl_affine *affine = malloc(sizeof(*affine));
    uint8_t *row = calloc(1, (size_t)delivered->width + FDL_PLANE_ALIGN);
    uint8_t *dst = fdl_pages_alloc((size_t)room);
    double cost = 0;
    if (affine && row && dst) {
        fdl_affine_init(affine, &plain, FDL_ROUNDING_ONCE);
        cost = images_ns(&numbers, n, affine, row, dst) -
               images_ns(&bytes, n, affine, row, dst);
        cost *= (double)delivered->height / numbers.height / (double)n;
    }
    fdl_pages_free(dst, (size_t)room);
    free(row);
    free(affine);
    return FDL_MAX(cost, 0);
}
