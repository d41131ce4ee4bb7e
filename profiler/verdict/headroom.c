/* SPDX-License-Identifier: Apache-2.0 */
/* Headroom; the formulas are in headroom.h. */
#include "profiler/verdict/headroom.h"

#include "profiler/verdict/advice.h"
#include "profiler/verdict/verdict_own.h"

#include <math.h>

/* Time saved by two more workers, or fewer if fewer would help; none if the
 * verdicts ask for fewer workers. */
static double saved_by_workers(const struct fdl_facts *f,
                               const struct fdl_advice *advice)
{
    double at_work = fmin(f->useful_workers, f->filling);
    double free = fmax(at_work - f->workers, 0);
    if (advice->moves.workers < 0)
        return 0;
    double all = f->workers + fmin(free, 2);
    double faster = f->of_ns * (1 - f->workers / all);
    return fmin(fdl_facts_lost(f, CAUSE_PREP), faster);
}

/* The gain where workers have no need of a part of their time. */
static double gain_without(const struct fdl_facts *f, double part)
{
    double saved = fmin(fdl_facts_lost(f, CAUSE_PREP), f->of_ns * part);
    return fdl_facts_gain(saved, f->of_ns);
}

/* What chains side by side spare of Huffman codes that were followed alone. */
#define CHAINS_SPARE 0.4

/* Samples per second of workers that are busy with nothing else. */
static double host_rate(const struct fdl_evidence *e, double on_device)
{
    double rest = (double)e->worker_busy_ns * (1 - on_device);
    return on_device > 0 && rest > 0 && e->samples > 0
               ? (double)e->workers * (double)e->samples * 1e9 / rest
               : 0;
}

void fdl_headroom_judge(const struct fdl_evidence *e, struct fdl_headroom *out)
{
    struct fdl_facts f;
    struct fdl_advice advice;
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    fdl_facts_digest(e, &f);
    fdl_advice_of(all, fdl_verdict_judge(e, all), &advice);
    double rate =
        e->wall_ns > 0 ? (double)e->batches * 1e9 / (double)e->wall_ns : 0;
    double huffman = fmin(
        fdl_facts_ratio((double)e->huffman_ns, (double)e->worker_busy_ns), 1);
    double alone = e->jpeg_index_used ? 0 : huffman;
    double on_device = fdl_facts_device_part(e);
    *out = (struct fdl_headroom){
        .batches_per_second = rate,
        .fed = fdl_facts_gain(f.stalled_ns, f.of_ns),
        .two_workers = fdl_facts_gain(saved_by_workers(&f, &advice), f.of_ns),
        .storage = fdl_facts_gain(fdl_facts_lost(&f, CAUSE_FETCH) / 2, f.of_ns),
        .transfer =
            fdl_facts_gain(fdl_facts_lost(&f, CAUSE_TRANSFER) / 2, f.of_ns),
        .prep = fdl_facts_ratio(fdl_facts_lost(&f, CAUSE_PREP), f.of_ns),
        .fetch = fdl_facts_ratio(fdl_facts_lost(&f, CAUSE_FETCH), f.of_ns),
        .moving = fdl_facts_ratio(fdl_facts_lost(&f, CAUSE_TRANSFER), f.of_ns),
        .huffman = huffman,
        .packing = gain_without(&f, huffman),
        .chains = gain_without(&f, CHAINS_SPARE * alone),
        .device = gain_without(&f, on_device),
        .alone = alone,
        .on_device = on_device,
        .host_rate = host_rate(e, on_device),
    };
}
