/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that drives the tuner; see control.h.
 *
 * A tick holds the engine's run_lock from the reading to its consequences, so
 * the program cannot change a setting between the tuner's proposal and its
 * application. Callers that want numbers take only the control's own lock,
 * which is never held while a knob is turned, as starting threads and pinning
 * memory may take a while.
 */
#include "loader/tune/control.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/status.h"
#include "loader/tune/control_own.h"
#include "loader/tune/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TICK_NS      INT64_C(25000000)  /* while something is measured */
#define CALM_TICK_NS INT64_C(100000000) /* a block of the tuner */
#define COST_PART    200                /* of the time, at most one part */

/* ---- A tick -------------------------------------------------------------- */

/* Both locks are held. */
static void take_decisions_locked(struct fdl_control *c)
{
    fdl_decision_log_take(&c->log, c->tuner, fdl_control_tell_locked, c);
}

/* true: apply *want. */
static bool observe_locked(struct fdl_control *c, struct fdl_knobs *want)
{
    struct fdl_tuner_reading reading;
    int64_t now = fdl_now_ns();
    bool limits = fdl_control_limits_locked(c, now);
    fdl_control_read_locked(c, now, &reading);
    bool trying = fdl_control_decode_locked(c, &reading);
    fdl_lock(&c->lock);
    if (limits)
        fdl_tuner_set_limits(c->tuner, &c->limits);
    c->batches = reading.batches;
    bool wants = false;
    if (!trying) {
        fdl_control_job_hear_locked(c);
        fdl_tuner_observe(c->tuner, &reading);
        wants = fdl_tuner_propose(c->tuner, want);
    }
    /* In observe mode, reporting a decision is its outcome. */
    if (!wants || c->mode != FDL_TUNER_OBSERVE)
        take_decisions_locked(c);
    fdl_unlock(&c->lock);
    return wants;
}

static void say_in_force_locked(struct fdl_control *c)
{
    struct fdl_knobs knobs;
    fdl_engine_in_force(c->engine, &knobs);
    fdl_lock(&c->lock);
    fdl_tuner_applied(c->tuner, &knobs, c->mode == FDL_TUNER_OBSERVE);
    take_decisions_locked(c);
    fdl_unlock(&c->lock);
}

/* The time until the next tick. */
static int64_t tick(struct fdl_control *c)
{
    struct fdl_tuner_status status;
    struct fdl_knobs want;
    fdl_engine_lock(c->engine);
    if (observe_locked(c, &want)) {
        if (c->mode == FDL_TUNER_AUTO)
            fdl_engine_apply_locked(c->engine, &want);
        say_in_force_locked(c);
    }
    fdl_lock(&c->lock);
    fdl_tuner_get(c->tuner, &status);
    fdl_unlock(&c->lock);
    fdl_engine_unlock(c->engine);
    return status.state == FDL_TUNER_HOLD || status.state == FDL_TUNER_FROZEN
               ? CALM_TICK_NS
               : TICK_NS;
}

/* ---- The thread ---------------------------------------------------------- */

static bool is_stopping(const struct fdl_control *c)
{
    /* acquire: pairs with fdl_control_end, for the event's sake. */
    return atomic_load_explicit(&c->stopping, memory_order_acquire);
}

static void pause_for(struct fdl_control *c, int64_t ns)
{
    uint32_t key = fdl_event_prepare(&c->wake);
    if (is_stopping(c))
        fdl_event_cancel(&c->wake);
    else
        fdl_event_wait(&c->wake, key, ns);
}

static void *tune_main(void *arg)
{
    struct fdl_control *c = arg;
    int64_t before = fdl_thread_cpu_ns();
    while (!is_stopping(c)) {
        fdl_control_share(c);
        fdl_control_job(c);
        int64_t shared = fdl_thread_cpu_ns(); /* has its own interval */
        int64_t pause = tick(c);
        int64_t now = fdl_thread_cpu_ns();
        int64_t cost = FDL_MAX(now - shared, INT64_C(0));
        atomic_fetch_add_explicit(&c->cpu_ns, FDL_MAX(now - before, INT64_C(0)),
                                  memory_order_relaxed);
        before = now;
        atomic_fetch_add_explicit(&c->ticks, 1, memory_order_relaxed);
        pause_for(c, FDL_MAX(pause, FDL_MIN(cost * COST_PART, 1000 * TICK_NS)));
    }
    return NULL;
}

