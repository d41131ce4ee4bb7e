/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for time that no better loader would save. The sentence of each says
 * that the loader is not the cause.
 */
#include "profiler/verdict/verdict_own.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define GPU_SILENT   10.0 /* seconds at utilisation 0 */
#define GPU_WORKS    0.50 /* utilisation */
#define SM_WORKS     0.50 /* SM activity while utilisation is high */
#define CLOCK_DROPS  0.90 /* of the maximum: below, it is worth mentioning */
#define GAPS         0.10 /* of wall */
#define HANDOVER     0.05 /* of wall */
#define COLLECTIVES  0.20 /* of wall */
#define PEER_STALLS  0.05 /* of its wall, on another rank */
#define READY        0.99 /* of calls */
#define NO_ROOM      0.20 /* of worker time */
#define NO_ROOM_MOST 0.50
#define SLOWED       0.05 /* of the consumer's own time */
#define SIGMAS       4.0
#define SLOW_STARTS  3.0 /* of what a batch usually takes, or is waited for */
#define LEAST_EPOCH  8   /* batches */
#define BEFORE                                                                 \
  1.1 /* of the stall, which includes the first wait: a batch takes that long to
       * be delivered, too */
#define RHYTHM   0.50
#define HEADROOM 1.10

static void say_not_us(const struct fdl_facts *f, struct fdl_draft *d)
{
    const char *waited =
        f->device ? "the GPU waited for it for" : "it was waited for";
    if (f->stall < MINOR_STALL)
        fdl_say(d, "The loader is not the cause (%s %s of the time): ", waited,
                fdl_say_percent(f->stall).at);
    else
        fdl_say(d, "Apart from waiting for data (%s of the time), ",
                fdl_say_percent(f->stall).at);
}

static double wall(const struct fdl_facts *f)
{
    return (double)f->e->wall_ns;
}

static bool is_fed(const struct fdl_facts *f)
{
    return f->stall < FED_STALL;
}

/* Not while a batch takes longer than this silence. */
bool fdl_judge_unused(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double batch = wall(f) / 1e9 / (double)e->batches;
    if (!(e->gpu_idle_seconds >= GPU_SILENT) || e->gpu_utilization > 0 ||
        e->gpu_idle_seconds < 10 * batch)
        return false;
    d->v.code = "GPU_UNUSED";
    d->weight = 1;
    say_not_us(f, d);
    fdl_say(d, "the GPU has run nothing for %s, while batches were taken.",
            fdl_say_duration(e->gpu_idle_seconds * 1e9).at);
    fdl_act(d, "Check that model and batches are on the GPU, and that driver "
               "and CUDA fit together: loaderbench doctor.");
    fdl_note(d, "gpu_idle_seconds", e->gpu_idle_seconds);
    fdl_note(d, "gpu_utilization", e->gpu_utilization);
    return true;
}

/* Batches are ready, and what is done to them before the program gets them
 * takes its time: to the program a wait like any other. */
bool fdl_judge_handover(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double own = (double)e->handover_ns;
    double part = fdl_facts_ratio(own, wall(f));
    if (part < HANDOVER || !e->handover[0]) /* ours: nothing to be done */
        return false;
    struct fdl_phrase by = fdl_say_name(e->handover);
    d->v.code = "HANDOVER_BOUND";
    d->v.level = fdl_level_of(f->stall + part);
    d->weight = part;
    d->v.predicted_gain = fdl_facts_gain(own, wall(f));
    say_not_us(f, d);
    fdl_say(d,
            "%s had finished batches in hand for %s of the time (%s of %s), on "
            "the thread that asks for them.",
            by.at, fdl_say_percent(part).at, fdl_say_duration(own).at,
            fdl_say_duration(wall(f)).at);
    fdl_limit_gain(f, d, own);
    fdl_act(d,
            "Make %s cheaper: vectorise loops, cache results, copy less; or "
            "do its work where a sample is made (in the data set, in a "
            "transform), which is done ahead.",
            by.at);
    fdl_note(d, "handover_seconds", own / 1e9);
    fdl_note_name(d, "handover", e->handover);
    return true;
}

