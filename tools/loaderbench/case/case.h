/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench case NAME: a well-known story, before and after the change that
 * is advised. A case is a row in case.c and a function that measures. There are
 * two kinds: those about the bus to a GPU, which predict what the change gains
 * (case_bus.c reports), and one about workers, which the tuner finds
 * (case_story.c reports).
 */
#ifndef LOADERBENCH_CASE_H
#define LOADERBENCH_CASE_H

#include "tools/loaderbench/case/case_scene.h"
#include "tools/loaderbench/h2d/h2d.h"

#include <feedline/bench.h>

#define CASE_TEXT_BYTES 512
#define CASE_BARS_MAX   48

struct case_options {
    const char *device, *json; /* device NULL: that of the case */
    uint64_t batch_size;
    double seconds;  /* of each measurement */
    double patience; /* seconds that a tuner has at most */
    bool spin, quiet;
};

/* One way to do it. */
struct case_side {
    char what[96];         /* "f32 over the bus" */
    double step_ms;        /* measured; 0: Ctrl-C came first */
    double stall_fraction; /* of the step, the GPU, or the loop where there is
                              none, had to wait for data */
    int64_t workers;       /* 0: no loader takes part, or it works only when it
                              is asked */

    /* Of the bus. */
    double predicted_ms; /* before it was measured */
    double copy_ms;      /* of the step, copies on the device's clock */
    double finish_ms;    /* of the step, the GPU made numbers of u8 */
    double produce_ms;   /* what the host needs to make a batch; 0: nothing */
    uint64_t bytes;      /* that cross the bus in a step */

    /* Of the tuner. */
    int64_t depth;           /* 0: not known */
    int64_t converged_batch; /* -1: it has not, or there is no tuner */
    double converged_seconds;
    double images_per_second;
};

struct case_bar {
    char label[32], note[48];
    double value;
    bool marked;
};

/* What the tuner has to reach. */
struct case_goal {
    char text[96];       /* "": not known, as the tuner was not measured */
    double value, limit; /* that the value may have at most */
};

struct case_result {
    bool on_gpu, interrupted;
    struct feedline_device_info gpu; /* if on_gpu */
    struct case_side before, after;
    double bound_ms;     /* what a step cannot be below */
    char bound_what[64]; /* in words */
    json_t *points;      /* what was measured on the way, of the case's form */
    char sentence[CASE_TEXT_BYTES];

    /* Of the bus. */
    struct feedline_copy_fit fit;
    const char *regime;

    /* Of a story. */
    double published_ms; /* what others came to; 0: not known */
    char published_what[64];
    struct case_goal goal;
    const char *chart; /* what the bars are */
    struct case_bar bars[CASE_BARS_MAX];
    size_t n_bars;
    json_t *more;    /* of the case's own: members of the document */
    char *explained; /* by the tuner; NULL */
};

struct case_row {
    const char *name;
    const char *title;
    bool needs_gpu;
    uint32_t batch_min, batch_max; /* images in a batch */
    /* An exit status; after Ctrl-C *out has what was measured by then. */
    int (*measure)(const struct case_options *options, struct case_result *out);
};

int case_bandwidth(const struct case_options *options, struct case_result *out);
int case_latency(const struct case_options *options, struct case_result *out);
int case_v100(const struct case_options *options, struct case_result *out);

/* Members of the document, and the report, of the two kinds. */
void case_bus_document(const struct case_result *r, json_t *doc);
void case_bus_report(const struct case_result *r);
void case_story_document(const struct case_result *r, json_t *doc);
void case_story_report(const struct case_result *r);

/* Runs a loader until its tuner has settled, or until `patience` seconds are
 * over, and has r tell of it: "search" and "tuner" of its more, explained, and
 * when its after had settled. What was found is then set with the tuner off.
 * The points that the tuner went through, "workers", "depth", "batch",
 * "seconds" at its begin, "batches", "step_ms" and "images_per_second", are
 * "search.steps". An exit status. */
int case_tune(struct run_setup *setup, double patience, struct case_result *r);

/* One more bar, if there is room. */
void case_add_bar(struct case_result *r, const char *label, const char *note,
                  double value, bool marked);

#endif
