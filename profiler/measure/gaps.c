/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps in the consumer's steps; see gaps.h. */
#include "profiler/measure/gaps.h"

#include "base/compiler.h"

/* The number of distances needed, and how many of four agree. */
#define LEAST_DISTANCES 3u
#define AGREE_OF_FOUR   3u
#define STRONG          0.5 /* of a rhythm in the series: half of its power */

static bool sticks_out(int64_t step_ns, int64_t median)
{
    return step_ns - median > FDL_GAP_LONGER_NS &&
           step_ns / FDL_GAP_FACTOR > median;
}

/* Whether the step is worth the true median. */
static bool may_stick_out(struct fdl_gaps *g, int64_t step_ns)
{
    if (step_ns <= FDL_GAP_LONGER_NS || g->steps.n < FDL_GAP_KNOWN)
        return false;
    int64_t recent =
        fdl_series_recent_median(&g->steps, FDL_GAP_WINDOW, &g->median);
    return sticks_out(step_ns, recent / 2);
}

static void count_gap(struct fdl_gaps *g, int64_t step_ns, int64_t median)
{
    uint64_t at = g->steps.n;
    if (g->count++ > 0)
        g->distance[g->n_distances++ % FDL_GAP_DISTANCES] = at - g->last;
    g->last = at;
    g->total_ns += step_ns - median;
    g->longest_ns = FDL_MAX(g->longest_ns, step_ns);
}

FDL_HOT bool fdl_gaps_add(struct fdl_gaps *g, int64_t step_ns)
{
    bool gap = false;
    if (may_stick_out(g, step_ns)) {
        int64_t median =
            fdl_series_new_median(&g->steps, FDL_GAP_WINDOW, &g->median);
        gap = sticks_out(step_ns, median);
        if (gap)
            count_gap(g, step_ns, median);
    }
    fdl_series_add(&g->steps, step_ns);
    return gap;
}

static uint64_t off(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* How many of n are as far as `distance`, to a step or 2 %. */
static uint32_t count_near(const uint64_t *all, uint32_t n, uint64_t distance)
{
    uint64_t slack = FDL_MAX(distance / 50, UINT64_C(1));
    uint32_t near = 0;
    for (uint32_t i = 0; i < n; i++)
        near += off(all[i], distance) <= slack;
    return near;
}

/* The distance that most others are close to. */
static uint64_t common_distance(const struct fdl_gaps *g, uint32_t *agree,
                                uint32_t *n)
{
    uint64_t best = 0;
    *n = (uint32_t)FDL_MIN(g->n_distances, (uint64_t)FDL_GAP_DISTANCES);
    *agree = 0;
    for (uint32_t i = 0; i < *n; i++) {
        uint32_t near = count_near(g->distance, *n, g->distance[i]);
        if (near > *agree) {
            *agree = near;
            best = g->distance[i];
        }
    }
    return best;
}

uint32_t fdl_gaps_period(const struct fdl_gaps *g)
{
    uint32_t agree, n;
    double strength = 0;
    uint64_t distance = common_distance(g, &agree, &n);
    if (n >= LEAST_DISTANCES && 4 * agree >= AGREE_OF_FOUR * n)
        return (uint32_t)FDL_MIN(distance, (uint64_t)UINT32_MAX);
    if (n < LEAST_DISTANCES)
        return 0;
    uint32_t period = fdl_series_period(&g->steps, &strength);
    return strength >= STRONG ? period : 0;
}

/* The fraction of the last `span_ns` in which the group was throttled. The
 * kernel counts each stopped core. */
static double throttled_part(const struct fdl_gap_throttle *t, int64_t span_ns)
{
    uint64_t last = t->n - 1;
    uint64_t oldest = t->n > FDL_GAP_LOOKS ? t->n - FDL_GAP_LOOKS : 0;
    int64_t now = t->looks[last % FDL_GAP_LOOKS].time_ns;
    uint64_t from = last;
    while (from > oldest &&
           (from == last ||
            now - t->looks[from % FDL_GAP_LOOKS].time_ns < span_ns))
        from--;
    double span = (double)(now - t->looks[from % FDL_GAP_LOOKS].time_ns);
    double stopped = (double)(t->looks[last % FDL_GAP_LOOKS].throttled_ns -
                              t->looks[from % FDL_GAP_LOOKS].throttled_ns);
    if (!(span > 0) || !(stopped > 0))
        return 0;
    double cores = 1;
    while (cores * span < stopped)
        cores++;
    return stopped / span / cores;
}

void fdl_gap_throttle_look(struct fdl_gap_throttle *t, int64_t now_ns,
                           uint64_t throttled_ns, int64_t gap_ns)
{
    int64_t more = gap_ns - t->gap_ns;
    t->looks[t->n % FDL_GAP_LOOKS].time_ns = now_ns;
    t->looks[t->n % FDL_GAP_LOOKS].throttled_ns = throttled_ns;
    t->n++;
    t->gap_ns = gap_ns;
    if (more > 0)
        t->quota_ns += (int64_t)((double)more * throttled_part(t, more));
}
