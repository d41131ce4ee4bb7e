/* SPDX-License-Identifier: Apache-2.0 */
/* Which way up a PNG file is to be shown. */
#ifndef FDL_DECODE_PNG_ORIENTATION_H
#define FDL_DECODE_PNG_ORIENTATION_H

#include <stdint.h>

/* The orientation, 1 to 8, as Pillow finds it: from EXIF data, which may be a
 * chunk or a text, before or behind the pixels; or else from XMP data. Reads
 * chunks, of any bytes, and no pixels. ENOMEM. */
int32_t fdl_png_orientation(const uint8_t *data, uint64_t size,
                            int32_t *orientation);

#endif
