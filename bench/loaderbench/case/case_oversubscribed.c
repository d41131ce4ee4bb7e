/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several loaders that each think the machine is theirs. Every one starts as
 * many workers as there are cores, which is what it would do alone; together
 * they are several times too many. The work is real: photos are decoded.
 *
 *   before   each has as many workers as there are cores
 *   splits   every way to give each of them 1, 2, ... workers
 *   after    what a tuner in each has found, which sees the others
 *            (loader/tune/neighbours.h)
 *
 * All splits are measured in turns, ROUNDS times. Then the best one and that of
 * the tuners are measured in turns, DUELS times, for the best of many
 * measurements is one that was lucky, and the machine may have others on it;
 * the median of the ratios counts. A split is as fast as all loaders together;
 * fairness is Jain's index of their speeds, 1 if all are alike, 1/n if one has
 * everything.
 */
#include "bench/loaderbench/case/case.h"
#include "bench/loaderbench/case/case_crew.h"

#include <stdio.h>
#include <string.h>

#define WARMUP     3 /* batches */
#define ROUNDS     3
#define DUELS      5
#define SPLITS_MAX 16
#define GOAL       0.95
#define OWN        0.8 /* of the cores, for the comparison to be about them */

struct split {
    struct crew_setting of[CREW_MAX];
    struct crew_answer answers[CREW_MAX]; /* of the last round */
    double rates[DUELS], fairness[DUELS], waits[DUELS];
    double cores[DUELS];   /* CPU time per wall time, of all */
    double per_cpu[DUELS]; /* images per second of CPU time, which does not
                              depend on how much of the cores others leave */
    size_t n;              /* rounds, so far */
    double rate;           /* images per second, of all; median */
};

struct over {
    const struct case_options *options;
    struct case_result *out;
    struct case_scene scene;
    uint32_t n, cores;
    struct split splits[SPLITS_MAX]; /* the first one is the default */
    size_t n_splits, best;
    struct split winner, tuned; /* of the duel */
    double ratios[DUELS];
    size_t n_duels; /* so far */
    struct crew_answer found[CREW_MAX];
    double search_seconds;
};

/* ---- Splits ------------------------------------------------------------- */

static void add_split(struct over *s, const int64_t *workers)
{
    if (s->n_splits == SPLITS_MAX)
        return;
    struct split *p = &s->splits[s->n_splits++];
    for (uint32_t i = 0; i < s->n; i++)
        p->of[i].workers = workers[i];
}

static void add_even(struct over *s, int64_t each)
{
    int64_t workers[CREW_MAX];
    for (uint32_t i = 0; i < s->n; i++)
        workers[i] = each;
    add_split(s, workers);
}

/* The number of ways not to care which loader has how many. */
static double n_multisets(uint32_t n, uint32_t cores)
{
    double ways = 1;
    for (uint32_t i = 1; i <= n; i++)
        ways = ways * (cores + i - 1) / i;
    return ways;
}

/* The next one that does not fall from loader to loader; false: none. */
static bool next_multiset(int64_t *workers, uint32_t n, int64_t most)
{
    for (uint32_t i = n; i-- > 0;) {
        if (workers[i] >= most)
            continue;
        int64_t value = workers[i] + 1;
        for (; i < n; i++)
            workers[i] = value;
        return true;
    }
    return false;
}

/* Where there are too many, those in which all have the same: 1, 2, 4, ... and
 * a fair share. */
static void make_splits(struct over *s)
{
    add_even(s, s->cores);
    if (n_multisets(s->n, s->cores) <= SPLITS_MAX) {
        int64_t workers[CREW_MAX];
        for (uint32_t i = 0; i < s->n; i++)
            workers[i] = 1;
        while (workers[0] < s->cores) {
            add_split(s, workers);
            next_multiset(workers, s->n, s->cores);
        }
        return;
    }
    uint32_t share = (s->cores + s->n - 1) / s->n;
    bool shared = false;
    for (uint32_t each = 1; each < s->cores; each *= 2) {
        add_even(s, each);
        shared = shared || each == share;
    }
    if (!shared && share < s->cores)
        add_even(s, share);
}

/* ---- Measuring ---------------------------------------------------------- */

static void note(struct over *s, struct split *p)
{
    size_t round = p->n++;
    double sum = 0, squares = 0, waits = 0, cores = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        double x = p->answers[i].images_per_second;
        sum += x;
        squares += x * x;
        waits += p->answers[i].wait_fraction;
        cores += p->answers[i].cores;
    }
    p->rates[round] = sum;
    p->fairness[round] = squares > 0 ? sum * sum / (s->n * squares) : 0;
    p->waits[round] = waits / s->n;
    p->cores[round] = cores;
    p->per_cpu[round] = cores > 0 ? sum / cores : 0;
}

static int measure_split(struct over *s, struct split *p)
{
    int rc = crew_run(&s->scene, s->n, p->of, s->options->seconds / ROUNDS,
                      p->answers);
    if (rc == TOOL_DONE)
        note(s, p);
    return rc;
}

