/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table behind every data set, and the two kinds that need no file of
 * their own: a caller's paths and a caller's memory.
 *
 *     names   /data/train/n01440764/10026.jpeg\0/data/train/n014407...
 *             ^                                ^
 *     at      0                                33 ...          4 bytes each
 *     labels  0                                0  ...          1 to 8 bytes
 *
 * Everything grows by doubling and is trimmed once at the end: 1.28 million
 * names of 40 bytes in 1,000 classes are three large blocks of 59 MB in all.
 */
#include "loader/dataset/dataset.h"

#include "base/atomic.h"
#include "base/memory.h"
#include "base/thread.h"
#include "loader/dataset/dataset_build.h"
#include "loader/dataset/dataset_objects.h"
#include "loader/dataset/dataset_remote.h"

#define XXH_INLINE_ALL
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int32_t fdl_dataset_create(feedline_dataset **out)
{
    feedline_dataset *ds = calloc(1, sizeof(*ds));
    if (!ds)
        return fdl_fail_memory(sizeof(*ds), "a data set");
    atomic_init(&ds->refs, 1);
    ds->fork_generation = fdl_fork_generation();
    *out = ds;
    return FEEDLINE_OK;
}

int32_t fdl_dataset_add_joined(feedline_dataset *ds, const char *prefix,
                               const char *name, int64_t label)
{
    int32_t status = fdl_name_list_add(&ds->names, prefix, name);
    if (status == FEEDLINE_OK)
        status = fdl_integers_add(&ds->labels, label);
    if (status == FEEDLINE_OK)
        ds->count++;
    return status;
}

static void hash_number(XXH64_state_t *hash, uint64_t number)
{
    uint64_t bytes = htole64(number);
    XXH64_update(hash, &bytes, sizeof(bytes));
}

static uint64_t fingerprint(const feedline_dataset *ds, const char *root)
{
    size_t root_bytes = strlen(root);
    XXH64_state_t hash;
    XXH64_reset(&hash, 0);
    hash_number(&hash, ds->count);
    hash_number(&hash, (uint64_t)ds->raw_width);
    hash_number(&hash, (uint64_t)ds->raw_height);
    hash_number(&hash, (uint64_t)ds->raw_channels);
    for (uint64_t i = 0; i < ds->count; i++) {
        const char *name = fdl_name_list_at(&ds->names, i);
        if (strncmp(name, root, root_bytes) == 0)
            name += root_bytes;
        XXH64_update(&hash, name, strlen(name) + 1);
        hash_number(&hash, (uint64_t)fdl_integers_at(&ds->labels, i));
        if (ds->sizes)
            hash_number(&hash, ds->sizes[i]);
        if (ds->extents)
            hash_number(&hash, ds->extents[i].length);
    }
    return XXH64_digest(&hash);
}

void fdl_dataset_finish(feedline_dataset *ds, const char *root)
{
    fdl_name_list_trim(&ds->names);
    fdl_integers_trim(&ds->labels);
    ds->root = fdl_strdup(root);
    ds->fingerprint = fingerprint(ds, root);
}

void fdl_dataset_finish_bytes(feedline_dataset *ds, const void *bytes,
                              uint64_t size)
{
    ds->fingerprint = XXH64(bytes, size, ds->fingerprint);
}

int32_t fdl_dataset_hand_out(feedline_dataset *ds, int32_t status,
                             feedline_dataset **out)
{
    if (!status)
        status = fdl_dataset_remote_finish(ds->remote, ds->extents ? ds->files.n
                                                                   : ds->count);
    if (status)
        fdl_dataset_unref(ds);
    else
        *out = ds;
    return status;
}

/* A path or a location. */
int32_t fdl_dataset_add_location(feedline_dataset *ds, const char *location,
                                 int64_t label)
{
    char *cut;
    int32_t status =
        fdl_dataset_remote_admit(&ds->remote, ds->count, &location, &cut);
    if (status == FEEDLINE_OK)
        status = fdl_dataset_add_joined(ds, "", location, label);
    free(cut);
    return status;
}

