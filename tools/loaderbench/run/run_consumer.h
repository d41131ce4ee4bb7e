/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in for the training step of `run`: a sleep, or kernels on the GPU
 * that the batches are delivered to.
 */
#ifndef LOADERBENCH_RUN_CONSUMER_H
#define LOADERBENCH_RUN_CONSUMER_H

#include <feedline/bench.h>
#include <feedline/feedline.h>

#include <stdbool.h>
#include <stdint.h>

struct run_consumer {
    double ms;           /* of work per batch; 0: none */
    feedline_busy *busy; /* NULL: a consumer on the host, which sleeps */
    bool sleeps;         /* on the host, as the GPU runs no kernels */
    bool in_series;      /* the work on a batch is waited for */
};

/* device: "host", or the GPU whose batches come. An exit status; fini in any
 * case. */
int run_consumer_init(struct run_consumer *c, const char *device, double ms);
void run_consumer_fini(struct run_consumer *c);

/* The loader's idle time is that of the consumer's stream. Before the first
 * next(); the loader is destroyed first. An exit status. */
int run_consumer_join(const struct run_consumer *c, feedline_loader *l);

/* Works on the batch, which came at `delivered` on tool_seconds(). On a GPU it
 * only queues the work. An exit status. */
int run_consumer_work(struct run_consumer *c, feedline_batch *batch,
                      double delivered);

/* run_consumer_work, and gives the batch back: on a GPU the loop runs ahead of
 * the work by as many batches as the loader has slots. */
int run_consumer_take(struct run_consumer *c, feedline_batch *batch,
                      double delivered);

/* Until all work that was queued is done. An exit status. */
int run_consumer_drain(struct run_consumer *c);

#endif
