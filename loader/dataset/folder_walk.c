/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/dataset/folder_walk.h"

#include "base/memory.h"
#include "base/status.h"
#include "decode/formats/format.h"
#include "loader/dataset/dataset_build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *fdl_walk_path(const struct fdl_walk *w, const struct fdl_folder *f)
{
    return w->text.text + f->path_at;
}

static int32_t fail_folder(const struct fdl_walk *w, const struct fdl_folder *f,
                           int error)
{
    if (error == ENOENT || error == ENOTDIR)
        return fdl_fail(FEEDLINE_ENOENT, "%s%s: no such folder", w->root,
                        fdl_walk_path(w, f));
    return fdl_fail(FEEDLINE_EIO, "%s%s: %s", w->root, fdl_walk_path(w, f),
                    strerror(error));
}

int32_t fdl_walk_add(struct fdl_walk *w, const char *prefix, const char *name,
                     uint64_t parent)
{
    int32_t status =
        fdl_array_reserve(&w->folders, &w->folders_capacity, w->n_folders,
                          sizeof(*w->folders), "folders of a data set");
    if (status)
        return status;
    struct fdl_folder f = {.parent = parent};
    status = fdl_strings_add(&w->text, prefix, name, &f.path_at);
    if (status)
        return status;
    w->folders[w->n_folders++] = f;
    return FEEDLINE_OK;
}

int32_t fdl_walk_add_file(struct fdl_walk *w, const char *name)
{
    int32_t status =
        fdl_array_reserve(&w->files, &w->files_capacity, w->n_files,
                          sizeof(*w->files), "files of a class");
    if (status)
        return status;
    status = fdl_strings_add(&w->text, "", name, &w->files[w->n_files]);
    if (status == FEEDLINE_OK)
        w->n_files++;
    return status;
}

/* Links count as their target; a dangling one is a file, which fails when it is
 * read. What is behind such a link may change and the folder's time does not:
 * the folder has no stamp then. */
static bool is_folder(struct fdl_folder *f, int fd, const struct dirent *entry)
{
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    struct stat st;
    bool there = fstatat(fd, entry->d_name, &st, 0) == 0;
    if (!there || S_ISDIR(st.st_mode))
        f->stamp = (struct fdl_stamp){0};
    return there && S_ISDIR(st.st_mode);
}

/* A link to a folder that contains it would be walked for ever. */
static int32_t check_cycle(struct fdl_walk *w, uint64_t index, int fd)
{
    struct fdl_folder *f = &w->folders[index];
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail_folder(w, f, errno);
    f->device = st.st_dev;
    f->inode = st.st_ino;
    f->stamp = fdl_stamp_of(&st);
    while (index != 0) {
        index = w->folders[index].parent;
        const struct fdl_folder *above = &w->folders[index];
        if (above->device == f->device && above->inode == f->inode)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s%s: links back to %s%s, which contains it; "
                            "remove the link",
                            w->root, fdl_walk_path(w, f), w->root,
                            fdl_walk_path(w, above));
    }
    return FEEDLINE_OK;
}

/* One entry of the folder. prefix: its path, or "" for the root. */
static int32_t add_entry(struct fdl_walk *w, uint64_t index, const char *prefix,
                         const char *name, bool is_folder)
{
    if (!is_folder)
        return fdl_format_lists(name) ? fdl_walk_add_file(w, name)
                                      : FEEDLINE_OK;
    struct fdl_strings folder = {0}; /* with its '/' */
    uint64_t at;
    int32_t status = fdl_strings_add(&folder, name, "/", &at);
    if (status == FEEDLINE_OK)
        status = fdl_walk_add(w, prefix, folder.text, index);
    free(folder.text);
    return status;
}

static int32_t scan_entries(struct fdl_walk *w, uint64_t index, DIR *dir,
                            const char *prefix)
{
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
        if (strcmp(text, ".") != 0 && strcmp(text, "..") != 0)
            status =
                add_entry(w, index, prefix, text,
                          is_folder(&w->folders[index], dirfd(dir), entry));
    }
    return status;
}

/* ---- Kept ---------------------------------------------------------------- */

