/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: loaders of other processes, watched. */
#include "loader/api/api.h"
#include "loader/report/metrics.h"
#include "loader/watch/live_reader.h"

int32_t feedline_live_list(uint32_t index, struct feedline_live_info *out)
{
    struct feedline_live_info info;
    int32_t status = fdl_api_enter(out, "out");
    if (status >= 0)
        status = fdl_check_out(out);
    if (status >= 0)
        status = fdl_live_list(index, &info);
    return status == FEEDLINE_OK ? fdl_copy_out(out, &info, sizeof(info))
                                 : status;
}

int32_t feedline_live_attach(int32_t pid, uint32_t loader, feedline_live **out)
{
    int32_t status = fdl_api_enter_out(out);
    return status < 0 ? status : fdl_live_attach(pid, loader, out);
}

int32_t feedline_live_read(feedline_live *live, struct feedline_live_stats *out)
{
    struct feedline_live_stats stats;
    int32_t status = fdl_api_enter_handle(
        live, live ? live->fork_generation : 0, "live view");
    if (status >= 0)
        status = fdl_check_out(out);
    if (status >= 0)
        status = fdl_live_read(live, &stats);
    if (status < 0)
        return status;
    int32_t copied = fdl_copy_out(out, &stats, sizeof(stats));
    return copied < 0 ? copied : status;
}

int32_t feedline_live_metrics(feedline_live *live, char *buf, uint64_t capacity,
                              uint64_t *needed)
{
    struct feedline_live_stats stats;
    struct fdl_text text = {0};
    int32_t status = fdl_api_enter_handle(
        live, live ? live->fork_generation : 0, "live view");
    if (status >= 0)
        status = fdl_live_read(live, &stats);
    if (status != FEEDLINE_OK)
        return status;
    stats.pid = live->pid; /* as this process sees it, not as the page says */
    fdl_metrics_write_page(&stats, live->page->loader, &text);
    status = fdl_text_copy_out(&text, buf, capacity, needed);
    fdl_text_free(&text);
    return status;
}

void feedline_live_detach(feedline_live *live)
{
    if (live && live->fork_generation == fdl_fork_generation())
        fdl_live_detach(live);
}
