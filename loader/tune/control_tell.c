/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes decisions to the trace, the live page and the log. */
#include "base/compiler.h"
#include "base/log.h"
#include "loader/tune/control_own.h"
#include "loader/watch/watcher.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

static void keep_line(struct fdl_told *told, const char *line)
{
    char *place = told->lines[told->n++ % FEEDLINE_LIVE_DECISIONS];
    snprintf(place, sizeof(told->lines[0]), "%.127s", line);
}

void fdl_control_tell_locked(void *control, const struct fdl_decision *d,
                             bool judged)
{
    struct fdl_control *c = control;
    char line[FDL_DECISION_WHY_BYTES + 96];
    if (judged)
        judged_line(d, line, sizeof(line));
    else
        made_line(d, line, sizeof(line));
    fdl_watch_decided_locked(c->watch, d->id, judged);
    keep_line(&c->told, line);
    fdl_log(FDL_LOG_INFO, "tuner: %s", line);
}

uint32_t fdl_control_lines(struct fdl_control *c,
                           char out[FEEDLINE_LIVE_DECISIONS][128])
{
    const struct fdl_told *told = &c->told;
    fdl_lock(&c->lock);
    uint64_t n = FDL_MIN(told->n, FEEDLINE_LIVE_DECISIONS);
    for (uint64_t i = 0; i < n; i++)
        memcpy(out[i], told->lines[(told->n - n + i) % FEEDLINE_LIVE_DECISIONS],
               sizeof(out[i]));
    fdl_unlock(&c->lock);
    return (uint32_t)n;
}
