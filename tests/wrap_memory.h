/* SPDX-License-Identifier: Apache-2.0 */
/* For programs whose memory ends when they say so, on any thread. Linked with
 * ${wrap_memory}. */
#ifndef FDL_TESTS_WRAP_MEMORY_H
#define FDL_TESTS_WRAP_MEMORY_H

#include "tests/wrap.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static _Atomic int64_t memory_left;   /* allocations, the last fails; 0: any */
static _Atomic size_t memory_refuses; /* as many bytes and more; 0: none */
static _Atomic bool memory_failed;

static bool memory_fails(size_t bytes)
{
    size_t least = memory_refuses;
    bool fails = (least > 0 && bytes >= least) ||
                 (memory_left > 0 && --memory_left == 0);
    if (fails)
        memory_failed = true;
    return fails;
}

WRAP(void *, malloc, size_t bytes)
{
    return memory_fails(bytes) ? NULL : __real_malloc(bytes);
}

WRAP(void *, calloc, size_t n, size_t bytes)
{
    return memory_fails(n * bytes) ? NULL : __real_calloc(n, bytes);
}

WRAP(void *, realloc, void *p, size_t bytes)
{
    return memory_fails(bytes) ? NULL : __real_realloc(p, bytes);
}

#endif
