/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of a batch share one room: whatever payloads ask for, from any number of
 * threads, each image has its place, and nobody has another's. */
#include "base/compiler.h"
#include "dice.h"
#include "loader/stream/slot_jobs.h"
#include "test.h"

#include <pthread.h>

#define IMAGES  64u
#define THREADS 4u

static struct {
    struct fdl_layout layout;
    struct fdl_slot_kind kind;
    feedline_batch b;
    uint32_t mark[IMAGES]; /* what each place was filled with */
    uint64_t seed;
} room;

static void open_room(uint64_t seed)
{
    const struct fdl_output_format f = {9, 7, 3, FEEDLINE_U8, true};
    assert_int_equal(fdl_layout_init(&room.layout, IMAGES, 1, &f, NULL, true),
                     0);
    room.kind = (struct fdl_slot_kind){.layout = room.layout};
    room.b = (feedline_batch){
        .kind = &room.kind, .layout = &room.layout, .range = {.count = IMAGES}};
    room.b.slab.host =
        aligned_alloc(256, (room.layout.bytes + 255) / 256 * 256);
    assert_non_null(room.b.slab.host);
    room.seed = seed;
    fdl_slot_jobs_forget(&room.b);
}

static struct fdl_device_job *job_of(uint32_t place)
{
    struct fdl_device_job *jobs = fdl_slot_column(&room.b, FDL_COLUMN_JOBS);
    return &jobs[place];
}

/* Every THREADS-th image gets a payload of some size, or its pixels. */
static void *fill(void *arg)
{
    uint32_t first = *(uint32_t *)arg;
    struct dice dice = {.state = room.seed + first};
    uint8_t payload[1024];
    for (uint32_t i = first; i < IMAGES; i += THREADS) {
        memset(payload, (int)i, sizeof(payload));
        struct fdl_device_job job = {
            .kind = FDL_DEVICE_PACKED,
            .payload_bytes = 16 + 16 * dice_below(&dice, 60),
            .scratch_bytes = 4096,
        };
        if (!fdl_slot_put_job(&room.b, i, &job, payload))
            memset(fdl_slot_claim_pixels(&room.b, i), (int)i,
                   room.layout.sample_bytes);
    }
    return NULL;
}

static void check_room(void)
{
    const uint8_t *host = room.b.slab.host;
    uint64_t from = room.layout.at[FDL_COLUMN_IMAGES];
    uint64_t end = from + fdl_layout_room(&room.layout);
    assert_true(fdl_slot_jobs_bytes(&room.b) <= end - from);
    for (uint32_t i = 0; i < IMAGES; i++) {
        const struct fdl_device_job *job = job_of(i);
        assert_true(job->payload >= from && job->payload_bytes > 0 &&
                    job->payload + job->payload_bytes <= end);
        assert_int_equal(job->out, i * room.layout.sample_bytes);
        for (uint32_t k = 0; k < job->payload_bytes; k++)
            assert_int_equal(host[job->payload + k], (uint8_t)i);
    }
}

TEST(each_image_has_its_place)
{
    uint64_t seed = test_seed(), of_device = 0;
    for (uint32_t round = 0; round < 200; round++) {
        pthread_t threads[THREADS];
        uint32_t first[THREADS];
        open_room(seed + round * THREADS);
        for (uint32_t t = 0; t < THREADS; t++) {
            first[t] = t;
            assert_int_equal(pthread_create(&threads[t], NULL, fill, &first[t]),
                             0);
        }
        for (uint32_t t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
        check_room();
        for (uint32_t i = 0; i < IMAGES; i++)
            of_device += job_of(i)->kind != FDL_DEVICE_NONE;
        free(room.b.slab.host);
    }
    assert_in_range(of_device, 1, 200 * IMAGES - 1); /* some did not fit */
}

/* A sample that fails has no image; another one may come in its place. */
TEST(a_place_is_taken_once)
{
    open_room(1);
    uint8_t *first = fdl_slot_claim_pixels(&room.b, 3);
    uint64_t used = fdl_slot_jobs_bytes(&room.b);
    fdl_slot_blank_job(&room.b, 3);
    assert_int_equal(job_of(3)->payload_bytes, 0);
    const struct fdl_device_job job = {.kind = FDL_DEVICE_PACKED,
                                       .payload_bytes = 16};
    assert_false(fdl_slot_put_job(&room.b, 3, &job, first));
    assert_ptr_equal(fdl_slot_claim_pixels(&room.b, 3), first);
    assert_int_equal(fdl_slot_jobs_bytes(&room.b), used);
    assert_int_equal(fdl_slot_damaged_job(&room.b), IMAGES);
    job_of(7)->status = FDL_DEVICE_DAMAGED;
    assert_int_equal(fdl_slot_damaged_job(&room.b), 7);
    free(room.b.slab.host);
}

TEST_MAIN("slot_jobs")
