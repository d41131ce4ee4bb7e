/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays and strings that grow by doubling, for tables of unknown length.
 * One thread at a time.
 */
#ifndef FDL_BASE_GROW_H
#define FDL_BASE_GROW_H

#include <stddef.h>
#include <stdint.h>

/* Room for n + 1 elements of `each` bytes. array: where the pointer to them is,
 * of whatever type, and capacity how many there is room for; what: for the
 * message. ENOMEM, with everything unchanged. */
int32_t fdl_array_reserve(void *array, uint64_t *capacity, uint64_t n,
                          size_t each, const char *what);

/* Cut to `bytes`. Shrinking may fail; then the block stays as large as it is.
 */
void *fdl_array_trimmed(void *array, uint64_t bytes);

/* NUL-terminated strings, one after the other, named by their offsets, as the
 * text may move while it grows. Starts zeroed; text is freed with free(). */
struct fdl_strings {
    char *text;
    uint64_t bytes, capacity;
};

/* Adds prefix and name as one string. ENOMEM. */
int32_t fdl_strings_add(struct fdl_strings *a, const char *prefix,
                        const char *name, uint64_t *at);

/* A list of such strings: string i begins at at[i]. Starts zeroed. */
struct fdl_string_list {
    struct fdl_strings text;
    uint64_t *at; /* [n] offsets into text */
    uint64_t n, capacity;
};

int32_t fdl_string_list_add(struct fdl_string_list *l, const char *prefix,
                            const char *name);
void fdl_string_list_free(struct fdl_string_list *l);

/* Valid until the next one is added. */
static inline const char *fdl_string_list_at(const struct fdl_string_list *l,
                                             uint64_t i)
{
    return l->text.text + l->at[i];
}

#endif
