/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's part in samples that bring their own steps (feedline/recorded.h).
 */
#ifndef FDL_LOADER_WORKER_RECORDED_H
#define FDL_LOADER_WORKER_RECORDED_H

#include "decode/decoder.h"
#include "loader/read/window.h"

/* Makes each image of the record in r, where the program wants it. Adds to
 * *cost, and to *made the bytes of what was made. The decoder's errors, which
 * name the image; some may be made then. */
int32_t fdl_worker_render_recorded(struct fdl_decoder *d,
                                   const struct fdl_read *r,
                                   struct fdl_render_cost *cost,
                                   uint64_t *made);

#endif
