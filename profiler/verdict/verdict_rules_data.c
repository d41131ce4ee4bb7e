/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stalls caused by moving bytes: from storage, to the device, or for lack of
 * memory to put them in.
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>

#define SMALL_FILE_BYTES (32.0 * 1024)
#define BY_OPERATIONS    0.80 /* of a read's time, whatever its size */
#define FLAT             0.05 /* growth below this is none */
#define MORE_READS       1.50 /* in flight: a smaller change shows nothing */
#define CACHED           3.0  /* the first epoch over the later ones */
#define KEEPING_GAINS    0.05 /* of the bytes, or it is not worth a change */
#define MIXED            0.05 /* of reads are slow, or of reads are fast */
#define FAR_BELOW        0.50 /* of the ceiling */
#define OVERLAPPED       0.20 /* of copy time: the consumer worked meanwhile */
#define WORKS            0.20 /* of the span: there is something to overlap */
#define ONE_SERVER       0.70 /* of the rate: bytes ahead, or a read's own */
#define SEVERAL          1.40
#define TOGETHER         1.50 /* reads in flight */
#define FEW_UNDER_WAY    0.50 /* of io_depth */
#define PASSED           0.50 /* of long waits: a later batch was ready */
#define SOURCE_COMPUTES  0.50 /* of its time on a core, or for a lock */
#define TAIL             10.0 /* times the median: some reads are slow */

/* Growth of the rate per doubling of the reads in flight, as of the last
 * increase of the depth; -1: not known. By Little's law, reads in flight grew
 * as rate times latency did: a limit on bytes raises the latency, a limit on
 * latency raises the rate. The ratio of the two distinguishes them, not the
 * rate alone: a rate known within a few percent shows more about 8 times the
 * reads than about 1.5 times. */
static double growth_of_twice(const struct fdl_evidence *e)
{
    double rate = 1 + e->rate_by_depth;
    double reads = rate * (1 + e->latency_by_depth);
    if (!(rate > 0) || !(reads >= MORE_READS) || !isfinite(reads))
        return -1;
    return fmax(exp2(log2(rate) / log2(reads)) - 1, 0);
}

/* Deeper queues were tried, and delivered the bytes no faster, only later. */
static bool is_flat(const struct fdl_evidence *e)
{
    double growth = growth_of_twice(e);
    return e->more_reads_failed || (growth >= 0 && growth <= FLAT);
}

static double rate_of(const struct fdl_evidence *e)
{
    return fdl_facts_known(e->read_rate_now) ? e->read_rate_now : e->read_rate;
}

/* It is certain (by two standard errors) that a read's bytes arrive faster than
 * one server could deliver them: it takes as long whatever its size. */
static bool is_free(const struct fdl_evidence *e)
{
    double most = e->read_byte_ns + 2 * fmax(e->read_byte_error_ns, 0);
    return fdl_facts_known(e->read_byte_ns) &&
           rate_of(e) * most / 1e9 < ONE_SERVER;
}

/* A read waits until the bytes ahead of it have passed at the rate of all
 * reads, and then for its own. If each had a latency or a rate of its own, none
 * would wait for another; if operations were the limit, its own bytes would
 * cost nothing. */
static bool is_one_server(const struct fdl_evidence *e)
{
    double share = rate_of(e) * e->read_ahead_ns / 1e9;
    return e->reads_under_way >= TOGETHER &&
           (is_flat(e) || !(growth_of_twice(e) > FLAT)) &&
           share >= ONE_SERVER && share <= SEVERAL && !is_free(e);
}

/* How much of a read's time does not depend on bytes; -1: not known. */
static double fixed_part(const struct fdl_evidence *e)
{
    double bytes = e->read_byte_ns * e->mean_file_bytes;
    if (!fdl_facts_known(e->read_fixed_ns) ||
        !fdl_facts_known(e->read_byte_ns) || !(e->mean_file_bytes > 0))
        return -1;
    return fdl_facts_ratio(e->read_fixed_ns, e->read_fixed_ns + bytes);
}

/* Larger reads would deliver more bytes in the same time. Where all have one
 * size, a queue of operations looks like one of bytes. */
static bool is_small(const struct fdl_evidence *e)
{
    double fixed = fixed_part(e);
    return e->mean_file_bytes > 0 && e->mean_file_bytes < SMALL_FILE_BYTES &&
           (fixed == -1 || (fixed >= BY_OPERATIONS && !is_one_server(e)));
}

static bool waits_passed(const struct fdl_evidence *e)
{
    double first = e->first_epoch_fetch, later = e->later_epoch_fetch;
    return fdl_facts_known(later) && first > 0 && first >= CACHED * later;
}

