/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that gives advice, judged together over a grid of causes: where
 * the workers' time went times what the waits were for times who else is there
 * times what the tuner may do and has seen. At each point verdicts, head-room
 * and the limit that the tuner names must not contradict each other, and what
 * has most of the time must be said first.
 */
#include "profiler/verdict/advice.h"
#include "profiler/verdict/headroom.h"
#include "verdict_rows.h"

#include <math.h>

#define WALL (100 * SEC)

/* Where the time of the workers went, in per cent. */
struct split {
    const char *name;
    int cpu, runq, throttle, sleep;
    bool locked;      /* asleep: for a lock that is told */
    const char *lead; /* codes that may come first, if preparing leads */
};

static const struct split splits[] = {
    {"computes", 95, 3, 0, 2, false,
     "PREP_BOUND_TUNABLE PREP_BOUND_CPU_SATURATED LARGE_IMAGES FOREIGN_CPU"},
    {"sleeps", 3, 2, 0, 95, false, "PREP_BOUND_TUNABLE LOCK_BOUND"},
    {"sleeps beside neighbours", 2, 15, 0, 83, false,
     "PREP_BOUND_TUNABLE LOCK_BOUND"},
    {"queues", 8, 90, 0, 2, false, "OVERSUBSCRIBED FOREIGN_CPU"},
    {"queues and sleeps", 10, 50, 0, 40, false, "OVERSUBSCRIBED FOREIGN_CPU"},
    {"is throttled", 40, 5, 50, 5, false, "CPU_THROTTLED"},
    {"is throttled a little and sleeps", 8, 2, 10, 80, false,
     "PREP_BOUND_TUNABLE LOCK_BOUND"},
    {"waits for a lock", 25, 5, 0, 70, true, "LOCK_BOUND"},
    {"is not known", 0, 0, 0, 0, false,
     "PREP_BOUND_TUNABLE PREP_BOUND_CPU_SATURATED LARGE_IMAGES FOREIGN_CPU"},
};

static const struct waits {
    const char *name;
    int prep, fetch, queued, wake, slot; /* per cent of wall */
} waits[] = {
    {"fed", 0, 0, 0, 0, 0},
    {"prep", 40, 0, 0, 0, 0},
    {"fetch", 2, 40, 0, 0, 0},
    {"fetch queue", 2, 0, 40, 0, 0},
    {"prep and fetch", 25, 20, 0, 0, 0},
    {"prep and wake", 25, 0, 0, 15, 0},
    {"fetch and slot", 0, 20, 0, 0, 15},
    {"a little prep", 3, 0, 0, 0, 0},
};

static const struct company {
    const char *name;
    double outside, foreign, quota;
    int throttled; /* per cent of wall */
} companies[] = {
    {"alone", NONE, NONE, 0, 0},
    {"neighbours", 1.8, NONE, 0, 0},
    {"foreign threads", NONE, 1.5, 0, 0},
    {"a quota", NONE, NONE, 0.6, 50},
    {"a quota and neighbours", 1.2, NONE, 0.6, 20},
};

static const struct tuner {
    const char *name;
    bool tuning, automatic;
    uint32_t tried; /* times the workers */
    double gain;
} tuners[] = {
    {"off", false, false, 0, 0},
    {"given", true, false, 0, 0},
    {"auto", true, true, 0, 0},
    {"auto, tried in vain", true, true, 3, 0.01},
    {"auto, tried and gained", true, true, 3, 0.8},
};

static const uint32_t workers_of[] = {1, 2, 3, 8, 64};
static const enum fdl_interface interfaces[] = {FDL_INTERFACE_FEEDLINE,
                                                FDL_INTERFACE_TORCH};

struct point {
    const struct split *split;
    const struct waits *waits;
    const struct company *company;
    const struct tuner *tuner;
    uint32_t workers;
    bool large, flat, gaps;
    enum fdl_interface interface;
};

