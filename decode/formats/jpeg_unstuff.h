/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JPEG's Huffman data as decoders read it: an FF of the data has a 00 behind
 * it in the file (T.81 B.1.1.5), which is left out. Any other byte behind an FF
 * makes both a marker.
 */
#ifndef FDL_DECODE_JPEG_UNSTUFF_H
#define FDL_DECODE_JPEG_UNSTUFF_H

#include <stdint.h>

/* From *raw on until `to_end` or a marker, which may be the end of the data;
 * where it got to. What is behind that, up to to_end, is undefined. */
uint8_t *fdl_jpeg_unstuff(const uint8_t **raw, const uint8_t *raw_end,
                          uint8_t *to, const uint8_t *to_end);

#endif
