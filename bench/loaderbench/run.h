/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench run, in parts: run.c sets up and decides, run_measure.c takes the
 * batches of one fresh loader, run_consumer.c works on them, run_json.c turns a
 * loader's numbers into the document that report.c and scripts read.
 */
#ifndef LOADERBENCH_RUN_H
#define LOADERBENCH_RUN_H

#include "bench/loaderbench/cli.h"
#include "bench/loaderbench/tool.h"

struct run_options {
    const char *pipeline; /* NULL: "train", or "none" with --op */
    struct cli_list ops;
    uint64_t epochs, batches; /* 0: not a limit */
    double seconds;           /* 0: not a limit */
    uint64_t warmup, repeat, resume_at;
    double consumer_ms;
    const char *sink, *json;
    double max_failed_fraction;
    bool quiet;
};

/* What is measured; made once, used by every repetition. */
struct run_setup {
    struct run_options options;
    feedline_config *config;
    feedline_dataset *dataset;
    feedline_pipeline *pipeline;
    json_t *failures; /* array, of all repetitions */
    char device[32];  /* where the batches are delivered: "host", "cuda:0" */
};

/* What the consumer saw of one loader. */
struct run_counts {
    uint64_t images, batches; /* after the warm-up */
    double seconds, cpu_seconds;
    double first_batch_seconds;       /* from before the loader was created */
    uint64_t warmup_batches;          /* in force: 0 if the run was too short */
    uint64_t samples, failed_samples; /* of the whole run */
    bool interrupted;
    char hash[32]; /* "" without --sink hash */
};

/* One loader from creation to destruction. *out is what run_json_one made of
 * it, NULL on failure. Returns an exit status. */
int run_measure(struct run_setup *setup, json_t **out,
                struct run_counts *counts);

json_t *run_json_one(feedline_loader *l, const struct run_setup *setup,
                     const struct run_counts *counts);
/* Of epochs up to last_epoch; workers may have been ahead of the consumer. */
void run_json_failures(const feedline_loader *l, uint64_t last_epoch,
                       json_t *failures);

/* `runs` is an array of what run_json_one made: numbers become medians, words
 * are those of the run of median speed. */
json_t *run_json_document(const struct run_setup *setup, const char *uri,
                          const json_t *runs, bool interrupted);

/* The document for people, on standard output. */
void report_run(const json_t *doc);

#endif
