/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of samples; see call_turns.h. */
#include "loader/read/call_turns.h"

static struct fdl_event *event_of(struct fdl_turns *t, uint64_t sample)
{
    return &t->come[sample % FDL_TURN_EVENTS];
}

/* Relaxed: starting the threads orders it. */
void fdl_turns_open(struct fdl_turns *t)
{
    atomic_store_explicit(&t->next, 0, memory_order_relaxed);
    atomic_store_explicit(&t->closed, false, memory_order_relaxed);
    for (uint32_t i = 0; i < FDL_TURN_EVENTS; i++)
        fdl_event_init(&t->come[i]);
}

void fdl_turns_close(struct fdl_turns *t)
{
    /* release: pairs with the acquire in fdl_turns_wait. */
    atomic_store_explicit(&t->closed, true, memory_order_release);
    for (uint32_t i = 0; i < FDL_TURN_EVENTS; i++)
        fdl_event_notify(&t->come[i], UINT32_MAX);
}

/* acquire: pairs with the release in pass: the call before this one began
 * earlier in every respect. */
static bool has_come(struct fdl_turns *t, uint64_t sample)
{
    return atomic_load_explicit(&t->next, memory_order_acquire) == sample;
}

bool fdl_turns_wait(struct fdl_turns *t, uint64_t sample)
{
    struct fdl_event *come = event_of(t, sample);
    while (!has_come(t, sample)) {
        uint32_t key = fdl_event_prepare(come);
        /* acquire: pairs with the release in close. */
        bool closed = atomic_load_explicit(&t->closed, memory_order_acquire);
        if (has_come(t, sample) || closed)
            fdl_event_cancel(come);
        else
            fdl_event_wait(come, key, -1);
        if (closed)
            return false;
    }
    return true;
}

void fdl_turns_pass(struct fdl_turns *t, uint64_t sample)
{
    /* release: pairs with the acquire in has_come. */
    atomic_store_explicit(&t->next, sample + 1, memory_order_release);
    fdl_event_notify(event_of(t, sample + 1), UINT32_MAX);
}
