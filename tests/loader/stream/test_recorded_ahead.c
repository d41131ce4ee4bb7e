/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that tells of all samples of a batch when it is asked for the
 * first: the same pixels, with a call a batch.
 */
#include "tests/loader/stream/recorded_rig.h"

#include <stdatomic.h>

static struct recorded_rig rig;

/* What the program says at once: images behind each other, of some samples.
 * Calls have an order, so there is one of it. */
static struct {
    int32_t (*read_one)(struct feedline_read_call *call); /* the rig's */
    struct feedline_recorded_image images[RECORDED_BATCH * RECORDED_IMAGES];
    struct feedline_recorded_step steps[RECORDED_BATCH * RECORDED_IMAGES][3];
    uint32_t counts[RECORDED_BATCH];
    uint32_t samples, n_images;
    int32_t status;  /* that it got for the others */
    bool spoils_one; /* of the others, each time */
    _Atomic uint32_t calls;
} program;

static int32_t note(struct feedline_read_call *call,
                    struct feedline_recorded_image *images, uint32_t n)
{
    (void)call;
    program.counts[program.samples++] = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t to = program.n_images++;
        program.images[to] = images[i];
        memcpy(program.steps[to], images[i].steps,
               images[i].n_steps * sizeof(program.steps[to][0]));
        program.images[to].steps = program.steps[to];
    }
    return FEEDLINE_OK;
}

static int32_t read_batch(struct feedline_read_call *call)
{
    struct feedline_read_call one = *call;
    program.samples = program.n_images = 0;
    atomic_fetch_add(&program.calls, 1);
    for (; one.place < RECORDED_BATCH && one.index < RECORDED_N; one.index++) {
        assert_ok(program.read_one(&one));
        one.place++;
    }
    uint32_t first = program.counts[0];
    int32_t status = feedline_read_recorded(call, program.images, first);
    if (program.spoils_one && program.n_images > first)
        program.images[program.n_images - 1].channels = 77;
    program.status = feedline_read_recorded_ahead(
        call, program.images + first, program.counts + 1, program.samples - 1);
    return status;
}

static void setup(void)
{
    recorded_open(&rig);
    memset(&program, 0, sizeof(program));
    program.read_one = rig.source.read;
    rig.read = note;
    rig.source.read = read_batch;
    rig.source.flags |= FEEDLINE_SOURCE_IN_ORDER;
}

static void teardown(void)
{
    recorded_close(&rig);
}

#define EPOCHS  3u
#define BATCHES (RECORDED_N / RECORDED_BATCH)

static void expect_pixels(const char *options)
{
    feedline_dataset *ds = recorded_dataset(&rig);
    feedline_loader *l = recorded_loader(ds, options);
    rig.compared = 0;
    assert_int_equal(recorded_run(&rig, l, EPOCHS), 0);
    assert_true(rig.compared > EPOCHS * RECORDED_N / 2);
    assert_int_equal(feedline_loader_failure_count(l), 0);
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
    recorded_forget(&rig);
}

TEST_WITH(one_call_tells_of_a_batch, setup, teardown)
{
    expect_pixels("reader=pread io_depth=3 workers=2 shuffle=false");
    assert_ok(program.status);
    assert_in_range(atomic_load(&program.calls), EPOCHS * BATCHES,
                    (EPOCHS + 2) * (BATCHES + 1));
    expect_pixels("reader=memory workers=3 shuffle=false");
    expect_pixels("reader=pread io_depth=1 workers=1 shuffle=false");
}

TEST_WITH(all_are_told_of_or_none, setup, teardown)
{
    program.spoils_one = true;
    rig.read = note;
    expect_pixels("reader=pread io_depth=2 workers=2 shuffle=false");
    assert_true(atomic_load(&program.calls) > EPOCHS * BATCHES * 2);
}

/* It ends with samples that nobody has asked for. */
TEST_WITH(a_loader_may_end_in_between, setup, teardown)
{
    feedline_dataset *ds = recorded_dataset(&rig);
    for (uint32_t n = 0; n < 4; n++) {
        feedline_batch *b = NULL;
        feedline_loader *l = recorded_loader(
            ds, "reader=pread io_depth=1 workers=1 depth=2 shuffle=false");
        for (uint32_t i = 0; i < n; i++) {
            assert_ok(feedline_loader_next(l, -1, &b));
            feedline_batch_release(b);
        }
        feedline_loader_destroy(l);
        recorded_forget(&rig);
    }
    feedline_dataset_close(ds);
}

static int32_t read_too_early(struct feedline_read_call *call)
{
    struct feedline_recorded_image none = {.struct_size = 0};
    uint32_t counts[2] = {0, 0};
    assert_int_equal(feedline_read_recorded_ahead(call, &none, counts, 1),
                     FEEDLINE_EINVAL);
    int32_t status = feedline_read_recorded(call, NULL, 0);
    if (rig.source.flags & FEEDLINE_SOURCE_IN_ORDER) {
        assert_int_equal(
            feedline_read_recorded_ahead(call, NULL, counts, UINT32_MAX),
            FEEDLINE_ERANGE);
        assert_ok(feedline_read_recorded_ahead(call, NULL, counts, 2));
    }
    assert_int_equal(feedline_read_recorded_ahead(call, NULL, counts, 1),
                     FEEDLINE_EINVAL);
    return status;
}

TEST_WITH(it_has_its_place_and_needs_an_order, setup, teardown)
{
    rig.source.read = read_too_early;
    for (uint32_t pass = 0; pass < 2; pass++) {
        feedline_batch *b = NULL;
        feedline_dataset *ds = recorded_dataset(&rig);
        feedline_loader *l = recorded_loader(ds, "reader=pread");
        assert_ok(feedline_loader_next(l, -1, &b));
        feedline_batch_release(b);
        feedline_loader_destroy(l);
        feedline_dataset_close(ds);
        rig.source.flags &= ~FEEDLINE_SOURCE_IN_ORDER;
    }
}

TEST_MAIN("recorded_ahead")
