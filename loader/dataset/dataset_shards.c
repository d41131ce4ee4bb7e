/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shards: what loader/index/ found in them becomes one table, shard after
 * shard. Class names of all shards together are numbered in the order of
 * folders.
 */
#include "base/log.h"
#include "base/memory.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"
#include "loader/dataset/dataset_remote.h"
#include "loader/index/index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare_names(const void *a, const void *b)
{
    return fdl_name_compare(*(const char *const *)a, *(const char *const *)b);
}

/* All class names, sorted, each once, become the classes of ds. */
static int32_t add_classes(feedline_dataset *ds, const struct fdl_index *index)
{
    uint64_t n = 0, at = 0;
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 0; i < index->shards.n; i++)
        n += index->listings[i].classes.names.n;
    if (n == 0)
        return FEEDLINE_OK;
    const char **names = calloc(n, sizeof(*names));
    if (!names)
        return fdl_fail_memory(n * sizeof(*names), "class names");
    for (uint64_t i = 0; i < index->shards.n; i++)
        for (uint64_t k = 0; k < index->listings[i].classes.names.n; k++)
            names[at++] =
                fdl_string_list_at(&index->listings[i].classes.names, k);
    qsort(names, n, sizeof(*names), compare_names);
    for (uint64_t i = 0; status == FEEDLINE_OK && i < n; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            status = fdl_string_list_add(&ds->classes, "", names[i]);
    free(names);
    return status;
}

/* ---- Names of numbers ---------------------------------------------------- */

/* Labels that are numbers get names by a text beside the shards, a line each,
 * as sets for CLIP have it and as loaderbench pack writes it. */
#define CLASS_NAMES "classnames.txt"

/* For free(); NULL: no memory. */
static char *names_path(const char *shard)
{
    const char *slash = strrchr(shard, '/');
    size_t n = slash ? (size_t)(slash - shard) + 1 : 0;
    char *path = malloc(n + sizeof(CLASS_NAMES));
    if (path) {
        memcpy(path, shard, n);
        memcpy(path + n, CLASS_NAMES, sizeof(CLASS_NAMES));
    }
    return path;
}

static bool are_numbers(const struct fdl_index *index)
{
    for (uint64_t i = 0; i < index->shards.n; i++)
        if (index->listings[i].count > 0)
            return index->listings[i].labels == FDL_LABEL_NUMBER;
    return false;
}

static uint64_t count_lines(const char *text, uint64_t bytes)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < bytes; i++)
        n += text[i] == '\n';
    return n + (bytes > 0 && text[bytes - 1] != '\n');
}

static int32_t name_numbers(feedline_dataset *ds, const char *path, char *text,
                            uint64_t bytes)
{
    uint64_t n = count_lines(text, bytes);
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 0; i < ds->count; i++) {
        int64_t label = fdl_integers_at(&ds->labels, i);
        if (label >= 0 && (uint64_t)label >= n) {
            fdl_log(FDL_LOG_WARNING,
                    "%s: %" PRIu64 " names, and a label is %" PRIi64
                    ": the classes go without names",
                    path, n, label);
            return FEEDLINE_OK;
        }
    }
    for (char *line = text; n > 0 && status == FEEDLINE_OK; n--) {
        char *next = line + strcspn(line, "\n");
        bool more = *next != '\0';
        *next = '\0';
        line[strcspn(line, "\r")] = '\0';
        fdl_unescape(line);
        status = fdl_string_list_add(&ds->classes, "", line);
        line = next + more;
    }
    return status;
}

static int32_t add_names_of_numbers(feedline_dataset *ds,
                                    const struct fdl_index *index)
{
    char *text = NULL, *path;
    uint64_t bytes = 0;
    if (!are_numbers(index))
        return FEEDLINE_OK;
    path = names_path(fdl_string_list_at(&index->shards, 0));
    if (!path)
        return fdl_fail_memory(sizeof(CLASS_NAMES), "a path");
    int32_t status = FEEDLINE_OK;
    bool there = access(path, F_OK) == 0;
    if (there)
        status = fdl_file_load(path, &text, &bytes);
    if (there && status == FEEDLINE_OK)
        status = name_numbers(ds, path, text, bytes);
    free(text);
    free(path);
    return status;
}