static int64_t part(int64_t of, int percent)
{
    return of / 100 * percent;
}

static void set_workers(const struct point *p, struct fdl_evidence *e)
{
    const struct split *s = p->split;
    int64_t busy = part(WALL, 90) * p->workers;
    e->workers = p->workers;
    e->cpus_usable = p->company->quota > 0 ? 1 : 2;
    e->worker_blocked_ns = p->waits->prep ? 0 : part(WALL, 30) * p->workers;
    if (s->cpu == 0)
        return;
    e->worker_busy_ns = busy;
    e->worker_cpu_ns = part(busy, s->cpu);
    e->worker_runq_ns = part(busy, s->runq);
    e->worker_throttle_ns = part(busy, s->throttle);
    e->worker_sleep_ns = part(busy, s->sleep);
    e->op = (struct fdl_costly_op){"python (`step`)", part(busy, 88),
                                   part(busy, s->cpu / 2), 64000};
    if (s->locked)
        e->lock = (struct fdl_shared_lock){.name = "python (`step`)",
                                           .wall_ns = part(busy, 90),
                                           .cpu_ns = part(busy, 20),
                                           .wait_ns = part(busy, 68),
                                           .calls = 64000,
                                           .waits = 60000};
}

static void set_company(const struct point *p, struct fdl_evidence *e)
{
    const struct company *c = p->company;
    e->outside_cores = c->outside;
    e->foreign_cores = c->foreign;
    e->cpu_quota = c->quota;
    e->throttled_ns = part(WALL, c->throttled);
    if (p->split->throttle && !c->throttled)
        e->throttled_ns = part(WALL, p->split->throttle * 6 / 5);
}

static void set_reads(const struct point *p, struct fdl_evidence *e)
{
    e->io_depth = 16;
    e->mean_file_bytes = p->large ? 4e6 : 106 * 1024;
    e->reads_under_way = 12;
    if (p->flat) {
        e->rate_by_depth = 0.01;
        e->latency_by_depth = 0.9;
    }
    if (p->large) {
        e->source_pixels = 12e6;
        e->output_pixels = 50176;
    }
}

static struct fdl_evidence evidence_of(const struct point *p)
{
    const struct waits *w = p->waits;
    struct fdl_evidence e = {
        RUN,
        .user_ns = WALL / 2,
        .depth = 4,
        .tuning = p->tuner->tuning,
        .workers_auto = p->tuner->automatic,
        .depth_auto = p->tuner->automatic,
        .io_auto = p->tuner->automatic,
        .tried_workers = p->tuner->tried * p->workers,
        .tried_gain = p->tuner->gain,
        .workers_max = 64,
        .gaps = p->gaps ? 10 : 0,
        .gap_ns = p->gaps ? part(WALL, 30) : 0,
        .terms = fdl_terms_of(p->interface),
        .ledger = {.ns = {[FDL_BUCKET_PREP] = part(WALL, w->prep),
                          [FDL_BUCKET_FETCH] = part(WALL, w->fetch),
                          [FDL_BUCKET_FETCH_QUEUE] = part(WALL, w->queued),
                          [FDL_BUCKET_SLOT] = part(WALL, w->slot),
                          [FDL_BUCKET_WAKE] = part(WALL, w->wake)}},
    };
    set_workers(p, &e);
    set_company(p, &e);
    set_reads(p, &e);
    return e;
}

/* ---- What must hold ----------------------------------------------------- */

static const struct point *now; /* for messages */
static const char *said;        /* all verdicts of it */

static void must(bool holds, const char *what)
{
    if (!holds)
        fail_msg("%s: %u workers, a worker %s, waits: %s, company: %s, tuner: "
                 "%s%s%s%s\n%s",
                 what, now->workers, now->split->name, now->waits->name,
                 now->company->name, now->tuner->name,
                 now->large ? ", large images" : "", now->flat ? ", flat" : "",
                 now->gaps ? ", gaps" : "", said);
}

