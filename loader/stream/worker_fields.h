/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's part in fields, and in masks: fields that are rendered. */
#ifndef FDL_LOADER_WORKER_FIELDS_H
#define FDL_LOADER_WORKER_FIELDS_H

#include "decode/pipeline.h"
#include "loader/stream/ring.h"
#include "loader/stream/worker.h"

/* Copies the fields of the sample in r, which was read, to its place. EIO,
 * ENOENT, ERANGE, ENOMEM, EDECODE: of a part that lies elsewhere. */
int32_t fdl_worker_take_fields(struct fdl_worker *w, const struct fdl_read *r,
                               feedline_batch *b, uint32_t place);

/* Renders the mask of an image that was rendered by `key`, from what
 * fdl_worker_take_fields found of it, and adds to *cost. ENOENT: there is none;
 * EDECODE: its size is not the image's; and the decoder's errors. */
int32_t fdl_worker_render_mask(struct fdl_worker *w,
                               const struct fdl_draw_key *key,
                               const struct fdl_image_info *image,
                               feedline_batch *b, uint32_t place,
                               struct fdl_render_cost *cost);

#endif