static int64_t label_of(const feedline_dataset *ds, const char *name)
{
    uint64_t low = 0, high = ds->classes.n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order =
            fdl_name_compare(fdl_string_list_at(&ds->classes, middle), name);
        if (order == 0)
            return (int64_t)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    fdl_assert(false); /* they were all added */
    return 0;
}

/* The label of each class of a listing; NULL: it has none, or no memory. */
static int64_t *number_classes(const feedline_dataset *ds,
                               const struct fdl_listing *list)
{
    int64_t *labels =
        calloc(FDL_MAX(list->classes.names.n, 1), sizeof(*labels));
    for (uint64_t k = 0; labels && k < list->classes.names.n; k++)
        labels[k] = label_of(ds, fdl_string_list_at(&list->classes.names, k));
    return labels;
}

static int32_t add_samples(feedline_dataset *ds, uint32_t file,
                           const struct fdl_listing *list)
{
    int32_t status = FEEDLINE_OK;
    int64_t *labels = number_classes(ds, list);
    if (!labels)
        return fdl_fail_memory(list->classes.names.n * sizeof(*labels),
                               "labels");
    for (uint64_t i = 0; status == FEEDLINE_OK && i < list->count; i++) {
        const struct fdl_listed *s = &list->samples[i];
        struct feedline_extent e = {s->offset, file, s->length};
        status = fdl_dataset_add_extent(
            ds, list->names.text + s->name_at, &e,
            list->labels == FDL_LABEL_CLASS ? labels[s->label] : s->label);
        if (status == FEEDLINE_OK && ds->sums)
            ds->sums[ds->count - 1] = s->sum;
        if (status == FEEDLINE_OK && list->cells)
            status =
                fdl_dataset_add_cells(ds, &list->cells[i * ds->fields.n], file);
    }
    free(labels);
    return status;
}

/* Labels are of one kind, and all samples have one or none has. */
static int32_t check_labels(const struct fdl_index *index)
{
    uint64_t first = UINT64_MAX;
    for (uint64_t i = 0; i < index->shards.n; i++) {
        const struct fdl_listing *l = &index->listings[i];
        const char *path = fdl_string_list_at(&index->shards, i);
        if (l->labelled > 0 && l->labelled < l->count)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s: %" PRIu64 " of %" PRIu64
                            " samples have no label",
                            path, l->count - l->labelled, l->count);
        if (l->count == 0)
            continue;
        if (first == UINT64_MAX)
            first = i;
        if (l->labels != index->listings[first].labels)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s: its labels are of another kind than those of "
                            "%s (names, numbers, none)",
                            path, fdl_string_list_at(&index->shards, first));
    }
    return FEEDLINE_OK;
}

/* ---- Fields -------------------------------------------------------------- */

/* The first sample of a listing without a field; count: all have it. */
static uint64_t first_without(const struct fdl_listing *l, uint32_t field)
{
    uint64_t i = 0;
    while (i < l->count &&
           l->cells[i * l->fields->n + field].file != FDL_NO_FILE)
        i++;
    return i;
}

static int32_t need_field(const struct fdl_index *index, uint32_t field)
{
    for (uint64_t i = 0; i < index->shards.n; i++) {
        const struct fdl_listing *l = &index->listings[i];
        uint64_t missing = first_without(l, field);
        if (missing < l->count)
            return fdl_fail(FEEDLINE_ENOENT,
                            "%s:%s: no field '%s'; missing_field=empty "
                            "delivers an empty one",
                            fdl_string_list_at(&index->shards, i),
                            l->names.text + l->samples[missing].name_at,
                            fdl_field_set_name(index->fields, field));
    }
    return FEEDLINE_OK;
}