static bool says(const struct fdl_verdict *v, const char *words)
{
    return strstr(v->action, words) != NULL;
}

/* The moves of a verdict are what its words say. */
static void check_words(const struct fdl_verdict *v)
{
    bool more = says(v, "se more workers"), fewer = says(v, "ewer workers: ");
    must(more == (v->moves.workers > 0), "words and moves: more workers");
    must(fewer == (v->moves.workers < 0), "words and moves: fewer workers");
    must((v->workers_to > 0) == (v->moves.workers != 0), "a number");
    must(says(v, "torch_") == 0, "no option of that name");
}

static void check_number(const struct point *p, const struct fdl_verdict *v)
{
    if (v->moves.workers == 0)
        return;
    must(v->workers_to >= 1 && v->workers_to <= 64, "workers in bounds");
    must((v->workers_to > p->workers) == (v->moves.workers > 0),
         "the number is on the side that the words say");
}

static void check_promise(const struct point *p, const struct fdl_verdict *v)
{
    if (!says(v, "The tuner does that"))
        return;
    must(p->tuner->tuning && p->tuner->automatic, "promised, and not auto");
    must(!(v->moves.workers > 0 && p->tuner->gain < 0.05 && p->tuner->tried),
         "promised, and tried in vain");
}

static void check_terms(const struct point *p, const struct fdl_verdict *v)
{
    bool torch = p->interface == FDL_INTERFACE_TORCH;
    if (v->moves.workers)
        must(says(v, torch ? "num_workers=" : "(workers="), "terms");
    if (torch)
        must(!says(v, " depth") && !says(v, "(workers="), "terms of torch");
}

/* What it holds up the cores with is in one direction only. */
static void check_pair(const struct fdl_verdict *a, const struct fdl_verdict *b)
{
    must(a->moves.workers * b->moves.workers >= 0, "workers up and down");
    must(a->moves.depth * b->moves.depth >= 0, "depth up and down");
    must(a->moves.io_depth * b->moves.io_depth >= 0, "I/O depth up and down");
    must(strcmp(a->code, b->code) != 0, "a code twice");
    must(!(strncmp(a->code, "FED", 3) == 0 && b->share > 0),
         "fed, and a cause");
}

static bool names(const char *list, const char *code)
{
    const char *at = strstr(list, code);
    size_t n = strlen(code);
    return at && (at[n] == ' ' || at[n] == '\0');
}

/* What has most of the time comes first. */
static void check_first(const struct point *p, const struct fdl_verdict *v)
{
    const struct waits *w = p->waits;
    bool prep = w->prep > w->fetch + w->queued + w->wake + w->slot;
    bool quota = p->company->throttled > 0 &&
                 p->company->throttled >= w->prep; /* of the program too */
    if (!prep || w->prep < 10 || p->gaps || quota)
        return;
    /* A quota beside what the workers' own split says of it. */
    if (p->company->quota > 0 && strcmp(v->code, "CPU_THROTTLED") == 0)
        return;
    must(names(p->split->lead, v->code), "the largest part is first");
}

static void check_headroom(const struct point *p, const struct fdl_evidence *e,
                           const struct fdl_advice *a)
{
    struct fdl_headroom h;
    fdl_headroom_judge(e, &h);
    must(h.two_workers >= 0 && h.two_workers <= h.fed + 1e-9, "head-room");
    if (a->moves.workers < 0)
        must(h.two_workers == 0, "head-room of more, advice of fewer");
    if (p->split->runq == 90 || (p->split->cpu == 95 && p->workers >= 2))
        must(h.two_workers == 0, "head-room that no core is free for");
    if (p->tuner->tried && p->tuner->gain < 0.05)
        must(h.two_workers == 0, "head-room that the tuner did not find");
}

