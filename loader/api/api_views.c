/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: views by chains of their own. */
#include "decode/pipeline.h"
#include "loader/api/api.h"
#include "loader/stream/ring.h"

#include <feedline/views.h>

#include <inttypes.h>

static int32_t enter(const feedline_pipeline *p, const char *what)
{
    return fdl_api_enter_handle(p, p ? p->fork_generation : 0, what);
}

int32_t feedline_pipeline_add_views(feedline_pipeline *p,
                                    const feedline_pipeline *chain,
                                    uint32_t count)
{
    int32_t status = enter(p, "pipeline");
    if (status >= 0)
        status = enter(chain, "chain");
    if (status >= 0 && p == chain)
        return fdl_fail(FEEDLINE_EINVAL, "a pipeline is no chain of itself");
    return status < 0
               ? status
               : fdl_pipeline_add_views(p->pipeline, chain->pipeline, count);
}

int32_t feedline_batch_get_view(const feedline_batch *b, uint32_t view,
                                struct feedline_tensor *out)
{
    int32_t status =
        fdl_api_enter_handle(b, b ? b->ring->fork_generation : 0, "batch");
    if (status >= 0)
        status = fdl_api_enter(out, "out");
    if (status < 0)
        return status;
    if (fdl_layout_is_various(b->layout))
        return fdl_fail(FEEDLINE_EINVAL,
                        "a ragged batch (max_sample_bytes) is not one tensor; "
                        "image_offset and image_size locate each image");
    if (view >= b->layout->views)
        return fdl_fail(FEEDLINE_ERANGE,
                        "there is no view %" PRIu32 " of %" PRIu32
                        "; views count from 0",
                        view, b->layout->views);
    fdl_slot_tensor(b, FEEDLINE_VIEW + view, out);
    return FEEDLINE_OK;
}
