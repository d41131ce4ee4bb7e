/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: soft targets. */
#include "loader/api/api.h"
#include "loader/stream/slot_mix.h"

int32_t feedline_batch_get_targets(const feedline_batch *b,
                                   struct feedline_batch_targets *out)
{
    int32_t status =
        fdl_api_enter_handle(b, b ? b->ring->fork_generation : 0, "batch");
    if (status < 0)
        return status;
    if (b->layout->classes == 0)
        return fdl_fail(FEEDLINE_ESTATE,
                        "the batch has no soft targets: its pipeline has no "
                        "operation mix");
    struct feedline_batch_targets found;
    fdl_slot_targets(b, &found);
    return fdl_copy_out(out, &found, sizeof(found));
}
