/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes decisions to the trace, the live page and the log. */
#include "base/clock.h"
#include "base/log.h"
#include "loader/loader.h"
#include "loader/tune/control_own.h"
#include "loader/watch/notes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *outcome_words(enum fdl_decision_outcome outcome)
{
    switch (outcome) {
    case FDL_OUTCOME_KEPT:
        return "kept";
    case FDL_OUTCOME_ROLLED_BACK:
        return "undone";
    case FDL_OUTCOME_PROPOSED:
        return "proposed only";
    case FDL_OUTCOME_ABANDONED:
        return "undone, not judged";
    default:
        return "done";
    }
}

static void judged_line(const struct fdl_decision *d, char *line, size_t size)
{
    char effect[64] = "";
    if (isfinite(d->measured) && isfinite(d->error))
        snprintf(effect, sizeof(effect), ": %+.1f %% (+- %.1f)",
                 100 * d->measured, 100 * d->error);
    else if (isfinite(d->measured))
        snprintf(effect, sizeof(effect), ": %+.1f %%", 100 * d->measured);
    snprintf(line, size, "%s %" PRId64 " -> %" PRId64 " %s%s",
             fdl_knob_name(d->knob), d->before, d->after,
             outcome_words(d->outcome), effect);
}

static void made_line(const struct fdl_decision *d, char *line, size_t size)
{
    snprintf(line, size, "%s %" PRId64 " -> %" PRId64 " (%s%s)",
             fdl_knob_name(d->knob), d->before, d->after,
             d->outcome == FDL_OUTCOME_PROPOSED ? "proposed: " : "", d->why);
}

void fdl_control_tell_locked(void *control, const struct fdl_decision *d,
                             bool judged)
{
    struct fdl_control *c = control;
    feedline_loader *l = c->loader;
    char line[FDL_DECISION_WHY_BYTES + 96];
    if (judged)
        judged_line(d, line, sizeof(line));
    else
        made_line(d, line, sizeof(line));
    fdl_notes_decided_locked(&l->watch, d->id, judged);
    fdl_decisions_say(&l->exports.decisions, line);
    fdl_log(FDL_LOG_INFO, "tuner: %s", line);
}
