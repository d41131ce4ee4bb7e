/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a loader on a device, on the double of CUDA: it stays within
 * device_memory_budget, nothing is made or freed while a run is on, a loader
 * that is stopped keeps nothing, and a batch moves no more than its consumer
 * reads.
 */
#include "base/compiler.h"
#include "cuda_double.h"
#include "loader/loader.h"
#include "loader/stream/budget.h"
#include "loader/stream/engine_own.h"
#include "loader/tune/control_own.h"
#include "tests/loader/fixture.h"

#include <feedline/tuning.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define IMAGES 44u
#define BATCH  8u
#define IMAGE  (32u * 32u * 3u)
#define SLOTS  (FDL_BUDGET_REACH + FDL_SPARE_SLOTS) /* of a run, if they fit */

static struct fixture images;

static void setup(void)
{
    fixture_create(&images, IMAGES);
    double_reset();
}

static void teardown(void)
{
    fixture_remove(&images);
    double_check_leaks();
    assert_int_equal(double_faults(NULL, 0), 0);
}

static feedline_loader *loader(const char *options)
{
    char text[256];
    snprintf(text, sizeof(text), "device=cuda:0 batch_size=%u workers=2 %s",
             BATCH, options);
    return fixture_open(images.ds, text);
}

/* What the tuner may ask for. */
static uint32_t depth_limit(const feedline_loader *l)
{
    fdl_engine_lock(l->engine);
    fdl_control_limits_locked(l->control, fdl_now_ns());
    uint32_t limit = l->control->limits.depth_max;
    fdl_engine_unlock(l->engine);
    return limit;
}

/* Of a slot on the device. */
static uint64_t slot_bytes(const feedline_loader *l)
{
    return fdl_ring_slot_device_bytes(l->engine->ring);
}

/* ---- While a run is on --------------------------------------------------- */

struct calls {
    uint64_t made, freed, drained;
};

static struct calls calls_now(void)
{
    struct double_counters c;
    double_get_counters(&c);
    return (struct calls){
        double_calls("cuMemAlloc") + double_calls("cuMemAllocFromPoolAsync") +
            double_calls("cuMemHostRegister") + double_calls("cuMemHostAlloc"),
        double_calls("cuMemFree") + double_calls("cuMemFreeAsync") +
            double_calls("cuMemHostUnregister") + double_calls("cuMemFreeHost"),
        c.hidden_synchronisations + c.synchronisations};
}

static void assert_same_calls(struct calls before)
{
    struct calls after = calls_now();
    assert_int_equal(after.made, before.made);
    assert_int_equal(after.freed, before.freed);
    assert_int_equal(after.drained, before.drained);
}

/* As the monitor does, sooner or later. */
static void tidy(const feedline_loader *l)
{
    for (uint32_t i = 0; i < 3; i++)
        fdl_engine_tidy(l->engine);
}

/* Another thread makes what was asked for; the test's timeout is the limit. */
static void await_slots(const feedline_loader *l, uint32_t n)
{
    struct timespec pause = {.tv_nsec = 1000000};
    uint64_t bytes = n * fdl_ring_slot_bytes(l->engine->ring);
    while (fdl_ring_memory(l->engine->ring) != bytes)
        nanosleep(&pause, NULL);
}

static void keep_twelve(feedline_loader *l)
{
    feedline_batch *kept[12];
    fixture_take_all(l, kept, 12);
    fixture_release_all(kept, 12);
    tidy(l);
    fixture_pass(l, 20);
    tidy(l);
}

/* As the tuner does. */
static void apply_depth(const feedline_loader *l, uint32_t depth)
{
    struct fdl_knobs want;
    fdl_engine_lock(l->engine);
    fdl_engine_in_force(l->engine, &want);
    want.depth = depth;
    fdl_engine_apply_locked(l->engine, &want);
    fdl_engine_unlock(l->engine);
}

/* Whoever moves the depth, and whatever the program keeps for a moment: with
 * memory of a pool and without. */
TEST_WITH(a_run_makes_nothing_and_frees_nothing, setup, teardown)
{
    for (int pools = 0; pools <= 1; pools++) {
        assert_true(double_set(pools ? "pools=1" : "pools=0"));
        SCOPED_LOADER l = loader("held=grow depth=3 tuner=off"); /* all of it */
        assert_ok(feedline_loader_start(l, 0));
        struct calls before = calls_now();
        for (uint32_t round = 0; round < 3; round++) {
            keep_twelve(l);
            assert_ok(feedline_loader_set_int(l, "depth", 16));
            fixture_pass(l, 30);
            apply_depth(l, 2);
            fixture_pass(l, 10);
            apply_depth(l, 9);
            fixture_pass(l, 10);
            assert_ok(feedline_loader_set_int(l, "depth", 4));
            tidy(l);
        }
        assert_same_calls(before);
    }
}

