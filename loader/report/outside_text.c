/* SPDX-License-Identifier: Apache-2.0 */
/* What a watch says of itself; see outside_text.h. */
#include "loader/report/outside_text.h"

#include "loader/report/evidence.h"
#include "loader/watch/outside.h"
#include "loader/watch/phases.h"
#include "loader/watch/stats.h"

#include <inttypes.h>

void fdl_outside_json(const struct fdl_sources *from, struct fdl_json *j)
{
    const struct fdl_outside *o = from->watch->outside;
    struct fdl_evidence e;
    if (!o) {
        fdl_json_null(j, "watch");
        return;
    }
    fdl_evidence_gather(from, &e);
    fdl_json_begin_object(j, "watch");
    fdl_json_string(j, "name", o->name);
    if (o->option[0])
        fdl_json_string(j, "option", o->option);
    else
        fdl_json_null(j, "option");
    fdl_json_int(j, "processes", e.outside_processes);
    if (e.outside_process_cores >= 0)
        fdl_json_double(j, "process_cores", e.outside_process_cores);
    else
        fdl_json_null(j, "process_cores");
    fdl_json_double(j, "wait_cpu_seconds", (double)e.wait_cpu_ns / 1e9);
    fdl_json_end_object(j);
}

static double part(uint64_t ns, uint64_t wall_ns)
{
    return wall_ns ? 100 * (double)ns / (double)wall_ns : 0;
}

void fdl_outside_explain(struct fdl_watch *watch, struct fdl_text *t)
{
    const struct fdl_outside *o = watch->outside;
    struct feedline_stats s;
    fdl_stats_get(watch, &s);
    fdl_text_add(t, "Watching %s", o->name);
    if (s.workers && o->option[0])
        fdl_text_add(t, " (%s=%" PRIu32 ")", o->option, s.workers);
    fdl_text_add(t, ": %" PRIu64 " batches", s.batches);
    if (s.samples)
        fdl_text_add(t, ", %" PRIu64 " samples", s.samples);
    fdl_text_add(t, " in %.1f s; waited for %.1f %% of it, own work %.1f %%.\n",
                 (double)s.wall_ns / 1e9, part(s.wait_ns, s.wall_ns),
                 part(s.user_ns, s.wall_ns));
    if (s.user_ns > s.wall_ns / 2 && fdl_phases_count(watch) == 0)
        fdl_text_add(t, "To see what its own work is, name its phases "
                        "(loader.phase(\"NAME\"); in C "
                        "feedline_loader_phase_begin).\n");
}
