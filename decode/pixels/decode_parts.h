/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FDL_DECODE_DECODE_PARTS_H
#define FDL_DECODE_DECODE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* What decoding an image consisted of, where a format measures it. Both are
 * estimates, of which at most the sum was spent. */
struct fdl_decode_parts {
    int64_t unpack_ns;    /* from bytes to coefficients */
    int64_t transform_ns; /* from these to pixels: also upsampling and colour */
    bool huffman;         /* they came from Huffman codes */
    uint32_t clock_reads;
};

#endif
