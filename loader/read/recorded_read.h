/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the record (record.h) of a sample whose images the program named, and
 * reads their bytes:
 *
 *     check -> open and measure each file -> room for all -> fill, close
 *
 * On the program's reading thread or worker. Sizes come first, because a buffer
 * that grows loses what it holds. A few files stay open from the first step to
 * the last; but nobody waits, for a descriptor or for room, while it has one
 * open, so that no two wait for each other.
 */
#ifndef FDL_LOADER_RECORDED_READ_H
#define FDL_LOADER_RECORDED_READ_H

#include "loader/read/window.h"

#include <feedline/recorded.h>

/* Everything that can be said before a file is opened. EINVAL, ERANGE:
 * r->status and r->reason are set. */
int32_t fdl_recorded_read_check(struct fdl_read *r,
                                const struct feedline_recorded_image *images,
                                uint32_t n);

/* Of checked images. OK: r->data is the record, and r->size the number of
 * encoded bytes in it. Errors name the file: r->status and r->reason. */
int32_t fdl_recorded_read(struct fdl_window *w, struct fdl_read *r,
                          const struct feedline_recorded_image *images,
                          uint32_t n);

#endif
