/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the workers' time divides among operations, since the last reset of the
 * statistics. Any thread.
 *
 * Custom operations have their own clocks. Decoding, augmentation and mixing
 * share the rest of the workers' CPU time in proportion to how long they took.
 * Of another loader these are the functions that its workers were seen in.
 */
#ifndef FDL_LOADER_COSTS_H
#define FDL_LOADER_COSTS_H

#include "base/json.h"
#include "base/text.h"
#include "decode/pipeline.h"

#include <feedline/feedline.h>

/* Decode, augment, mix, and the pipeline's custom operations. */
#define FDL_COSTS_MAX (3 + FDL_CUSTOM_MAX)

struct fdl_watch;

struct fdl_op_cost {
    const char *name;  /* of the stage */
    const char *label; /* for people; both live as long as the loader */
    uint64_t samples;
    int64_t wall_ns;
    int64_t cpu_ns;  /* of wall_ns */
    int64_t lock_ns; /* of wall_ns, as custom operations reported */
    int64_t unpack_ns, transform_ns; /* of wall_ns, of decode */
};

struct fdl_costs {
    struct fdl_op_cost ops[FDL_COSTS_MAX]; /* those that ran, costliest first */
    uint32_t n_ops;
    struct fdl_op_cost source; /* calls of the program's own reader; a label of
                                  NULL: it has none */
    int64_t worker_ns; /* of all workers that were not parked; what is neither
                          in ops nor below was spent between steps */
    int64_t read_ns, blocked_ns, starved_ns;
    double source_pixels, output_pixels; /* means a sample; -1: not known */
};

void fdl_costs_get(struct fdl_watch *watch, struct fdl_costs *out);

/* As lines of text, with the share of the workers' time. */
void fdl_costs_say(const struct fdl_costs *c, struct fdl_text *t);

/* Members "operations" and, of the program's own, "reader" of the open object.
 */
void fdl_costs_json(const struct fdl_costs *c, struct fdl_json *j);

#endif
