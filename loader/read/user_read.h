/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads by the program's own reader (feedline/source.h): room in the buffer ->
 * the callback -> what it did is checked. Threads of the pread reader, workers
 * and checkers call it; to all of them it is one more way to read a sample.
 */
#ifndef FDL_LOADER_USER_READ_H
#define FDL_LOADER_USER_READ_H

#include "loader/read/window.h"

#include <feedline/recorded.h>

#include <stdbool.h>
#include <stdint.h>

/* All of it, of r->source.user, on the calling thread. Sets r->status. */
void fdl_user_read(struct fdl_window *w, struct fdl_read *r);

/* For callbacks; see feedline/source.h and recorded.h. */
void *fdl_user_read_grow(struct feedline_read_call *call, uint64_t bytes);
int32_t fdl_user_read_fail(struct feedline_read_call *call, int32_t status,
                           const char *reason);
bool fdl_user_read_is_cancelled(const struct feedline_read_call *call);
void fdl_user_read_waited(struct feedline_read_call *call, int64_t ns);
int32_t fdl_user_read_recorded(struct feedline_read_call *call,
                               const struct feedline_recorded_image *images,
                               uint32_t n);
int32_t fdl_user_read_recorded_ahead(
    struct feedline_read_call *call,
    const struct feedline_recorded_image *images, const uint32_t *counts,
    uint32_t samples);

#endif
