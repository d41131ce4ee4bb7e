/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the counters of many threads; see total.h. */
#include "profiler/measure/total.h"

#include "base/atomic.h"

#include <math.h>

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
    t->own_ns += fdl_load(&stage->own_ns);
    t->ns_ns += fdl_load(&stage->ns_ns);
    t->bytes_ns += fdl_load(&stage->bytes_ns);
    t->bytes_bytes += fdl_load(&stage->bytes_bytes);
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
    t->own_ns -= before->own_ns;
    t->ns_ns -= before->ns_ns;
    t->bytes_ns -= before->bytes_ns;
    t->bytes_bytes -= before->bytes_bytes;
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
    };
}

/* Least squares of time on size. */
bool fdl_total_read_fit(const struct fdl_total *t, struct fdl_read_fit *out)
{
    double n = (double)t->items;
    if (t->items < FDL_FIT_READS)
        return false;
    double bytes = (double)t->bytes / n, ns = (double)t->own_ns / n;
    double bb = fmax(t->bytes_bytes / n - bytes * bytes, 0);
    double bt = t->bytes_ns / n - bytes * ns;
    double tt = fmax(t->ns_ns / n - ns * ns, 0);
    if (!(sqrt(bb) > FDL_FIT_SPREAD * bytes))
        return false;
    double slope = bt / bb;
    double error = sqrt(fmax(tt - slope * bt, 0) / bb / (n - 2));
    if (error * bytes > FDL_FIT_ERROR * ns) /* of the part that it explains */
        return false;
    out->byte_ns = fmin(fmax(slope, 0), ns / bytes);
    out->fixed_ns = ns - out->byte_ns * bytes;
    out->byte_error_ns = error;
    return true;
}
