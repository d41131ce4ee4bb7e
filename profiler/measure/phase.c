/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of the consumer's own time; see phase.h. */
#include "profiler/measure/phase.h"

#include "base/compiler.h"
#include "base/status.h"

#include <string.h>

/* The phase of that name, or n. */
static uint32_t find(const struct fdl_phases *p, const char *name)
{
    uint32_t i = 0;
    while (i < p->n && strcmp(p->phases[i].name, name) != 0)
        i++;
    return i;
}

int32_t fdl_phase_begin(struct fdl_phases *p, const char *name, int64_t now,
                        int64_t wall_ns)
{
    size_t length = strnlen(name, FDL_PHASE_NAME);
    if (length == 0)
        return fdl_fail(FEEDLINE_EINVAL, "a phase without a name");
    if (length == FDL_PHASE_NAME)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the name of a phase has more than %u bytes: %.*s...",
                        FDL_PHASE_NAME - 1, (int)FDL_PHASE_NAME - 1, name);
    if (p->n_open == FDL_PHASE_DEPTH)
        return fdl_fail(FEEDLINE_ERANGE,
                        "phase %s inside of %u others; end one first", name,
                        FDL_PHASE_DEPTH);
    uint32_t index = find(p, name);
    if (index == FDL_PHASES_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "phase %s: there are %u different ones already", name,
                        FDL_PHASES_MAX);
    if (index == p->n)
        memcpy(p->phases[p->n++].name, name, length + 1);
    p->open[p->n_open++] = (struct fdl_open_phase){
        .index = index, .begin = now, .wall_ns = wall_ns};
    return FEEDLINE_OK;
}

static int is_open(const struct fdl_phases *p, uint32_t index)
{
    for (uint32_t i = 0; i < p->n_open; i++)
        if (p->open[i].index == index)
            return 1;
    return 0;
}

int32_t fdl_phase_end(struct fdl_phases *p, int64_t now,
                      struct fdl_open_phase *out)
{
    if (p->n_open == 0)
        return fdl_fail(FEEDLINE_ESTATE, "a phase ends that did not begin");
    struct fdl_open_phase o = p->open[--p->n_open];
    struct fdl_phase *phase = &p->phases[o.index];
    int64_t total = FDL_MAX(now - o.begin, INT64_C(0));
    phase->count++;
    phase->self_ns += total - FDL_MIN(o.inner_ns, total);
    phase->max_ns = FDL_MAX(phase->max_ns, total);
    if (!is_open(p, o.index))
        phase->total_ns += total;
    if (p->n_open > 0)
        p->open[p->n_open - 1].inner_ns += total;
    *out = o;
    return FEEDLINE_OK;
}

void fdl_phase_reset(struct fdl_phases *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        struct fdl_phase *phase = &p->phases[i];
        phase->count = 0;
        phase->total_ns = phase->self_ns = phase->max_ns = 0;
    }
    for (uint32_t i = 0; i < p->n_open; i++)
        p->open[i].begin = p->open[i].inner_ns = 0;
}

const struct fdl_phase *fdl_phase_largest(const struct fdl_phases *p)
{
    const struct fdl_phase *most = NULL;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->phases[i].self_ns > (most ? most->self_ns : 0))
            most = &p->phases[i];
    return most;
}

static double mean_of(const struct fdl_phase *phase)
{
    return phase->count ? (double)phase->self_ns / (double)phase->count : 0;
}

const struct fdl_phase *fdl_phase_longest(const struct fdl_phases *p)
{
    const struct fdl_phase *longest = NULL;
    for (uint32_t i = 0; i < p->n; i++)
        if (mean_of(&p->phases[i]) > (longest ? mean_of(longest) : 0))
            longest = &p->phases[i];
    return longest;
}
