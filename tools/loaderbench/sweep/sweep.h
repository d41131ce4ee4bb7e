/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench sweep: every setting of workers, depth and I/O depth of a grid is
 * measured with a fresh loader, the tuner off. In parts: sweep_axis.c reads
 * lists, sweep_measure.c measures, sweep_document.c writes the document and
 * takes an earlier one up, sweep_text.c tells people, knee.c decides.
 *
 *     round 1:  c a d b    round 2:  b d a c    round 3: ...
 *
 * All points are measured once in each round, in an order of the round's own,
 * and the median of a point counts: what else the machine does for a while then
 * falls on many points, and on few measurements of each.
 */
#ifndef LOADERBENCH_SWEEP_H
#define LOADERBENCH_SWEEP_H

#include "tools/loaderbench/run/run.h"
#include "tools/loaderbench/sweep/knee.h"

#define SWEEP_VALUES_MAX 64 /* of an axis */

/* The values of one option, ascending. */
struct sweep_axis {
    int64_t at[SWEEP_VALUES_MAX];
    size_t n;
};

/* "1,2,4,8", "1..8", both mixed, or "auto". option is what it is for: its name,
 * with dashes, as in the table of the loader, which has its bounds. An exit
 * status; what is wrong was said. */
int sweep_axis_parse(const char *option, const char *text,
                     struct sweep_axis *out);

/* Unless it has the value already, or as many as it may have. */
void sweep_axis_add(struct sweep_axis *axis, int64_t value);

/* What "auto" is: powers of two up to twice the cores, closer around as many
 * workers as cores; 2, 4, 8, 16 batches. */
void sweep_axis_auto(const char *option, struct sweep_axis *out);

/* Leaves out depths, from the deepest on, that memory has no room for. The
 * status of the last one tried; n is 0 if it was the last. */
int32_t sweep_axis_trim(const struct run_setup *setup,
                        struct sweep_axis *depths);

struct sweep_point {
    int64_t workers, depth, io_depth; /* io_depth 0: as the loader chooses */
    json_t *runs; /* array: what was measured, one object each */
};

struct sweep {
    struct run_setup *setup;
    const char *uri;
    struct sweep_point *points;
    size_t n;
    uint64_t rounds;
    size_t measured_before; /* by a run that this one goes on with */
    struct knee_rule rule;
    json_t *settings; /* what all points have in common */
    json_t *config;   /* in force in one of them; NULL: none was measured */
    const char *save; /* after each measurement; NULL: nowhere */
    bool interrupted;
};

/* What part of its time a fed consumer may wait: option tuner_target. */
double sweep_target(const feedline_config *config);

/* Points in the order of workers, then depth. io may have n == 0: the loader
 * chooses. An exit status; fini in any case. */
int sweep_init(struct sweep *s, struct run_setup *setup, const char *uri,
               const struct sweep_axis *workers, const struct sweep_axis *depth,
               const struct sweep_axis *io);
void sweep_fini(struct sweep *s);

/* If it is not there yet. An exit status. */
int sweep_add(struct sweep *s, int64_t workers, int64_t depth, int64_t io_depth,
              struct sweep_point **out);

/* With the I/O depth that comes first; NULL: there is none. */
const struct sweep_point *sweep_find(const struct sweep *s, int64_t workers,
                                     int64_t depth);

/* Until every point has been measured `rounds` times, Ctrl-C or an error; what
 * was measured stays. An exit status. */
int sweep_measure(struct sweep *s);

/* Takes over what a document of the same settings has measured. A file that is
 * not there is none. An exit status. */
int sweep_resume(struct sweep *s, const char *path);

json_t *sweep_point_json(const struct sweep_point *p);
json_t *sweep_document(const struct sweep *s);
int sweep_save(const struct sweep *s, const char *path);

/* The points as the rule sees them; the caller frees. NULL: no memory. */
struct knee_point *sweep_knee_points(const struct sweep *s);

/* The document for people, on standard output. */
void sweep_text(const json_t *doc);

#endif
