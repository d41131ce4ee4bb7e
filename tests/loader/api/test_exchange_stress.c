/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that other threads look at and delete, while the loader they come
 * from runs, changes its depth, is stopped and begins again, and after it is
 * gone. What each tensor shows is compared twice with what a plain run
 * delivered: when it is exported, and right before it is deleted.
 */
#include "dice.h"
#include "loader/api/dlpack.h"
#include "tests/loader/fixture.h"

#include <feedline/exchange.h>

#include <pthread.h>

#define N        37 /* not a multiple of the batch size */
#define BATCH    8u
#define BATCHES  5u
#define STARTS   3u /* epochs that a run begins at */
#define EPOCHS   5u /* that are seen: three of each run */
#define ROUNDS   20u
#define STEPS    60u
#define DELETERS 3
#define QUEUE    16u /* tensors that wait for a deleter */

static struct fixture images;
static uint64_t expected[EPOCHS][BATCHES][2]; /* hash of each part */
static struct dice dice;

static void setup(void)
{
    dice.state = test_seed();
    fixture_create(&images, N);
}

static void teardown(void)
{
    fixture_remove(&images);
}

static uint32_t draw(uint32_t below)
{
    return dice_below(&dice, below);
}

/* ---- Tensors ------------------------------------------------------------ */

static uint64_t hash_tensor(const struct fdl_dl_tensor *t)
{
    size_t bytes = t->bits / 8;
    for (int32_t i = 0; i < t->ndim; i++)
        bytes *= (size_t)t->shape[i];
    return fixture_hash(FIXTURE_HASH, t->data, bytes);
}

/* One that somebody has to delete. */
struct parcel {
    void *tensor;
    bool versioned;
    uint64_t hash;
};

static const struct fdl_dl_tensor *open_parcel(const struct parcel *p)
{
    if (p->versioned)
        return &((struct fdl_dl_versioned *)p->tensor)->tensor;
    return &((struct fdl_dl_managed *)p->tensor)->tensor;
}

/* Whether it still showed what it had to. */
static bool delete_parcel(const struct parcel *p)
{
    bool same = hash_tensor(open_parcel(p)) == p->hash;
    if (p->versioned) {
        struct fdl_dl_versioned *t = p->tensor;
        t->deleter(t);
    } else {
        struct fdl_dl_managed *t = p->tensor;
        t->deleter(t);
    }
    return same;
}

/* ---- Deleters ----------------------------------------------------------- */

static struct {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    struct parcel parcels[QUEUE];
    uint32_t n, under_way;
    bool quit;
    uint32_t deleted, wrong;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .changed = PTHREAD_COND_INITIALIZER};

/* The newest first, so that some stay for long. */
static bool take_locked(struct parcel *out)
{
    while (queue.n == 0 && !queue.quit)
        pthread_cond_wait(&queue.changed, &queue.lock);
    if (queue.n == 0)
        return false;
    *out = queue.parcels[--queue.n];
    queue.under_way++;
    return true;
}

static void *delete_all(void *arg)
{
    struct parcel p;
    (void)arg;
    pthread_mutex_lock(&queue.lock);
    while (take_locked(&p)) {
        pthread_mutex_unlock(&queue.lock);
        bool same = delete_parcel(&p);
        pthread_mutex_lock(&queue.lock);
        queue.deleted++;
        queue.wrong += !same;
        queue.under_way--;
        pthread_cond_broadcast(&queue.changed);
    }
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

static void send(const struct parcel *p)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.n == QUEUE)
        pthread_cond_wait(&queue.changed, &queue.lock);
    queue.parcels[queue.n++] = *p;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static void await_deleters(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.n > 0 || queue.under_way > 0)
        pthread_cond_wait(&queue.changed, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}

/* ---- The consumer ------------------------------------------------------- */

