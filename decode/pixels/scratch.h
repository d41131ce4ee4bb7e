/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that grows to the largest image seen and is then reused, so in the
 * steady state nothing is allocated.
 */
#ifndef FDL_DECODE_SCRATCH_H
#define FDL_DECODE_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory is an empty one. */
struct fdl_scratch {
    uint8_t *data; /* aligned to a cache line */
    size_t bytes;
};

/* At least n bytes, of any content, all initialised: kernels read past what
 * they use. ENOMEM, naming `what`. */
int32_t fdl_scratch_grow(struct fdl_scratch *s, size_t n, const char *what);

/* At least rows * row_bytes + extra bytes, as fdl_scratch_grow; ENOMEM also
 * where that does not fit a size_t. */
int32_t fdl_scratch_grow_rows(struct fdl_scratch *s, size_t rows,
                              size_t row_bytes, size_t extra, const char *what);
void fdl_scratch_fini(struct fdl_scratch *s);

#endif
