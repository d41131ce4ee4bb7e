/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked sizes and aligned memory. All functions are thread-safe.
 *
 * Sizes that come from files or callers go through fdl_mul_size and
 * fdl_add_size before they reach an allocator.
 */
#ifndef FDL_BASE_MEMORY_H
#define FDL_BASE_MEMORY_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* false, and *out untouched, if the result does not fit size_t. */
FDL_NODISCARD bool fdl_mul_size(size_t a, size_t b, size_t *out);
FDL_NODISCARD bool fdl_add_size(size_t a, size_t b, size_t *out);

/* Uninitialised memory, aligned to a cache line; NULL if there is none. Freed
 * with free(). */
FDL_NODISCARD void *fdl_alloc_aligned(size_t bytes);

/* Whole pages, zeroed, huge ones if the kernel has them. */
FDL_NODISCARD void *fdl_pages_alloc(size_t bytes);
void fdl_pages_free(void *p, size_t bytes);

/* A copy for free(); NULL if there is no memory. */
FDL_NODISCARD char *fdl_strdup(const char *text);

#endif