static void learn(void)
{
    feedline_batch *b;
    int32_t status;
    SCOPED_LOADER l = fixture_open(images.ds, "epochs=5");
    for (uint32_t ends = 0; ends < EPOCHS;) {
        status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        ends += status == FEEDLINE_END;
        if (status == FEEDLINE_END)
            continue;
        struct feedline_batch_info info = fixture_info(b);
        uint64_t *hashes = expected[info.epoch][info.sequence];
        hashes[0] = fixture_hash(FIXTURE_HASH, info.images.data,
                                 (size_t)info.image_bytes);
        hashes[1] = fixture_hash(FIXTURE_HASH, info.labels.data,
                                 info.count * sizeof(int64_t));
        feedline_batch_release(b);
    }
}

static void hand_out(feedline_batch *b)
{
    struct feedline_batch_info info = fixture_info(b);
    bool early = draw(2) == 0;
    struct parcel parcels[3];
    uint32_t n = draw(4);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t part = draw(2), flags = draw(2);
        struct parcel *p = &parcels[i];
        *p = (struct parcel){.versioned = flags != 0};
        assert_ok(feedline_batch_export(b, part, flags, &p->tensor));
        p->hash = expected[info.epoch][info.sequence][part];
        assert_true(hash_tensor(open_parcel(p)) == p->hash);
    }
    if (early)
        feedline_batch_release(b);
    for (uint32_t i = 0; i < n; i++)
        send(&parcels[i]);
    if (!early)
        feedline_batch_release(b);
}

/* One or two parts of a batch that may come, or never. */
static void look_ahead(feedline_loader *l)
{
    feedline_batch *b;
    if (feedline_loader_peek(l, draw(3), &b) != FEEDLINE_OK)
        return;
    struct feedline_batch_info info = fixture_info(b);
    for (uint32_t i = 0; i <= draw(2); i++) {
        struct parcel p = {.hash = expected[info.epoch][info.sequence][i]};
        assert_ok(feedline_batch_export(b, i, 0, &p.tensor));
        send(&p);
    }
}

/* may_grow: with held=grow there is always a slot. */
static void step(feedline_loader *l, bool may_grow)
{
    feedline_batch *b;
    uint32_t what = draw(40);
    if (what == 0)
        assert_ok(feedline_loader_stop(l));
    if (what <= 1)
        assert_ok(feedline_loader_start(l, draw(STARTS)));
    else if (what <= 4)
        assert_ok(feedline_loader_set_int(l, "depth", 1 + draw(4)));
    if (what >= 20)
        look_ahead(l);
    int32_t status = feedline_loader_next(l, -1, &b);
    if (status == FEEDLINE_OK) {
        hand_out(b);
    } else if (status == FEEDLINE_ESTATE) { /* the deleters have them all */
        assert_false(may_grow);
        await_deleters();
    } else {
        assert_int_equal(status, FEEDLINE_END);
    }
}

static void walk(void)
{
    char options[96];
    bool may_grow = draw(2) == 0;
    snprintf(options, sizeof(options), "epochs=3 workers=%u depth=%u held=%s",
             1 + draw(3), 1 + draw(3), may_grow ? "grow" : "refuse");
    SCOPED_LOADER l = fixture_open(images.ds, options);
    for (uint32_t i = 0; i < STEPS; i++)
        step(l, may_grow);
}

TEST_WITH(others_delete_while_the_loader_lives_and_dies, setup, teardown)
{
    pthread_t deleters[DELETERS];
    learn();
    for (uint32_t i = 0; i < DELETERS; i++)
        assert_int_equal(pthread_create(&deleters[i], NULL, delete_all, NULL),
                         0);
    for (uint32_t i = 0; i < ROUNDS; i++)
        walk();
    pthread_mutex_lock(&queue.lock);
    queue.quit = true;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    for (uint32_t i = 0; i < DELETERS; i++)
        pthread_join(deleters[i], NULL);
    printf("%u tensors\n", queue.deleted);
    assert_true(queue.deleted > ROUNDS);
    assert_int_equal(queue.wrong, 0);
}

TEST_MAIN("exchange_stress")
