/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench run, in parts: run.c sets up and decides, run_measure.c takes the
 * batches of one fresh loader, run_consumer.c works on them, run_json.c turns a
 * loader's numbers into the document that run_text.c, report.c and scripts
 * read, timeline.c what it is over time.
 */
#ifndef LOADERBENCH_RUN_H
#define LOADERBENCH_RUN_H

#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/run/timeline.h"
#include "tools/loaderbench/tool.h"

#include <pthread.h>

struct run_options {
    const char *pipeline; /* NULL: "train", or "none" with --op */
    struct cli_list ops;
    uint64_t epochs, batches; /* 0: not a limit */
    double seconds;           /* 0: not a limit */
    uint64_t warmup, repeat, resume_at;
    double consumer_ms;
    const char *model; /* NULL: none; its steps are those of consumer_ms */
    const char *sink, *json, *report, *table;
    double max_failed_fraction;
    bool quiet, progress;
};

/* Looks on while a loader is measured. */
struct run_watch {
    /* Behind each batch of what is measured. true: that is enough. */
    bool (*batch)(void *self, feedline_loader *l, double seconds,
                  uint64_t images);
    /* Before the loader is destroyed. An exit status. */
    int (*end)(void *self, feedline_loader *l);
    void *self;
};

/* Of many measurements, which part of the time of all this one takes, for the
 * progress: from `from`, `size` of it, of work that began at `begin`. */
struct run_part {
    double from, size, begin;
};

struct model_rate;

/* What is measured; made once, used by every repetition. */
struct run_setup {
    struct run_options options;
    feedline_config *config;
    feedline_dataset *dataset;
    feedline_pipeline *pipeline;
    json_t *failures; /* array, of all repetitions */
    char *table;      /* of the last repetition; NULL: not asked for */
    char device[32];  /* where the batches are delivered: "host", "cuda:0" */
    char label[64];   /* before the progress of one of many measurements */
    struct run_part part;           /* size 0: it is the only one */
    const struct run_watch *watch;  /* NULL: nobody else looks on */
    const struct model_rate *model; /* of --model; NULL: none */
    bool again; /* the last batch of the warm-up, which costs nothing, over and
                   over: as from an infinitely fast loader */
    pthread_mutex_t *turn; /* nothing is done ahead: held while the loop works
                              on a batch, until that is done on a GPU, too; a
                              pipeline has to wait for it. NULL: none */
};

/* What the consumer saw of one loader. */
struct run_counts {
    uint64_t images, batches; /* after the warm-up */
    double seconds, cpu_seconds;
    double first_batch_seconds; /* from before the loader was created */
    double begin_seconds;    /* measuring began so long after it was created */
    uint64_t warmup_batches; /* in force: 0 if the run was too short */
    uint64_t samples, failed_samples; /* of the whole run */
    bool interrupted;
    char hash[32]; /* "" without --sink hash */
};

/* Pipeline, config and data set, unless there is one, of options that are
 * filled in. tear_down after either result. Returns an exit status. */
int run_set_up(struct run_setup *s, const struct cli_parsed *parsed);
void run_tear_down(struct run_setup *s);

/* An option of its config. An exit status. */
int run_set_int(const struct run_setup *s, const char *key, int64_t value);

/* One loader from creation to destruction. *out is what run_json_one made of
 * it, NULL on failure. Returns an exit status. */
int run_measure(struct run_setup *setup, json_t **out,
                struct run_counts *counts);

/* What was measured, and where: dataset, machine. */
void run_json_subject(json_t *doc, const struct run_setup *setup,
                      const char *uri);

json_t *run_json_one(feedline_loader *l, const struct run_setup *setup,
                     const struct run_counts *counts,
                     const struct timeline *timeline);
/* Of epochs up to last_epoch; workers may have been ahead of the consumer. */
void run_json_failures(const feedline_loader *l, uint64_t last_epoch,
                       json_t *failures);

/* `runs` is an array of what run_json_one made: numbers become medians, words
 * are those of the run of median speed. */
json_t *run_json_document(const struct run_setup *setup, const char *uri,
                          const json_t *runs, bool interrupted);

/* Where --json and --report want it. An exit status. */
int run_write(const struct run_options *o, json_t *doc, const char *uri);

/* "URI: 24 images; 2 of 4 cores", of other documents as well. */
void run_text_subject(const json_t *doc);

/* The document for people, on standard output. table: of the stages, in place
 * of the short one; NULL: none. */
void run_text(const json_t *doc, const char *table);

#endif
