/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers and reads that hang. If the next batch waits for one, nothing else
 * matters, and few batches suffice to see it, as no more will come.
 */
#include "profiler/verdict/verdict_own.h"

#include <string.h>

#define ALL_OF_IT 2.0 /* above any fraction of the time */

/* The end of the path, as much as fits a phrase. */
static const char *name_of(const char *path)
{
    size_t length = strlen(path);
    return length > 31 ? path + length - 31 : path;
}

static void say_who(const struct fdl_evidence *e, struct fdl_draft *d)
{
    bool reads = strcmp(e->stuck_where, "read") == 0;
    fdl_say(d,
            e->stuck_awaited ? "The next batch waits for one sample that has "
                               "been in %s for %s"
                             : "One sample has been in %s for %s",
            fdl_say_name(e->stuck_where).at,
            fdl_say_duration((double)e->stuck_ns).at);
    if (e->stuck_path[0])
        fdl_say(d, ": the file %s", fdl_say_name(name_of(e->stuck_path)).at);
    fdl_say(d, ".");
    if (reads && e->source.name) {
        fdl_act(d, "Check your reader %s: it does not return from that sample.",
                fdl_say_name(e->source.name).at);
        return;
    }
    fdl_act(
        d, reads
               ? "Check the storage of that file: a read of it does not return."
               : "Check what that step does with that file; a debugger shows "
                 "where the thread is. Restarting workers does not help.");
}

bool fdl_judge_stuck(const struct fdl_facts *f, struct fdl_draft *d)
{
    const struct fdl_evidence *e = f->e;
    if (e->stuck_workers == 0 || !e->stuck_where)
        return false;
    d->v.code = "WORKER_STUCK";
    if (e->stuck_awaited) {
        d->v.level = "HIGH";
        d->v.confidence_ppm = 1000000;
        d->weight = ALL_OF_IT;
    }
    say_who(e, d);
    fdl_note(d, "stuck_workers", e->stuck_workers);
    fdl_note(d, "stuck_seconds", (double)e->stuck_ns / 1e9);
    fdl_note(d, "stuck_awaited", e->stuck_awaited);
    fdl_note_name(d, "stuck_where", e->stuck_where);
    return true;
}
