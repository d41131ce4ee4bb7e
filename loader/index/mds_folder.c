/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of an MDS data set: index.json names its shards in order. Those
 * that were compressed are found if they were decompressed beside it, as
 * Streaming does when it reads them.
 */
#include "base/json_scan.h"
#include "loader/index/index_format.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX      "/index.json"
#define NAME_BYTES 1024u
#define TEXT_BYTES 32u
#define MAX_DEPTH  16u

/* ---- index.json ---------------------------------------------------------- */

struct reading {
    struct fdl_string_list *shards;
    const char *folder; /* ends with a slash */
    const char *path;   /* of index.json */

    /* The shard that is being read. */
    char format[TEXT_BYTES], compression[TEXT_BYTES];
    char raw[NAME_BYTES], zip[NAME_BYTES];
};

/* A string; anything else counts as none. */
static int32_t take_text(struct fdl_json_scan *s, char *out, size_t capacity)
{
    return fdl_json_scan_peek(s) == '"' ? fdl_json_scan_string(s, out, capacity)
                                        : fdl_json_scan_skip(s);
}

static int32_t take_basename(struct fdl_json_scan *s, const char *key,
                             void *name)
{
    return strcmp(key, "basename") == 0 ? take_text(s, name, NAME_BYTES)
                                        : fdl_json_scan_skip(s);
}

static int32_t take_file(struct fdl_json_scan *s, char name[NAME_BYTES])
{
    return fdl_json_scan_peek(s) == '{'
               ? fdl_json_scan_each(s, take_basename, name)
               : fdl_json_scan_skip(s);
}

static int32_t take_shard_member(struct fdl_json_scan *s, const char *key,
                                 void *user)
{
    struct reading *r = user;
    if (strcmp(key, "format") == 0)
        return take_text(s, r->format, sizeof(r->format));
    if (strcmp(key, "compression") == 0)
        return take_text(s, r->compression, sizeof(r->compression));
    if (strcmp(key, "raw_data") == 0)
        return take_file(s, r->raw);
    if (strcmp(key, "zip_data") == 0)
        return take_file(s, r->zip);
    return fdl_json_scan_skip(s);
}

/* Merged indexes name shards in sub-folders; none may be outside the folder. */
static bool is_inside(const char *name)
{
    return *name != '\0' && *name != '/' && strcmp(name, "..") != 0 &&
           strncmp(name, "../", 3) != 0 && !strstr(name, "/../");
}

static int32_t add_shard(const struct reading *r)
{
    if (strcmp(r->format, "mds") != 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: shards of format '%s' are not supported: write "
                        "the data set with MDSWriter",
                        r->path, r->format);
    if (!is_inside(r->raw))
        return fdl_fail(FEEDLINE_EINVAL, "%s: '%s' is no file of this folder",
                        r->path, r->raw);
    int32_t status = fdl_shard_list_add(r->shards, r->folder, r->raw);
    const char *path =
        status ? NULL : fdl_string_list_at(r->shards, r->shards->n - 1);
    if (status == FEEDLINE_OK && r->zip[0] && access(path, F_OK) != 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: %s is compressed (%s): decompress the shards in "
                        "their folder, or write them without compression",
                        r->path, r->zip, r->compression);
    return status;
}

static int32_t take_shard(struct fdl_json_scan *s, const char *key, void *user)
{
    struct reading *r = user;
    (void)key;
    if (fdl_json_scan_peek(s) != '{')
        return fdl_json_scan_fail(s, "a shard expected");
    r->format[0] = r->compression[0] = r->raw[0] = r->zip[0] = '\0';
    int32_t status = fdl_json_scan_each(s, take_shard_member, r);
    return status ? status : add_shard(r);
}

static int32_t take_member(struct fdl_json_scan *s, const char *key, void *user)
{
    if (strcmp(key, "shards") == 0 && fdl_json_scan_peek(s) == '[')
        return fdl_json_scan_each(s, take_shard, user);
    return fdl_json_scan_skip(s);
}

static int32_t read_index(const char *folder, const char *path,
                          struct fdl_string_list *out)
{
    struct reading r = {.shards = out, .folder = folder, .path = path};
    int32_t status = fdl_json_scan_file(path, MAX_DEPTH, take_member, &r);
    if (status == FEEDLINE_OK && out->n == 0)
        status = fdl_fail(FEEDLINE_EINVAL, "%s: it names no shards", path);
    return status;
}

/* ---- Folders ------------------------------------------------------------- */

/* Says which sub-folders are data sets, where there are any. */
static int32_t fail_without_shards(const char *folder, int32_t status)
{
    char path[4096];
    const struct dirent *entry;
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        int n =
            snprintf(path, sizeof(path), "%s/%s" INDEX, folder, entry->d_name);
        if (entry->d_name[0] == '.' || n >= (int)sizeof(path) ||
            access(path, F_OK) != 0)
            continue;
        status = fdl_fail(status,
                          "%s: no index.json in it, but in its folder '%s': "
                          "open each split by itself (mds:%s/%s)",
                          folder, entry->d_name, folder, entry->d_name);
        break;
    }
    if (dir)
        closedir(dir);
    return status;
}

int32_t fdl_mds_find(const char *path, struct fdl_string_list *out)
{
    struct fdl_strings names = {0};
    struct stat st;
    uint64_t folder, index;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return fdl_shard_list_find(out, path, fdl_index_mds.endings);
    int32_t status = fdl_strings_add(&names, path, "/", &folder);
    if (status == FEEDLINE_OK)
        status = fdl_strings_add(&names, path, INDEX, &index);
    if (status)
        goto done;
    if (access(names.text + index, F_OK) == 0) {
        status = read_index(names.text + folder, names.text + index, out);
        goto done;
    }
    status = fdl_shard_list_find(out, path, fdl_index_mds.endings);
    if (status == FEEDLINE_ENOENT)
        status = fail_without_shards(path, status);
done:
    free(names.text);
    return status;
}
