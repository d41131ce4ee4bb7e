/* SPDX-License-Identifier: Apache-2.0 */
/* The diary of a loader's settings; see decision_log.h. */
#include "loader/tune/decision_log.h"

#include "base/compiler.h"

#include <stddef.h>

static struct fdl_logged_decision *place(struct fdl_decision_log *log,
                                         uint64_t id)
{
    return &log->kept[id % FDL_DECISIONS_KEPT];
}

uint64_t fdl_decision_log_first(const struct fdl_decision_log *log)
{
    return log->n > FDL_DECISIONS_KEPT ? log->n - FDL_DECISIONS_KEPT : 0;
}

const struct fdl_decision *fdl_decision_log_find(
    const struct fdl_decision_log *log, uint64_t id)
{
    if (id >= log->n || id < fdl_decision_log_first(log))
        return NULL;
    return &log->kept[id % FDL_DECISIONS_KEPT].d;
}

static void append(struct fdl_decision_log *log, struct fdl_decision *d,
                   uint64_t tuner_id)
{
    d->id = log->n++;
    *place(log, d->id) = (struct fdl_logged_decision){*d, tuner_id};
}

void fdl_decision_log_add(struct fdl_decision_log *log, struct fdl_decision *d)
{
    append(log, d, UINT64_MAX);
}

/* Those that were pending: what has become of them? */
static void look_again(struct fdl_decision_log *log,
                       const struct fdl_tuner *tuner, fdl_decision_told *tell,
                       void *user)
{
    bool open = false;
    uint64_t id = FDL_MAX(log->pending, fdl_decision_log_first(log));
    for (log->pending = id; id < log->n; id++) {
        struct fdl_logged_decision *p = place(log, id);
        struct fdl_decision now;
        if (p->tuner_id != UINT64_MAX && p->d.outcome == FDL_OUTCOME_PENDING &&
            fdl_tuner_decision(tuner, p->tuner_id, &now) &&
            now.outcome != FDL_OUTCOME_PENDING) {
            now.id = id;
            p->d = now;
            tell(user, &p->d, true);
        }
        open = open || (p->tuner_id != UINT64_MAX &&
                        p->d.outcome == FDL_OUTCOME_PENDING);
        if (!open)
            log->pending = id + 1;
    }
}

void fdl_decision_log_take(struct fdl_decision_log *log,
                           const struct fdl_tuner *tuner,
                           fdl_decision_told *tell, void *user)
{
    struct fdl_tuner_status status;
    struct fdl_decision d;
    look_again(log, tuner, tell, user);
    fdl_tuner_get(tuner, &status);
    for (; log->taken < status.decisions; log->taken++) {
        if (!fdl_tuner_decision(tuner, log->taken, &d))
            continue; /* more came at once than the tuner keeps */
        append(log, &d, log->taken);
        tell(user, &d, false);
    }
}

void fdl_decision_log_skip(struct fdl_decision_log *log,
                           const struct fdl_tuner *tuner)
{
    struct fdl_tuner_status status;
    fdl_tuner_get(tuner, &status);
    log->taken = status.decisions;
}
