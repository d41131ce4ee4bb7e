/* SPDX-License-Identifier: Apache-2.0 */
/* One digit behind the point; see tenths.h. */
#include "base/tenths.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

struct fdl_tenths fdl_tenths(double value)
{
    struct fdl_tenths t;
    uint64_t n = (uint64_t)(fmin(fmax(value, 0), 1e15) * 10 + 0.5);
    snprintf(t.at, sizeof(t.at), "%" PRIu64 ".%u", n / 10, (unsigned)(n % 10));
    return t;
}
