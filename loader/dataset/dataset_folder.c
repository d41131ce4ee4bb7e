/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders: one folder per class, exactly as torchvision's ImageFolder finds
 * and orders them, so that labels and sample numbers of both agree.
 *
 *   - classes are the folders right below the root, links to folders included,
 *     by name; their place is the label;
 *   - within a class, all folders at any depth are ordered by their whole path
 *     ("a-b" before "a/b", as '-' < '/'), and within each the files by name.
 *     A recursive descent in order would not give that order;
 *   - a file is a sample by the ending of its name alone, hidden or not.
 *
 * Classes are listed in parallel, each by a walk of its own (folder_walk.h); in
 * a store, from lists of its objects (folder_objects.h).
 */
#include "base/memory.h"
#include "base/parallel.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"
#include "loader/dataset/dataset_remote.h"
#include "loader/dataset/folder_objects.h"
#include "loader/dataset/folder_walk.h"
#include "loader/index/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NAMED_CLASSES 5 /* in an error line */

/* By path without the final '/', as "a" comes before "a-b". */
static int compare_folders(const void *a, const void *b, void *user)
{
    const struct fdl_walk *w = user;
    const struct fdl_folder *fa = a, *fb = b;
    const char *pa = fdl_walk_path(w, fa), *pb = fdl_walk_path(w, fb);
    char *text = w->text.text;
    size_t end_a = strlen(pa) - 1, end_b = strlen(pb) - 1;
    text[fa->path_at + end_a] = '\0';
    text[fb->path_at + end_b] = '\0';
    int order = fdl_name_compare(pa, pb);
    text[fa->path_at + end_a] = '/';
    text[fb->path_at + end_b] = '/';
    return order;
}

/* In a store the tag of the object is known, and follows its name. */
static int32_t add_sample(feedline_dataset *ds, const char *prefix,
                          const char *name, int64_t label)
{
    int32_t status = fdl_dataset_add_joined(ds, prefix, name, label);
    const char *tag = ds->remote ? name + strlen(name) + 1 : "";
    return status || !*tag
               ? status
               : fdl_dataset_remote_set_tag(
                     ds->remote, (uint32_t)(ds->count - 1), ds->count, tag);
}

/* Moves a collected class, in order, into ds. */
static int32_t add_samples(const struct fdl_walk *w, int64_t label,
                           feedline_dataset *ds)
{
    struct fdl_strings prefix = {0};
    int32_t status = FEEDLINE_OK;

    for (uint64_t i = 1; status == FEEDLINE_OK && i < w->n_folders; i++) {
        const struct fdl_folder *f = &w->folders[i];
        uint64_t at;
        if (f->n_files == 0)
            continue;
        const uint64_t *files = w->files + f->first_file;
        prefix.bytes = 0;
        status = fdl_strings_add(&prefix, w->root, fdl_walk_path(w, f), &at);
        for (uint64_t k = 0; status == FEEDLINE_OK && k < f->n_files; k++)
            status =
                add_sample(ds, prefix.text, w->text.text + files[k], label);
    }
    free(prefix.text);
    return status;
}

/* A whole data set. */
struct listing {
    struct fdl_walk top; /* the root alone */
    struct fdl_walk *classes;
    struct fdl_store *store; /* has it; NULL: it is on this machine */
    bool kept;               /* a list of the store that was kept will do */
    feedline_dataset *ds;
};

/* Lists a class; on several threads, each its own. */
static int32_t walk_class(void *arg, uint64_t label)
{
    const struct listing *l = arg;
    struct fdl_walk *w = &l->classes[label];
    *w = (struct fdl_walk){.root = l->top.root,
                           .root_fd = l->top.root_fd,
                           .cache = l->top.cache,
                           .first_kept = 1};
    int32_t status = fdl_walk_add(w, "", "", 0);
    if (status)
        return status;
    w->folders[0].device = l->top.folders[0].device;
    w->folders[0].inode = l->top.folders[0].inode;
    status =
        fdl_walk_add(w, fdl_string_list_at(&l->ds->classes, label), "/", 0);
    if (l->store && status == FEEDLINE_OK)
        status = fdl_walk_list_class(w, l->store, l->kept);
    for (uint64_t i = 1; !l->store && status == FEEDLINE_OK && i < w->n_folders;
         i++)
        status = fdl_walk_scan(w, i);
    w->text.text = fdl_array_trimmed(w->text.text, w->text.bytes);
    w->kept.text = fdl_array_trimmed(w->kept.text, w->kept.bytes);
    qsort_r(w->folders + 1, w->n_folders - 1, sizeof(*w->folders),
            compare_folders, w);
    return status;
}

