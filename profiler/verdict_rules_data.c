/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why bytes hold it up: on their way from the storage, on their way to the
 * device, or for want of memory to put them.
 */
#include "profiler/verdict_own.h"

#include <math.h>

#define SMALL_FILE_BYTES (128.0 * 1024)
#define FLAT             0.05 /* growth that is none */
#define CACHED           3.0  /* fetch of the first epoch over the later ones */
#define MIXED            0.05 /* of reads are slow, or of reads are fast */
#define FAR_BELOW        0.50 /* of the ceiling, or of the best rate seen */
#define OVERLAPPED       0.20 /* of copy time, beside the consumer's work */
#define WORKS            0.20 /* of the span: there is something to overlap */
#define BEST_RATE        0.70

/* Deeper queues were tried, and gave no more bytes but later ones. */
static bool is_flat(const struct fdl_evidence *e)
{
    return e->rate_by_depth > -1 && fabs(e->rate_by_depth) <= FLAT &&
           e->latency_by_depth > FLAT;
}

static bool is_small(const struct fdl_evidence *e)
{
    return e->mean_file_bytes > 0 && e->mean_file_bytes < SMALL_FILE_BYTES;
}

static bool judge_cold(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double first = e->first_epoch_fetch, later = e->later_epoch_fetch;
    bool epochs = fdl_facts_known(first) && fdl_facts_known(later);
    if (!e->reads_storage)
        return false;
    if (epochs) {
        if (!(first > 0) || first < CACHED * later)
            return false;
        fdl_say(d, ": %s of the first epoch, and %s of the later ones.",
                fdl_say_percent(first).at, fdl_say_percent(later).at);
    } else {
        if (!(e->cold_fraction >= MIXED && e->cold_fraction <= 1 - MIXED))
            return false;
        fdl_say(d,
                ": %s of the reads were as slow as a device, while others "
                "came from memory.",
                fdl_say_percent(e->cold_fraction).at);
    }
    d->v.code = "COLD_CACHE";
    d->v.predicted_gain = 0; /* it passes by itself */
    fdl_act(d, "Wait for the end of the first epoch, or read the files once "
               "before; if it stays so, they do not fit into memory: use "
               "faster storage.");
    fdl_note(d, "first_epoch_fetch", first);
    fdl_note(d, "later_epoch_fetch", later);
    fdl_note(d, "cold_fraction", e->cold_fraction);
    return true;
}

static void say_rate(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double files = (double)e->samples / ((double)e->wall_ns / 1e9);
    fdl_say(d, ", at %s files/s", fdl_say_number(files, false).at);
    if (e->mean_file_bytes > 0)
        fdl_say(d, " and %s MB/s (files of %s KiB on average)",
                fdl_say_number(files * e->mean_file_bytes / 1e6, true).at,
                fdl_say_number(e->mean_file_bytes / 1024, false).at);
    fdl_note(d, "files_per_second", files);
    fdl_note(d, "mean_file_bytes", e->mean_file_bytes);
    fdl_note(d, "rate_by_depth", e->rate_by_depth);
    fdl_note(d, "latency_by_depth", e->latency_by_depth);
    fdl_note(d, "read_p50_us", e->read_p50_us);
    if (e->io_depth)
        fdl_note(d, "io_depth", e->io_depth);
}

static void say_latency(const struct fdl_facts *f, struct fdl_draft *d,
                        bool queued)
{
    const struct fdl_evidence *e = f->e;
    bool far = e->best_read_rate > 0 && fdl_facts_known(e->read_rate) &&
               e->read_rate < BEST_RATE * e->best_read_rate;
    d->v.code = "FETCH_LATENCY_BOUND";
    fdl_say(d, queued ? "; most of it before the reads were sent"
                      : "; most of it with the reads on their way");
    if (far)
        fdl_say(d, ", and the storage has given %s MB/s",
                fdl_say_number(e->best_read_rate / 1e6, true).at);
    fdl_say(d, ".");
    if (!e->reads_storage) {
        fdl_act(d, "Use more workers: with this reader they read themselves.");
        d->v.tuner = true;
        return;
    }
    fdl_act(d, queued ? "Raise io_depth, so that more reads are on their way "
                        "at once."
                      : "Raise io_depth; if MB/s stay the same, the storage is "
                        "the limit.");
    d->v.tuner = true;
}

