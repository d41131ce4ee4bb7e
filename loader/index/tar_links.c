/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/tar_links.h"

#include <stdlib.h>

void fdl_tar_links_free(struct fdl_tar_links *l)
{
    fdl_name_table_free(&l->names);
    free(l->places);
    *l = (struct fdl_tar_links){0};
}

/* The latest of a name wins, as it does where an archive is unpacked. */
static int32_t enter(struct fdl_tar_links *l, const char *name,
                     struct fdl_tar_place place)
{
    uint64_t number;
    int32_t status =
        fdl_array_reserve(&l->places, &l->capacity, l->names.names.n,
                          sizeof(*l->places), "names of members");
    if (status == FEEDLINE_OK)
        status = fdl_name_table_add(&l->names, name, &number);
    if (status == FEEDLINE_OK)
        l->places[number] = place;
    return status;
}

/* Up to where the archive is damaged, which is for others to say. */
static int32_t read_archive(struct fdl_tar_links *l, struct fdl_shard *s)
{
    struct fdl_tar t = {.shard = s,
                        .begin = l->begin,
                        .at = l->begin,
                        .end = l->end,
                        .ignore_zeros = true};
    struct fdl_tar_member m;
    bool more;
    int32_t status = fdl_tar_next(&t, &m, &more);
    while (status == FEEDLINE_OK && more) {
        if (m.type == FDL_TAR_FILE)
            status = enter(l, m.name, (struct fdl_tar_place){m.begin, m.size});
        if (status == FEEDLINE_OK)
            status = fdl_tar_next(&t, &m, &more);
    }
    fdl_tar_free(&t);
    if (status == FEEDLINE_EINVAL) {
        fdl_clear_error();
        status = FEEDLINE_OK;
    }
    return status;
}

int32_t fdl_tar_links_follow(struct fdl_tar_links *l, struct fdl_shard *s,
                             uint64_t begin, uint64_t end,
                             struct fdl_tar_member *m, bool *found)
{
    uint64_t number;
    if (l->end != end || l->begin != begin) {
        fdl_tar_links_free(l);
        l->begin = begin;
        l->end = end;
        int32_t status = read_archive(l, s);
        if (status)
            return status;
    }
    uint64_t known = l->names.names.n;
    int32_t status = fdl_name_table_add(&l->names, m->link, &number);
    if (status)
        return status;
    if (number == known) /* of no file: their bytes lie behind a header */
        status = enter(l, m->link, (struct fdl_tar_place){0, 0});
    *found = status == FEEDLINE_OK && l->places[number].begin > 0;
    if (*found) {
        m->begin = l->places[number].begin;
        m->size = l->places[number].size;
    }
    return status;
}
