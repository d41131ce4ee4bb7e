/* SPDX-License-Identifier: Apache-2.0 */
/* How the consumer met its batches; see pace.h. */
#include "profiler/measure/pace.h"

#include "base/compiler.h"

#include <string.h>

static void add_epoch(struct fdl_pace *p, const struct fdl_pace_call *call)
{
    bool later = p->begun && call->epoch != p->first_epoch;
    if (!p->begun)
        p->first_epoch = call->epoch;
    p->wall_ns[later] += call->wall_ns;
    p->fetch_ns[later] += call->fetch_ns;
    p->reads[later] += call->reads;
    p->read_ns[later] += call->read_ns;
    if (p->begun && call->starts_epoch) {
        p->edges++;
        p->edge_ns += call->wait_ns;
    }
    if (p->begun && call->starts_epoch)
        p->epoch_batches = p->last_sequence + 1;
    p->last_sequence = call->sequence;
    p->begun = true;
}

FDL_HOT void fdl_pace_add(struct fdl_pace *p, const struct fdl_pace_call *call)
{
    add_epoch(p, call);
    if (call->starts_run)
        return;
    bool is_long = call->wait_ns >= FDL_LONG_WAIT_NS;
    p->calls++;
    p->ready_calls += !is_long;
    p->long_waits += is_long;
    p->passed_waits += is_long && call->passed;
    fdl_histogram_add(&p->leads, call->lead_ns);
    if (!call->starts_epoch)
        fdl_histogram_add(&p->waits, call->wait_ns);
    fdl_interference_add(&p->interference, call->workers, call->user_ns);
}

void fdl_pace_reset(struct fdl_pace *p)
{
    p->calls = p->ready_calls = p->long_waits = p->passed_waits = 0;
    p->edges = 0;
    p->edge_ns = 0;
    memset(&p->interference, 0, sizeof(p->interference));
    memset(&p->leads, 0, sizeof(p->leads));
    memset(&p->waits, 0, sizeof(p->waits));
}

double fdl_pace_fetch(const struct fdl_pace *p, bool later)
{
    int64_t wall = p->wall_ns[later];
    return wall > 0 ? (double)p->fetch_ns[later] / (double)wall : -1;
}

double fdl_pace_read(const struct fdl_pace *p, bool later)
{
    uint64_t n = p->reads[later];
    return n > 0 ? (double)p->read_ns[later] / (double)n : -1;
}
