/* SPDX-License-Identifier: Apache-2.0 */
/* A JPEG to a packed sample (decode/packed/container.h) and back. */
#ifndef FDL_DECODE_JPEG_PACK_H
#define FDL_DECODE_JPEG_PACK_H

#include <stdbool.h>
#include <stdint.h>

/* *out for free(). EDECODE: it cannot be packed, and why; what is damaged, or
 * what libjpeg does not decode, stays a JPEG. ERANGE: more than max_pixels. */
int32_t fdl_jpeg_pack(const uint8_t *jpeg, uint64_t size, uint64_t max_pixels,
                      uint8_t **out, uint64_t *bytes);

/* *same: it is the file that was packed, to the byte; else it has its headers,
 * tables and coefficients. EDECODE, ERANGE. */
int32_t fdl_jpeg_unpack(const uint8_t *packed, uint64_t size,
                        uint64_t max_pixels, uint8_t **out, uint64_t *bytes,
                        bool *same);

#endif
