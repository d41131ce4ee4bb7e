/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench top --job: the ranks of one job side by side.
 *
 *     live pages of this host's processes \                 /- lines
 *                                          job_rank[] -> job
 *     last lines of stats_log files       /                 \- JSON
 */
#ifndef LOADERBENCH_TOP_JOB_H
#define LOADERBENCH_TOP_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one rank between two looks, ms of a step. */
struct job_rank {
    uint32_t rank, world;
    int32_t pid;
    char host[65];
    char code[32];     /* the verdict on its loader */
    double steps;      /* between the looks; 0: none, and no times */
    double step, wait; /* wait: for data */
    double synced;     /* for the other ranks; NAN: nothing marks that */
    double images;     /* per second */
};

struct job {
    struct job_rank *ranks; /* by number */
    size_t n, capacity;
    bool failed; /* no memory */
};

struct job_rank *job_add(struct job *j); /* zeroed; NULL: no memory */
void job_sort(struct job *j);
void job_fini(struct job *j);

/* ---- Where they are from; exit statuses --------------------------------- */

/* Over so many seconds, or until Ctrl-C. pid: of a rank, or of what started the
 * ranks; 0: all ranks of this host. */
int job_of_pages(struct job *out, int32_t pid, double seconds);

/* The last two lines of each rank in this file, or in the files of a folder
 * whose names end in .jsonl. */
int job_of_logs(struct job *out, const char *path);

/* ---- What is shown ------------------------------------------------------ */

json_t *job_json(const struct job *j); /* a document */
void job_print(const json_t *doc);

#endif