static void check_tuner(const struct fdl_advice *a)
{
    if (fdl_advice_agrees(a, "bound"))
        must(a->moves.workers > 0, "\"give more\" against the verdict");
    if (fdl_advice_agrees(a, "cores"))
        must(a->moves.workers <= 0 && strcmp(a->part, "fetch") != 0,
             "\"the cores are used up\" against the verdict");
    if (fdl_advice_agrees(a, "storage"))
        must(strcmp(a->part, "fetch") == 0, "\"reads\" against the verdict");
    must(!fdl_advice_agrees(a, "") && !fdl_advice_agrees(a, "more"),
         "no limit agrees with nothing");
}

static void check_point(const struct point *p)
{
    static char text[4096];
    struct fdl_verdict v[FDL_VERDICTS_MAX];
    struct fdl_evidence e = evidence_of(p);
    struct fdl_advice a;
    uint32_t n = judge_rows(&e, v);
    now = p;
    said = text;
    text[0] = '\0';
    for (uint32_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "%s: %s\n    %s\n", v[i].code, v[i].sentence, v[i].action);
    for (uint32_t i = 0; i < n; i++) {
        check_words(&v[i]);
        check_number(p, &v[i]);
        check_promise(p, &v[i]);
        check_terms(p, &v[i]);
        for (uint32_t k = 0; k < i; k++)
            check_pair(&v[k], &v[i]);
    }
    fdl_advice_of(v, n, &a);
    must(strcmp(a.code, v[0].code) == 0, "advice of the first");
    check_first(p, &v[0]);
    check_headroom(p, &e, &a);
    check_tuner(&a);
}

/* Nobody uses more cores than there are. */
static bool is_possible(const struct point *p)
{
    return 0.9 * p->workers * p->split->cpu / 100 <=
           (p->company->quota > 0 ? 1 : 2);
}

static unsigned points;

static void grid_of(struct point *p)
{
    if (!is_possible(p))
        return;
    for (int k = 0; k < 16; k++) {
        p->large = k & 1;
        p->flat = k & 2;
        p->gaps = k & 4;
        p->interface = interfaces[k >> 3];
        check_point(p);
        points++;
    }
}

TEST(no_two_contradict)
{
    struct point p;
    for (size_t s = 0; s < FDL_COUNT_OF(splits); s++)
        for (size_t w = 0; w < FDL_COUNT_OF(waits); w++)
            for (size_t c = 0; c < FDL_COUNT_OF(companies); c++)
                for (size_t t = 0; t < FDL_COUNT_OF(tuners); t++)
                    for (size_t k = 0; k < FDL_COUNT_OF(workers_of); k++) {
                        p = (struct point){.split = &splits[s],
                                           .waits = &waits[w],
                                           .company = &companies[c],
                                           .tuner = &tuners[t],
                                           .workers = workers_of[k]};
                        grid_of(&p);
                    }
    print_message("%u points\n", points);
    assert_true(points > 10000);
}

/* ---- The words of single cases ------------------------------------------ */

static struct point a_point(void)
{
    return (struct point){.split = &splits[2],
                          .waits = &waits[1],
                          .company = &companies[1],
                          .tuner = &tuners[1],
                          .workers = 2,
                          .interface = FDL_INTERFACE_TORCH};
}

/* Two workers that sleep, 15 % of the time without a core. */
TEST(sleep_beside_neighbours_is_sleep)
{
    const struct fdl_verdict *v;
    struct point p = a_point();
    struct fdl_evidence e = evidence_of(&p);
    v = first_is("PREP_BOUND_TUNABLE", &e);
    assert_non_null(strstr(v[0].sentence, "slept or waited for 83 %"));
    assert_non_null(strstr(v[0].sentence, "\"python (`step`)\": "));
    assert_non_null(strstr(v[0].action, "num_workers="));
    assert_non_null(strstr(v[0].action, "With num_workers=\"auto\" the tuner"));
}

