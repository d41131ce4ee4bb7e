/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that goes on where it was after each error that a fault explains:
 * what could not be opened is opened again, a run that ended begins again at
 * the loader's own position.
 */
#ifndef SOAK_AGAIN_H
#define SOAK_AGAIN_H

#include <feedline/feedline.h>
#include <feedline/source.h>

#include <stdio.h>

#define STATUSES 16

/* Errors that came between, by -status. */
struct ends {
    uint64_t times[STATUSES];
};

/* {"ENOMEM": 3, ...} */
void ends_print(FILE *out, const struct ends *e);

/* NULL: it failed for good, which was told on stderr. */
feedline_dataset *again_open(const char *uri, struct ends *ends);
feedline_dataset *again_source(const struct feedline_source *source,
                               struct ends *ends);

/* options: "key=value key=value"; operations: "name args;name args". */
feedline_loader *again_create(feedline_dataset *ds, const char *operations,
                              const char *options, struct ends *ends);

/* From the beginning of an epoch, or from a saved state; whether it did. */
int again_start(feedline_loader *l, uint64_t epoch, const char *state,
                struct ends *ends);

/* OK or END; TIMEOUT: it hangs; an error that no fault explains. */
int32_t again_next(feedline_loader *l, struct ends *ends, feedline_batch **out);

#endif
