/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner's story for people: where it began, what was tried and what came of
 * it, where it stands, what holds it there, and what could be done about that.
 */
#include "base/compiler.h"
#include "base/terms.h"
#include "loader/report/evidence.h"
#include "loader/report/explain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of a story; the newest are told where there were more. */
#define TOLD_MOST 64u

/* ---- The beginning ------------------------------------------------------- */

static void add_setting(struct fdl_text *t, const struct fdl_knobs *k)
{
    fdl_text_add(t, "%u %s, %u %s ahead", k->workers,
                 k->workers == 1 ? "worker" : "workers", k->depth,
                 k->depth == 1 ? "batch" : "batches");
    if (k->io_depth)
        fdl_text_add(t, ", %u %s at once", k->io_depth,
                     k->io_depth == 1 ? "read" : "reads");
}

static void add_beginning(struct fdl_text *t, struct fdl_control *c,
                          const struct feedline_tuner_info *now)
{
    struct fdl_knobs began;
    double granted;
    if (strcmp(now->mode, "off") == 0)
        fdl_text_add(t, "The tuner is off: settings stay as given.\n");
    else if (strcmp(now->mode, "observe") == 0)
        fdl_text_add(t, "The tuner only observes: it proposes and changes "
                        "nothing.\n");
    if (now->profile[0])
        fdl_text_add(t, "Profile: %s.\n", now->profile);
    if (!fdl_control_began(c, &began, &granted)) {
        fdl_text_add(t, "No batch has been requested yet.\n");
        return;
    }
    fdl_text_add(t, "It began with ");
    add_setting(t, &began);
    fdl_text_add(t, ". ");
    if (granted > 0)
        fdl_text_add(t, "%.3g %s granted to this loader and its consumer.",
                     granted, granted == 1 ? "core is" : "cores are");
    fdl_text_add(t, "\n");
}

/* ---- What was tried ------------------------------------------------------ */

static void add_stall(struct fdl_text *t, const struct fdl_decision *d)
{
    if (isfinite(d->stall_before) && isfinite(d->stall_after))
        fdl_text_add(t, ", waiting %.1f %% -> %.1f %% of the time",
                     100 * d->stall_before, 100 * d->stall_after);
}

static void add_effect(struct fdl_text *t, const struct fdl_decision *d)
{
    if (isfinite(d->predicted))
        fdl_text_add(t, " Expected: %+.1f %% batches per second.",
                     100 * d->predicted);
    if (!isfinite(d->measured))
        return;
    fdl_text_add(t, " Measured: %+.1f %%", 100 * d->measured);
    if (isfinite(d->error))
        fdl_text_add(t, " (+- %.1f)", 100 * d->error);
    add_stall(t, d);
    fdl_text_add(t, ".");
}

static const char *outcome_words(enum fdl_decision_outcome outcome)
{
    switch (outcome) {
    case FDL_OUTCOME_PENDING:
        return " Still being measured.";
    case FDL_OUTCOME_KEPT:
        return " Kept.";
    case FDL_OUTCOME_ROLLED_BACK:
        return " Undone.";
    case FDL_OUTCOME_PROPOSED:
        return " Proposed only.";
    case FDL_OUTCOME_ABANDONED:
        return " Undone: conditions changed before it could be judged.";
    default:
        return "";
    }
}

static void add_decision(struct fdl_text *t, const struct fdl_decision *d,
                         int64_t created_ns)
{
    fdl_text_add(
        t, "- After %.1f s, batch %" PRIu64 ": %s %" PRId64 " -> %" PRId64 ".",
        (double)FDL_MAX(d->time_ns - created_ns, INT64_C(0)) / 1e9, d->batch,
        fdl_knob_name(d->knob), d->before, d->after);
    if (d->why[0])
        fdl_text_add(t, " %c%s.",
                     d->why[0] >= 'a' && d->why[0] <= 'z' ? d->why[0] - 32
                                                          : d->why[0],
                     d->why + 1);
    add_effect(t, d);
    fdl_text_add(t, "%s\n", outcome_words(d->outcome));
}

static void add_decisions(struct fdl_text *t, struct fdl_control *c)
{
    struct fdl_decision d;
    int64_t created_ns;
    uint32_t n = 0;
    while (fdl_control_decision(c, n, &d, &created_ns))
        n++;
    uint32_t first = n > TOLD_MOST ? n - TOLD_MOST : 0;
    if (n == 0)
        fdl_text_add(t, "Nothing was changed.\n");
    else if (first > 0)
        fdl_text_add(t, "The last %u of %u changes:\n", n - first, n);
    for (uint32_t i = first; i < n; i++)
        if (fdl_control_decision(c, i, &d, &created_ns))
            add_decision(t, &d, created_ns);
}

