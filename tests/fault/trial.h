/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A life of handles, from nothing to nothing, in which calls fail: call n of a
 * kind, for n = 1, 2, ... until nothing fails any more, once and from then on;
 * or calls by chance. Each time it ends as it would have without, or with one
 * of the statuses that the kind may end with, and words; every batch that was
 * delivered is whole and right; then the loader is destroyed while calls still
 * fail, and, the second time, used on with all it needs; and no memory,
 * descriptor or thread is left.
 */
#ifndef FDL_TESTS_FAULT_TRIAL_H
#define FDL_TESTS_FAULT_TRIAL_H

#include "inject.h"
#include "tests/loader/fixture.h"

#define KIND(name) (UINT32_C(1) << INJECT_##name)
#define KINDS_FILES                                                            \
  (KIND(OPEN) | KIND(LIMIT) | KIND(STAT) | KIND(READ) | KIND(SHORT) |          \
   KIND(EARLY_END) | KIND(SIGNAL))
#define KINDS_WRITING                                                          \
  (KIND(WRITE) | KIND(PART) | KIND(SYNC) | KIND(NAME) | KIND(LOCK))

struct scenario {
    const char *name; /* "epoch_pread" */
    const char *what; /* of the page: what is done in it */
    uint32_t kinds;   /* of calls that it makes, KIND(), or'ed */
    uint32_t slow;    /* kinds of which few are tried, as each takes seconds */
    uint32_t kept; /* connections that stay open for the next life, at most, and
                      a block for each: a late request has a second one */
    const char *(*setup)(void); /* why it cannot be played here; NULL: it can */
    void (*teardown)(void);
    int32_t (*life)(void); /* END, OK, or the first error */
    void (*settle)(void);  /* NULL, or after each life */
};

/* ---- For lives ---------------------------------------------------------- */

/* The status; the words of an error are kept. */
int32_t trial_note(int32_t status);
int32_t trial_note_as(int32_t status, const char *words);

/* The next call, if there was no error so far. */
#define TRY(status, call)                                                      \
  do {                                                                         \
    if ((status) >= 0)                                                         \
      (status) = trial_note(call);                                             \
  } while (0)

/* A loader in words, as fixture_with makes one; *out is NULL on error. */
int32_t trial_loader(feedline_dataset *ds, const struct feedline_op_def *def,
                     const char *operations, const char *options,
                     feedline_loader **out);

/* The next batch; one that does not come within a minute is a hang. */
int32_t trial_next(feedline_loader *l, feedline_batch **out);

/* Each sample of a batch is the one that the first life had there; one that
 * failed says so. `info` has pixels and labels that the host can read. */
void trial_check(const struct feedline_batch_info *info);

/* The next batch, checked and given back; and to END. */
int32_t trial_take(feedline_loader *l);
int32_t trial_epoch(feedline_loader *l);

/* Nothing fails any more: whether the life's loader is used on. If not, it is
 * destroyed while calls still fail. */
bool trial_goes_on(void);

/* An epoch of a loader that has all it needs. */
void trial_use_on(feedline_loader *l);

/* ---- For who makes them ------------------------------------------------- */

struct tally {
    uint32_t once, lasting; /* faults that were tried */
    uint32_t same;          /* of them, lives that ended as without */
    uint32_t errors;        /* and those with an error */
    uint32_t by_status[16]; /* -status */
    uint64_t calls;         /* that failed in schedules */
};

struct plan {
    uint32_t part;   /* one in so many faults; 0: none */
    uint32_t random; /* schedules of each scenario */
    uint64_t seed;   /* of the first one */
    uint32_t kinds;  /* KIND(), or'ed */
    uint32_t nth;    /* only this call; 0: all */
};

/* Plays all of it. tallies: by kind, of faults one by one (but `calls`); [0] of
 * schedules.
 * Returns why it cannot be played here; NULL: it was. */
const char *trial_play(const struct scenario *s, const struct plan *plan,
                       struct tally tallies[INJECT_KINDS]);

/* Lives that did not end as they have to, so far; each was told. */
uint32_t trial_failures(void);

#endif
