/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader of a story, and what is measured of it: the same for a number of
 * workers that was set and for one that the tuner finds.
 */
#ifndef LOADERBENCH_CASE_LOADER_H
#define LOADERBENCH_CASE_LOADER_H

#include "bench/loaderbench/case/case_work.h"

#include <feedline/tuning.h>

#include <jansson.h>

struct case_result;

#define CASE_TUNED (-1) /* workers: the tuner finds them */

struct case_operation {
    const char *name, *args;
};

struct case_setup {
    feedline_dataset *dataset;
    const char *recipe;                      /* NULL: none */
    const struct case_operation *operations; /* behind it */
    size_t n_operations;
    struct case_work *work; /* behind these; NULL: none */
    const char *device, *dtype;
    const char *layout, *finish; /* NULL: the default */
    int64_t channels, batch_size;
    int64_t workers;       /* 0: one, and nothing ahead; or CASE_TUNED */
    int64_t local_world;   /* 0: the loader looks who shares its cores */
    int64_t workers_start; /* of the tuner; 0: its own choice */
};

/* An exit status. */
int case_loader_open(const struct case_setup *setup, feedline_loader **out);

/* What is done with a batch, which is released by it. An exit status. */
struct case_consumer {
    int (*take)(void *self, feedline_batch *batch);
    void *self;
    struct case_work *gate; /* open while a batch is waited for; NULL: none */
};

/* Only gives the batch back; self: unused. */
int case_release(void *self, feedline_batch *batch);

struct case_rate {
    uint64_t batches, images;
    double seconds;
    double wait_fraction;   /* next() kept the consumer waiting */
    int64_t workers, depth; /* at the end */
};

/* One batch, which is added to *r. An exit status. */
int case_take(feedline_loader *l, const struct case_consumer *consumer,
              struct case_rate *r);

/* Seconds that next() has waited so far. */
double case_waited(feedline_loader *l);

/* Takes batches for `seconds` and at least `batches`, after `warmup` more that
 * do not count. An exit status. */
int case_measure(feedline_loader *l, const struct case_consumer *consumer,
                 uint64_t warmup, uint64_t batches, double seconds,
                 struct case_rate *out);

double case_images_per_second(const struct case_rate *r);
double case_step_ms(const struct case_rate *r);

/* The way to where the tuner stays. */
struct case_search {
    bool converged;
    uint64_t converged_batch;
    double converged_seconds;
    struct case_rate whole; /* from the first batch on */
    json_t *steps; /* for each setting on the way: "workers", "depth", "batch",
                      "seconds" at its begin, "batches", "step_ms",
                      "images_per_second" */
    json_t *tuner; /* feedline_loader_tuner_json */
    char *explained; /* feedline_loader_tuner_text */
};

/* Takes batches until the tuner has nothing left to improve, and it stayed so
 * for a while, or until `patience` seconds are over. An exit status; fini in
 * any case. */
int case_search(feedline_loader *l, const struct case_consumer *consumer,
                double patience, struct case_search *out);

/* tuner and explained of now. */
void case_search_explain(feedline_loader *l, struct case_search *s);
void case_search_fini(struct case_search *s);

/* Hands it over to the result: "search" and "tuner" of r->more, r->explained,
 * and when r->after had converged. */
void case_search_tell(struct case_search *s, struct case_result *r);

#endif
