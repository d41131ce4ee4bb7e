/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of shards, and which one somebody means. */
#include "loader/index/index_format.h"

#include <string.h>

#define ROW(name) &fdl_index_##name,
static const struct fdl_index_format *const formats[] = {
    FDL_INDEX_FORMATS(ROW)};

const struct fdl_index_format *fdl_index_at(uint32_t i, const char **scheme)
{
#define SCHEME(name) #name ":",
    static const char *const schemes[] = {FDL_INDEX_FORMATS(SCHEME)};
    if (i >= FDL_COUNT_OF(formats))
        return NULL;
    *scheme = schemes[i];
    return formats[i];
}

const struct fdl_index_format *fdl_index_of_scheme(const char *name,
                                                   size_t bytes)
{
    for (size_t i = 0; i < FDL_COUNT_OF(formats); i++)
        if (strlen(formats[i]->name) == bytes &&
            memcmp(formats[i]->name, name, bytes) == 0)
            return formats[i];
    return NULL;
}

const struct fdl_index_format *fdl_index_of_name(const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < FDL_COUNT_OF(formats); i++)
        for (const char *const *e = formats[i]->endings; *e; e++) {
            size_t bytes = strlen(*e);
            if (n > bytes && strcmp(path + n - bytes, *e) == 0)
                return formats[i];
        }
    return NULL;
}

const struct fdl_index_format *fdl_index_of_head(const uint8_t *head,
                                                 uint64_t bytes)
{
    for (size_t i = 0; i < FDL_COUNT_OF(formats); i++)
        if (formats[i]->matches && formats[i]->matches(head, bytes))
            return formats[i];
    return NULL;
}
