/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/listing.h"

#include "base/memory.h"
#include "base/text_hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 64 /* a power of two; at least twice the classes */

void fdl_listing_free(struct fdl_listing *l)
{
    free(l->samples);
    free(l->names.text);
    free(l->classes.text);
    free(l->class_at);
    free(l->buckets);
    *l = (struct fdl_listing){0};
}

int32_t fdl_listing_add(struct fdl_listing *l, const char *name,
                        uint64_t offset, uint64_t length)
{
    void *array = l->samples;
    if (length >= UINT32_MAX)
        return fdl_fail(FEEDLINE_EINVAL,
                        "a sample of %" PRIu64 " bytes: less than 4 GiB is "
                        "supported",
                        length);
    int32_t status = fdl_array_reserve(&array, &l->capacity, l->count,
                                       sizeof(*l->samples), "samples");
    l->samples = array;
    if (status)
        return status;
    struct fdl_listed *s = &l->samples[l->count];
    *s = (struct fdl_listed){.offset = offset, .length = (uint32_t)length};
    status = fdl_strings_add(&l->names, "", name, &s->name_at);
    if (status == FEEDLINE_OK)
        l->count++;
    return status;
}

void fdl_listing_drop(struct fdl_listing *l)
{
    fdl_assert(l->labelled < l->count);
    l->count--;
    l->names.bytes = l->samples[l->count].name_at;
}

static int32_t label(struct fdl_listing *l, enum fdl_label_kind kind,
                     int64_t value)
{
    fdl_assert(l->labelled < l->count);
    if (l->labelled > 0 && l->labels != kind)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: its label is a %s, that of samples before it "
                        "was a %s",
                        l->names.text + l->samples[l->count - 1].name_at,
                        kind == FDL_LABEL_CLASS ? "name" : "number",
                        kind == FDL_LABEL_CLASS ? "number" : "name");
    l->labels = kind;
    l->labelled++;
    l->samples[l->count - 1].label = value;
    return FEEDLINE_OK;
}

int32_t fdl_listing_number(struct fdl_listing *l, int64_t value)
{
    return label(l, FDL_LABEL_NUMBER, value);
}

const char *fdl_listing_class_name(const struct fdl_listing *l, uint64_t i)
{
    return l->classes.text + l->class_at[i];
}

/* Where the name is, or where it would go. */
static uint32_t *bucket_of(const struct fdl_listing *l, const char *name)
{
    uint64_t at = fdl_hash_text(name);
    for (;; at++) {
        uint32_t *bucket = &l->buckets[at & (l->n_buckets - 1)];
        if (*bucket == 0 ||
            strcmp(fdl_listing_class_name(l, *bucket - 1), name) == 0)
            return bucket;
    }
}

static int32_t grow_buckets(struct fdl_listing *l)
{
    if (l->n_buckets > 2 * l->n_classes)
        return FEEDLINE_OK;
    uint64_t n = l->n_buckets ? 2 * l->n_buckets : FIRST_BUCKETS;
    uint32_t *buckets = calloc(n, sizeof(*buckets));
    if (!buckets)
        return fdl_fail_memory(n * sizeof(*buckets), "class names");
    free(l->buckets);
    l->buckets = buckets;
    l->n_buckets = n;
    for (uint64_t i = 0; i < l->n_classes; i++)
        *bucket_of(l, fdl_listing_class_name(l, i)) = (uint32_t)i + 1;
    return FEEDLINE_OK;
}

int32_t fdl_listing_class(struct fdl_listing *l, const char *name)
{
    void *array = l->class_at;
    int32_t status = grow_buckets(l);
    if (status)
        return status;
    uint32_t *bucket = bucket_of(l, name);
    if (*bucket)
        return label(l, FDL_LABEL_CLASS, *bucket - 1);

    status = fdl_array_reserve(&array, &l->classes_capacity, l->n_classes,
                               sizeof(*l->class_at), "class names");
    l->class_at = array;
    if (status == FEEDLINE_OK)
        status =
            fdl_strings_add(&l->classes, "", name, &l->class_at[l->n_classes]);
    if (status)
        return status;
    *bucket = (uint32_t)++l->n_classes;
    return label(l, FDL_LABEL_CLASS, *bucket - 1);
}

int32_t fdl_listing_class_of_folder(struct fdl_listing *l, const char *member)
{
    const char *end = strrchr(member, '/');
    if (!end || end == member)
        return FEEDLINE_OK;
    const char *begin = end;
    while (begin > member && begin[-1] != '/')
        begin--;
    char *name = fdl_strdup(begin);
    if (!name)
        return fdl_fail_memory(strlen(begin) + 1, "a class name");
    name[end - begin] = '\0';
    int32_t status = fdl_listing_class(l, name);
    free(name);
    return status;
}

void fdl_listing_odd(struct fdl_listing *l, const char *what, const char *first)
{
    uint32_t i = 0;
    while (i < l->n_oddities && strcmp(l->oddities[i].what, what) != 0)
        i++;
    if (i == FDL_ODDITIES)
        return;
    struct fdl_oddity *o = &l->oddities[i];
    if (i == l->n_oddities) {
        l->n_oddities++;
        o->what = what;
        snprintf(o->first, sizeof(o->first), "%s", first);
    }
    o->count++;
}
