/* SPDX-License-Identifier: Apache-2.0 */
/* Describes bytes that no format matches, by how they begin. */
#ifndef FDL_DECODE_SNIFF_H
#define FDL_DECODE_SNIFF_H

#include <stdint.h>

/* "a GIF image", "an empty file" */
const char *fdl_sniff_name(const uint8_t *data, uint64_t size);

#endif
