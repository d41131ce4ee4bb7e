/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/dataset/folder_objects.h"

#include "base/status.h"
#include "base/text.h"
#include "decode/formats/format.h"
#include "loader/dataset/dataset_build.h"
#include "store/location.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of "a/b" in "a/b/c.jpg"; 0: it is in no folder. */
static size_t folder_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* ---- Kept ---------------------------------------------------------------- */

/* Of all entries: nothing tells one list from another. */
static const struct fdl_stamp stamp = {1, 1, 1, 1, 0};

/* What is kept of a path: texts, each with its NUL; NULL: nothing. */
static const char *find_kept(struct fdl_walk *w, struct fdl_folder *f,
                             const char *path, uint64_t *bytes)
{
    struct fdl_stamp wanted = stamp;
    const uint8_t *data = fdl_cache_find(w->cache, path, &wanted, bytes);
    if (!data || (*bytes > 0 && data[*bytes - 1] != '\0'))
        return NULL;
    f->cached = data;
    return (const char *)data;
}

void fdl_walk_open_lists(struct fdl_cache *cache, struct fdl_store *store,
                         const char *location)
{
    struct fdl_text kind = {0}, any = {0};
    struct fdl_request r = {0};
    fdl_text_add(&any, "%s-", location); /* names an object, for its address */
    if (!any.failed &&
        store->ops->sign(store, any.data, NULL, NULL, &r) == FEEDLINE_OK)
        fdl_text_add(&kind, "objects %.*s", (int)strcspn(r.url, "?"), r.url);
    if (kind.length > 0 && !kind.failed)
        fdl_cache_open(cache, kind.data, location);
    fdl_clear_error(); /* the list says so */
    fdl_request_free(&r);
    fdl_text_free(&any);
    fdl_text_free(&kind);
}

/* ---- One level ----------------------------------------------------------- */

struct top {
    struct fdl_walk *w;
    size_t skip; /* bytes of a key that are the root's */
};

static int32_t add_top_file(void *user, const struct fdl_object *o)
{
    const struct top *t = user;
    const char *name = o->key + t->skip;
    return fdl_format_lists(name) ? fdl_walk_add_file(t->w, name) : FEEDLINE_OK;
}

static int32_t add_top_folder(void *user, const char *key)
{
    const struct top *t = user;
    if (key[t->skip] == '/')
        return fdl_fail(FEEDLINE_EINVAL, "%s/: a folder without a name",
                        t->w->root);
    return fdl_walk_add(t->w, "", key + t->skip, 0);
}

/* The root is a location, and its key the end of it. */
static size_t key_bytes(const char *location, const char *scheme)
{
    struct fdl_location l;
    int32_t status = fdl_location_parse(location, scheme, &l);
    fdl_assert(status == FEEDLINE_OK); /* its store was opened */
    return strlen(l.key);
}

static int32_t take_top(struct fdl_walk *w, const char *at, uint64_t bytes)
{
    const char *end = at + bytes;
    int32_t status = FEEDLINE_OK;
    for (; status == FEEDLINE_OK && at < end; at += strlen(at) + 1)
        status = fdl_walk_add(w, "", at, 0);
    return status;
}

void fdl_walk_keep_top(const struct fdl_walk *w, struct fdl_cache_writer *out)
{
    struct fdl_strings text = {0};
    uint64_t at;
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 1; status == FEEDLINE_OK && i < w->n_folders; i++)
        status = fdl_strings_add(&text, fdl_walk_path(w, &w->folders[i]), "/",
                                 &at); /* its own has become a NUL */
    if (status == FEEDLINE_OK)
        fdl_cache_add(out, "", &stamp, text.text, text.bytes);
    free(text.text);
}

int32_t fdl_walk_list_top(struct fdl_walk *w, struct fdl_store *store,
                          bool kept)
{
    uint64_t bytes;
    struct top t = {.w = w, .skip = key_bytes(w->root, store->ops->scheme)};
    const char *data = kept ? find_kept(w, &w->folders[0], "", &bytes) : NULL;
    if (data)
        return take_top(w, data, bytes);
    return store->ops->list(store, w->root, add_top_file, add_top_folder, &t);
}

/* ---- A class ------------------------------------------------------------- */

/* What is listed of a class, before it is in order. */
struct found {
    struct fdl_walk *w;
    size_t skip;
    struct fdl_strings text;
    struct image {
        uint64_t folder_at, name_at; /* in text; a tag follows the name */
    } * images;
    uint64_t n, capacity;
    bool mixed; /* not in order */
};

/* As the walk orders them: a folder by its whole path, then by name. */
static int compare_images(const void *a, const void *b, void *text)
{
    const struct image *ia = a, *ib = b;
    const char *t = text;
    int order = 0;
    if (ia->folder_at != ib->folder_at)
        order = fdl_name_compare(t + ia->folder_at, t + ib->folder_at);
    return order ? order : fdl_name_compare(t + ia->name_at, t + ib->name_at);
}

/* The folder of an image: that of the last one, if it is the same. */
static int32_t add_folder_text(struct found *f, const char *path, size_t n,
                               uint64_t *at)
{
    if (f->n > 0) {
        *at = f->images[f->n - 1].folder_at;
        const char *last = f->text.text + *at;
        if (strlen(last) == n && memcmp(last, path, n) == 0)
            return FEEDLINE_OK;
    }
    int32_t status = fdl_strings_add(&f->text, "", path, at);
    if (status == FEEDLINE_OK)
        f->text.text[*at + n] = '\0'; /* what is behind it is not looked at */
    return status;
}

