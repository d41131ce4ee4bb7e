/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the counters of many threads; see total.h. */
#include "profiler/measure/total.h"

#include "base/atomic.h"

void fdl_total_add(struct fdl_total *t, const struct fdl_stage *stage)
{
    t->threads++;
    t->items += fdl_load(&stage->items);
    t->bytes += fdl_load(&stage->bytes);
    t->errors += fdl_load(&stage->errors);
    t->busy_ns += fdl_load(&stage->busy_ns);
    t->starved_ns += fdl_load(&stage->starved_ns);
    t->blocked_ns += fdl_load(&stage->blocked_ns);
    t->clock_reads += fdl_load(&stage->clock_reads);
    t->unpack_ns += fdl_load(&stage->unpack_ns);
    t->huffman_ns += fdl_load(&stage->huffman_ns);
    t->transform_ns += fdl_load(&stage->transform_ns);
    t->own_ns += fdl_load(&stage->own_ns);
    t->storage_bytes += fdl_load(&stage->storage_bytes);
    for (int i = 0; i < FDL_READ_FACTORS; i++)
        for (int j = i; j < FDL_READ_FACTORS; j++)
            t->products.of[i][j] += fdl_load(&stage->products[i][j]);
    fdl_histogram_merge(&t->times, &stage->times);
}

void fdl_total_subtract(struct fdl_total *t, const struct fdl_total *before)
{
    t->items -= before->items;
    t->bytes -= before->bytes;
    t->errors -= before->errors;
    t->busy_ns -= before->busy_ns;
    t->starved_ns -= before->starved_ns;
    t->blocked_ns -= before->blocked_ns;
    t->clock_reads -= before->clock_reads;
    t->unpack_ns -= before->unpack_ns;
    t->huffman_ns -= before->huffman_ns;
    t->transform_ns -= before->transform_ns;
    t->own_ns -= before->own_ns;
    t->storage_bytes -= before->storage_bytes;
    for (int i = 0; i < FDL_READ_FACTORS; i++)
        for (int j = i; j < FDL_READ_FACTORS; j++)
            t->products.of[i][j] -= before->products.of[i][j];
    fdl_histogram_subtract(&t->times, &before->times);
}

void fdl_total_report(const struct fdl_total *t,
                      struct feedline_stage_stats *out)
{
    *out = (struct feedline_stage_stats){
        .struct_size = sizeof(*out),
        .threads = t->threads,
        .items = t->items,
        .bytes = t->bytes,
        .errors = t->errors,
        .busy_ns = t->busy_ns,
        .starved_ns = t->starved_ns,
        .blocked_ns = t->blocked_ns,
        .p50_ns = (uint64_t)fdl_histogram_quantile(&t->times, 0.50),
        .p90_ns = (uint64_t)fdl_histogram_quantile(&t->times, 0.90),
        .p99_ns = (uint64_t)fdl_histogram_quantile(&t->times, 0.99),
        .max_ns = (uint64_t)fdl_histogram_quantile(&t->times, 1.0),
        .storage_bytes = (int64_t)t->storage_bytes,
        .unpack_ns = (int64_t)t->unpack_ns,
        .transform_ns = (int64_t)t->transform_ns,
    };
}
