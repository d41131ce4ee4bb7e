/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/case/case_emulate.h"

#include "bench/loaderbench/case/case_work.h"
#include "bench/loaderbench/tool.h"

#include <math.h>
#include <stddef.h>

static void give_back(struct emulated_gpu *g)
{
    feedline_batch_release(g->held);
    g->held = NULL;
}

int emulated_gpu_take(void *self, feedline_batch *batch)
{
    struct emulated_gpu *g = self;
    double before = g->computed;
    g->copied = fmax(tool_seconds(), g->copied) + g->copy_ms * 1e-3;
    double start = fmax(g->copied, before);
    g->idle += start - before;
    g->computed = start + g->compute_ms * 1e-3;
    g->steps++;
    case_sleep_until(g->overlapped ? before : g->computed);
    give_back(g);
    g->held = batch;
    if (!g->overlapped)
        give_back(g);
    return TOOL_DONE;
}

void emulated_gpu_drain(struct emulated_gpu *g)
{
    case_sleep_until(g->computed);
    give_back(g);
}

void emulated_gpu_reset(struct emulated_gpu *g)
{
    g->computed = fmax(g->computed, tool_seconds());
    g->begin = g->computed;
    g->steps = 0;
    g->idle = 0;
}

double emulated_gpu_step_ms(const struct emulated_gpu *g)
{
    return g->steps ? 1e3 * (g->computed - g->begin) / (double)g->steps : 0;
}

double emulated_gpu_idle(const struct emulated_gpu *g)
{
    double span = g->computed - g->begin;
    return span > 0 ? g->idle / span : 0;
}