/* ---- Where it stands ----------------------------------------------------- */

static void add_term(struct fdl_text *t, const char *before,
                     const struct fdl_engine *e, const char *option,
                     const char *after)
{
    fdl_text_add(t, "%s%s%s", before, fdl_term(fdl_engine_terms(e), option).at,
                 after);
}

/* There are no more workers than these: who says so? */
static void add_bound(struct fdl_text *t, const struct fdl_engine *e)
{
    const struct fdl_terms *terms = fdl_engine_terms(e);
    if (fdl_engine_asked(e, FDL_OPT_WORKERS) != 0) {
        fdl_text_add(t,
                     "The number of workers was given. Raise it, or leave it "
                     "to the tuner with %s.\n",
                     fdl_term_set(terms, "workers", "auto").at);
    } else if (fdl_option_int(fdl_engine_options(e), FDL_OPT_WORKERS_MAX) !=
               0) {
        add_term(t, "More workers are not allowed by ", e, "workers_max",
                 ". Raise it.\n");
    } else {
        add_term(t,
                 "It has reached its own limit of 32 workers per core; raise ",
                 e, "workers_max", " to allow more.\n");
    }
}

static void add_flat(struct fdl_text *t, struct fdl_control *c)
{
    struct fdl_tuner_found f;
    fdl_control_found(c, &f);
    if (f.more_workers.judged && !f.more_workers.kept)
        fdl_text_add(t, "%u workers delivered no more than %u (%+.1f %%): ",
                     f.more_workers.after, f.more_workers.before,
                     100 * f.more_workers.gain);
    fdl_text_add(t, "the workers wait for something they share, such as a lock "
                    "inside a custom operation, a service or memory.\n");
}

static const char *limit_words(const char *by)
{
    static const char *const words[][2] = {
        {"cores",
         "The workers use all the cores this loader has; more of them would "
         "only take turns. Give the process more cores, use quality=fast or a "
         "smaller output, let the device finish batches (finish=device), or "
         "run fewer loaders here."},
        {"others",
         "Other processes hold the cores; more workers would only take cores "
         "from them. Run fewer jobs on this machine at once."},
        {"lock",
         "Workers wait for a lock that all calls of a custom operation share, "
         "such as the interpreter's. Use one of this library's operations "
         "instead, or calls on whole arrays that release the lock (NumPy, "
         "OpenCV, C)."},
        {"memory",
         "A memory budget is used up. Raise memory_budget or, on a GPU, "
         "device_memory_budget, lower batch_size, or use dtype=u8."},
        {"storage",
         "Storage sets the pace: more reads at once bring no more. Use faster "
         "storage, or reader=memory if the files fit into memory."},
        {"transfer",
         "Copies to the device set the pace. finish=device or dtype=u8 send "
         "fewer bytes."},
        {"device",
         "What the device decodes sets the pace; more workers would not help. "
         "decode=auto measures whether they had better decode themselves."},
    };
    for (uint32_t i = 0; i < FDL_COUNT_OF(words); i++)
        if (strcmp(by, words[i][0]) == 0)
            return words[i][1];
    return "";
}

static void add_limit(struct fdl_text *t, const struct fdl_sources *from,
                      const char *by)
{
    if (strcmp(by, "bound") == 0)
        add_bound(t, from->engine);
    else if (strcmp(by, "scaling") == 0)
        add_flat(t, from->control);
    else
        fdl_text_add(t, "%s\n", limit_words(by));
}

static void add_speed(struct fdl_text *t, const struct feedline_tuner_info *n)
{
    if (!(n->batches_per_second > 0))
        return;
    fdl_text_add(t,
                 "%.4g batches per second; %s %.2f %% of the time for "
                 "data, the target is %.3g %%.\n",
                 n->batches_per_second,
                 n->on_device ? "the device waits" : "the consumer waits",
                 100 * n->stall, 100 * n->target);
    if (n->sample_ns > 0)
        fdl_text_add(t,
                     "A sample costs a worker %.3g ms, %.0f %% of it on a "
                     "core; the consumer spends %.3g ms on a batch.\n",
                     n->sample_ns / 1e6, 100 * n->cpu_share, n->step_ns / 1e6);
}