void fdl_judge_fetch(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    bool flat = is_flat(e);
    bool queued =
        e->ledger.ns[FDL_BUCKET_FETCH_QUEUE] > e->ledger.ns[FDL_BUCKET_FETCH];
    if (judge_cold(f, d) || fdl_judge_variance(f, d))
        return;
    say_rate(f, d);
    if (is_small(e) && e->reads_storage && (flat || !queued)) {
        d->v.code = "SMALL_FILES";
        fdl_say(d, ".");
        fdl_act(d, "Pack the small files into larger ones, or move them to "
                   "faster storage (a local SSD, or memory).");
    } else if (flat && e->reads_storage) {
        d->v.code = "FETCH_BW_BOUND";
        fdl_say(d,
                "; with io_depth %u the rate changed by no more than 5 %%, "
                "and reads took %s longer.",
                e->io_depth, fdl_say_percent(e->latency_by_depth).at);
        fdl_act(d, "Use faster storage or one that caches, or store smaller "
                   "files: more reads at once give no more.");
    } else {
        say_latency(f, d, queued);
    }
}

/* "; copies took 95 % of the time, at 12.1 of 25.0 GB/s" */
static void say_copies(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    fdl_say(d, "; copies took %s of the time, at %s",
            fdl_say_percent(fdl_facts_ratio((double)e->copy_ns, f->of_ns)).at,
            fdl_say_number(e->copy_gbps, true).at);
    if (e->ceiling_gbps > 0)
        fdl_say(d, " of %s", fdl_say_number(e->ceiling_gbps, true).at);
    fdl_say(d, " GB/s");
}

/* What the device's own clock says about its copies; false: nothing. */
static bool judge_copies(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double copying = (double)e->copy_ns;
    double working = fdl_facts_ratio(f->of_ns - f->stalled_ns, f->of_ns);
    double overlapped = fdl_facts_ratio((double)e->overlap_ns, copying);
    bool alone = copying - (double)e->overlap_ns >= 0.5 * f->stalled_ns;
    bool slow = alone && e->ceiling_gbps > 0 &&
                e->copy_gbps < FAR_BELOW * e->ceiling_gbps;
    bool serial = alone && overlapped < OVERLAPPED && working >= WORKS;
    if (!f->bus_full && !slow && !serial)
        return false;
    say_copies(f, d);
    fdl_note(d, "copying", fdl_facts_ratio(copying, f->of_ns));
    fdl_note(d, "overlapped", overlapped);
    fdl_note(d, "copy_gbps", e->copy_gbps);
    if (e->ceiling_gbps > 0)
        fdl_note(d, "ceiling_gbps", e->ceiling_gbps);
    if (slow) {
        d->v.code = "XFER_BOUND";
        fdl_say(d, ", far below what the bus can do.");
        fdl_act(d, "Bind the process to the NUMA node of its GPU, and look at "
                   "what else uses the bus and the memory.");
    } else if (f->bus_full) {
        d->v.code = "XFER_BOUND";
        fdl_say(d, ".");
        fdl_act(d, "Let fewer bytes cross the bus: finish=device sends uint8; "
                   "or train on smaller images.");
    } else {
        d->v.code = "COPY_NOT_OVERLAPPED";
        fdl_say(d, ", and only %s of them lay beside the consumer's work.",
                fdl_say_percent(overlapped).at);
        fdl_act(d, "Release each batch as soon as its work is queued, and "
                   "raise depth: a copy cannot begin while its slot is in "
                   "use.");
    }
    return true;
}

void fdl_judge_transfer(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (f->device && judge_copies(f, d))
        return;
    d->v.code = "XFER_BOUND";
    fdl_say(d, ".");
    fdl_act(d, "Make the copy smaller or overlap it: pinned memory, images as "
               "uint8, normalisation on the device.");
    fdl_note(d, "transfer_seconds", f->cause_ns[CAUSE_TRANSFER] / 1e9);
}

void fdl_judge_slot(const struct fdl_facts *f, struct fdl_draft *d)
{
    const int64_t *ns = f->e->ledger.ns;
    bool held = !f->device && ns[FDL_BUCKET_SLOT] >= ns[FDL_BUCKET_NOT_ISSUED];
    if (f->e->memory_limited) {
        d->v.code = "MEMORY_LIMITED";
        fdl_say(d, ": all batches that the memory budget allows were in use.");
        fdl_act(d, "Raise the memory budget, or use smaller batches.");
    } else if (held) {
        d->v.code = "CONSUMER_HOLDS_SLOTS";
        fdl_say(d, ": the consumer held every batch there is.");
        fdl_act(d, "Release each batch before asking for the next, or raise "
                   "depth.");
    } else {
        d->v.code = "DEPTH_LIMITED";
        d->v.tuner = true;
        fdl_say(d, ": too few batches are prepared ahead.");
        fdl_act(d, "Raise depth.");
    }
    fdl_note(d, "slot_seconds", (double)ns[FDL_BUCKET_SLOT] / 1e9);
    fdl_note(d, "not_issued_seconds", (double)ns[FDL_BUCKET_NOT_ISSUED] / 1e9);
    fdl_note(d, "depth", f->e->depth);
}
