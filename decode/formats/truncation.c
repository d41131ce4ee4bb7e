/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of accept_truncated; see encoded.h. */
#include "decode/formats/truncation.h"

#include "base/status.h"

#include <inttypes.h>

int32_t fdl_truncation_judge(const struct fdl_decode_limits *limits,
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
