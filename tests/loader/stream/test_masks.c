/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks from files to the batch: the same however many workers there are, each
 * with its own image, and what is wrong with one belongs to its sample. That
 * their pixels are the right ones is Python's to test.
 */
#include "base/file.h"
#include "tests/decode/make_png.h"
#include "tests/loader/fixture.h"
#include "tests/wrap_memory.h"

#include <feedline/elsewhere.h>
#include <feedline/fields.h>
#include <feedline/masks.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 30, BAD = 5, SIDE = 16 };

/* ---- Files --------------------------------------------------------------- */

static char folder[64];
static char images[N][96], masks[N][96];

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void write_png(const char *path, uint32_t i, int colour, int depth)
{
    size_t size;
    struct make_png m = {.width = 20 + i,
                         .height = 17 + i / 2,
                         .depth = depth,
                         .colour = colour,
                         .interlaced = i % 4 == 3,
                         .seed = i};
    uint8_t *png = make_png(&m, &size);
    write_file(path, png, size);
    free(png);
}

static void setup(void)
{
    strcpy(folder, "/tmp/feedline-masks-XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (uint32_t i = 0; i < N; i++) {
        snprintf(images[i], sizeof(images[i]), "%s/%" PRIu32 ".png", folder, i);
        snprintf(masks[i], sizeof(masks[i]), "%s/m%" PRIu32 ".png", folder, i);
        write_png(images[i], i, 2, 8);
        write_png(masks[i], i, i % 3 ? 3 : 0, i % 5 ? 8 : 1 << i % 4);
    }
}

static void teardown(void)
{
    for (uint32_t i = 0; i < N; i++) {
        unlink(images[i]);
        unlink(masks[i]);
    }
    rmdir(folder);
}

/* With another mask for one sample, if bad is true; NULL: it has none. */
static feedline_dataset *open_masks(bool bad, const char *path)
{
    const char *files[N], *all[N];
    feedline_dataset *ds;
    for (uint32_t i = 0; i < N; i++) {
        files[i] = images[i];
        all[i] = bad && i == BAD ? path : masks[i];
    }
    assert_ok(feedline_dataset_open_paths(files, NULL, N, &ds));
    assert_ok(feedline_dataset_add_files(ds, "mask", all));
    return ds;
}

/* ---- Batches ------------------------------------------------------------- */

static struct feedline_batch_masks masks_of(const feedline_batch *b)
{
    struct feedline_batch_masks m = {.struct_size = sizeof(m)};
    assert_ok(feedline_batch_get_masks(b, &m));
    return m;
}

/* Of every mask of an epoch, and the images' as *other. */
static uint64_t run(feedline_loader *l, uint64_t *other)
{
    uint64_t hash = 7;
    for (feedline_batch *b; (b = fixture_next(l));) {
        struct feedline_batch_info info = fixture_info(b);
        struct feedline_batch_masks m = masks_of(b);
        for (uint32_t i = 0; i < info.count; i++) {
            assert_int_equal(info.sample_status[i], FEEDLINE_OK);
            assert_true(m.bytes[i] > 0);
            if (m.width > 0)
                assert_int_equal(m.offset[i], i * m.bytes[i]);
            hash = fixture_hash(hash, m.data + m.offset[i], m.bytes[i]);
        }
        fixture_consume(b, other);
    }
    return hash;
}

#define MOVES "random_resized_crop size=16;horizontal_flip;color_jitter"

TEST_WITH(masks_do_not_depend_on_workers, setup, teardown)
{
    static const struct {
        const char *operations, *more;
    } ways[] = {
        {MOVES, ""},
        {"random_affine degrees=40;pad padding=3", "max_sample_bytes=1m"},
    };
    SCOPED_DATASET ds = open_masks(false, NULL);
    for (size_t k = 0; k < FDL_COUNT_OF(ways); k++) {
        uint64_t hash[3], other[4] = {0};
        for (size_t w = 0; w < 3; w++) {
            SCOPED_LOADER l = fixture_with(
                ds, NULL, ways[k].operations,
                "batch_size=7 dtype=u8 workers=%d shuffle=true epochs=1 "
                "masks=mask %s",
                (int)w * 2 + 1, ways[k].more);
            hash[w] = run(l, &other[w]);
        }
        assert_int_equal(hash[0], hash[1]);
        assert_int_equal(hash[0], hash[2]);
        SCOPED_LOADER l = fixture_with(
            ds, NULL, ways[k].operations,
            "batch_size=7 dtype=u8 shuffle=true epochs=1 %s", ways[k].more);
        for (feedline_batch *b; (b = fixture_next(l));)
            fixture_consume(b, &other[3]);
        for (size_t w = 1; w < 4; w++) /* masks change no image */
            assert_int_equal(other[0], other[w]);
    }
}

