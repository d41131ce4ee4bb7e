/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence digested: sums of buckets, and the ratios that rules need. Each is
 * computed only here, so two rules cannot mean different things by the same
 * name.
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>
#include <string.h>

#define COPIES_FILL 0.80 /* of the span */
#define COVERED     0.10 /* of wall, by a span that is judged */

bool fdl_facts_known(double value)
{
    return value >= 0; /* false for NaN */
}

double fdl_facts_ratio(double part, double whole)
{
    return whole > 0 && part > 0 ? fmin(part / whole, 1.0) : 0;
}

double fdl_facts_gain(double saved_ns, double of_ns)
{
    if (!(saved_ns > 0) || !(of_ns > 0))
        return 0;
    double left = fmax(of_ns - fmin(saved_ns, of_ns), of_ns / (1 + MAX_GAIN));
    return of_ns / left - 1;
}

/* To write what a device is told of a sample. */
#define JOB_NS 10e3

/* Programs' own operations are the host's, and so are the images before them.
 */
double fdl_facts_device_part(const struct fdl_evidence *e)
{
    double jobs = JOB_NS * (double)e->samples;
    if (e->custom_ns > 0)
        return 0;
    return fmin(
        fdl_facts_ratio((double)e->made_ns - jobs, (double)e->worker_busy_ns),
        1);
}

double fdl_facts_lost(const struct fdl_facts *f, enum fdl_cause cause)
{
    return f->share[cause] * f->stalled_ns;
}

static double bucket(const struct fdl_evidence *e, enum fdl_bucket b)
{
    return fmax((double)e->ledger.ns[b], 0);
}

/* Uses the device's clock instead of the host's. The host's waits for a slot
 * are not a cause; idle time that its other waits do not explain is the copy's.
 */
static void digest_device(struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double slot = bucket(e, FDL_BUCKET_SLOT), waited = 0;
    f->stalled_ns =
        fmin(fmax((double)e->device_idle_ns, 0), (double)e->device_span_ns);
    f->of_ns = (double)e->device_span_ns;
    f->cause_ns[CAUSE_SLOT] -= slot;
    for (int i = 0; i < CAUSES; i++)
        waited += f->cause_ns[i];
    if (waited < f->stalled_ns)
        f->cause_ns[CAUSE_TRANSFER] += f->stalled_ns - waited;
    f->bus_full = fdl_facts_ratio((double)e->copy_ns, f->of_ns) > COPIES_FILL;
}

/* Kernels that decode fill the time. Slots are then those that they have not
 * come to, on either clock. */
static void digest_decoding(struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double slot = f->device ? 0 : bucket(e, FDL_BUCKET_SLOT);
    f->decode_full =
        e->has_device && e->make_ns > e->copy_ns &&
        fdl_facts_ratio((double)e->make_ns, f->of_ns) > COPIES_FILL;
    if (!f->decode_full)
        return;
    f->bus_full = true;
    f->cause_ns[CAUSE_SLOT] -= slot;
    f->cause_ns[CAUSE_TRANSFER] += slot;
}

/* Work on a core while other workers lack bytes is hidden behind the reads: on
 * its own it delays nothing, as whatever is decoded sooner just waits longer.
 */
static void leave_to_reads(struct fdl_facts *f)
{
    double lacking = (double)FDL_MAX(f->e->ledger.lacking_ns, 0);
    double hidden = fmin(lacking, bucket(f->e, FDL_BUCKET_PREP));
    if (!f->e->reads_storage)
        return;
    f->cause_ns[CAUSE_PREP] -= hidden;
    f->cause_ns[CAUSE_FETCH] += hidden;
}

/* The span leaves out what a stream that nobody named waited before the first
 * batch of an epoch: of short epochs it has next to nothing. */
static bool has_span(const struct fdl_evidence *e)
{
    return e->has_device && e->device_span_ns > 0 &&
           (double)e->device_span_ns >= COVERED * (double)e->wall_ns;
}