/* A copy is sorted, for rounds of several belong together. */
static double median_of(const double *x, size_t n)
{
    double sorted[DUELS];
    memcpy(sorted, x, n * sizeof(*x));
    return n ? tool_median(sorted, n) : 0;
}

static double rate_of(const struct split *p)
{
    return median_of(p->rates, p->n);
}

/* Forth and back, so that a machine that becomes slower does so for all. */
static int measure_grid(struct over *s)
{
    int rc = TOOL_DONE;
    for (size_t i = 0; i < ROUNDS * s->n_splits && rc == TOOL_DONE; i++) {
        size_t round = i / s->n_splits, at = i % s->n_splits;
        if (round % 2)
            at = s->n_splits - 1 - at;
        rc = measure_split(s, &s->splits[at]);
    }
    for (size_t i = 0; i < s->n_splits; i++) {
        s->splits[i].rate = rate_of(&s->splits[i]);
        if (s->splits[i].rate > s->splits[s->best].rate)
            s->best = i;
    }
    return rc;
}

static int measure_duel(struct over *s)
{
    int rc = TOOL_DONE;
    s->winner = s->splits[s->best];
    s->winner.n = 0;
    for (size_t i = 0; i < DUELS && rc == TOOL_DONE; i++) {
        struct split *first = i % 2 ? &s->tuned : &s->winner;
        struct split *second = i % 2 ? &s->winner : &s->tuned;
        rc = measure_split(s, first);
        if (rc == TOOL_DONE)
            rc = measure_split(s, second);
        if (rc == TOOL_DONE)
            s->ratios[s->n_duels++] =
                s->winner.rates[i] > 0 ? s->tuned.rates[i] / s->winner.rates[i]
                                       : 0;
    }
    s->winner.rate = rate_of(&s->winner);
    s->tuned.rate = rate_of(&s->tuned);
    return rc;
}

static int search(struct over *s)
{
    static const struct crew_setting tuners[CREW_MAX] = {{0, 0}};
    double begin = tool_seconds();
    int rc = crew_run(&s->scene, s->n, tuners, s->options->patience, s->found);
    s->search_seconds = tool_seconds() - begin;
    for (uint32_t i = 0; i < s->n; i++)
        s->tuned.of[i] =
            (struct crew_setting){s->found[i].workers, s->found[i].depth};
    return rc;
}

/* ---- What is said of it ------------------------------------------------- */

static int64_t total(const struct over *s, const struct split *p)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->n; i++)
        sum += p->of[i].workers;
    return sum;
}

static double step_ms(const struct over *s, double rate)
{
    return rate > 0 ? 1e3 * (double)s->options->batch_size * s->n / rate : 0;
}

static void fill_side(const struct over *s, struct case_side *side,
                      const struct split *p)
{
    side->images_per_second = p->rate;
    side->step_ms = step_ms(s, p->rate);
    side->stall_fraction = median_of(p->waits, p->n);
    side->workers = total(s, p);
    side->depth = p->answers[0].depth;
}

static void add_point(struct over *s, const struct split *p, bool tuned)
{
    struct case_result *r = s->out;
    char label[32] = "", text[48];
    double fairness = median_of(p->fairness, p->n);
    double cores = median_of(p->cores, p->n);
    json_t *split = json_array(), *loaders = json_array();
    for (uint32_t i = 0; i < s->n; i++) {
        size_t used = strlen(label);
        snprintf(label + used, sizeof(label) - used, "%s%lld",
                 i       ? "+"
                 : tuned ? "tuned: "
                         : "",
                 (long long)p->of[i].workers);
        json_array_append_new(split, json_integer(p->of[i].workers));
        json_array_append_new(loaders,
                              json_real(p->answers[i].images_per_second));
    }
    snprintf(text, sizeof(text), "fairness %.3f%s", fairness,
             tuned                      ? ", tuners"
             : p == s->splits           ? ", default"
             : p == &s->splits[s->best] ? ", best"
                                        : "");
    case_add_bar(r, label, text, p->rate, tuned);
    json_array_append_new(r->points,
                          json_pack("{s:I, s:o, s:f, s:f, s:f, s:o, s:b}",
                                    "workers", (json_int_t)total(s, p), "split",
                                    split, "images_per_second", p->rate,
                                    "fairness", fairness, "cores", cores,
                                    "loaders", loaders, "tuned", tuned));
}

/* Converged when the last of them has. */
static void tell_search(struct over *s)
{
    struct case_side *a = &s->out->after;
    json_t *each = json_array();
    bool all = true;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct crew_answer *f = &s->found[i];
        all = all && f->converged_batch >= 0;
        if (f->converged_batch > a->converged_batch)
            a->converged_batch = f->converged_batch;
        if (f->converged_seconds > a->converged_seconds)
            a->converged_seconds = f->converged_seconds;
        json_array_append_new(
            each,
            json_pack("{s:I, s:I, s:f, s:o}", "workers", (json_int_t)f->workers,
                      "depth", (json_int_t)f->depth, "images_per_second",
                      f->images_per_second, "converged_batch",
                      f->converged_batch >= 0
                          ? json_integer((json_int_t)f->converged_batch)
                          : json_null()));
    }
    if (!all)
        a->converged_batch = -1;
    json_object_set_new(
        s->out->more, "search",
        json_pack("{s:f, s:o}", "seconds", s->search_seconds, "loaders", each));
}

