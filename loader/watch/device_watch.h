/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of a loader's device, with its lock. The backend adds to it on its
 * own thread. Batches that the caller holds keep the backend alive after the
 * loader is gone, so the ledger is reference-counted: loader and ring hold it.
 */
#ifndef FDL_LOADER_DEVICE_WATCH_H
#define FDL_LOADER_DEVICE_WATCH_H

#include "base/lock.h"
#include "profiler/measure/device.h"
#include "profiler/trace/trace.h"
#include "transfer/backend.h"

#include <pthread.h>
#include <stdatomic.h>

struct fdl_device_watch {
    _Atomic uint32_t refs;
    struct fdl_lock lock; /* guards the rest */
    struct fdl_device_ledger ledger;
    uint64_t since;               /* tickets before this one do not count */
    struct fdl_trace_ring *notes; /* NULL: none */
};

int32_t fdl_device_watch_create(struct fdl_device_watch **out);
struct fdl_device_watch *fdl_device_watch_ref(struct fdl_device_watch *w);
void fdl_device_watch_unref(struct fdl_device_watch *w);

/* `observe` of fdl_backend_config; watch: `observer`. */
void fdl_device_watch_observe(void *watch, const struct fdl_device_times *t);

/* Any thread. */
void fdl_device_watch_get(struct fdl_device_watch *w,
                          struct fdl_device_ledger *out);

/* A new zero: batches from this ticket on count, however late earlier ones are
 * reported. */
void fdl_device_watch_reset(struct fdl_device_watch *w, uint64_t ticket);

/* A new run, whose tickets begin at 0. */
void fdl_device_watch_rewind(struct fdl_device_watch *w);

#endif
