/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three steps: sum the ledger's buckets to causes, let the largest cause and
 * the state of the workers choose a code, and write that code's sentence and
 * action. Each rule is a function of its own, so that the list in verdict.h can
 * be held against this file. With a device its clock says how long, and the
 * host's buckets say why.
 *
 * The gain is what the clock says: without the cause's wait the same work takes
 * wall - cause, so throughput grows by wall / (wall - cause) - 1. That is an
 * upper bound, since what is second now may be first then. More workers cannot
 * give more than their ratio.
 */
#include "profiler/verdict.h"

#include "base/compiler.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MIN_BATCHES      8
#define ENOUGH_BATCHES   64
#define MIN_WALL_NS      INT64_C(1000000000)
#define FED_STALL        0.01
#define MINOR_STALL      0.05
#define MODERATE_STALL   0.20
#define OVERPROVISIONED  0.50 /* of worker time without room */
#define HELD_UP          0.20 /* of worker time without room, while stalled */
#define OFF_CORE         0.10 /* of busy time */
#define SMALL_FILE_BYTES (128.0 * 1024)
#define COPIES_FILL      0.80 /* of the span */
#define FAR_BELOW        0.50 /* of the ceiling */
#define OVERLAPPED       0.20 /* of copy time, beside the consumer's work */
#define WORKS            0.20 /* of the span: there is something to overlap */
#define MAX_GAIN         99.0

enum cause { PREP, FETCH, TRANSFER, SLOT, WAKE, CAUSES };

/* As the end of "97 % of that was ...". */
static const char *const cause_words[CAUSES] = {
    "decode and augment", "reading", "the copy to the device",
    "before the batch was scheduled", "after the batch was ready"};

/* The evidence, digested. */
struct facts {
    const struct fdl_evidence *e;
    bool device;        /* its clock counts, not the host's: */
    int64_t stalled_ns; /* S = stalled / of */
    int64_t of_ns;
    int64_t cause_ns[CAUSES];
    enum cause cause; /* the largest */
    double stall;     /* S */
    double share;     /* of the cause in the stall */
    double blocked;   /* of worker time, without room */
    double off_core;  /* of busy time; 0 if not known */
    uint32_t workers;
    uint32_t cpus;
};

/* A phrase, by value: a sentence is put together from several. */
struct text {
    char at[48];
};

static double ratio(double part, double whole)
{
    return whole > 0 && part > 0 ? FDL_MIN(part / whole, 1.0) : 0;
}

/* The device's clock instead of the host's. Waits of the host for a slot are no
 * cause; what its other waits do not explain, the copy does. Returns what the
 * causes sum to. */
static int64_t digest_device(struct facts *f)
{
    const struct fdl_evidence *e = f->e;
    int64_t slot = e->ledger.ns[FDL_BUCKET_SLOT];
    int64_t waited = e->ledger.wait_ns - slot;
    f->stalled_ns = e->device_idle_ns;
    f->of_ns = e->device_span_ns;
    f->cause_ns[SLOT] -= slot;
    if (waited < f->stalled_ns)
        f->cause_ns[TRANSFER] += f->stalled_ns - waited;
    return FDL_MAX(waited, f->stalled_ns);
}

static void digest(const struct fdl_evidence *e, struct facts *f)
{
    const int64_t *ns = e->ledger.ns;
    memset(f, 0, sizeof(*f));
    f->e = e;
    f->device = e->has_device && e->device_span_ns > 0;
    f->stalled_ns = e->ledger.wait_ns;
    f->of_ns = e->wall_ns;
    f->cause_ns[PREP] = ns[FDL_BUCKET_PREP] + ns[FDL_BUCKET_WORKER_WAIT];
    f->cause_ns[FETCH] = ns[FDL_BUCKET_FETCH] + ns[FDL_BUCKET_FETCH_QUEUE];
    f->cause_ns[TRANSFER] =
        ns[FDL_BUCKET_TRANSFER] + ns[FDL_BUCKET_TRANSFER_QUEUE];
    f->cause_ns[SLOT] = ns[FDL_BUCKET_SLOT] + ns[FDL_BUCKET_NOT_ISSUED];
    f->cause_ns[WAKE] = ns[FDL_BUCKET_WAKE];
    int64_t sum = f->device ? digest_device(f) : f->stalled_ns;
    for (uint32_t i = 0; i < CAUSES; i++)
        if (f->cause_ns[i] > f->cause_ns[f->cause])
            f->cause = (enum cause)i;

    f->workers = FDL_MAX(e->workers, 1u);
    f->cpus = FDL_MAX(e->cpus_usable, 1u);
    f->stall = ratio((double)f->stalled_ns, (double)f->of_ns);
    f->share = ratio((double)f->cause_ns[f->cause], (double)sum);
    f->blocked = ratio((double)e->worker_blocked_ns,
                       (double)f->workers * (double)e->wall_ns);
    if (e->worker_cpu_ns > 0)
        f->off_core = ratio((double)(e->worker_busy_ns - e->worker_cpu_ns),
                            (double)e->worker_busy_ns);
}

