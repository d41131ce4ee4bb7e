/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner in a loader: its modes, whose each knob is, what it tells and
 * where, the machine that changes under it, runs that end and begin, several
 * loaders, a fork.
 */
#include "control_rig.h"
#include "loader/loader.h"
#include "loader/report/live_gather.h"
#include "loader/stream/engine_own.h"
#include "loader/tune/control_own.h"

#include <feedline/traces.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define N                24
#define MS               INT64_C(1000000)
#define SLEEPY           "batch_size=4 tuner=auto workers_start=1 workers_max=8"
#define THREAD           "feedline-tune"
#define REGARDS(d, text) assert_non_null(strstr((d), (text)))

FIXTURE_IMAGES(N)

/* ---- What it found ------------------------------------------------------- */

static struct fdl_tuner_found found_by(const feedline_loader *l)
{
    struct fdl_tuner_found found;
    fdl_control_found(l->control, &found);
    return found;
}

TEST_WITH(it_owns_what_is_auto_and_only_if_it_acts, setup, teardown)
{
    feedline_loader *l = rig_sleepy(images.ds, MS, SLEEPY " depth=3");
    assert_false(found_by(l).owns[FDL_KNOB_WORKERS]);
    assert_string_equal(found_by(l).limited_by, "");
    fixture_pass(l, 4);
    assert_true(found_by(l).owns[FDL_KNOB_WORKERS]);
    assert_false(found_by(l).owns[FDL_KNOB_DEPTH]);
    feedline_loader_destroy(l);
    l = rig_sleepy(images.ds, MS, "batch_size=4 tuner=observe");
    fixture_pass(l, 4);
    assert_false(found_by(l).owns[FDL_KNOB_WORKERS]);
    feedline_loader_destroy(l);
}

/* ---- Modes --------------------------------------------------------------- */

TEST_WITH(off_is_off, setup, teardown)
{
    SCOPED_LOADER l =
        rig_sleepy(images.ds, MS, "batch_size=4 workers=2 tuner=off");
    fixture_pass(l, 20);
    assert_int_equal(rig_threads(THREAD), 0);
    struct feedline_tuner_info info = rig_info(l);
    assert_string_equal(info.mode, "off");
    assert_string_equal(info.state, "off");
    assert_int_equal(info.workers, 2);
    assert_int_equal(info.decisions, 0);
    char *text = rig_text(feedline_loader_explain, l);
    REGARDS(text, "The tuner is off");
    REGARDS(text, "Now: 2 workers");
    free(text);
    assert_error(feedline_loader_set_int(l, "workers", 0), FEEDLINE_ERANGE,
                 "tuner=off");
}

TEST_WITH(observe_does_nothing_and_says_what_it_would, setup, teardown)
{
    SCOPED_LOADER l =
        rig_sleepy(images.ds, 2 * MS,
                   "batch_size=4 tuner=observe workers_start=1 workers_max=8 "
                   "depth=4");
    struct feedline_decision d = rig_await(l, "workers", "proposed");
    assert_true(d.after > 1);
    assert_int_equal(d.before, 1);
    struct feedline_tuner_info info = rig_info(l);
    assert_string_equal(info.mode, "observe");
    assert_int_equal(info.workers, 1);
    assert_int_equal(info.depth, 4);
    assert_int_equal(rig_threads("feedline-dec-1"), 0);
}

/* One of 16 workers has the lock, and a few waiting ones are enough that it is
 * never free: the others go by rule, and it is said why. It is had so long that
 * waits for a core, on a machine with other work, are little beside it. */
TEST_WITH(a_lock_that_all_share_needs_few_workers, setup, teardown)
{
    SCOPED_LOADER l =
        rig_locked(images.ds, 8 * MS,
                   "batch_size=4 tuner=auto workers_start=16 workers_max=32 "
                   "local_world=1");
    struct feedline_decision d = rig_await(l, "workers", "rule");
    assert_string_equal(d.reason, "plan_down");
    assert_int_equal(d.before, 16);
    assert_in_range(d.after, 1, 10);
    REGARDS(d.why, "wait for a shared lock");
    while (!rig_info(l).converged)
        fixture_pass(l, 1);
    assert_in_range(rig_info(l).workers, 1, 10);
    assert_string_equal(rig_info(l).limited_by, "lock");
    char *text = rig_text(feedline_loader_explain, l);
    REGARDS(text, "a lock that all calls of a custom operation share");
    free(text);
}

