/* SPDX-License-Identifier: Apache-2.0 */
/* Threads take shards in order; each lists a whole shard. */
#include "loader/index/index.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "loader/index/index_cache.h"
#include "loader/index/listing_pack.h"
#include "loader/index/spec.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Shards that are listed at once where they are on other machines: each is read
 * in pieces of up to 8 MiB. */
#define REMOTE_AT_ONCE 16u

struct work {
    const struct fdl_index_format *format;
    const struct fdl_options *options;
    struct fdl_index *index;
    struct fdl_cache *cache;
    struct state {
        struct fdl_stamp stamp; /* of the shard as it was listed */
        bool cached;            /* taken from the cache */
    } * states;                 /* [shards] */
};

/* s: the shard if it is open, as objects are. */
static bool take_cached(const struct work *w, uint64_t i,
                        const struct fdl_shard *s)
{
    struct stat st;
    uint64_t bytes;
    struct state *state = &w->states[i];
    const char *path = fdl_string_list_at(&w->index->shards, i);
    if (w->cache->n == 0 || (!s->store && stat(path, &st) != 0))
        return false;
    state->stamp = fdl_stamp_of(s->store ? &s->state : &st);
    const uint8_t *data = fdl_cache_find(w->cache, path, &state->stamp, &bytes);
    state->cached = data && fdl_listing_unpack(data, bytes, state->stamp.size,
                                               &w->index->listings[i]);
    return state->cached;
}

/* ---- Whether the cache is to be trusted ---------------------------------- */

/* Some of the shards, other ones at each start: what a start reads does not
 * grow with their number. */
#define LOOKED_AT 16u

struct looks {
    const struct work *work;
    uint64_t first;
    _Atomic bool changed;
};

static int32_t look(void *arg, uint64_t i)
{
    struct looks *l = arg;
    uint64_t n = l->work->index->shards.n, bytes, now;
    uint64_t number = n <= LOOKED_AT ? i : (l->first + i * n / LOOKED_AT) % n;
    const char *path = fdl_string_list_at(&l->work->index->shards, number);
    struct fdl_shard s = {.fd = -1};
    if (fdl_store_has(path)) /* its stamp is of its contents */
        return FEEDLINE_OK;
    if (fdl_shard_open(&s, path) == FEEDLINE_OK) {
        struct fdl_stamp kept = fdl_stamp_of(&s.state);
        if (fdl_cache_find(l->work->cache, path, &kept, &bytes) &&
            fdl_shard_sample(&s, &now) == FEEDLINE_OK && now != kept.contents) {
            fdl_log(FDL_LOG_WARNING,
                    "%s: its contents have changed, and its size and times "
                    "have not; index cache %s is not used",
                    path, l->work->cache->path);
            l->changed = true;
        }
    }
    fdl_shard_close(&s);
    fdl_clear_error(); /* it will come again */
    return FEEDLINE_OK;
}

static void look_at_contents(const struct work *w)
{
    struct timespec now;
    uint64_t n = w->index->shards.n;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct looks l = {.work = w, .first = (uint64_t)now.tv_nsec % n};
    if (w->cache->n == 0)
        return;
    fdl_parallel("feedline-index", FDL_MIN(n, LOOKED_AT), look, &l);
    fdl_clear_error();
    if (l.changed)
        fdl_cache_forget(w->cache);
}

/* ---- Shards -------------------------------------------------------------- */

static void take_tag(struct fdl_listing *list, struct fdl_shard *s)
{
    list->tag = atomic_load_explicit(&s->tag, memory_order_relaxed);
    atomic_init(&s->tag, NULL);
}

static int32_t list_shard(void *arg, uint64_t i)
{
    const struct work *w = arg;
    struct fdl_listing *list = &w->index->listings[i];
    struct fdl_shard s = {.fd = -1, .list = list, .options = w->options};
    list->fields = w->index->fields;
    list->path = fdl_string_list_at(&w->index->shards, i);
    bool remote = fdl_store_has(list->path);
    int32_t status = remote ? fdl_shard_open(&s, list->path) : FEEDLINE_OK;
    if (status == FEEDLINE_OK && take_cached(w, i, &s)) {
        take_tag(list, &s);
        fdl_shard_close(&s);
        return FEEDLINE_OK;
    }
    w->states[i] = (struct state){0};
    if (!remote)
        status = fdl_shard_open(&s, list->path);
    struct fdl_stamp stamp = fdl_stamp_of(&s.state); /* before it is read */
    if (status == FEEDLINE_OK)
        status = w->format->index(&s);
    if (status == FEEDLINE_OK && !s.others && w->cache->path) {
        if (fdl_shard_sample(&s, &stamp.contents) == FEEDLINE_OK)
            w->states[i].stamp = stamp;
        else
            fdl_clear_error();
    }
    take_tag(list, &s);
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

/* Whether there is enough that is new to write it. */
static bool is_worth_keeping(const struct work *w)
{
    uint64_t samples = 0, stamps = 0;
    bool news = false;
    for (uint64_t i = 0; i < w->index->shards.n; i++) {
        bool stamped = fdl_stamp_is_set(&w->states[i].stamp);
        samples += w->index->listings[i].count;
        stamps += stamped;
        news |= stamped && !w->states[i].cached;
    }
    return samples >= FDL_CACHE_LEAST_SAMPLES && stamps > 0 &&
           (news || stamps != w->cache->n);
}

static void keep(const struct work *w)
{
    struct fdl_cache_writer *writer =
        is_worth_keeping(w) ? fdl_cache_begin(w->cache) : NULL;
    for (uint64_t i = 0; writer && i < w->index->shards.n; i++) {
        uint8_t *data;
        uint64_t bytes;
        if (fdl_listing_pack(&w->index->listings[i], &data, &bytes) < 0) {
            fdl_clear_error(); /* listed anew the next time */
            continue;
        }
        fdl_cache_add(writer, fdl_string_list_at(&w->index->shards, i),
                      &w->states[i].stamp, data, bytes);
        free(data);
    }
    if (writer)
        fdl_cache_end(writer);
}

/* How often shards from number `from` on have it; 0: one before had it, too. */
static uint64_t count_oddity(const struct fdl_index *index, uint64_t from,
                             const char *what)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < index->shards.n; i++) {
        const struct fdl_listing *l = &index->listings[i];
        for (uint32_t k = 0; k < l->n_oddities; k++) {
            if (strcmp(l->oddities[k].what, what) != 0)
                continue;
            if (i < from)
                return 0;
            count += l->oddities[k].count;
        }
    }
    return count;
}

