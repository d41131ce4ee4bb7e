/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of the consumer's own time, by name: a stack, and sums. Times are
 * points on the consumer's own clock, which stops while it is in next():
 * nothing need be subtracted from a phase that spans calls of next(), and no
 * instant is counted twice, so the sum of `self` is at most what the clock
 * shows. If a phase is nested in itself, its total counts once.
 */
#ifndef FDL_PROFILER_PHASE_H
#define FDL_PROFILER_PHASE_H

#include <stdint.h>

#define FDL_PHASES_MAX  32u
#define FDL_PHASE_DEPTH 8u
#define FDL_PHASE_NAME  32u /* bytes, with NUL */

struct fdl_phase {
    char name[FDL_PHASE_NAME];
    uint64_t count;
    int64_t total_ns, self_ns, max_ns;
};

struct fdl_open_phase {
    uint32_t index;
    int64_t begin;    /* on the consumer's clock */
    int64_t inner_ns; /* of it, in phases that are inside and over */
    int64_t wall_ns;  /* begin on the machine's clock, for the trace */
};

/* Zeroed memory has no phase. One thread at a time. */
struct fdl_phases {
    struct fdl_phase phases[FDL_PHASES_MAX];
    struct fdl_open_phase open[FDL_PHASE_DEPTH];
    uint32_t n, n_open;
};

/* now: on the consumer's clock. EINVAL for the name, ERANGE for one too many of
 * them or one too deep. */
int32_t fdl_phase_begin(struct fdl_phases *p, const char *name, int64_t now,
                        int64_t wall_ns);

/* ESTATE: none is open. *out: the one that was. */
int32_t fdl_phase_end(struct fdl_phases *p, int64_t now,
                      struct fdl_open_phase *out);

/* Resets the consumer's clock and the sums to 0; names and open phases stay. */
void fdl_phase_reset(struct fdl_phases *p);

/* The phase with the most time of its own; NULL: none has any. */
const struct fdl_phase *fdl_phase_largest(const struct fdl_phases *p);

/* The one that has most each time, such as a checkpoint; NULL as above. */
const struct fdl_phase *fdl_phase_longest(const struct fdl_phases *p);

#endif
