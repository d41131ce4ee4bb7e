/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of values on the command line. */
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/sweep/sweep.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sweep_axis_add(struct sweep_axis *axis, int64_t value)
{
    size_t i = 0;
    while (i < axis->n && axis->at[i] < value)
        i++;
    if ((i < axis->n && axis->at[i] == value) || axis->n == SWEEP_VALUES_MAX)
        return;
    memmove(&axis->at[i + 1], &axis->at[i], (axis->n - i) * sizeof(*axis->at));
    axis->at[i] = value;
    axis->n++;
}

static bool number(const char **text, int64_t *out)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)**text))
        return false;
    *out = strtoll(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* "4" or "1..8", up to the comma behind it. */
static bool item(const char **text, int64_t *from, int64_t *to)
{
    if (!number(text, from))
        return false;
    *to = *from;
    if (strncmp(*text, "..", 2) == 0) {
        *text += 2;
        if (!number(text, to))
            return false;
    }
    if (**text == ',' && (*text)[1])
        (*text)++;
    else if (**text)
        return false;
    return true;
}

void sweep_axis_auto(const char *option, struct sweep_axis *out)
{
    struct feedline_machine_info m = {.struct_size = sizeof(m)};
    out->n = 0;
    if (strcmp(option, "workers") != 0) {
        bool depth = strcmp(option, "depth") == 0;
        for (int64_t x = depth ? 2 : 4; x <= (depth ? 16 : 64);
             x *= depth ? 2 : 4)
            sweep_axis_add(out, x);
        return;
    }
    if (feedline_machine_get_info(&m) != FEEDLINE_OK)
        m.cpus_usable = 1;
    int64_t cores = m.cpus_usable;
    for (int64_t x = 1; x <= 2 * cores; x *= 2)
        sweep_axis_add(out, x);
    for (int64_t x = cores - 1; x <= cores + 1; x++)
        if (x > 0)
            sweep_axis_add(out, x);
    sweep_axis_add(out, cores + (cores + 1) / 2);
}

int sweep_axis_parse(const char *option, const char *text,
                     struct sweep_axis *out)
{
    struct sweep_axis axis = {.n = 0};
    struct feedline_option_info info;
    int64_t from, to;
    cli_find_loader_option(option, &info);
    if (strcmp(text, "auto") == 0) {
        sweep_axis_auto(option, out);
        return TOOL_DONE;
    }
    for (const char *p = text; *p || p == text;) {
        if (!item(&p, &from, &to) || from > to) {
            tool_say("--%s: '%s' is no list as 1,2,4,8 or 1..8", option, text);
            return TOOL_USAGE;
        }
        if (from < info.min || to > info.max) {
            tool_say("--%s: '%s' goes beyond %lld to %lld", option, text,
                     (long long)info.min, (long long)info.max);
            return TOOL_USAGE;
        }
        if (to - from >= SWEEP_VALUES_MAX) {
            tool_say("--%s: '%s' has more than %d values", option, text,
                     SWEEP_VALUES_MAX);
            return TOOL_USAGE;
        }
        for (int64_t x = from; x <= to; x++) {
            size_t before = axis.n;
            sweep_axis_add(&axis, x);
            if (before == SWEEP_VALUES_MAX && axis.at[axis.n - 1] < x) {
                tool_say("--%s: '%s' has more than %d values", option, text,
                         SWEEP_VALUES_MAX);
                return TOOL_USAGE;
            }
        }
    }
    *out = axis;
    return TOOL_DONE;
}

int32_t sweep_axis_trim(const struct run_setup *setup,
                        struct sweep_axis *depths)
{
    int32_t status = FEEDLINE_ERANGE;
    while (status == FEEDLINE_ERANGE && depths->n > 0) {
        feedline_loader *l = NULL;
        status = feedline_config_set_int(setup->config, "depth",
                                         depths->at[depths->n - 1]);
        if (status >= 0)
            status = feedline_loader_create(setup->config, setup->dataset,
                                            setup->pipeline, &l);
        feedline_loader_destroy(l);
        if (status == FEEDLINE_ERANGE)
            depths->n--;
    }
    return status;
}