/* The entries of a folder are texts, that of a folder begins with a '/'. */
static int32_t keep_entries(struct fdl_walk *w, uint64_t index)
{
    struct fdl_folder *f = &w->folders[index];
    int32_t status = FEEDLINE_OK;
    uint64_t at;
    f->kept_at = w->kept.bytes;
    for (uint64_t i = f->first_folder;
         status == FEEDLINE_OK && i < w->n_folders; i++) {
        const char *path = fdl_walk_path(w, &w->folders[i]);
        const char *name = path + strlen(fdl_walk_path(w, f));
        status = fdl_strings_add(&w->kept, "/", name, &at);
        if (status == FEEDLINE_OK)
            w->kept.text[w->kept.bytes - 2] = '\0'; /* the last '/' */
        if (status == FEEDLINE_OK)
            w->kept.bytes--;
    }
    for (uint64_t i = 0; status == FEEDLINE_OK && i < f->n_files; i++)
        status = fdl_strings_add(
            &w->kept, "", w->text.text + w->files[f->first_file + i], &at);
    f->kept_bytes = w->kept.bytes - f->kept_at;
    return status;
}

static int32_t take_entries(struct fdl_walk *w, uint64_t index,
                            const char *prefix)
{
    const char *at = (const char *)w->folders[index].cached;
    const char *end = at + w->folders[index].kept_bytes;
    int32_t status = FEEDLINE_OK;
    for (; status == FEEDLINE_OK && at < end; at += strlen(at) + 1)
        status = add_entry(w, index, prefix, at + (*at == '/'), *at == '/');
    return status;
}

static void find_kept(struct fdl_walk *w, uint64_t index)
{
    struct fdl_folder *f = &w->folders[index];
    uint64_t bytes;
    const uint8_t *data =
        fdl_cache_find(w->cache, fdl_walk_path(w, f), &f->stamp, &bytes);
    if (data && (bytes == 0 || data[bytes - 1] == '\0')) {
        f->cached = data;
        f->kept_bytes = bytes;
    }
}

void fdl_walk_keep(const struct fdl_walk *w, struct fdl_cache_writer *out)
{
    for (uint64_t i = w->first_kept; i < w->n_folders; i++) {
        const struct fdl_folder *f = &w->folders[i];
        const void *data = f->cached;
        if (!data)
            data = f->kept_bytes ? w->kept.text + f->kept_at : "";
        fdl_cache_add(out, fdl_walk_path(w, f), &f->stamp, data, f->kept_bytes);
    }
}

/* ---- A folder ------------------------------------------------------------ */

static int compare_names(const void *a, const void *b, void *text)
{
    const uint64_t *at_a = a, *at_b = b;
    return fdl_name_compare((const char *)text + *at_a,
                            (const char *)text + *at_b);
}

/* Files in order. What was kept has been. */
static void sort_files(const struct fdl_walk *w, const struct fdl_folder *f)
{
    if (f->n_files > 0 && !f->cached)
        qsort_r(w->files + f->first_file, f->n_files, sizeof(*w->files),
                compare_names, w->text.text);
}

/* The open folder; path: a copy of its own, as the arena moves. */
static int32_t list_folder(struct fdl_walk *w, uint64_t index, DIR *dir,
                           const char *path)
{
    struct fdl_folder *f = &w->folders[index];
    f->first_file = w->n_files;
    f->first_folder = w->n_folders;
    find_kept(w, index);
    int32_t status = f->cached ? take_entries(w, index, path)
                               : scan_entries(w, index, dir, path);
    f = &w->folders[index];
    f->n_files = w->n_files - f->first_file;
    sort_files(w, f);
    if (status == FEEDLINE_OK && w->cache->path && !f->cached &&
        fdl_stamp_is_set(&f->stamp))
        status = keep_entries(w, index);
    return status;
}

int32_t fdl_walk_scan(struct fdl_walk *w, uint64_t index)
{
    const struct fdl_folder *f = &w->folders[index];
    const char *path = fdl_walk_path(w, f);
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
    if (status == FEEDLINE_OK)
        status = list_folder(w, index, dir, prefix);
    free(prefix);
    closedir(dir);
    return status;
}

void fdl_walk_free(struct fdl_walk *w)
{
    free(w->files);
    free(w->folders);
    free(w->text.text);
    free(w->kept.text);
}
