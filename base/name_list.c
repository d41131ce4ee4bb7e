/* SPDX-License-Identifier: Apache-2.0 */
#include "base/name_list.h"

#include "base/status.h"

#include <stdlib.h>

#define WHAT "names"

static int32_t add_block(struct fdl_name_list *l)
{
    uint64_t block = l->n / FDL_NAME_BLOCK;
    int32_t status = fdl_array_reserve(&l->blocks, &l->blocks_capacity, block,
                                       sizeof(*l->blocks), WHAT);
    if (status == FEEDLINE_OK)
        l->blocks[block] = l->text.bytes;
    return status;
}

int32_t fdl_name_list_add(struct fdl_name_list *l, const char *prefix,
                          const char *name)
{
    uint64_t at;
    int32_t status = l->n % FDL_NAME_BLOCK == 0 ? add_block(l) : FEEDLINE_OK;
    if (status == FEEDLINE_OK)
        status =
            fdl_array_reserve(&l->at, &l->capacity, l->n, sizeof(*l->at), WHAT);
    if (status)
        return status;
    uint64_t behind = l->text.bytes - l->blocks[l->n / FDL_NAME_BLOCK];
    if (behind > UINT32_MAX)
        return fdl_fail(FEEDLINE_ERANGE, "names of more than 4 GiB in a row");
    status = fdl_strings_add(&l->text, prefix, name, &at);
    if (status == FEEDLINE_OK)
        l->at[l->n++] = (uint32_t)behind;
    return status;
}

void fdl_name_list_trim(struct fdl_name_list *l)
{
    l->blocks_capacity = (l->n + FDL_NAME_BLOCK - 1) / FDL_NAME_BLOCK;
    l->blocks =
        fdl_array_trimmed(l->blocks, l->blocks_capacity * sizeof(*l->blocks));
    l->at = fdl_array_trimmed(l->at, l->n * sizeof(*l->at));
    l->capacity = l->n;
    l->text.text = fdl_array_trimmed(l->text.text, l->text.bytes);
    l->text.capacity = l->text.bytes;
}

void fdl_name_list_free(struct fdl_name_list *l)
{
    free(l->text.text);
    free(l->blocks);
    free(l->at);
    *l = (struct fdl_name_list){0};
}
