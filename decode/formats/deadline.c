/* SPDX-License-Identifier: Apache-2.0 */
/* The time limit of one image; see deadline.h. */
#include "decode/formats/deadline.h"

#include "base/clock.h"
#include "base/status.h"

#include <inttypes.h>

#define NS_PER_MS 1000000

void fdl_deadline_start(struct fdl_deadline *d, uint32_t limit_ms)
{
    *d = (struct fdl_deadline){.limit_ms = limit_ms};
    if (limit_ms > 0)
        d->end_ns = fdl_now_ns() + (int64_t)limit_ms * NS_PER_MS;
}

int32_t fdl_deadline_check(const struct fdl_deadline *d, int64_t now_ns)
{
    if (d->limit_ms == 0)
        return FEEDLINE_OK;
    if (now_ns == 0)
        now_ns = fdl_now_ns();
    if (now_ns <= d->end_ns)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ERANGE,
                    "the image took longer than the limit of %" PRIu32 " ms",
                    d->limit_ms);
}
