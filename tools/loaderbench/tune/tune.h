/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench tune: the tuner at work on one loader, explained. tune.c is the
 * command, tune_follow.c watches while the loader runs and decides when it has
 * seen enough, tune_compare.c compares the result with a sweep, tune_text.c
 * prints.
 */
#ifndef LOADERBENCH_TUNE_H
#define LOADERBENCH_TUNE_H

#include "tools/loaderbench/sweep/sweep.h"

struct tune_options {
    struct run_options run;
    bool observe, compare;
    double hold;         /* seconds after nothing is left to be improved */
    const char *profile; /* where to write it; NULL: nowhere */
    const char *fail_below;
    const char *sweep_workers, *sweep_depths;
    double sweep_seconds;
};

/* What was seen of one run. */
struct tune_follow {
    bool open_ended; /* end when it has settled; otherwise at the run's limit */
    double hold;
    const char *profile;

    double looked;                  /* when the tuner was last asked */
    bool settled;                   /* now */
    double settled_at, settled_cpu; /* since when; CPU seconds by then */
    uint64_t settled_images;
    double seconds, cpu; /* of the last batch */
    uint64_t images;
    bool ended_settled;
    bool profile_written;
    char *story; /* lines of the library; NULL: none */
};

/* The two functions of struct run_watch. */
bool tune_follow_batch(void *self, feedline_loader *l, double seconds,
                       uint64_t images);
int tune_follow_end(void *self, feedline_loader *l);

/* Adds "tune" to the document. */
void tune_follow_json(const struct tune_follow *f, json_t *doc);

/* Measures the grid and, among it, what the tuner chose, and adds sweep_best,
 * comparison, grid and knee to the document. An exit status. */
int tune_compare(struct run_setup *setup, const struct tune_options *o,
                 const char *uri, json_t *doc);

/* Is the choice worse than the best by more than so much, and by more than the
 * measurements' error? */
bool tune_is_worse(const json_t *doc, double tolerated);

/* The document for people, on standard output. */
void tune_text(const json_t *doc);

#endif
