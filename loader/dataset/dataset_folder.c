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
 * A class is collected folder by folder from a list that grows while it is
 * walked: one folder is open at a time, whatever the depth, and the memory is
 * that of one class.
 */
#include "base/memory.h"
#include "decode/formats/format.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_NAMED_CLASSES 5 /* in an error line */

struct folder {
    uint64_t path_at; /* in the arena: below the root, with a final '/' */
    uint64_t parent;  /* the root is its own */
    dev_t device;
    ino_t inode;
    uint64_t first_file, n_files;
};

struct walk {
    const char *root; /* as given, with a '/' at its end */
    int root_fd;
    struct fdl_strings text;
    struct folder *folders; /* [0] is the root */
    uint64_t n_folders, folders_capacity;
    uint64_t *files; /* names in the arena, folder by folder */
    uint64_t n_files, files_capacity;
};

static const char *path_of(const struct walk *w, const struct folder *f)
{
    return w->text.text + f->path_at;
}

static int32_t fail_folder(const struct walk *w, const struct folder *f,
                           int error)
{
    if (error == ENOENT || error == ENOTDIR)
        return fdl_fail(FEEDLINE_ENOENT, "%s%s: no such folder", w->root,
                        path_of(w, f));
    return fdl_fail(FEEDLINE_EIO, "%s%s: %s", w->root, path_of(w, f),
                    strerror(error));
}

/* prefix and name must not lie in the arena, which may move. */
static int32_t add_folder(struct walk *w, const char *prefix, const char *name,
                          uint64_t parent)
{
    void *array = w->folders;
    int32_t status =
        fdl_array_reserve(&array, &w->folders_capacity, w->n_folders,
                          sizeof(*w->folders), "folders of a data set");
    w->folders = array;
    if (status)
        return status;
    struct folder f = {.parent = parent};
    status = fdl_strings_add(&w->text, prefix, name, &f.path_at);
    if (status)
        return status;
    w->folders[w->n_folders++] = f;
    return FEEDLINE_OK;
}

static int32_t add_file(struct walk *w, const char *name)
{
    void *array = w->files;
    int32_t status = fdl_array_reserve(&array, &w->files_capacity, w->n_files,
                                       sizeof(*w->files), "files of a class");
    w->files = array;
    if (status)
        return status;
    status = fdl_strings_add(&w->text, "", name, &w->files[w->n_files]);
    if (status == FEEDLINE_OK)
        w->n_files++;
    return status;
}

/* Links count as their target; a dangling one is a file, which fails when it is
 * read. */
static bool is_folder(int fd, const struct dirent *entry)
{
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    struct stat st;
    return fstatat(fd, entry->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

/* A link to a folder that contains it would be walked for ever. */
static int32_t check_cycle(struct walk *w, uint64_t index, int fd)
{
    struct folder *f = &w->folders[index];
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail_folder(w, f, errno);
    f->device = st.st_dev;
    f->inode = st.st_ino;
    while (index != 0) {
        index = w->folders[index].parent;
        const struct folder *above = &w->folders[index];
        if (above->device == f->device && above->inode == f->inode)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s%s: links back to %s%s, which contains it; "
                            "remove the link",
                            w->root, path_of(w, f), w->root, path_of(w, above));
    }
    return FEEDLINE_OK;
}

/* Collects the open folder. prefix: its path, or "" for the root. */
static int32_t scan_entries(struct walk *w, uint64_t index, DIR *dir,
                            const char *prefix)
{
    struct fdl_strings name = {0}; /* of one folder, with its '/' */
    int32_t status = FEEDLINE_OK;
    while (status == FEEDLINE_OK) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            if (errno)
                status = fail_folder(w, &w->folders[index], errno);
            break;
        }
        const char *text = entry->d_name;
        if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
            continue;
        if (is_folder(dirfd(dir), entry)) {
            uint64_t at;
            name.bytes = 0;
            status = fdl_strings_add(&name, text, "/", &at);
            if (status == FEEDLINE_OK)
                status = add_folder(w, prefix, name.text, index);
        } else if (fdl_format_lists(text)) {
            status = add_file(w, text);
        }
    }
    free(name.text);
    return status;
}

static int32_t scan_folder(struct walk *w, uint64_t index)
{
    const struct folder *f = &w->folders[index];
    const char *path = path_of(w, f);
    int fd = openat(w->root_fd, *path ? path : ".",
                    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_folder(w, f, errno);
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int error = errno;
        close(fd);
        return fail_folder(w, f, error);
    }

    int32_t status = check_cycle(w, index, fd);
    char *prefix = NULL; /* the arena moves while it grows */
    if (status == FEEDLINE_OK) {
        prefix = fdl_strdup(path);
        if (!prefix)
            status = fdl_fail_memory(strlen(path) + 1, "a folder's path");
    }
    if (status == FEEDLINE_OK) {
        w->folders[index].first_file = w->n_files;
        status = scan_entries(w, index, dir, prefix);
        w->folders[index].n_files = w->n_files - w->folders[index].first_file;
    }
    free(prefix);
    closedir(dir);
    return status;
}

static int compare_names(const void *a, const void *b, void *text)
{
    const uint64_t *at_a = a, *at_b = b;
    return fdl_name_compare((const char *)text + *at_a,
                            (const char *)text + *at_b);
}

