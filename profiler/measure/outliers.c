/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that were waited for far longer than most; see outliers.h. */
#include "profiler/measure/outliers.h"

#include "base/compiler.h"

#include <stddef.h>

static bool sticks_out(int64_t wait_ns, int64_t median)
{
    return (wait_ns - FDL_OUTLIER_LONGER_NS) / FDL_OUTLIER_FACTOR > median;
}

/* Whether the wait is worth the true median. */
static bool may_stick_out(struct fdl_outliers *o, int64_t wait_ns)
{
    if (wait_ns <= FDL_OUTLIER_LONGER_NS || o->waits.n < FDL_OUTLIER_KNOWN)
        return false;
    return sticks_out(wait_ns, fdl_series_recent_median(
                                   &o->waits, FDL_OUTLIER_WINDOW, &o->median) /
                                   2);
}

FDL_HOT bool fdl_outliers_add(struct fdl_outliers *o, int64_t wait_ns)
{
    bool out = false;
    if (may_stick_out(o, wait_ns))
        out = sticks_out(
            wait_ns,
            fdl_series_new_median(&o->waits, FDL_OUTLIER_WINDOW, &o->median));
    fdl_series_add(&o->waits, wait_ns);
    return out;
}

void fdl_outliers_keep(struct fdl_outliers *o, const struct fdl_outlier *batch)
{
    o->kept[o->count++ % FDL_OUTLIERS_KEPT] = *batch;
}

const struct fdl_outlier *fdl_outliers_get(const struct fdl_outliers *o,
                                           uint32_t i)
{
    uint64_t n = FDL_MIN(o->count, (uint64_t)FDL_OUTLIERS_KEPT);
    if (i >= n)
        return NULL;
    return &o->kept[(o->count - n + i) % FDL_OUTLIERS_KEPT];
}

enum fdl_bucket fdl_largest_bucket(const struct fdl_ledger *before,
                                   const struct fdl_ledger *after, int64_t *ns)
{
    enum fdl_bucket most = FDL_BUCKET_WAKE;
    int64_t longest = -1;
    for (uint32_t i = 0; i < FDL_BUCKETS; i++) {
        int64_t length = after->ns[i] - before->ns[i];
        if (length > longest) {
            longest = length;
            most = (enum fdl_bucket)i;
        }
    }
    *ns = longest;
    return most;
}
