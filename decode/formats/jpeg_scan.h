/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the data of a scan of a JPEG is intact, judged by its markers without
 * decoding it.
 */
#ifndef FDL_DECODE_JPEG_SCAN_H
#define FDL_DECODE_JPEG_SCAN_H

#include <stdbool.h>
#include <stdint.h>

/* How many restart markers a scan of so many MCUs has. interval: 0 for none. */
uint64_t fdl_jpeg_scan_restarts(uint64_t mcus, uint32_t interval);

/* The marker that ends the data of a scan from `at` on, which has `restarts`
 * restart markers before it, in their order; NULL: it has others. */
const uint8_t *fdl_jpeg_scan_marker(const uint8_t *at, const uint8_t *end,
                                    uint64_t restarts);

/* Whether the data of a scan from `at` on has `restarts` restart markers, the
 * first of which is number `next` (0 to 7), then the end marker, and no other
 * before it. Anything after the end marker does not count. */
bool fdl_jpeg_scan_is_sound(const uint8_t *at, const uint8_t *end,
                            uint64_t restarts, unsigned next);

/* Fill bytes before a zero, near enough to the end for padding to matter. No
 * encoder writes them, damage does, and then the two paths of the entropy
 * decoder disagree: the faster one sees a marker there, restarts the MCU, and
 * leaves what it had found in its blocks. */
bool fdl_jpeg_scan_has_filled_end(const uint8_t *data, uint64_t size);

#endif
