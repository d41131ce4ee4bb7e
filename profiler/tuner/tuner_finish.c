/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host or device: what the rule of finish_choice.h needs to know, gathered from
 * readings. What copies took is told of batches whose copy is long over, and
 * those on their way when the choice changed are of the old kind, so after a
 * change as many as depth are passed over. What the kernel took on the device
 * is remembered while the host finishes.
 */
#include "profiler/tuner/tuner_own.h"

#include <stdio.h>

#define ENOUGH 8.0  /* copies to take a mean of */
#define FULL   0.85 /* of the time something is copied */

void fdl_tuner_finish_see(struct fdl_tuner *t)
{
    struct fdl_tuner_finish *f = &t->finish;
    const struct fdl_tuner_reading *r = &t->last;
    bool device = t->knobs.finish_device;
    if (!f->begun || f->device != device ||
        r->copied_batches < f->base.copied_batches ||
        r->copy_ns < f->base.copy_ns || r->kernel_ns < f->base.kernel_ns) {
        f->from = r->copied_batches + (f->begun ? t->knobs.depth : 0);
        f->begun = true;
        f->device = device;
    }
    if (r->copied_batches <= f->from)
        f->base = *r;
    double n = (double)(r->copied_batches - f->base.copied_batches);
    f->copy_ns = 0;
    if (n < ENOUGH)
        return;
    f->copy_ns = (double)(r->copy_ns - f->base.copy_ns) / n;
    if (device)
        f->kernel_ns = (double)(r->kernel_ns - f->base.kernel_ns) / n;
}

/* A stream waits for a copy by itself, so the consumer does not; what it waits
 * for is a slot that has landed. */
bool fdl_tuner_bus_is_full(const struct fdl_tuner *t)
{
    return t->finish.copy_ns * t->best.rate > FULL;
}

bool fdl_tuner_finish_other(const struct fdl_tuner *t, double *gain, char *why,
                            size_t capacity)
{
    const struct fdl_tuner_estimate *e = &t->best;
    if (!t->limits.finish_free || t->batch_size == 0)
        return false;
    double work = e->work / t->batch_size;
    struct fdl_finish_facts facts = {
        .costs = t->limits.finish,
        .device = t->knobs.finish_device,
        .samples = t->batch_size,
        .step_ns = e->g,
        .copy_ns = t->finish.copy_ns,
        .kernel_ns = t->finish.kernel_ns,
        .cpu_ns = work * e->share,
        .sleep_ns = work * (1 - e->share),
        .cores = fdl_tuner_cores(t, e),
        .workers = (double)t->knobs.workers,
    };
    return fdl_finish_reconsider(&facts, gain, why, capacity);
}
