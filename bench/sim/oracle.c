/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best that fixed settings could have done, in hindsight. For each phase,
 * short runs over worker counts, coarse and then fine around the best; depth
 * and reads in flight are as large as memory lets them be, and where they
 * compete for it, all depths are tried with the reads that are left. The
 * winners of the phases are then run in full, and so are their neighbours and
 * the static default, as a short run can err; the best of those is the oracle.
 *
 * What was found for a scenario with a name is kept, by name and seed, for the
 * life of the process. Any thread.
 */
#include "world.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WARM_BATCHES  150u
#define SHORT_BATCHES 1500u
#define LONG_BATCHES  4000u /* where rare things decide */
#define TIE           0.998

struct search {
    const struct sim_scenario *s;
    uint64_t seed;
    struct sim_oracle_phase *p;
    struct fdl_knobs knobs[48]; /* beside p->workers */
    bool failed;
};

/* ---- One setting -------------------------------------------------------- */

static uint64_t span_of(const struct sim_scenario *s,
                        const struct sim_oracle_phase *p)
{
    uint64_t n = s->work.pareto > 0 || s->neighbour > 0 || s->burst_rate > 0 ||
                         s->drift > 0
                     ? LONG_BATCHES
                     : SHORT_BATCHES;
    if (s->work.mean + s->sleep.mean > 0 && s->batches < 2 * n)
        n = s->batches / 2;
    return p->to - p->from < n ? p->to - p->from : n;
}

/* The largest depth that fits with these workers and reads; 0: none does. */
static uint32_t largest_depth(const struct fdl_tuner_limits *m,
                              struct fdl_knobs k)
{
    if (m->memory_bytes == 0)
        return m->depth_max;
    k.depth = 0;
    uint64_t others = fdl_knobs_memory(m, &k);
    if (others >= m->memory_bytes)
        return 0;
    uint64_t n = m->batch_bytes ? (m->memory_bytes - others) / m->batch_bytes
                                : m->depth_max;
    return n < m->depth_min ? 0
                            : (uint32_t)(n < m->depth_max ? n : m->depth_max);
}

/* Of marks from the warm-up on: batches per second, stall. */
static void measure(const struct sim_scenario *s, const struct sim_result *r,
                    double *rate, double *stall)
{
    uint64_t a = WARM_BATCHES / SIM_MARK_BATCHES + 1, b = r->n_marks - 1;
    if (b <= a)
        a = 0;
    double seconds = r->marks[b].seconds - r->marks[a].seconds;
    double lost = s->device ? r->marks[b].idle - r->marks[a].idle
                            : r->marks[b].wait - r->marks[a].wait;
    *rate = seconds > 0 ? (double)(b - a) * SIM_MARK_BATCHES / seconds : 0;
    *stall = seconds > 0 ? lost / seconds : 0;
}

static void run_once(struct search *x, const struct fdl_knobs *k, double *rate,
                     double *stall)
{
    struct sim_span span = {.from = x->p->from, .count = span_of(x->s, x->p)};
    struct sim_result r;
    *rate = *stall = 0;
    if (!sim_run_span(x->s, NULL, k, x->seed, &span, &r)) {
        x->failed = true;
        return;
    }
    measure(x->s, &r, rate, stall);
    sim_result_free(&r);
}

/* ---- Workers ------------------------------------------------------------ */

/* As many reads as fit beside that depth; 0: none do. */
static uint32_t most_reads(const struct fdl_tuner_limits *m, struct fdl_knobs k)
{
    uint32_t most = m->io_depth_max;
    k.io_depth = most;
    if (m->memory_bytes == 0 || fdl_knobs_memory(m, &k) <= m->memory_bytes)
        return most;
    k.io_depth = 0;
    uint64_t others = fdl_knobs_memory(m, &k);
    if (others >= m->memory_bytes || m->read_bytes == 0)
        return 0;
    uint64_t n = (m->memory_bytes - others) / (2 * m->read_bytes);
    return n < m->io_depth_min ? 0 : (uint32_t)(n < most ? n : most);
}

struct tried {
    struct fdl_knobs knobs;
    double rate, stall;
};

/* Along the line of what fits: more depth, fewer reads. It is left when it has
 * clearly gone down. */
static void try_line(struct search *x, uint32_t workers, struct tried *best)
{
    const struct fdl_tuner_limits *m = &x->s->limits;
    struct fdl_knobs widest = {.workers = workers, .io_depth = m->io_depth_max};
    uint32_t depth = m->depth_min, past = 0;
    if (m->read_bytes == 0 || largest_depth(m, widest) == m->depth_max)
        depth = largest_depth(m, widest);
    for (; depth > 0 && depth <= m->depth_max && past < 2;
         depth += 1 + depth / 8) {
        struct tried t = {.knobs = {.workers = workers, .depth = depth}};
        t.knobs.io_depth = most_reads(m, t.knobs);
        if (t.knobs.io_depth == 0)
            return;
        run_once(x, &t.knobs, &t.rate, &t.stall);
        past = t.rate < 0.98 * best->rate ? past + 1 : 0;
        if (t.rate > best->rate)
            *best = t;
        if (m->read_bytes == 0 || t.stall < 0.1 * m->target)
            return;
    }
}