/* One line for each kind of oddity, over all shards. */
static void tell_oddities(const struct fdl_index *index)
{
    for (uint64_t i = 0; i < index->shards.n; i++) {
        const struct fdl_listing *l = &index->listings[i];
        for (uint32_t k = 0; k < l->n_oddities; k++) {
            uint64_t count = count_oddity(index, i, l->oddities[k].what);
            if (count > 0)
                fdl_log(FDL_LOG_WARNING, "%s: %s: %" PRIu64 ", the first: %s",
                        fdl_string_list_at(&index->shards, i),
                        l->oddities[k].what, count, l->oddities[k].first);
        }
    }
}

/* NULL: the format has no such option. */
static const struct fdl_option_value *value_of(const struct fdl_options *o,
                                               const char *name)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (strcmp(o->table[i].name, name) == 0)
            return &o->values[i];
    return NULL;
}

/* Warns where all labels are 0 because the shards have none, unless that was
 * asked for. */
static void tell_unlabelled(const struct fdl_index *index,
                            const struct fdl_options *options)
{
    const struct fdl_option_value *label = value_of(options, "label");
    const struct fdl_option_value *number = value_of(options, "label_index");
    uint64_t samples = 0;
    if ((label && label->text && strcmp(label->text, "none") == 0) ||
        (number && number->number < 0))
        return;
    for (uint64_t i = 0; i < index->shards.n; i++) {
        samples += index->listings[i].count;
        if (index->listings[i].labelled > 0)
            return;
    }
    if (samples > 0)
        fdl_log(FDL_LOG_WARNING, "%s: no sample has a label, so all are 0%s",
                fdl_string_list_at(&index->shards, 0),
                label ? "; label=none says that they have none" : "");
}

static int32_t list_all(const struct fdl_index_format *format,
                        const struct fdl_options *options,
                        struct fdl_cache *cache, struct fdl_index *index)
{
    uint64_t n = index->shards.n;
    struct work w = {
        .format = format, .options = options, .index = index, .cache = cache};
    index->listings = calloc(n, sizeof(*index->listings));
    w.states = calloc(n, sizeof(*w.states));
    if (index->listings && w.states)
        look_at_contents(&w);
    int32_t status = FEEDLINE_OK;
    if (!index->listings || !w.states)
        status = fdl_fail_memory(n * sizeof(*index->listings), "an index");
    else if (n > 0 && fdl_store_has(fdl_string_list_at(&index->shards, 0)))
        status = fdl_parallel_waits("feedline-index", REMOTE_AT_ONCE, n,
                                    list_shard, &w);
    else
        status = fdl_parallel("feedline-index", n, list_shard, &w);
    if (status == FEEDLINE_OK) {
        tell_oddities(index);
        tell_unlabelled(index, options);
        keep(&w);
    }
    free(w.states);
    return status;
}

static int32_t choose_fields(const struct fdl_options *o,
                             struct fdl_index *index)
{
    const struct fdl_option_value *names = value_of(o, "fields");
    if (!names || !names->text || !*names->text)
        return FEEDLINE_OK;
    index->fields = calloc(1, sizeof(*index->fields));
    if (!index->fields)
        return fdl_fail_memory(sizeof(*index->fields), "names of fields");
    index->needs_fields = value_of(o, "missing_field")->number ==
                          (int64_t)FDL_MISSING_FIELD_RAISE;
    return fdl_field_set_parse(index->fields, names->text);
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
    status = fdl_spec_set_options(path, fdl_spec_cut(path), &options);
    if (status == FEEDLINE_OK)
        status = choose_fields(&options, &index);
    if (status == FEEDLINE_OK)
        status = format->find ? format->find(path, &index.shards)
                              : fdl_shard_list_find(&index.shards, path,
                                                    format->endings);
    if (status == FEEDLINE_OK) {
        struct fdl_cache cache;
        fdl_cache_open(&cache, format->name, spec);
        status = list_all(format, &options, &cache, &index);
        fdl_cache_close(&cache);
    }
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
    if (index->fields)
        fdl_field_set_free(index->fields);
    free(index->fields);
    fdl_string_list_free(&index->shards);
    *index = (struct fdl_index){0};
}
