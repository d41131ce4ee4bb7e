/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG through libpng, with the pixels of Pillow's convert(): alpha and tRNS
 * that are not asked for are dropped, not blended; 16 bits become the upper 8,
 * but in gray they are clipped at 255; an index past the palette is a gray of
 * that value; gamma and colour profiles are left alone.
 *
 * What is an error follows Pillow too: checksums count up to the pixel data,
 * and from there on only deflate's own one does.
 */
#ifndef FDL_DECODE_PNG_H
#define FDL_DECODE_PNG_H

#include "decode/deadline.h"
#include "decode/decoder.h"
#include "decode/source.h"

struct fdl_png;

extern const struct fdl_source fdl_png_source; /* self: struct fdl_png */

/* deadline: of the open image; it outlives the decoder. */
int32_t fdl_png_create(const struct fdl_decode_limits *limits,
                       const struct fdl_deadline *deadline,
                       struct fdl_png **out);
void fdl_png_destroy(struct fdl_png *p);

/* Reads the header. Rows have 1 channel, or 3; alpha comes on top. */
int32_t fdl_png_open(struct fdl_png *p, const struct fdl_encoded *bytes,
                     struct fdl_image_info *info);

/* What it holds between images. */
uint64_t fdl_png_memory(const struct fdl_png *p);

#endif
