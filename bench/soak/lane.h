/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: one loader of the process and the thread that consumes it, an epoch
 * at a time. Lanes differ in format, store, reader, on_error and device; some
 * keep their loader for all rounds, some make one for each.
 */
#ifndef SOAK_LANE_H
#define SOAK_LANE_H

#include "again.h"
#include "soak_account.h"

#include <stdbool.h>

/* Where the data is. */
struct place {
    const char *folder;
    unsigned port; /* of the server on folder/http; 0: there is none */
};

struct lane_plan {
    const char *name;
    const char *uri; /* @: the folder, #: the port; NULL: of the program */
    const char *operations, *options;
    bool lasting; /* its data set and loader live through all rounds */
    bool whole_files;
    bool by_server; /* what it reads is on the server */
    bool on_device; /* its batches are on the device */
};

struct lane {
    const struct lane_plan *plan;
    const struct place *where;
    feedline_dataset *ds;    /* NULL: the next epoch opens one, */
    feedline_loader *loader; /* and makes one */
    struct account account;
    struct ends ends;
    uint64_t epoch;
    double seconds; /* of the last one */
    bool dead;      /* it hangs, or an error has no explanation */
};

extern const struct lane_plan lane_plans[];
extern const uint32_t lane_plan_count;

/* false: it cannot be had here, and nothing was opened. */
bool lane_open(struct lane *l, const struct lane_plan *plan,
               const struct place *where);

/* One epoch, to its end. */
void lane_epoch(struct lane *l);
void lane_close(struct lane *l);

/* Blocks of memory that its loader has for what failed, as it is to: the first
 * 1,000 reasons, and a name of each of those samples, but for whole files. */
uint64_t lane_notes(struct lane *l);

/* What is planned for a batch, and what came, goes to the account. */
void lane_take(struct account *a, const feedline_loader *l,
               const struct feedline_batch_info *info);

#endif