/* What a run has no memory for is the next one's. */
TEST_WITH(depth_grows_from_run_to_run, setup, teardown)
{
    SCOPED_LOADER l = loader("depth=4 tuner=observe");
    assert_ok(feedline_loader_start(l, 0));
    struct calls before = calls_now();
    assert_ok(feedline_loader_set_int(l, "depth", 40));
    fixture_pass(l, 30);
    assert_int_equal(fixture_int(l, "depth"), FDL_BUDGET_REACH);
    assert_int_equal(depth_limit(l), FDL_BUDGET_REACH);
    assert_same_calls(before);
    assert_ok(feedline_loader_start(l, 1));
    assert_int_equal(fixture_int(l, "depth"), 40);
    fixture_pass(l, 30);
}

/* A program that keeps more than a run has memory for gets more, also ahead:
 * its epoch would end otherwise. */
TEST_WITH(more_is_kept_than_a_run_has, setup, teardown)
{
    feedline_batch *kept[40];
    uint32_t ready, outstanding;
    SCOPED_LOADER l = loader("held=grow depth=3 tuner=off"); /* all of it */
    fixture_take_all(l, kept, FDL_COUNT_OF(kept));
    do
        fdl_ring_count(l->engine->ring, &ready, &outstanding);
    while (outstanding < 3);
    fixture_release_all(kept, FDL_COUNT_OF(kept));
}

/* Where the device has no room for one more slot, that is found out once, not
 * with every batch: to pin memory and free it again stalls the launches. */
TEST_WITH(a_full_device_is_asked_once, setup, teardown)
{
    feedline_batch *kept[SLOTS + 3];
    SCOPED_LOADER l = loader("held=grow depth=3 tuner=off"); /* all of it */
    struct timespec pause = {.tv_nsec = 1000000};
    char full[64];
    fixture_take_all(l, kept, SLOTS + 1);
    await_slots(l, SLOTS + 1 + 3);
    snprintf(full, sizeof(full), "memory=%" PRIu64,
             fixture_device(l).device_bytes);
    assert_true(double_set(full));
    struct calls before = calls_now();
    fixture_take_all(l, &kept[SLOTS + 1], 2);
    while (calls_now().made == before.made)
        nanosleep(&pause, NULL);
    fdl_engine_lock(l->engine); /* until that has been tried */
    fdl_engine_unlock(l->engine);
    before = calls_now();
    for (uint32_t i = 0; i < 6; i++) {
        fixture_pass(l, 1);
        tidy(l);
    }
    assert_same_calls(before);
    fixture_release_all(kept, FDL_COUNT_OF(kept));
}

/* Whether its pinned memory is the program's or the driver's. */
TEST_WITH(nothing_waits_for_the_whole_device, setup, teardown)
{
    for (int error = 0; error <= DOUBLE_ERROR_NOT_SUPPORTED;
         error += DOUBLE_ERROR_NOT_SUPPORTED) {
        if (error)
            assert_true(double_fail("cuMemHostRegister", 1, error, true));
        SCOPED_LOADER l = loader("dtype=f32 finish=device depth=4 tuner=off");
        fixture_pass(l, 1);
        struct calls before = calls_now();
        fixture_pass(l, 30);
        tidy(l);
        assert_same_calls(before);
    }
}

/* The next run has what its depth needs. */
TEST_WITH(the_next_run_is_smaller, setup, teardown)
{
    SCOPED_LOADER l = loader("depth=60 tuner=off");
    fixture_pass(l, 5);
    assert_ok(feedline_loader_set_int(l, "depth", 2));
    assert_int_equal(fixture_device(l).device_bytes, 66 * slot_bytes(l));
    assert_ok(feedline_loader_start(l, 1));
    assert_int_equal(fixture_device(l).device_bytes, SLOTS * slot_bytes(l));
    fixture_pass(l, 5);
}

/* Finished by the copy, a batch ahead is its u8 pixels and labels, and no
 * kernel runs before the program asks for it. */
