/* SPDX-License-Identifier: Apache-2.0 */
/* Orders as one rank sees them, for tests. */
#ifndef FDL_TESTS_INDEX_AT_H
#define FDL_TESTS_INDEX_AT_H

#include "loader/order/sampler.h"

/* At a position of this rank, in an epoch that is delivered from its start. */
static inline uint64_t index_at(const struct fdl_sampler *s, uint64_t epoch,
                                uint64_t position)
{
    return fdl_sampler_index(s, epoch, fdl_sampler_place(s, position));
}

#endif
