/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tuner's story for people: where it began, what was tried and what came of
 * it, where it stands, what holds it there, and what could be done about that.
 */
#include "base/compiler.h"
#include "loader/control.h"
#include "loader/engine.h"

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
    if (k->finish_device)
        fdl_text_add(t, ", finished on the device");
}

static void add_beginning(struct fdl_text *t, const feedline_loader *l,
                          const struct feedline_tuner_info *now)
{
    struct fdl_knobs began;
    double granted;
    if (strcmp(now->mode, "off") == 0)
        fdl_text_add(t, "The tuner is off: settings stay as they are given.\n");
    else if (strcmp(now->mode, "observe") == 0)
        fdl_text_add(t, "The tuner only observes: it says what it would do, "
                        "and does nothing.\n");
    if (now->profile[0])
        fdl_text_add(t, "Profile: %s.\n", now->profile);
    if (!fdl_control_began(l, &began, &granted)) {
        fdl_text_add(t, "No batch was asked for yet.\n");
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
        return " It is being measured.";
    case FDL_OUTCOME_KEPT:
        return " Kept.";
    case FDL_OUTCOME_ROLLED_BACK:
        return " Taken back.";
    case FDL_OUTCOME_PROPOSED:
        return " Proposed, not done.";
    case FDL_OUTCOME_ABANDONED:
        return " Something else changed before it could be judged.";
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

static void add_decisions(struct fdl_text *t, const feedline_loader *l)
{
    struct fdl_decision d;
    int64_t created_ns;
    uint32_t n = 0;
    while (fdl_control_decision(l, n, &d, &created_ns))
        n++;
    uint32_t first = n > TOLD_MOST ? n - TOLD_MOST : 0;
    if (n == 0)
        fdl_text_add(t, "Nothing was changed.\n");
    else if (first > 0)
        fdl_text_add(t, "The last %u of %u changes:\n", n - first, n);
    for (uint32_t i = first; i < n; i++)
        if (fdl_control_decision(l, i, &d, &created_ns))
            add_decision(t, &d, created_ns);
}

/* ---- Where it stands ----------------------------------------------------- */

/* There are no more workers than these: who says so? */
static const char *bound_words(const feedline_loader *l)
{
    if (fdl_loader_asked(l, FDL_OPT_WORKERS) != 0)
        return "The number of workers was given. Give more, or workers=auto.";
    if (fdl_option_int(&l->options, FDL_OPT_WORKERS_MAX) != 0)
        return "workers_max holds it. Raise it, or give workers_max=auto.";
    return "It has all the workers that it takes by itself, 32 for each core. "
           "Set workers_max to let it have more.";
}

/* Why it is not fed, and what to do. */
static const char *limit_words(const feedline_loader *l, const char *by)
{
    static const char *const words[][2] = {
        {"cores",
         "The cores are used up; more workers would only take turns. Give "
         "this process more cores, use quality=fast or a smaller output, let "
         "the device finish batches (finish=device), or run fewer loaders "
         "here."},
        {"lock",
         "Workers wait for a lock that all calls of a custom operation share, "
         "an interpreter's; more workers would only wait for it, too. Use an "
         "operation of this library in its place, or code that lets go of the "
         "lock."},
        {"memory",
         "The memory budget is used up. Raise memory_budget, or lower "
         "batch_size, or use dtype=u8."},
        {"storage",
         "Reads are what it waits for. Use faster storage, or reader=memory "
         "if the files fit into memory."},
        {"transfer",
         "Copies to the device are what it waits for. Use finish=device or "
         "dtype=u8, which send fewer bytes."},
    };
    if (strcmp(by, "bound") == 0)
        return bound_words(l);
    for (uint32_t i = 0; i < FDL_COUNT_OF(words); i++)
        if (strcmp(by, words[i][0]) == 0)
            return words[i][1];
    return "";
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
                     "A sample takes a worker %.3g ms, %.0f %% of it on a "
                     "core; a batch takes the consumer %.3g ms.\n",
                     n->sample_ns / 1e6, 100 * n->cpu_share, n->step_ns / 1e6);
}

static void add_share(struct fdl_text *t, const feedline_loader *l)
{
    double granted, cores;
    uint32_t others;
    fdl_control_shared(l, &granted, &cores, &others);
    if (others)
        fdl_text_add(t,
                     "%.3g %s granted, shared with %u other %s: %.2g for this "
                     "one and its consumer.\n",
                     granted, granted > 1 ? "cores are" : "core is", others,
                     others == 1 ? "loader" : "loaders", cores);
}

static void add_state(struct fdl_text *t, const struct feedline_tuner_info *n,
                      bool fed)
{
    if (n->converged)
        fdl_text_add(t,
                     "Since batch %" PRIu64 ", %.1f s after it began, nothing "
                     "%s.\n",
                     n->converged_batch, (double)n->converged_ns / 1e9,
                     fed ? "is left to be improved"
                         : "was found that would help");
    else if (strcmp(n->state, "frozen") == 0)
        fdl_text_add(t, "The consumer is away; the tuner waits for it.\n");
    else
        fdl_text_add(t, "It is still looking (%s).\n", n->state);
}

static void add_verdict(struct fdl_text *t, const feedline_loader *l,
                        const struct feedline_tuner_info *n)
{
    bool fed = n->batches_per_second > 0 && n->stall <= n->target;
    add_state(t, n, fed);
    if (fed && n->converged)
        fdl_text_add(t, "It is fed, with the fewest workers that were found "
                        "to do.\n");
    else if (fed)
        fdl_text_add(t, "It is fed.\n");
    else if (n->limited_by[0])
        fdl_text_add(t, "%s\n", limit_words(l, n->limited_by));
    else if (n->converged)
        fdl_text_add(t, "It is not fed all the same: the verdict of the "
                        "statistics says what it waits for.\n");
}

void fdl_tuner_explain(const feedline_loader *l, struct fdl_text *t)
{
    struct feedline_tuner_info n;
    fdl_control_info(l, &n);
    add_beginning(t, l, &n);
    add_decisions(t, l);
    struct fdl_knobs now = {n.workers, n.depth, n.io_depth, n.finish != 0};
    fdl_text_add(t, "Now: ");
    add_setting(t, &now);
    fdl_text_add(t, ".\n");
    if (strcmp(n.mode, "off") == 0)
        return;
    add_share(t, l);
    add_speed(t, &n);
    add_verdict(t, l, &n);
}
