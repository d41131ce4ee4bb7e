/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read of a sample: its image, fields that lie close to it, and what
 * else their checksums are of.
 *
 *     read     | 7.json | record | image of 7 | record | 7.npy |
 *                ^ cell     ^--- source.sum ------^      ^ cell
 */
#ifndef FDL_LOADER_READ_BYTES_H
#define FDL_LOADER_READ_BYTES_H

#include "decode/formats/encoded.h"
#include "loader/read/window.h"

/* Of r, whose read succeeded: its image. */
uint64_t fdl_read_image_bytes(const struct fdl_read *r);
void fdl_read_encoded(const struct fdl_read *r, struct fdl_encoded *out);

/* Zeros what is behind the image, where that is ours and nobody needs it any
 * more: decoders are faster to the end then. */
void fdl_read_pad(const struct fdl_read *r);

/* Whether a part of the sample is among the bytes that were read, *at: where.
 */
bool fdl_read_has(const struct fdl_read *r, const struct fdl_cell *part,
                  uint64_t *at);

/* EDECODE: a checksum says that the image or a field is damaged. inside: also
 * by the checksums in the image, which its decoder would compare as well. */
int32_t fdl_read_verify(const feedline_dataset *ds, const struct fdl_read *r,
                        bool inside);

#endif
