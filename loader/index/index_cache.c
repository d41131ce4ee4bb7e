/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file, in the machine's own byte order, which `magic` shows:
 *
 *     magic, identity's bytes, identity
 *     entry, path, data        for each path
 *     XXH64 of all before
 *
 * The name is a hash of the identity, which is compared.
 */
#include "loader/index/index_cache.h"

#include "base/file.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/replace.h"
#include "base/status.h"
#include "base/text.h"
#include "base/text_hash.h"

#define XXH_INLINE_ALL
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

/* The version of an entry: raised whenever its layout changes, or what a format
 * keeps in it. */
#define MAGIC         UINT64_C(0xfeed11e1de80004)
#define LEAST_AGE_NS  INT64_C(2000000000)
#define NS_PER_SECOND INT64_C(1000000000)

/* As in the file. */
struct head {
    uint64_t path_bytes; /* with a NUL */
    uint64_t bytes;
    struct fdl_stamp stamp;
};

struct fdl_cache_entry {
    const char *path;
    const uint8_t *data;
    struct head head;
};

static int64_t ns_of(const struct timespec *t)
{
    return (int64_t)t->tv_sec * NS_PER_SECOND + t->tv_nsec;
}

struct fdl_stamp fdl_stamp_of(const struct stat *st)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ns_of(&st->st_ctim) >= ns_of(&now) - LEAST_AGE_NS)
        return (struct fdl_stamp){0};
    return (struct fdl_stamp){
        .size = (uint64_t)st->st_size,
        .inode = st->st_ino,
        .changed_ns = ns_of(&st->st_mtim),
        .inode_changed_ns = ns_of(&st->st_ctim),
    };
}

bool fdl_stamp_is_set(const struct fdl_stamp *stamp)
{
    return stamp->inode_changed_ns != 0;
}

/* ---- Where --------------------------------------------------------------- */

void fdl_cache_make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
}

/* Adds "FOLDER/"; false: there is no place. */
static bool add_folder(struct fdl_text *t)
{
    const char *own = getenv("FEEDLINE_CACHE_DIR");
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    if (own && *own) {
        if (strcmp(own, "off") == 0)
            return false;
        fdl_text_add(t, "%s/", own);
    } else if (xdg && *xdg == '/') {
        fdl_text_add(t, "%s/feedline/", xdg);
    } else if (home && *home == '/') {
        fdl_text_add(t, "%s/.cache/feedline/", home);
    }
    return t->length > 0;
}

/* Whether a path in it ("a::b") is relative. */
static bool is_relative(const char *spec)
{
    for (; spec; spec = strstr(spec, "::")) {
        spec += *spec == ':' ? 2 : 0;
        if (*spec != '/')
            return true;
    }
    return false;
}

char *fdl_cache_path(uint64_t identity, const char *ending)
{
    struct fdl_text path = {0};
    if (add_folder(&path))
        fdl_text_add(&path, "%016" PRIx64 ".%s", identity, ending);
    if (path.failed)
        fdl_text_free(&path);
    return path.data;
}

static char *identity_of(const char *kind, const char *spec)
{
    struct fdl_text t = {0};
    char *folder = is_relative(spec) ? getcwd(NULL, 0) : NULL;
    if (folder || !is_relative(spec))
        fdl_text_add(&t, "%d.%d.%d %s %s %s", FEEDLINE_VERSION_MAJOR,
                     FEEDLINE_VERSION_MINOR, FEEDLINE_VERSION_PATCH, kind,
                     folder ? folder : "", spec);
    free(folder);
    if (t.failed)
        fdl_text_free(&t);
    return t.data;
}

/* ---- Reading ------------------------------------------------------------- */

struct cursor {
    const uint8_t *at;
    uint64_t left;
};

/* The next n bytes, or NULL. */
static const uint8_t *take(struct cursor *c, uint64_t n)
{
    const uint8_t *at = c->at;
    if (n > c->left)
        return NULL;
    c->at += n;
    c->left -= n;
    return at;
}

static bool take_number(struct cursor *c, uint64_t *out)
{
    const uint8_t *at = take(c, sizeof(*out));
    if (at)
        memcpy(out, at, sizeof(*out));
    return at != NULL;
}

static bool take_entry(struct cursor *c, struct fdl_cache_entry *e)
{
    const uint8_t *at = take(c, sizeof(e->head));
    if (!at)
        return false;
    memcpy(&e->head, at, sizeof(e->head));
    e->path = (const char *)take(c, e->head.path_bytes);
    if (!e->path || e->head.path_bytes == 0 ||
        memchr(e->path, '\0', e->head.path_bytes) !=
            e->path + e->head.path_bytes - 1)
        return false;
    e->data = take(c, e->head.bytes);
    return e->data != NULL;
}

static int by_path(const void *a, const void *b)
{
    const struct fdl_cache_entry *ea = a, *eb = b;
    return strcmp(ea->path, eb->path);
}

