/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ustar (POSIX.1-1988) with pax records for names that do not fit. The label
 * of a sample goes in front of its image, so that whoever walks the shard has
 * both after one small read.
 */
#include "tools/loaderbench/pack/shard_writer.h"

#include "tools/loaderbench/scan/scan.h"
#include "tools/loaderbench/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK        512u
#define BUFFER_BYTES (1u << 20)
#define LABEL_BYTES  24

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type;
    char link[100], magic[6], version[2], user[32], group[32], major[8];
    char minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a block");

/* ---- Bytes --------------------------------------------------------------- */

static int fail(struct shard_writer *w, const char *what, int error)
{
    if (!w->failed)
        tool_say("%s: %s: %s", w->path, what, strerror(error));
    w->failed = true;
    return TOOL_ENVIRONMENT;
}

static int write_out(struct shard_writer *w, const uint8_t *data, uint64_t n)
{
    while (n > 0) {
        ssize_t put = write(w->fd, data, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return fail(w, "cannot be written", put < 0 ? errno : ENOSPC);
        data += put;
        n -= (uint64_t)put;
    }
    return TOOL_DONE;
}

static int flush(struct shard_writer *w)
{
    int rc = write_out(w, w->buffer, w->used);
    w->used = 0;
    return rc;
}

static int put(struct shard_writer *w, const void *data, uint64_t n)
{
    int rc = w->failed ? TOOL_ENVIRONMENT : TOOL_DONE;
    if (rc == TOOL_DONE && n > BUFFER_BYTES - w->used)
        rc = flush(w);
    w->bytes += n;
    if (rc != TOOL_DONE || n == 0)
        return rc;
    if (n > BUFFER_BYTES)
        return write_out(w, data, n);
    memcpy(w->buffer + w->used, data, n);
    w->used += n;
    return rc;
}

/* Zeros up to a multiple of `of`. */
static int fill_up(struct shard_writer *w, uint64_t of)
{
    static const uint8_t zero[BLOCK];
    int rc = TOOL_DONE;
    while (rc == TOOL_DONE && w->bytes % of != 0) {
        uint64_t n = of - w->bytes % of;
        rc = put(w, zero, n < BLOCK ? n : BLOCK);
    }
    return rc;
}

/* ---- Members ------------------------------------------------------------- */

/* Octal digits and a NUL. */
static void put_octal(char *field, size_t bytes, uint64_t n)
{
    field[--bytes] = '\0';
    while (bytes > 0) {
        field[--bytes] = (char)('0' + (n & 7));
        n >>= 3;
    }
}

static int put_header(struct shard_writer *w, struct header *h, char type,
                      uint64_t size)
{
    uint32_t sum = 0;
    put_octal(h->mode, sizeof(h->mode), 0644);
    put_octal(h->uid, sizeof(h->uid), 0);
    put_octal(h->gid, sizeof(h->gid), 0);
    put_octal(h->size, sizeof(h->size), size);
    put_octal(h->mtime, sizeof(h->mtime), 0);
    put_octal(h->major, sizeof(h->major), 0);
    put_octal(h->minor, sizeof(h->minor), 0);
    h->type = type;
    memcpy(h->magic, "ustar", sizeof(h->magic));
    memcpy(h->version, "00", sizeof(h->version));
    memset(h->sum, ' ', sizeof(h->sum));
    for (size_t i = 0; i < BLOCK; i++)
        sum += ((const uint8_t *)h)[i];
    put_octal(h->sum, sizeof(h->sum) - 1, sum);
    return put(w, h, BLOCK);
}

/* In name, or in prefix and name with a slash between. */
static bool name_fits(struct header *h, const char *name)
{
    size_t n = strlen(name);
    if (n <= sizeof(h->name)) {
        memcpy(h->name, name, n);
        return true;
    }
    if (n > sizeof(h->name) + 1 + sizeof(h->prefix))
        return false;
    const char *slash = strchr(name + n - sizeof(h->name) - 1, '/');
    size_t prefix = slash ? (size_t)(slash - name) : 0;
    if (prefix == 0 || prefix > sizeof(h->prefix) || prefix + 1 == n)
        return false;
    memcpy(h->prefix, name, prefix);
    memcpy(h->name, slash + 1, n - prefix - 1);
    return true;
}

/* An extended header with the name; its length counts its own digits. */
static int put_pax(struct shard_writer *w, const char *name)
{
    struct header h = {.name = "././@PaxHeader"};
    size_t rest = strlen(" path=\n") + strlen(name), n = rest, said;
    char digits[24];
    do {
        said = n;
        n = rest + (size_t)snprintf(digits, sizeof(digits), "%zu", said);
    } while (n != said);
    int rc = put_header(w, &h, 'x', n);
    if (rc == TOOL_DONE)
        rc = put(w, digits, strlen(digits));
    if (rc == TOOL_DONE)
        rc = put(w, " path=", strlen(" path="));
    if (rc == TOOL_DONE)
        rc = put(w, name, strlen(name));
    if (rc == TOOL_DONE)
        rc = put(w, "\n", 1);
    return rc == TOOL_DONE ? fill_up(w, BLOCK) : rc;
}

static int add_member(struct shard_writer *w, const char *name,
                      const void *data, uint64_t bytes)
{
    struct header h = {.name = ""};
    int rc = TOOL_DONE;
    if (!name_fits(&h, name)) {
        rc = put_pax(w, name);
        memcpy(h.name, name, sizeof(h.name));
    }
    if (rc == TOOL_DONE)
        rc = put_header(w, &h, '0', bytes);
    if (rc == TOOL_DONE)
        rc = put(w, data, bytes);
    return rc == TOOL_DONE ? fill_up(w, BLOCK) : rc;
}

/* ---- The index ----------------------------------------------------------- */

/* "v1.1 SAMPLES", and a line of "EXTENSION OFFSET BYTES" for each sample, one
 * for each of its parts (DALI's wds2idx without names, which may not have
 * blanks there). */
static int add_to_index(struct shard_writer *w, const char *key,
                        const char *extension, uint64_t bytes)
{
    bool next = !w->key || strcmp(w->key, key) != 0;
    if (next) {
        free(w->key);
        w->key = strdup(key);
        w->samples++;
    }
    fprintf(w->rows, "%s%s %" PRIu64 " %" PRIu64,
            !next            ? " "
            : w->samples > 1 ? "\n"
                             : "",
            extension, w->bytes - (bytes + BLOCK - 1) / BLOCK * BLOCK, bytes);
    return w->key ? TOOL_DONE : tool_no_memory();
}

/* FOLDER/NAME-000007.idx */
static int write_index(struct shard_writer *w)
{
    char folder[SHARD_PATH_BYTES], *slash = strrchr(w->path, '/'), *text;
    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - w->path), w->path);
    char *file = strdup(slash + 1);
    int bytes = -1, rc;
    bool failed = ferror(w->rows) || fflush(w->rows) != 0;
    if (file && !failed) {
        memcpy(file + strlen(file) - 3, "idx", 3);
        bytes =
            asprintf(&text, "v1.1 %" PRIu64 "\n%s\n", w->samples, w->rows_text);
    }
    rc = bytes < 0 ? tool_no_memory()
                   : shard_text(folder, file, text, (uint64_t)bytes);
    if (bytes >= 0)
        free(text);
    free(file);
    return rc;
}