/* All shards have a field as one kind, and one of them has it. */
static int32_t settle_kind(const struct fdl_index *index, uint32_t field,
                           int32_t *kind)
{
    const char *name = fdl_field_set_name(index->fields, field);
    for (uint64_t i = 0; i < index->shards.n; i++) {
        int32_t found = index->listings[i].kinds[field];
        if (found != FDL_FIELD_UNKNOWN && *kind != FDL_FIELD_UNKNOWN &&
            found != *kind)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s: its field '%s' is of another kind than that "
                            "of shards before it",
                            fdl_string_list_at(&index->shards, i), name);
        if (found != FDL_FIELD_UNKNOWN)
            *kind = found;
    }
    if (*kind == FDL_FIELD_UNKNOWN)
        return fdl_fail(FEEDLINE_ENOENT, "%s: no sample has a field '%s'",
                        fdl_string_list_at(&index->shards, 0), name);
    return FEEDLINE_OK;
}

static int32_t add_fields(feedline_dataset *ds, const struct fdl_index *index)
{
    if (!index->fields)
        return FEEDLINE_OK;
    int32_t status = fdl_field_set_copy(&ds->fields, index->fields);
    for (uint32_t i = 0; status == FEEDLINE_OK && i < ds->fields.n; i++) {
        status = settle_kind(index, i, &ds->fields.kind[i]);
        if (status == FEEDLINE_OK && index->needs_fields)
            status = need_field(index, i);
    }
    return status;
}

/* Memory for them, if the format has them. */
static int32_t prepare_sums(feedline_dataset *ds, const struct fdl_index *index)
{
    uint64_t n = 0;
    bool summed = false;
    for (uint64_t i = 0; i < index->shards.n; i++) {
        n += index->listings[i].count;
        summed |= index->listings[i].summed;
    }
    if (summed && !(ds->sums = calloc(n, sizeof(*ds->sums))))
        return fdl_fail_memory(n * sizeof(*ds->sums), "checksums of samples");
    return FEEDLINE_OK;
}

static int32_t fill(feedline_dataset *ds, const struct fdl_index *index)
{
    int32_t status = check_labels(index);
    if (status == FEEDLINE_OK)
        status = add_classes(ds, index);
    if (status == FEEDLINE_OK)
        status = add_fields(ds, index);
    if (status == FEEDLINE_OK)
        status = prepare_sums(ds, index);
    for (uint64_t i = 0; status == FEEDLINE_OK && i < index->shards.n; i++) {
        status =
            fdl_dataset_add_file(ds, fdl_string_list_at(&index->shards, i));
        if (status == FEEDLINE_OK && index->listings[i].tag)
            status = fdl_dataset_remote_set_tag(
                ds->remote, (uint32_t)i, ds->files.n, index->listings[i].tag);
        if (status == FEEDLINE_OK)
            status = add_samples(ds, (uint32_t)i, &index->listings[i]);
    }
    if (status == FEEDLINE_OK)
        status = add_names_of_numbers(ds, index);
    return status;
}

/* What was left out is why. */
static int32_t fail_empty(const char *spec, const struct fdl_index *index)
{
    for (uint64_t i = 0; i < index->shards.n; i++) {
        const struct fdl_listing *l = &index->listings[i];
        if (l->n_oddities > 0)
            return fdl_fail(FEEDLINE_ENOENT, "%s: no samples in it; %s: %s",
                            spec, l->oddities[0].what, l->oddities[0].first);
    }
    return fdl_fail(FEEDLINE_ENOENT, "%s: no samples in it", spec);
}

int32_t fdl_dataset_open_shards(const struct fdl_index_format *format,
                                const char *spec, feedline_dataset **out)
{
    struct fdl_index index;
    feedline_dataset *ds = NULL;
    int32_t status = fdl_index_build(format, spec, &index);
    if (status)
        return status;
    status = fdl_dataset_create(&ds);
    if (status == FEEDLINE_OK)
        status = fill(ds, &index);
    if (status == FEEDLINE_OK && ds->count == 0)
        status = fail_empty(spec, &index);
    if (status == FEEDLINE_OK)
        status = fdl_dataset_finish_extents(ds);
    fdl_index_free(&index);
    return fdl_dataset_hand_out(ds, status, out);
}