/* ---- Failures ------------------------------------------------------------ */

static feedline_loader *open_all(feedline_dataset *ds, const char *on_error)
{
    return fixture_with(ds, NULL, "resize width=16 height=16",
                        "batch_size=30 dtype=u8 epochs=1 workers=2 masks=mask "
                        "on_error=%s",
                        on_error);
}

static void check_raised(feedline_dataset *ds, int32_t status,
                         const char *words)
{
    feedline_batch *b = NULL;
    SCOPED_LOADER l = open_all(ds, "raise");
    assert_error(feedline_loader_next(l, -1, &b), status, words);
    assert_non_null(strstr(feedline_last_error(), images[BAD]));
}

static void check_zero(feedline_dataset *ds, int32_t status)
{
    static const uint8_t zeros[SIDE * SIDE];
    SCOPED_LOADER l = open_all(ds, "zero");
    feedline_batch *b = fixture_next(l);
    struct feedline_batch_masks m = masks_of(b);
    assert_int_equal(fixture_info(b).sample_status[BAD], status);
    assert_int_equal(m.bytes[BAD], 0);
    assert_memory_equal(m.data + BAD * sizeof(zeros), zeros, sizeof(zeros));
    assert_int_equal(m.bytes[BAD + 1], sizeof(zeros));
    feedline_batch_release(b);
}

static void check_replaced(feedline_dataset *ds)
{
    SCOPED_LOADER l = open_all(ds, "skip");
    feedline_batch *b = fixture_next(l);
    struct feedline_batch_info info = fixture_info(b);
    struct feedline_batch_masks m = masks_of(b);
    int64_t other = info.sample_index[BAD];
    assert_int_equal(info.sample_status[BAD], FEEDLINE_REPLACED);
    assert_int_not_equal(other, BAD);
    assert_memory_equal(m.data + m.offset[BAD], m.data + m.offset[other],
                        SIDE * SIDE);
    feedline_batch_release(b);
}

