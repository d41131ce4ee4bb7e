/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/dataset/entry_keeper.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/status.h"

#define INTERVAL_NS INT64_C(60000000000)
#define PAUSE_PART  20 /* times as long as the last file took */

/* false: it stops. */
static bool sleep_until(struct fdl_entry_keeper *k, int64_t due)
{
    for (;;) {
        uint32_t key = fdl_event_prepare(&k->wake);
        int64_t left = due - fdl_now_ns();
        /* relaxed: no other memory depends on it. */
        bool stops = atomic_load_explicit(&k->stops, memory_order_relaxed);
        if (stops || left <= 0) {
            fdl_event_cancel(&k->wake);
            return !stops;
        }
        fdl_event_wait(&k->wake, key, left);
    }
}

static void *keep(void *arg)
{
    struct fdl_entry_keeper *k = arg;
    int64_t due = fdl_now_ns() + k->interval_ns;
    while (sleep_until(k, due)) {
        int64_t begun = fdl_now_ns();
        fdl_entry_store_keep(k->store);
        int64_t end = fdl_now_ns();
        due = end + FDL_MAX(k->interval_ns, PAUSE_PART * (end - begun));
    }
    return NULL;
}

void fdl_entry_keeper_start(struct fdl_entry_keeper *k,
                            struct fdl_entry_store *store, int64_t interval_ns)
{
    if (k->thread.running || !store || !fdl_entry_store_is_kept(store))
        return;
    fdl_event_init(&k->wake);
    k->store = store;
    k->interval_ns = interval_ns ? interval_ns : INTERVAL_NS;
    atomic_init(&k->stops, false);
    if (fdl_thread_start(&k->thread, "feedline-keep", keep, k) < 0) {
        fdl_log(FDL_LOG_WARNING,
                "%s; the JPEG index is kept at the end of the run only",
                fdl_last_error());
        fdl_clear_error();
    }
}

void fdl_entry_keeper_stop(struct fdl_entry_keeper *k)
{
    if (!k->thread.running)
        return;
    atomic_store_explicit(&k->stops, true, memory_order_relaxed);
    fdl_event_notify(&k->wake, UINT32_MAX);
    fdl_thread_join(&k->thread);
}