/* ---- Runs ---------------------------------------------------------------- */

static void make_tuner(struct fdl_control *c, const struct fdl_knobs *start)
{
    struct fdl_tuner *tuner = fdl_tuner_create(&c->limits, start, c->warm);
    if (!tuner)
        fdl_log(FDL_LOG_WARNING, "out of memory for the tuner; the settings "
                                 "stay as they are");
    fdl_lock(&c->lock);
    c->tuner = tuner;
    fdl_unlock(&c->lock);
}

/* The settings in force may be lower than when the last run ended. */
static void resume_tuner(struct fdl_control *c, const struct fdl_knobs *now)
{
    struct fdl_tuner_status status;
    fdl_lock(&c->lock);
    fdl_tuner_set_limits(c->tuner, &c->limits);
    fdl_tuner_get(c->tuner, &status);
    if (status.knobs.workers != now->workers ||
        status.knobs.depth != now->depth ||
        status.knobs.io_depth != now->io_depth)
        fdl_tuner_applied(c->tuner, now, false);
    take_decisions_locked(c);
    fdl_unlock(&c->lock);
}

void fdl_control_begin(struct fdl_control *c)
{
    struct fdl_knobs now;
    if (c->thread.running)
        return;
    fdl_engine_lock(c->engine);
    c->granted_ns = 0;
    fdl_control_limits_locked(c, fdl_now_ns());
    fdl_engine_in_force(c->engine, &now);
    fdl_lock(&c->lock);
    if (c->began.workers == 0) {
        c->began = now;
        c->began_cores = c->cores;
    }
    fdl_unlock(&c->lock);
    if (c->mode != FDL_TUNER_OFF && !c->tuner)
        make_tuner(c, &now);
    else if (c->tuner)
        resume_tuner(c, &now);
    fdl_engine_unlock(c->engine);
    if (!c->tuner)
        return;
    fdl_control_share_begin(c);
    atomic_store_explicit(&c->stopping, false, memory_order_relaxed);
    if (fdl_thread_start(&c->thread, "feedline-tune", tune_main, c) >= 0)
        return;
    fdl_log(FDL_LOG_WARNING, "%s; continuing without the tuner",
            fdl_last_error());
    fdl_clear_error();
}

void fdl_control_end(struct fdl_control *c)
{
    if (!c || !c->thread.running)
        return;
    /* release: pairs with is_stopping. */
    atomic_store_explicit(&c->stopping, true, memory_order_release);
    fdl_event_notify(&c->wake, UINT32_MAX);
    fdl_thread_join(&c->thread);
    fdl_engine_lock(c->engine);
    fdl_control_decode_pause_locked(c);
    fdl_lock(&c->lock);
    fdl_tuner_pause(c->tuner);
    take_decisions_locked(c);
    fdl_unlock(&c->lock);
    fdl_engine_unlock(c->engine);
}

/* ---- The program --------------------------------------------------------- */

bool fdl_control_is_on(const struct fdl_control *c)
{
    return c->mode != FDL_TUNER_OFF;
}

bool fdl_control_tunes(const struct fdl_control *c)
{
    bool all_given = fdl_engine_asked(c->engine, FDL_OPT_WORKERS) &&
                     fdl_engine_asked(c->engine, FDL_OPT_DEPTH) &&
                     fdl_engine_asked(c->engine, FDL_OPT_IO_DEPTH);
    return c->mode == FDL_TUNER_AUTO && !all_given;
}

void fdl_control_set_locked(struct fdl_control *c, enum fdl_knob knob,
                            int64_t before, int64_t after, bool given)
{
    struct fdl_books *books = &c->watch->books;
    struct fdl_knobs now;
    struct fdl_decision d = {
        .time_ns = fdl_now_ns(),
        .knob = knob,
        .before = before,
        .after = after,
        .reason = FDL_REASON_PROGRAM,
        .outcome = FDL_OUTCOME_RULE,
        .predicted = NAN,
        .measured = NAN,
        .error = NAN,
        .stall_before = NAN,
        .stall_after = NAN,
    };
    strcpy(d.why, given ? "set by the program"
                        : "handed to the tuner by the "
                          "program");
    fdl_lock(&books->lock);
    d.batch = books->past.batches + books->batches;
    fdl_unlock(&books->lock);
    if (fdl_consumer_runs(c->engine))
        fdl_control_limits_locked(c, d.time_ns);
    fdl_engine_in_force(c->engine, &now);
    fdl_lock(&c->lock);
    if (c->tuner) {
        take_decisions_locked(c);
        fdl_tuner_set_limits(c->tuner, &c->limits);
        fdl_tuner_applied(c->tuner, &now, false);
        fdl_decision_log_skip(&c->log, c->tuner);
    }
    fdl_decision_log_add(&c->log, &d);
    fdl_control_tell_locked(c, &d, false);
    fdl_unlock(&c->lock);
}

