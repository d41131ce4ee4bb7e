/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's part in fields. */
#ifndef FDL_LOADER_WORKER_FIELDS_H
#define FDL_LOADER_WORKER_FIELDS_H

#include "loader/stream/ring.h"
#include "loader/stream/worker.h"

/* The image among the bytes that were read. */
void fdl_worker_encoded(const struct fdl_read *r, struct fdl_encoded *out);

/* Copies the fields of the sample in r, which was read, to its place; and zeros
 * what is behind the image, where the decoder expects that. EIO, ENOENT,
 * ERANGE, ENOMEM: of a part that lies elsewhere. */
int32_t fdl_worker_take_fields(struct fdl_worker *w, const struct fdl_read *r,
                               feedline_batch *b, uint32_t place);

#endif
