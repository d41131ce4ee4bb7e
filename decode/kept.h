/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An image that is decoded once and rendered several times: its rows, kept in
 * memory, are one more source (formats/format.h) of a decoder.
 */
#ifndef FDL_DECODE_KEPT_H
#define FDL_DECODE_KEPT_H

#include "decode/formats/format.h"
#include "decode/pixels/scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory is an empty one. */
struct fdl_kept {
    struct fdl_scratch rows;
    struct fdl_box box;   /* of the stored image, that the rows have */
    size_t stride, pixel; /* bytes */
    bool alpha;           /* is the last channel */
    bool truncated;       /* as the format said */
    struct fdl_box have;
    int32_t row; /* next, of have */
};

/* The source; self: a struct fdl_kept. */
extern const struct fdl_format fdl_kept_source;

void fdl_kept_fini(struct fdl_kept *kept);

#endif