/* As when another loader comes or goes. */
static void share_cores(feedline_loader *l, double cores)
{
    struct fdl_control *c = l->control;
    fdl_lock(&l->engine->run_lock);
    fdl_lock(&c->lock);
    struct fdl_tuner_limits limits = c->limits;
    limits.cores = cores;
    fdl_tuner_set_limits(c->tuner, &limits);
    fdl_unlock(&c->lock);
    fdl_unlock(&l->engine->run_lock);
}

/* The next decision about workers after each that was not kept is the way
 * back. */
static void assert_nothing_unjudged_stays(const feedline_loader *l)
{
    struct fdl_decision d;
    int64_t created_ns, back_to = 0;
    for (uint32_t i = 0; fdl_control_decision(l->control, i, &d, &created_ns);
         i++) {
        if (d.knob != FDL_KNOB_WORKERS)
            continue;
        if (back_to > 0)
            assert_int_equal(d.after, back_to);
        bool undone = d.outcome == FDL_OUTCOME_ABANDONED ||
                      d.outcome == FDL_OUTCOME_ROLLED_BACK;
        back_to = undone ? d.before : 0;
    }
}

static bool is_trying(const feedline_loader *l)
{
    return strcmp(rig_info(l).state, "trial") == 0;
}

TEST_WITH(a_mutex_of_its_own_is_not_climbed_unjudged, setup, teardown)
{
    SCOPED_LOADER l = rig_mutex(images.ds, MS,
                                "batch_size=4 tuner=auto workers_start=2 "
                                "workers_max=64 local_world=1");
    SCOPED_LOADER other = rig_sleepy(images.ds, MS, "batch_size=4 workers=1");
    for (uint32_t i = 0; i < 4; i++) {
        /* Where others leave no core nothing may be tried: then go on. */
        for (uint32_t n = 0; n < 1000 && !is_trying(l); n++)
            fixture_pass(l, 1);
        share_cores(l, i % 2 ? 4 : 3);
        fixture_pass(other, 2);
        fixture_pass(l, 20);
        assert_nothing_unjudged_stays(l);
    }
    fixture_pass(l, 200);
    assert_nothing_unjudged_stays(l);
}

TEST_WITH(what_is_given_leaves_nothing_to_tune, setup, teardown)
{
    SCOPED_LOADER l = rig_sleepy(
        images.ds, MS, "batch_size=4 workers=2 depth=3 io_depth=4 tuner=auto");
    fixture_pass(l, 40);
    char *text = rig_text(feedline_loader_explain, l);
    REGARDS(text, "every setting was given");
    assert_null(strstr(text, "Settled"));
    free(text);
}

/* Until it has settled and is fed: what it says then, which the caller frees,
 * and what it knew both before and after it said so. */
static char *await_fed(feedline_loader *l, struct feedline_tuner_info *info)
{
    for (;;) {
        fixture_pass(l, 1);
        usleep(5000);
        *info = rig_info(l);
        char *text = rig_text(feedline_loader_tuner_text, l);
        struct feedline_tuner_info after = rig_info(l);
        bool stays = info->decisions == after.decisions &&
                     info->planned_workers == after.planned_workers;
        if (stays && strstr(text, "Settled since") &&
            strstr(text, "consumer is fed"))
            return text;
        free(text);
    }
}

static bool fewer_were_tried(const feedline_loader *l)
{
    struct fdl_decision d;
    int64_t created_ns;
    for (uint32_t i = 0; fdl_control_decision(l->control, i, &d, &created_ns);
         i++)
        if (d.knob == FDL_KNOB_WORKERS && d.after < d.before)
            return true;
    return false;
}

/* Settled is long before fewer workers are tried. How many should do is
 * measured: on a busy machine it may be all of them. */