/* The folders below the root become the classes of ds. */
static int32_t find_classes(struct listing *l)
{
    struct fdl_walk *w = &l->top;
    int32_t status = fdl_walk_add(w, "", "", 0);
    if (status == FEEDLINE_OK)
        status = l->store ? fdl_walk_list_top(w, l->store, l->kept)
                          : fdl_walk_scan(w, 0);
    if (status)
        return status;
    if (w->n_folders == 1 && w->n_files > 0)
        return fdl_fail(FEEDLINE_ENOENT,
                        "found no class folders in %s, only %" PRIu64
                        " images: put them into one folder per class, or name "
                        "them in a list (list:FILE)",
                        w->root, w->n_files);
    if (w->n_folders == 1)
        return fdl_fail(FEEDLINE_ENOENT, "found no class folders in %s",
                        w->root);

    qsort_r(w->folders + 1, w->n_folders - 1, sizeof(*w->folders),
            compare_folders, w);
    for (uint64_t i = 1; status == FEEDLINE_OK && i < w->n_folders; i++) {
        char *name = w->text.text + w->folders[i].path_at;
        name[strlen(name) - 1] = '\0'; /* the '/' */
        status = fdl_string_list_add(&l->ds->classes, "", name);
    }
    return status;
}

/* Lists the first classes without a sample. */
static int32_t fail_empty(const struct fdl_walk *w, const feedline_dataset *ds,
                          const uint64_t *empty, uint64_t n_empty)
{
    char names[512] = "";
    size_t length = 0;
    for (uint64_t i = 0; i < n_empty && i < MAX_NAMED_CLASSES; i++) {
        const char *name = fdl_string_list_at(&ds->classes, empty[i]);
        int n = snprintf(names + length, sizeof(names) - length, "%s%s",
                         i ? ", " : "", name);
        length = FDL_MIN(length + (size_t)n, sizeof(names) - 1);
    }
    return fdl_fail(FEEDLINE_ENOENT,
                    "%s: %" PRIu64 " of %" PRIu64
                    " class folders have no image: %s%s",
                    w->root, n_empty, ds->classes.n, names,
                    n_empty > MAX_NAMED_CLASSES ? ", ..." : "");
}

static int32_t add_classes(const struct listing *l)
{
    uint64_t empty[MAX_NAMED_CLASSES];
    uint64_t n_empty = 0;
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 0; status == FEEDLINE_OK && i < l->ds->classes.n; i++) {
        uint64_t before = l->ds->count;
        status = add_samples(&l->classes[i], (int64_t)i, l->ds);
        if (l->ds->count == before) {
            if (n_empty < MAX_NAMED_CLASSES)
                empty[n_empty] = i;
            n_empty++;
        }
    }
    if (status == FEEDLINE_OK && n_empty > 0)
        status = fail_empty(&l->top, l->ds, empty, n_empty);
    return status;
}

static void count_kept(const struct fdl_walk *w, uint64_t *stamps, bool *news)
{
    for (uint64_t i = w->first_kept; i < w->n_folders; i++) {
        const struct fdl_folder *f = &w->folders[i];
        bool stamped = fdl_stamp_is_set(&f->stamp);
        *stamps += stamped;
        *news |= stamped && !f->cached;
    }
}

/* Writes the cache if there is enough that is new. */
static void keep(const struct listing *l)
{
    uint64_t stamps = 0;
    bool news = false;
    count_kept(&l->top, &stamps, &news);
    for (uint64_t i = 0; i < l->ds->classes.n; i++)
        count_kept(&l->classes[i], &stamps, &news);
    if (l->ds->count < FDL_CACHE_LEAST_SAMPLES || stamps == 0 ||
        (!news && stamps == l->top.cache->n))
        return;
    struct fdl_cache_writer *writer = fdl_cache_begin(l->top.cache);
    if (!writer)
        return;
    fdl_walk_keep(&l->top, writer);
    for (uint64_t i = 0; i < l->ds->classes.n; i++)
        fdl_walk_keep(&l->classes[i], writer);
    fdl_cache_end(writer);
}

/* A list that is kept is renewed by each that is not taken from it, and the
 * first time where that was asked for. */