/* Whatever else changed between the epochs, a cache makes the reads themselves
 * shorter. Waits alone also get shorter if more reads are in flight. */
static bool is_cold_epoch(const struct fdl_evidence *e)
{
    double first = e->first_epoch_read, later = e->later_epoch_read;
    return waits_passed(e) &&
           (!fdl_facts_known(first) || !fdl_facts_known(later) ||
            first >= CACHED * later);
}

/* Of the waiting for reads, how much was for the device. */
static void say_cold(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (!fdl_facts_known(f->e->fetch_cold))
        return;
    fdl_say_clause(d, "; %s of that was for reads that storage had to deliver",
                   fdl_say_percent(f->e->fetch_cold).at);
    fdl_note(d, "fetch_cold", f->e->fetch_cold);
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
    say_cold(f, d);
    fdl_note(d, "files_per_second", files);
    fdl_note(d, "mean_file_bytes", e->mean_file_bytes);
    fdl_note(d, "rate_by_depth", e->rate_by_depth);
    fdl_note(d, "latency_by_depth", e->latency_by_depth);
    fdl_note(d, "read_p50_us", e->read_p50_us);
    fdl_note(d, "read_ahead_ns", e->read_ahead_ns);
    if (e->io_depth)
        fdl_note(d, "io_depth", e->io_depth);
}

/* "; a read takes 20.1 ms, 16 at a time" */
static void say_reads(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    if (!(e->read_p50_us > 0))
        return;
    fdl_say_clause(d, "; a read takes %s",
                   fdl_say_duration(e->read_p50_us * 1e3).at);
    if (e->read_p99_us >= TAIL * e->read_p50_us)
        fdl_say_clause(d, ", one in a hundred %s",
                       fdl_say_duration(e->read_p99_us * 1e3).at);
    if (e->reads_under_way >= 1)
        fdl_say_clause(d, ", %s at a time",
                       fdl_say_number(e->reads_under_way, false).at);
}

/* ; your reader "s3": 12.0 ms a sample, 3 % on a core */
static void say_source(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_costly_op *s = &f->e->source;
    double wall = (double)s->wall_ns;
    double locked = fdl_facts_ratio((double)f->e->source_lock_ns, wall);
    if (!s->name || s->samples == 0)
        return;
    fdl_say_clause(
        d, "; your reader %s: %s a sample, %s on a core",
        fdl_say_name(s->name).at,
        fdl_say_duration(wall / (double)s->samples).at,
        fdl_say_percent(fdl_facts_ratio((double)s->cpu_ns, wall)).at);
    if (locked >= CONTRIBUTING)
        fdl_say_clause(d, ", %s waiting for a lock",
                       fdl_say_percent(locked).at);
    fdl_note_name(d, "reader", s->name);
}

/* It keeps a core, or a lock that all its calls share, for most of its time:
 * more of them at once would only queue. */
static bool source_computes(const struct fdl_evidence *e)
{
    const struct fdl_costly_op *s = &e->source;
    double works = (double)s->cpu_ns + (double)e->source_lock_ns;
    return s->name &&
           fdl_facts_ratio(works, (double)s->wall_ns) >= SOURCE_COMPUTES;
}

/* Not of samples that are other ones each time they are read. */
static void or_memory(const struct fdl_facts *f, struct fdl_draft *d,
                      const char *before)
{
    if (!f->e->source_anew)
        fdl_act(d, "%s%s if the files fit into memory", before,
                fdl_say_word(f, "reader", "memory").at);
}

static void say_computing(const struct fdl_facts *f, struct fdl_draft *d)
{
    d->v.code = "FETCH_LATENCY_BOUND";
    say_source(f, d);
    fdl_say(d, ".");
    fdl_act(d, "Let that reader compute less, and outside of locks: it mostly "
               "works, it does not wait");
    or_memory(f, d, "; or use ");
    fdl_act(d, ".");
}

/* Of an epoch's bytes, with a cache that keeps what it has; -1: not known. */
static double kept_part(const struct fdl_evidence *e)
{
    if (!(e->cache_bytes > 0) || !(e->data_bytes > 0))
        return -1;
    return fmin(e->cache_bytes / e->data_bytes, 1);
}

/* Read again and again by a cache that replaces, most of it comes from storage
 * each time. */
static bool lacks_memory(const struct fdl_evidence *e)
{
    return e->memory_bytes > 0 && e->data_bytes > e->memory_bytes;
}

