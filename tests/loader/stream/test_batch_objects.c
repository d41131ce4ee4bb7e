/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects from the table of a data set to the batch: the same however many
 * workers there are, each with its own image, and none of a sample that failed.
 * That they move as they should is for tests/decode/ops/test_objects.c and for
 * Python's tests, which compare with torchvision.
 */
#include "tests/loader/fixture.h"
#include "tests/wrap_memory.h"

#include <feedline/elsewhere.h>
#include <feedline/objects.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MANY: of one sample, more than the slab has room for at first. */
enum { N = 30, BAD = 5, CROWD = 7, MANY = 3000, POINTS = 2 };

FIXTURE_IMAGES(N)

/* ---- Tables -------------------------------------------------------------- */

static uint32_t count_of(uint64_t sample)
{
    return sample == CROWD ? MANY : (uint32_t)sample % 4;
}

static float box_at(uint64_t sample, uint32_t i, uint32_t k)
{
    return (float)(sample + i % 3) + (k < 2 ? 0.25f : 8) + (float)(k % 2);
}

static float point_at(uint64_t sample, uint32_t i, uint32_t k)
{
    return (float)(sample + k) - (float)(i % 5);
}

static int64_t label_of(uint64_t sample, uint32_t i)
{
    return (int64_t)sample * 10000 + i;
}

static uint64_t first[N + 1];
static float boxes[4 * (MANY + 4 * N)], points[2 * POINTS * (MANY + 4 * N)];
static int64_t labels[MANY + 4 * N];

static struct feedline_objects table(void)
{
    for (uint64_t s = 0; s < N; s++) {
        first[s + 1] = first[s] + count_of(s);
        for (uint32_t i = 0; i < count_of(s); i++) {
            labels[first[s] + i] = label_of(s, i);
            for (uint32_t k = 0; k < 4; k++)
                boxes[4 * (first[s] + i) + k] = box_at(s, i, k);
            for (uint32_t k = 0; k < 2 * POINTS; k++)
                points[2 * POINTS * (first[s] + i) + k] = point_at(s, i, k);
        }
    }
    return (struct feedline_objects){.struct_size =
                                         sizeof(struct feedline_objects),
                                     .keypoints = POINTS,
                                     .n = first[N],
                                     .first = first,
                                     .boxes = boxes,
                                     .labels = labels,
                                     .points = points};
}

/* bad: one image is damaged. */
static feedline_dataset *open_objects(bool bad)
{
    const struct feedline_objects all = table();
    const void *data[N];
    feedline_dataset *ds;
    for (uint32_t i = 0; i < N; i++)
        data[i] = bad && i == BAD ? "no image, whatever its size may be"
                                  : (const char *)images.data[i];
    uint64_t size = images.sizes[BAD];
    if (bad)
        images.sizes[BAD] = 20;
    assert_ok(feedline_dataset_open_memory(data, images.sizes, NULL, N, &ds));
    images.sizes[BAD] = size;
    assert_ok(feedline_dataset_set_objects(ds, &all));
    return ds;
}

/* ---- Batches ------------------------------------------------------------- */

static struct feedline_batch_objects objects_of(const feedline_batch *b)
{
    struct feedline_batch_objects o = {.struct_size = sizeof(o)};
    assert_ok(feedline_batch_get_objects(b, &o));
    assert_int_equal(o.keypoints, POINTS);
    assert_int_equal(o.first[0], 0);
    assert_int_equal(o.first[fixture_info(b).count], o.n);
    return o;
}

/* Those at a place are the sample's, mirrored in an image of that width; 0:
 * they have not moved. */
