/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second in which the depth was raised belongs to neither side: reads that
 * were sent before it end in it.
 *
 * Two kinds of reads are two heaps of the histogram, in octaves of time, with a
 * valley between them of at most a tenth of the lower heap. The slow one must
 * be 8 times as slow and above 50 us, which no copy out of the page cache of a
 * usual file takes; each has at least a fiftieth of the reads.
 */
#include "profiler/measure/read_history.h"

#include "base/compiler.h"

#define OCTAVES     (FDL_HISTOGRAM_MAX_BITS + 1)
#define DEVICE_NS   50000
#define APART       3    /* octaves */
#define VALLEY      0.1  /* of the lower heap */
#define LEAST_PART  0.02 /* of all reads, in each heap */
#define LEAST_READS 100u

/* Of several seconds: a burst out of a cache says little. */
static void add_rate(struct fdl_read_history *h)
{
    if (h->n <= FDL_READ_AROUND)
        return;
    const struct fdl_read_sums *to = &h->seconds[(h->n - 1) % FDL_READ_SECONDS];
    const struct fdl_read_sums *from =
        &h->seconds[(h->n - 1 - FDL_READ_AROUND) % FDL_READ_SECONDS];
    double span = (double)(to->time_ns - from->time_ns);
    if (!(span > 0) || to->bytes < from->bytes)
        return;
    h->rate_now = (double)(to->bytes - from->bytes) * 1e9 / span;
}

void fdl_read_history_add(struct fdl_read_history *h,
                          const struct fdl_read_sums *now)
{
    h->seconds[h->n++ % FDL_READ_SECONDS] = *now;
    add_rate(h);
}

static const struct fdl_read_sums *at(const struct fdl_read_history *h,
                                      uint64_t i)
{
    return &h->seconds[i % FDL_READ_SECONDS];
}

/* Bytes per second and mean time of a read between two moments. */
static bool between(const struct fdl_read_history *h, uint64_t from,
                    uint64_t to, double *rate, double *latency)
{
    const struct fdl_read_sums *a = at(h, from);
    const struct fdl_read_sums *b = at(h, to);
    if (b->time_ns <= a->time_ns || b->items <= a->items ||
        b->bytes <= a->bytes)
        return false;
    *rate = (double)(b->bytes - a->bytes) / (double)(b->time_ns - a->time_ns);
    *latency =
        (double)(b->busy_ns - a->busy_ns) / (double)(b->items - a->items);
    return true;
}

bool fdl_read_history_growth(const struct fdl_read_history *h, double *rate,
                             double *latency)
{
    uint64_t oldest = h->n > FDL_READ_SECONDS ? h->n - FDL_READ_SECONDS : 0;
    uint64_t raised = h->n;
    double rates[2];
    double times[2];
    /* seconds[raised] is the first sum that was taken at the new depth. */
    while (raised > oldest + 1 &&
           (raised == h->n || at(h, raised)->depth <= at(h, raised - 1)->depth))
        raised--;
    if (raised <= oldest + 1 || raised + 1 >= h->n)
        return false;
    uint64_t before = raised - 1;
    uint64_t first = before - FDL_MIN(before - oldest, FDL_READ_AROUND);
    uint64_t last = FDL_MIN(h->n - 1, raised + FDL_READ_AROUND);
    if (!between(h, first, before, &rates[0], &times[0]) ||
        !between(h, raised, last, &rates[1], &times[1]) || !(times[0] > 0))
        return false;
    *rate = rates[1] / rates[0] - 1;
    *latency = times[1] / times[0] - 1;
    return true;
}

/* ---- Two kinds of reads ------------------------------------------------- */

/* Index of the octave that a bucket lies in. */
static uint32_t octave_of(uint32_t bucket)
{
    return bucket >> FDL_HISTOGRAM_SUB_BITS;
}

/* The lower edge of an octave of the histogram, ns. */
static double edge(uint32_t octave)
{
    return octave == 0
               ? 0
               : (double)(UINT64_C(1) << (octave + FDL_HISTOGRAM_SUB_BITS - 1));
}

static uint32_t highest(const uint64_t count[OCTAVES], uint32_t from,
                        uint32_t to)
{
    uint32_t best = from;
    for (uint32_t i = from; i < to; i++)
        if (count[i] > count[best])
            best = i;
    return best;
}

static double part_above(const uint64_t count[OCTAVES], uint32_t split,
                         double total)
{
    uint64_t sum = 0;
    for (uint32_t i = split; i < OCTAVES; i++)
        sum += count[i];
    return (double)sum / total;
}

double fdl_cold_fraction(const struct fdl_histogram *times)
{
    uint64_t count[OCTAVES] = {0};
    uint64_t total = 0;
    for (uint32_t i = 0; i < FDL_HISTOGRAM_BUCKETS; i++) {
        uint32_t n =
            atomic_load_explicit(&times->count[i], memory_order_relaxed);
        count[octave_of(i)] += n;
        total += n;
    }
    if (total < LEAST_READS)
        return -1;
    for (uint32_t valley = 1; valley + 1 < OCTAVES; valley++) {
        uint32_t fast = highest(count, 0, valley);
        uint32_t slow = highest(count, valley + 1, OCTAVES);
        uint64_t lower = FDL_MIN(count[fast], count[slow]);
        double cold = part_above(count, valley + 1, (double)total);
        if (slow - fast >= APART && edge(slow) >= DEVICE_NS &&
            (double)count[valley] <= VALLEY * (double)lower &&
            cold >= LEAST_PART && cold <= 1 - LEAST_PART)
            return cold;
    }
    return -1;
}
