/* SPDX-License-Identifier: Apache-2.0 */
/* Images that are pixels already: u8 rows without padding, channels
 * interleaved, of a size that the data set knows. */
#ifndef FDL_DECODE_RAW_H
#define FDL_DECODE_RAW_H

#include "decode/decoder.h"
#include "decode/source.h"

struct fdl_raw {
    const uint8_t *data;
    int32_t width, height, channels;
    struct fdl_box have;
    int32_t row; /* next, of have */
};

extern const struct fdl_source fdl_raw_source; /* self: struct fdl_raw */

/* EDECODE: the size is not that of width x height x channels. */
int32_t fdl_raw_open(struct fdl_raw *raw, const struct fdl_encoded *bytes,
                     const struct fdl_decode_limits *limits,
                     struct fdl_image_info *info);

#endif