static const char *level_of(double stall)
{
    if (stall < FED_STALL)
        return "FED";
    if (stall < MINOR_STALL)
        return "MINOR";
    return stall < MODERATE_STALL ? "MODERATE" : "HIGH";
}

/* 8 batches give half, 64 give 89 %, of what the cause's share gives. */
static uint32_t confidence(const struct facts *f, double share)
{
    double n = (double)f->e->batches;
    return (uint32_t)(n / (n + MIN_BATCHES) * share * 1e6);
}

static double gain_without(double ns, double wall)
{
    double left = FDL_MAX(wall - FDL_MIN(ns, wall), wall / (1 + MAX_GAIN));
    return wall / left - 1;
}

/* The host's waits of a cause may be longer than what the device lost by it. */
static double gain_without_cause(const struct facts *f)
{
    if (f->device)
        return gain_without((double)f->stalled_ns * f->share, (double)f->of_ns);
    return gain_without((double)f->cause_ns[f->cause], (double)f->of_ns);
}

/* "12" or "1.2", with a point in every locale. */
static struct text number(double value, bool tenths)
{
    struct text t;
    uint64_t n = (uint64_t)(FDL_MIN(value, 1e18) * (tenths ? 10 : 1) + 0.5);
    if (tenths)
        snprintf(t.at, sizeof(t.at), "%" PRIu64 ".%u", n / 10,
                 (unsigned)(n % 10));
    else
        snprintf(t.at, sizeof(t.at), "%" PRIu64, n);
    return t;
}

/* "2.1 s", "340 ms", "12 us" */
static struct text duration(int64_t ns)
{
    struct text t;
    double s = (double)FDL_MAX(ns, 0) / 1e9;
    if (s >= 1)
        snprintf(t.at, sizeof(t.at), "%.40s s", number(s, s < 100).at);
    else if (s >= 1e-3)
        snprintf(t.at, sizeof(t.at), "%.40s ms", number(s * 1e3, false).at);
    else
        snprintf(t.at, sizeof(t.at), "%.40s us", number(s * 1e6, false).at);
    return t;
}

/* "43 %", "0.4 %" */
static struct text percent(double part)
{
    struct text t;
    snprintf(t.at, sizeof(t.at), "%.40s %%",
             number(part * 100, part > 0 && part < 0.1).at);
    return t;
}

/* "1 worker", "2 workers" */
static struct text counted(uint64_t n, const char *noun, const char *nouns)
{
    struct text t;
    snprintf(t.at, sizeof(t.at), "%" PRIu64 " %s", n, n == 1 ? noun : nouns);
    return t;
}

static struct text workers(const struct facts *f)
{
    return counted(f->workers, "worker", "workers");
}

static struct text cores(const struct facts *f)
{
    return counted(f->cpus, "usable core", "usable cores");
}

static void act(struct fdl_verdict *v, const char *fmt, ...) FDL_PRINTF(2, 3);
static void add(struct fdl_verdict *v, const char *fmt, ...) FDL_PRINTF(2, 3);

static void act(struct fdl_verdict *v, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(v->action, sizeof(v->action), fmt, args);
    va_end(args);
}

/* Goes on with the sentence. */
static void add(struct fdl_verdict *v, const char *fmt, ...)
{
    va_list args;
    size_t length = strlen(v->sentence);
    va_start(args, fmt);
    vsnprintf(v->sentence + length, sizeof(v->sentence) - length, fmt, args);
    va_end(args);
}

static void say_wait(const struct facts *f, struct fdl_verdict *v)
{
    add(v,
        f->device ? "The GPU was idle for want of images %s of the time (%s of "
                    "%s)"
                  : "The consumer waited %s of the time (%s of %s)",
        percent(f->stall).at, duration(f->stalled_ns).at,
        duration(f->of_ns).at);
}

/* A host that runs ahead of its GPU waits, and nobody starves. */
static void say_host_wait(const struct facts *f, struct fdl_verdict *v)
{
    const struct fdl_evidence *e = f->e;
    if (f->device)
        add(v, ", while the host waited %s (%s of %s)",
            percent(ratio((double)e->ledger.wait_ns, (double)e->wall_ns)).at,
            duration(e->ledger.wait_ns).at, duration(e->wall_ns).at);
}

