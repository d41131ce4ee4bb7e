/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: gaps and slow samples. */
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/watch/notable.h"

static int32_t enter(const feedline_loader *l)
{
    return fdl_api_enter_handle(l, l ? l->fork_generation : 0, "loader");
}

int32_t feedline_loader_get_gaps(const feedline_loader *l,
                                 struct feedline_gap_stats *out)
{
    struct feedline_gap_stats gaps;
    int32_t status = enter(l);
    if (status < 0)
        return status;
    fdl_notable_gaps(&l->sources.watch->books, &gaps);
    return fdl_copy_out(out, &gaps, sizeof(gaps));
}

int32_t feedline_loader_slow_count(const feedline_loader *l)
{
    struct feedline_slow_sample slow[FDL_SLOW_KEPT];
    int32_t status = enter(l);
    return status < 0
               ? status
               : (int32_t)fdl_notable_slow(&l->sources.watch->books, slow);
}

int32_t feedline_loader_get_slow(const feedline_loader *l, uint32_t index,
                                 struct feedline_slow_sample *out)
{
    struct feedline_slow_sample slow[FDL_SLOW_KEPT];
    int32_t status = enter(l);
    if (status < 0)
        return status;
    uint32_t n = fdl_notable_slow(&l->sources.watch->books, slow);
    if (index >= n)
        return fdl_fail(FEEDLINE_ERANGE, "slow sample %u: there are %u", index,
                        n);
    return fdl_copy_out(out, &slow[index], sizeof(slow[index]));
}