static void check_place(const struct feedline_batch_objects *o, uint32_t place,
                        uint64_t sample, int32_t width)
{
    uint64_t at = o->first[place];
    float size = (float)width;
    assert_int_equal(o->first[place + 1] - at, count_of(sample));
    for (uint32_t i = 0; i < count_of(sample); i++, at++) {
        const float *box = o->boxes + 4 * at;
        float left = box_at(sample, i, 0), right = box_at(sample, i, 2);
        assert_int_equal(o->labels[at], label_of(sample, i));
        assert_int_equal(o->source[at], i);
        assert_true(box[0] == (width > 0 ? size - right : left));
        assert_true(box[1] == box_at(sample, i, 1));
        assert_true(box[2] == (width > 0 ? size - left : right));
        assert_true(box[3] == box_at(sample, i, 3));
        for (uint32_t k = 0; k < 2 * POINTS; k++) {
            float v = point_at(sample, i, k);
            if (width > 0 && k % 2 == 0)
                v = size - 1 - v;
            assert_true(o->points[2 * POINTS * at + k] == v);
        }
    }
}

static uint64_t check_epoch(feedline_loader *l, bool mirrored)
{
    uint64_t n = 0;
    for (feedline_batch *b; (b = fixture_next(l));) {
        struct feedline_batch_info info = fixture_info(b);
        struct feedline_batch_objects o = objects_of(b);
        for (uint32_t i = 0; i < info.count; i++)
            check_place(&o, i, (uint64_t)info.sample_index[i],
                        mirrored ? info.image_size[i][1] : 0);
        n += o.n;
        feedline_batch_release(b);
    }
    return n;
}

TEST_WITH(each_image_has_its_own, setup, teardown)
{
    SCOPED_DATASET ds = open_objects(false);
    for (int workers = 1; workers < 6; workers += 2) {
        SCOPED_LOADER l = fixture_with(
            ds, NULL, "horizontal_flip p=1",
            "batch_size=7 dtype=u8 workers=%d shuffle=true epochs=1 "
            "max_sample_bytes=1m",
            workers);
        assert_int_equal(check_epoch(l, true), first[N]);
        assert_ok(feedline_loader_start(l, 3)); /* with slabs used before */
        assert_int_equal(check_epoch(l, true), first[N]);
    }
    SCOPED_LOADER l =
        fixture_with(ds, NULL, "", "batch_size=7 decode=none epochs=1");
    check_epoch(l, false);
}

TEST_WITH(failed_samples_have_none, setup, teardown)
{
    SCOPED_DATASET ds = open_objects(true);
    SCOPED_LOADER zero =
        fixture_with(ds, NULL, "resize width=16 height=16",
                     "batch_size=30 dtype=u8 epochs=1 workers=2 on_error=zero");
    feedline_batch *b = fixture_next(zero);
    struct feedline_batch_objects o = objects_of(b);
    assert_true(fixture_info(b).sample_status[BAD] < 0);
    assert_int_equal(o.first[BAD], o.first[BAD + 1]);
    assert_int_equal(o.first[BAD + 2] - o.first[BAD + 1], count_of(BAD + 1));
    feedline_batch_release(b);
    SCOPED_LOADER skip = fixture_with(
        ds, NULL, "horizontal_flip p=1",
        "batch_size=30 dtype=u8 epochs=1 on_error=skip max_sample_bytes=1m");
    b = fixture_next(skip);
    o = objects_of(b);
    struct feedline_batch_info info = fixture_info(b);
    assert_int_equal(info.sample_status[BAD], FEEDLINE_REPLACED);
    check_place(&o, BAD, (uint64_t)info.sample_index[BAD],
                info.image_size[BAD][1]);
    feedline_batch_release(b);
}

/* ---- Contract ------------------------------------------------------------ */

static uint64_t bad_first[N + 1];

static void check_refused(feedline_dataset *ds, struct feedline_objects all,
                          int32_t status, const char *words)
{
    assert_error(feedline_dataset_set_objects(ds, &all), status, words);
}

static void refuse_first(feedline_dataset *ds, uint64_t at, uint64_t value,
                         const char *words)
{
    struct feedline_objects all = table();
    memcpy(bad_first, first, sizeof(first));
    bad_first[at] = value;
    all.first = bad_first;
    check_refused(ds, all, FEEDLINE_EINVAL, words);
}

