/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: what copies to a device cost. */
#include "loader/api/api.h"
#include "profiler/measure/copy_fit.h"

#include <feedline/bench.h>

int32_t feedline_copy_fit(const uint64_t *bytes, const double *us, uint32_t n,
                          struct feedline_copy_fit *out)
{
    struct fdl_copy_fit fit;
    int32_t status = fdl_api_enter(bytes, "bytes");
    if (status >= 0)
        status = fdl_api_enter(us, "us");
    if (status >= 0)
        status = fdl_copy_fit(bytes, us, n, &fit);
    if (status < 0)
        return status;
    struct feedline_copy_fit found = {
        .latency_us = fit.latency_us,
        .gigabytes_per_second = fit.gigabytes_per_second,
        .half_bytes = fit.half_bytes,
        .worst_error = fit.worst_error,
    };
    return fdl_copy_out(out, &found, sizeof(found));
}
