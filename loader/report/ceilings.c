/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would be gained, and what each stage could do alone.
 *
 * A stage alone is its threads, all of them at work all the time, each taking
 * as long for an item as it does now: threads * items / busy. For io_uring,
 * whose one thread is busy while at least one read is on its way, that is the
 * rate of the reads that were in flight together.
 */
#include "loader/report/evidence.h"
#include "loader/report/stats_json.h"
#include "loader/watch/stats.h"
#include "profiler/verdict/headroom.h"

/* Of a stage in batches per second; 0: not known. */
static double ceiling(const struct feedline_stage_stats *s, double threads,
                      double items_per_batch)
{
    if (s->items == 0 || s->busy_ns == 0 || !(items_per_batch > 0))
        return 0;
    double per_second = threads * (double)s->items / ((double)s->busy_ns / 1e9);
    return per_second / items_per_batch;
}

static void fill_ceilings(const struct fdl_sources *from,
                          const struct fdl_evidence *e,
                          double out[FEEDLINE_STAGE_COUNT])
{
    double samples = e->batches ? (double)e->samples / (double)e->batches : 0;
    for (uint32_t i = 0; i < FEEDLINE_STAGE_COUNT; i++) {
        struct feedline_stage_stats s;
        fdl_stats_stage(from->watch, i, &s);
        bool of_workers =
            i == FEEDLINE_STAGE_DECODE || i == FEEDLINE_STAGE_AUGMENT;
        bool of_batches =
            i == FEEDLINE_STAGE_TRANSFER || i == FEEDLINE_STAGE_CONSUME;
        out[i] = ceiling(&s, of_workers ? e->workers : s.threads,
                         of_batches ? 1 : samples);
    }
    /* On the host a batch is handed over and nothing is moved. */
    if (!e->has_device)
        out[FEEDLINE_STAGE_TRANSFER] = 0;
    else if (e->copy_ns > 0)
        out[FEEDLINE_STAGE_TRANSFER] =
            (double)e->batches / ((double)e->copy_ns / 1e9);
}

void fdl_notable_headroom(const struct fdl_sources *from,
                          struct feedline_headroom *out)
{
    struct fdl_evidence evidence;
    struct fdl_headroom found;
    fdl_evidence_gather(from, &evidence);
    fdl_headroom_judge(&evidence, &found);
    *out = (struct feedline_headroom){
        .struct_size = sizeof(*out),
        .batches_per_second = found.batches_per_second,
        .fed = found.fed,
        .two_workers = found.two_workers,
        .storage = found.storage,
        .transfer = found.transfer,
        .huffman = found.huffman,
        .packing = found.packing,
    };
    fill_ceilings(from, &evidence, out->stages);
}
