/* SPDX-License-Identifier: Apache-2.0 */
/* What the limits say of a file, and of the time it takes: one rule for all
 * formats. */
#ifndef FDL_DECODE_FORMATS_LIMITS_H
#define FDL_DECODE_FORMATS_LIMITS_H

#include "decode/formats/encoded.h"

#include <stdint.h>

/* ERANGE for an image of more than max_pixels; what: "JPEG". */
int32_t fdl_limits_check_size(const struct fdl_decode_limits *limits,
                              uint64_t offset, const char *what, uint32_t width,
                              uint32_t height);

/* Whether a file that ends early will do: EDECODE if `rows` of `height` rows
 * being there is not enough; size: of the file. */
int32_t fdl_limits_judge_cut(const struct fdl_decode_limits *limits,
                             uint64_t size, uint32_t rows, uint32_t height);

/* The time limit of one image. Checked between steps of known length (a strip,
 * a scan), mostly with a time that was read anyway. */
struct fdl_deadline {
    uint32_t limit_ms; /* 0: none */
    int64_t end_ns;
};

/* The image begins now. */
void fdl_deadline_start(struct fdl_deadline *d, uint32_t limit_ms);

/* ERANGE after its end. now_ns: 0 for the clock to be read if there is a
 * limit. */
int32_t fdl_deadline_check(const struct fdl_deadline *d, int64_t now_ns);

#endif
