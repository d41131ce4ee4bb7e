/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first law of tuning: whatever is done to the knobs, and by whomever,
 * every byte that is delivered and every state that is saved stay what they
 * are. A plain run says what they are; then random hands turn all live knobs
 * between batches, keep batches for a while, save in the middle and go on in
 * another loader; and then the tuner does.
 */
#include "dice.h"
#include "tests/loader/fixture.h"

#include <feedline/tuning.h>

#include <stdbool.h>
#include <unistd.h>

#define N       45
#define BATCHES 12 /* of an epoch: batches of 4, the last one of 1 */
#define EPOCHS  3
#define ALL     (EPOCHS * BATCHES)
#define KEPT    2u
#define SAVED   256
#define COMMON  "batch_size=4 shuffle=true seed=11 on_error=skip "

static struct fixture images;
static const char *const readers[] = {"pread", "uring", "memory"};

/* Every ninth file is none, so the stream has replacements too. */
static void setup(void)
{
    fixture_create(&images, N);
    for (uint32_t i = 3; i < N; i += 9) {
        char path[256];
        fixture_path(&images, i, path, sizeof(path));
        assert_int_equal(truncate(path, 20), 0);
    }
}

static void teardown(void)
{
    fixture_remove(&images);
}

/* ---- What a run is ------------------------------------------------------ */

struct record {
    uint64_t hash[ALL]; /* of everything up to this batch */
    char saved[ALL][SAVED];
};

static void save(const feedline_loader *l, char *text)
{
    uint64_t needed;
    memset(text, 0, SAVED);
    assert_ok(feedline_loader_save(l, text, SAVED, &needed));
}

static feedline_batch *next_batch(feedline_loader *l)
{
    feedline_batch *b;
    int32_t status;
    do {
        status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
    } while (status == FEEDLINE_END);
    return b;
}

static void plain_run(feedline_dataset *ds, struct record *r)
{
    SCOPED_LOADER l = fixture_open(
        ds, COMMON "tuner=off workers=1 depth=1 reader=pread io_depth=1");
    uint64_t hash = FIXTURE_HASH;
    for (uint32_t i = 0; i < ALL; i++) {
        fixture_consume(next_batch(l), &hash);
        r->hash[i] = hash;
        save(l, r->saved[i]);
    }
}

/* ---- Random hands ------------------------------------------------------- */

struct walk {
    feedline_dataset *ds;
    feedline_loader *l;
    struct dice dice;
    const char *reader;
    feedline_batch *kept[KEPT]; /* the oldest first */
    uint32_t n_kept;
    uint64_t hash;
    uint32_t hashed, delivered;
};

static uint32_t draw(struct walk *w, uint32_t below)
{
    return dice_below(&w->dice, below);
}

static void open_next(struct walk *w)
{
    char options[256];
    snprintf(options, sizeof(options),
             COMMON "tuner=%s workers=%u depth=%u reader=%s io_depth=%u",
             draw(w, 2) ? "off" : "observe", 1 + draw(w, 16), 1 + draw(w, 8),
             w->reader, 1 + draw(w, 16));
    w->l = fixture_open(w->ds, options);
}

static void turn_a_knob(struct walk *w)
{
    static const struct {
        const char *name;
        uint32_t most;
    } knobs[] = {{"workers", 16}, {"depth", 12}, {"io_depth", 24}};
    uint32_t k = draw(w, 3);
    assert_ok(feedline_loader_set_int(w->l, knobs[k].name,
                                      1 + draw(w, knobs[k].most)));
}

static void look_at_oldest(struct walk *w, const struct record *plain)
{
    fixture_consume(w->kept[0], &w->hash);
    if (w->hash != plain->hash[w->hashed])
        fail_msg("reader=%s: batch %u differs", w->reader, w->hashed);
    w->hashed++;
    for (uint32_t i = 1; i < w->n_kept; i++)
        w->kept[i - 1] = w->kept[i];
    w->n_kept--;
}

