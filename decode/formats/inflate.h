/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of a zlib stream at once: by libdeflate, which takes 0.4 times as long as
 * zlib, or by zlib itself where that is missing.
 *
 * Both take the streams that end with their last byte, make as many bytes as
 * expected, and have the right checksum. What is wrong with another one is not
 * said; whoever wants to know, or takes part of it, has to ask zlib. (Of
 * streams that nobody writes, as zlib could not read them, libdeflate takes
 * some: with codes that are incomplete, and yet the right checksum.)
 */
#ifndef FDL_DECODE_INFLATE_H
#define FDL_DECODE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fdl_inflate;

/* NULL where memory ends. */
struct fdl_inflate *fdl_inflate_create(void);
void fdl_inflate_destroy(struct fdl_inflate *i); /* or NULL */

/* in: all of the stream, and no more. false: it is not as described above, and
 * anything may be in out. */
bool fdl_inflate_all(struct fdl_inflate *i, const uint8_t *in, size_t in_bytes,
                     uint8_t *out, size_t out_bytes);

#endif