TEST_WITH(it_does_not_call_fewest_what_it_has_not_tried, setup, teardown)
{
    SCOPED_LOADER l = rig_sleepy(images.ds, MS / 100,
                                 "batch_size=4 workers_start=4 workers_max=4");
    struct feedline_tuner_info info;
    char *text = await_fed(l, &info), expected[64];
    uint32_t planned = info.planned_workers;
    if (strstr(text, "fewest")) {
        assert_true(planned == 0 || planned >= info.workers ||
                    fewer_were_tried(l));
    } else {
        snprintf(expected, sizeof(expected), "is fed. %u %s should do", planned,
                 planned == 1 ? "worker" : "workers");
        REGARDS(text, expected);
        assert_in_range(planned, 1, info.workers - 1);
    }
    free(text);
}

TEST_WITH(it_does_not_call_fewest_what_was_given, setup, teardown)
{
    SCOPED_LOADER l = rig_sleepy(images.ds, MS / 100, "batch_size=4 workers=4");
    struct feedline_tuner_info info;
    char *text = await_fed(l, &info);
    assert_null(strstr(text, "fewest"));
    assert_null(strstr(text, "should do"));
    free(text);
}

static void strip(char *json)
{
    for (char *p = json; *p; p++)
        *p = *p == '\n' ? ' ' : *p;
}

/* A worker more or less shows everywhere that somebody looks. */
TEST_WITH(what_it_does_is_told_everywhere, setup, teardown)
{
    feedline_loader *l = rig_sleepy(images.ds, 2 * MS, SLEEPY);
    struct feedline_decision d = rig_await(l, "workers", NULL);
    assert_true(d.after > d.before);
    assert_true(d.why[0] != '\0');
    assert_true(rig_info(l).workers >= 1);
    rig_await(l, NULL, "kept"); /* and judged */

    char *json = rig_text(feedline_loader_tuner_json, l);
    REGARDS(json, "\"mode\":\"auto\"");
    REGARDS(json, "\"knob\":\"workers\",\"before\":1,");
    REGARDS(json, "\"outcome\":\"kept\"");
    free(json);

    char *text = rig_text(feedline_loader_explain, l);
    REGARDS(text, "It began with 1 worker, ");
    REGARDS(text, ": workers 1 -> ");
    REGARDS(text, "Kept.");
    free(text);

    struct feedline_live_stats *live = calloc(1, sizeof(*live));
    assert_non_null(live);
    fdl_live_gather(&l->sources, live);
    assert_true(live->n_decisions > 0);
    bool made = false;
    for (uint32_t i = 0; i < live->n_decisions; i++)
        made = made || strstr(live->decisions[i], " -> ");
    assert_true(made);
    free(live);

    char path[128];
    snprintf(path, sizeof(path), "%s/decisions.json", images.folder);
    assert_ok(feedline_loader_trace_save(l, path));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *trace = calloc(1, 1 << 24);
    assert_non_null(trace);
    assert_true(fread(trace, 1, (1 << 24) - 1, f) > 0);
    fclose(f);
    REGARDS(trace,
            "\"cat\":\"tuner\",\"name\":\"workers\",\"args\":{\"value\":");
    REGARDS(trace, "\"outcome\":\"kept\",\"measured\":");
    free(trace);
    unlink(path);

    uint64_t needed;
    char *stats = malloc(1 << 20);
    assert_non_null(stats);
    assert_ok(feedline_loader_stats_json(l, stats, 1 << 20, &needed));
    strip(stats);
    REGARDS(stats, "\"tuner\":{\"mode\":\"auto\"");
    free(stats);
    feedline_loader_destroy(l);
}

TEST_WITH(the_last_decisions_are_kept_in_words, setup, teardown)
{
    enum { MORE = 3 };
    char lines[FEEDLINE_LIVE_DECISIONS][128], want[128];
    SCOPED_LOADER l = rig_sleepy(images.ds, 0, "workers=1");
    assert_int_equal(fdl_control_lines(l->control, lines), 0);
    for (int n = 2; n < 2 + FEEDLINE_LIVE_DECISIONS + MORE; n++)
        assert_ok(feedline_loader_set_int(l, "workers", n));
    assert_int_equal(fdl_control_lines(l->control, lines),
                     FEEDLINE_LIVE_DECISIONS);
    for (int i = 0; i < FEEDLINE_LIVE_DECISIONS; i++) {
        snprintf(want, sizeof(want), "workers %d -> %d (set by the program)",
                 1 + MORE + i, 2 + MORE + i);
        assert_string_equal(lines[i], want);
    }
}

