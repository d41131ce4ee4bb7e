/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Downloads for threads that have nothing else to do meanwhile. Connections are
 * kept for the next one, of whatever thread.
 */
#ifndef FDL_STORE_GET_H
#define FDL_STORE_GET_H

#include "store/downloads.h"

/* Until d->done has been called. What it cannot even begin fails like all else:
 * d->status and d->why. */
void fdl_get(struct fdl_download *d);

/* Up to `most` bytes of an object from `offset` on, fewer only at its end.
 * *out: for free(), with a NUL behind them; *size: of the object. The error
 * line names it. */
int32_t fdl_get_bytes(struct fdl_store *store, const char *path, fdl_tag *tag,
                      uint64_t offset, uint64_t most, uint64_t *size,
                      char **out, uint64_t *bytes);

/* As fdl_fetch (request.h) has it; user is not used. */
int32_t fdl_get_request(void *user, const struct fdl_request *r,
                        uint64_t max_bytes, struct fdl_answer *out);

#endif
