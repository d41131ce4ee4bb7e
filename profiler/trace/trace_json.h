/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats notes as Chrome JSON, which ui.perfetto.dev opens.
 *
 *   track           tid       slices
 *   consumer        1         wait (what was waited for in args), step
 *   phases          2         of the user, nested
 *   batches         3         instants issue, ready, release
 *   tuner           4         instants
 *   steps           5         of the program, in a recording
 *   worker N        1000 + N  decode, custom operations by name, augment
 *   read N          3000 + N  reads in flight together are on different
 *                             tracks: slices of one nest or follow
 *   copy N          5000 + N  batches on the bus
 *   finish N        6000 + N  the finishing kernel
 *
 * A flow along each batch starts at its last sample, which the batch waited
 * for: its read -> its decode -> copy -> step, in order of time. Its id is run
 * << 40 | ticket.
 *
 * Times are microseconds since `base`, with three decimals. Base is chosen and
 * written as libkineto does it (baseTimeNanoseconds, the last multiple of
 * 7889238 s), so a trace of torch.profiler from the same time lines up digit by
 * digit.
 */
#ifndef FDL_PROFILER_TRACE_JSON_H
#define FDL_PROFILER_TRACE_JSON_H

#include "profiler/measure/ledger.h"
#include "profiler/trace/trace.h"
#include "profiler/tuner/tuner.h"

#include <stdbool.h>
#include <stdint.h>

/* Bits of a mask. */
enum fdl_trace_category {
    FDL_CATEGORY_READ = 0,
    FDL_CATEGORY_DECODE,
    FDL_CATEGORY_AUGMENT,
    FDL_CATEGORY_COPY,
    FDL_CATEGORY_CONSUMER,
    FDL_CATEGORY_BATCH,
    FDL_CATEGORY_COUNTER,
    FDL_CATEGORY_TUNER,
    FDL_CATEGORIES
};

#define FDL_CATEGORY_ALL ((1u << FDL_CATEGORIES) - 1)

const char *fdl_trace_category_name(enum fdl_trace_category category);
enum fdl_trace_category fdl_trace_category_of(enum fdl_trace_kind kind);

/* "all", or names joined by commas. EINVAL names the unknown one and the
 * closest that exists. */
int32_t fdl_trace_categories_parse(const char *text, uint32_t *mask);

/* Copied; the texts are borrowed and live as long as the exporter. */
struct fdl_trace_json_config {
    uint32_t categories;
    int32_t pid;
    int64_t unix_offset_ns; /* to add to a time stamp for unix time */
    const char *process;    /* name in the trace */
    bool has_device;        /* copies are noted */

    /* Names of what notes have by number; NULL: there is none. */
    const char *(*custom)(const void *user, uint32_t i);
    const char *(*phase)(const void *user, uint32_t i);
    bool (*decision)(const void *user, uint64_t id, struct fdl_decision *out);
    const void *user;
};

struct fdl_trace_json;

/* ENOMEM. */
int32_t fdl_trace_json_create(const struct fdl_trace_json_config *config,
                              struct fdl_trace_json **out);
void fdl_trace_json_destroy(struct fdl_trace_json *j);

/* Adds to unix time for `unix_offset_ns`, measured now. */
int64_t fdl_trace_unix_offset_ns(void);

/* The head of a file: everything up to the first event, and the name of the
 * process. Events follow, each starting with a comma. */
void fdl_trace_json_head(struct fdl_trace_json *j);

/* Who wrote a note. */
enum fdl_trace_writer {
    FDL_WRITER_CONSUMER = 0,
    FDL_WRITER_BATCHES,
    FDL_WRITER_DEVICE,
    FDL_WRITER_DECISIONS,
    FDL_WRITER_WORKERS /* + its number */
};

/* Notes of one ring, in the order of the ring. */
struct fdl_trace_part {
    uint32_t writer;
    uint32_t n;
    struct fdl_trace_note *notes; /* changed */
};

/* Notes of all rings, copied one after the other, the consumer's first. */
void fdl_trace_json_notes(struct fdl_trace_json *j,
                          struct fdl_trace_part *parts, uint32_t n_parts);

/* Flows that still wait for their last part are written without it. */
void fdl_trace_json_end(struct fdl_trace_json *j);

/* The text since the last clear; false: there was no memory for some of it. */
bool fdl_trace_json_text(const struct fdl_trace_json *j, const char **text,
                         uint64_t *length);
void fdl_trace_json_clear(struct fdl_trace_json *j);

/* Steps that were written: of the consumer, and those the program counts. */
uint64_t fdl_trace_json_steps(const struct fdl_trace_json *j);
uint64_t fdl_trace_json_marks(const struct fdl_trace_json *j);

#endif
