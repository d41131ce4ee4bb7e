/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum of a zlib stream. */
#ifndef FDL_DECODE_ADLER32_H
#define FDL_DECODE_ADLER32_H

#include <stddef.h>
#include <stdint.h>

uint32_t fdl_adler32(const uint8_t *data, size_t n);

#endif
