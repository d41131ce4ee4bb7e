/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads take shards in order; each lists a whole shard. An index is mostly
 * waiting for small reads, so there are more threads than cores.
 */
#include "loader/index/index.h"

#include "base/atomic.h"
#include "base/cpu_set.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_PER_CPU 2u
#define MAX_THREADS     64u

#define ROW(name) &fdl_index_##name,
static const struct fdl_index_format *const formats[] = {
    FDL_INDEX_FORMATS(ROW)};

const struct fdl_index_format *fdl_index_at(uint32_t i, const char **scheme)
{
#define SCHEME(name) #name ":",
    static const char *const schemes[] = {FDL_INDEX_FORMATS(SCHEME)};
    if (i >= FDL_COUNT_OF(formats))
        return NULL;
    *scheme = schemes[i];
    return formats[i];
}

const struct fdl_index_format *fdl_index_of_scheme(const char *name,
                                                   size_t bytes)
{
    for (size_t i = 0; i < FDL_COUNT_OF(formats); i++)
        if (strlen(formats[i]->name) == bytes &&
            memcmp(formats[i]->name, name, bytes) == 0)
            return formats[i];
    return NULL;
}

const struct fdl_index_format *fdl_index_of_name(const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < FDL_COUNT_OF(formats); i++)
        for (const char *const *e = formats[i]->endings; *e; e++) {
            size_t bytes = strlen(*e);
            if (n > bytes && strcmp(path + n - bytes, *e) == 0)
                return formats[i];
        }
    return NULL;
}

const struct fdl_index_format *fdl_index_of_head(const uint8_t *head,
                                                 uint64_t bytes)
{
    for (size_t i = 0; i < FDL_COUNT_OF(formats); i++)
        if (formats[i]->matches && formats[i]->matches(head, bytes))
            return formats[i];
    return NULL;
}

/* What the threads share. */
struct work {
    const struct fdl_index_format *format;
    const struct fdl_options *options;
    struct fdl_index *index;
    _Atomic uint64_t next;
    _Atomic bool failed; /* no more shards are taken */
    struct outcome {
        int32_t status;
        char *error; /* its line; NULL: no memory for it */
    } * outcomes;    /* [shards] */
};

static int32_t list_shard(const struct work *w, uint64_t i)
{
    struct fdl_listing *list = &w->index->listings[i];
    struct fdl_shard s = {.fd = -1, .list = list, .options = w->options};
    int32_t status =
        fdl_shard_open(&s, fdl_shard_list_path(&w->index->shards, i));
    if (status == FEEDLINE_OK)
        status = w->format->index(&s);
    fdl_shard_close(&s);
    if (status == FEEDLINE_EINVAL &&
        fdl_option_int(w->options, FDL_INDEX_ROW_DAMAGED) == FDL_DAMAGED_SKIP) {
        fdl_listing_odd(list, "damaged, what follows is left out",
                        fdl_last_error());
        fdl_clear_error();
        status = FEEDLINE_OK;
    }
    return status;
}

static void *index_main(void *arg)
{
    struct work *w = arg;
    while (!fdl_load(&w->failed)) {
        uint64_t i =
            atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (i >= w->index->shards.n)
            break;
        int32_t status = list_shard(w, i);
        if (status == FEEDLINE_OK)
            continue;
        w->outcomes[i].status = status;
        w->outcomes[i].error = fdl_strdup(fdl_last_error());
        atomic_store_explicit(&w->failed, true, memory_order_relaxed);
    }
    return NULL;
}

/* On this thread and as many others as there is work for; fewer if the system
 * has no more. */
static void run(struct work *w)
{
    struct fdl_thread threads[MAX_THREADS];
    struct fdl_cpu_set cpus;
    uint32_t n = 0, wanted = MAX_THREADS;
    if (fdl_cpu_set_of_thread(0, &cpus))
        wanted = FDL_MIN(THREADS_PER_CPU * fdl_cpu_set_count(&cpus), wanted);
    wanted = (uint32_t)FDL_MIN((uint64_t)wanted, w->index->shards.n);
    while (n + 1 < wanted && fdl_thread_start(&threads[n], "feedline-index",
                                              index_main, w) == FEEDLINE_OK)
        n++;
    fdl_clear_error();
    index_main(w);
    for (uint32_t i = 0; i < n; i++)
        fdl_thread_join(&threads[i]);
}

