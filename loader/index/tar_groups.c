/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/tar_groups.h"

#include <stdlib.h>
#include <string.h>

void fdl_tar_groups_free(struct fdl_tar_groups *g)
{
    free(g->names.text);
    free(g->groups);
    fdl_name_table_free(&g->keys);
    *g = (struct fdl_tar_groups){0};
}

/* The expression is ^((?:.*\/|)[^.]+)[.]([^/]*)$: all up to the first dot
 * behind the last slash. A name that begins with that dot is of its folder,
 * "dir/", if that has no dot; and a line break ends what may be in front of a
 * slash. */
size_t fdl_tar_key_bytes(const char *name)
{
    size_t line = strcspn(name, "\n");
    const char *begin = name + line;
    while (begin > name && begin[-1] != '/')
        begin--;
    const char *dot = strchr(begin, '.');
    if (!dot || strchr(dot, '/'))
        return 0;
    if (dot > begin)
        return (size_t)(dot - name);
    while (begin > name && (begin == dot || begin[-1] != '/'))
        begin--;
    return memchr(begin, '.', (size_t)(dot - begin)) ? 0 : (size_t)(dot - name);
}

/* The number of the group with that key; how many there are: none has it. */
static int32_t find(struct fdl_tar_groups *g, const char *key, bool anywhere,
                    uint64_t *out)
{
    if (anywhere)
        return fdl_name_table_add(&g->keys, key, out);
    *out = g->n;
    if (g->n > 0 &&
        strcmp(g->names.text + g->groups[g->n - 1].key_at, key) == 0)
        *out = g->n - 1;
    return FEEDLINE_OK;
}

int32_t fdl_tar_groups_join(struct fdl_tar_groups *g, const char *key,
                            bool anywhere, struct fdl_tar_group **out)
{
    struct fdl_tar_group made = {0};
    uint64_t number = 0;
    if (g->n >= UINT32_MAX - 1)
        return fdl_fail(FEEDLINE_EINVAL, "too many samples in one archive");
    int32_t status = find(g, key, anywhere, &number);
    if (status == FEEDLINE_OK && number == g->n) {
        status = fdl_array_reserve(&g->groups, &g->capacity, g->n,
                                   sizeof(*g->groups), "samples");
        if (status == FEEDLINE_OK)
            status = fdl_strings_add(&g->names, "", key, &made.key_at);
        if (status == FEEDLINE_OK)
            g->groups[g->n++] = made;
    }
    if (status == FEEDLINE_OK)
        *out = &g->groups[number];
    return status;
}