int shard_add_part(struct shard_writer *w, const char *key,
                   const char *extension, const void *data, uint64_t bytes)
{
    size_t room = strlen(key) + strlen(extension) + 2;
    char *name = malloc(room);
    if (!name)
        return tool_no_memory();
    snprintf(name, room, "%s.%s", key, extension);
    int rc = add_member(w, name, data, bytes);
    free(name);
    return rc == TOOL_DONE ? add_to_index(w, key, extension, bytes) : rc;
}

int shard_add(struct shard_writer *w, const char *key, const char *extension,
              int64_t label, const void *data, uint64_t bytes)
{
    char text[LABEL_BYTES];
    int digits = snprintf(text, sizeof(text), "%" PRId64, label);
    int rc = shard_add_part(w, key, "cls", text, (uint64_t)digits);
    return rc == TOOL_DONE ? shard_add_part(w, key, extension, data, bytes)
                           : rc;
}

uint64_t shard_part_bytes(uint64_t bytes)
{
    return BLOCK + (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

uint64_t shard_sample_bytes(uint64_t bytes)
{
    return shard_part_bytes(1) + shard_part_bytes(bytes);
}

/* ---- Files --------------------------------------------------------------- */

bool shard_path(const char *folder, const char *name, uint64_t number,
                char out[SHARD_PATH_BYTES])
{
    int n = snprintf(out, SHARD_PATH_BYTES, "%s/%s-%06" PRIu64 ".tar", folder,
                     name, number);
    return n >= 0 && n < SHARD_PATH_BYTES;
}

/* FOLDER/FILE, by way of FOLDER/.FILE.part. */
static int begin_file(struct shard_writer *w, const char *folder,
                      const char *file)
{
    *w = (struct shard_writer){.folder = -1, .fd = -1};
    int n = snprintf(w->path, sizeof(w->path), "%s/%s", folder, file);
    int m = snprintf(w->temporary, sizeof(w->temporary), "%s/.%s.part", folder,
                     file);
    if (n >= SHARD_PATH_BYTES || m >= SHARD_PATH_BYTES) {
        tool_say("%s: the path is too long", folder);
        return TOOL_USAGE;
    }
    w->buffer = malloc(BUFFER_BYTES);
    if (!w->buffer)
        return tool_no_memory();
    w->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* What a run that was killed left there is of no use. */
    if (w->folder >= 0 && (unlink(w->temporary) == 0 || errno == ENOENT))
        w->fd =
            open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (w->fd >= 0)
        return TOOL_DONE;
    int rc = fail(w, "cannot be made", errno);
    shard_drop(w);
    return rc;
}

/* The bytes are on the disk before they have their name, and the name is
 * before it counts. */
static int end_file(struct shard_writer *w)
{
    int rc = flush(w);
    if (rc == TOOL_DONE && fsync(w->fd) != 0)
        rc = fail(w, "cannot be written", errno);
    if (rc == TOOL_DONE && rename(w->temporary, w->path) != 0)
        rc = fail(w, "cannot be given its name", errno);
    if (rc == TOOL_DONE) {
        close(w->fd);
        w->fd = -1;
        if (fsync(w->folder) != 0)
            rc = fail(w, "its folder cannot be written", errno);
    }
    shard_drop(w);
    return rc;
}

int shard_begin(struct shard_writer *w, const char *folder, const char *name,
                uint64_t number)
{
    char file[SHARD_PATH_BYTES];
    snprintf(file, sizeof(file), "%s-%06" PRIu64 ".tar", name, number);
    int rc = begin_file(w, folder, file);
    if (rc == TOOL_DONE)
        w->rows = open_memstream(&w->rows_text, &w->rows_bytes);
    if (rc != TOOL_DONE || w->rows)
        return rc;
    shard_drop(w);
    return tool_no_memory();
}

void shard_drop(struct shard_writer *w)
{
    if (w->fd >= 0) {
        close(w->fd);
        unlink(w->temporary);
    }
    if (w->folder >= 0)
        close(w->folder);
    if (w->rows)
        fclose(w->rows);
    free(w->rows_text);
    free(w->key);
    free(w->buffer);
    w->rows = NULL;
    w->buffer = NULL;
    w->rows_text = w->key = NULL;
    w->fd = w->folder = -1;
}

/* Two blocks of zeros end it, and tar fills records of 20 blocks. */
int shard_end(struct shard_writer *w)
{
    static const uint8_t end[2 * BLOCK];
    int rc = put(w, end, sizeof(end));
    if (rc == TOOL_DONE)
        rc = fill_up(w, (uint64_t)20 * BLOCK);
    if (rc == TOOL_DONE)
        rc = write_index(w);
    if (rc == TOOL_DONE)
        return end_file(w);
    shard_drop(w);
    return rc;
}

int shard_text(const char *folder, const char *file, const char *text,
               uint64_t bytes)
{
    struct shard_writer w;
    int rc = begin_file(&w, folder, file);
    if (rc != TOOL_DONE)
        return rc;
    rc = put(&w, text, bytes);
    if (rc == TOOL_DONE)
        return end_file(&w);
    shard_drop(&w);
    return rc;
}

int shard_class_names(const char *folder,
                      const char *(*name)(const void *of, uint32_t i),
                      const void *of)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (!f)
        return tool_no_memory();
    for (uint32_t i = 0; name(of, i); i++) {
        scan_put_name(name(of, i), f);
        putc('\n', f);
    }
    bool failed = ferror(f) != 0;
    failed |= fclose(f) != 0;
    int rc = failed ? tool_no_memory() : TOOL_DONE;
    if (rc == TOOL_DONE && bytes > 0)
        rc = shard_text(folder, "classnames.txt", text, bytes);
    free(text);
    return rc;
}
