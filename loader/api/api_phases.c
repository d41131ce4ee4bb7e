/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: the consumer's phases. */
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/watch/phases.h"

static int32_t enter(const feedline_loader *l)
{
    return fdl_api_enter_handle(l, l ? l->fork_generation : 0, "loader");
}

int32_t feedline_loader_phase_begin(feedline_loader *l, const char *name)
{
    int32_t status = enter(l);
    if (status >= 0)
        status = fdl_api_enter(name, "name");
    return status < 0 ? status : fdl_phases_begin(&l->watch, name);
}

int32_t feedline_loader_phase_end(feedline_loader *l)
{
    int32_t status = enter(l);
    return status < 0 ? status : fdl_phases_end(&l->watch);
}

int32_t feedline_loader_phase_count(const feedline_loader *l)
{
    int32_t status = enter(l);
    if (status < 0)
        return status;
    return (int32_t)fdl_phases_count(l->sources.watch);
}

int32_t feedline_loader_get_phase(const feedline_loader *l, uint32_t index,
                                  struct feedline_phase_stats *out)
{
    struct feedline_phase_stats stats;
    int32_t status = enter(l);
    if (status >= 0)
        status = fdl_phases_get(l->sources.watch, index, &stats);
    return status < 0 ? status : fdl_copy_out(out, &stats, sizeof(stats));
}
