/* SPDX-License-Identifier: Apache-2.0 */
#include "base/grow.h"

#include "base/memory.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64 /* elements; doubled from there */

int32_t fdl_array_reserve(void *array, uint64_t *capacity, uint64_t n,
                          size_t each, const char *what)
{
    if (n < *capacity)
        return FEEDLINE_OK;

    uint64_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
    while (wanted <= n) {
        if (wanted > UINT64_MAX / 2)
            return fdl_fail_memory(UINT64_MAX, what);
        wanted *= 2;
    }
    size_t bytes;
    if (!fdl_mul_size(wanted, each, &bytes))
        return fdl_fail_memory(UINT64_MAX, what);
    void *grown;
    memcpy(&grown, array, sizeof(grown));
    grown = realloc(grown, bytes);
    if (!grown)
        return fdl_fail_memory(bytes, what);
    memcpy(array, &grown, sizeof(grown));
    *capacity = wanted;
    return FEEDLINE_OK;
}

int32_t fdl_strings_add(struct fdl_strings *a, const char *prefix,
                        const char *name, uint64_t *at)
{
    size_t prefix_bytes = strlen(prefix);
    size_t name_bytes = strlen(name) + 1;
    uint64_t end = a->bytes + prefix_bytes + name_bytes;

    int32_t status = fdl_array_reserve(&a->text, &a->capacity, end, 1, "names");
    if (status)
        return status;

    memcpy(a->text + a->bytes, prefix, prefix_bytes);
    memcpy(a->text + a->bytes + prefix_bytes, name, name_bytes);
    *at = a->bytes;
    a->bytes = end;
    return FEEDLINE_OK;
}

int32_t fdl_string_list_add(struct fdl_string_list *l, const char *prefix,
                            const char *name)
{
    int32_t status =
        fdl_array_reserve(&l->at, &l->capacity, l->n, sizeof(*l->at), "names");
    if (status == FEEDLINE_OK)
        status = fdl_strings_add(&l->text, prefix, name, &l->at[l->n]);
    if (status == FEEDLINE_OK)
        l->n++;
    return status;
}

void fdl_string_list_free(struct fdl_string_list *l)
{
    free(l->text.text);
    free(l->at);
    *l = (struct fdl_string_list){0};
}

void *fdl_array_trimmed(void *array, uint64_t bytes)
{
    void *smaller = bytes ? realloc(array, bytes) : NULL;
    return smaller ? smaller : array;
}