TEST_WITH(asking_is_checked, setup, teardown)
{
    uint64_t needed;
    struct feedline_tuner_info info = {0};
    struct feedline_decision d = {.struct_size = sizeof(d)};
    SCOPED_LOADER l = rig_sleepy(images.ds, 0, "tuner=auto");
    assert_int_equal(feedline_loader_get_tuner(NULL, &info), FEEDLINE_EINVAL);
    assert_int_equal(feedline_loader_get_tuner(l, NULL), FEEDLINE_EINVAL);
    assert_int_equal(feedline_loader_get_tuner(l, &info), FEEDLINE_EINVAL);
    assert_int_equal(feedline_loader_get_decision(l, 0, &d), FEEDLINE_END);
    assert_int_equal(feedline_loader_get_decision(l, UINT32_MAX, &d),
                     FEEDLINE_END);
    assert_int_equal(feedline_loader_tuner_json(l, NULL, 0, NULL),
                     FEEDLINE_EINVAL);
    assert_int_equal(feedline_loader_explain(NULL, NULL, 0, &needed),
                     FEEDLINE_EINVAL);
    assert_int_equal(feedline_loader_save_profile(l, NULL), FEEDLINE_EINVAL);

    char small[8];
    assert_int_equal(feedline_loader_explain(l, small, sizeof(small), &needed),
                     FEEDLINE_ERANGE);
    assert_true(needed > sizeof(small));
    char *text = rig_text(feedline_loader_explain, l);
    REGARDS(text, "No batch has been requested yet.");
    free(text);
}

/* ---- Whose knob ---------------------------------------------------------- */

TEST_WITH(numbers_are_the_users, setup, teardown)
{
    SCOPED_LOADER l =
        rig_sleepy(images.ds, MS, "batch_size=4 tuner=auto workers=2 depth=3");
    fixture_pass(l, 300);
    struct fdl_tuner_limits limits = rig_limits(l);
    assert_int_equal(limits.workers_min, 2);
    assert_int_equal(limits.workers_max, 2);
    assert_int_equal(limits.depth_min, 3);
    assert_int_equal(limits.depth_max, 3);
    struct feedline_tuner_info info = rig_info(l);
    assert_int_equal(info.workers, 2);
    assert_int_equal(info.depth, 3);
}

static void refuses(const char *options, const char *words)
{
    assert_null(fixture_loader(images.ds, options));
    REGARDS(feedline_last_error(), words);
}

TEST_WITH(bounds_that_contradict_are_refused, setup, teardown)
{
    refuses("workers_min=4 workers_max=2", "workers_min=4 is above");
    refuses("workers_start=9 workers_max=8", "workers_start=9 is not between");
    refuses("workers_start=1 workers_min=2", "workers_start=1 is not between");
    refuses("batch_size=24 memory_budget=4096", "memory_budget=4096");
    SCOPED_LOADER l = fixture_open(
        images.ds, "workers_min=2 workers_start=3 workers_max=4 depth_max=5");
    fixture_pass(l, 1);
    struct fdl_tuner_limits limits = rig_limits(l);
    assert_int_equal(limits.workers_min, 2);
    assert_int_equal(limits.workers_max, 4);
    assert_int_equal(limits.depth_max, 5);
    assert_int_equal(l->control->began.workers, 3);
}

TEST_WITH(a_tight_budget_bounds_the_depth, setup, teardown)
{
    /* 8 images of 32 x 32 x 3 bytes and what goes with them: four batches. */
    feedline_loader *l = fixture_open(images.ds, "batch_size=8 tuner=auto");
    uint64_t batch = l->engine->ring->kind.layout.bytes;
    feedline_loader_destroy(l);
    char options[96];
    snprintf(options, sizeof(options),
             "batch_size=8 tuner=auto memory_budget=%llu",
             (unsigned long long)(4 * batch));
    l = fixture_open(images.ds, options);
    fixture_pass(l, 50);
    assert_int_equal(rig_limits(l).depth_max, 2);
    assert_true(rig_info(l).depth <= 2);
    assert_int_equal(rig_info(l).memory_budget, 4 * batch);
    feedline_loader_destroy(l);
}

