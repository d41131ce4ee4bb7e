/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank of a training the others wait for, and whether its loader is why.
 *
 * Ranks that exchange gradients wait for each other in every step, so all of
 * them are as slow as the slowest, and each sees it as time of its own: the
 * step times say little. What tells is the wait for data, which no other rank
 * can cause. A rank that waits clearly longer for it than most is the
 * straggler, and its loader the reason, unless another one computes longer by
 * more than that. If none does, but one is slower, something else on it is.
 */
#ifndef LOADERBENCH_STRAGGLER_H
#define LOADERBENCH_STRAGGLER_H

#include <stdbool.h>
#include <stddef.h>

/* Of one rank, ms of a step. */
struct straggler_times {
    double step, wait; /* for data */
    double busy; /* neither waiting for data nor for other ranks; NAN: what it
                    waits for them is not known */
};

struct straggler {
    size_t at; /* which one; as many as there are: none */
    bool loader_at_fault;
    double by; /* ms more than usual, that the others lose */
};

struct straggler straggler_find(const struct straggler_times *ranks, size_t n);

#endif