/* What the library offers for storage at its limit. */
static void act_on_storage(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    const char *faster =
        e->source.name ? "a faster source" : "faster storage (a local SSD)";
    double kept = kept_part(e);
    fdl_note(d, "storage_fraction", e->storage_fraction);
    fdl_note(d, "kept_fraction", kept);
    if (lacks_memory(e)) {
        if (!e->cache_keeps && kept > 0 &&
            e->storage_fraction >= 1 - kept + KEEPING_GAINS)
            fdl_act(d,
                    "%s (the data is larger than memory: %s of the bytes come "
                    "from storage, then %s), or ",
                    fdl_say_word(f, "cache", "keep").at,
                    fdl_say_percent(e->storage_fraction).at,
                    fdl_say_percent(1 - kept).at);
        fdl_act(d, "%s", faster);
        return;
    }
    fdl_act(d, "%s", faster);
    or_memory(f, d, ", or ");
}

static bool judge_cold(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double first = e->first_epoch_fetch, later = e->later_epoch_fetch;
    bool epochs = fdl_facts_known(first) && fdl_facts_known(later);
    if (!e->reads_storage)
        return false;
    if (epochs) {
        if (!is_cold_epoch(e))
            return false;
        fdl_say(d, ": %s of the first epoch, and %s of the later ones",
                fdl_say_percent(first).at, fdl_say_percent(later).at);
    } else {
        if (!(e->cold_fraction >= MIXED && e->cold_fraction <= 1 - MIXED))
            return false;
        fdl_say(d,
                ": %s of the reads were as slow as a device, while others "
                "came from memory",
                fdl_say_percent(e->cold_fraction).at);
    }
    say_cold(f, d);
    fdl_say(d, ".");
    d->v.code = "COLD_CACHE";
    d->v.predicted_gain = 0;          /* it passes without any action */
    if (!epochs && lacks_memory(e)) { /* later epochs will be like this one */
        fdl_act(d, "Use ");
        act_on_storage(f, d);
        fdl_act(d, ".");
    } else {
        fdl_act(d, "Wait for the end of the first epoch, or read the files "
                   "once before it; if later epochs are no faster, the files "
                   "do not fit into memory: use cache=keep or faster storage.");
    }
    fdl_note(d, "first_epoch_fetch", first);
    fdl_note(d, "later_epoch_fetch", later);
    fdl_note(d, "first_epoch_read_us", e->first_epoch_read / 1e3);
    fdl_note(d, "later_epoch_read_us", e->later_epoch_read / 1e3);
    fdl_note(d, "cold_fraction", e->cold_fraction);
    return true;
}

/* to: 0: not known */
static void raise_to(const struct fdl_facts *f, struct fdl_draft *d,
                     const char *before, const char *option, double to)
{
    fdl_act(d, "%s%s", before, fdl_say_option(f, option).at);
    if (to > 0)
        fdl_act(d, " to %s", fdl_say_number(to, false).at);
}

static void raise_io_depth(const struct fdl_facts *f, struct fdl_draft *d)
{
    raise_to(f, d, "Raise ", "io_depth", fdl_limit_reads(f, d));
    d->v.moves.io_depth = 1;
    d->instead = "Use faster storage, or keep the files in memory.";
}

static void say_small(const struct fdl_facts *f, struct fdl_draft *d, bool flat)
{
    const struct fdl_evidence *e = f->e;
    d->v.code = "SMALL_FILES";
    say_reads(f, d);
    fdl_say_clause(d, "; operations are the limit, not bytes");
    fdl_say(d, ".");
    if (!flat) {
        raise_io_depth(f, d);
        fdl_act(d, ", so that more are in flight; then use ");
    } else {
        fdl_act(d, "Use ");
    }
    fdl_act(d, "storage with more operations per second (a local SSD)");
    or_memory(f, d, ", or ");
    fdl_act(d, ".");
    fdl_note(d, "fixed_part", fixed_part(e));
}

static void say_bandwidth(const struct fdl_facts *f, struct fdl_draft *d,
                          bool flat)
{
    const struct fdl_evidence *e = f->e;
    d->v.code = "FETCH_BW_BOUND";
    if (rate_of(e) > 0)
        fdl_say_clause(d, "; the storage gives %s MB/s and no more",
                       fdl_say_number(rate_of(e) / 1e6, true).at);
    if (flat && growth_of_twice(e) >= 0)
        fdl_say_clause(d,
                       "; with more reads at once each took %s longer, and "
                       "together they brought %s more",
                       fdl_say_percent(e->latency_by_depth).at,
                       fdl_say_percent(fmax(e->rate_by_depth, 0)).at);
    else
        fdl_say_clause(d, ", however many reads share it");
    fdl_say(d, ".");
    fdl_act(d, "Use ");
    act_on_storage(f, d);
    fdl_act(d, ", or store the files smaller: more reads at once give no "
               "more.");
}