TEST_WITH(the_program_takes_a_knob_and_hands_it_back, setup, teardown)
{
    int64_t value;
    struct feedline_decision d = {.struct_size = sizeof(d)};
    SCOPED_LOADER l = rig_sleepy(images.ds, 2 * MS, SLEEPY);
    fixture_pass(l, 4);
    uint64_t before = rig_info(l).decisions;
    assert_ok(feedline_loader_set_int(l, "workers", 3));
    assert_int_equal(rig_limits(l).workers_min, 3);
    assert_int_equal(rig_limits(l).workers_max, 3);
    assert_true(rig_info(l).decisions > before);
    for (uint32_t i = 0; feedline_loader_get_decision(l, i, &d) == FEEDLINE_OK;
         i++) {
        if (strcmp(d.reason, "program") == 0)
            break;
    }
    assert_string_equal(d.reason, "program");
    assert_string_equal(d.knob, "workers");
    assert_int_equal(d.after, 3);
    assert_string_equal(d.why, "set by the program");
    assert_true(d.predicted != d.predicted);

    fixture_pass(l, 60); /* it stays the program's */
    assert_ok(feedline_loader_get_int(l, "workers", &value));
    assert_int_equal(value, 3);

    assert_ok(feedline_loader_set_int(l, "workers", 0));
    assert_int_equal(rig_limits(l).workers_min, 1);
    assert_int_equal(rig_limits(l).workers_max, 8);
    assert_int_equal(rig_info(l).workers, 3); /* from there on */
    while (rig_info(l).workers == 3)          /* and it is tuned again */
        fixture_pass(l, 1);
}

TEST_WITH(a_knob_can_be_set_before_the_first_run, setup, teardown)
{
    SCOPED_LOADER l = rig_sleepy(images.ds, MS, SLEEPY);
    assert_ok(feedline_loader_set_int(l, "workers", 5));
    assert_ok(feedline_loader_set_int(l, "depth", 3));
    fixture_pass(l, 20);
    struct feedline_tuner_info info = rig_info(l);
    assert_int_equal(info.workers, 5);
    assert_int_equal(info.depth, 3);
    assert_int_equal(rig_limits(l).workers_min, 5);
}

TEST_WITH(only_the_last_decisions_are_kept, setup, teardown)
{
    struct feedline_decision d = {.struct_size = sizeof(d)};
    SCOPED_LOADER l = rig_sleepy(images.ds, 0, "tuner=off workers=1");
    for (int64_t i = 0; i < 300; i++)
        assert_ok(feedline_loader_set_int(l, "workers", 1 + i % 2));
    assert_int_equal(rig_info(l).decisions, 300);
    assert_ok(feedline_loader_get_decision(l, 0, &d));
    assert_int_equal(d.id, 300 - FDL_DECISIONS_KEPT);
    assert_ok(feedline_loader_get_decision(l, FDL_DECISIONS_KEPT - 1, &d));
    assert_int_equal(d.id, 299);
    assert_int_equal(d.before, 1);
    assert_int_equal(d.after, 2);
    assert_int_equal(feedline_loader_get_decision(l, FDL_DECISIONS_KEPT, &d),
                     FEEDLINE_END);
}

/* ---- The machine --------------------------------------------------------- */

TEST_WITH(a_quota_that_changes_is_noticed, setup, teardown)
{
    char root[128];
    rig_machine(&images, "max 100000\n");
    snprintf(root, sizeof(root), "%s/machine", images.folder);
    SCOPED_LOADER l = rig_sleepy(
        images.ds, MS, "batch_size=4 tuner=auto workers_start=1 local_world=2");
    fdl_control_set_root(l->control, root);
    fixture_pass(l, 1);
    while (rig_limits(l).cores != 4.0) /* of two processes */
        fixture_pass(l, 1);
    assert_int_equal(rig_limits(l).workers_max, 4 * 32);
    rig_put(&images, "/sys/fs/cgroup/cpu.max", "300000 100000\n");
    while (rig_limits(l).cores != 1.5)
        fixture_pass(l, 1);
    assert_int_equal(rig_limits(l).workers_max, 2 * 32);
}

