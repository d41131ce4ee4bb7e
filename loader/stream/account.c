/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's account; see account.h. */
#include "loader/stream/account.h"

#include "base/compiler.h"
#include "loader/engine.h"

#include <string.h>

#define CLOCK_READS 4 /* of one call: called, waiting, ready, returned */

static int64_t own_time(int64_t from, int64_t to)
{
    return FDL_MAX(to - from, INT64_C(0));
}

/* No step: what the program did until it asked for another run. */
static void add_restart(struct fdl_consumer *c, int64_t asked, int64_t now)
{
    int64_t from = fdl_account_since_locked(c, c->returned_ns);
    fdl_counter_add(&c->consume.busy_ns, (uint64_t)own_time(from, asked));
    fdl_account_book_user_locked(c, asked);
    c->api_ns += now - fdl_account_since_locked(c, asked);
}

void fdl_account_begin(struct fdl_consumer *c, int64_t asked, int64_t now)
{
    fdl_lock(&c->books);
    if (c->returned_ns != 0)
        add_restart(c, asked, now);
    c->started_ns = c->returned_ns = c->booked_ns = now;
    memset(&c->turn, 0, sizeof(c->turn));
    fdl_unlock(&c->books);
}

void fdl_account_book_user_locked(struct fdl_consumer *c, int64_t now)
{
    c->user_ns += own_time(c->booked_ns, now);
    c->booked_ns = FDL_MAX(c->booked_ns, now);
}

int64_t fdl_account_since_locked(const struct fdl_consumer *c, int64_t time)
{
    return FDL_MAX(time, c->reset_ns);
}

/* Who wants sums that only grow has these. */
static void keep_past(struct fdl_consumer *c)
{
    c->resets++;
    c->past.batches += c->batches;
    c->past.user_ns += c->user_ns;
    c->past.api_ns += c->api_ns;
    c->past.wait_ns += c->ledger.wait_ns;
    for (uint32_t i = 0; i < FDL_BUCKETS; i++)
        c->past.ns[i] += c->ledger.ns[i];
}

void fdl_account_reset_locked(struct fdl_consumer *c, int64_t now)
{
    bool inside = atomic_load_explicit(&c->inside, memory_order_relaxed) != 0;
    if (c->returned_ns != 0 && !inside)
        fdl_account_book_user_locked(c, now);
    keep_past(c);
    c->ledger = (struct fdl_ledger){0};
    c->user_ns = c->api_ns = 0;
    c->batches = c->samples = 0;
    c->ledger_ns = c->clock_reads = 0;
    c->booked_ns = FDL_MAX(c->booked_ns, now);
    c->reset_ns = now;
}

/* What the consumer did since the last batch is one item of its stage; of it,
 * `user` is not in busy_ns yet. */
static void count_step(struct fdl_consumer *c,
                       const struct fdl_account_call *call, int64_t user)
{
    struct fdl_stage *s = &c->consume;
    int64_t from = fdl_account_since_locked(c, c->returned_ns);
    fdl_counter_add(&s->busy_ns, (uint64_t)own_time(from, call->called));
    fdl_counter_add(&s->starved_ns, (uint64_t)call->wait_ns);
    if (!call->delivered)
        return;
    fdl_counter_add(&s->items, 1);
    fdl_counter_add(&s->bytes, call->bytes);
    fdl_histogram_add(&s->times, c->turn.user_ns + user);
}

/* A batch ends the turn, anything else makes it longer. */
static void take_turn(struct fdl_consumer *c, struct fdl_account_call *call,
                      int64_t user, int64_t wall)
{
    c->turn.user_ns += user;
    c->turn.wait_ns += call->wait_ns;
    c->turn.wall_ns += wall;
    c->turn.fetch_ns += call->fetch_ns;
    if (!call->delivered)
        return;
    call->pace.user_ns = c->turn.user_ns;
    call->pace.wait_ns = c->turn.wait_ns;
    call->pace.wall_ns = c->turn.wall_ns;
    call->pace.fetch_ns = c->turn.fetch_ns;
    fdl_pace_add(&c->pace, &call->pace);
    memset(&c->turn, 0, sizeof(c->turn));
}

int64_t fdl_account_add_locked(struct fdl_consumer *c,
                               struct fdl_account_call *call)
{
    int64_t user = call->called - c->returned_ns;
    int64_t now = fdl_now_ns();
    fdl_account_book_user_locked(c, call->called);
    c->api_ns +=
        now - fdl_account_since_locked(c, call->called) - call->wait_ns;
    c->ledger_ns += (uint64_t)(now - call->waited);
    c->clock_reads += CLOCK_READS;
    count_step(c, call, user);
    take_turn(c, call, user, now - c->returned_ns);
    c->returned_ns = c->booked_ns = now;
    return now;
}
