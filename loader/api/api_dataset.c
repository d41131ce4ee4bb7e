/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: data sets. */
#include "decode/formats/format.h"
#include "loader/api/api.h"
#include "loader/dataset/dataset_objects.h"
#include "loader/index/index_format.h"

#include <feedline/files.h>
#include <feedline/masks.h>
#include <feedline/objects.h>

int32_t feedline_dataset_open(const char *uri, feedline_dataset **out)
{
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter(uri, "uri");
    return status < 0 ? status : fdl_dataset_open_uri(uri, out);
}

const char *feedline_image_ending(uint32_t index, uint32_t *flags)
{
    bool decoded;
    const struct fdl_ending *e = fdl_format_ending(index, &decoded);
    if (!e)
        return NULL;
    if (flags)
        *flags = (e->listed ? FEEDLINE_ENDING_LISTED : 0) |
                 (decoded ? FEEDLINE_ENDING_DECODED : 0);
    return e->text;
}

const char *feedline_shard_scheme(uint32_t index, const char **help)
{
    const char *scheme = NULL;
    const struct fdl_index_format *format = fdl_index_at(index, &scheme);
    if (format && help)
        *help = format->help;
    return scheme;
}

int32_t feedline_dataset_open_paths(const char *const *paths,
                                    const int64_t *labels, uint64_t count,
                                    feedline_dataset **out)
{
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter(paths, "paths");
    return status < 0 ? status
                      : fdl_dataset_open_paths(paths, labels, count, out);
}

int32_t feedline_dataset_open_extents(const struct feedline_extents *extents,
                                      feedline_dataset **out)
{
    struct feedline_extents known;
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter(extents, "extents");
    if (status >= 0)
        status = fdl_copy_in(&known, extents, sizeof(known));
    return status < 0 ? status : fdl_dataset_open_extents(&known, out);
}

int32_t feedline_dataset_open_source(const struct feedline_source *source,
                                     feedline_dataset **out)
{
    struct feedline_source known;
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter(source, "source");
    if (status >= 0)
        status = fdl_copy_in(&known, source, sizeof(known));
    return status < 0 ? status : fdl_dataset_open_source(&known, out);
}

int32_t feedline_dataset_open_memory(const void *const *data,
                                     const uint64_t *sizes,
                                     const int64_t *labels, uint64_t count,
                                     feedline_dataset **out)
{
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter(data, "data");
    if (status >= 0)
        status = fdl_api_enter(sizes, "sizes");
    return status < 0
               ? status
               : fdl_dataset_open_memory(data, sizes, labels, count, out);
}

int32_t feedline_dataset_open_pixels(const uint8_t *pixels,
                                     const int64_t *labels, uint64_t count,
                                     int32_t height, int32_t width,
                                     int32_t channels, feedline_dataset **out)
{
    int32_t status = fdl_api_enter_out(out);
    if (status >= 0)
        status = fdl_api_enter(pixels, "pixels");
    return status < 0 ? status
                      : fdl_dataset_open_pixels(pixels, labels, count, height,
                                                width, channels, out);
}

int32_t feedline_dataset_get_count(const feedline_dataset *ds, uint64_t *out)
{
    int32_t status = fdl_api_enter_dataset(ds);
    if (status >= 0)
        status = fdl_api_enter(out, "out");
    if (status < 0)
        return status;
    *out = ds->count;
    return FEEDLINE_OK;
}

int32_t feedline_dataset_get_sample(const feedline_dataset *ds, uint64_t index,
                                    struct feedline_sample_info *out)
{
    struct fdl_source source;
    int32_t status = fdl_api_enter_dataset(ds);
    if (status < 0)
        return status;
    if (index >= ds->count)
        return fdl_fail(FEEDLINE_ERANGE, "sample %llu: the data set has %llu",
                        (unsigned long long)index,
                        (unsigned long long)ds->count);
    fdl_dataset_get(ds, index, &source);
    struct feedline_sample_info info = {
        .label = fdl_dataset_label(ds, index),
        .path = fdl_dataset_name(ds, index),
        .file = source.data || source.user ? NULL : source.path,
        .offset = source.offset,
        .bytes = source.length < 0 ? UINT64_MAX : (uint64_t)source.length,
        .name = fdl_dataset_short_name(ds, index),
    };
    return fdl_copy_out(out, &info, sizeof(info));
}

int32_t feedline_dataset_get_field(const feedline_dataset *ds, uint64_t index,
                                   uint32_t field,
                                   struct feedline_sample_field *out)
{
    int32_t status = fdl_api_enter_dataset(ds);
    if (status < 0)
        return status;
    if (index >= ds->count || field >= ds->fields.n)
        return fdl_fail(FEEDLINE_ERANGE,
                        "field %u of sample %llu: the data set has %u fields "
                        "and %llu samples",
                        field, (unsigned long long)index, ds->fields.n,
                        (unsigned long long)ds->count);
    struct feedline_sample_field found;
    fdl_dataset_get_field(ds, index, field, &found);
    return fdl_copy_out(out, &found, sizeof(found));
}

int32_t feedline_dataset_class_count(const feedline_dataset *ds)
{
    int32_t status = fdl_api_enter_dataset(ds);
    return status < 0 ? status : (int32_t)ds->classes.n;
}

const char *feedline_dataset_class_name(const feedline_dataset *ds,
                                        uint32_t label)
{
    if (fdl_api_enter_dataset(ds) < 0)
        return NULL;
    return label < ds->classes.n ? fdl_string_list_at(&ds->classes, label)
                                 : NULL;
}

int32_t feedline_dataset_add_files(feedline_dataset *ds, const char *field,
                                   const char *const *paths)
{
    int32_t status = fdl_api_enter_dataset(ds);
    if (status >= 0)
        status = fdl_api_enter(field, "field");
    if (status >= 0)
        status = fdl_api_enter(paths, "paths");
    return status < 0 ? status : fdl_dataset_add_files(ds, field, paths);
}

int32_t feedline_dataset_set_objects(feedline_dataset *ds,
                                     const struct feedline_objects *objects)
{
    struct feedline_objects known;
    int32_t status = fdl_api_enter_dataset(ds);
    if (status >= 0 && objects)
        status = fdl_copy_in(&known, objects, sizeof(known));
    if (status < 0)
        return status;
    if (atomic_load_explicit(&ds->refs, memory_order_relaxed) > 1)
        return fdl_fail(FEEDLINE_ESTATE,
                        "a loader of the data set exists; set its objects "
                        "before that");
    return fdl_dataset_set_objects(ds, objects ? &known : NULL);
}

void feedline_dataset_close(feedline_dataset *ds)
{
    if (ds && ds->fork_generation == fdl_fork_generation())
        fdl_dataset_unref(ds);
}
