/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the program's own reader; see user_calls.h. */
#include "loader/read/user_calls.h"

#include "base/atomic.h"
#include "base/compiler.h"

void fdl_user_calls_init(struct fdl_user_calls *u)
{
    fdl_lock_init(&u->lock, FDL_RANK_CALLS);
}

void fdl_user_calls_fini(struct fdl_user_calls *u)
{
    fdl_ahead_clear(&u->ahead);
    fdl_lock_destroy(&u->lock);
}

void fdl_user_calls_close(struct fdl_user_calls *u)
{
    fdl_lock(&u->lock);
    u->closed = true;
    for (struct fdl_user_call *c = u->under_way; c; c = c->next)
        if (c->cancel)
            c->cancel(&c->call);
    fdl_unlock(&u->lock);
    fdl_turns_close(&u->turns);
}

void fdl_user_calls_open(struct fdl_user_calls *u)
{
    fdl_lock(&u->lock);
    u->closed = false;
    fdl_unlock(&u->lock);
    fdl_ahead_clear(&u->ahead);
    fdl_turns_open(&u->turns);
}

bool fdl_user_calls_begin(struct fdl_user_calls *u, struct fdl_user_call *c)
{
    fdl_lock(&u->lock);
    bool open = !u->closed;
    if (open) {
        c->next = u->under_way;
        c->at = &u->under_way;
        if (c->next)
            c->next->at = &c->next;
        u->under_way = c;
    }
    fdl_unlock(&u->lock);
    return open;
}

void fdl_user_calls_end(struct fdl_user_calls *u, struct fdl_user_call *c)
{
    fdl_lock(&u->lock);
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    fdl_unlock(&u->lock);
}

static void add(_Atomic uint64_t *sum, int64_t ns, int64_t most)
{
    atomic_fetch_add_explicit(sum, (uint64_t)FDL_MIN(ns, most),
                              memory_order_relaxed);
}

void fdl_user_calls_count(struct fdl_user_calls *u, int64_t wall_ns,
                          int64_t cpu_ns, int64_t lock_ns)
{
    add(&u->calls, 1, 1);
    add(&u->wall_ns, wall_ns, wall_ns);
    add(&u->cpu_ns, cpu_ns, wall_ns);
    add(&u->lock_ns, lock_ns, wall_ns);
}

void fdl_user_calls_sums(const struct fdl_user_calls *u,
                         struct fdl_user_sums *out)
{
    *out = (struct fdl_user_sums){
        .calls = fdl_load(&u->calls),
        .wall_ns = fdl_load(&u->wall_ns),
        .cpu_ns = fdl_load(&u->cpu_ns),
        .lock_ns = fdl_load(&u->lock_ns),
    };
}