static void tell_grid(struct over *s)
{
    struct case_result *r = s->out;
    fill_side(s, &r->before, &s->splits[0]);
    r->unit = "batch";
    snprintf(r->before.what, sizeof(r->before.what), "%u loaders, %u workers",
             s->n, s->cores);
    snprintf(r->after.what, sizeof(r->after.what), "a tuner in each");
    r->chart = "images/s of all loaders by workers in each:";
    for (size_t i = 0; i < s->n_splits; i++)
        if (s->splits[i].n)
            add_point(s, &s->splits[i], false);
    json_object_set_new(r->more, "loaders", json_integer(s->n));
}

static void tell_words(struct over *s, double cpu, double tuned)
{
    struct case_result *r = s->out;
    double before = s->splits[0].rate;
    double own = median_of(s->tuned.cores, s->tuned.n) / s->cores;
    int n = snprintf(r->sentence, sizeof(r->sentence),
                     TOOL_COUNT ": the tuners use " TOOL_COUNT
                                " instead of %lld and load %+.1f %% images; "
                                "compared with the best split %+.1f %% per "
                                "second of CPU time.",
                     TOOL_COUNT_OF(s->cores, "core"),
                     TOOL_COUNT_OF(r->after.workers, "worker"),
                     (long long)r->before.workers,
                     before > 0 ? 100 * (s->tuned.rate / before - 1) : 0,
                     cpu > 0 ? 100 * (tuned / cpu - 1) : 0);
    json_object_set_new(r->more, "disturbed", json_boolean(own < OWN));
    if (own < OWN)
        snprintf(
            r->sentence + n, sizeof(r->sentence) - (size_t)n,
            " But other processes had %.0f %% of the cores, and whichever runs "
            "more threads gets more of them: throughput means little here.",
            100 * (1 - own));
}

/* The duel, as far as it went. */
static void tell_duel(struct over *s)
{
    struct case_result *r = s->out;
    struct split *best = &s->winner;
    double cpu = median_of(best->per_cpu, best->n);
    double tuned = median_of(s->tuned.per_cpu, s->tuned.n);
    fill_side(s, &r->after, &s->tuned);
    add_point(s, &s->tuned, true);
    r->bound_ms = step_ms(s, best->rate);
    snprintf(r->bound_what, sizeof(r->bound_what), "the best static split");
    snprintf(r->goal.text, sizeof(r->goal.text),
             "Tuned against the best split");
    r->goal.value = median_of(s->ratios, s->n_duels);
    r->goal.limit = GOAL;
    json_object_set_new(r->more, "best",
                        json_pack("{s:I, s:f}", "workers",
                                  (json_int_t)total(s, best),
                                  "images_per_second", best->rate));
    json_object_set_new(r->more, "images_per_cpu_second",
                        json_pack("{s:f, s:f}", "best", cpu, "tuned", tuned));
    tell_words(s, cpu, tuned);
}

static void tell(struct over *s)
{
    tell_grid(s);
    if (s->n_duels)
        tell_duel(s);
    tell_search(s);
}

int case_oversubscribed(const struct case_options *o, struct case_result *out)
{
    static struct over s;
    struct feedline_machine_info m = {.struct_size = sizeof(m)};
    struct cli_setting settings[] = {{"dtype", "f32"}, {"drop_last", "true"}};
    memset(&s, 0, sizeof(s));
    s.options = o;
    s.out = out;
    s.scene.settings = settings;
    s.scene.n_settings = sizeof(settings) / sizeof(*settings);
    s.scene.batch_size = o->batch_size;
    s.scene.setup.options =
        (struct run_options){.pipeline = "train", .warmup = WARMUP};
    if (o->loaders > CREW_MAX) {
        tool_say("case oversubscribed takes %d --loaders at most", CREW_MAX);
        return TOOL_USAGE;
    }
    int32_t status = feedline_machine_get_info(&m);
    if (status < 0)
        return tool_setup_failed(status);
    s.n = (uint32_t)o->loaders;
    s.cores = m.cpus_usable;
    make_splits(&s);
    int rc = case_scene_photos(&s.scene);
    if (rc == TOOL_DONE)
        rc = search(&s);
    if (rc == TOOL_DONE)
        rc = measure_grid(&s);
    if (rc == TOOL_DONE)
        rc = measure_duel(&s);
    if (rc == TOOL_DONE || rc == TOOL_INTERRUPTED)
        tell(&s);
    case_scene_close(&s.scene);
    return rc;
}
