/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that writes what a JPEG index has learned to its file now and then,
 * so that a training that is killed has lost a minute of it and not all. It
 * takes at most a twentieth of the time: a large index on slow storage is
 * written less often.
 */
#ifndef FDL_LOADER_ENTRY_KEEPER_H
#define FDL_LOADER_ENTRY_KEEPER_H

#include "base/event.h"
#include "base/thread.h"
#include "loader/dataset/entry_store.h"

struct fdl_entry_keeper {
    struct fdl_thread thread;
    struct fdl_event wake;
    struct fdl_entry_store *store;
    int64_t interval_ns;
    _Atomic bool stops;
};

/* Zeroed before the first start. Nothing where it runs, no file is kept, or no
 * thread can be had. interval_ns 0: a minute. One thread at a time. */
void fdl_entry_keeper_start(struct fdl_entry_keeper *k,
                            struct fdl_entry_store *store, int64_t interval_ns);

/* Waits until a file that it has begun is written. */
void fdl_entry_keeper_stop(struct fdl_entry_keeper *k);

#endif