static void add_share(struct fdl_text *t, struct fdl_control *c)
{
    double granted, cores;
    uint32_t others;
    fdl_control_shared(c, &granted, &cores, &others);
    if (others)
        fdl_text_add(t,
                     "%.3g %s granted, shared with %u other %s: %.2g for this "
                     "loader and its consumer.\n",
                     granted, granted > 1 ? "cores are" : "core is", others,
                     others == 1 ? "loader" : "loaders", cores);
}

static void add_job(struct fdl_text *t, struct fdl_control *c)
{
    struct fdl_tuner_job j;
    fdl_control_heard(c, &j);
    if (j.ranks > 1)
        fdl_text_add(t,
                     "The tuners of %u ranks of its job tell each other what "
                     "they know: together they wait for data %.3g %% of the "
                     "time.\n",
                     j.ranks, 100 * j.stall);
}

/* It may change something at all. */
static bool has_a_knob(struct fdl_control *c,
                       const struct feedline_tuner_info *n)
{
    struct fdl_tuner_found f;
    fdl_control_found(c, &f);
    bool any = strcmp(n->mode, "auto") != 0; /* it proposes */
    for (uint32_t i = 0; i < FDL_KNOBS; i++)
        any |= f.owns[i];
    return any;
}

static void add_state(struct fdl_text *t, const struct feedline_tuner_info *n)
{
    if (n->converged)
        fdl_text_add(t,
                     "Settled since batch %" PRIu64 ", %.1f s after it "
                     "began.\n",
                     n->converged_batch, (double)n->converged_ns / 1e9);
    else if (strcmp(n->state, "frozen") == 0)
        fdl_text_add(t, "The consumer is away; the tuner waits for it.\n");
    else if (strcmp(n->state, "warmup") == 0)
        fdl_text_add(t, "It has seen too few batches to decide anything.\n");
    else
        fdl_text_add(t, "It is still measuring.\n");
}

/* A trial of so few workers or fewer was judged, and undone. */
static bool were_too_few(struct fdl_control *c, int64_t workers)
{
    struct fdl_decision d;
    int64_t created_ns;
    for (uint32_t i = 0; fdl_control_decision(c, i, &d, &created_ns); i++)
        if (d.knob == FDL_KNOB_WORKERS && d.before > d.after &&
            d.after >= workers && d.outcome == FDL_OUTCOME_ROLLED_BACK)
            return true;
    return false;
}

/* Fewer workers are tried last, after many steps: a loader that is fed has
 * settled before. */
static void add_fed(struct fdl_text *t, struct fdl_control *c,
                    const struct feedline_tuner_info *n)
{
    struct fdl_tuner_found f;
    fdl_control_found(c, &f);
    uint32_t planned = n->planned_workers;
    if (!n->converged || !f.owns[FDL_KNOB_WORKERS])
        fdl_text_add(t, "The consumer is fed.\n");
    else if (planned == 0 || planned >= n->workers || were_too_few(c, planned))
        fdl_text_add(t, "The consumer is fed, with the fewest workers found "
                        "to do it.\n");
    else
        fdl_text_add(t,
                     "The consumer is fed. %u %s should do: the tuner tries "
                     "that when it has seen enough steps.\n",
                     planned, planned == 1 ? "worker" : "workers");
}

static void add_verdict(struct fdl_text *t, const struct fdl_sources *from,
                        const struct feedline_tuner_info *n)
{
    bool fed = n->batches_per_second > 0 && n->stall <= n->target;
    if (!has_a_knob(from->control, n)) {
        fdl_text_add(t, "Nothing is left to the tuner: every setting was "
                        "given.\n");
        return;
    }
    add_state(t, n);
    if (fed)
        add_fed(t, from->control, n);
    else if (n->limited_by[0] && fdl_evidence_agrees(from, n->limited_by))
        add_limit(t, from, n->limited_by);
    else if (n->converged)
        fdl_text_add(t, "The consumer still waits; the verdict says for "
                        "what.\n");
}

void fdl_tuner_explain(const struct fdl_sources *from, struct fdl_text *t)
{
    struct feedline_tuner_info n;
    fdl_control_info(from->control, &n);
    add_beginning(t, from->control, &n);
    add_decisions(t, from->control);
    struct fdl_knobs now = {n.workers, n.depth, n.io_depth};
    fdl_text_add(t, "Now: ");
    add_setting(t, &now);
    fdl_text_add(t, n.finish ? ", finished on the device.\n" : ".\n");
    if (strcmp(n.mode, "off") == 0)
        return;
    add_share(t, from->control);
    add_job(t, from->control);
    add_speed(t, &n);
    add_verdict(t, from, &n);
}
