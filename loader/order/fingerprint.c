/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints of ranks, and their comparison; see fingerprint.h. */
#include "loader/order/fingerprint.h"

#include "base/json.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST "feedline_rank="

/* ---- Written ------------------------------------------------------------- */

static void add_order(struct fdl_text *t, const struct fdl_fingerprint *f)
{
    static const char *const words[] = {[FDL_SHUFFLE_NONE] = "false",
                                        [FDL_SHUFFLE_FULL] = "true",
                                        [FDL_SHUFFLE_BLOCK] = "block"};
    const struct fdl_state *s = &f->state;
    fdl_text_add(t, " seed=%" PRIu64 " shuffle=%s", s->seed, words[s->shuffle]);
    if (s->shuffle == FDL_SHUFFLE_BLOCK)
        fdl_text_add(t, " block=%" PRIu64 " lanes=%" PRIu64, s->blocks.samples,
                     s->blocks.lanes);
    fdl_text_add(t,
                 " repeats=%" PRIu64 " epoch_samples=%" PRIu64
                 " shard_tail=%s epochs=%" PRIu64 " epoch=%" PRIu64
                 " position=%" PRIu64,
                 s->repeats, s->epoch_samples, f->shard_tail, f->epochs,
                 s->epoch, s->position);
}

int32_t fdl_fingerprint_write(const struct fdl_fingerprint *f, char *buf,
                              uint64_t capacity, uint64_t *needed)
{
    struct fdl_text t = {0};
    char host[65] = "";
    if (gethostname(host, sizeof(host) - 1) != 0 || strchr(host, ' '))
        strcpy(host, "?");
    fdl_text_add(&t,
                 FIRST "%" PRIu32 " world=%" PRIu32 " samples=%" PRIu64
                       " dataset=%016" PRIx64 " batch_size=%" PRIu64
                       " drop_last=%s",
                 f->rank, f->world, f->state.count, f->state.fingerprint,
                 f->batch_size, f->drop_last ? "true" : "false");
    if (!f->given)
        add_order(&t, f);
    fdl_text_add(&t, " process=%ld host=%s", (long)getpid(), host);
    int32_t status = fdl_text_copy_out(&t, buf, capacity, needed);
    fdl_text_free(&t);
    return status;
}

/* ---- Read ---------------------------------------------------------------- */

/* A part of a line; text NULL: it is not there. */
struct word {
    const char *text;
    int bytes;
};

/* What follows the word that begins with "key=". */
static struct word value_of(const char *line, const char *key, size_t bytes)
{
    while (line) {
        line += *line == ' ';
        if (strncmp(line, key, bytes) == 0 && line[bytes] == '=')
            return (struct word){line + bytes + 1,
                                 (int)strcspn(line + bytes + 1, " ")};
        line = strchr(line, ' ');
    }
    return (struct word){NULL, 0};
}

static struct word named(const char *line, const char *key)
{
    struct word found = value_of(line, key, strlen(key));
    return found.text ? found : (struct word){"nothing", 7};
}

static bool same(struct word a, struct word b)
{
    return a.bytes == b.bytes && memcmp(a.text, b.text, (size_t)a.bytes) == 0;
}

/* UINT64_MAX: none. */
static uint64_t number_of(const char *line, const char *key)
{
    struct word w = value_of(line, key, strlen(key));
    if (!w.text || *w.text < '0' || *w.text > '9')
        return UINT64_MAX;
    char *end;
    uint64_t n = strtoull(w.text, &end, 10);
    return end == w.text + w.bytes ? n : UINT64_MAX;
}

struct lines {
    const char *all;
    uint64_t stride;
    uint32_t n;
};

static const char *line_of(const struct lines *l, uint32_t i)
{
    return l->all + i * l->stride;
}

static int32_t check_lines(const struct lines *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const char *line = line_of(l, i);
        if (memchr(line, '\0', l->stride) &&
            number_of(line, "feedline_rank") < UINT32_MAX &&
            number_of(line, "world") <= UINT32_MAX)
            continue;
        return fdl_fail(FEEDLINE_EINVAL,
                        "text %" PRIu32 " of %" PRIu32
                        " is no fingerprint of a rank",
                        i, l->n);
    }
    return FEEDLINE_OK;
}

/* ---- What differs -------------------------------------------------------- */

/* The value that most have, if more than half of them have it. */
static struct word usual(const struct lines *l, const char *key)
{
    struct word most = named(line_of(l, 0), key);
    uint32_t lead = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        struct word one = named(line_of(l, i), key);
        if (lead == 0)
            most = one;
        if (same(one, most))
            lead++;
        else
            lead--;
    }
    return most;
}

