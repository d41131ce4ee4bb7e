/* SPDX-License-Identifier: Apache-2.0 */
#include "store/chunk_file.h"

#include "base/compiler.h"
#include "base/crc32.h"
#include "base/shield.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAGIC      UINT64_C(0xfeed11e0c4ac4e02)
#define DATA_ALIGN (UINT64_C(64) << 10)
#define STEP       UINT64_C(1024) /* chunks at once */
#define FLAGS      (O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

struct head {
    uint64_t magic, size, number;
    struct fdl_digest identity;
    uint64_t sum; /* CRC-32C of all before */
};

/* ---- Where things are ---------------------------------------------------- */

static uint64_t sum_at(uint64_t chunk)
{
    return sizeof(struct head) + chunk * sizeof(uint32_t);
}

/* Where the kernel's large pages may begin, as in a file that has only the
 * bytes: what is before them and not in use takes no room. */
static uint64_t data_at(const struct fdl_chunk_file *f, uint64_t chunk)
{
    uint64_t end = sum_at(fdl_chunks_of(f->size));
    return (end + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN +
           chunk * FDL_CHUNK_BYTES;
}

/* Bytes of the n chunks from `first` on: the last of an object is short. */
static uint64_t span(const struct fdl_chunk_file *f, uint64_t first, uint64_t n)
{
    return FDL_MIN((first + n) * FDL_CHUNK_BYTES, f->size) -
           first * FDL_CHUNK_BYTES;
}

static uint32_t sum_of(const struct fdl_chunk_file *f, uint64_t chunk,
                       const uint8_t *data)
{
    /* Odd: each of 2^32 chunks begins with another value. */
    uint32_t before = f->seed + (uint32_t)chunk * 0x9e3779b1u;
    uint32_t sum = fdl_crc32c(before, data, span(f, chunk, 1));
    return sum ? sum : 1;
}

static uint64_t sum_of_head(const struct head *head)
{
    return fdl_crc32c(0, head, offsetof(struct head, sum));
}

/* ---- Bytes --------------------------------------------------------------- */

/* errno; ENODATA: the file ends before. */
static int read_all(int fd, void *to, uint64_t bytes, uint64_t at)
{
    for (uint8_t *p = to; bytes > 0;) {
        ssize_t n = pread(fd, p, bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENODATA;
        p += n;
        at += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

/* What comes without waiting, all of it or EAGAIN: some file systems cannot. */
static int read_now(int fd, void *to, uint64_t bytes, uint64_t at)
{
    const struct iovec whole = {to, bytes};
    ssize_t n = bytes > 0 ? preadv2(fd, &whole, 1, (off_t)at, RWF_NOWAIT) : 0;
    return n >= 0 && (uint64_t)n == bytes ? 0 : EAGAIN;
}

/* errno. */
static int write_unshielded(int fd, const void *from, uint64_t bytes,
                            uint64_t at)
{
    for (const uint8_t *p = from; bytes > 0;) {
        ssize_t n = pwrite(fd, p, bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        p += n;
        at += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

/* errno. On any thread. */
static int write_all(int fd, const void *from, uint64_t bytes, uint64_t at)
{
    struct fdl_shield shield;
    fdl_shield_raise(&shield);
    int error = write_unshielded(fd, from, bytes, at);
    fdl_shield_lower(&shield);
    return error;
}

/* ---- The file ------------------------------------------------------------ */

static struct fdl_chunk_file file_of(int fd, const struct head *head)
{
    return (struct fdl_chunk_file){
        .fd = fd,
        .size = head->size,
        .number = head->number,
        .seed = fdl_crc32c(0, &head->identity, sizeof(head->identity)),
    };
}

void fdl_chunk_file_close(struct fdl_chunk_file *f)
{
    close(f->fd);
    f->fd = -1;
}

int fdl_chunk_file_open(int folder, const struct fdl_chunk_key *key,
                        bool writes, struct fdl_chunk_file *out)
{
    struct head head;
    int fd = openat(folder, key->path, (writes ? O_RDWR : O_RDONLY) | FLAGS);
    if (fd < 0)
        return errno;
    int error = read_all(fd, &head, sizeof(head), 0);
    if (error && error != ENODATA) {
        close(fd);
        return error;
    }
    if (error || head.magic != MAGIC || head.sum != sum_of_head(&head) ||
        memcmp(&head.identity, &key->identity, sizeof(head.identity)) != 0) {
        close(fd);
        return ENOENT;
    }
    *out = file_of(fd, &head);
    return 0;
}

/* A file that is nobody else's: two processes in containers may have the same
 * number and one folder, as may one that was killed and the next. */
static int open_new(int folder, const char *path, char *beside, size_t bytes)
{
    static _Atomic uint32_t made; /* several threads may make one */
    int fd;
    do {
        snprintf(beside, bytes, "%s.tmp.%ld.%" PRIu32, path, (long)getpid(),
                 atomic_fetch_add_explicit(&made, 1, memory_order_relaxed));
        fd = openat(folder, beside, O_RDWR | O_CREAT | O_EXCL | FLAGS, 0600);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

/* The group's folder may be missing, or be removed at this moment. */
static int open_beside(int folder, const char *path, char *beside, size_t bytes)
{
    char group[FDL_CHUNK_GROUP_BYTES];
    memcpy(group, path, sizeof(group) - 1);
    group[sizeof(group) - 1] = '\0';
    int fd = open_new(folder, path, beside, bytes);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    if (mkdirat(folder, group, 0700) < 0 && errno != EEXIST)
        return -1;
    return open_new(folder, path, beside, bytes);
}

int fdl_chunk_file_make(int folder, const struct fdl_chunk_key *key,
                        uint64_t size, struct fdl_chunk_file *out)
{
    char beside[128];
    struct head head = {
        .magic = MAGIC, .size = size, .identity = key->identity};
    if (getrandom(&head.number, sizeof(head.number), 0) !=
        (ssize_t)sizeof(head.number))
        return errno;
    head.sum = sum_of_head(&head);
    int fd = open_beside(folder, key->path, beside, sizeof(beside));
    if (fd < 0)
        return errno;
    int error = write_all(fd, &head, sizeof(head), 0);
    if (!error && renameat(folder, beside, folder, key->path) < 0)
        error = errno;
    if (error) {
        unlinkat(folder, beside, 0);
        close(fd);
        return error;
    }
    *out = file_of(fd, &head);
    return 0;
}

/* ---- Chunks -------------------------------------------------------------- */

/* Of a file that ends before, those are not there. */
static void read_sums(const struct fdl_chunk_file *f, uint64_t first,
                      uint64_t n, uint32_t sums[STEP])
{
    memset(sums, 0, n * sizeof(*sums));
    if (read_all(f->fd, sums, n * sizeof(*sums), sum_at(first)) != 0)
        memset(sums, 0, n * sizeof(*sums));
}

bool fdl_chunk_file_has(const struct fdl_chunk_file *f, uint64_t first,
                        uint64_t n)
{
    uint32_t sums[STEP];
    for (uint64_t at = first, end = first + n; at < end; at += STEP) {
        uint64_t step = FDL_MIN(STEP, end - at);
        read_sums(f, at, step, sums);
        for (uint64_t i = 0; i < step; i++)
            if (!sums[i])
                return false;
    }
    return true;
}

static bool are_right(const struct fdl_chunk_file *f, uint64_t first,
                      uint64_t n, const uint8_t *data)
{
    uint32_t sums[STEP];
    for (uint64_t at = first, end = first + n; at < end; at += STEP) {
        uint64_t step = FDL_MIN(STEP, end - at);
        const uint8_t *here = data + (at - first) * FDL_CHUNK_BYTES;
        read_sums(f, at, step, sums);
        for (uint64_t i = 0; i < step; i++)
            if (sum_of(f, at + i, here + i * FDL_CHUNK_BYTES) != sums[i])
                return false;
    }
    return true;
}

int fdl_chunk_file_fill(const struct fdl_chunk_file *f, uint64_t offset,
                        uint64_t bytes, uint8_t *to, bool wait)
{
    uint64_t at = data_at(f, 0) + offset;
    return wait ? read_all(f->fd, to, bytes, at)
                : read_now(f->fd, to, bytes, at);
}

int fdl_chunk_file_read(const struct fdl_chunk_file *f, uint64_t first,
                        uint64_t n, uint8_t *to, bool wait)
{
    int error = fdl_chunk_file_fill(f, first * FDL_CHUNK_BYTES,
                                    span(f, first, n), to, wait);
    if (!error && !are_right(f, first, n, to))
        error = EBADMSG;
    return error;
}

void fdl_chunk_file_ahead(const struct fdl_chunk_file *f, uint64_t offset,
                          uint64_t bytes)
{
    posix_fadvise(f->fd, (off_t)(data_at(f, 0) + offset), (off_t)bytes,
                  POSIX_FADV_WILLNEED);
}

bool fdl_chunk_file_is_removed(const struct fdl_chunk_file *f)
{
    struct stat st;
    return fstat(f->fd, &st) < 0 || st.st_nlink == 0;
}

/* Whether a chunk has another sum than the table says, which now says it. */
static bool is_news(const struct fdl_chunk_file *f, uint64_t chunk,
                    const uint8_t *data, uint32_t *sum)
{
    uint32_t before = *sum;
    *sum = sum_of(f, chunk, data);
    return *sum != before;
}

/* Those that are not there, as many at once as follow each other. */
static int write_runs(const struct fdl_chunk_file *f, uint64_t first,
                      uint64_t n, const uint8_t *from, uint32_t sums[STEP],
                      uint64_t *bytes)
{
    uint64_t begin = 0; /* of a run */
    for (uint64_t i = 0; i <= n; i++) {
        if (i < n &&
            is_news(f, first + i, from + i * FDL_CHUNK_BYTES, &sums[i]))
            continue;
        uint64_t run = i > begin ? span(f, first + begin, i - begin) : 0;
        int error = write_all(f->fd, from + begin * FDL_CHUNK_BYTES, run,
                              data_at(f, first + begin));
        if (error)
            return error;
        *bytes += run;
        begin = i + 1;
    }
    return 0;
}

int fdl_chunk_file_write(const struct fdl_chunk_file *f, uint64_t first,
                         uint64_t n, const uint8_t *from, bool all,
                         uint64_t *bytes)
{
    uint32_t sums[STEP];
    int error = 0;
    *bytes = 0;
    for (uint64_t at = first, end = first + n; at < end && !error; at += STEP) {
        uint64_t step = FDL_MIN(STEP, end - at), before = *bytes, wrote = 0;
        if (all)
            memset(sums, 0, step * sizeof(*sums));
        else
            read_sums(f, at, step, sums);
        error = write_runs(f, at, step, from + (at - first) * FDL_CHUNK_BYTES,
                           sums, &wrote);
        if (!error && wrote > 0)
            error = write_all(f->fd, sums, step * sizeof(*sums), sum_at(at));
        *bytes = before + wrote;
    }
    return error;
}