/* By path without the final '/', as "a" comes before "a-b". */
static int compare_folders(const void *a, const void *b, void *user)
{
    const struct walk *w = user;
    const struct folder *fa = a, *fb = b;
    const char *pa = path_of(w, fa), *pb = path_of(w, fb);
    char *text = w->text.text;
    size_t end_a = strlen(pa) - 1, end_b = strlen(pb) - 1;
    text[fa->path_at + end_a] = '\0';
    text[fb->path_at + end_b] = '\0';
    int order = fdl_name_compare(pa, pb);
    text[fa->path_at + end_a] = '/';
    text[fb->path_at + end_b] = '/';
    return order;
}

/* Moves a collected class, in order, into ds. */
static int32_t add_samples(struct walk *w, int64_t label, feedline_dataset *ds)
{
    struct fdl_strings prefix = {0};
    int32_t status = FEEDLINE_OK;

    qsort_r(w->folders + 1, w->n_folders - 1, sizeof(*w->folders),
            compare_folders, w);
    for (uint64_t i = 1; status == FEEDLINE_OK && i < w->n_folders; i++) {
        const struct folder *f = &w->folders[i];
        uint64_t *files = w->files + f->first_file;
        uint64_t at;
        if (f->n_files == 0)
            continue;
        qsort_r(files, f->n_files, sizeof(*files), compare_names, w->text.text);
        prefix.bytes = 0;
        status = fdl_strings_add(&prefix, w->root, path_of(w, f), &at);
        for (uint64_t k = 0; status == FEEDLINE_OK && k < f->n_files; k++)
            status = fdl_dataset_add_joined(ds, prefix.text,
                                            w->text.text + files[k], label);
    }
    free(prefix.text);
    return status;
}

/* Forgets what is below the root. */
static void forget(struct walk *w, uint64_t text_bytes)
{
    w->n_folders = 1;
    w->n_files = 0;
    w->text.bytes = text_bytes;
}

static int32_t walk_class(struct walk *w, uint32_t label, feedline_dataset *ds)
{
    const char *name = ds->classes + ds->class_at[label];
    int32_t status = add_folder(w, name, "/", 0);
    for (uint64_t i = 1; status == FEEDLINE_OK && i < w->n_folders; i++)
        status = scan_folder(w, i);
    if (status == FEEDLINE_OK)
        status = add_samples(w, label, ds);
    return status;
}

/* The folders below the root become the classes of ds. */
static int32_t find_classes(struct walk *w, feedline_dataset *ds)
{
    int32_t status = add_folder(w, "", "", 0);
    if (status == FEEDLINE_OK)
        status = scan_folder(w, 0);
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
        status = fdl_dataset_add_class(ds, name);
    }
    return status;
}

/* Lists the first classes without a sample. */
static int32_t fail_empty(const struct walk *w, const feedline_dataset *ds,
                          const uint32_t *empty, uint64_t n_empty)
{
    char names[512] = "";
    size_t length = 0;
    for (uint64_t i = 0; i < n_empty && i < MAX_NAMED_CLASSES; i++) {
        const char *name = ds->classes + ds->class_at[empty[i]];
        int n = snprintf(names + length, sizeof(names) - length, "%s%s",
                         i ? ", " : "", name);
        length = FDL_MIN(length + (size_t)n, sizeof(names) - 1);
    }
    return fdl_fail(FEEDLINE_ENOENT,
                    "%s: %" PRIu64 " of %" PRIu32
                    " class folders have no image: %s%s",
                    w->root, n_empty, ds->n_classes, names,
                    n_empty > MAX_NAMED_CLASSES ? ", ..." : "");
}

static int32_t walk_classes(struct walk *w, feedline_dataset *ds)
{
    uint32_t empty[MAX_NAMED_CLASSES];
    uint64_t n_empty = 0;
    int32_t status = find_classes(w, ds);
    uint64_t root_text = strlen("") + 1;
    for (uint32_t i = 0; status == FEEDLINE_OK && i < ds->n_classes; i++) {
        uint64_t before = ds->count;
        forget(w, root_text);
        status = walk_class(w, i, ds);
        if (ds->count == before) {
            if (n_empty < MAX_NAMED_CLASSES)
                empty[n_empty] = i;
            n_empty++;
        }
    }
    if (status == FEEDLINE_OK && n_empty > 0)
        status = fail_empty(w, ds, empty, n_empty);
    return status;
}

int32_t fdl_dataset_open_folder(const char *path, feedline_dataset **out)
{
    feedline_dataset *ds = NULL;
    struct fdl_strings root = {0};
    struct walk w = {.root_fd = -1};
    uint64_t at;

    /* As os.path.join: a '/' only where there is none. */
    size_t bytes = strlen(path);
    const char *slash = bytes > 0 && path[bytes - 1] == '/' ? "" : "/";
    int32_t status = fdl_strings_add(&root, path, slash, &at);
    if (status)
        goto out;
    w.root = root.text;
    w.root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (w.root_fd < 0) {
        status = errno == ENOTDIR
                     ? fdl_fail(FEEDLINE_ENOENT, "%s: not a folder", path)
                     : fdl_fail_path(path, errno);
        goto out;
    }
    status = fdl_dataset_create(&ds);
    if (status)
        goto out;
    status = walk_classes(&w, ds);
    if (status)
        goto out;
    fdl_dataset_finish(ds, w.root);
    *out = ds;
    ds = NULL;
out:
    fdl_dataset_unref(ds);
    if (w.root_fd >= 0)
        close(w.root_fd);
    free(w.files);
    free(w.folders);
    free(w.text.text);
    free(root.text);
    return status;
}