TEST_WITH(a_mask_that_is_wrong_fails_its_sample, setup, teardown)
{
    char other[96];
    snprintf(other, sizeof(other), "%s/other.png", folder);
    static const struct {
        int colour, depth;
        uint32_t like;
        int32_t status;
        const char *words;
    } bad[] = {
        {-1, 0, 0, FEEDLINE_ENOENT, "the sample has none"},
        {-2, 0, 0, FEEDLINE_ENOENT, "field 'mask' in "},
        {-3, 0, 0, FEEDLINE_EDECODE, "mask 'mask': "},
        {3, 8, BAD + 1, FEEDLINE_EDECODE, "26x20 pixels for an image of 25x19"},
        {0, 16, BAD, FEEDLINE_EDECODE, "at most 8 bits"},
        {2, 8, BAD, FEEDLINE_EDECODE, "of type 2, with 8 bits"},
        {4, 8, BAD, FEEDLINE_EDECODE, "of type 4, with 8 bits"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        if (bad[i].colour >= 0)
            write_png(other, bad[i].like, bad[i].colour, bad[i].depth);
        if (bad[i].colour == -3)
            write_file(other, "\x89PNG\r\n\x1a\nand so on", 17);
        feedline_dataset *ds =
            open_masks(true, bad[i].colour == -1 ? NULL : other);
        check_raised(ds, bad[i].status, bad[i].words);
        check_zero(ds, bad[i].status);
        check_replaced(ds);
        feedline_dataset_close(ds);
        unlink(other);
    }
}

static uint64_t mask_run(feedline_dataset *ds)
{
    uint64_t other = 0;
    SCOPED_LOADER l =
        fixture_with(ds, NULL, MOVES,
                     "batch_size=7 dtype=u8 workers=2 shuffle=true epochs=1 "
                     "masks=mask");
    return run(l, &other);
}

/* Fields before and behind the masks are no masks, and come as they are. */
TEST_WITH(masks_among_other_fields, setup, teardown)
{
    const char *files[N], *all[N];
    feedline_dataset *made;
    for (uint32_t i = 0; i < N; i++) {
        files[i] = images[i];
        all[i] = masks[i];
    }
    SCOPED_DATASET alone = open_masks(false, NULL);
    assert_ok(feedline_dataset_open_paths(files, NULL, N, &made));
    SCOPED_DATASET ds = made;
    assert_ok(feedline_dataset_add_files(ds, "before", files));
    assert_ok(feedline_dataset_add_files(ds, "mask", all));
    assert_ok(feedline_dataset_add_files(ds, "behind", files));
    assert_int_equal(mask_run(ds), mask_run(alone));

    SCOPED_LOADER l = fixture_with(ds, NULL, "center_crop size=8",
                                   "batch_size=30 dtype=u8 masks=mask");
    feedline_batch *b = fixture_next(l);
    for (uint32_t k = 0; k < 3; k++) {
        struct feedline_batch_field f = {.struct_size = sizeof(f)};
        assert_ok(feedline_batch_get_field(b, k, &f));
        for (uint32_t i = 0; i < N; i++) {
            uint32_t sample = (uint32_t)fixture_info(b).sample_index[i];
            const char *path = k == 1 ? masks[sample] : images[sample];
            char *text;
            uint64_t bytes;
            assert_ok(fdl_file_load(path, &text, &bytes));
            assert_int_equal(f.bytes[i], bytes);
            assert_memory_equal(f.data + f.offset[i], text, bytes);
            free(text);
        }
    }
    feedline_batch_release(b);
}

TEST_WITH(what_masks_cannot_follow_is_refused, setup, teardown)
{
    static const struct {
        const char *operations, *options, *words;
    } bad[] = {
        {"center_crop size=8", "masks=nothing", "no field of that name"},
        {"five_crop size=8", "masks=mask batch_size=5", "five_crop"},
        {"center_crop size=8", "masks=mask decode=none", "decode=none"},
        {"center_crop size=8;mix mixup_alpha=1 num_classes=3", "masks=mask",
         "mix"},
        {"center_crop size=8;random_rotation", "masks=mask mask_nearest=torch",
         "mask_nearest=pillow"},
    };
    SCOPED_DATASET ds = open_masks(false, NULL);
    const char *const again[N] = {NULL};
    assert_error(feedline_dataset_add_files(ds, "mask", again), FEEDLINE_EINVAL,
                 "two fields 'mask'");
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        SCOPED_LOADER l;
        assert_error(fixture_try(&l, ds, NULL, bad[i].operations, "dtype=u8 %s",
                                 bad[i].options),
                     FEEDLINE_EINVAL, bad[i].words);
    }
    struct feedline_batch_masks m = {.struct_size = sizeof(m)};
    SCOPED_LOADER l =
        fixture_with(ds, NULL, "center_crop size=8", "batch_size=7 dtype=u8");
    feedline_batch *b = fixture_next(l);
    assert_error(feedline_batch_get_masks(b, &m), FEEDLINE_EINVAL,
                 "option masks");
    feedline_batch_release(b);
    uint64_t ticket;
    SCOPED_LOADER given =
        fixture_with(ds, NULL, "center_crop size=8",
                     "batch_size=5 dtype=u8 order=given masks=mask");
    assert_error(feedline_loader_expect(given, 1, &ticket), FEEDLINE_ENOSYS,
                 "masks");
}

TEST_WITH(without_memory, setup, teardown)
{
    SCOPED_DATASET ds = open_masks(false, NULL);
    for (size_t least = 1 << 16; least >= 1 << 8; least /= 2) {
        feedline_batch *b = NULL;
        SCOPED_LOADER l = fixture_with(ds, NULL, "center_crop size=300",
                                       "batch_size=30 dtype=u8 epochs=1 "
                                       "workers=2 masks=mask");
        memory_refuses = least;
        int32_t status = feedline_loader_next(l, -1, &b);
        memory_refuses = 0;
        assert_true(status == FEEDLINE_OK || status == FEEDLINE_ENOMEM);
        if (b)
            feedline_batch_release(b);
    }
}

/* ---- Lists --------------------------------------------------------------- */

TEST_WITH(a_column_of_files, setup, teardown)
{
    char list[96], uri[128];
    feedline_dataset *ds;
    snprintf(list, sizeof(list), "%s/list.txt", folder);
    FILE *f = fopen(list, "w");
    assert_non_null(f);
    fprintf(f, "path\tlabel\tmask:file\n");
    for (uint32_t i = 0; i < N; i++)
        fprintf(f, "%" PRIu32 ".png\t%" PRIu32 "\t%s\n", i, i,
                i == BAD ? "" : masks[i] + (i % 2 ? strlen(folder) + 1 : 0));
    assert_int_equal(fclose(f), 0);
    snprintf(uri, sizeof(uri), "list:%s?fields=mask", list);
    assert_ok(feedline_dataset_open(uri, &ds));
    struct feedline_sample_field field = {.struct_size = sizeof(field)};
    assert_ok(feedline_dataset_get_field(ds, 7, 0, &field));
    assert_string_equal(field.file, masks[7]);
    assert_true(field.bytes == UINT64_MAX);
    check_zero(ds, FEEDLINE_ENOENT);
    check_replaced(ds);
    feedline_dataset_close(ds);
    unlink(list);
}

TEST_MAIN("masks")