static int32_t add_image(void *user, const struct fdl_object *o)
{
    struct found *f = user;
    const char *path = o->key + f->skip;
    size_t n = folder_bytes(path);
    if (!fdl_format_lists(path + n))
        return FEEDLINE_OK;
    int32_t status = fdl_array_reserve(&f->images, &f->capacity, f->n,
                                       sizeof(*f->images), "images of a class");
    if (status)
        return status;
    uint64_t tag_at;
    struct image *image = &f->images[f->n];
    status = add_folder_text(f, path, n, &image->folder_at);
    if (status == FEEDLINE_OK)
        status = fdl_strings_add(&f->text, "", path + n + 1, &image->name_at);
    if (status == FEEDLINE_OK)
        status = fdl_strings_add(&f->text, "", o->tag, &tag_at);
    if (status)
        return status;
    f->mixed |= f->n > 0 && compare_images(image - 1, image, f->text.text) > 0;
    f->n++;
    return FEEDLINE_OK;
}

/* The walk's current folder becomes the one at `path`; the class itself has
 * been added. */
static int32_t enter(struct fdl_walk *w, const char *path)
{
    const char *class_path = fdl_walk_path(w, &w->folders[1]);
    size_t n = strlen(path);
    int32_t status = FEEDLINE_OK;
    if (strncmp(class_path, path, n) != 0 || class_path[n] != '/')
        status = fdl_walk_add(w, path, "/", 1);
    if (status == FEEDLINE_OK)
        w->folders[w->n_folders - 1].first_file = w->n_files;
    return status;
}

/* To the folder that was entered. */
static int32_t add_file(struct fdl_walk *w, const char *name)
{
    uint64_t at;
    int32_t status = fdl_walk_add_file(w, name);
    if (status == FEEDLINE_OK)
        status = fdl_strings_add(&w->text, "", name + strlen(name) + 1, &at);
    if (status == FEEDLINE_OK)
        w->folders[w->n_folders - 1].n_files++;
    return status;
}

static int32_t move_to_walk(const struct found *f)
{
    struct fdl_walk *w = f->w;
    const char *folder = NULL;
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 0; status == FEEDLINE_OK && i < f->n; i++) {
        const char *path = f->text.text + f->images[i].folder_at;
        if (!folder || strcmp(folder, path) != 0)
            status = enter(w, path);
        folder = path;
        if (status == FEEDLINE_OK)
            status = add_file(w, f->text.text + f->images[i].name_at);
    }
    return status;
}

/* Kept as a folder's path with a '/' before and without that behind it, then
 * name and tag of each image in it. */
static int32_t take_class(struct fdl_walk *w, const char *at, uint64_t bytes)
{
    const char *end = at + bytes;
    int32_t status = FEEDLINE_OK;
    while (status == FEEDLINE_OK && at < end) {
        bool is_folder = *at == '/';
        if (is_folder)
            status = enter(w, at + 1);
        else if (at + strlen(at) + 1 < end)
            status = add_file(w, at);
        at += strlen(at) + 1;
        if (!is_folder && at < end)
            at += strlen(at) + 1;
    }
    return status;
}

void fdl_walk_keep_class(const struct fdl_walk *w, struct fdl_cache_writer *out)
{
    struct fdl_strings text = {0};
    uint64_t at;
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 1; status == FEEDLINE_OK && i < w->n_folders; i++) {
        const struct fdl_folder *f = &w->folders[i];
        status = fdl_strings_add(&text, "/", fdl_walk_path(w, f), &at);
        if (status == FEEDLINE_OK) /* the last '/' */
            text.text[--text.bytes - 1] = '\0';
        for (uint64_t k = 0; status == FEEDLINE_OK && k < f->n_files; k++) {
            const char *name = w->text.text + w->files[f->first_file + k];
            status = fdl_strings_add(&text, "", name, &at);
            if (status == FEEDLINE_OK)
                status =
                    fdl_strings_add(&text, "", name + strlen(name) + 1, &at);
        }
    }
    if (status == FEEDLINE_OK)
        fdl_cache_add(out, fdl_walk_path(w, &w->folders[1]), &stamp, text.text,
                      text.bytes);
    free(text.text);
}

int32_t fdl_walk_list_class(struct fdl_walk *w, struct fdl_store *store,
                            bool kept)
{
    uint64_t bytes;
    struct fdl_folder *class_folder = &w->folders[1];
    const char *data = kept ? find_kept(w, class_folder,
                                        fdl_walk_path(w, class_folder), &bytes)
                            : NULL;
    if (data)
        return take_class(w, data, bytes);
    struct fdl_text location = {0};
    struct found f = {.w = w, .skip = key_bytes(w->root, store->ops->scheme)};
    fdl_text_add(&location, "%s%s", w->root, fdl_walk_path(w, &w->folders[1]));
    int32_t status =
        location.failed
            ? fdl_fail_memory(location.length, "a folder's name")
            : store->ops->list(store, location.data, add_image, NULL, &f);
    if (status == FEEDLINE_OK && f.mixed)
        qsort_r(f.images, f.n, sizeof(*f.images), compare_images, f.text.text);
    if (status == FEEDLINE_OK)
        status = move_to_walk(&f);
    fdl_text_free(&location);
    free(f.text.text);
    free(f.images);
    return status;
}
