/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies every rule, and orders the verdicts by the fraction of the time that
 * each explains, as verdict.h defines it. Causes of the stall come from the
 * ledger, which divides it among them; the other rules look beyond it.
 *
 *     evidence --digest--> facts --rules--> drafts --order--> verdicts
 *
 * The gain of a cause: without its wait the same work takes wall - cause, so
 * throughput grows by wall / (wall - cause) - 1. That is an upper bound, which
 * rules lower to what their action can do, and to the next limit
 * (verdict_limits.c).
 */
#include "profiler/verdict/verdict.h"

#include "profiler/verdict/verdict_own.h"

#include <math.h>
#include <string.h>

#define MIN_BATCHES    8
#define ENOUGH_BATCHES 64
#define MIN_WALL_NS    INT64_C(1000000000)
#define EXPLAINS       0.20 /* the largest cause; less names nothing */

typedef bool (*rule)(const struct fdl_facts *, struct fdl_draft *);

/* Before causes that explain no more than they do. */
static const rule first_rules[] = {fdl_judge_stuck, fdl_judge_unused,
                                   fdl_judge_start};

/* In addition to the causes; of two that explain as much, the first one leads.
 */
static const rule rules[] = {
    fdl_judge_capped, fdl_judge_kernels,  fdl_judge_handover,
    fdl_judge_gaps,   fdl_judge_launches, fdl_judge_interference,
    fdl_judge_large,
};

/* After everything that explains as little. */
static const rule last_rules[] = {fdl_judge_quota, fdl_judge_world,
                                  fdl_judge_period};

/* The limit; whether there is too much; FED if neither applies. */
static const rule fed_rules[] = {fdl_judge_gpu_bound, fdl_judge_too_many,
                                 fdl_judge_fed};

#define ALL_RULES                                                              \
  (CAUSES + FDL_COUNT_OF(first_rules) + FDL_COUNT_OF(rules) +                  \
   FDL_COUNT_OF(fed_rules) + FDL_COUNT_OF(last_rules))

struct drafts {
    struct fdl_draft at[ALL_RULES];
    uint32_t n;
};

const char *fdl_level_of(double stall)
{
    if (stall < FED_STALL)
        return "FED";
    if (stall < MINOR_STALL)
        return "MINOR";
    return stall < MODERATE_STALL ? "MODERATE" : "HIGH";
}

/* 8 batches give half, 64 give 89 %, of the cause's share. */
static uint32_t confidence(const struct fdl_facts *f, double share)
{
    double n = (double)f->e->batches;
    return (uint32_t)(n / (n + MIN_BATCHES) * share * 1e6);
}

/* Keeps the draft from begin(). Of two with the same code the heavier one
 * stays; a cause of the stall keeps its wording and takes the weight. */
static void keep(const struct fdl_facts *f, struct drafts *all)
{
    struct fdl_draft *d = &all->at[all->n];
    fdl_say_evidence(f, d);
    if (f->e->outside) { /* its knobs are not ours */
        d->v.moves = (struct fdl_moves){0};
        d->v.workers_to = 0;
    }
    for (uint32_t i = 0; i < all->n; i++) {
        if (strcmp(all->at[i].v.code, d->v.code) != 0)
            continue;
        if (all->at[i].v.share > 0 && d->v.share == 0)
            all->at[i].weight = fmax(all->at[i].weight, d->weight);
        else if (d->weight > all->at[i].weight)
            all->at[i] = *d;
        return;
    }
    all->n++;
}

static struct fdl_draft *begin(const struct fdl_facts *f, struct drafts *all)
{
    struct fdl_draft *d = &all->at[all->n];
    memset(d, 0, sizeof(*d));
    d->v.level = fdl_level_of(f->stall);
    d->v.part = "";
    d->v.confidence_ppm = confidence(f, 1);
    return d;
}

static bool ask(const struct fdl_facts *f, rule r, struct drafts *all)
{
    if (!r(f, begin(f, all)))
        return false;
    keep(f, all);
    return true;
}