int32_t fdl_dataset_open_paths(const char *const *paths, const int64_t *labels,
                               uint64_t count, feedline_dataset **out)
{
    if (!paths || count == 0)
        return fdl_fail(FEEDLINE_EINVAL, "the data set has no paths");

    feedline_dataset *ds = NULL;
    int32_t status = fdl_dataset_create(&ds);
    for (uint64_t i = 0; status == FEEDLINE_OK && i < count; i++) {
        if (paths[i])
            status =
                fdl_dataset_add_location(ds, paths[i], labels ? labels[i] : 0);
        else
            status = fdl_fail(FEEDLINE_EINVAL, "path %" PRIu64 " is NULL", i);
    }
    if (status == FEEDLINE_OK)
        fdl_dataset_finish(ds, "");
    return fdl_dataset_hand_out(ds, status, out);
}

int32_t fdl_dataset_reserve_memory(feedline_dataset *ds, uint64_t count)
{
    size_t bytes;
    _Static_assert(sizeof(*ds->data) == sizeof(*ds->sizes), "one size is both");
    if (!fdl_mul_size(count, sizeof(*ds->data), &bytes))
        return fdl_fail_memory(UINT64_MAX, "images in memory");
    ds->data = malloc(bytes);
    ds->sizes = malloc(bytes);
    if (!ds->data || !ds->sizes)
        return fdl_fail_memory(bytes, "images in memory");
    return FEEDLINE_OK;
}

int32_t fdl_dataset_add_memory(feedline_dataset *ds, const char *place,
                               const void *data, uint64_t size, int64_t label)
{
    char number[24];
    uint64_t i = ds->count;
    snprintf(number, sizeof(number), ":%" PRIu64, i);
    ds->data[i] = data;
    ds->sizes[i] = size;
    return fdl_dataset_add_joined(ds, place, number, label);
}

static int32_t add_memory(feedline_dataset *ds, const void *const *data,
                          const uint64_t *sizes, const int64_t *labels,
                          uint64_t count)
{
    int32_t status = fdl_dataset_reserve_memory(ds, count);
    for (uint64_t i = 0; i < count && status == FEEDLINE_OK; i++) {
        if (!data[i])
            return fdl_fail(FEEDLINE_EINVAL, "memory:%" PRIu64 ": data is NULL",
                            i);
        status = fdl_dataset_add_memory(ds, "memory", data[i], sizes[i],
                                        labels ? labels[i] : 0);
    }
    return status;
}

int32_t fdl_dataset_open_memory(const void *const *data, const uint64_t *sizes,
                                const int64_t *labels, uint64_t count,
                                feedline_dataset **out)
{
    if (!data || !sizes || count == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "the data set has no images in memory");

    feedline_dataset *ds = NULL;
    int32_t status = fdl_dataset_create(&ds);
    if (status == FEEDLINE_OK)
        status = add_memory(ds, data, sizes, labels, count);
    if (status == FEEDLINE_OK)
        fdl_dataset_finish(ds, "");
    return fdl_dataset_hand_out(ds, status, out);
}

void fdl_dataset_ref(feedline_dataset *ds)
{
    atomic_fetch_add_explicit(&ds->refs, 1, memory_order_relaxed);
}

void fdl_dataset_forget_names(feedline_dataset *ds)
{
    for (uint64_t i = 0; ds->full_names && i < ds->count; i++) {
        free(fdl_load(&ds->full_names[i]));
        atomic_init(&ds->full_names[i], NULL);
    }
}

void fdl_dataset_unref(feedline_dataset *ds)
{
    if (!ds)
        return;
    /* Release: what this owner did with the table comes before the free.
     * Acquire: the one who frees sees what all the others did. Both pair with
     * this same operation on another thread. */
    if (atomic_fetch_sub_explicit(&ds->refs, 1, memory_order_acq_rel) != 1)
        return;
    fdl_name_list_free(&ds->names);
    fdl_integers_free(&ds->labels);
    free(ds->data);
    free(ds->sizes);
    free(ds->owned);
    free(ds->extents);
    free(ds->sums);
    fdl_string_list_free(&ds->files);
    free(ds->cells);
    free(ds->numbers);
    fdl_object_table_free(ds->objects);
    fdl_dataset_remote_free(ds->remote);
    fdl_field_set_free(&ds->fields);
    fdl_dataset_forget_names(ds);
    free(ds->full_names);
    free(ds->root);
    fdl_string_list_free(&ds->classes);
    fdl_user_reader_free(ds->user);
    free(ds);
}