TEST_WITH(tables_that_are_wrong_are_refused, setup, teardown)
{
    SCOPED_DATASET ds = open_objects(false);
    struct feedline_objects all = table();
    refuse_first(ds, 0, 1, "from 1 to 3040");
    refuse_first(ds, N, 3, "from 0 to 3");
    refuse_first(ds, 3, 0, "first[2] is 1 and first[3] 0");
    refuse_first(ds, 3, UINT64_MAX, "first[3] 18446744073709551615");
    boxes[9] = NAN;
    check_refused(ds, all, FEEDLINE_EINVAL, "boxes of object 2 are not finite");
    all = table();
    points[4] = INFINITY;
    check_refused(ds, all, FEEDLINE_EINVAL, "points of object 1");
    all = table();
    all.keypoints = 1001;
    check_refused(ds, all, FEEDLINE_ERANGE, "1001 keypoints");
    all.keypoints = 0;
    check_refused(ds, all, FEEDLINE_EINVAL, "keypoints above 0");
    all.points = NULL;
    all.boxes = NULL;
    check_refused(ds, all, FEEDLINE_EINVAL, "boxes is NULL");
    all.first = NULL;
    check_refused(ds, all, FEEDLINE_EINVAL, "first is NULL");
    SCOPED_LOADER l = fixture_with(ds, NULL, "", "batch_size=7 decode=none");
    check_epoch(l, false); /* the first table is still there */
    assert_error(feedline_dataset_set_objects(ds, NULL), FEEDLINE_ESTATE,
                 "a loader of the data set exists");
}

TEST_WITH(what_objects_cannot_follow_is_refused, setup, teardown)
{
    static const char *const bad[][2] = {
        {"five_crop size=8", "five_crop"},
        {"center_crop size=8;mix mixup_alpha=1 num_classes=3", "mix"},
    };
    SCOPED_DATASET ds = open_objects(false);
    struct feedline_batch_objects o = {.struct_size = sizeof(o)};
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        SCOPED_LOADER l;
        assert_error(fixture_try(&l, ds, NULL, bad[i][0], "batch_size=5"),
                     FEEDLINE_EINVAL, bad[i][1]);
    }
    uint64_t ticket;
    feedline_loader *given = fixture_with(ds, NULL, "center_crop size=8",
                                          "batch_size=5 order=given");
    assert_error(feedline_loader_expect(given, 1, &ticket), FEEDLINE_ENOSYS,
                 "objects");
    feedline_loader_destroy(given);
    assert_ok(feedline_dataset_set_objects(ds, NULL));
    SCOPED_LOADER none;
    assert_error(fixture_try(&none, ds, NULL, "sanitize_boxes", "batch_size=5"),
                 FEEDLINE_EINVAL, "sanitize_boxes is about the objects");
    SCOPED_LOADER l =
        fixture_with(ds, NULL, "five_crop size=8", "batch_size=10 dtype=u8");
    feedline_batch *b = fixture_next(l);
    assert_error(feedline_batch_get_objects(b, &o), FEEDLINE_ESTATE,
                 "its data set has none");
    feedline_batch_release(b);
}

TEST_WITH(without_memory, setup, teardown)
{
    struct feedline_objects all = table();
    SCOPED_DATASET ds = fixture_memory(&images);
    for (size_t least = 1 << 18; least >= 1; least /= 2) {
        memory_refuses = least;
        int32_t status = feedline_dataset_set_objects(ds, &all);
        memory_refuses = 0;
        assert_true(status == FEEDLINE_OK || status == FEEDLINE_ENOMEM);
    }
    assert_ok(feedline_dataset_set_objects(ds, &all));
    for (size_t least = 1 << 18; least >= 1 << 8; least /= 2) {
        feedline_batch *b = NULL;
        SCOPED_LOADER l =
            fixture_with(ds, NULL, "center_crop size=300",
                         "batch_size=30 dtype=u8 epochs=1 workers=2");
        memory_refuses = least;
        int32_t status = feedline_loader_next(l, -1, &b);
        memory_refuses = 0;
        assert_true(status == FEEDLINE_OK || status == FEEDLINE_ENOMEM);
        if (b)
            feedline_batch_release(b);
    }
}

TEST_MAIN("objects")
