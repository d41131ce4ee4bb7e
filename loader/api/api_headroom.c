/* SPDX-License-Identifier: Apache-2.0 */
/* Public function: what would be gained, and what each stage could do alone. */
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/report/stats_json.h"

int32_t feedline_loader_get_headroom(const feedline_loader *l,
                                     struct feedline_headroom *out)
{
    struct feedline_headroom headroom;
    int32_t status =
        fdl_api_enter_handle(l, l ? l->fork_generation : 0, "loader");
    if (status < 0)
        return status;
    fdl_notable_headroom(&l->sources, &headroom);
    return fdl_copy_out(out, &headroom, sizeof(headroom));
}
