/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option replay: the first batches of a run, again and again. What is delivered
 * is held against a run without it, batch by batch.
 */
#include "tests/loader/fixture.h"

#include <pthread.h>
#include <stdbool.h>

#define IMAGES    44u /* six batches of an epoch, the last one of 4 */
#define BATCHES   6u
#define BATCH     8u
#define EPOCHS    4u
#define FNV_BASIS UINT64_C(14695981039346656037)

static struct fixture images;
static feedline_dataset *dataset;

static void setup(void)
{
    fixture_create(&images, IMAGES);
    dataset = fixture_memory(&images);
}

static void teardown(void)
{
    feedline_dataset_close(dataset);
    fixture_remove(&images);
}

/* A batch as it was delivered: who it is, and a hash of each of its images. */
struct seen {
    uint64_t epoch, sequence, position;
    uint32_t count;
    uint64_t images[BATCH];
};

static uint64_t hash_image(const struct feedline_batch_info *info, uint32_t i)
{
    const int64_t *labels = info->labels.data;
    uint64_t hash = FNV_BASIS;
    size_t bytes;
    const uint8_t *pixels = fixture_image(info, i, &bytes);
    hash = (hash ^ (uint64_t)info->sample_index[i]) * 1099511628211u;
    hash = (hash ^ (uint64_t)labels[i]) * 1099511628211u;
    for (size_t k = 0; k < bytes; k++)
        hash = (hash ^ pixels[k]) * 1099511628211u;
    return hash;
}

static struct seen see(const feedline_batch *b)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_batch_get_info(b, &info));
    struct seen s = {.epoch = info.epoch,
                     .sequence = info.sequence,
                     .position = info.position,
                     .count = info.count};
    for (uint32_t i = 0; i < info.count; i++)
        s.images[i] = hash_image(&info, i);
    return s;
}

/* The batches of a whole run; each is given back after `held` more of them. */
static uint32_t run(feedline_loader *l, uint32_t held, struct seen *out)
{
    feedline_batch *keep[8] = {NULL};
    uint32_t n = 0, ends = 0, at = 0;
    while (ends < EPOCHS) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_END) {
            ends++;
            continue;
        }
        out[n++] = see(b);
        if (held == 0) {
            feedline_batch_release(b);
            continue;
        }
        feedline_batch_release(keep[at % held]);
        keep[at++ % held] = b;
    }
    for (uint32_t i = 0; i < held; i++)
        feedline_batch_release(keep[i]);
    return n;
}

static uint64_t reads(const feedline_loader *l)
{
    struct feedline_stage_stats s = {.struct_size = sizeof(s)};
    assert_ok(feedline_loader_get_stage_stats(l, FEEDLINE_STAGE_READ, &s));
    return s.items;
}

static bool serves(const struct seen *kept, const struct seen *b)
{
    return kept->count >= b->count &&
           memcmp(kept->images, b->images, b->count * sizeof(*b->images)) == 0;
}

/* The first `read` as without replay, the others one of these. */
static void check(const struct seen *got, const struct seen *plain, uint32_t n,
                  uint32_t read)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(got[i].epoch, plain[i].epoch);
        assert_int_equal(got[i].sequence, plain[i].sequence);
        assert_int_equal(got[i].position, plain[i].position);
        assert_int_equal(got[i].count, plain[i].count);
        if (i < read) {
            assert_memory_equal(got[i].images, plain[i].images,
                                got[i].count * sizeof(*got[i].images));
            continue;
        }
        uint32_t k = 0;
        while (k < read && !serves(&got[k], &got[i]))
            k++;
        if (k == read)
            fail_msg("batch %u is none of the first %u", i, read);
    }
}

#define RUN 64

static struct seen plain[RUN], got[RUN];

/* options beside replay; read: how many batches have to be read for it. */
static void compare(const char *options, uint32_t replay, uint32_t held,
                    uint32_t read)
{
    char text[256];
    snprintf(text, sizeof(text), "shuffle=true epochs=4 %s", options);
    feedline_loader *l = fixture_open(dataset, text);
    uint32_t n = run(l, 0, plain);
    feedline_loader_destroy(l);
    snprintf(text, sizeof(text), "shuffle=true epochs=4 replay=%u %s", replay,
             options);
    l = fixture_open(dataset, text);
    uint64_t samples = 0;
    for (int again = 0; again < 2; again++) { /* a new run reads anew */
        memset(got, 0, sizeof(got));
        assert_int_equal(run(l, held, got), n);
        check(got, plain, n, read);
        for (uint32_t i = 0; i < read; i++)
            samples += got[i].count;
        /* A read is counted behind its delivery. */
        assert_ok(feedline_loader_stop(l));
        assert_int_equal(reads(l), samples);
        assert_ok(feedline_loader_start(l, 0));
    }
    feedline_loader_destroy(l);
}