static void judge_cause(const struct fdl_facts *f, enum fdl_cause cause,
                        struct drafts *all)
{
    static void (*const judges[CAUSES])(const struct fdl_facts *,
                                        struct fdl_draft *) = {
        fdl_judge_prep, fdl_judge_fetch, fdl_judge_transfer, fdl_judge_slot,
        fdl_judge_wake};
    /* As the end of "97 % of that was ...". */
    static const char *const words[CAUSES] = {
        "decode and augment", "reading", "the copy to the device",
        "before the batch was scheduled", "after the batch was ready"};
    static const char *const parts[CAUSES] = {"prep", "fetch", "transfer",
                                              "slot", "wake"};
    struct fdl_draft *d = begin(f, all);
    bool full = f->bus_full && cause == CAUSE_TRANSFER;
    /* Copies that fill the span delay everything else. */
    double share = full ? 1 : f->share[cause];
    d->v.share = share;
    d->v.part = parts[cause];
    d->weight = f->stall * share;
    d->v.confidence_ppm = confidence(f, share);
    d->v.predicted_gain = fdl_facts_gain(share * f->stalled_ns, f->of_ns);
    fdl_say_stall(f, d);
    if (!full)
        fdl_say(d, "; %s of that was %s", fdl_say_percent(share).at,
                words[cause]);
    judges[cause](f, d);
    if (f->e->gpu_memory_used >= GPU_FULL &&
        (cause == CAUSE_PREP || cause == CAUSE_FETCH))
        fdl_say(d, " GPU memory is %s full, which is unrelated.",
                fdl_say_percent(f->e->gpu_memory_used).at);
    keep(f, all);
}

/* A wait that no part of the loader explains. */
static void judge_unexplained(const struct fdl_facts *f, struct drafts *all)
{
    struct fdl_draft *d = begin(f, all);
    d->v.code = "OUT_OF_SCOPE";
    d->weight = f->stall;
    d->v.confidence_ppm = confidence(f, PRIMARY);
    fdl_say_stall(f, d);
    fdl_say(d,
            ", and no part of the loader explains more than %s of that: the "
            "loader is not the cause.",
            fdl_say_percent(f->share[f->cause]).at);
    fdl_act(d, "Look at what the machine does meanwhile, and at the trace.");
    keep(f, all);
}

/* The whole wait belongs to a watched loader. */
static void judge_outside(const struct fdl_facts *f, struct drafts *all)
{
    struct fdl_draft *d = begin(f, all);
    d->v.share = 1;
    d->weight = f->stall;
    d->v.predicted_gain = fdl_facts_gain(f->stalled_ns, f->of_ns);
    fdl_say_stall(f, d);
    fdl_judge_outside(f, d);
    keep(f, all);
}

static void judge_stall(const struct fdl_facts *f, struct drafts *all)
{
    if (f->stall < FED_STALL)
        return;
    if (f->e->outside) {
        judge_outside(f, all);
        return;
    }
    if (!f->bus_full && f->share[f->cause] < EXPLAINS) {
        judge_unexplained(f, all);
        return;
    }
    for (int i = 0; i < CAUSES; i++)
        if (f->share[i] >= CONTRIBUTING || (enum fdl_cause)i == f->cause ||
            (f->bus_full && i == CAUSE_TRANSFER))
            judge_cause(f, (enum fdl_cause)i, all);
}

static void judge_too_little(const struct fdl_facts *f, struct drafts *all)
{
    struct fdl_draft *d = begin(f, all);
    d->v.code = "INSUFFICIENT_DATA";
    d->v.level = "UNKNOWN";
    d->v.confidence_ppm = 0;
    if (f->e->batches == 0)
        fdl_say(d, "No batch was taken so far.");
    else
        fdl_say(d, "Only %s in %s so far: too little to judge.",
                fdl_say_count((double)f->e->batches, "batch", "batches").at,
                fdl_say_duration((double)f->e->wall_ns).at);
    fdl_act(d, "Run for at least %d batches, or for a second with at least %d.",
            ENOUGH_BATCHES, MIN_BATCHES);
    keep(f, all);
}

