/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/spec.h"

#include "base/status.h"

#include <string.h>

size_t fdl_spec_path_bytes(const char *spec)
{
    const char *mark = strrchr(spec, '?');
    return mark && strchr(mark, '=') ? (size_t)(mark - spec) : strlen(spec);
}

char *fdl_spec_cut(char *spec)
{
    char *mark = spec + fdl_spec_path_bytes(spec);
    if (*mark == '\0')
        return NULL;
    *mark = '\0';
    return mark + 1;
}

char *fdl_spec_next(char **rest)
{
    char *option = *rest;
    char *next = option ? strchr(option, '&') : NULL;
    if (next)
        *next++ = '\0';
    *rest = next;
    return option;
}

int32_t fdl_spec_set_options(const char *path, char *rest,
                             struct fdl_options *options)
{
    int32_t status = FEEDLINE_OK;
    char *name;
    while (status == FEEDLINE_OK && (name = fdl_spec_next(&rest))) {
        char *equals = strchr(name, '=');
        if (!equals)
            return fdl_fail(FEEDLINE_EINVAL, "%s: '%s' is no option=value",
                            path, name);
        *equals = '\0';
        status = fdl_options_set(options, name, equals + 1);
    }
    return status;
}