/* Goes on in another loader, sometimes. */
static void save_and_restore(struct walk *w, const struct record *plain)
{
    char text[SAVED];
    save(w->l, text);
    assert_memory_equal(text, plain->saved[w->delivered - 1], SAVED);
    if (draw(w, 3))
        return;
    feedline_loader_destroy(w->l);
    open_next(w);
    assert_ok(feedline_loader_restore(w->l, text));
}

static void walk(struct walk *w, const struct record *plain)
{
    w->hash = FIXTURE_HASH;
    open_next(w);
    while (w->hashed < ALL) {
        for (uint32_t i = draw(w, 4); i > 0; i--)
            turn_a_knob(w);
        if (w->delivered < ALL && w->n_kept < KEPT) {
            w->kept[w->n_kept++] = next_batch(w->l);
            w->delivered++;
            if (draw(w, 8) == 0)
                save_and_restore(w, plain);
        }
        if (w->n_kept > draw(w, KEPT) || w->delivered == ALL)
            look_at_oldest(w, plain);
    }
    feedline_loader_destroy(w->l);
}

/* false: the reader cannot be had here. */
static bool can_read(feedline_dataset *ds, const char *reader)
{
    char options[64];
    snprintf(options, sizeof(options), "reader=%s", reader);
    if (strcmp(reader, "uring") == 0 &&
        !(feedline_features() & FEEDLINE_FEATURE_URING))
        return false;
    feedline_loader *l = fixture_open(ds, options);
    int32_t status = feedline_loader_start(l, 0);
    feedline_loader_destroy(l);
    if (status != FEEDLINE_ENOSYS)
        assert_ok(status);
    return status >= 0;
}

TEST_WITH(random_hands_change_nothing, setup, teardown)
{
    static struct record plain;
    uint64_t seed = test_seed();
    uint32_t walked[3] = {0};
    plain_run(images.files, &plain);
    for (uint32_t i = 0; i < TEST_WALKS; i++) {
        struct walk w = {
            .ds = images.files, .dice = {seed + i}, .reader = readers[i % 3]};
        if (!can_read(images.files, w.reader))
            w.reader = "auto";
        draw(&w, 2);
        walk(&w, &plain);
        walked[i % 3]++;
    }
    printf("%u trajectories: %u %u %u\n", TEST_WALKS, walked[0], walked[1],
           walked[2]);
}

/* ---- The tuner ---------------------------------------------------------- */

/* Two of these work as fast as one waits: there is something to tune. */
static int32_t sleep_a_little(const struct feedline_op_call *call)
{
    (void)call;
    usleep(300);
    return FEEDLINE_OK;
}

static feedline_loader *open_tuned(feedline_dataset *ds, const char *tuner,
                                   const char *reader)
{
    struct feedline_op_def def = {.struct_size = sizeof(def),
                                  .name = "sleep_a_little",
                                  .run = sleep_a_little};
    return fixture_with(
        ds, &def, "random_resized_crop width=16 height=16;sleep_a_little",
        "tuner=%s reader=%s dtype=u8 batch_size=2 shuffle=true on_error=skip "
        "workers_start=1",
        tuner, reader);
}

TEST_WITH(the_tuner_changes_nothing, setup, teardown)
{
    static const char *const modes[] = {"off", "observe", "auto"};
    uint64_t first = 0;
    for (uint32_t i = 0; i < 9; i++) {
        struct feedline_tuner_info info = {.struct_size = sizeof(info)};
        const char *reader = readers[i / 3];
        if (!can_read(images.files, reader))
            continue;
        SCOPED_LOADER l = open_tuned(images.files, modes[i % 3], reader);
        uint64_t hash = fixture_run(l, TEST_TUNED_EPOCHS);
        assert_ok(feedline_loader_get_tuner(l, &info));
        assert_string_equal(info.mode, modes[i % 3]);
        printf("%s %s: %llu decisions, %u workers\n", reader, info.mode,
               (unsigned long long)info.decisions, info.workers);
        first = i == 0 ? hash : first;
        assert_true(hash == first);
    }
}

TEST_MAIN("trajectories")