static void keep_lists(const struct listing *l)
{
    bool news = !l->top.folders[0].cached;
    for (uint64_t i = 0; i < l->ds->classes.n; i++)
        news |= !l->classes[i].folders[1].cached;
    struct fdl_cache_writer *writer = NULL;
    if (news && (l->kept || l->top.cache->n > 0))
        writer = fdl_cache_begin(l->top.cache);
    if (!writer)
        return;
    fdl_walk_keep_top(&l->top, writer);
    for (uint64_t i = 0; i < l->ds->classes.n; i++)
        fdl_walk_keep_class(&l->classes[i], writer);
    fdl_cache_end(writer);
}

static int32_t list_root(struct listing *l)
{
    int32_t status = find_classes(l);
    uint64_t n = l->ds->classes.n;
    if (status)
        return status;
    l->classes = calloc(n, sizeof(*l->classes));
    if (!l->classes)
        return fdl_fail_memory(n * sizeof(*l->classes), "class folders");
    status = l->store ? fdl_parallel_waits("feedline-list", FDL_LISTS_AT_ONCE,
                                           n, walk_class, l)
                      : fdl_parallel("feedline-list", n, walk_class, l);
    if (status == FEEDLINE_OK)
        status = add_classes(l);
    if (status == FEEDLINE_OK && l->store)
        keep_lists(l);
    else if (status == FEEDLINE_OK)
        keep(l);
    for (uint64_t i = 0; i < n; i++)
        fdl_walk_free(&l->classes[i]);
    free(l->classes);
    return status;
}

/* Cuts "?list=kept" behind the path of a folder in a store. */
static int32_t take_list_option(struct listing *l, char *path)
{
    char *rest = fdl_store_has(path) ? fdl_spec_cut(path) : NULL;
    const char *option;
    while ((option = fdl_spec_next(&rest))) {
        l->kept = strcmp(option, "list=kept") == 0;
        if (!l->kept && strcmp(option, "list=new") != 0)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s: class folders in a store have the option "
                            "list=new or list=kept, not %s",
                            path, option);
    }
    return FEEDLINE_OK;
}

static int32_t open_store(struct listing *l, struct fdl_cache *cache)
{
    char *cut = NULL;
    const char *location = l->top.root;
    if (!fdl_store_has_lists(location))
        return fdl_fail(FEEDLINE_EINVAL,
                        "%.*s: a web server lists no folders; name single "
                        "objects in a list (list:FILE)",
                        (int)fdl_store_shown_bytes(location), location);
    int32_t status =
        fdl_dataset_remote_admit(&l->ds->remote, 0, &location, &cut);
    free(cut);
    if (status)
        return status;
    l->store = l->ds->remote->stores[fdl_store_kind_of(location)];
    fdl_walk_open_lists(cache, l->store, location);
    return FEEDLINE_OK;
}

static int32_t open_path(struct listing *l, const char *path,
                         struct fdl_cache *cache)
{
    l->top.root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (l->top.root_fd < 0)
        return errno == ENOTDIR
                   ? fdl_fail(FEEDLINE_ENOENT, "%s: not a folder", path)
                   : fdl_fail_path(path, errno);
    fdl_cache_open(cache, "folder", path);
    return FEEDLINE_OK;
}

/* As os.path.join: a '/' only where there is none. */
static int32_t set_root(struct fdl_strings *root, const char *path)
{
    uint64_t at;
    size_t bytes = strlen(path);
    const char *slash = bytes > 0 && path[bytes - 1] == '/' ? "" : "/";
    return fdl_strings_add(root, path, slash, &at);
}

int32_t fdl_dataset_open_folder(const char *spec, feedline_dataset **out)
{
    struct fdl_strings root = {0};
    struct fdl_cache cache = {0};
    struct listing l = {.top = {.root_fd = -1, .cache = &cache}};
    char *path = fdl_strdup(spec);
    int32_t status = path ? take_list_option(&l, path)
                          : fdl_fail_memory(strlen(spec), "a folder's name");
    if (status == FEEDLINE_OK)
        status = set_root(&root, path);
    l.top.root = root.text;
    if (status == FEEDLINE_OK)
        status = fdl_dataset_create(&l.ds);
    if (status == FEEDLINE_OK)
        status = fdl_store_has(path) ? open_store(&l, &cache)
                                     : open_path(&l, path, &cache);
    if (status == FEEDLINE_OK)
        status = list_root(&l);
    if (status == FEEDLINE_OK)
        fdl_dataset_finish(l.ds, root.text);
    if (l.top.root_fd >= 0)
        close(l.top.root_fd);
    fdl_walk_free(&l.top);
    fdl_cache_close(&cache);
    free(root.text);
    free(path);
    return fdl_dataset_hand_out(l.ds, status, out);
}
