/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli), as processors have it. */
#ifndef FDL_BASE_CRC32C_H
#define FDL_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Of `bytes` more; before: what those before them gave, 0 at first. */
uint32_t fdl_crc32c(uint32_t before, const void *data, size_t bytes);

#endif
