/* SPDX-License-Identifier: Apache-2.0 */
/* A group is a folder; the time of its last change is that of its last use. */
#include "store/chunk_groups.h"

#include "store/chunk_key.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_REMOVED 256 /* files at once */

static DIR *open_in(int folder, const char *name)
{
    int fd =
        openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

/* As fdl_chunk_group makes them: nobody else's folder is touched. */
static bool is_group(const struct dirent *entry)
{
    return strlen(entry->d_name) == FDL_CHUNK_GROUP_BYTES - 1 &&
           strspn(entry->d_name, "0123456789abcdef") ==
               FDL_CHUNK_GROUP_BYTES - 1;
}

/* And objects: 32 digits, and what follows if it is half made. */
static bool is_object(const struct dirent *entry, bool *half)
{
    size_t digits = strspn(entry->d_name, "0123456789abcdef");
    *half = strncmp(entry->d_name + digits, ".tmp.", 5) == 0;
    return digits == 32 && (*half || !entry->d_name[32]);
}

static uint64_t bytes_of(DIR *dir, const char *name)
{
    struct stat st;
    if (fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return (uint64_t)st.st_blocks * 512;
}

static uint64_t count_group(int folder, const char *name)
{
    DIR *dir = open_in(folder, name);
    uint64_t bytes = 0;
    bool half;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!is_object(e, &half))
            continue;
        if (half)
            unlinkat(dirfd(dir), e->d_name, 0);
        else
            bytes += bytes_of(dir, e->d_name);
    }
    if (dir)
        closedir(dir);
    return bytes;
}

uint64_t fdl_chunk_groups_count(int folder)
{
    DIR *dir = open_in(folder, ".");
    uint64_t bytes = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (is_group(e))
            bytes += count_group(folder, e->d_name);
    if (dir)
        closedir(dir);
    return bytes;
}

/* ---- Removing ------------------------------------------------------------ */

static int64_t ns_of(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* The one used least recently, if that was before since_ns; false: none. */
static bool find_oldest(int folder, int64_t since_ns,
                        char name[FDL_CHUNK_GROUP_BYTES])
{
    DIR *dir = open_in(folder, ".");
    int64_t oldest = since_ns;
    struct stat st;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!is_group(e) ||
            fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            ns_of(&st.st_mtim) >= oldest)
            continue;
        oldest = ns_of(&st.st_mtim);
        memcpy(name, e->d_name, FDL_CHUNK_GROUP_BYTES);
    }
    if (dir)
        closedir(dir);
    return oldest < since_ns;
}

/* What remains is as old as it was. */
static uint64_t remove_some(DIR *dir)
{
    struct stat st;
    uint64_t bytes = 0;
    uint32_t n = 0;
    bool half;
    if (fstat(dirfd(dir), &st) < 0)
        return 0;
    for (struct dirent *e; n < MOST_REMOVED && (e = readdir(dir));) {
        uint64_t its = bytes_of(dir, e->d_name);
        if (!is_object(e, &half) || unlinkat(dirfd(dir), e->d_name, 0) < 0)
            continue;
        bytes += its;
        n++;
    }
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    futimens(dirfd(dir), times);
    return bytes;
}

uint64_t fdl_chunk_groups_remove(int folder, int64_t since_ns)
{
    char name[FDL_CHUNK_GROUP_BYTES];
    uint64_t bytes = 0;
    while (bytes == 0 && find_oldest(folder, since_ns, name)) {
        DIR *dir = open_in(folder, name);
        if (!dir)
            return 0;
        bytes = remove_some(dir);
        closedir(dir);
        if (bytes == 0 && unlinkat(folder, name, AT_REMOVEDIR) < 0)
            return 0; /* it has something that is not ours */
    }
    return bytes;
}
