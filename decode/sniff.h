/* SPDX-License-Identifier: Apache-2.0 */
/* What bytes are, told by how they begin. */
#ifndef FDL_DECODE_SNIFF_H
#define FDL_DECODE_SNIFF_H

#include "decode/decoder.h"

/* JPEG, PNG, WEBP, or UNKNOWN. */
enum fdl_format fdl_sniff(const uint8_t *data, uint64_t size);

/* What an unknown content seems to be: "a GIF image", "an empty file". */
const char *fdl_sniff_name(const uint8_t *data, uint64_t size);

#endif
