/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what the user typed to the builder that reads it. A scheme decides; a
 * bare path is looked at:
 *
 *     folder with IDX files of training images   idx
 *     any other folder                           folder
 *     file that starts like an IDX file          idx
 *     any other file                             list
 *
 * A path may contain a colon: what exists is a path, unless it starts with one
 * of our schemes.
 */
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int32_t open_file(const char *path, feedline_dataset **out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fdl_fail_path(path, errno);
    char start[4];
    ssize_t n = read(fd, start, sizeof(start));
    int error = errno;
    close(fd);
    if (n < 0)
        return fdl_fail_path(path, error);
    if (fdl_idx_is_file(start, (uint64_t)n))
        return fdl_dataset_open_idx(path, out);
    return fdl_dataset_open_list(path, out);
}

static int32_t open_directory(const char *path, feedline_dataset **out)
{
    char *images = NULL;
    int32_t status = fdl_idx_find_images(path, &images);
    if (status)
        return status;
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

int32_t fdl_dataset_open_uri(const char *uri, feedline_dataset **out)
{
    static const struct {
        const char *scheme;
        int32_t (*open)(const char *path, feedline_dataset **out);
    } kinds[] = {
        {"folder:", fdl_dataset_open_folder},
        {"list:", fdl_dataset_open_list},
        {"idx:", fdl_dataset_open_idx},
    };

    if (!uri || !*uri)
        return fdl_fail(FEEDLINE_EINVAL, "the data set has no name");
    for (size_t i = 0; i < FDL_COUNT_OF(kinds); i++) {
        size_t n = strlen(kinds[i].scheme);
        if (strncmp(uri, kinds[i].scheme, n) == 0)
            return kinds[i].open(uri + n, out);
    }

    struct stat st;
    if (stat(uri, &st) == 0) {
        if (!S_ISDIR(st.st_mode))
            return open_file(uri, out);
        return open_directory(uri, out);
    }

    int error = errno;
    size_t n = scheme_bytes(uri);
    if (n == strlen("tar:") && strncmp(uri, "tar:", n) == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: tar shards are not supported by this version; "
                        "unpack them into a folder",
                        uri);
    if (n > 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: unknown kind of data set '%.*s'; use folder:, "
                        "list: or idx:",
                        uri, (int)n, uri);
    return fdl_fail_path(uri, error);
}
