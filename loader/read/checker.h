/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample after the other, read as readers read it and decoded to its last
 * row, on the calling thread: what can be said of a data set before a training
 * meets it. No loader, no order, no batches.
 */
#ifndef FDL_LOADER_READ_CHECKER_H
#define FDL_LOADER_READ_CHECKER_H

#include "decode/formats/encoded.h"
#include "loader/dataset/dataset.h"

#include <feedline/files.h>

/* Keeps the data set alive. ENOMEM. */
int32_t fdl_checker_create(feedline_dataset *ds,
                           const struct fdl_decode_limits *limits,
                           uint64_t max_file_bytes, feedline_checker **out);
void fdl_checker_destroy(feedline_checker *c);
uint32_t fdl_checker_generation(const feedline_checker *c);
const feedline_dataset *fdl_checker_dataset(const feedline_checker *c);

/* index < count. One thread at a time. */
void fdl_checker_check(feedline_checker *c, uint64_t index,
                       struct feedline_checked *out);

/* Without a checker and a decoder: a copy of the image's bytes, for free(),
 * once checksums were compared. Any thread. The reader's statuses; EDECODE. */
int32_t fdl_sample_read(feedline_dataset *ds, enum fdl_checksums checksums,
                        uint64_t max_file_bytes, uint64_t index, void **data,
                        uint64_t *bytes);

#endif