/* The consumer needs six of them, not the hundred that would fill the cores. */
TEST(workers_as_the_consumer_needs_them)
{
    struct fdl_verdict v[FDL_VERDICTS_MAX];
    struct point p = a_point();
    struct fdl_evidence e = evidence_of(&p);
    e.worker_busy_ns = 200 * SEC;
    e.worker_cpu_ns = 4 * SEC;
    e.worker_runq_ns = 0;
    e.worker_sleep_ns = 196 * SEC;
    e.median_step_ns = 40000000; /* 200 ms of work for each step */
    judge_rows(&e, v);
    assert_true(v[0].workers_to == 6);
    e.median_step_ns = 1000;
    judge_rows(&e, v);
    assert_true(v[0].workers_to == 50); /* then as many as find cores */
    e.workers_max = 16;
    judge_rows(&e, v);
    assert_true(v[0].workers_to == 16);
}

/* Seven workers got no more done than two. */
TEST(what_does_not_scale_is_a_lock)
{
    const struct fdl_verdict *v;
    struct point p = a_point();
    p.split = &splits[1];
    p.tuner = &tuners[3];
    struct fdl_evidence e = evidence_of(&p);
    v = first_is("LOCK_BOUND", &e);
    assert_non_null(strstr(v[0].sentence, "does not scale: 6 workers got 1.0"));
    assert_int_equal(v[0].moves.workers, 0);
    assert_true(v[0].predicted_gain == 0);
}

/* A trial that still goes on tells of a lock once a gain is out of its range.
 */
TEST(a_trial_under_way_tells_of_a_lock)
{
    const struct fdl_verdict *v;
    struct point p = a_point();
    p.split = &splits[1];
    p.tuner = &tuners[2];
    struct fdl_evidence e = evidence_of(&p);
    e.trying = true;
    e.tried_from = 1;
    e.tried_workers = e.workers;
    e.tried_gain = 0.01;
    e.tried_error = 0.01;
    v = first_is("LOCK_BOUND", &e);
    assert_non_null(strstr(v[0].sentence, "2 workers got 1.0 % more done than "
                                          "1"));
    assert_int_equal(v[0].moves.workers, 0);
    e.tried_error = 0.10; /* may yet be a gain */
    first_is("PREP_BOUND_TUNABLE", &e);
    e.tried_predicted = 2; /* but not this one */
    first_is("LOCK_BOUND", &e);
}

/* Three workers on two cores do not hide a neighbour. */
TEST(neighbours_are_named_whatever_the_workers)
{
    for (size_t i = 0; i < FDL_COUNT_OF(workers_of); i++) {
        const struct fdl_verdict *v;
        struct point p = a_point();
        p.split = &splits[3];
        p.workers = workers_of[i];
        struct fdl_evidence e = evidence_of(&p);
        e.worker_cpu_ns = SEC * 20; /* the neighbour has the rest */
        v = first_is("OVERSUBSCRIBED", &e);
        assert_non_null(strstr(v[0].sentence, "other processes used 1.8"));
        assert_non_null(strstr(v[0].action, "Other jobs on this machine"));
    }
}

/* The quota stops the consumer's thread too: that is no pause of its own. */
TEST(a_quota_is_no_pause_of_the_program)
{
    const struct fdl_verdict *v;
    struct point p = a_point();
    p.company = &companies[3];
    p.split = &splits[5];
    p.gaps = true;
    struct fdl_evidence e = evidence_of(&p);
    e.gap_ns = 69 * SEC;
    e.gap_throttled_ns = 65 * SEC;
    v = first_is("CPU_THROTTLED", &e);
    assert_non_null(strstr(v[0].sentence, "0.6 usable cores"));
    e.gap_throttled_ns = 0;
    first_is("CONSUMER_HOST_BOUND", &e);
}