static const char *file_of(const feedline_dataset *ds, uint64_t index)
{
    return fdl_string_list_at(&ds->files, ds->extents[index].file);
}

void fdl_dataset_locate_file(const feedline_dataset *ds, uint32_t file,
                             struct fdl_source *out)
{
    out->path = fdl_string_list_at(&ds->files, file);
    out->file = file;
    if (ds->remote)
        out->store = fdl_dataset_remote_find(ds->remote, out->path, file,
                                             &out->query, &out->tag);
}

static bool is_whole_file(const struct feedline_extent *e)
{
    return e->offset == 0 && e->length == FEEDLINE_TO_END;
}

void fdl_dataset_get(const feedline_dataset *ds, uint64_t index,
                     struct fdl_source *out)
{
    fdl_assert(index < ds->count);
    *out = (struct fdl_source){
        .path = fdl_name_list_at(&ds->names, index),
        .file = FDL_OWN_FILE,
        .data = ds->data ? ds->data[index] : NULL,
        .length = ds->sizes ? (int64_t)ds->sizes[index] : -1,
        .raw_width = ds->raw_width,
        .raw_height = ds->raw_height,
        .raw_channels = ds->raw_channels,
        .image_length = -1,
        .user = ds->user,
    };
    if (ds->user)
        out->offset = ds->user->numbers ? ds->user->numbers[index] : index;
    if (ds->remote && !ds->extents)
        out->store = fdl_dataset_remote_find(ds->remote, out->path, index,
                                             &out->query, &out->tag);
    if (!ds->extents)
        return;
    const struct feedline_extent *e = &ds->extents[index];
    fdl_dataset_locate_file(ds, e->file, out);
    if (is_whole_file(e)) /* else it is kept open for the next sample */
        out->file = FDL_OWN_FILE;
    out->offset = e->offset;
    if (e->length != FEEDLINE_TO_END)
        out->length = e->length;
    if (ds->sums) {
        const struct fdl_image_sum *s = &ds->sums[index];
        out->sum = s->sum;
        out->sum_before = s->before;
        out->sum_after = s->after;
    }
}

/* "SHARD:NAME", where it has none "SHARD@OFFSET", and a whole file its path;
 * NULL: no memory. */
static char *full_name(const feedline_dataset *ds, uint64_t index)
{
    const struct feedline_extent *e = &ds->extents[index];
    const char *file = file_of(ds, index);
    const char *name = fdl_name_list_at(&ds->names, index);
    char offset[24];
    bool named = *name != '\0';
    if (!named && is_whole_file(e))
        return strdup(file);
    snprintf(offset, sizeof(offset), "%" PRIu64, e->offset);
    if (!named)
        name = offset;
    size_t bytes = strlen(file) + 1 + strlen(name) + 1;
    char *full = malloc(bytes);
    if (full)
        snprintf(full, bytes, "%s%c%s", file, named ? ':' : '@', name);
    return full;
}

const char *fdl_dataset_name(const feedline_dataset *ds, uint64_t index)
{
    fdl_assert(index < ds->count);
    if (!ds->extents)
        return fdl_name_list_at(&ds->names, index);
    /* acquire: pairs with the release below: the text is there. */
    char *name =
        atomic_load_explicit(&ds->full_names[index], memory_order_acquire);
    if (name)
        return name;
    char *made = full_name(ds, index);
    if (!made)
        return file_of(ds, index);
    /* release: the text; acquire: that of another thread that was first. */
    if (atomic_compare_exchange_strong_explicit(&ds->full_names[index], &name,
                                                made, memory_order_acq_rel,
                                                memory_order_acquire))
        return made;
    free(made);
    return name;
}

const char *fdl_dataset_short_name(const feedline_dataset *ds, uint64_t index)
{
    const char *name = fdl_dataset_name(ds, index);
    size_t n = ds->root ? strlen(ds->root) : 0;
    return n > 0 && strncmp(name, ds->root, n) == 0 ? name + n : name;
}

int64_t fdl_dataset_label(const feedline_dataset *ds, uint64_t index)
{
    fdl_assert(index < ds->count);
    return fdl_integers_at(&ds->labels, index);
}