/* NULL, or what is wrong. */
static const char *parse(struct fdl_cache *c, uint64_t size)
{
    struct cursor at = {(const uint8_t *)c->bytes, size};
    uint64_t magic, bytes, sum, capacity = 0;
    const char *identity;
    if (size < sizeof(sum))
        return "it is damaged";
    at.left -= sizeof(sum);
    if (!take_number(&at, &magic) || magic != MAGIC)
        return "another version wrote it";
    memcpy(&sum, c->bytes + size - sizeof(sum), sizeof(sum));
    if (XXH64(c->bytes, size - sizeof(sum), 0) != sum)
        return "it is damaged";
    if (!take_number(&at, &bytes) ||
        !(identity = (const char *)take(&at, bytes)))
        return "it is damaged";
    if (bytes != strlen(c->identity) ||
        memcmp(identity, c->identity, bytes) != 0)
        return "it is of another data set or version";
    while (at.left > 0) {
        int32_t status = fdl_array_reserve(&c->entries, &capacity, c->n,
                                           sizeof(*c->entries), "a cache");
        if (status)
            return fdl_last_error();
        if (!take_entry(&at, &c->entries[c->n]))
            return "it is damaged";
        c->n++;
    }
    if (c->n > 0)
        qsort(c->entries, c->n, sizeof(*c->entries), by_path);
    return NULL;
}

void fdl_cache_forget(struct fdl_cache *c)
{
    free(c->bytes);
    free(c->entries);
    c->bytes = NULL;
    c->entries = NULL;
    c->n = 0;
}

static void load(struct fdl_cache *c)
{
    uint64_t size = 0;
    int32_t status = fdl_file_load(c->path, &c->bytes, &size);
    const char *why = status == FEEDLINE_OK ? parse(c, size) : fdl_last_error();
    if (why) {
        if (status != FEEDLINE_ENOENT)
            fdl_log(FDL_LOG_WARNING, "index cache %s: %s; not used", c->path,
                    why);
        fdl_cache_forget(c);
    }
    fdl_clear_error();
}

void fdl_cache_open(struct fdl_cache *c, const char *kind, const char *spec)
{
    *c = (struct fdl_cache){.identity = identity_of(kind, spec)};
    if (c->identity)
        c->path = fdl_cache_path(fdl_hash_text(c->identity), "index");
    if (c->path)
        load(c);
}

void fdl_cache_close(struct fdl_cache *c)
{
    fdl_cache_forget(c);
    free(c->path);
    free(c->identity);
    *c = (struct fdl_cache){0};
}

const uint8_t *fdl_cache_find(const struct fdl_cache *c, const char *path,
                              struct fdl_stamp *stamp, uint64_t *bytes)
{
    const struct fdl_cache_entry key = {.path = path}, *found = NULL;
    struct fdl_stamp wanted = *stamp;
    if (c->n > 0)
        found = bsearch(&key, c->entries, c->n, sizeof(key), by_path);
    if (!found)
        return NULL;
    if (wanted.contents == 0)
        wanted.contents = found->head.stamp.contents;
    if (memcmp(&found->head.stamp, &wanted, sizeof(wanted)) != 0)
        return NULL;
    *stamp = wanted;
    *bytes = found->head.bytes;
    return found->data;
}

/* ---- Writing ------------------------------------------------------------- */

struct fdl_cache_writer {
    struct fdl_replace file;
    XXH64_state_t hash;
};

static void put(struct fdl_cache_writer *w, const void *data, uint64_t bytes)
{
    if (bytes > 0)
        XXH64_update(&w->hash, data, bytes);
    fdl_replace_write(&w->file, data, bytes);
}

struct fdl_cache_writer *fdl_cache_begin(const struct fdl_cache *c)
{
    uint64_t magic = MAGIC;
    struct fdl_cache_writer *w = c->path ? malloc(sizeof(*w)) : NULL;
    if (!w)
        return NULL;
    fdl_cache_make_folders(c->path);
    XXH64_reset(&w->hash, 0);
    fdl_replace_begin(&w->file, c->path, 0600);
    uint64_t bytes = strlen(c->identity);
    put(w, &magic, sizeof(magic));
    put(w, &bytes, sizeof(bytes));
    put(w, c->identity, bytes);
    return w;
}

void fdl_cache_add(struct fdl_cache_writer *w, const char *path,
                   const struct fdl_stamp *stamp, const void *data,
                   uint64_t bytes)
{
    struct head head = {strlen(path) + 1, bytes, *stamp};
    if (!fdl_stamp_is_set(stamp))
        return;
    put(w, &head, sizeof(head));
    put(w, path, head.path_bytes);
    put(w, data, bytes);
}

void fdl_cache_end(struct fdl_cache_writer *w)
{
    uint64_t sum = XXH64_digest(&w->hash);
    put(w, &sum, sizeof(sum));
    const char *path = w->file.path;
    int error = fdl_replace_end(&w->file);
    if (error)
        fdl_log(FDL_LOG_WARNING, "index cache %s: %s; not kept", path,
                strerror(error));
    free(w);
}