static void digest_stall(struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double sum = 0;
    f->device = has_span(e);
    f->stalled_ns =
        fmin(fmax((double)e->ledger.wait_ns, 0), fmax((double)e->wall_ns, 0));
    f->of_ns = (double)e->wall_ns;
    f->host_stall = fdl_facts_ratio(f->stalled_ns, f->of_ns);
    f->cause_ns[CAUSE_PREP] =
        bucket(e, FDL_BUCKET_PREP) + bucket(e, FDL_BUCKET_WORKER_WAIT);
    f->cause_ns[CAUSE_FETCH] =
        bucket(e, FDL_BUCKET_FETCH) + bucket(e, FDL_BUCKET_FETCH_QUEUE);
    f->cause_ns[CAUSE_TRANSFER] =
        bucket(e, FDL_BUCKET_TRANSFER) + bucket(e, FDL_BUCKET_TRANSFER_QUEUE);
    f->cause_ns[CAUSE_SLOT] =
        bucket(e, FDL_BUCKET_SLOT) + bucket(e, FDL_BUCKET_NOT_ISSUED);
    f->cause_ns[CAUSE_WAKE] = bucket(e, FDL_BUCKET_WAKE);
    leave_to_reads(f);
    if (f->device)
        digest_device(f);
    digest_decoding(f);
    f->stall = fdl_facts_ratio(f->stalled_ns, f->of_ns);
    for (int i = 0; i < CAUSES; i++)
        sum += f->cause_ns[i];
    sum = fmax(sum, f->stalled_ns); /* unexplained time has no share */
    for (int i = 0; i < CAUSES; i++) {
        f->share[i] = fdl_facts_ratio(f->cause_ns[i], sum);
        if (f->cause_ns[i] > f->cause_ns[f->cause])
            f->cause = (enum fdl_cause)i;
    }
}

/* In a pause of the program, such as an evaluation, the workers soon have
 * nothing to do: that time says nothing of how they keep up with its steps. */
static void leave_out_pauses(struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double wall = (double)e->wall_ns, blocked = (double)e->worker_blocked_ns;
    double idle = fmin(fmax((double)e->gap_ns, 0), blocked / f->workers);
    f->steps_ns = wall - fmax(idle, 0);
    f->blocked = fdl_facts_ratio(blocked - f->workers * fmax(idle, 0),
                                 f->workers * f->steps_ns);
}

static void digest_workers(struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    double wall = (double)e->wall_ns;
    double consumer = fmax(e->consumer_cores, 0);
    double foreign = fmax(e->foreign_cores, 0);
    f->workers = FDL_MAX(e->workers, 1u);
    f->cpus = FDL_MAX(e->cpus_usable, 1u);
    f->granted = e->cpu_quota > 0 ? fmin(e->cpu_quota, f->cpus) : f->cpus;
    f->throttled = fdl_facts_ratio((double)e->throttled_ns, wall);
    leave_out_pauses(f);
    if (e->worker_cpu_ns > 0 && f->steps_ns > 0)
        f->worker_cores = (double)e->worker_cpu_ns / f->steps_ns;
    fdl_facts_digest_split(f);
    fdl_facts_digest_lock(f, f->off_core * (double)e->worker_busy_ns);
    fdl_facts_digest_room(f);
    f->cores_taken = fdl_facts_ratio(f->worker_cores + consumer + foreign +
                                         fmax(e->outside_cores, 0),
                                     f->cpus);
}

void fdl_facts_digest(const struct fdl_evidence *e, struct fdl_facts *f)
{
    memset(f, 0, sizeof(*f));
    f->e = e;
    f->terms = e->terms ? e->terms : fdl_terms_of(FDL_INTERFACE_FEEDLINE);
    digest_stall(f);
    f->step_ns = (double)e->median_step_ns;
    if (!(f->step_ns > 0) && e->batches > 0)
        f->step_ns = fmax((double)e->user_ns / (double)e->batches, 0);
    digest_workers(f);
    f->ready = e->calls
                   ? fdl_facts_ratio((double)e->ready_calls, (double)e->calls)
                   : -1;
    f->passed = e->long_waits ? fdl_facts_ratio((double)e->passed_waits,
                                                (double)e->long_waits)
                              : -1;
}