/* Too few samples are ahead for the permitted number of reads. While the tuner
 * moves io_depth, its current value says nothing about past reads. */
static bool lacks_samples(const struct fdl_evidence *e)
{
    bool moves = e->tuning && e->io_auto;
    return !moves && e->io_depth > 0 && e->reads_under_way > 0 &&
           e->reads_under_way < FEW_UNDER_WAY * e->io_depth;
}

/* Some reads take far longer than others, while later ones are complete. A
 * deeper queue alone runs out of samples during a slow read, and more samples
 * alone run out of room in the queue. */
static bool waits_for_few(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    return e->read_p50_us > 0 && e->read_p99_us >= TAIL * e->read_p50_us &&
           f->passed >= PASSED;
}

/* The tuner has raised io_depth, and later epochs hardly waited. */
static bool is_cured(const struct fdl_evidence *e)
{
    return e->tuning && e->io_auto && waits_passed(e) &&
           e->later_epoch_fetch < MINOR_STALL;
}

static void act_on_latency(const struct fdl_facts *f, struct fdl_draft *d,
                           bool queued)
{
    if (is_cured(f->e)) {
        fdl_act(d,
                "Nothing to do here: the tuner sends more reads at once, and "
                "after the first epoch they were waited for %s of the time.",
                fdl_say_percent(f->e->later_epoch_fetch).at);
        return;
    }
    if (!queued && waits_for_few(f)) {
        double depth, reads = fdl_limit_slow_reads(f, d, &depth);
        raise_to(f, d, "Raise ", "depth", depth);
        raise_to(f, d, " and ", "io_depth", reads);
        fdl_act(d, ": single reads are slow, and with more batches ahead the "
                   "others are read meanwhile.");
        d->v.moves.depth = d->v.moves.io_depth = 1;
        d->instead = "Use faster storage, or keep the files in memory.";
        return;
    }
    if (!queued && lacks_samples(f->e)) {
        raise_to(f, d, "Raise ", "depth", fdl_limit_samples(f, d));
        fdl_act(d, ": there are not enough samples ahead for %u reads at once.",
                f->e->io_depth);
        d->v.moves.depth = 1;
        d->instead = "Use faster storage, or keep the files in memory.";
        return;
    }
    raise_io_depth(f, d);
    if (queued) {
        fdl_act(d, ", so that more reads are in flight.");
        return;
    }
    fdl_act(d, "; if MB/s stay the same, the storage is the limit: use ");
    act_on_storage(f, d);
    fdl_act(d, ".");
}

static void say_latency(const struct fdl_facts *f, struct fdl_draft *d,
                        bool queued, bool flat)
{
    d->v.code = "FETCH_LATENCY_BOUND";
    fdl_note(d, "passed", f->passed);
    fdl_note(d, "read_p99_us", f->e->read_p99_us);
    fdl_say(d, queued ? "; most of it before the reads were sent"
                      : "; most of it with the reads in flight");
    say_source(f, d);
    say_reads(f, d);
    fdl_say(d, ".");
    if (flat) {
        fdl_act(d, "More reads at once gave no more: use ");
        act_on_storage(f, d);
        fdl_act(d, ".");
    } else {
        act_on_latency(f, d, queued);
    }
}

/* The memory reader's copies are made by workers. */
static void say_copying(const struct fdl_facts *f, struct fdl_draft *d)
{
    d->v.code = "FETCH_LATENCY_BOUND";
    say_source(f, d);
    fdl_say(d, "; with this reader workers read for themselves.");
    fdl_act(d, "Use more workers: ");
    fdl_move_workers(f, d, f->workers + 1);
    fdl_act(d, " or more, which read for themselves.");
    d->instead = "Read the files from storage instead.";
}

/* While reads come late, so does the work on what they bring. If they came in
 * time, workers would do it ahead; fdl_limit_gain knows how much they can. */
static double gain_of_reads(const struct fdl_facts *f)
{
    double lost = fdl_facts_lost(f, CAUSE_FETCH);
    if (f->e->worker_busy_ns > 0)
        lost += fdl_facts_lost(f, CAUSE_PREP);
    return fdl_facts_gain(lost, f->of_ns);
}