TEST_WITH(the_machine_is_shared_by_a_world, setup, teardown)
{
    feedline_loader *l = fixture_open(images.ds, "local_world=3");
    assert_int_equal(fdl_options_local_world(&l->engine->options), 3);
    uint64_t third = rig_info(l).memory_budget;
    feedline_loader_destroy(l);

    setenv("LOCAL_WORLD_SIZE", "4", 1);
    l = fixture_open(images.ds, "");
    assert_int_equal(fdl_options_local_world(&l->engine->options), 4);
    uint64_t quarter = rig_info(l).memory_budget;
    assert_true(third / 4 == quarter / 3 || third / 4 == quarter / 3 + 1);
    feedline_loader_destroy(l);
    static const char *const nonsense[] = {"", "x", "4x", "-1", "0"};
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        setenv("LOCAL_WORLD_SIZE", nonsense[i], 1);
        l = fixture_open(images.ds, "");
        assert_int_equal(fdl_options_local_world(&l->engine->options), 1);
        feedline_loader_destroy(l);
    }
    unsetenv("LOCAL_WORLD_SIZE");
}

/* ---- Readings ------------------------------------------------------------ */

static struct fdl_tuner_reading reading_of(feedline_loader *l)
{
    struct fdl_tuner_reading r;
    fdl_lock(&l->engine->run_lock);
    fdl_control_read_locked(l->control, fdl_now_ns(), &r);
    fdl_unlock(&l->engine->run_lock);
    return r;
}

/* No tuner: the test reads instead of its thread. */
TEST_WITH(a_reset_of_the_statistics_is_not_seen, setup, teardown)
{
    SCOPED_LOADER l = rig_sleepy(images.ds, MS / 4, "tuner=off batch_size=4");
    struct fdl_tuner_reading before = {0};
    for (uint32_t i = 1; i <= 12; i++) {
        fixture_pass(l, 3);
        if (i % 4 == 0)
            assert_ok(feedline_loader_reset_stats(l));
        struct fdl_tuner_reading now = reading_of(l);
        assert_int_equal(now.batches, 3 * i);
        assert_true(now.samples >= 12 * (uint64_t)i);
        assert_true(now.user_ns >= before.user_ns);
        assert_true(now.wait_ns >= before.wait_ns);
        assert_true(now.api_ns > before.api_ns);
        assert_true(now.work_ns >= before.work_ns);
        assert_true(now.cpu_ns >= before.cpu_ns);
        assert_true(now.runq_ns == -1 || now.runq_ns >= before.runq_ns);
        assert_true(now.wait_fetch_ns + now.wait_transfer_ns <= now.wait_ns);
        before = now;
    }
    assert_true(before.work_ns > 0);
    assert_true(before.cpu_ns > 0);
    assert_int_equal(before.batch_size, 4);
    assert_true(before.memory_bytes > 0);
}

TEST_WITH(who_is_away_is_seen, setup, teardown)
{
    SCOPED_LOADER l = rig_sleepy(images.ds, 0, "tuner=off batch_size=4");
    fixture_pass(l, 2);
    int64_t returned = l->watch.books.returned_ns;
    usleep(2000);
    int64_t least = fdl_now_ns() - returned;
    assert_true(reading_of(l).away_ns >= least);
}

