/* SPDX-License-Identifier: Apache-2.0 */
#include "base/field_set.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdlib.h>

int32_t fdl_field_set_add(struct fdl_field_set *s, const char *name,
                          int32_t kind)
{
    if (!*name)
        return fdl_fail(FEEDLINE_EINVAL, "a field without a name");
    if (fdl_field_set_find(s, name) >= 0)
        return fdl_fail(FEEDLINE_EINVAL, "two fields '%s'", name);
    if (s->n == FEEDLINE_FIELDS_MAX)
        return fdl_fail(FEEDLINE_EINVAL, "more than %d fields",
                        FEEDLINE_FIELDS_MAX);
    int32_t status = fdl_strings_add(&s->text, "", name, &s->at[s->n]);
    if (status == FEEDLINE_OK)
        s->kind[s->n++] = kind;
    return status;
}

int32_t fdl_field_set_parse(struct fdl_field_set *s, const char *text)
{
    char *names = fdl_strdup(text);
    if (!names)
        return fdl_fail_memory(strlen(text) + 1, "names of fields");
    int32_t status = FEEDLINE_OK;
    for (char *at = *names ? names : NULL, *next; status == FEEDLINE_OK && at;
         at = next) {
        next = strchr(at, ',');
        if (next)
            *next++ = '\0';
        status = fdl_field_set_add(s, at, FDL_FIELD_UNKNOWN);
    }
    free(names);
    return status;
}

int32_t fdl_field_set_copy(struct fdl_field_set *to,
                           const struct fdl_field_set *from)
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; status == FEEDLINE_OK && i < from->n; i++) {
        status =
            fdl_field_set_add(to, fdl_field_set_name(from, i), from->kind[i]);
        if (status == FEEDLINE_OK)
            to->width[to->n - 1] = from->width[i];
    }
    return status;
}

void fdl_field_set_free(struct fdl_field_set *s)
{
    free(s->text.text);
    *s = (struct fdl_field_set){.n = 0};
}

const char *fdl_field_set_name(const struct fdl_field_set *s, uint32_t i)
{
    return s->text.text + s->at[i];
}

int32_t fdl_field_set_find(const struct fdl_field_set *s, const char *name)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (strcmp(fdl_field_set_name(s, i), name) == 0)
            return (int32_t)i;
    return -1;
}
