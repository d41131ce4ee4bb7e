/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of another loader's workers; see functions.h. */
#include "loader/watch/functions.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* NULL: there is no room for another one. */
static struct fdl_function *row_of(struct fdl_functions *s, const char *what)
{
    for (uint32_t i = 0; i < s->n_rows; i++)
        if (strncmp(s->rows[i].name, what, FDL_FUNCTION_NAME - 1) == 0)
            return &s->rows[i];
    if (s->n_rows == FDL_FUNCTIONS_MAX)
        return NULL;
    struct fdl_function *row = &s->rows[s->n_rows++];
    snprintf(row->name, sizeof(row->name), "%s", what);
    return row;
}

void fdl_functions_add(struct fdl_functions *s, const char *what,
                       int64_t wall_ns, int64_t cpu_ns)
{
    struct fdl_function *row = what ? row_of(s, what) : NULL;
    s->all_ns += wall_ns;
    if (!row)
        return;
    row->wall_ns += wall_ns;
    row->cpu_ns += cpu_ns;
}

void fdl_functions_add_idle(struct fdl_functions *s, int64_t idle_ns)
{
    s->all_ns += idle_ns;
    s->idle_ns += idle_ns;
}

void fdl_functions_reset(struct fdl_functions *s)
{
    s->all_ns = s->idle_ns = 0;
    for (uint32_t i = 0; i < s->n_rows; i++)
        s->rows[i].wall_ns = s->rows[i].cpu_ns = 0;
}
