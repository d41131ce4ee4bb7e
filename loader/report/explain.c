/* SPDX-License-Identifier: Apache-2.0 */
/* How a loader is doing, in words; see explain.h. */
#include "loader/report/explain.h"

#include "base/compiler.h"
#include "loader/report/evidence.h"
#include "loader/report/outside_text.h"
#include "loader/stream/ring.h"
#include "loader/watch/costs.h"
#include "loader/watch/stats.h"
#include "profiler/verdict/headroom.h"

#include <inttypes.h>
#include <string.h>

/* A second verdict is worth its lines if it is a cause of so much of the stall,
 * or may gain so much. */
#define ALSO_SHARE 0.20
#define ALSO_GAIN  0.05

/* Of the action; 0 also where it is not known. */
static void add_gain(double gain, struct fdl_text *t)
{
    if (gain >= 1)
        fdl_text_add(t, "Predicted: up to %.2g times the samples per second.\n",
                     1 + gain);
    else if (gain >= ALSO_GAIN)
        fdl_text_add(t, "Predicted: up to %.0f %% more samples per second.\n",
                     100 * gain);
}

static void add_verdict(const struct fdl_verdict *v, const char *before,
                        struct fdl_text *t)
{
    fdl_text_add(t, "%s%s: %s\n", before, v->code, v->sentence);
    if (v->action[0])
        fdl_text_add(t, "%s\n", v->action);
    add_gain(v->predicted_gain, t);
}

static void add_verdicts(const struct fdl_sources *from, struct fdl_text *t)
{
    struct fdl_evidence e;
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    fdl_evidence_gather(from, &e);
    uint32_t n = fdl_verdict_judge(&e, all);
    add_verdict(&all[0], "", t);
    for (uint32_t i = 1; i < n; i++)
        if (all[i].share >= ALSO_SHARE || all[i].predicted_gain >= ALSO_GAIN)
            add_verdict(&all[i], "Also ", t);
}

/* Batches that the program keeps beyond what next() needs. */
static void add_kept(const struct fdl_sources *from, struct fdl_text *t)
{
    struct fdl_ring *ring = fdl_engine_ring(from->engine);
    uint32_t n_held;
    fdl_ring_is_short(ring, &n_held);
    if (n_held <= FDL_SPARE_SLOTS)
        return;
    uint64_t bytes = n_held * fdl_ring_slot_bytes(ring);
    fdl_text_add(t,
                 "The program keeps %" PRIu32 " batches (%.3g MB): memory that "
                 "comes back when they are released.\n",
                 n_held, (double)bytes / 1e6);
}

/* What it saves is estimated: to go over an MCU costs so much of decoding one.
 */
#define GOING_OVER 0.45

static void add_index(const struct fdl_sources *from, struct fdl_text *t)
{
    struct feedline_stats s;
    struct feedline_stage_stats decode;
    fdl_stats_get(from->watch, &s);
    fdl_stats_stage(from->watch, FEEDLINE_STAGE_DECODE, &decode);
    if (s.jpeg_mcus == 0 || s.jpeg_mcus_jumped == 0 || decode.items == 0)
        return;
    double ratio = (double)s.jpeg_mcus_jumped / (double)s.jpeg_mcus;
    double ms = (double)decode.busy_ns / (double)decode.items / 1e6;
    fdl_text_add(
        t,
        "The JPEG index spared %.0f %% of the blocks on the way to the "
        "crops: about %.2g ms of each sample's decode.\n",
        100 * ratio / (1 + ratio), GOING_OVER * ratio * ms);
}

/* Who decodes, where that is measured. */
static void add_choice(const struct fdl_sources *from,
                       const struct feedline_device_stats *d,
                       struct fdl_text *t)
{
    if (fdl_engine_asked(from->engine, FDL_OPT_DECODE) == FDL_DECODE_AUTO)
        fdl_text_add(t, "decode=auto: the %s decodes (%s).\n",
                     d->decode ? "device" : "host", d->decode_reason);
}

/* Where it decodes: how fast, and what part of its time that takes. */
static void add_decoding(const struct fdl_sources *from, struct fdl_text *t)
{
    struct feedline_stats s;
    struct feedline_stage_stats decode;
    struct feedline_device_stats d;
    if (!fdl_engine_has_device(from->engine) ||
        fdl_stats_device(from->watch, &d) < 0)
        return;
    add_choice(from, &d, t);
    if (d.decode_ns == 0 || d.decoded == 0)
        return;
    fdl_stats_get(from->watch, &s);
    fdl_stats_stage(from->watch, FEEDLINE_STAGE_DECODE, &decode);
    uint64_t images =
        d.decode_batches * fdl_engine_config(from->engine)->batch_size;
    double left = (double)d.decoded / (double)FDL_MAX(decode.items, 1);
    fdl_text_add(t,
                 "The device decodes %.0f images/s and takes %.2g %% of its "
                 "time for that; %.0f %% of the samples are left to it, and "
                 "the workers decode the others into the same batches.\n",
                 (double)images * 1e9 / (double)d.decode_ns,
                 100 * (double)d.decode_ns / (double)FDL_MAX(s.wall_ns, 1),
                 100 * FDL_MIN(left, 1.0));
}