static void judge_too_little(const struct facts *f, struct fdl_verdict *v)
{
    v->code = "INSUFFICIENT_DATA";
    v->level = "UNKNOWN";
    add(v, "Only %s in %s so far: too little to judge.",
        counted(f->e->batches, "batch", "batches").at,
        duration(f->e->wall_ns).at);
    act(v, "Run for at least %d batches, or for a second with at least %d.",
        ENOUGH_BATCHES, MIN_BATCHES);
}

static void judge_fed(const struct facts *f, struct fdl_verdict *v)
{
    v->confidence_ppm = confidence(f, 1);
    say_wait(f, v);
    say_host_wait(f, v);
    if (f->workers > 1 && f->blocked > OVERPROVISIONED) {
        v->code = "FED_OVERPROVISIONED";
        add(v,
            ": the loader keeps up, and %s had nowhere to put their work "
            "for %s of their time.",
            workers(f).at, percent(f->blocked).at);
        act(v, "Use fewer workers: %u would do.",
            FDL_MAX((uint32_t)(f->workers * (1 - f->blocked) * 1.1 + 1), 1u));
        return;
    }
    v->code = "FED";
    add(v, ": the loader keeps up with %s.", workers(f).at);
    act(v, "Nothing to do here: the time goes into the consumer's own work.");
}

static void judge_oversubscribed(const struct facts *f, struct fdl_verdict *v)
{
    v->code = "OVERSUBSCRIBED";
    add(v, ", with %s on %s", workers(f).at, cores(f).at);
    if (f->off_core > 0)
        add(v, "; workers had work but no core for %s of their time",
            percent(f->off_core).at);
    add(v, ".");
    if (f->workers > f->cpus)
        act(v, "Use fewer workers: %u, one for each usable core.", f->cpus);
    else
        act(v, "Other threads take the cores: set OMP_NUM_THREADS=1 for the "
               "training process, or stop other jobs on this machine.");
}

static void judge_prep(const struct facts *f, struct fdl_verdict *v)
{
    double gain = gain_without_cause(f);
    if (f->blocked >= HELD_UP) {
        v->code = "HEAD_OF_LINE";
        v->predicted_gain = gain;
        add(v,
            " on %s, which had no room for results for %s of their time: a "
            "few slow images hold up the rest.",
            workers(f).at, percent(f->blocked).at);
        act(v, "Raise depth, so that workers can get ahead of slow images.");
    } else if (f->off_core >= OFF_CORE && f->workers != f->cpus) {
        judge_oversubscribed(f, v);
    } else if (f->workers < f->cpus) {
        double more = (double)f->cpus / f->workers - 1;
        v->code = "PREP_BOUND_TUNABLE";
        v->predicted_gain = FDL_MIN(gain, more);
        add(v, " on %s.", workers(f).at);
        act(v, "Use more workers: %u cores are usable and %u %s used.", f->cpus,
            f->workers, f->workers == 1 ? "is" : "are");
    } else {
        v->code = "PREP_BOUND_CPU_SATURATED";
        v->predicted_gain = gain;
        add(v, " on %s with %s.", workers(f).at, cores(f).at);
        act(v, "Make images cheaper to decode (store them nearer to the size "
               "that is trained on), or use a machine with more cores.");
    }
}

static void judge_fetch(const struct facts *f, struct fdl_verdict *v)
{
    const struct fdl_evidence *e = f->e;
    bool queued =
        e->ledger.ns[FDL_BUCKET_FETCH_QUEUE] > e->ledger.ns[FDL_BUCKET_FETCH];
    double files = (double)e->samples / ((double)e->wall_ns / 1e9);
    v->predicted_gain = gain_without_cause(f);
    add(v, ", at %s files/s", number(files, false).at);
    if (e->mean_file_bytes > 0)
        add(v, " and %s MB/s (files of %s KiB on average)",
            number(files * e->mean_file_bytes / 1e6, true).at,
            number(e->mean_file_bytes / 1024, false).at);
    if (!queued && e->mean_file_bytes > 0 &&
        e->mean_file_bytes < SMALL_FILE_BYTES) {
        v->code = "SMALL_FILES";
        add(v, ".");
        act(v, "Move the small files to faster storage (a local SSD, or "
               "memory).");
        return;
    }
    v->code = "FETCH_LATENCY_BOUND";
    if (queued) {
        add(v, "; most of it before the reads were sent.");
        act(v, "Raise io_depth, so that more reads are on their way at once.");
    } else {
        add(v, "; most of it with the reads on their way.");
        act(v, "Raise io_depth; if MB/s stay the same, the storage is the "
               "limit.");
    }
}

static void judge_transfer(const struct facts *f, struct fdl_verdict *v)
{
    v->code = "XFER_BOUND";
    v->predicted_gain = gain_without_cause(f);
    add(v, ".");
    act(v, "Make the copy smaller or overlap it: pinned memory, images as "
           "uint8, normalisation on the device.");
}

