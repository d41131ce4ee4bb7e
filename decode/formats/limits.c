/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of max_pixels, accept_truncated and max_image_ms; see encoded.h. */
#include "decode/formats/limits.h"

#include "base/clock.h"
#include "base/status.h"

#include <inttypes.h>

#define NS_PER_MS 1000000

int32_t fdl_limits_check_size(const struct fdl_decode_limits *limits,
                              uint64_t offset, const char *what, uint32_t width,
                              uint32_t height)
{
    if ((uint64_t)width * height <= limits->max_pixels)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "offset %" PRIu64 ": %s of %" PRIu32 "x%" PRIu32
                    " is above the limit of %" PRIu64 " pixels",
                    offset, what, width, height, limits->max_pixels);
}

int32_t fdl_limits_judge_cut(const struct fdl_decode_limits *limits,
                             uint64_t size, uint32_t rows, uint32_t height)
{
    double least = limits->accept_truncated;
    if (least <= 0.0)
        return fdl_fail(FEEDLINE_EDECODE,
                        "offset %" PRIu64 ": image file is truncated", size);
    if (rows >= least * height)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EDECODE,
                    "offset %" PRIu64 ": image file is truncated: %" PRIu32
                    " of %" PRIu32 " rows are there, less than "
                    "accept_truncated=%g",
                    size, rows, height, least);
}

void fdl_deadline_start(struct fdl_deadline *d, uint32_t limit_ms)
{
    *d = (struct fdl_deadline){.limit_ms = limit_ms};
    if (limit_ms > 0)
        d->end_ns = fdl_now_ns() + (int64_t)limit_ms * NS_PER_MS;
}

int32_t fdl_deadline_check(const struct fdl_deadline *d, int64_t now_ns)
{
    if (d->limit_ms == 0)
        return FEEDLINE_OK;
    if (now_ns == 0)
        now_ns = fdl_now_ns();
    if (now_ns <= d->end_ns)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "the image took longer than the limit of %" PRIu32 " ms",
                    d->limit_ms);
}
