/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebP through libwebp, with the pixels of Pillow's convert(): alpha that is
 * not asked for is dropped, not blended. The library decodes whole images only,
 * with memory of its own, so it is asked for one, and the time limit of an
 * image is looked at when it is done: what it can take is bounded by
 * max_pixels. Feeding it the file in pieces would not help, as one small piece
 * may hold all the pixels. An animation is its first frame. A file that ends
 * early is always refused, and so is one whose container is damaged anywhere.
 *
 * webp_none.c is built where libwebp is not: it refuses every file, and says
 * why.
 */
#ifndef FDL_DECODE_WEBP_H
#define FDL_DECODE_WEBP_H

#include "decode/decoder.h"
#include "decode/source.h"

struct fdl_webp;

extern const struct fdl_source fdl_webp_source; /* self: struct fdl_webp */

int32_t fdl_webp_create(const struct fdl_decode_limits *limits,
                        struct fdl_webp **out);
void fdl_webp_destroy(struct fdl_webp *w);

/* Reads the header. Rows have 3 channels, or 4 with alpha. */
int32_t fdl_webp_open(struct fdl_webp *w, const struct fdl_encoded *bytes,
                      struct fdl_image_info *info);

/* What it holds between images. */
uint64_t fdl_webp_memory(const struct fdl_webp *w);

#endif