TEST_WITH(serves_the_first, setup, teardown)
{
    compare("reader=pread", 1, 0, 1);
    compare("workers=3", 3, 0, 3);
    compare("workers=3 drop_last=true", 4, 0, 4);
    compare("workers=2", 6, 0, 6);
    compare("", 8, 0, 8);
    compare("", 200, 0, EPOCHS * BATCHES); /* more than there are */
}

/* A consumer that gets the next one before it gives back the last. */
TEST_WITH(serves_who_holds, setup, teardown)
{
    compare("", 3, 1, 3);
    compare("", 3, 2, 3);
    compare("", 1, 1, 2);
    compare("", 2, 2, 3);
}

TEST_WITH(serves_any_sizes, setup, teardown)
{
    compare("max_sample_bytes=20000", 2, 0, 2);
    compare("max_sample_bytes=20000", 3, 1, 3);
}

/* The only batch that was read is too short for those to come. */
TEST_WITH(begins_with_a_short_one, setup, teardown)
{
    feedline_loader *l = fixture_open(dataset, "replay=1 epochs=2");
    assert_ok(feedline_loader_set_position(l, 0, 40));
    uint32_t counts[BATCHES + 1];
    uint32_t n = 0;
    for (int ends = 0; ends < 2;) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_END) {
            ends++;
            continue;
        }
        counts[n++] = see(b).count;
        feedline_batch_release(b);
    }
    assert_int_equal(n, BATCHES + 1);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(counts[i], i == 0 || i == n - 1 ? 4 : 8);
    assert_ok(feedline_loader_stop(l)); /* counts them all */
    assert_int_equal(reads(l), 4 + 8);
    feedline_loader_destroy(l);
}

TEST_WITH(all_are_held, setup, teardown)
{
    feedline_batch *b[8];
    uint32_t n = 0;
    feedline_loader *l = fixture_open(dataset, "replay=2");
    while (n < 8 && feedline_loader_next(l, -1, &b[n]) == FEEDLINE_OK)
        n++;
    assert_int_equal(n, 4); /* the two spare slots were used before that */
    assert_error(feedline_loader_next(l, -1, &b[n]), FEEDLINE_ESTATE,
                 "replay=2");
    feedline_batch_release(b[1]);
    assert_ok(feedline_loader_next(l, -1, &b[1]));
    for (uint32_t i = 0; i < n; i++)
        feedline_batch_release(b[i]);
    assert_ok(feedline_loader_next(l, -1, &b[0]));
    feedline_loader_destroy(l); /* a batch may outlive it */
    feedline_batch_release(b[0]);
}

TEST_WITH(depth_follows, setup, teardown)
{
    int64_t depth = 0;
    feedline_loader *l = fixture_open(dataset, "replay=5 depth=2");
    assert_ok(feedline_loader_get_int(l, "depth", &depth));
    assert_int_equal(depth, 5);
    assert_error(feedline_loader_set_int(l, "replay", 3), FEEDLINE_ESTATE,
                 "replay");
    feedline_loader_destroy(l);
    assert_null(fixture_loader(dataset, "replay=1000 memory_budget=1000000"));
    assert_non_null(strstr(feedline_last_error(), "memory_budget"));
}

/* ---- Given back by others ----------------------------------------------- */

#define PASSED 2000

struct pass {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    feedline_batch *batch; /* to be given back */
    bool over;
};

static void *give_back(void *arg)
{
    struct pass *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->over || p->batch) {
        feedline_batch *b = p->batch;
        if (!b) {
            pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        see(b);
        feedline_batch_release(b);
        pthread_mutex_lock(&p->lock);
        p->batch = NULL;
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

TEST_WITH(another_thread_gives_back, setup, teardown)
{
    struct pass p = {.lock = PTHREAD_MUTEX_INITIALIZER,
                     .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    feedline_loader *l = fixture_open(dataset, "replay=4 workers=2");
    pthread_create(&thread, NULL, give_back, &p);
    for (uint32_t n = 0; n < PASSED;) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_END)
            continue;
        n++;
        pthread_mutex_lock(&p.lock);
        while (p.batch)
            pthread_cond_wait(&p.changed, &p.lock);
        p.batch = b;
        pthread_cond_broadcast(&p.changed);
        pthread_mutex_unlock(&p.lock);
    }
    pthread_mutex_lock(&p.lock);
    p.over = true;
    pthread_cond_broadcast(&p.changed);
    pthread_mutex_unlock(&p.lock);
    pthread_join(thread, NULL);
    assert_ok(feedline_loader_stop(l)); /* counts them all */
    assert_int_equal(reads(l), 4 * BATCH);
    feedline_loader_destroy(l);
}

TEST_MAIN("replay")
