/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what the user typed to the builder that reads it. A scheme decides; a
 * bare path is looked at:
 *
 *     folder with IDX files of training images   idx
 *     folder with shards, or with their index    their format
 *     any other folder                           folder
 *     file that starts like an IDX file          idx
 *     file that starts or is named like a shard  its format
 *     any other file                             list
 *     no file, but named like a shard            its format ("{00..99}.tar")
 *
 * A location ("https://...") is named like a shard, or has a format in front;
 * where its store has lists, any other one is a folder, and what is right in it
 * decides.
 *
 * A path may contain a colon, or a '?': what exists is a path, unless it starts
 * with one of our schemes. What does not is looked at without its options.
 *
 * "?quarantine=FILE" is for all kinds, and the last option: the rest is a name.
 */
#include "base/text.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"
#include "loader/index/index_format.h"
#include "loader/index/spec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUARANTINE "quarantine="

static int32_t refuse_options(const char *spec)
{
    return fdl_fail(FEEDLINE_EINVAL,
                    "%s: only shards and lists have options after '?', except "
                    "quarantine",
                    spec);
}

/* spec: the path, perhaps with options. */
static int32_t open_file(const char *path, const char *spec,
                         feedline_dataset **out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fdl_fail_path(path, errno);
    uint8_t head[FDL_INDEX_HEAD_BYTES];
    ssize_t n = read(fd, head, sizeof(head));
    int error = errno;
    close(fd);
    if (n < 0)
        return fdl_fail_path(path, error);
    if (fdl_idx_is_file((const char *)head, (uint64_t)n))
        return spec == path ? fdl_dataset_open_idx(path, out)
                            : refuse_options(spec);
    const struct fdl_index_format *format =
        fdl_index_of_head(head, (uint64_t)n);
    if (!format) /* damaged, or compressed */
        format = fdl_index_of_name(path);
    return format ? fdl_dataset_open_shards(format, spec, out)
                  : fdl_dataset_open_list(spec, out);
}

/* The format of the first file in it that is named like a shard; NULL: there is
 * none. What cannot be read is told by whoever opens it. */
