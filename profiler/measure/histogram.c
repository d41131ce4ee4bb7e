/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bucket arithmetic. A value of at least 32 is a shift and five bits below its
 * leading one:
 *
 *     value   1 m m m m m x x x x     shift = bits - 6 = 4
 *     index   (shift + 1) * 32 + mmmmm
 *
 * and values below 32 are their own index, which is the same formula continued
 * downwards. A bucket is 2^shift wide and starts at (32 + m) * 2^shift, so it
 * is at most 1/32 of what it holds.
 */
#include "profiler/measure/histogram.h"

#include "base/compiler.h"

#define SUB_BUCKETS (1u << FDL_HISTOGRAM_SUB_BITS)
#define LAST_BUCKET (FDL_HISTOGRAM_BUCKETS - 1u)

static uint32_t top_bit(uint64_t value)
{
    uint32_t bit = 0;
    for (uint32_t step = 32; step > 0; step /= 2) {
        if (value >> step) {
            value >>= step;
            bit += step;
        }
    }
    return bit;
}

static uint32_t bucket_of(int64_t value)
{
    if (value < (int64_t)SUB_BUCKETS)
        return value < 0 ? 0 : (uint32_t)value;
    if (value >> FDL_HISTOGRAM_MAX_BITS)
        return LAST_BUCKET;
    uint32_t shift = top_bit((uint64_t)value) - FDL_HISTOGRAM_SUB_BITS;
    return (shift << FDL_HISTOGRAM_SUB_BITS) + (uint32_t)(value >> shift);
}

/* The largest value that falls into the bucket. */
static int64_t upper_edge(uint32_t bucket)
{
    if (bucket < SUB_BUCKETS)
        return bucket;
    uint32_t shift = (bucket >> FDL_HISTOGRAM_SUB_BITS) - 1;
    int64_t leading = SUB_BUCKETS + bucket % SUB_BUCKETS;
    return ((leading + 1) << shift) - 1;
}

static uint32_t count_of(const struct fdl_histogram *h, uint32_t bucket)
{
    return atomic_load_explicit(&h->count[bucket], memory_order_relaxed);
}

static int64_t max_of(const struct fdl_histogram *h)
{
    return atomic_load_explicit(&h->max, memory_order_relaxed);
}

static void add_count(struct fdl_histogram *h, uint32_t bucket, uint32_t n)
{
    atomic_store_explicit(&h->count[bucket], count_of(h, bucket) + n,
                          memory_order_relaxed);
}

static void raise_max(struct fdl_histogram *h, int64_t value)
{
    if (value > max_of(h))
        atomic_store_explicit(&h->max, value, memory_order_relaxed);
}

FDL_HOT void fdl_histogram_add(struct fdl_histogram *h, int64_t value)
{
    add_count(h, bucket_of(value), 1);
    raise_max(h, value);
}

void fdl_histogram_merge(struct fdl_histogram *into,
                         const struct fdl_histogram *from)
{
    for (uint32_t i = 0; i < FDL_HISTOGRAM_BUCKETS; i++) {
        uint32_t n = count_of(from, i);
        if (n > 0)
            add_count(into, i, n);
    }
    raise_max(into, max_of(from));
}

void fdl_histogram_subtract(struct fdl_histogram *h,
                            const struct fdl_histogram *before)
{
    int64_t max = 0;
    for (uint32_t i = 0; i < FDL_HISTOGRAM_BUCKETS; i++) {
        uint32_t left = count_of(h, i) - count_of(before, i);
        atomic_store_explicit(&h->count[i], left, memory_order_relaxed);
        if (left > 0)
            max = i == LAST_BUCKET ? max_of(h) : upper_edge(i);
    }
    atomic_store_explicit(&h->max, FDL_MIN(max, max_of(h)),
                          memory_order_relaxed);
}

uint64_t fdl_histogram_total(const struct fdl_histogram *h)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < FDL_HISTOGRAM_BUCKETS; i++)
        total += count_of(h, i);
    return total;
}

/* ceil(q * total), in 1 .. total, without libm. */
static uint64_t rank_of(double q, uint64_t total)
{
    double exact = q * (double)total;
    if (!(exact > 1))
        return 1;
    if (exact >= (double)total)
        return total;
    uint64_t rank = (uint64_t)exact;
    return (double)rank < exact ? rank + 1 : rank;
}

int64_t fdl_histogram_quantile(const struct fdl_histogram *h, double q)
{
    uint64_t total = fdl_histogram_total(h);
    if (total == 0)
        return 0;
    uint64_t rank = rank_of(q, total);
    uint64_t seen = 0;
    int64_t max = max_of(h);
    for (uint32_t i = 0; i < LAST_BUCKET; i++) {
        seen += count_of(h, i);
        if (seen >= rank)
            return FDL_MIN(upper_edge(i), max);
    }
    /* The last bucket is open above: max is the only edge it has. */
    return max;
}