/* ---- What it did --------------------------------------------------------- */

bool fdl_control_find(struct fdl_control *c, uint64_t id,
                      struct fdl_decision *out)
{
    fdl_lock(&c->lock);
    const struct fdl_decision *d = fdl_decision_log_find(&c->log, id);
    if (d)
        *out = *d;
    fdl_unlock(&c->lock);
    return d != NULL;
}

bool fdl_control_decision(struct fdl_control *c, uint32_t index,
                          struct fdl_decision *out, int64_t *created_ns)
{
    fdl_lock(&c->lock);
    const struct fdl_decision *d =
        fdl_decision_log_find(&c->log, fdl_decision_log_first(&c->log) + index);
    if (d)
        *out = *d;
    fdl_unlock(&c->lock);
    *created_ns = c->created_ns;
    return d != NULL;
}

bool fdl_control_began(struct fdl_control *c, struct fdl_knobs *out,
                       double *cores)
{
    fdl_lock(&c->lock);
    *out = c->began;
    *cores = c->began_cores;
    fdl_unlock(&c->lock);
    return out->workers != 0;
}

uint64_t fdl_control_batches(struct fdl_control *c)
{
    fdl_lock(&c->lock);
    uint64_t batches = c->batches;
    fdl_unlock(&c->lock);
    return batches;
}

void fdl_control_cost(const struct fdl_control *c, int64_t *cpu_ns,
                      uint64_t *ticks)
{
    *cpu_ns = atomic_load_explicit(&c->cpu_ns, memory_order_relaxed);
    *ticks = atomic_load_explicit(&c->ticks, memory_order_relaxed);
}

/* ---- Its life ------------------------------------------------------------ */

int32_t fdl_control_create(struct fdl_engine *engine, struct fdl_watch *watch,
                           struct fdl_control **out)
{
    const struct fdl_options *o = fdl_engine_options(engine);
    int32_t status = fdl_control_check_bounds(o);
    if (status < 0)
        return status;
    struct fdl_control *c = calloc(1, sizeof(*c));
    if (!c)
        return fdl_fail_memory(sizeof(*c), "the tuner's thread");
    *out = c;
    c->engine = engine;
    c->watch = watch;
    c->created_ns = fdl_now_ns();
    c->local_world = fdl_options_local_world(o);
    c->share.looks = !fdl_options_world_is_given(o);
    c->share.page = UINT32_MAX;
    c->share.part = 1;
    c->mode = (enum fdl_tuner_mode)fdl_option_int(o, FDL_OPT_TUNER);
    fdl_event_init(&c->wake);
    fdl_lock_init(&c->lock, FDL_RANK_CONTROL);
    fdl_control_decode_begin(c);
    if (c->mode == FDL_TUNER_OFF)
        return FEEDLINE_OK;
    fdl_control_start_values(c, &c->start);
    c->warm = fdl_profile_start(c, &c->start);
    fdl_engine_start_with(engine, &c->start);
    return FEEDLINE_OK;
}

void fdl_control_destroy(struct fdl_control *c)
{
    if (!c)
        return;
    fdl_tuner_destroy(c->tuner);
    fdl_neighbours_forget(&c->share.neighbours);
    fdl_control_job_forget(c);
    fdl_lock_destroy(&c->lock);
    free(c->root);
    free(c);
}

void fdl_control_set_page(struct fdl_control *c, uint32_t number)
{
    c->share.page = number;
}

void fdl_control_set_root(struct fdl_control *c, const char *root)
{
    fdl_engine_lock(c->engine);
    fdl_lock(&c->lock);
    free(c->root);
    c->root = strdup(root);
    fdl_unlock(&c->lock);
    c->granted_ns = 0;
    fdl_engine_unlock(c->engine);
}
