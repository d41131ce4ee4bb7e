/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/library.h"
#include "tools/loaderbench/tool_progress.h"
#include "tools/loaderbench/tune/tune.h"

#include <feedline/tuning.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_SECONDS 0.1

static void show_progress(const struct tune_follow *f,
                          const struct feedline_tuner_info *t)
{
    progress_line("%.1f s: %s; workers %u, depth %u, I/O %u; %.0f images/s, "
                  "waits %.1f %%",
                  f->seconds, t->converged ? "settled" : t->state, t->workers,
                  t->depth, t->io_depth,
                  f->seconds > 0 ? (double)f->images / f->seconds : 0,
                  100 * t->stall);
}

bool tune_follow_batch(void *self, feedline_loader *l, double seconds,
                       uint64_t images)
{
    struct tune_follow *f = self;
    f->seconds = seconds;
    f->images = images;
    if (seconds - f->looked < LOOK_SECONDS)
        return false;
    struct feedline_tuner_info t = {.struct_size = sizeof(t)};
    f->looked = seconds;
    f->cpu = tool_cpu_seconds();
    if (feedline_loader_get_tuner(l, &t) != FEEDLINE_OK)
        return false;
    if (t.converged && !f->settled) {
        f->settled_at = seconds;
        f->settled_cpu = f->cpu;
        f->settled_images = images;
    }
    f->settled = t.converged != 0;
    show_progress(f, &t);
    f->ended_settled =
        f->open_ended && f->settled && seconds - f->settled_at >= f->hold;
    return f->ended_settled;
}

int tune_follow_end(void *self, feedline_loader *l)
{
    struct tune_follow *f = self;
    progress_line("%s", "");
    f->cpu = tool_cpu_seconds();
    library_text(LIBRARY_TUNER_TEXT, l, &f->story);
    if (!f->profile)
        return TOOL_DONE;
    int32_t status = feedline_loader_save_profile(l, f->profile);
    f->profile_written = status >= 0;
    if (status == FEEDLINE_ESTATE) {
        /* No error of this run: it was too short. */
        tool_say("%s; nothing was written", feedline_last_error());
        return TOOL_DONE;
    }
    return status < 0 ? tool_run_failed(status) : TOOL_DONE;
}

static json_t *lines_of(const char *text)
{
    json_t *lines = json_array();
    while (text && *text) {
        size_t n = strcspn(text, "\n");
        if (n)
            json_array_append_new(lines, json_stringn(text, n));
        text += n + (text[n] == '\n');
    }
    return lines;
}

/* Since it settled; null: it did not, or just now. */
static json_t *steady_json(const struct tune_follow *f)
{
    double seconds = f->seconds - f->settled_at;
    double images = (double)(f->images - f->settled_images);
    double cpu = f->cpu - f->settled_cpu;
    if (!f->settled || !(seconds > 0) || !(images > 0))
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "seconds", seconds, "images_per_second",
                     images / seconds, "images_per_cpu_second",
                     cpu > 0 ? images / cpu : 0.0);
}

void tune_follow_json(const struct tune_follow *f, json_t *doc)
{
    const char *ended = f->ended_settled     ? "settled"
                        : tool_interrupted() ? "interrupted"
                                             : "limit";
    json_object_set_new(doc, "tune",
                        json_pack("{s:s, s:o, s:o, s:s?}", "ended", ended,
                                  "steady", steady_json(f), "story",
                                  lines_of(f->story), "profile",
                                  f->profile_written ? f->profile : NULL));
}
