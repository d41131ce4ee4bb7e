/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches for which the consumer waited far longer than usual: more than 3
 * times the median wait and 1 ms. The last 32 are kept, with what is known of
 * the cause. The median is computed as in gaps.h.
 */
#ifndef FDL_PROFILER_OUTLIERS_H
#define FDL_PROFILER_OUTLIERS_H

#include "profiler/measure/ledger.h"
#include "profiler/measure/rhythm.h"

#include <stdbool.h>
#include <stdint.h>

#define FDL_OUTLIERS_KEPT     32u
#define FDL_OUTLIER_FACTOR    3
#define FDL_OUTLIER_LONGER_NS INT64_C(1000000)
#define FDL_OUTLIER_WINDOW    256u /* waits that the median is of */
#define FDL_OUTLIER_KNOWN     8u   /* waits before there can be one */

struct fdl_outlier {
    uint64_t epoch, sequence;
    int64_t wait_ns;
    enum fdl_bucket bucket; /* the largest of the wait; FDL_BUCKETS: none is
                               known */
    int64_t bucket_ns;
    int64_t alone_ns; /* of the wait, for one sample alone */
    uint64_t index;   /* of that sample in the data set */
    const char *path; /* its path; NULL: not due to one sample */
};

/* Zeroed memory is empty. */
struct fdl_outliers {
    struct fdl_series waits;
    struct fdl_median median;
    uint64_t count; /* ever; the last are at count - 1 and below, modulo */
    struct fdl_outlier kept[FDL_OUTLIERS_KEPT];
};

/* Adds the wait for a batch, which may be 0. true: it is an outlier, and the
 * caller describes it with fdl_outliers_keep. */
bool fdl_outliers_add(struct fdl_outliers *o, int64_t wait_ns);
void fdl_outliers_keep(struct fdl_outliers *o, const struct fdl_outlier *batch);

/* The i-th kept one, oldest first; NULL past the end. */
const struct fdl_outlier *fdl_outliers_get(const struct fdl_outliers *o,
                                           uint32_t i);

/* The bucket that took most between two states of a ledger. */
enum fdl_bucket fdl_largest_bucket(const struct fdl_ledger *before,
                                   const struct fdl_ledger *after, int64_t *ns);

#endif
