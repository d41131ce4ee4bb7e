/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of a file at other levels than plain C: the same. */
#ifndef FDL_DECODE_JPEG_HASH_H
#define FDL_DECODE_JPEG_HASH_H

#include <stdint.h>

uint64_t fdl_jpeg_hash_avx2(const uint8_t *file, uint64_t size);

#endif