TEST_WITH(finished_late_it_is_small, setup, teardown)
{
    struct double_counters before, after;
    void *there;
    feedline_loader *l = loader("dtype=f32 finish=device handover=copy depth=4 "
                                "tuner=off");
    assert_int_equal(slot_bytes(l), fdl_ring_slot_bytes(l->engine->ring));
    assert_true(slot_bytes(l) < 2 * BATCH * IMAGE);
    double_use_device(0);
    assert_int_equal(cuMemAlloc(&there, (size_t)BATCH * IMAGE * 4), 0);
    fixture_pass(l, 3);
    double_get_counters(&before);
    assert_int_equal(before.kernels, 0);
    assert_int_equal(fixture_device(l).device_bytes, SLOTS * slot_bytes(l));
    feedline_batch *b = fixture_take(l);
    assert_ok(feedline_batch_copy(b, there, NULL, NULL));
    feedline_batch_release(b);
    double_get_counters(&after);
    assert_int_equal(after.kernels, 1);
    assert_int_equal(double_calls("cuMemcpyDtoDAsync"), 0);
    assert_int_equal(fixture_device(l).finish, 1);
    feedline_loader_destroy(l);
    assert_int_equal(cuMemFree(there), 0);
}

/* ---- At rest ------------------------------------------------------------- */

/* Nothing of the device; its pinned memory is the next run's. */
TEST_WITH(a_stopped_loader_keeps_nothing, setup, teardown)
{
    struct double_counters c;
    uint64_t pinned = 0;
    feedline_loader *l = loader("depth=4 tuner=off");
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
        assert_ok(feedline_loader_start(l, epoch));
        fixture_pass(l, 3);
        double_get_counters(&c);
        assert_true(c.device_bytes >= SLOTS * slot_bytes(l));
        assert_ok(feedline_loader_stop(l));
        double_get_counters(&c);
        assert_int_equal(c.device_bytes, 0);
        assert_int_equal(fixture_device(l).device_bytes, 0);
        assert_int_equal(fixture_device(l).pinned_bytes,
                         SLOTS * fdl_ring_slot_bytes(l->engine->ring));
        assert_int_equal(fixture_device(l).batches, fixture_device(l).copies);
        pinned = epoch ? pinned : double_calls("cuMemHostRegister");
    }
    assert_int_equal(double_calls("cuMemHostRegister"), pinned);
    feedline_loader_destroy(l);
    double_get_counters(&c);
    assert_int_equal(c.pinned_bytes, 0);
}

/* A run ends beside work that never does: of a program's collective, say. */
TEST_WITH(the_end_waits_for_its_batches_alone, setup, teardown)
{
    fdl_cuda_stream other;
    void *there;
    feedline_loader *l = loader("dtype=f32 finish=device tuner=off");
    double_use_device(0);
    assert_int_equal(
        cuStreamCreateWithPriority(&other, FDL_CUDA_STREAM_NON_BLOCKING, 0), 0);
    assert_int_equal(cuMemAlloc(&there, 64), 0);
    fixture_pass(l, 5);
    double_pause(other);
    assert_int_equal(double_read(other, there, 64, 0), 0);
    assert_ok(feedline_loader_stop(l));
    assert_int_equal(fixture_device(l).device_bytes, 0);
    feedline_loader_destroy(l);
    double_resume(other);
    assert_int_equal(cuMemFree(there), 0);
    assert_int_equal(cuStreamDestroy(other), 0);
}

/* What the next run has no use for is unpinned when it starts. */
TEST_WITH(a_smaller_run_unpins_the_rest, setup, teardown)
{
    SCOPED_LOADER l = loader("depth=60 tuner=off");
    uint64_t slot = fdl_ring_slot_bytes(l->engine->ring);
    fixture_pass(l, 3);
    assert_ok(feedline_loader_stop(l));
    assert_int_equal(fixture_device(l).pinned_bytes, 66 * slot);
    assert_ok(feedline_loader_set_int(l, "depth", 2));
    assert_ok(feedline_loader_start(l, 1));
    assert_int_equal(fixture_device(l).pinned_bytes, SLOTS * slot);
    fixture_pass(l, 3);
}

/* A batch that is kept across the stop is there until it is released, and its
 * memory until the next start or stop. */
TEST_WITH(a_batch_outlives_the_stop, setup, teardown)
{
    SCOPED_LOADER l = loader("depth=4 tuner=off");
    feedline_batch *kept = fixture_take(l);
    uint8_t first[IMAGE], again[IMAGE];
    struct feedline_batch_info info = fixture_info(kept);
    double_drain();
    assert_true(double_peek(info.images.data, first, sizeof(first)));
    assert_ok(feedline_loader_stop(l));
    assert_int_equal(fixture_device(l).device_bytes, slot_bytes(l));
    assert_true(double_peek(info.images.data, again, sizeof(again)));
    assert_memory_equal(first, again, sizeof(first));
    feedline_batch_release(kept);
    tidy(l);
    assert_ok(feedline_loader_start(l, 1));
    assert_int_equal(fixture_device(l).device_bytes, SLOTS * slot_bytes(l));
    fixture_pass(l, 3);
    assert_ok(feedline_loader_stop(l));
    assert_int_equal(fixture_device(l).device_bytes, 0);
}