/* The first shard's error; frees them all. */
static int32_t outcome_of(const struct work *w)
{
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 0; i < w->index->shards.n; i++) {
        const struct outcome *o = &w->outcomes[i];
        if (status == FEEDLINE_OK && o->status < 0)
            status =
                fdl_fail(o->status, "%s",
                         o->error ? o->error
                                  : fdl_shard_list_path(&w->index->shards, i));
        free(o->error);
    }
    return status;
}

/* One line for each kind of oddity, over all shards. */
static void tell_oddities(const struct fdl_index *index)
{
    for (uint64_t i = 0; i < index->shards.n; i++) {
        const struct fdl_listing *l = &index->listings[i];
        for (uint32_t k = 0; k < l->n_oddities; k++)
            fdl_log(FDL_LOG_WARNING, "%s: %s: %" PRIu64 ", the first: %s",
                    fdl_shard_list_path(&index->shards, i), l->oddities[k].what,
                    l->oddities[k].count, l->oddities[k].first);
    }
}

static int32_t list_all(const struct fdl_index_format *format,
                        const struct fdl_options *options,
                        struct fdl_index *index)
{
    uint64_t n = index->shards.n;
    struct work w = {.format = format, .options = options, .index = index};
    index->listings = calloc(n, sizeof(*index->listings));
    w.outcomes = calloc(n, sizeof(*w.outcomes));
    if (!index->listings || !w.outcomes) {
        free(w.outcomes);
        return fdl_fail_memory(n * sizeof(*index->listings), "an index");
    }
    run(&w);
    int32_t status = outcome_of(&w);
    free(w.outcomes);
    if (status == FEEDLINE_OK)
        tell_oddities(index);
    return status;
}

/* Cuts "PATH?a=1&b=2" behind PATH and sets the options. A '?' without a '=' is
 * part of a name. */
static int32_t take_options(char *spec, struct fdl_options *options)
{
    char *mark = strrchr(spec, '?');
    if (!mark || !strchr(mark, '='))
        return FEEDLINE_OK;
    *mark = '\0';
    int32_t status = FEEDLINE_OK;
    for (char *at = mark + 1, *next; status == FEEDLINE_OK && at; at = next) {
        next = strchr(at, '&');
        if (next)
            *next++ = '\0';
        char *equals = strchr(at, '=');
        if (!equals)
            return fdl_fail(FEEDLINE_EINVAL, "%s: '%s' is no option=value",
                            spec, at);
        *equals = '\0';
        status = fdl_options_set(options, at, equals + 1);
    }
    return status;
}

int32_t fdl_index_build(const struct fdl_index_format *format, const char *spec,
                        struct fdl_index *out)
{
    struct fdl_options options = {0};
    struct fdl_index index = {0};
    int32_t status = fdl_options_init(&options, format->name, format->options,
                                      format->n_options);
    if (status)
        return status;
    char *path = fdl_strdup(spec);
    if (!path) {
        status = fdl_fail_memory(strlen(spec) + 1, "a data set's name");
        goto out;
    }
    status = take_options(path, &options);
    if (status == FEEDLINE_OK)
        status = format->find ? format->find(path, &index.shards)
                              : fdl_shard_list_find(&index.shards, path,
                                                    format->endings);
    if (status == FEEDLINE_OK)
        status = list_all(format, &options, &index);
    if (status == FEEDLINE_OK) {
        *out = index;
        index = (struct fdl_index){0};
    }
out:
    free(path);
    fdl_index_free(&index);
    fdl_options_fini(&options);
    return status;
}

void fdl_index_free(struct fdl_index *index)
{
    for (uint64_t i = 0; index->listings && i < index->shards.n; i++)
        fdl_listing_free(&index->listings[i]);
    free(index->listings);
    fdl_shard_list_free(&index->shards);
    *index = (struct fdl_index){0};
}