TEST_WITH(a_tail_is_of_recent_values, setup, teardown)
{
    struct fdl_recent *r = calloc(1, sizeof(*r));
    struct fdl_histogram *h = calloc(1, sizeof(*h));
    assert_true(r && h);
    for (uint32_t i = 0; i < 100; i++)
        fdl_histogram_add(h, 1000000);
    fdl_recent_add(r, h, 100, 0.99);
    assert_true(r->tail >= 1000000);
    for (uint32_t i = 0; i < 300; i++) {
        fdl_histogram_add(h, 1000);
        fdl_recent_add(r, h, 100, 0.99);
    }
    assert_true(r->tail >= 1000 && r->tail < 1100);
    memset(h, 0, sizeof(*h)); /* it begins anew */
    fdl_recent_add(r, h, 100, 0.99);
    for (uint32_t i = 0; i < 99; i++) {
        fdl_histogram_add(h, 7);
        fdl_recent_add(r, h, 100, 0.99);
        assert_true(r->tail >= 1000); /* too few to go by */
    }
    fdl_histogram_add(h, 7);
    fdl_recent_add(r, h, 100, 0.99);
    assert_int_equal(r->tail, 7);
    free(h);
    free(r);
}

/* ---- Runs ---------------------------------------------------------------- */

TEST_WITH(what_was_learned_stays_between_runs, setup, teardown)
{
    feedline_loader *l = rig_sleepy(images.ds, 2 * MS, SLEEPY);
    rig_await(l, "workers", NULL);
    rig_await_threads(THREAD, 1);
    assert_ok(feedline_loader_stop(l));
    rig_await_threads(THREAD, 0);
    struct feedline_tuner_info before = rig_info(l);
    assert_true(before.decisions > 0);
    for (uint64_t epoch = 3; epoch < 6; epoch++) {
        assert_ok(feedline_loader_start(l, epoch));
        rig_await_threads(THREAD, 1);
        fixture_pass(l, 3);
        assert_true(rig_info(l).decisions >= before.decisions);
        assert_ok(feedline_loader_stop(l));
    }
    feedline_loader_destroy(l);
    rig_await_threads(THREAD, 0);
}

TEST_WITH(its_own_cost_is_known, setup, teardown)
{
    int64_t cpu_ns;
    uint64_t ticks = 0;
    SCOPED_LOADER l = rig_sleepy(images.ds, MS, SLEEPY);
    while (ticks < 3) {
        fixture_pass(l, 1);
        fdl_control_cost(l->control, &cpu_ns, &ticks);
    }
    assert_true(cpu_ns > 0);
}

TEST_WITH(who_stays_away_is_waited_for, setup, teardown)
{
    SCOPED_LOADER l = rig_sleepy(images.ds, MS, SLEEPY);
    rig_await(l, NULL, NULL);
    while (strcmp(rig_info(l).state, "frozen") != 0)
        usleep(1000);
    uint64_t decisions = rig_info(l).decisions;
    usleep(50000); /* some ticks */
    assert_int_equal(rig_info(l).decisions, decisions);
    while (strcmp(rig_info(l).state, "frozen") == 0)
        fixture_pass(l, 1);
}

/* ---- Several, and a child ------------------------------------------------ */

static void *consume(void *arg)
{
    fixture_pass(arg, 200);
    return NULL;
}

TEST_WITH(several_loaders_have_one_each, setup, teardown)
{
    feedline_loader *l[3];
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        l[i] = rig_sleepy(images.ds, MS / 2, SLEEPY);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&t[i], NULL, consume, l[i]), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    rig_await_threads(THREAD, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(rig_info(l[i]).mode, "auto");
        feedline_loader_destroy(l[i]);
    }
    rig_await_threads(THREAD, 0);
}

static int child(feedline_loader *l)
{
    struct feedline_tuner_info info = {.struct_size = sizeof(info)};
    uint64_t needed;
    if (feedline_loader_get_tuner(l, &info) != FEEDLINE_EFORK ||
        feedline_loader_explain(l, NULL, 0, &needed) != FEEDLINE_EFORK)
        return 1;
    feedline_loader_destroy(l);
    return rig_threads(THREAD) == 0 ? 0 : 2;
}

TEST_WITH(a_child_leaves_it_alone, setup, teardown)
{
    int status;
    feedline_loader *l = rig_sleepy(images.ds, MS, SLEEPY);
    fixture_pass(l, 10);
    pid_t pid = fork();
    if (pid == 0)
        _exit(child(l));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    fixture_pass(l, 10);
    rig_await_threads(THREAD, 1);
    feedline_loader_destroy(l);
}

TEST_MAIN("control")