/* The best split of memory for so many workers. */
static void try_workers(struct search *x, uint32_t workers)
{
    const struct fdl_tuner_limits *m = &x->s->limits;
    struct sim_oracle_phase *p = x->p;
    uint32_t at = 0;
    if (p->n == 48 || workers < m->workers_min || workers > m->workers_max ||
        (x->s->decent && workers > x->s->decent))
        return;
    while (at < p->n && p->workers[at] < workers)
        at++;
    if (at < p->n && p->workers[at] == workers)
        return;
    struct tried best = {.rate = -1};
    try_line(x, workers, &best);
    if (best.rate < 0)
        return;
    for (uint32_t i = p->n++; i > at; i--) {
        p->workers[i] = p->workers[i - 1];
        p->rates[i] = p->rates[i - 1];
        p->stalls[i] = p->stalls[i - 1];
        x->knobs[i] = x->knobs[i - 1];
    }
    p->workers[at] = workers;
    p->rates[at] = best.rate;
    p->stalls[at] = best.stall;
    x->knobs[at] = best.knobs;
}

static uint32_t best_of(const struct sim_oracle_phase *p)
{
    double most = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < p->n; i++)
        most = fmax(most, p->rates[i]);
    while (at + 1 < p->n && p->rates[at] < most * TIE)
        at++;
    return at;
}

/* Upwards by a third or so, until it is fed, or clearly past the best. */
static void coarse(struct search *x)
{
    const struct fdl_tuner_limits *m = &x->s->limits;
    const struct sim_oracle_phase *p = x->p;
    double most = 0;
    uint32_t past = 0;
    for (uint32_t n = m->workers_min; n <= m->workers_max && past < 3;
         n = n < 3 ? n + 1 : n + n / 3) {
        try_workers(x, n);
        if (p->n == 0 || p->workers[p->n - 1] != n)
            break; /* no memory for more */
        double rate = p->rates[p->n - 1];
        past = rate > most * 1.002 ? 0 : past + 1;
        if (p->stalls[p->n - 1] < 0.1 * m->target && past > 0)
            break;
        most = fmax(most, rate);
    }
}

/* Every count between those beside the best, by halving the gaps. */
static void fine(struct search *x)
{
    struct sim_oracle_phase *p = x->p;
    for (unsigned round = 0; round < 8; round++) {
        uint32_t at = best_of(p), n = p->n;
        uint32_t best = p->workers[at];
        if (at > 0)
            try_workers(x, (p->workers[at - 1] + best + 1) / 2);
        at = best_of(p);
        if (p->workers[at] == best && at + 1 < p->n &&
            p->workers[at + 1] - best > 1)
            try_workers(x, (p->workers[at + 1] + best) / 2);
        if (p->n == n)
            return;
    }
}

/* The fewest that are fed: below the first that is, down to the gap. */
static void cheapest(struct search *x)
{
    struct sim_oracle_phase *p = x->p;
    double target = x->s->limits.target;
    for (unsigned round = 0; round < 8; round++) {
        uint32_t at = 0, n = p->n;
        while (at < n && p->stalls[at] > target)
            at++;
        if (at == n) {
            p->cheapest_fed = 0;
            return;
        }
        p->cheapest_fed = p->workers[at];
        if (at == 0 || p->workers[at] - p->workers[at - 1] == 1)
            return;
        try_workers(x, (p->workers[at] + p->workers[at - 1]) / 2);
        if (p->n == n)
            return;
    }
}

static bool find_phase(struct search *x)
{
    struct sim_oracle_phase *p = x->p;
    coarse(x);
    if (p->n == 0)
        return false;
    fine(x);
    cheapest(x);
    uint32_t at = best_of(p);
    p->best = x->knobs[at];
    p->rate = p->rates[at];
    p->stall = p->stalls[at];
    return !x->failed;
}

double sim_oracle_rate(const struct sim_oracle_phase *p, uint32_t workers)
{
    uint32_t at = 0;
    if (p->n == 0)
        return 0;
    while (at < p->n && p->workers[at] < workers)
        at++;
    if (at == p->n)
        return p->rates[p->n - 1];
    if (at == 0 || p->workers[at] == workers)
        return p->rates[at];
    double span = p->workers[at] - p->workers[at - 1];
    double part = (workers - p->workers[at - 1]) / span;
    return p->rates[at - 1] + part * (p->rates[at] - p->rates[at - 1]);
}

/* ---- The whole run ------------------------------------------------------ */

/* Of pauses, between two batches. */
static double paused(const struct sim_scenario *s, uint64_t from, uint64_t to)
{
    uint64_t n = s->pause_every;
    return n ? s->pause * (double)(to / n - from / n) : 0;
}

