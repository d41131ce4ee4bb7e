/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proportions are applied to running sums and rounded there, so the parts add
 * up to the whole; see busy_split.h.
 */
#include "profiler/measure/busy_split.h"

#include "base/compiler.h"

static int64_t whole(const int64_t part[FDL_BUSY_KINDS])
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < FDL_BUSY_KINDS; i++)
        sum += part[i];
    return sum;
}

/* floor(ns * part / all) for part <= all; a double is exact enough, as the
 * last part gets what is left. */
static int64_t share(int64_t ns, int64_t part, int64_t all)
{
    if (part >= all)
        return ns;
    int64_t s = (int64_t)((double)ns * ((double)part / (double)all));
    return FDL_MAX(0, FDL_MIN(s, ns));
}

/* part[] gets ns in the proportion of weights[], which are not all 0. */
static void divide(int64_t ns, const int64_t weights[FDL_BUSY_KINDS],
                   int64_t part[FDL_BUSY_KINDS])
{
    int64_t all = whole(weights);
    int64_t weight = 0;
    int64_t given = 0;
    for (uint32_t i = 0; i < FDL_BUSY_KINDS; i++) {
        weight += weights[i];
        int64_t until = FDL_MAX(given, share(ns, weight, all));
        part[i] = until - given;
        given = until;
    }
}

void fdl_busy_split_advance(int64_t sum[FDL_BUSY_KINDS],
                            const int64_t guess[FDL_BUSY_KINDS],
                            int64_t delta[FDL_BUSY_KINDS])
{
    int64_t lag[FDL_BUSY_KINDS];
    int64_t growth = whole(guess) - whole(sum);
    for (uint32_t i = 0; i < FDL_BUSY_KINDS; i++) {
        lag[i] = FDL_MAX(0, guess[i] - sum[i]);
        delta[i] = 0;
    }
    if (growth <= 0)
        return;
    divide(growth, lag, delta);
    for (uint32_t i = 0; i < FDL_BUSY_KINDS; i++)
        sum[i] += delta[i];
}

void fdl_busy_split_add(int64_t sum[FDL_BUSY_KINDS], int64_t ns,
                        const int64_t weights[FDL_BUSY_KINDS])
{
    int64_t part[FDL_BUSY_KINDS] = {[FDL_BUSY_CPU] = ns};
    if (ns <= 0)
        return;
    if (whole(weights) > 0)
        divide(ns, weights, part);
    for (uint32_t i = 0; i < FDL_BUSY_KINDS; i++)
        sum[i] += part[i];
}

void fdl_busy_split_guess(int64_t work, int64_t cpu, int64_t runq,
                          int64_t guess[FDL_BUSY_KINDS])
{
    cpu = FDL_MAX(0, FDL_MIN(cpu, work));
    runq = FDL_MAX(0, FDL_MIN(runq, work - cpu));
    guess[FDL_BUSY_CPU] = cpu;
    guess[FDL_BUSY_RUNQ] = runq;
    guess[FDL_BUSY_THROTTLE] = 0;
    guess[FDL_BUSY_SLEEP] = work - cpu - runq;
}

void fdl_busy_split_throttle(int64_t guess[FDL_BUSY_KINDS], int64_t ns)
{
    int64_t part = FDL_MAX(0, FDL_MIN(ns, guess[FDL_BUSY_RUNQ]));
    guess[FDL_BUSY_RUNQ] -= part;
    guess[FDL_BUSY_THROTTLE] += part;
}
