/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that the program reads: the table has their names, labels and, where
 * they are known, sizes; loader/read/user_read.h asks for the bytes.
 */
#include "base/memory.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_FLAGS                                                            \
  (FEEDLINE_SOURCE_ONE_AT_A_TIME | FEEDLINE_SOURCE_RECORDED |                  \
   FEEDLINE_SOURCE_IN_ORDER)

#define USUAL_BYTES ((uint64_t)128 << 10) /* at first */

void fdl_user_reader_free(struct fdl_user_reader *user)
{
    if (!user)
        return;
    if (user->source.close)
        user->source.close(user->source.context);
    fdl_lock_destroy(&user->turns);
    free(user->name);
    free(user->numbers);
    free(user);
}

static int32_t check(const struct feedline_source *from)
{
    if (from->count == 0 || !from->name || !*from->name || !from->read)
        return fdl_fail(FEEDLINE_EINVAL,
                        "a source has samples, a name and a read function");
    if (from->flags & ~KNOWN_FLAGS)
        return fdl_fail(FEEDLINE_EINVAL, "source %s: unknown flags 0x%" PRIx32,
                        from->name, from->flags);
    if (from->flags & FEEDLINE_SOURCE_RECORDED && from->sizes)
        return fdl_fail(FEEDLINE_EINVAL,
                        "source %s: recorded samples have no sizes; leave "
                        "sizes NULL",
                        from->name);
    if (from->n_classes > 0 && !from->classes)
        return fdl_fail(FEEDLINE_EINVAL, "source %s: classes is NULL",
                        from->name);
    return FEEDLINE_OK;
}

/* Without close, which is the program's until all has gone well. */
static int32_t make_reader(feedline_dataset *ds,
                           const struct feedline_source *from)
{
    struct fdl_user_reader *user = calloc(1, sizeof(*user));
    if (!user)
        return fdl_fail_memory(sizeof(*user), "a source");
    user->source = (struct feedline_source){.flags = from->flags,
                                            .read = from->read,
                                            .cancel = from->cancel,
                                            .context = from->context};
    fdl_lock_init(&user->turns, FDL_RANK_TURNS);
    atomic_init(&user->usual, USUAL_BYTES);
    ds->user = user;
    user->name = fdl_strdup(from->name);
    return user->name ? FEEDLINE_OK
                      : fdl_fail_memory(strlen(from->name), "a source's name");
}

static int32_t copy_sizes(feedline_dataset *ds,
                          const struct feedline_source *from)
{
    size_t bytes;
    if (!from->sizes)
        return FEEDLINE_OK;
    if (!fdl_mul_size(from->count, sizeof(*ds->sizes), &bytes) ||
        !(ds->sizes = malloc(bytes)))
        return fdl_fail_memory(from->count * sizeof(*ds->sizes), "sizes");
    memcpy(ds->sizes, from->sizes, bytes);
    for (uint64_t i = 0; i < from->count; i++)
        if (ds->sizes[i] > INT64_MAX)
            return fdl_fail(FEEDLINE_EINVAL,
                            "source %s: size %" PRIu64 " is %" PRIu64,
                            from->name, i, ds->sizes[i]);
    return FEEDLINE_OK;
}

static int32_t add_sample(feedline_dataset *ds,
                          const struct feedline_source *from, uint64_t i)
{
    char number[24];
    int64_t label = from->labels ? from->labels[i] : 0;
    snprintf(number, sizeof(number), ":%" PRIu64, i);
    if (!from->names)
        return fdl_dataset_add_joined(ds, from->name, number, label);
    if (!from->names[i])
        return fdl_fail(FEEDLINE_EINVAL, "source %s: name %" PRIu64 " is NULL",
                        from->name, i);
    return fdl_dataset_add_joined(ds, "", from->names[i], label);
}

static int32_t add_class(feedline_dataset *ds,
                         const struct feedline_source *from, uint64_t i)
{
    return from->classes[i]
               ? fdl_string_list_add(&ds->classes, "", from->classes[i])
               : fdl_fail(FEEDLINE_EINVAL,
                          "source %s: class %" PRIu64 " is NULL", from->name,
                          i);
}

/* Samples keep the numbers that the program knows them by. */
static int32_t leave_out(feedline_dataset *ds, const char *list)
{
    size_t bytes;
    if (!fdl_mul_size(ds->count, sizeof(uint64_t), &bytes) ||
        !(ds->user->numbers = malloc(bytes)))
        return fdl_fail_memory(ds->count * sizeof(uint64_t), "a quarantine");
    for (uint64_t i = 0; i < ds->count; i++)
        ds->user->numbers[i] = i;
    return fdl_dataset_leave_out(ds, list);
}

static int32_t build(feedline_dataset *ds, const struct feedline_source *from)
{
    int32_t status = make_reader(ds, from);
    if (status == FEEDLINE_OK)
        status = copy_sizes(ds, from);
    for (uint64_t i = 0; status == FEEDLINE_OK && i < from->n_classes; i++)
        status = add_class(ds, from, i);
    for (uint64_t i = 0; status == FEEDLINE_OK && i < from->count; i++)
        status = add_sample(ds, from, i);
    if (status)
        return status;
    fdl_dataset_finish(ds, "");
    if (from->fingerprint)
        fdl_dataset_finish_bytes(ds, from->fingerprint,
                                 strlen(from->fingerprint));
    return from->quarantine ? leave_out(ds, from->quarantine) : FEEDLINE_OK;
}

int32_t fdl_dataset_open_source(const struct feedline_source *from,
                                feedline_dataset **out)
{
    feedline_dataset *ds = NULL;
    int32_t status = check(from);
    if (status == FEEDLINE_OK)
        status = fdl_dataset_create(&ds);
    if (status == FEEDLINE_OK)
        status = build(ds, from);
    if (status == FEEDLINE_OK)
        ds->user->source.close = from->close;
    return fdl_dataset_hand_out(ds, status, out);
}