bool fdl_judge_gaps(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    /* Throttling by the quota is not a pause of the program. */
    double own = (double)e->gap_ns - fmax((double)e->gap_throttled_ns, 0);
    double part = fdl_facts_ratio(own, wall(f));
    if (e->gaps == 0 || part < GAPS || fdl_lock_is_taken(f))
        return false;
    d->v.code = "CONSUMER_HOST_BOUND";
    d->weight = part;
    d->v.predicted_gain = fdl_facts_gain(own, wall(f));
    say_not_us(f, d);
    fdl_say(d, "the program paused %s between batches, for %s of the time",
            fdl_say_count((double)e->gaps, "time", "times").at,
            fdl_say_percent(part).at);
    if (e->gap_period > 1)
        fdl_say(d, ", every %u steps", e->gap_period);
    if (e->long_phase)
        fdl_say(d, "; its longest phase is %s", fdl_say_name(e->long_phase).at);
    fdl_say(d, ".");
    fdl_limit_gain(f, d, own);
    fdl_act(d, "Look at what the program does between batches (checkpoints, "
               "logging, evaluation): less often, or on another thread.");
    fdl_note(d, "gaps", (double)e->gaps);
    fdl_note(d, "gap_seconds", (double)e->gap_ns / 1e9);
    fdl_note(d, "gap_period", e->gap_period);
    fdl_note_name(d, "phase", e->long_phase);
    return true;
}

/* The GPU has little work although batches are ready: it waits for the host to
 * launch kernels, or for what the host itself waits for. */
bool fdl_judge_launches(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    if (!fdl_facts_known(e->gpu_utilization) ||
        e->gpu_utilization >= GPU_WORKS || f->stall >= MINOR_STALL)
        return false;
    d->v.code = "CONSUMER_HOST_BOUND";
    d->weight = 1 - e->gpu_utilization - f->stall;
    say_not_us(f, d);
    fdl_say(d, "the GPU had work for %s of it while batches were ready",
            fdl_say_percent(e->gpu_utilization).at);
    if (fdl_facts_known(e->consumer_cores))
        fdl_say(d, "; the program's thread used %s of a core",
                fdl_say_percent(fmin(e->consumer_cores, 1)).at);
    if (e->phase)
        fdl_say(d, ", most of its time in phase %s", fdl_say_name(e->phase).at);
    fdl_say(d, ".");
    if (e->consumer_cores >= 0.9)
        fdl_act(d, "The thread that launches kernels is the limit: fuse them, "
                   "use CUDA graphs or torch.compile, or larger batches.");
    else
        fdl_act(d, "Find what the program itself waits for: .item(), "
                   "synchronize(), printing losses, saving files.");
    fdl_note(d, "gpu_utilization", e->gpu_utilization);
    fdl_note(d, "consumer_cores", e->consumer_cores);
    fdl_note_name(d, "phase", e->phase);
    return true;
}

bool fdl_judge_capped(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    bool clock = fdl_facts_known(e->gpu_clock);
    bool slow = !clock || e->gpu_clock < CLOCK_DROPS;
    if (!(e->gpu_thermal_capped || (e->gpu_power_capped && slow)))
        return false;
    d->v.code = "GPU_CAPPED";
    d->weight = clock ? fmax(1 - e->gpu_clock, 0) : 0;
    say_not_us(f, d);
    fdl_say(d, "the GPU is held back by its %s",
            e->gpu_thermal_capped ? "temperature" : "power limit");
    if (clock)
        fdl_say(d, " and runs at %s of its clock",
                fdl_say_percent(e->gpu_clock).at);
    fdl_say(d, ".");
    fdl_act(d, e->gpu_thermal_capped
                   ? "Look at the cooling of the GPU; more workers only add "
                     "heat."
                   : "Raise the power limit of the GPU (nvidia-smi -pl) if "
                     "possible; more workers do not help.");
    fdl_note(d, "gpu_thermal_capped", e->gpu_thermal_capped);
    fdl_note(d, "gpu_power_capped", e->gpu_power_capped);
    fdl_note(d, "gpu_clock", e->gpu_clock);
    return true;
}

