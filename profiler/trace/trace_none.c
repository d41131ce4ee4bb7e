/* SPDX-License-Identifier: Apache-2.0 */
/* Without rings there are no notes: to measure what they cost
 * (FEEDLINE_RINGS=OFF, bench/overhead). */
#include "profiler/trace/trace.h"

#include <stddef.h>

struct fdl_trace_ring *fdl_trace_ring_create(void)
{
    return NULL;
}

void fdl_trace_ring_destroy(struct fdl_trace_ring *ring)
{
    (void)ring;
}

uint64_t fdl_trace_ring_bytes(const struct fdl_trace_ring *ring)
{
    (void)ring;
    return 0;
}

void fdl_trace_note(struct fdl_trace_ring *ring, enum fdl_trace_kind kind,
                    int64_t begin_ns, int64_t length, uint64_t ticket,
                    uint32_t sample, uint32_t arg)
{
    (void)ring;
    (void)kind;
    (void)begin_ns;
    (void)length;
    (void)ticket;
    (void)sample;
    (void)arg;
}

void fdl_trace_ring_set_run(struct fdl_trace_ring *ring, uint32_t run)
{
    (void)ring;
    (void)run;
}

uint64_t fdl_trace_ring_head(const struct fdl_trace_ring *ring)
{
    (void)ring;
    return 0;
}

uint32_t fdl_trace_ring_copy(const struct fdl_trace_ring *ring, uint64_t *next,
                             struct fdl_trace_note *out, uint64_t *lost)
{
    (void)ring;
    (void)next;
    (void)out;
    (void)lost;
    return 0;
}
