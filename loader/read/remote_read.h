/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample of a store as a download (store/downloads.h) that goes into its read
 * buffer. The buffer is taken when the server answers: until then a read in
 * flight costs none, and of an object of its own the size is not known.
 */
#ifndef FDL_LOADER_REMOTE_READ_H
#define FDL_LOADER_REMOTE_READ_H

#include "loader/read/window.h"
#include "store/downloads.h"

struct fdl_remote_read {
    struct fdl_download download; /* first */
    struct fdl_window *window;
    struct fdl_read *read;
};

/* Makes the download for r->source.store; the caller sets `done` and begins it.
 */
void fdl_remote_prepare(struct fdl_remote_read *remote, struct fdl_window *w,
                        struct fdl_read *r);

/* It has ended: sets r->status. */
void fdl_remote_end(struct fdl_remote_read *remote);

/* All of it, on the calling thread. */
void fdl_remote_read(struct fdl_window *w, struct fdl_read *r);

#endif
