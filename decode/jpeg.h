/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG through the libjpeg API of libjpeg-turbo 2.1.5 and later. Pixels are
 * Pillow's, bit for bit: accurate integer IDCT, fancy upsampling.
 *
 * What is an error follows Pillow too, whatever part of the image is wanted.
 * Damage that libjpeg decodes around (a bad Huffman code, bytes between
 * markers, an early end marker) is accepted silently. A file that ends before
 * its end marker, or has a marker in its data behind which libjpeg cannot go
 * on, is an error, unless accept_truncated says otherwise.
 */
#ifndef FDL_DECODE_JPEG_H
#define FDL_DECODE_JPEG_H

#include "decode/deadline.h"
#include "decode/decoder.h"
#include "decode/source.h"

struct fdl_jpeg;

extern const struct fdl_source fdl_jpeg_source; /* self: struct fdl_jpeg */

/* deadline: of the open image; it outlives the decoder. */
int32_t fdl_jpeg_create(const struct fdl_decode_limits *limits,
                        const struct fdl_deadline *deadline,
                        struct fdl_jpeg **out);
void fdl_jpeg_destroy(struct fdl_jpeg *j);

/* Reads the header. Rows have info->channels channels: gray, RGB, or the
 * inverted CMYK that Adobe writes. */
int32_t fdl_jpeg_open(struct fdl_jpeg *j, const struct fdl_encoded *bytes,
                      struct fdl_image_info *info);

/* What it holds between images. */
uint64_t fdl_jpeg_memory(const struct fdl_jpeg *j);

#endif
