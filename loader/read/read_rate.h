/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast samples are read, and for how much CPU time: a reader and its window
 * as in a training, and nobody who decodes.
 */
#ifndef FDL_LOADER_READ_RATE_H
#define FDL_LOADER_READ_RATE_H

#include "loader/read/reader.h"

#include <feedline/files.h>

struct fdl_reading_plan {
    const feedline_dataset *dataset;
    enum fdl_reader_kind reader;
    uint32_t depth;                 /* 0: the reader's own */
    int32_t direct;                 /* enum fdl_direct_choice */
    struct fdl_chunk_cache *chunks; /* of stores; or NULL */
    bool random; /* tells the kernel so, as for a set beyond memory */
    bool cold;   /* drop the files from the page cache first */
    uint64_t most_ns;
    uint64_t max_file_bytes;
    const uint64_t *samples; /* [n], each read once at most, in this order */
    uint64_t n;
};

/* ENOMEM, ENOSYS, or the error of a window or reader that does not start. */
int32_t fdl_reading_measure(const struct fdl_reading_plan *plan,
                            struct feedline_reading *out);

#endif