static void judge_slot(const struct facts *f, struct fdl_verdict *v)
{
    const int64_t *ns = f->e->ledger.ns;
    bool held = !f->device && ns[FDL_BUCKET_SLOT] >= ns[FDL_BUCKET_NOT_ISSUED];
    v->predicted_gain = gain_without_cause(f);
    if (f->e->memory_limited) {
        v->code = "MEMORY_LIMITED";
        add(v, ": all batches that the memory budget allows were in use.");
        act(v, "Raise the memory budget, or use smaller batches.");
    } else if (held) {
        v->code = "CONSUMER_HOLDS_SLOTS";
        add(v, ": the consumer held every batch there is.");
        act(v, "Release each batch before asking for the next, or raise "
               "depth.");
    } else {
        v->code = "DEPTH_LIMITED";
        add(v, ": too few batches are prepared ahead.");
        act(v, "Raise depth.");
    }
}

static void judge_wake(const struct facts *f, struct fdl_verdict *v)
{
    if (f->workers >= f->cpus || f->off_core >= OFF_CORE) {
        judge_oversubscribed(f, v);
        return;
    }
    v->code = "OUT_OF_SCOPE";
    add(v, ": the consumer's thread was slow to run, not the loader.");
    act(v, "Look at what else runs on the consumer's core.");
}

/* "; copies took 95 % of the time, at 12.1 of 25.0 GB/s" */
static void say_copies(const struct facts *f, struct fdl_verdict *v)
{
    const struct fdl_evidence *e = f->e;
    add(v, "; copies took %s of the time, at %s",
        percent(ratio((double)e->copy_ns, (double)f->of_ns)).at,
        number(FDL_MAX(e->copy_gbps, 0), true).at);
    if (e->ceiling_gbps > 0)
        add(v, " of %s", number(e->ceiling_gbps, true).at);
    add(v, " GB/s");
}

/* What the device's own clock says about its copies; false: nothing. */
static bool judge_copies(const struct facts *f, struct fdl_verdict *v)
{
    const struct fdl_evidence *e = f->e;
    double copying = (double)e->copy_ns, span = (double)f->of_ns;
    double alone = (double)(e->copy_ns - e->overlap_ns);
    double working = ratio((double)(f->of_ns - f->stalled_ns), span);
    double overlapped = ratio((double)e->overlap_ns, copying);
    bool full = ratio(copying, span) > COPIES_FILL;
    bool blamed = f->cause == TRANSFER && alone >= 0.5 * (double)f->stalled_ns;
    bool slow = blamed && e->ceiling_gbps > 0 &&
                e->copy_gbps < FAR_BELOW * e->ceiling_gbps;
    if (!full && !slow &&
        !(blamed && overlapped < OVERLAPPED && working >= WORKS))
        return false;
    v->confidence_ppm = confidence(f, 1);
    v->predicted_gain = gain_without((double)f->stalled_ns, span);
    say_copies(f, v);
    if (slow) {
        v->code = "XFER_BOUND";
        add(v, ", far below what the bus can do.");
        act(v, "Bind the process to the NUMA node of its GPU, and look at what "
               "else uses the bus and the memory.");
    } else if (full) {
        v->code = "XFER_BOUND";
        add(v, ".");
        act(v, "Let fewer bytes cross the bus: finish=device sends uint8; or "
               "train on smaller images.");
    } else {
        v->code = "COPY_NOT_OVERLAPPED";
        add(v, ", and only %s of them lay beside the consumer's work.",
            percent(overlapped).at);
        act(v, "Release each batch as soon as its work is queued, and raise "
               "depth: a copy cannot begin while its slot is in use.");
    }
    return true;
}

static void judge_stall(const struct facts *f, struct fdl_verdict *v)
{
    static void (*const judges[CAUSES])(const struct facts *,
                                        struct fdl_verdict *) = {
        judge_prep, judge_fetch, judge_transfer, judge_slot, judge_wake};
    v->confidence_ppm = confidence(f, f->share);
    say_wait(f, v);
    if (f->device && judge_copies(f, v))
        return;
    add(v, "; %s of that was %s", percent(f->share).at, cause_words[f->cause]);
    judges[f->cause](f, v);
}

void fdl_verdict_judge(const struct fdl_evidence *e, struct fdl_verdict *out)
{
    struct facts f;
    digest(e, &f);
    memset(out, 0, sizeof(*out));
    out->level = level_of(f.stall);
    if (e->batches < MIN_BATCHES || e->wall_ns <= 0 ||
        (e->batches < ENOUGH_BATCHES && e->wall_ns < MIN_WALL_NS))
        judge_too_little(&f, out);
    else if (f.stall < FED_STALL)
        judge_fed(&f, out);
    else
        judge_stall(&f, out);
}
