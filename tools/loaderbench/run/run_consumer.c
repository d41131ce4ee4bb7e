/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On the host a step sleeps to a point X ms after the delivery. Like a training
 * loop that waits for its GPU it needs no CPU, and what the tool itself does
 * with the batch (hashing) is part of the X.
 *
 * On a GPU it does what a training loop does: the stream waits for the copy,
 * kernels of X ms are queued behind that, and the batch is given back at once.
 * A GPU that runs none of the library's kernels has the host sleep instead.
 */
#include "tools/loaderbench/run/run_consumer.h"

#include "tools/loaderbench/tool.h"

#include <string.h>

#define BUSY_MS_MAX 10000 /* of one kernel of feedline_busy_work */

int run_consumer_init(struct run_consumer *c, const char *device, double ms)
{
    *c = (struct run_consumer){.ms = ms};
    if (strcmp(device, "host") == 0)
        return TOOL_DONE;
    if (ms > BUSY_MS_MAX) {
        tool_say("--consumer-ms is %d at most with --device %s", BUSY_MS_MAX,
                 device);
        return TOOL_USAGE;
    }
    int32_t status = feedline_busy_create(device, &c->busy);
    if (status < 0)
        return tool_setup_failed(status);
    c->sleeps = ms > 0 && feedline_busy_work(c->busy, 0) < 0;
    if (c->sleeps)
        tool_say("steps sleep on the host: %s", feedline_last_error());
    return TOOL_DONE;
}

void run_consumer_fini(struct run_consumer *c)
{
    feedline_busy_destroy(c->busy);
    c->busy = NULL;
}

int run_consumer_join(const struct run_consumer *c, feedline_loader *l)
{
    int32_t status = FEEDLINE_OK;
    if (c->busy)
        status = feedline_loader_set_stream(l, feedline_busy_stream(c->busy));
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

int run_consumer_work(struct run_consumer *c, feedline_batch *batch,
                      double delivered)
{
    if ((!c->busy || c->sleeps) && c->ms > 0)
        tool_sleep_until(delivered + c->ms * 1e-3);
    if (!c->busy)
        return TOOL_DONE;
    int32_t status = feedline_batch_wait(batch, feedline_busy_stream(c->busy));
    if (status >= 0 && c->ms > 0 && !c->sleeps)
        status = feedline_busy_work(c->busy, (int64_t)(c->ms * 1e6));
    if (status >= 0 && c->in_series)
        status = feedline_busy_wait(c->busy);
    return status < 0 ? tool_run_failed(status) : TOOL_DONE;
}

int run_consumer_take(struct run_consumer *c, feedline_batch *batch,
                      double delivered)
{
    int rc = run_consumer_work(c, batch, delivered);
    feedline_batch_release(batch);
    return rc;
}

int run_consumer_drain(struct run_consumer *c)
{
    int32_t status = c->busy ? feedline_busy_wait(c->busy) : FEEDLINE_OK;
    return status < 0 ? tool_run_failed(status) : TOOL_DONE;
}
