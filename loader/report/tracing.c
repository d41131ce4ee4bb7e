/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a loader; see tracing.h. */
#include "loader/report/tracing.h"

#include "base/clock.h"
#include "loader/report/recorder.h"
#include "loader/tune/control.h"
#include "loader/watch/notes.h"
#include "profiler/trace/trace_file.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- What the text needs to know ---------------------------------------- */

static const char *custom_name(const void *user, uint32_t i)
{
    const struct fdl_sources *from = user;
    return i < fdl_pipeline_custom_count(fdl_engine_pipeline(from->engine))
               ? fdl_pipeline_custom_name(fdl_engine_pipeline(from->engine), i)
               : NULL;
}

static const char *phase_name(const void *user, uint32_t i)
{
    const struct fdl_sources *from = user;
    /* A phase that has a note has its name, for ever. */
    return i < FDL_PHASES_MAX ? from->watch->books.notable.phases.phases[i].name
                              : NULL;
}

static bool find_decision(const void *user, uint64_t id,
                          struct fdl_decision *out)
{
    const struct fdl_sources *from = user;
    return fdl_control_find(from->control, id, out);
}

void fdl_tracing_describe(const struct fdl_sources *from, uint32_t categories,
                          struct fdl_trace_json_config *out)
{
    *out = (struct fdl_trace_json_config){
        .categories = categories,
        .pid = (int32_t)getpid(),
        .unix_offset_ns = fdl_trace_unix_offset_ns(),
        .process = "feedline",
        .has_device = fdl_engine_has_device(from->engine),
        .custom = custom_name,
        .phase = phase_name,
        .decision = find_decision,
        .user = from,
    };
}

/* ---- What the rings hold now -------------------------------------------- */

/* One memory for all of them: rings * FDL_TRACE_NOTES. */
static void copy_all(const struct fdl_sources *from,
                     struct fdl_trace_json *json, struct fdl_trace_part *parts,
                     struct fdl_trace_note *notes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t next = 0, lost = 0;
        parts[i] = (struct fdl_trace_part){
            .writer = i, .notes = notes + (uint64_t)i * FDL_TRACE_NOTES};
        parts[i].n = fdl_trace_ring_copy(fdl_watch_ring(from->watch, i), &next,
                                         parts[i].notes, &lost);
    }
    fdl_trace_json_head(json);
    fdl_trace_json_notes(json, parts, n);
    fdl_trace_json_end(json);
}

static int32_t write_file(struct fdl_trace_json *json, const char *path)
{
    struct fdl_trace_file file;
    struct fdl_trace_end end = {.steps = fdl_trace_json_steps(json)};
    const char *text;
    uint64_t length;
    if (!fdl_trace_json_text(json, &text, &length))
        return fdl_fail_memory(length, "the text of a trace");
    int32_t status = fdl_trace_file_open(&file, path, UINT64_MAX, true);
    if (status < 0)
        return status;
    status = fdl_trace_file_add(&file, text, length, &end);
    if (status < 0) {
        fdl_trace_file_discard(&file);
        return status;
    }
    return fdl_trace_file_finish(&file, &end);
}

int32_t fdl_tracing_save(const struct fdl_sources *from, const char *path)
{
    struct fdl_trace_json_config config;
    struct fdl_trace_json *json = NULL;
    uint32_t n = fdl_watch_ring_count(from->watch);
    uint64_t bytes =
        (uint64_t)n * FDL_TRACE_NOTES * sizeof(struct fdl_trace_note);
    struct fdl_trace_note *notes = malloc(bytes);
    struct fdl_trace_part *parts = calloc(n, sizeof(*parts));
    int32_t status;
    if (!notes || !parts) {
        status = fdl_fail_memory(bytes, "a copy of the rings");
        goto out;
    }
    fdl_tracing_describe(from, FDL_CATEGORY_ALL, &config);
    status = fdl_trace_json_create(&config, &json);
    if (status < 0)
        goto out;
    copy_all(from, json, parts, notes, n);
    status = write_file(json, path);
out:
    fdl_trace_json_destroy(json);
    free(parts);
    free(notes);
    return status;
}

/* ---- Life --------------------------------------------------------------- */

int32_t fdl_tracing_create(const struct fdl_sources *from,
                           struct fdl_tracing *t)
{
    t->from = from;
    return fdl_recorder_create(from, &t->recorder);
}

/* The last step ends now. */
static void end_step(const struct fdl_tracing *t)
{
    struct fdl_watch *watch = t->from->watch;
    int64_t now = fdl_now_ns();
    fdl_notes_called(&watch->books, now);
    if (t->recorder)
        fdl_recorder_step(t->recorder, watch->books.notes.delivered, now);
}

void fdl_tracing_destroy(struct fdl_tracing *t)
{
    if (t->from && t->from->watch->books.notes.has_step)
        end_step(t);
    fdl_recorder_destroy(t->recording);
    fdl_recorder_destroy(t->recorder);
}