/* Of the time of a run, from blocks of SIM_MARK_BATCHES within phases. */
static double error_of(const struct sim_scenario *s, const struct sim_oracle *o,
                       const struct sim_result *r)
{
    double variance = 0;
    for (uint32_t i = 0; i < o->n_phases; i++) {
        double n = 0, sum = 0, square = 0;
        uint64_t a = o->phase[i].from / SIM_MARK_BATCHES + 1;
        uint64_t b = o->phase[i].to / SIM_MARK_BATCHES;
        for (uint64_t k = a; k < b && k + 1 < r->n_marks; k++) {
            double t =
                r->marks[k + 1].seconds - r->marks[k].seconds -
                paused(s, k * SIM_MARK_BATCHES, (k + 1) * SIM_MARK_BATCHES);
            n++;
            sum += t;
            square += t * t;
        }
        if (n > 1)
            variance += n * (square - sum * sum / n) / (n - 1);
    }
    return r->seconds > 0 ? sqrt(fmax(0, variance)) / r->seconds : 0;
}

/* These settings, phase by phase; kept in *o if they are faster. */
static bool run_whole(const struct sim_scenario *s, uint64_t seed,
                      const struct sim_oracle *settings, struct sim_oracle *o)
{
    struct sim_span span = {.count = s->batches, .schedule = settings};
    struct sim_result r;
    if (!sim_run_span(s, NULL, &settings->phase[0].best, seed, &span, &r))
        return false;
    if (o->seconds == 0 || r.seconds < o->seconds * TIE) {
        if (o != settings)
            *o = *settings;
        o->seconds = r.seconds;
        o->workers = r.workers;
        o->stall = r.stall;
        o->error = error_of(s, o, &r);
        for (uint32_t i = 0; i < o->n_phases; i++) {
            struct sim_oracle_phase *p = &o->phase[i];
            p->rate = sim_oracle_rate(p, p->best.workers);
        }
    }
    sim_result_free(&r);
    return true;
}

/* More workers: one, and a part of those there are. */
static bool run_more(const struct sim_scenario *s, uint64_t seed, uint32_t part,
                     struct sim_oracle *o)
{
    struct sim_oracle more = *o;
    bool differs = false;
    for (uint32_t i = 0; i < o->n_phases; i++) {
        struct fdl_knobs k = o->phase[i].best;
        k.workers += 1 + (part ? k.workers / part : 0);
        if (k.workers > s->limits.workers_max ||
            (s->decent && k.workers > s->decent))
            continue;
        k.depth = largest_depth(&s->limits, k);
        if (k.depth == 0)
            continue;
        more.phase[i].best = k;
        differs = true;
    }
    return !differs || run_whole(s, seed, &more, o);
}

static bool others(const struct sim_scenario *s, uint64_t seed,
                   struct sim_oracle *o)
{
    struct sim_oracle fixed = *o;
    struct sim_facts facts;
    sim_facts_of(s, &facts);
    for (uint32_t i = 0; i < o->n_phases; i++)
        fixed.phase[i].best = facts.def;
    return run_more(s, seed, 5, o) && run_more(s, seed, 0, o) &&
           run_whole(s, seed, &fixed, o);
}

static bool find(const struct sim_scenario *s, uint64_t seed,
                 struct sim_oracle *o)
{
    memset(o, 0, sizeof(*o));
    o->n_phases = s->n_phases;
    for (uint32_t i = 0; i < s->n_phases; i++) {
        struct search x = {.s = s, .seed = seed, .p = &o->phase[i]};
        x.p->from = s->phase[i].from;
        x.p->to = i + 1 < s->n_phases ? s->phase[i + 1].from : s->batches;
        if (!find_phase(&x))
            return false;
    }
    return run_whole(s, seed, o, o) && others(s, seed, o);
}

/* ---- Memory of it ------------------------------------------------------- */

struct kept {
    struct kept *next;
    char name[sizeof(((struct sim_scenario *)0)->name)];
    uint64_t seed;
    struct sim_oracle o;
};

static struct kept *kept;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */

static bool look_up(const struct sim_scenario *s, uint64_t seed,
                    struct sim_oracle *out)
{
    const struct kept *k;
    pthread_mutex_lock(&kept_lock);
    for (k = kept; k; k = k->next)
        if (k->seed == seed && strcmp(k->name, s->name) == 0) {
            *out = k->o;
            break;
        }
    pthread_mutex_unlock(&kept_lock);
    return k != NULL;
}

static void keep(struct kept *k)
{
    pthread_mutex_lock(&kept_lock);
    k->next = kept;
    kept = k;
    pthread_mutex_unlock(&kept_lock);
}

bool sim_find_oracle(const struct sim_scenario *s, uint64_t seed,
                     struct sim_oracle *out)
{
    struct sim_oracle found;
    bool named = s->name[0] != '\0';
    if (named && look_up(s, seed, out))
        return true;
    if (!find(s, seed, &found))
        return false;
    *out = found;
    struct kept *k = named ? malloc(sizeof(*k)) : NULL;
    if (k) { /* else it is looked for again */
        memcpy(k->name, s->name, sizeof(k->name));
        k->seed = seed;
        k->o = found;
        keep(k);
    }
    return true;
}
