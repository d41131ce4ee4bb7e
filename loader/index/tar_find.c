/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of wids (wids-shard-index-v1), of which this reads
 *
 *     {"wids_version": 1, "base": "...",
 *      "shardlist": [{"url": "train-000.tar", "filesize": 146882560}, ...]}
 *
 * It lists shards and no members. Other shards than it was made of show in
 * their sizes. Relative names are of the folder that is the base, or of the
 * index's own.
 */
#include "base/json_scan.h"
#include "loader/index/index_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 16u
#define URL_BYTES 4096u

/* What is neither a path nor the location of a store that is read here. */
static int32_t refuse_streams(const char *path)
{
    const char *colon = strstr(path, "://");
    const char *slash = strchr(path, '/');
    if (strncmp(path, "pipe:", 5) == 0)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "%s: a stream cannot be read at random; save the "
                        "shards as files",
                        path);
    if (colon && slash > colon && !fdl_store_has(path))
        return fdl_fail(FEEDLINE_ENOSYS,
                        "%s: no store that is read here (docs/remote.md); in "
                        "Python, Dataset.fsspec reads others",
                        path);
    return FEEDLINE_OK;
}

/* ---- The index of wids --------------------------------------------------- */

struct wids {
    const char *path;
    struct fdl_string_list *shards; /* NULL: only the base is looked for */
    char folder[URL_BYTES];         /* ends with a slash, or is empty */
    int64_t version;

    /* The shard that is being read. */
    char url[URL_BYTES];
    int64_t bytes; /* -1: not said */
};

static int32_t take_url(struct fdl_json_scan *s, char url[URL_BYTES])
{
    fdl_json_scan_peek(s);
    return fdl_json_scan_string(s, url, URL_BYTES);
}

static int32_t take_integer(struct fdl_json_scan *s, int64_t *out)
{
    fdl_json_scan_peek(s);
    *out = strtoll(s->at, NULL, 10);
    return fdl_json_scan_number(s);
}

static int32_t take_shard_member(struct fdl_json_scan *s, const char *key,
                                 void *user)
{
    struct wids *w = user;
    if (strcmp(key, "url") == 0)
        return take_url(s, w->url);
    if (strcmp(key, "filesize") == 0)
        return take_integer(s, &w->bytes);
    return fdl_json_scan_skip(s);
}

static int32_t add_shard(const struct wids *w)
{
    struct stat st;
    int32_t status = refuse_streams(w->url);
    if (status == FEEDLINE_OK)
        status = fdl_shard_list_add(
            w->shards, *w->url == '/' || fdl_store_has(w->url) ? "" : w->folder,
            w->url);
    if (status)
        return status;
    const char *path = fdl_string_list_at(w->shards, w->shards->n - 1);
    if (w->bytes >= 0 && stat(path, &st) == 0 && st.st_size != w->bytes)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: it says that %s has %" PRId64 " bytes, and it has "
                        "%" PRId64 ": the shard is cut, or the index is of "
                        "others; open the shards themselves",
                        w->path, path, w->bytes, (int64_t)st.st_size);
    return FEEDLINE_OK;
}

static int32_t take_shard(struct fdl_json_scan *s, const char *key, void *user)
{
    struct wids *w = user;
    (void)key;
    w->url[0] = '\0';
    w->bytes = -1;
    if (fdl_json_scan_peek(s) != '{')
        return fdl_json_scan_fail(s, "a shard expected");
    int32_t status = fdl_json_scan_each(s, take_shard_member, w);
    if (status == FEEDLINE_OK && !*w->url)
        status = fdl_json_scan_fail(s, "a shard without a url");
    return status ? status : add_shard(w);
}

static int32_t take_member(struct fdl_json_scan *s, const char *key, void *user)
{
    struct wids *w = user;
    if (strcmp(key, "wids_version") == 0)
        return take_integer(s, &w->version);
    if (!w->shards && strcmp(key, "base") == 0 &&
        fdl_json_scan_peek(s) == '"') {
        int32_t status = take_url(s, w->folder);
        size_t n = strlen(w->folder);
        if (n > 0 && n + 1 < URL_BYTES && w->folder[n - 1] != '/')
            memcpy(w->folder + n, "/", 2);
        return status ? status : refuse_streams(w->folder);
    }
    if (w->shards && strcmp(key, "shardlist") == 0 &&
        fdl_json_scan_peek(s) == '[')
        return fdl_json_scan_each(s, take_shard, w);
    return fdl_json_scan_skip(s);
}

/* Twice: the base may come behind the shards. */
static int32_t find_listed(const char *path, struct fdl_string_list *out)
{
    struct wids w = {.path = path};
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash + 1 - path) : 0;
    if (n >= URL_BYTES)
        return fdl_fail(FEEDLINE_EINVAL, "%s: too long a name", path);
    memcpy(w.folder, path, n);
    int32_t status = fdl_json_scan_file(path, MAX_DEPTH, take_member, &w);
    if (status == FEEDLINE_OK && w.version != 1)
        status = fdl_fail(FEEDLINE_EINVAL,
                          "%s: not an index of wids, version 1", path);
    w.shards = out;
    if (status == FEEDLINE_OK)
        status = fdl_json_scan_file(path, MAX_DEPTH, take_member, &w);
    if (status == FEEDLINE_OK && out->n == 0)
        status = fdl_fail(FEEDLINE_EINVAL, "%s: it names no shards", path);
    return status;
}

int32_t fdl_tar_find(const char *path, struct fdl_string_list *out)
{
    size_t n = strlen(path);
    int32_t status = refuse_streams(path);
    if (status)
        return status;
    return n > 5 && strcmp(path + n - 5, ".json") == 0
               ? find_listed(path, out)
               : fdl_shard_list_find(out, path, fdl_index_tar.endings);
}
