/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a copy takes: us = latency + bytes / bandwidth. Small copies cost
 * their latency, large ones their bytes; the border between the two regimes is
 * where both are equal, at latency * bandwidth bytes. The line is fitted by
 * least squares of relative errors, that is with weights 1 / us^2: times span
 * five decades, and in plain least squares the largest copies, whose noise
 * exceeds the whole latency, would decide alone. If the best line has a
 * negative latency, the best one through 0 is used.
 */
#ifndef FDL_PROFILER_COPY_FIT_H
#define FDL_PROFILER_COPY_FIT_H

#include <stdint.h>

struct fdl_copy_fit {
    double latency_us;
    double gigabytes_per_second; /* 1e9 bytes */
    double half_bytes;           /* latency * bandwidth */
    double worst_error;          /* of a point, relative to its time */
};

/* n points. EINVAL: fewer than two sizes, a time that is not above 0 and
 * finite, or times that do not grow with the sizes. Any thread. */
int32_t fdl_copy_fit(const uint64_t *bytes, const double *us, uint32_t n,
                     struct fdl_copy_fit *out);

/* The regime of a copy on such a bus: "bandwidth" or "latency"; "" if
 * gigabytes_per_second is 0, not measured. Static. */
const char *fdl_copy_regime(double latency_us, double gigabytes_per_second,
                            uint64_t bytes);

#endif