/* ---- Pinned memory ------------------------------------------------------- */

/* mincore() of a page that is not mapped fails with ENOMEM. */
static bool is_mapped(const void *p)
{
    unsigned char seen;
    uintptr_t page = (uintptr_t)p / 4096 * 4096;
    return mincore((void *)page, 1, &seen) == 0;
}

/* It would be copy-on-write otherwise, and a write of the parent's would move
 * the parent to another page, while the GPU reads the former one. */
TEST_WITH(a_child_has_no_pinned_memory, setup, teardown)
{
    feedline_loader *l = loader("depth=2 tuner=off");
    feedline_batch *b = fixture_take(l);
    const void *pinned = b->slab.host;
    int status;
    assert_true(is_mapped(pinned));
    pid_t child = fork();
    if (child == 0)
        _exit(is_mapped(pinned) || !is_mapped(&images));
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(is_mapped(pinned));
    feedline_batch_release(b);
    fixture_pass(l, 10);
    feedline_loader_destroy(l);
}

TEST_WITH(memory_that_cannot_be_registered, setup, teardown)
{
    struct double_counters c;
    assert_true(double_set("register=0"));
    feedline_loader *l = loader("depth=2 tuner=off");
    fixture_pass(l, 10);
    double_get_counters(&c);
    assert_int_equal(c.pageable_copies, 0);
    assert_int_equal(double_calls("cuMemHostRegister"), 0);
    assert_int_equal(fixture_device(l).pinned_bytes,
                     SLOTS * fdl_ring_slot_bytes(l->engine->ring));
    feedline_loader_destroy(l);
    assert_true(double_fail("cuMemHostAlloc", 1, FDL_CUDA_ERROR_MEMORY, true));
    l = loader("depth=2 tuner=off");
    assert_error(feedline_loader_start(l, 0), FEEDLINE_ENOMEM,
                 "pinned memory for a batch");
    feedline_loader_destroy(l);
}

/* A device that says it can, and a driver that does not. */
TEST_WITH(registering_is_not_supported, setup, teardown)
{
    struct double_counters c;
    assert_true(
        double_fail("cuMemHostRegister", 1, DOUBLE_ERROR_NOT_SUPPORTED, false));
    feedline_loader *l = loader("depth=2 tuner=off");
    fixture_pass(l, 10);
    double_get_counters(&c);
    assert_int_equal(c.pageable_copies, 0);
    assert_int_equal(double_calls("cuMemHostAlloc"), 1);
    assert_int_equal(fixture_device(l).pinned_bytes,
                     SLOTS * fdl_ring_slot_bytes(l->engine->ring));
    feedline_loader_destroy(l);
    double_get_counters(&c);
    assert_int_equal(c.pinned_bytes, 0);
}

/* ---- The budget ---------------------------------------------------------- */

/* Of u8 batches: a slot takes labels, images, and tables behind them. */
TEST_WITH(too_small_a_budget_is_refused, setup, teardown)
{
    feedline_loader *l = loader("tuner=off");
    char options[128], words[64];
    uint64_t slot = slot_bytes(l);
    feedline_loader_destroy(l);
    snprintf(options, sizeof(options),
             "device=cuda:0 batch_size=%u device_memory_budget=%" PRIu64, BATCH,
             3 * slot - 1);
    assert_null(fixture_loader(images.ds, options));
    snprintf(words, sizeof(words), "depth=1 needs 3 batches of %" PRIu64, slot);
    assert_non_null(strstr(feedline_last_error(), words));
    snprintf(words, sizeof(words), "device_memory_budget=%" PRIu64,
             3 * slot - 1);
    assert_non_null(strstr(feedline_last_error(), words));
    snprintf(
        options, sizeof(options),
        "device=cuda:0 batch_size=%u depth=4 device_memory_budget=%" PRIu64,
        BATCH, 5 * slot);
    assert_null(fixture_loader(images.ds, options));
    assert_non_null(strstr(feedline_last_error(), "depth=4 needs 6 batches"));
}

