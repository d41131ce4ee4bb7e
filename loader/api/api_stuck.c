/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: workers that hang. */
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/watch/stuck.h"

int32_t feedline_loader_get_stuck(const feedline_loader *l, uint32_t index,
                                  struct feedline_stuck_worker *out)
{
    struct feedline_stuck_worker found;
    int32_t status =
        fdl_api_enter_handle(l, l ? l->fork_generation : 0, "loader");
    if (status < 0)
        return status;
    status = fdl_stuck_get(l->engine, index, &found);
    if (status != FEEDLINE_OK)
        return status;
    return fdl_copy_out(out, &found, sizeof(found));
}
