/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file that ends early will do: one rule for all formats. */
#ifndef FDL_DECODE_TRUNCATION_H
#define FDL_DECODE_TRUNCATION_H

#include "decode/formats/encoded.h"

/* EDECODE if `rows` of `height` rows being there is not enough; size: of the
 * file. */
int32_t fdl_truncation_judge(const struct fdl_decode_limits *limits,
                             uint64_t size, uint32_t rows, uint32_t height);

#endif