bool fdl_judge_kernels(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    if (!is_fed(f) || !(e->gpu_utilization >= GPU_WORKS) ||
        !fdl_facts_known(e->gpu_sm_active) || e->gpu_sm_active >= SM_WORKS)
        return false;
    d->v.code = "GPU_KERNEL_INEFFICIENT";
    d->weight = e->gpu_utilization * (1 - e->gpu_sm_active);
    say_not_us(f, d);
    fdl_say(d,
            "a kernel ran for %s of it, but its multiprocessors worked for "
            "%s.",
            fdl_say_percent(e->gpu_utilization).at,
            fdl_say_percent(e->gpu_sm_active).at);
    fdl_act(d, "Give the GPU larger pieces of work: larger batches, fused "
               "kernels, channels-last, mixed precision.");
    fdl_note(d, "gpu_utilization", e->gpu_utilization);
    fdl_note(d, "gpu_sm_active", e->gpu_sm_active);
    return true;
}

static bool is_collective(const char *phase)
{
    static const char *const words[] = {"reduce",    "barrier",    "gather",
                                        "broadcast", "collective", "nccl",
                                        "communicat"};
    for (size_t i = 0; phase && i < FDL_COUNT_OF(words); i++)
        for (const char *c = phase; *c; c++)
            if (strncasecmp(c, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

/* One of several ranks, and fed. All of them may be slowed down by another rank
 * or by communication; without evidence for either, this ranks last. */
bool fdl_judge_world(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double part = is_collective(e->phase)
                      ? fdl_facts_ratio((double)e->phase_ns, wall(f))
                      : 0;
    bool peer = e->peer_stall >= PEER_STALLS;
    if (e->world < 2 || !is_fed(f))
        return false;
    d->v.code = "COMM_OR_STRAGGLER";
    say_not_us(f, d);
    if (peer) {
        d->weight = fmin(e->peer_stall, 1);
        fdl_say(d, "another of %u ranks waits for its images for %s.", e->world,
                fdl_say_percent(e->peer_stall).at);
        fdl_act(d, "Look at the verdict of the slowest rank: all wait for it.");
    } else if (part >= COLLECTIVES) {
        d->weight = part;
        fdl_say(d, "this one of %u ranks spends %s in phase %s.", e->world,
                fdl_say_percent(part).at, fdl_say_name(e->phase).at);
        fdl_act(d, "Compare the stall of all ranks: wait for the slowest, or "
                   "overlap communication with the backward pass.");
    } else {
        d->v.confidence_ppm /= 4;
        fdl_say(d,
                "if %u ranks are slower than they should be, the cause is "
                "another rank, or communication.",
                e->world);
        fdl_act(d, "Compare the stall of all ranks.");
    }
    fdl_note(d, "world", e->world);
    fdl_note(d, "peer_stall", e->peer_stall);
    fdl_note_name(d, "phase", e->phase);
    fdl_note(d, "phase_share", part > 0 ? part : -1);
    return true;
}

bool fdl_judge_interference(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    double slower = fmin(e->interference, MAX_GAIN);
    if (!(e->interference >= SLOWED) || !(e->interference_sigma >= SIGMAS))
        return false;
    d->v.code = "INTERFERENCE";
    d->weight =
        slower / (1 + slower) * fdl_facts_ratio((double)e->user_ns, wall(f));
    d->v.predicted_gain = slower;
    fdl_say(d,
            "The consumer's own work takes %s longer with the most workers "
            "than with the fewest; it waited %s of the time for the loader.",
            fdl_say_percent(slower).at, fdl_say_percent(f->stall).at);
    d->instead = "Bind workers and consumer to cores of their own.";
    if (f->workers > 1) {
        fdl_act(d, "Use fewer workers: ");
        fdl_move_workers(f, d, f->workers - 1);
        fdl_act(d, ", or bind workers and consumer to cores of their own.");
    } else {
        fdl_act(d, "%s", d->instead);
    }
    fdl_note(d, "interference", e->interference);
    fdl_note(d, "interference_sigma", e->interference_sigma);
    fdl_note(d, "workers", f->workers);
    return true;
}

/* Waits at the start: the first of the run, and that of each later epoch. The
 * usual duration is that of other batches, the consumer's step plus its wait.
 */
struct start {
    double first_ns, edge_ns, edges, usual_ns;
};

static double usual_wait(const struct fdl_facts *f, const struct start *s)
{
    double others = (double)f->e->batches - s->edges - 1;
    double rest = f->stalled_ns - s->first_ns - s->edge_ns * s->edges;
    if (f->e->usual_wait_ns >= 0)
        return f->e->usual_wait_ns;
    return others > 0 ? fmax(rest, 0) / others : 0;
}

/* In a short epoch the first batch is not exceptional. */
static bool epochs_are_short(const struct fdl_evidence *e, double edges)
{
    double batches = e->epoch_batches > 0 ? (double)e->epoch_batches
                                          : (double)e->batches / (edges + 1);
    return batches < LEAST_EPOCH;
}

/* Where most of what is waited is waited at starts, they need not be longer
 * than steps, which may be long. */
static double least_start(const struct fdl_facts *f, const struct start *s,
                          double wait)
{
    double starts = s->first_ns + s->edge_ns * s->edges;
    return starts >= PRIMARY * f->stalled_ns ? wait : f->step_ns + wait;
}

/* The device's span has no first wait. */
static struct start digest_start(const struct fdl_facts *f)
{
    const struct fdl_evidence *e = f->e;
    struct start s = {0};
    s.first_ns = f->device ? 0 : fmax((double)e->first_batch_ns, 0);
    s.edge_ns = fmax((double)e->epoch_edge_ns, 0);
    s.edges = fmax((double)e->epoch_edges, s.edge_ns > 0);
    if (s.first_ns > BEFORE * f->stalled_ns) /* the window began after it */
        s.first_ns = 0;
    double wait = usual_wait(f, &s);
    double least = SLOW_STARTS * least_start(f, &s, wait);
    s.usual_ns = f->step_ns + wait;
    if (s.first_ns < least)
        s.first_ns = 0;
    if (s.edge_ns < least || epochs_are_short(e, s.edges))
        s.edge_ns = 0;
    return s;
}

static void say_start(const struct fdl_facts *f, struct fdl_draft *d,
                      const struct start *s, double part)
{
    fdl_say_stall(f, d);
    fdl_say(d, "; %s of that was at the start", fdl_say_percent(part).at);
    if (s->first_ns > 0)
        fdl_say(d, ": %s until the first batch",
                fdl_say_duration(s->first_ns).at);
    if (s->edge_ns > 0)
        fdl_say(d, "%s %s at each later epoch", s->first_ns > 0 ? " and" : ":",
                fdl_say_duration(s->edge_ns).at);
    fdl_say(d, ", where a batch usually takes %s.",
            fdl_say_duration(s->usual_ns).at);
    if (f->e->outside) {
        fdl_act(d, s->edge_ns > 0
                       ? "Keep its workers from epoch to epoch (in torch "
                         "persistent_workers=True); if they are kept, use "
                         "longer epochs: each begins with no batch ready."
                       : "Run longer: it is paid once.");
        return;
    }
    fdl_act(d, s->edge_ns > 0
                   ? "Keep one loader for all epochs, and do not drain it "
                     "between them."
                   : "Create the loader before it is needed (start), and run "
                     "longer: this is paid once.");
}

/* Waits at the beginning that later batches do not have. */
bool fdl_judge_start(const struct fdl_facts *f, struct fdl_draft *d)
{
    struct start s = digest_start(f);
    double part =
        fdl_facts_ratio(s.first_ns + s.edge_ns * s.edges, f->stalled_ns);
    if (is_fed(f) || !(s.usual_ns > 0) || part < CONTRIBUTING)
        return false;
    d->v.code = "SLOW_START";
    d->v.share = part;
    d->weight = part >= PRIMARY ? f->stall : f->stall * part;
    d->v.predicted_gain = fdl_facts_gain(part * f->stalled_ns, f->of_ns);
    say_start(f, d, &s, part);
    fdl_note(d, "first_batch_seconds", s.first_ns / 1e9);
    fdl_note(d, "epoch_edge_seconds", s.edge_ns / 1e9);
    fdl_note(d, "step_seconds", f->step_ns / 1e9);
    fdl_note(d, "usual_seconds", s.usual_ns / 1e9);
    return true;
}

bool fdl_judge_period(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    if (is_fed(f) || e->stall_period < 2 || !(e->stall_strength >= RHYTHM))
        return false;
    d->v.code = "PERIODIC_STALL";
    d->v.confidence_ppm =
        (uint32_t)(d->v.confidence_ppm * fmin(e->stall_strength, 1));
    fdl_say(d, "Long waits come back every %u batches.", e->stall_period);
    fdl_act(d, "Find what has this period: an epoch, a checkpoint, a "
               "shard, a slow sample in each group of files.");
    fdl_note(d, "period", e->stall_period);
    fdl_note(d, "strength", e->stall_strength);
    return true;
}

/* A host that runs ahead of its GPU waits, and nothing starves. */
static void say_host_wait(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    if (f->device)
        fdl_say(d, ", while the host waited %s (%s of %s)",
                fdl_say_percent(f->host_stall).at,
                fdl_say_duration((double)e->ledger.wait_ns).at,
                fdl_say_duration(wall(f)).at);
}

/* The GPU has been observed: by its own clock, or by NVML. */
bool fdl_judge_gpu_bound(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    bool known = fdl_facts_known(e->gpu_utilization);
    bool works = known ? e->gpu_utilization >= GPU_WORKS : f->device;
    bool ready = f->device || f->ready >= READY;
    if (!is_fed(f) || !works || !ready || !(f->blocked > NO_ROOM))
        return false;
    d->v.code = "GPU_BOUND";
    fdl_say_stall(f, d);
    say_host_wait(f, d);
    fdl_say(d,
            ": the GPU is the limit, and %s had no room for results for %s "
            "of their time.",
            fdl_say_workers(f).at, fdl_say_percent(f->blocked).at);
    fdl_act(d, "Nothing to do here: only a faster model or GPU would help; the "
               "loader has time to spare.");
    fdl_note(d, "ready", f->ready);
    fdl_note(d, "blocked", f->blocked);
    fdl_note(d, "gpu_utilization", e->gpu_utilization);
    return true;
}

/* How many would be enough, with a tenth to spare; 0: not known. */
static double enough_workers(const struct fdl_facts *f)
{
    double busy = (double)f->e->worker_busy_ns / (double)f->e->batches;
    if (!(busy > 0) || !(f->step_ns > 0))
        return 0;
    return fmax(ceil(HEADROOM * busy / f->step_ns), 1);
}

static void say_keeps_up(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (f->e->outside)
        fdl_say(d, ": %s keeps up", fdl_say_name(f->e->outside).at);
    else
        fdl_say(d, ": the loader keeps up");
}

bool fdl_judge_too_many(const struct fdl_facts *f, struct fdl_draft *d)
{
    double enough = enough_workers(f);
    bool no_room = f->blocked > NO_ROOM_MOST;
    if (!is_fed(f) || f->workers < 2 ||
        !(no_room || (enough > 0 && f->workers > enough + 1)))
        return false;
    if (!(enough > 0) || enough >= f->workers)
        enough = fmax(floor(f->workers * (1 - f->blocked) * HEADROOM + 1), 1);
    enough = fmin(enough, f->workers - 1);
    d->v.code = "FED_OVERPROVISIONED";
    fdl_say_stall(f, d);
    say_host_wait(f, d);
    say_keeps_up(f, d);
    fdl_say(d, ", and %s had nowhere to put their work for %s of their time.",
            fdl_say_workers(f).at, fdl_say_percent(f->blocked).at);
    fdl_act(d, "Use fewer workers: ");
    fdl_move_workers(f, d, enough);
    fdl_act(d, " would do.");
    fdl_note(d, "workers", f->workers);
    fdl_note(d, "enough", enough);
    fdl_note(d, "blocked", f->blocked);
    return true;
}

bool fdl_judge_fed(const struct fdl_facts *f, struct fdl_draft *d)
{
    if (!is_fed(f))
        return false;
    d->v.code = "FED";
    fdl_say_stall(f, d);
    say_host_wait(f, d);
    say_keeps_up(f, d);
    if (!f->e->outside) /* of which the number may not be known */
        fdl_say(d, " with %s", fdl_say_workers(f).at);
    fdl_say(d, ".");
    fdl_act(d, "Nothing to do here: the time goes into the consumer's own "
               "work.");
    fdl_note(d, "workers", f->workers);
    fdl_note(d, "ready", f->ready);
    return true;
}
