/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions for callbacks of the program: inside a custom operation, on
 * a worker, and inside a read of its own. No error line, no checks. */
#include "decode/custom.h"
#include "loader/read/user_read.h"

#include <feedline/custom_op.h>
#include <feedline/recorded.h>

uint32_t feedline_rng_u32(feedline_rng *rng)
{
    return fdl_rng_u32(&rng->rng);
}

double feedline_rng_uniform(feedline_rng *rng)
{
    return fdl_rng_uniform(&rng->rng);
}

uint32_t feedline_rng_below(feedline_rng *rng, uint32_t n)
{
    return fdl_rng_below(&rng->rng, n);
}

void feedline_op_waited(const struct feedline_op_call *call, int64_t ns)
{
    fdl_custom_waited(call, ns);
}

void *feedline_read_grow(struct feedline_read_call *call, uint64_t bytes)
{
    return fdl_user_read_grow(call, bytes);
}

int32_t feedline_read_fail(struct feedline_read_call *call, int32_t status,
                           const char *reason)
{
    return fdl_user_read_fail(call, status, reason);
}

int32_t feedline_read_is_cancelled(const struct feedline_read_call *call)
{
    return fdl_user_read_is_cancelled(call);
}

void feedline_read_waited(struct feedline_read_call *call, int64_t ns)
{
    fdl_user_read_waited(call, ns);
}

int32_t feedline_read_recorded(struct feedline_read_call *call,
                               const struct feedline_recorded_image *images,
                               uint32_t n)
{
    return fdl_user_read_recorded(call, images, n);
}

int32_t feedline_read_recorded_ahead(
    struct feedline_read_call *call,
    const struct feedline_recorded_image *images, const uint32_t *counts,
    uint32_t samples)
{
    return fdl_user_read_recorded_ahead(call, images, counts, samples);
}
