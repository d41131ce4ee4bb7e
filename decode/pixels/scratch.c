/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch memory; see scratch.h. */
#include "decode/pixels/scratch.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

int32_t fdl_scratch_grow(struct fdl_scratch *s, size_t n, const char *what)
{
    if (n <= s->bytes) {
        FDL_TSAN_WRITES(s->data, n);
        return FEEDLINE_OK;
    }
    fdl_scratch_fini(s);
    s->data = fdl_alloc_aligned(n);
    if (!s->data)
        return fdl_fail_memory(n, what);
    memset(s->data, 0, n);
    s->bytes = n;
    return FEEDLINE_OK;
}

int32_t fdl_scratch_grow_rows(struct fdl_scratch *s, size_t rows,
                              size_t row_bytes, size_t extra, const char *what)
{
    size_t n;
    if (!fdl_mul_size(rows, row_bytes, &n) || !fdl_add_size(n, extra, &n))
        return fdl_fail_memory(UINT64_MAX, what);
    return fdl_scratch_grow(s, n, what);
}

void fdl_scratch_fini(struct fdl_scratch *s)
{
    free(s->data);
    *s = (struct fdl_scratch){0};
}
