/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/sweep/knee.h"

#include <math.h>
#include <stdio.h>

static bool is_less(const struct knee_point *a, const struct knee_point *b)
{
    if (a->workers != b->workers)
        return a->workers < b->workers;
    if (a->depth != b->depth)
        return a->depth < b->depth;
    return a->io_depth < b->io_depth;
}

size_t knee_fastest(const struct knee_point *points, size_t n)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (!(points[i].rate > 0))
            continue;
        if (best == n || points[i].rate > points[best].rate ||
            (points[i].rate >= points[best].rate &&
             is_less(&points[i], &points[best])))
            best = i;
    }
    return best;
}

static bool is_fed(const struct knee_point *p, const struct knee_rule *rule)
{
    return p->rate > 0 && !isnan(p->stall) && p->stall <= rule->target;
}

size_t knee_find(const struct knee_point *points, size_t n,
                 const struct knee_rule *rule, bool *fed)
{
    size_t best = knee_fastest(points, n), knee = n;
    *fed = false;
    if (best == n)
        return n;
    for (size_t i = 0; i < n && rule->target >= 0; i++)
        *fed = *fed || is_fed(&points[i], rule);
    double enough = points[best].rate * (1 - rule->tolerance);
    for (size_t i = 0; i < n; i++) {
        bool good = *fed ? is_fed(&points[i], rule) : points[i].rate >= enough;
        if (good && points[i].rate > 0 &&
            (knee == n || is_less(&points[i], &points[knee])))
            knee = i;
    }
    return knee;
}

void knee_words(const struct knee_rule *rule, bool fed, char words[KNEE_WORDS])
{
    if (fed)
        snprintf(words, KNEE_WORDS,
                 "the fewest workers, then the smallest depth, with which the "
                 "consumer waits at most %.3g %% of the time",
                 100 * rule->target);
    else
        snprintf(words, KNEE_WORDS,
                 "the fewest workers, then the smallest depth, whose median is "
                 "within %.3g %% of the best%s",
                 100 * rule->tolerance,
                 rule->target >= 0 ? ", as no setting keeps the consumer fed"
                                   : "");
}