/* Of data on other machines. */
static void add_requests(const struct fdl_sources *from, struct fdl_text *t)
{
    struct feedline_stats s;
    fdl_stats_get(from->watch, &s);
    if (s.requests == 0)
        return;
    fdl_text_add(t, "%" PRIu64 " requests brought %.3g MB", s.requests,
                 (double)s.network_bytes / 1e6);
    if (s.requests_failed > 0)
        fdl_text_add(t, "; %.2g %% of them failed (%" PRIu64 " sent again)",
                     100 * (double)s.requests_failed / (double)s.requests,
                     s.requests_retried);
    if (s.requests_hedged > 0)
        fdl_text_add(t,
                     "; %" PRIu64 " were late and sent a second time, which "
                     "was faster for %" PRIu64,
                     s.requests_hedged, s.hedges_won);
    fdl_text_add(t, ".\n");
}

/* Said once, however often it was met. */
static void add_remote_cache(const struct fdl_sources *from, struct fdl_text *t)
{
    struct fdl_chunk_cache_state cache;
    struct feedline_stats s;
    if (!fdl_engine_chunk_cache(from->engine, &cache))
        return;
    fdl_stats_get(from->watch, &s);
    fdl_text_add(t, "remote_cache brought %.3g MB",
                 (double)s.cached_bytes / 1e6);
    if (cache.full)
        fdl_text_add(t,
                     "; its budget of %.3g GB is used up, and what is in it "
                     "stays",
                     (double)cache.budget / 1e9);
    if (s.cache_errors > 0)
        fdl_text_add(t,
                     "; %" PRIu64 " times something in it was damaged, or "
                     "could not be written",
                     s.cache_errors);
    if (cache.skipped_bytes > 0)
        fdl_text_add(t,
                     "; %.3g MB came faster than its disk took them, and were "
                     "not stored",
                     (double)cache.skipped_bytes / 1e6);
    if (cache.step)
        fdl_text_add(t, "; nothing more is stored there (%s: %s)", cache.step,
                     strerror(cache.error));
    fdl_text_add(t, ".\n");
}

/* Each gain with what was measured to say so. */
static void add_headroom(const struct fdl_sources *from, struct fdl_text *t)
{
    struct fdl_evidence e;
    struct fdl_headroom h;
    fdl_evidence_gather(from, &e);
    fdl_headroom_judge(&e, &h);
    const struct {
        const char *what, *why;
        double gain, share;
    } rows[] = {
        {"two more workers", "the consumer waited for decode and augment",
         h.two_workers, h.prep},
        {"packed images (loaderbench pack --store=packed)",
         "Huffman codes, of the workers' time", h.packing, h.huffman},
        {"Huffman chains side by side, where jpeg_index knows the files",
         "codes that were followed alone, of the workers' time", h.chains,
         h.alone},
        {"images decoded on the GPU (decode=device)",
         "what it would take from the workers, of their time",
         e.has_device ? h.device : 0, h.on_device},
        {"storage of twice the speed", "the consumer waited for reads",
         h.storage, h.fetch},
        {"a bus of twice the speed", "it waited for copies", h.transfer,
         h.moving},
    };
    bool any = false;
    for (uint32_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        if (rows[i].gain < ALSO_GAIN)
            continue;
        if (!any)
            fdl_text_add(t, "\nWhat would be gained at most, alone:\n");
        any = true;
        fdl_text_add(t, "- %s: %.0f %% (%s: %.0f %%)\n", rows[i].what,
                     100 * rows[i].gain, rows[i].why, 100 * rows[i].share);
    }
}

void fdl_explain(const struct fdl_sources *from, struct fdl_text *t)
{
    struct fdl_costs costs;
    fdl_costs_get(from->watch, &costs);
    add_verdicts(from, t);
    fdl_text_add(t, "\n");
    if (from->watch->outside) {
        fdl_outside_explain(from->watch, t);
        fdl_costs_say(&costs, t);
        return;
    }
    fdl_costs_say(&costs, t);
    add_index(from, t);
    add_decoding(from, t);
    add_requests(from, t);
    add_remote_cache(from, t);
    add_kept(from, t);
    add_headroom(from, t);
    fdl_text_add(t, "\nThe tuner:\n");
    fdl_tuner_explain(from, t);
}