/* Few batches show nothing, except what keeps the next one from coming. */
static void judge_little(const struct fdl_facts *f, struct drafts *all)
{
    if (f->e->stuck_awaited)
        ask(f, fdl_judge_stuck, all);
    judge_too_little(f, all);
}

/* By weight; insertion sort keeps equals in the order of the rules. */
static void sort(struct drafts *all)
{
    for (uint32_t i = 1; i < all->n; i++) {
        struct fdl_draft d = all->at[i];
        uint32_t k = i;
        for (; k > 0 && all->at[k - 1].weight < d.weight; k--)
            all->at[k] = all->at[k - 1];
        all->at[k] = d;
    }
}

static void ask_all(const struct fdl_facts *f, const rule *list, size_t n,
                    struct drafts *all)
{
    for (size_t i = 0; i < n; i++)
        ask(f, list[i], all);
}

static void judge_all(const struct fdl_facts *f, struct drafts *all)
{
    ask_all(f, first_rules, FDL_COUNT_OF(first_rules), all);
    judge_stall(f, all);
    ask_all(f, rules, FDL_COUNT_OF(rules), all);
    bool limit = ask(f, fed_rules[0], all);
    if (!ask(f, fed_rules[1], all) && !limit)
        ask(f, fed_rules[2], all);
    ask_all(f, last_rules, FDL_COUNT_OF(last_rules), all);
    sort(all);
}

void fdl_evidence_init(struct fdl_evidence *e)
{
    memset(e, 0, sizeof(*e));
    e->reads_storage = true;
    e->interference = e->interference_sigma = -1;
    e->stall_strength = -1;
    e->peer_stall = -1;
    e->outside_process_cores = e->outside_queued = -1;
    e->mean_file_bytes = -1;
    e->read_rate = -1;
    e->read_p50_us = e->read_p99_us = -1;
    e->rate_by_depth = e->latency_by_depth = -1;
    e->first_epoch_fetch = e->later_epoch_fetch = -1;
    e->first_epoch_read = e->later_epoch_read = -1;
    e->cold_fraction = -1;
    e->storage_fraction = e->fetch_cold = e->data_bytes = -1;
    e->memory_bytes = e->cache_bytes = -1;
    e->foreign_cores = -1;
    e->consumer_cores = e->outside_cores = -1;
    e->gpu_utilization = e->gpu_sm_active = -1;
    e->gpu_idle_seconds = e->gpu_memory_used = e->gpu_clock = -1;
    e->op.cpu_ns = -1;
    e->source_pixels = e->output_pixels = -1;
    e->usual_wait_ns = -1;
    e->cpu_quota = -1;
    e->reads_under_way = -1;
    e->read_fixed_ns = e->read_byte_ns = e->read_byte_error_ns = -1;
    e->read_ahead_ns = -1;
    e->read_rate_now = -1;
    e->terms = fdl_terms_of(FDL_INTERFACE_FEEDLINE);
}

uint32_t fdl_verdict_judge(const struct fdl_evidence *e,
                           struct fdl_verdict out[FDL_VERDICTS_MAX])
{
    struct fdl_facts f;
    struct drafts all;
    all.n = 0;
    fdl_facts_digest(e, &f);
    if (e->batches < MIN_BATCHES || e->wall_ns <= 0 ||
        (e->batches < ENOUGH_BATCHES && e->wall_ns < MIN_WALL_NS))
        judge_little(&f, &all);
    else
        judge_all(&f, &all);
    uint32_t n = FDL_MIN(all.n, FDL_VERDICTS_MAX);
    memset(out, 0, n * sizeof(*out));
    fdl_advice_settle(&f, all.at, n);
    for (uint32_t i = 0; i < n; i++)
        out[i] = all.at[i].v;
    return n;
}
