/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: the trace. */
#include "loader/api/api.h"
#include "loader/engine.h"

int32_t feedline_loader_trace_save(feedline_loader *l, const char *path)
{
    int32_t status =
        fdl_api_enter_handle(l, l ? l->fork_generation : 0, "loader");
    if (status >= 0)
        status = fdl_api_enter(path, "path");
    return status < 0 ? status : fdl_tracing_save(l, path);
}
