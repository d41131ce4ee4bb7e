/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Huffman decoder of sequential JPEG files, which is two thirds of the cost
 * of decoding a photo. It replaces libjpeg's inside a decompress object,
 * through the interface between libjpeg's own modules (jpegint.h), and leaves
 * everything else to it: headers, transforms, upsampling, colour; or to
 * jpeg_rows.h, which takes blocks from it directly.
 *
 * It decodes intact data only. At the first sign of anything unusual (a code
 * that no table has, a marker in the wrong place, an early end) it gives up,
 * and the caller decodes the image again with libjpeg's own decoder, which
 * knows how to treat damage and has the last word.
 *
 * Only decode/formats/jpeg*.c may include this: it shows libjpeg's types.
 */
#ifndef FDL_DECODE_JPEG_ENTROPY_H
#define FDL_DECODE_JPEG_ENTROPY_H

#include "decode/formats/jpeg_blocks.h"
#include "decode/formats/jpeg_entries.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdl_jpeg_entropy;

/* NULL where memory ends. */
struct fdl_jpeg_entropy *fdl_jpeg_entropy_create(void);
void fdl_jpeg_entropy_destroy(struct fdl_jpeg_entropy *e);

/* What one holds, in bytes; 0 where this build has none. */
size_t fdl_jpeg_entropy_memory(void);

/* c was started, or prepared for jpeg_rows.h, and has given no row: from here
 * on e decodes what lies from c's read position to `end`. give_up(c) is called
 * at most once and must not return. False, and c is as before, where the file
 * is not of a kind that e can do. */
bool fdl_jpeg_entropy_attach(struct fdl_jpeg_entropy *e,
                             struct jpeg_decompress_struct *c,
                             const uint8_t *end,
                             void (*give_up)(struct jpeg_decompress_struct *c));

/* For who takes blocks without libjpeg, once e is attached. */
struct fdl_jpeg_blocks *fdl_jpeg_entropy_blocks(struct fdl_jpeg_entropy *e);

/* Before the first MCU: from here on go() enters at what notes->known has, if
 * notes->same, and if notes->learn, entries are noted that it has not. */
void fdl_jpeg_entropy_use(struct fdl_jpeg_entropy *e,
                          const struct jpeg_decompress_struct *c,
                          struct fdl_entry_notes *notes);

/* Once all rows are taken: goes over the rest of the data, where entries of it
 * are to be noted. If it gives up, those before are. */
void fdl_jpeg_entropy_note_rest(struct fdl_jpeg_entropy *e);

/* Whether all data was gone over, or jumped over. */
bool fdl_jpeg_entropy_is_through(const struct fdl_jpeg_entropy *e);

/* Whether what e has not decoded yet has the markers of sound data, and the end
 * marker behind it. e is attached and has not given up. */
bool fdl_jpeg_entropy_rest_is_sound(const struct fdl_jpeg_entropy *e);

#endif
