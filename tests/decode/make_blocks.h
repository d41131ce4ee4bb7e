/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files whose coefficients are written by hand: flat blocks, short ones,
 * full ones, and values that overflow 16 bits on their way, which no photo has.
 */
#ifndef FDL_TESTS_MAKE_BLOCKS_H
#define FDL_TESTS_MAKE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At most of that size, gray or of the usual samplings. mild: nothing
 * overflows. free() it; nothing may be read behind it. */
uint8_t *make_blocks(uint64_t *seed, int32_t width, int32_t height, bool mild,
                     size_t *size);

#endif