static const struct fdl_index_format *format_of_folder(const char *path)
{
    const struct fdl_index_format *format = NULL;
    const struct dirent *entry;
    DIR *dir = opendir(path);
    while (dir && !format && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' && entry->d_type != DT_DIR)
            format = fdl_index_of_name(entry->d_name);
    if (dir)
        closedir(dir);
    return format;
}

static int32_t open_directory(const char *path, const char *spec,
                              feedline_dataset **out)
{
    char *images = NULL;
    int32_t status = fdl_idx_find_images(path, &images);
    if (status)
        return status;
    const struct fdl_index_format *format =
        images ? NULL : format_of_folder(path);
    if (format)
        status = fdl_dataset_open_shards(format, spec, out);
    else if (spec != path)
        status = refuse_options(spec);
    else
        status = images ? fdl_dataset_open_idx(path, out)
                        : fdl_dataset_open_folder(path, out);
    free(images);
    return status;
}

/* Bytes of "scheme:" at the start of uri, 0 if there is none. */
static size_t scheme_bytes(const char *uri)
{
    size_t n = strspn(uri, "abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return n > 0 && uri[n] == ':' ? n + 1 : 0;
}

/* PATH of "PATH?option=value", for free(); NULL: it has no options. */
static char *without_options(const char *uri)
{
    size_t bytes = fdl_spec_path_bytes(uri);
    return uri[bytes] ? strndup(uri, bytes) : NULL;
}

/* Whether there is such a path, or its name tells its format; *status is then
 * what came of it, and else errno says why not. */
static bool open_path(const char *path, const char *spec, int32_t *status,
                      feedline_dataset **out)
{
    struct stat st;
    const struct fdl_index_format *format = NULL;
    bool exists = stat(path, &st) == 0;
    if (exists)
        *status = S_ISDIR(st.st_mode) ? open_directory(path, spec, out)
                                      : open_file(path, spec, out);
    else if ((format = fdl_index_of_name(path)))
        *status = fdl_dataset_open_shards(format, spec, out);
    return exists || format;
}

/* ---- Folders in a store -------------------------------------------------- */

/* format: of the first object that is named like a shard; NULL: none yet. */
static int32_t look_at_object(void *user, const struct fdl_object *o)
{
    const struct fdl_index_format **format = user;
    const char *slash = strrchr(o->key, '/');
    const char *name = slash ? slash + 1 : o->key;
    if (!*format && *name != '.')
        *format = fdl_index_of_name(name);
    return FEEDLINE_OK;
}

/* A location that is a folder, whether it ends with a '/' or not. Only class
 * folders have an option `list`. */
static int32_t open_prefix(const char *uri, feedline_dataset **out)
{
    size_t bytes = fdl_spec_path_bytes(uri);
    const char *slash = bytes > 0 && uri[bytes - 1] == '/' ? "" : "/";
    const struct fdl_index_format *format = NULL;
    struct fdl_text path = {0}, spec = {0};
    fdl_text_add(&path, "%.*s%s", (int)bytes, uri, slash);
    fdl_text_add(&spec, "%.*s%s%s", (int)bytes, uri, slash, uri + bytes);
    int32_t status = path.failed || spec.failed
                         ? fdl_fail_memory(bytes, "a data set's name")
                         : FEEDLINE_OK;
    if (status == FEEDLINE_OK && strncmp(uri + bytes, "?list=", 6) != 0)
        status = fdl_store_each_in(path.data, look_at_object, &format);
    if (status == FEEDLINE_OK && format)
        status = fdl_dataset_open_shards(format, spec.data, out);
    else if (status == FEEDLINE_OK)
        status = fdl_dataset_open_folder(spec.data, out);
    fdl_text_free(&path);
    fdl_text_free(&spec);
    return status;
}

/* ---- All of it ----------------------------------------------------------- */

static int32_t open_known(const char *uri, feedline_dataset **out)
{
    static const struct {
        const char *scheme;
        int32_t (*open)(const char *path, feedline_dataset **out);
    } kinds[] = {
        {"folder:", fdl_dataset_open_folder},
        {"list:", fdl_dataset_open_list},
        {"idx:", fdl_dataset_open_idx},
        {"coco:", fdl_dataset_open_coco},
    };

    for (size_t i = 0; i < FDL_COUNT_OF(kinds); i++) {
        size_t n = strlen(kinds[i].scheme);
        if (strncmp(uri, kinds[i].scheme, n) == 0)
            return kinds[i].open(uri + n, out);
    }

    size_t scheme = scheme_bytes(uri);
    const struct fdl_index_format *format =
        scheme ? fdl_index_of_scheme(uri, scheme - 1) : NULL;
    if (format)
        return fdl_dataset_open_shards(format, uri + scheme, out);

    int32_t status = FEEDLINE_OK;
    if (open_path(uri, uri, &status, out))
        return status;
    int error = errno;
    char *bare = without_options(uri);
    bool found = bare && open_path(bare, uri, &status, out);
    free(bare);
    if (found)
        return status;
    if (fdl_store_has_lists(uri))
        return open_prefix(uri, out);
    if (fdl_store_has(uri))
        return fdl_fail(FEEDLINE_EINVAL,
                        "%.*s: not named like a shard; put its format in front "
                        "(tar:https://...), or name single objects in a list",
                        (int)fdl_store_shown_bytes(uri), uri);
    if (scheme > 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: unknown kind of data set '%.*s'; use folder:, "
                        "list:, idx:, coco: or a shard format",
                        uri, (int)scheme, uri);
    return fdl_fail_path(uri, error);
}

/* The last "?quarantine=" or "&quarantine="; NULL: there is none. */
static const char *find_quarantine(const char *uri)
{
    const char *found = NULL;
    for (const char *at = uri; (at = strstr(at, QUARANTINE)); at++)
        if (at > uri && (at[-1] == '?' || at[-1] == '&'))
            found = at - 1;
    return found;
}

int32_t fdl_dataset_open_uri(const char *uri, feedline_dataset **out)
{
    if (!uri || !*uri)
        return fdl_fail(FEEDLINE_EINVAL, "the data set has no name");
    const char *mark = find_quarantine(uri);
    if (!mark)
        return open_known(uri, out);
    char *bare = strndup(uri, (size_t)(mark - uri));
    if (!bare)
        return fdl_fail_memory(strlen(uri), "a data set's name");
    feedline_dataset *ds = NULL;
    int32_t status = open_known(bare, &ds);
    free(bare);
    if (status == FEEDLINE_OK)
        status = fdl_dataset_leave_out(ds, mark + 1 + strlen(QUARANTINE));
    return fdl_dataset_hand_out(ds, status, out);
}
