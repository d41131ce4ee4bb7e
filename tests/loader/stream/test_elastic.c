/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that goes on with other ranks: whatever their numbers, the epoch's
 * places are delivered once each, with the samples and the pixels that one
 * process delivers there.
 */
#include "base/status.h"
#include "tests/loader/fixture.h"

#include <inttypes.h>
#include <string.h>

#define N 61

FIXTURE_IMAGES(N)

/* What was seen at the places of epochs 0 and 1. */
struct seen {
    int64_t index[2][N];
    uint64_t hash[2][N];
    uint32_t times[2][N];
};

struct job {
    uint32_t world, batch_size;
    uint32_t batches; /* of each rank; then it saves and ends */
};

static void look(feedline_batch *b, uint32_t world, struct seen *out)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_batch_get_info(b, &info));
    assert_true(info.epoch < 2);
    uint64_t bytes = (uint64_t)info.images.stride[0];
    for (uint32_t i = 0; i < info.count; i++) {
        uint64_t place = info.place + (uint64_t)i * world;
        assert_int_equal(info.sample_status[i], FEEDLINE_OK);
        if (place >= N)
            continue; /* as shard_tail says: it was somewhere else, too */
        const uint8_t *pixels = info.images.data;
        out->index[info.epoch][place] = info.sample_index[i];
        out->hash[info.epoch][place] =
            fixture_hash(FIXTURE_HASH, pixels + i * bytes, bytes);
        out->times[info.epoch][place]++;
    }
}

/* One rank of a job that goes on from `state` ("": begins), and leaves its own
 * there. */
static void run_rank(const struct job *job, uint32_t rank, const char *order,
                     const char *state, char *after, struct seen *out)
{
    char options[256];
    uint64_t needed;
    snprintf(options, sizeof(options),
             "%s world=%" PRIu32 " rank=%" PRIu32 " batch_size=%" PRIu32
             " workers=2 epochs=0",
             order, job->world, rank, job->batch_size);
    SCOPED_LOADER l = fixture_open(images.ds, options);
    assert_ok(state[0] ? feedline_loader_restore(l, state)
                       : feedline_loader_start(l, 0));
    for (uint32_t i = 0; i < job->batches;) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_END)
            continue;
        look(b, job->world, out);
        feedline_batch_release(b);
        i++;
    }
    assert_ok(feedline_loader_save(l, after, 256, &needed));
}

/* All ranks save the same: any of the states will do. */
static void run_job(const struct job *job, const char *order, char *state,
                    struct seen *out)
{
    char first[256] = "", after[256];
    for (uint32_t rank = 0; rank < job->world; rank++) {
        run_rank(job, rank, order, state, after, out);
        if (rank > 0)
            assert_string_equal(after, first);
        memcpy(first, after, sizeof(first));
    }
    memcpy(state, first, sizeof(first));
}

static void check_jobs(const struct job *jobs, size_t n, const char *order)
{
    struct seen want = {0}, got = {0};
    char state[256] = "";
    const struct job alone = {1, 1, 2 * N};
    run_job(&alone, order, state, &want);
    state[0] = '\0';
    for (size_t i = 0; i < n; i++)
        run_job(&jobs[i], order, state, &got);
    assert_memory_equal(&got, &want, sizeof(got));
}

static const char *const orders[] = {"shuffle=true seed=5",
                                     "shuffle=block block=5 lanes=3 seed=5",
                                     "shuffle=false"};

TEST_WITH(goes_on_with_any_number_of_ranks, setup, teardown)
{
    /* 24 places by eight ranks, 30 by six and the last 7 by four, of which one
     * wraps around; of the next epoch 42 by three ranks, 19 by one. */
    static const struct job jobs[] = {
        {8, 3, 1}, {6, 5, 1}, {4, 4, 1}, {3, 7, 2}, {1, 19, 1}};
    for (size_t k = 0; k < FDL_COUNT_OF(orders); k++)
        check_jobs(jobs, FDL_COUNT_OF(jobs), orders[k]);
}

TEST_MAIN("elastic")
