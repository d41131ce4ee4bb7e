/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files of a sample whose record is made (record.h), when the program
 * has returned from its call:
 *
 *     open and measure each file -> room for all of them -> fill, close
 *
 * Sizes come first, because a buffer that grows loses what it holds. A few
 * files stay open from the first step to the last; but nobody waits, for a
 * descriptor or for room, while it has one open, so that no two wait for each
 * other.
 */
#ifndef FDL_LOADER_RECORDED_READ_H
#define FDL_LOADER_RECORDED_READ_H

#include "loader/read/record.h"
#include "loader/read/window.h"

/* Of r->record. OK: r->size is the number of encoded bytes of its images.
 * Errors name the file: r->status and r->reason. */
int32_t fdl_recorded_read(struct fdl_window *w, struct fdl_read *r);

#endif