static void judge_reads(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    bool flat = is_flat(e);
    bool queued =
        e->ledger.ns[FDL_BUCKET_FETCH_QUEUE] > e->ledger.ns[FDL_BUCKET_FETCH];
    d->v.predicted_gain = gain_of_reads(f);
    say_rate(f, d);
    if (!e->reads_storage)
        say_copying(f, d);
    else if (source_computes(e))
        say_computing(f, d);
    else if (e->source.name)
        say_latency(f, d, queued, flat);
    else if (is_small(e) && (flat || !queued))
        say_small(f, d, flat);
    else if (is_one_server(e) || (flat && !is_free(e)))
        say_bandwidth(f, d, flat);
    else
        say_latency(f, d, queued, flat);
}

void fdl_judge_fetch(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (judge_cold(f, d))
        return;
    if (!fdl_judge_variance(f, d))
        judge_reads(f, d);
    fdl_limit_gain(f, d, 0);
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
        fdl_act(d,
                "Let fewer bytes cross the bus: %s sends uint8; or train on "
                "smaller images.",
                fdl_say_word(f, "finish", "device").at);
    } else {
        d->v.code = "COPY_NOT_OVERLAPPED";
        fdl_say(d, ", and only %s of them overlapped the consumer's work.",
                fdl_say_percent(overlapped).at);
        fdl_act(d,
                "Release each batch as soon as its work is queued, and "
                "raise %s: a copy cannot begin while its slot is in use.",
                fdl_say_option(f, "depth").at);
        d->v.moves.depth = 1;
        d->instead = "Release each batch as soon as its work is queued.";
        d->aside = true;
    }
    return true;
}

/* "; the GPU decoded in 95 % of the time, 6100 images/s" */
static void judge_device_decode(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double making = fdl_facts_ratio((double)e->make_ns, f->of_ns);
    double images = (double)e->made * 1e9 / (double)e->make_ns;
    d->v.code = "DEVICE_DECODE_BOUND";
    fdl_say(d, "; the GPU decoded in %s of the time, %s images/s.",
            fdl_say_percent(making).at, fdl_say_number(images, false).at);
    if (e->decode_chosen)
        fdl_act(d,
                "Store the images smaller, near the size trained on: %s "
                "measured that the host alone is no faster.",
                fdl_say_word(f, "decode", "auto").at);
    else
        fdl_act(d,
                "Let workers decode: %s measures who is faster, %s leaves the "
                "GPU to the training; or store the images smaller, near the "
                "size trained on.",
                fdl_say_word(f, "decode", "auto").at,
                fdl_say_word(f, "decode", "host").at);
    fdl_note(d, "device_decoding", making);
    fdl_note(d, "device_images_per_second", images);
}

void fdl_judge_transfer(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (f->decode_full) {
        judge_device_decode(f, d);
        return;
    }
    if (f->device && judge_copies(f, d))
        return;
    d->v.code = "XFER_BOUND";
    fdl_say(d, ".");
    fdl_act(d, "Make the copy smaller or overlap it: pinned memory, images as "
               "uint8, normalisation on the device.");
    fdl_note(d, "transfer_seconds", f->cause_ns[CAUSE_TRANSFER] / 1e9);
}

void fdl_act_on_held(const struct fdl_facts *f, struct fdl_draft *d)
{
    fdl_act(d, "Release each batch before asking for the next, or raise %s.",
            fdl_say_option(f, "depth").at);
    d->v.moves.depth = 1;
    d->instead = "Release each batch before asking for the next.";
    d->aside = true;
}

void fdl_judge_slot(const struct fdl_facts *f, struct fdl_draft *d)
{
    const int64_t *ns = f->e->ledger.ns;
    bool held = !f->device && ns[FDL_BUCKET_SLOT] >= ns[FDL_BUCKET_NOT_ISSUED];
    if (f->e->memory_limited) {
        d->v.code = "MEMORY_LIMITED";
        fdl_say(d, ": all batches that the memory budget allows were in use.");
        fdl_act(d, "Raise %s, or use smaller batches.", fdl_say_memory(f).at);
    } else if (held) {
        d->v.code = "CONSUMER_HOLDS_SLOTS";
        fdl_say(d, ": the consumer held every batch there is.");
        fdl_act_on_held(f, d);
    } else {
        d->v.code = "DEPTH_LIMITED";
        fdl_say(d, ": too few batches are prepared ahead.");
        fdl_act(d, "Raise %s.", fdl_say_option(f, "depth").at);
        d->v.moves.depth = 1;
    }
    fdl_limit_gain(f, d, 0);
    fdl_note(d, "slot_seconds", (double)ns[FDL_BUCKET_SLOT] / 1e9);
    fdl_note(d, "not_issued_seconds", (double)ns[FDL_BUCKET_NOT_ISSUED] / 1e9);
    fdl_note(d, "depth", f->e->depth);
}
