/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: an order of the caller's. */
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/order/given.h"
#include "loader/watch/outside.h"

#include <feedline/order.h>

static int32_t enter(const feedline_loader *l)
{
    int32_t status =
        fdl_api_enter_handle(l, l ? l->fork_generation : 0, "loader");
    if (status < 0 || fdl_engine_given(l->engine))
        return status;
    if (l->watch.outside)
        return fdl_outside_refuse();
    return fdl_fail(FEEDLINE_ESTATE,
                    "the loader makes its own order; create it with "
                    "order=given to supply one");
}

int32_t feedline_loader_begin(feedline_loader *l, uint64_t epoch, uint64_t seed,
                              uint64_t position)
{
    int32_t status = enter(l);
    return status < 0 ? status
                      : fdl_loader_begin_given(l, epoch, seed, position);
}

int32_t feedline_loader_append(feedline_loader *l, const uint64_t *indices,
                               const uint32_t *copies, uint32_t count)
{
    int32_t status = enter(l);
    if (status >= 0)
        status = fdl_api_enter(indices, "indices");
    return status < 0 ? status
                      : fdl_consumer_append(l->engine, indices, copies, count);
}

int32_t feedline_loader_end(feedline_loader *l)
{
    int32_t status = enter(l);
    if (status >= 0)
        status = fdl_consumer_check_run(l->engine);
    if (status >= 0)
        fdl_given_end(fdl_engine_given(l->engine));
    return status;
}
