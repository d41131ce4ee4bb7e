/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Size-tagged structs: the caller states in the first field how much of the
 * struct it knows. It gets that much, or that much of it is read.
 */
#ifndef FDL_BASE_ABI_H
#define FDL_BASE_ABI_H

#include <stdint.h>

/* Copies the first min(out's struct_size, bytes) bytes of `value` to out and
 * keeps out's struct_size. EINVAL: out is NULL, or struct_size was not set
 * (smaller than 8 bytes or above 64 KiB). */
int32_t fdl_copy_out(void *out, const void *value, uint32_t bytes);

/* The checks of fdl_copy_out alone, for callers that want to fail before they
 * work. */
int32_t fdl_check_out(const void *out);

/* Copies the first `bytes` bytes of an input struct to `value`, with zeros
 * where the caller knew less. EINVAL: in is NULL, or struct_size was not set.
 */
int32_t fdl_copy_in(void *value, const void *in, uint32_t bytes);

/* "0.1.0" */
const char *fdl_version(void);

#endif