/* finish=device: a slot takes a quarter of f32 on the host. */
TEST_WITH(a_budget_bounds_the_depth, setup, teardown)
{
    char options[160];
    feedline_loader *l = loader("dtype=f32 finish=device tuner=off");
    uint64_t slot = slot_bytes(l);
    assert_true(slot > 4 * fdl_ring_slot_bytes(l->engine->ring));
    feedline_loader_destroy(l);
    snprintf(
        options, sizeof(options),
        "dtype=f32 finish=device tuner=observe device_memory_budget=%" PRIu64,
        5 * slot + 1);
    l = loader(options);
    assert_int_equal(fixture_int(l, "depth"), 3); /* the default is 4 */
    fixture_pass(l, 10);
    assert_int_equal(fixture_device(l).device_bytes, 5 * slot);
    assert_int_equal(fixture_device(l).device_memory_budget, 5 * slot + 1);
    assert_error(feedline_loader_set_int(l, "depth", 4), FEEDLINE_ERANGE,
                 "on the device, more than device_memory_budget=");
    assert_ok(feedline_loader_set_int(l, "depth", 2));
    assert_int_equal(depth_limit(l), 2);
    assert_ok(feedline_loader_set_int(l, "depth", 0)); /* the tuner's again */
    assert_int_equal(depth_limit(l), 3);
    feedline_loader_destroy(l);
}

static feedline_loader *loader_beside(const char *memory, const char *options)
{
    feedline_loader *l;
    double_reset();
    assert_true(double_set(memory));
    l = loader(options);
    assert_int_equal(fixture_device(l).device_memory_budget,
                     0); /* not asked yet */
    fixture_pass(l, 1);
    return l;
}

/* What another program has is not ours to share. */
TEST_WITH(auto_is_a_part_of_what_is_free, setup, teardown)
{
    feedline_loader *l = loader_beside("memory=100g,taken=59g", "tuner=off");
    assert_int_equal(fixture_device(l).device_memory_budget, UINT64_C(2) << 30);
    feedline_loader_destroy(l);
    l = loader_beside("memory=60m,taken=40m", "tuner=off depth=60");
    assert_int_equal(fixture_device(l).device_memory_budget, 1 << 20);
    assert_int_equal(fixture_int(l, "depth"),
                     (1 << 20) / slot_bytes(l) - FDL_SPARE_SLOTS);
    feedline_loader_destroy(l);
}

/* It never refuses to work. What is in force does not move from run to run. */
TEST_WITH(auto_has_room_for_the_least_depth, setup, teardown)
{
    SCOPED_LOADER l = loader_beside("memory=1m", "tuner=off depth=4");
    assert_int_equal(fixture_int(l, "depth"), 1);
    assert_int_equal(fixture_device(l).device_memory_budget, 3 * slot_bytes(l));
    assert_true(double_set("memory=1g"));
    assert_ok(feedline_loader_start(l, 1));
    fixture_pass(l, 4);
    assert_int_equal(fixture_device(l).device_bytes, 3 * slot_bytes(l));
}

TEST_WITH(asking_the_device_may_fail, setup, teardown)
{
    feedline_batch *b;
    SCOPED_LOADER l = loader("tuner=off");
    assert_true(double_fail("cuMemGetInfo", 1, 999, false));
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EDEVICE,
                 "how much device memory is free");
    fixture_pass(l, 3);
}

/* ---- What moves ---------------------------------------------------------- */

/* The one that was free for longest is taken first, so that its former
 * consumers are done with it. */
TEST_WITH(slots_take_turns, setup, teardown)
{
    const void *seen[9];
    SCOPED_LOADER l = loader("depth=1 tuner=off");
    for (uint32_t i = 0; i < FDL_COUNT_OF(seen); i++) {
        feedline_batch *b = fixture_take(l);
        struct feedline_batch_info info = fixture_info(b);
        seen[i] = info.images.data;
        double_drain();
        feedline_batch_release(b);
    }
    for (uint32_t i = 3; i < FDL_COUNT_OF(seen); i++) {
        assert_ptr_not_equal(seen[i], seen[i - 1]);
        assert_ptr_not_equal(seen[i], seen[i - 2]);
    }
}

/* Labels and images, and of the last batch those that it has. */
TEST_WITH(nothing_else_crosses_the_bus, setup, teardown)
{
    uint64_t before_images = 256; /* labels, and up to where images begin */
    feedline_batch *b;
    SCOPED_LOADER l = loader("epochs=1 tuner=off");
    while ((b = fixture_next(l)))
        feedline_batch_release(b);
    assert_ok(feedline_loader_stop(l));
    assert_int_equal(fixture_device(l).batches, 6);
    assert_int_equal(fixture_device(l).copied_bytes,
                     6 * before_images + IMAGES * IMAGE);
}

TEST_MAIN("device_memory")