/* 106 KiB are no small files: 20 ms a read, two at once. */
TEST(reads_that_take_long_want_more_of_them)
{
    const struct fdl_verdict *v;
    struct point p = a_point();
    p.waits = &waits[2];
    struct fdl_evidence e = evidence_of(&p);
    e.io_depth = 2;
    e.reads_under_way = 2;
    e.read_p50_us = 20100;
    e.read_fixed_ns = 20e6;
    e.read_byte_ns = 0.5;
    e.read_rate_now = 10e6;
    v = first_is("FETCH_LATENCY_BOUND", &e);
    assert_non_null(strstr(v[0].action, "Raise options[\"io_depth\"]"));
    assert_non_null(strstr(v[0].sentence, "a read takes 20 ms, 2 at a time"));
}

/* One server of 5 MB/s: a read waits for those ahead. */
TEST(a_limit_on_bytes_is_told_as_one)
{
    const struct fdl_verdict *v;
    struct point p = a_point();
    p.waits = &waits[2];
    struct fdl_evidence e = evidence_of(&p);
    e.read_ahead_ns = 200;
    e.read_rate_now = 5e6;
    v = first_is("FETCH_BW_BOUND", &e);
    assert_non_null(strstr(v[0].sentence, "the storage gives 5.0 MB/s"));
    assert_non_null(strstr(v[0].action, "reader=\"memory\""));
    assert_int_equal(v[0].moves.io_depth, 0);
    e.read_byte_ns = 200; /* and for its own bytes */
    first_is("FETCH_BW_BOUND", &e);
    e.read_byte_ns = 20; /* it waits for reads, whatever their bytes */
    first_is("FETCH_LATENCY_BOUND", &e);
    e.read_byte_ns = 2400; /* a rate for each read: more of them get more */
    e.read_ahead_ns = 20;
    first_is("FETCH_LATENCY_BOUND", &e);
    e.read_ahead_ns = 200;
    e.reads_under_way = 1; /* it waits for none */
    first_is("FETCH_LATENCY_BOUND", &e);
}

/* Twelve megapixels for 224 x 224, and neighbours. */
TEST(images_far_too_large_are_named)
{
    struct fdl_verdict v[FDL_VERDICTS_MAX];
    struct point p = a_point();
    struct fdl_evidence e;
    p.large = true;
    p.split = &splits[3];
    e = evidence_of(&p);
    assert_true(judge_rows(&e, v) >= 2);
    assert_string_equal(v[0].code, "OVERSUBSCRIBED");
    assert_string_equal(v[1].code, "LARGE_IMAGES");
    assert_non_null(strstr(v[1].sentence, "12.0 megapixels, 239 times"));
    assert_non_null(strstr(v[1].action, "quality=\"fast\""));
    p.company = &companies[0];
    p.split = &splits[0];
    e = evidence_of(&p);
    judge_rows(&e, v);
    assert_string_equal(v[0].code, "LARGE_IMAGES");
}

/* Every batch is the first of its epoch: none of them is slow to start. */
TEST(short_epochs_do_not_start_slowly)
{
    struct point p = a_point();
    struct fdl_evidence e = evidence_of(&p);
    e.epoch_edge_ns = SEC;
    e.epoch_edges = 40;
    e.median_step_ns = 52000;
    e.epoch_batches = 4;
    first_is("PREP_BOUND_TUNABLE", &e);
    e.epoch_batches = 25;
    e.usual_wait_ns = 1000000;
    first_is("SLOW_START", &e);
    e.usual_wait_ns = 400000000; /* as other batches wait, too */
    first_is("PREP_BOUND_TUNABLE", &e);
}

/* There are no fewer workers than one. */
TEST(one_worker_is_not_told_to_go)
{
    const struct fdl_verdict *v;
    struct fdl_evidence e = {RUN,
                             .workers = 1,
                             .cpus_usable = 2,
                             .user_ns = 90 * SEC,
                             .interference = 1.25,
                             .interference_sigma = 9,
                             .tuning = true,
                             .workers_auto = true};
    v = first_is("INTERFERENCE", &e);
    assert_null(strstr(v[0].action, "fewer"));
    assert_int_equal(v[0].tuner, 0);
}

TEST_MAIN("verdict_joint")
