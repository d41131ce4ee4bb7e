/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample of a store as a download (store/downloads.h) that goes into its read
 * buffer. The buffer is taken when the server answers: until then a read in
 * flight costs none, and of an object of its own the size is not known.
 *
 * With a cache (store/chunk_cache.h) the sample may be there, and then comes
 * from there. If not, what is asked for begins and ends with chunks, as a
 * direct read does with blocks, and is stored:
 *
 *     object   |  chunk  |  chunk  |  chunk  |  chunk  |
 *     sample              ==================
 *     buffer    [  head  |         |         ]
 *
 * Once the cache is full no byte more than the sample is asked for, and of what
 * was found right before and is still in the page cache none more is read, and
 * nothing is checked. What comes from the disk is, each time. Shards of the
 * cache stay open as local ones do (shard_files.h).
 */
#ifndef FDL_LOADER_REMOTE_READ_H
#define FDL_LOADER_REMOTE_READ_H

#include "loader/read/window.h"
#include "store/downloads.h"

struct fdl_remote_read {
    struct fdl_download download; /* first */
    struct fdl_window *window;
    struct fdl_read *read;
    int64_t length; /* of what is read; -1: all of an object */
    bool is_kept;   /* it seems to be in the cache: `kept` is open, */
    bool is_known;  /* and was found right, or written, before */
    bool stores;    /* what comes goes there, */
    bool anew;      /* in place of what was damaged */
    struct fdl_chunk_file kept;
    struct fdl_chunk_key key; /* with this tag; NULL: not made yet */
    const char *key_tag;
};

/* For r->source.store. If it is not is_kept, the caller sets `done` and begins
 * the download; else it calls take. */
void fdl_remote_prepare(struct fdl_remote_read *remote, struct fdl_window *w,
                        struct fdl_read *r);

/* Reads it from the cache. wait: for the disk too. */
enum fdl_remote_taken {
    FDL_REMOTE_TAKEN, /* r->status is set, as after an end */
    FDL_REMOTE_LATER, /* there is no room yet, or the disk is at it */
    FDL_REMOTE_GONE   /* it is damaged there: it is to be downloaded */
};
enum fdl_remote_taken fdl_remote_take(struct fdl_remote_read *remote,
                                      bool wait);

/* The download has ended: sets r->status. */
void fdl_remote_end(struct fdl_remote_read *remote);

/* Of what is_kept and was not taken: fails with these words. */
void fdl_remote_drop(struct fdl_remote_read *remote, const char *why);

/* All of it, on the calling thread. */
void fdl_remote_read(struct fdl_window *w, struct fdl_read *r);

#endif
