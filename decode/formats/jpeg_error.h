/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libjpeg's errors are called, and which status they have.
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_ERROR_H
#define FDL_DECODE_JPEG_ERROR_H

#include <stdint.h>
#include <stdio.h>

/* jpeglib.h wants stdio.h before it. */
/* clang-format off */
#include <jpeglib.h>
/* clang-format on */

/* The error that c has met at that offset: EDECODE, or ENOMEM. */
int32_t fdl_jpeg_fail(j_common_ptr c, uint64_t at);

/* For a file of `bits` a sample. libjpeg-turbo 3 and later read the headers of
 * those of more than 8, and version 2 has an error for them. */
int32_t fdl_jpeg_fail_precision(uint64_t at, int bits);

#endif
