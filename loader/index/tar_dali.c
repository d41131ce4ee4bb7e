/* SPDX-License-Identifier: Apache-2.0 */
/* DALI's index of a tar file; tar_dali.h has its format. */
#include "loader/index/tar_dali.h"

#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 4096u

/* Samples whose headers are looked at: the first, then one in so many. */
#define FIRST_LOOKS 4u
#define LOOK_EVERY  64u

struct reader {
    struct fdl_shard *shard;
    const char *path; /* of the index */
    uint64_t line;    /* 1: the first */
    uint64_t samples; /* listed so far */
    bool named;       /* version 1.2 */
    int32_t (*take)(void *user, const struct fdl_tar_member *m);
    void *user;
};

static int32_t fail(const struct reader *r, const char *what)
{
    return fdl_fail(FEEDLINE_EINVAL,
                    "%s, line %" PRIu64 ": %s; make it again (wds2idx), "
                    "or leave out index=",
                    r->path, r->line, what);
}

/* ---- Words --------------------------------------------------------------- */

/* The next word of the line at *at, ended in place; NULL: there is none. */
static char *word(char **at)
{
    char *begin = *at + strspn(*at, " \r");
    size_t n = strcspn(begin, " \r");
    if (n == 0)
        return NULL;
    *at = begin + n + (begin[n] != '\0');
    begin[n] = '\0';
    return begin;
}

static bool number(char **at, uint64_t *out)
{
    const char *text = word(at);
    char *end = NULL;
    if (!text || *text < '0' || *text > '9')
        return false;
    *out = strtoull(text, &end, 10);
    return *end == '\0';
}

/* ---- Lines --------------------------------------------------------------- */

/* Whether a member of that size begins there. */
static int32_t check_header(const struct reader *r,
                            const struct fdl_tar_member *m)
{
    struct fdl_tar t = {.shard = r->shard,
                        .at = m->begin - FDL_TAR_BLOCK,
                        .end = r->shard->size};
    struct fdl_tar_member found = {0};
    const uint8_t *block;
    bool more = false;
    int32_t status = fdl_shard_bytes(r->shard, t.at, FDL_TAR_BLOCK, &block);
    if (status)
        return status;
    if (fdl_tar_is_header(block))
        status = fdl_tar_next(&t, &found, &more);
    bool same = more && found.begin == m->begin && found.size == m->size;
    fdl_tar_free(&t);
    return status || same ? status
                          : fail(r, "no member of that size is there, so it "
                                    "is of another shard");
}

static int32_t take_member(const struct reader *r, const char *extension,
                           struct fdl_tar_member *m, bool look)
{
    char name[NAME_BYTES];
    if (m->begin < FDL_TAR_BLOCK || m->begin % FDL_TAR_BLOCK != 0 ||
        !fdl_shard_has(r->shard, m->begin, m->size))
        return fail(r, "a member is not in the shard");
    if (look) {
        int32_t status = check_header(r, m);
        if (status)
            return status;
    }
    if (!r->named) {
        snprintf(name, sizeof(name), "%08" PRIu64 ".%s", r->samples, extension);
        m->name = name;
    }
    return r->take(r->user, m);
}

static int32_t take_line(const struct reader *r, char *line, bool look)
{
    int32_t status = FEEDLINE_OK;
    const char *extension;
    while (!status && (extension = word(&line))) {
        struct fdl_tar_member m = {.type = FDL_TAR_FILE};
        if (!number(&line, &m.begin) || !number(&line, &m.size) ||
            (r->named && !(m.name = word(&line))))
            return fail(r, "not \"extension offset bytes\" and, in version "
                           "1.2, a name without blanks");
        status = take_member(r, extension, &m, look);
    }
    return status;
}

static int32_t take_head(struct reader *r, char *line, uint64_t *samples)
{
    const char *version = word(&line);
    bool known = version &&
                 (strcmp(version, "v1.1") == 0 || strcmp(version, "v1.2") == 0);
    if (!known || !number(&line, samples))
        return fail(r, "not an index of wds2idx, version 1.1 or 1.2");
    r->named = strcmp(version, "v1.2") == 0;
    return FEEDLINE_OK;
}

/* The text ends with a zero. */
static int32_t take_text(struct reader *r, char *text)
{
    uint64_t samples = 0;
    int32_t status = FEEDLINE_OK;
    for (char *line = text, *next; *line && !status; line = next) {
        size_t n = strcspn(line, "\n");
        r->line++;
        if (line[n] == '\0')
            return fail(r, "it ends in the middle of a line");
        next = line + n + 1;
        line[n] = '\0';
        if (r->line == 1) {
            status = take_head(r, line, &samples);
            continue;
        }
        bool look = r->samples < FIRST_LOOKS || r->samples % LOOK_EVERY == 0 ||
                    r->samples + 1 == samples;
        status = take_line(r, line, look);
        r->samples++;
    }
    if (!status && (r->line == 0 || r->samples != samples))
        status = fail(r, "it ends early, or has more samples than it says");
    return status;
}

/* ---- The file ------------------------------------------------------------ */

/* "a/b.c.tar" -> "a/b.ENDING", as wds2idx and DALI name it. */
static int32_t path_of(const struct fdl_shard *s, const char *ending,
                       struct fdl_text *out)
{
    const char *slash = strrchr(s->path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - s->path) : 0;
    size_t n = folder + strcspn(s->path + folder, ".");
    fdl_text_add(out, "%.*s.%s", (int)n, s->path, ending);
    return out->failed ? fdl_fail_memory(n, "the name of an index")
                       : FEEDLINE_OK;
}

static bool is_older(const struct fdl_shard *index, const struct fdl_shard *s)
{
    const struct timespec *a = &index->state.st_mtim, *b = &s->state.st_mtim;
    return a->tv_sec < b->tv_sec ||
           (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static int32_t read_index(struct reader *r, struct fdl_shard *file)
{
    char *text;
    if (is_older(file, r->shard))
        return fail(r, "it is older than its shard");
    int32_t status = fdl_shard_text(file, 0, file->size, &text);
    if (status)
        return status;
    status = take_text(r, text);
    free(text);
    return status;
}

int32_t fdl_tar_dali_each(struct fdl_shard *s, const char *ending,
                          int32_t (*take)(void *user,
                                          const struct fdl_tar_member *m),
                          void *user)
{
    struct fdl_text path = {0};
    struct fdl_shard file = {.fd = -1};
    int32_t status = path_of(s, ending, &path);
    if (!status)
        status = fdl_shard_open(&file, path.data);
    struct reader r = {
        .shard = s, .path = path.data, .take = take, .user = user};
    if (!status)
        status = read_index(&r, &file);
    fdl_shard_close(&file);
    fdl_text_free(&path);
    return status;
}
