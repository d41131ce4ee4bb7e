/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench case NAME: a well-known story, before and after the change that
 * is advised, with what was predicted beside what came. A case is a row in
 * case.c and a function that measures; document and report are the same for
 * all.
 */
#ifndef LOADERBENCH_CASE_H
#define LOADERBENCH_CASE_H

#include "bench/loaderbench/h2d.h"

#define CASE_POINTS_MAX 16
#define CASE_TEXT_BYTES 512

struct case_options {
    const char *device, *json;
    uint64_t batch_size;
    double seconds; /* of each measurement */
    bool quiet;
};

/* One way to do it. */
struct case_side {
    char what[96];         /* "f32 over the bus" */
    double step_ms;        /* measured */
    double predicted_ms;   /* before it was measured */
    double stall_fraction; /* of the step, the GPU had to wait for data */
    int64_t workers;       /* 0: no loader takes part */
    double copy_ms;        /* of the step, copies on the device's clock */
    double finish_ms;      /* of the step, the GPU made numbers of u8 */
    double produce_ms;     /* what the host needs to make a batch; 0: nothing */
    uint64_t bytes;        /* that cross the bus in a step */
};

struct case_result {
    struct feedline_device_info gpu;
    struct feedline_copy_fit fit;
    const char *regime;
    struct case_side before, after;
    double bound_ms; /* what a step cannot be below: the bytes at full speed */

    /* What was measured on the way, of a form of the case's own. */
    json_t *points;
    char sentence[CASE_TEXT_BYTES];
};

struct case_row {
    const char *name;
    const char *title;
    /* An exit status. */
    int (*measure)(const struct case_options *options, struct case_result *out);
};

int case_bandwidth(const struct case_options *options, struct case_result *out);
int case_latency(const struct case_options *options, struct case_result *out);

#endif