/* Of those that have the usual value, or do not, the one of the lowest rank. */
static const char *first(const struct lines *l, const char *key,
                         struct word most, bool has_it)
{
    const char *found = NULL;
    for (uint32_t i = 0; i < l->n; i++) {
        const char *line = line_of(l, i);
        if (same(named(line, key), most) == has_it &&
            (!found || number_of(line, "feedline_rank") <
                           number_of(found, "feedline_rank")))
            found = line;
    }
    return found;
}

static int32_t fail_between(const char *key, const char *a, const char *b)
{
    struct word value[2], process[2], host[2];
    const char *line[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        value[i] = named(line[i], key);
        process[i] = named(line[i], "process");
        host[i] = named(line[i], "host");
    }
    return fdl_fail(FEEDLINE_EINVAL,
                    "the ranks of this job do not agree: rank %" PRIu64
                    " has %s=%.*s (process %.*s on %.*s), and rank %" PRIu64
                    " has %s=%.*s (process %.*s on %.*s)",
                    number_of(a, "feedline_rank"), key, value[0].bytes,
                    value[0].text, process[0].bytes, process[0].text,
                    host[0].bytes, host[0].text, number_of(b, "feedline_rank"),
                    key, value[1].bytes, value[1].text, process[1].bytes,
                    process[1].text, host[1].bytes, host[1].text);
}

static int32_t compare_key(const struct lines *l, const char *key)
{
    uint32_t i = 1;
    struct word of_first = named(line_of(l, 0), key);
    while (i < l->n && same(named(line_of(l, i), key), of_first))
        i++;
    if (i == l->n)
        return FEEDLINE_OK;
    struct word most = usual(l, key);
    const char *a = first(l, key, most, true), *b = first(l, key, most, false);
    if (number_of(a, "feedline_rank") > number_of(b, "feedline_rank")) {
        const char *other = a;
        a = b;
        b = other;
    }
    return fail_between(key, a, b);
}

/* All words of the first line but those that say who wrote it. */
static int32_t compare_words(const struct lines *l)
{
    int32_t status = FEEDLINE_OK;
    const char *at = strchr(line_of(l, 0), ' ');
    for (; at && status >= 0; at = strchr(at + 1, ' ')) {
        char key[32];
        size_t bytes = strcspn(at + 1, "= ");
        if (bytes >= sizeof(key))
            continue;
        memcpy(key, at + 1, bytes);
        key[bytes] = '\0';
        if (strcmp(key, "process") != 0 && strcmp(key, "host") != 0)
            status = compare_key(l, key);
    }
    return status;
}

static int32_t fail_twice(const char *a, const char *b)
{
    struct word process[2] = {named(a, "process"), named(b, "process")};
    struct word host[2] = {named(a, "host"), named(b, "host")};
    return fdl_fail(FEEDLINE_EINVAL,
                    "two processes of this job are rank %" PRIu64
                    ": process %.*s on %.*s, and process %.*s on %.*s",
                    number_of(a, "feedline_rank"), process[0].bytes,
                    process[0].text, host[0].bytes, host[0].text,
                    process[1].bytes, process[1].text, host[1].bytes,
                    host[1].text);
}

/* Each rank once: all of them, as many as the world that they agree on. */
static int32_t compare_ranks(const struct lines *l)
{
    uint64_t world = number_of(line_of(l, 0), "world");
    const char **of_rank = calloc(l->n, sizeof(*of_rank));
    int32_t status = FEEDLINE_OK;
    if (!of_rank)
        return fdl_fail_memory(l->n * sizeof(*of_rank), "ranks");
    for (uint32_t i = 0; i < l->n && status >= 0; i++) {
        const char *line = line_of(l, i);
        uint64_t rank = number_of(line, "feedline_rank");
        if (rank >= world)
            status =
                fdl_fail(FEEDLINE_EINVAL,
                         "rank %" PRIu64 " of %" PRIu64 "; ranks count from 0",
                         rank, world);
        else if (rank < l->n && of_rank[rank])
            status = fail_twice(of_rank[rank], line);
        else if (rank < l->n)
            of_rank[rank] = line;
    }
    uint32_t missing = 0;
    while (missing < l->n && of_rank[missing])
        missing++;
    if (status >= 0 && world != l->n)
        status = fdl_fail(
            FEEDLINE_EINVAL,
            "%" PRIu32 " of the %" PRIu64
            " ranks of this job are there; missing: %" PRIu32 "%s",
            l->n, world, missing, world - l->n > 1 ? " and others" : "");
    free(of_rank);
    return status;
}

int32_t fdl_fingerprints_compare(const char *all, uint64_t stride, uint32_t n)
{
    struct lines l = {all, stride, n};
    int32_t status = check_lines(&l);
    if (status >= 0)
        status = compare_key(&l, "world");
    if (status >= 0)
        status = compare_ranks(&l);
    return status < 0 ? status : compare_words(&l);
}
