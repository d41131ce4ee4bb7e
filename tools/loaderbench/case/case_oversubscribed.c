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
#include "tools/loaderbench/case/case.h"
#include "tools/loaderbench/case/case_crew.h"
#include "tools/loaderbench/doc.h"

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
    json_t *rounds; /* of each, of all loaders: "images_per_second", "fairness",
                       "wait_fraction", "cores" (CPU time per wall time), and
                       "images_per_cpu_second", which does not depend on how
                       much of the cores others leave */
};

struct over {
    const struct case_options *options;
    struct case_result *out;
    struct case_scene scene;
    uint32_t n, cores;
    struct split splits[SPLITS_MAX]; /* the first one is the default */
    size_t n_splits, best;
    struct split winner, tuned; /* of the duel */
    struct crew_answer found[CREW_MAX];
    double search_seconds;
};

/* ---- Splits ------------------------------------------------------------- */

static void add_split(struct over *s, const int64_t *workers)
{
    if (s->n_splits == SPLITS_MAX)
        return;
    struct split *p = &s->splits[s->n_splits++];
    p->rounds = json_array();
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

static void note(const struct over *s, struct split *p)
{
    double sum = 0, squares = 0, waits = 0, cores = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        double x = p->answers[i].images_per_second;
        sum += x;
        squares += x * x;
        waits += p->answers[i].wait_fraction;
        cores += p->answers[i].cores;
    }
    json_array_append_new(
        p->rounds,
        json_pack("{s:f, s:f, s:f, s:f, s:f}", "images_per_second", sum,
                  "fairness", squares > 0 ? sum * sum / (s->n * squares) : 0.0,
                  "wait_fraction", waits / s->n, "cores", cores,
                  "images_per_cpu_second", cores > 0 ? sum / cores : 0.0));
}

static int measure_split(struct over *s, struct split *p)
{
    int rc = crew_run(&s->scene, s->n, p->of, s->options->seconds / ROUNDS,
                      p->answers);
    if (rc == TOOL_DONE)
        note(s, p);
    return rc;
}

static double rate_of(const struct split *p)
{
    return doc_median(p->rounds, "images_per_second");
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
    for (size_t i = 0; i < s->n_splits; i++)
        if (rate_of(&s->splits[i]) > rate_of(&s->splits[s->best]))
            s->best = i;
    return rc;
}

static int measure_duel(struct over *s)
{
    int rc = TOOL_DONE;
    memcpy(s->winner.of, s->splits[s->best].of, sizeof(s->winner.of));
    for (size_t i = 0; i < DUELS && rc == TOOL_DONE; i++) {
        rc = measure_split(s, i % 2 ? &s->tuned : &s->winner);
        if (rc == TOOL_DONE)
            rc = measure_split(s, i % 2 ? &s->winner : &s->tuned);
    }
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

static double step_ms(const struct over *s, const struct split *p)
{
    return 1e3 * (double)s->options->batch_size * s->n / rate_of(p);
}

static void fill_side(const struct over *s, struct case_side *side,
                      const struct split *p)
{
    side->images_per_second = rate_of(p);
    side->step_ms = step_ms(s, p);
    side->stall_fraction = doc_median(p->rounds, "wait_fraction");
    side->workers = total(s, p);
    side->depth = p->answers[0].depth;
}

static void add_point(struct over *s, const struct split *p, bool tuned)
{
    struct case_result *r = s->out;
    char label[32] = "", text[48];
    double fairness = doc_median(p->rounds, "fairness");
    double cores = doc_median(p->rounds, "cores");
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
    case_add_bar(r, label, text, rate_of(p), tuned);
    json_array_append_new(r->points,
                          json_pack("{s:I, s:o, s:f, s:f, s:f, s:o, s:b}",
                                    "workers", (json_int_t)total(s, p), "split",
                                    split, "images_per_second", rate_of(p),
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
    if (json_array_size(s->splits[0].rounds))
        fill_side(s, &r->before, &s->splits[0]);
    r->unit = "batch";
    snprintf(r->before.what, sizeof(r->before.what), "%u loaders, %u workers",
             s->n, s->cores);
    snprintf(r->after.what, sizeof(r->after.what), "a tuner in each");
    r->chart = "images/s of all loaders by workers in each:";
    for (size_t i = 0; i < s->n_splits; i++)
        if (json_array_size(s->splits[i].rounds))
            add_point(s, &s->splits[i], false);
    json_object_set_new(r->more, "loaders", json_integer(s->n));
}

static void tell_words(struct over *s, double cpu, double tuned)
{
    struct case_result *r = s->out;
    double before = rate_of(&s->splits[0]);
    double own = doc_median(s->tuned.rounds, "cores") / s->cores;
    int n = snprintf(r->sentence, sizeof(r->sentence),
                     TOOL_COUNT ": the tuners use " TOOL_COUNT
                                " instead of %lld and load %+.1f %% images; "
                                "compared with the best split %+.1f %% per "
                                "second of CPU time.",
                     TOOL_COUNT_OF(s->cores, "core"),
                     TOOL_COUNT_OF(r->after.workers, "worker"),
                     (long long)r->before.workers,
                     100 * (rate_of(&s->tuned) / before - 1),
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
    double cpu = doc_median(best->rounds, "images_per_cpu_second");
    double tuned = doc_median(s->tuned.rounds, "images_per_cpu_second");
    fill_side(s, &r->after, &s->tuned);
    add_point(s, &s->tuned, true);
    r->bound_ms = step_ms(s, best);
    snprintf(r->bound_what, sizeof(r->bound_what), "the best static split");
    snprintf(r->goal.text, sizeof(r->goal.text),
             "Tuned against the best split");
    r->goal.value = case_median_ratio(s->tuned.rounds, best->rounds);
    r->goal.limit = GOAL;
    json_object_set_new(r->more, "best",
                        json_pack("{s:I, s:f}", "workers",
                                  (json_int_t)total(s, best),
                                  "images_per_second", rate_of(best)));
    json_object_set_new(r->more, "images_per_cpu_second",
                        json_pack("{s:f, s:f}", "best", cpu, "tuned", tuned));
    tell_words(s, cpu, tuned);
}

static void tell(struct over *s)
{
    tell_grid(s);
    if (json_array_size(s->winner.rounds) && json_array_size(s->tuned.rounds))
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
    s.winner.rounds = json_array();
    s.tuned.rounds = json_array();
    int rc = case_scene_photos(&s.scene);
    if (rc == TOOL_DONE)
        rc = search(&s);
    if (rc == TOOL_DONE)
        rc = measure_grid(&s);
    if (rc == TOOL_DONE)
        rc = measure_duel(&s);
    if (rc == TOOL_DONE || rc == TOOL_INTERRUPTED)
        tell(&s);
    for (size_t i = 0; i < s.n_splits; i++)
        json_decref(s.splits[i].rounds);
    json_decref(s.winner.rounds);
    json_decref(s.tuned.rounds);
    case_scene_close(&s.scene);
    return rc;
}
