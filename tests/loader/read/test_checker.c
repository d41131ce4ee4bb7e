/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a checker says of sound and damaged samples. Every kind of defect is in
 * tests/loaderbench/test_scan.py.
 */
#include "tests/loader/fixture.h"

#include <feedline/files.h>

#include <string.h>
#include <unistd.h>

#define N 5

FIXTURE_IMAGES(N)

static feedline_checker *checker_of(feedline_dataset *ds)
{
    feedline_checker *c = NULL;
    assert_ok(feedline_checker_create(NULL, ds, &c));
    return c;
}

static struct feedline_checked check(feedline_checker *c, uint64_t index)
{
    struct feedline_checked out = {.struct_size = sizeof(out)};
    assert_ok(feedline_checker_check(c, index, &out));
    return out;
}

TEST_WITH(sound_files_are_what_they_are_in_memory, setup, teardown)
{
    feedline_checker *memory = checker_of(images.ds);
    feedline_checker *files = checker_of(images.files);
    uint64_t in_memory = 0, in_files = 0;
    for (uint32_t i = 0; i < N; i++) {
        struct feedline_checked a = check(memory, i), b = check(files, i);
        assert_int_equal(a.status, FEEDLINE_OK);
        assert_int_equal(b.status, FEEDLINE_OK);
        assert_string_equal(a.format, "JPEG");
        assert_string_equal(a.reason, "");
        assert_int_equal(a.bytes, images.sizes[i]);
        assert_int_equal(a.flags, 0);
        assert_int_equal(a.orientation, 1);
        assert_true(a.width > 0 && a.height > 0 && a.channels == 3);
        in_memory += a.hash; /* the folder has another order */
        in_files += b.hash;
    }
    assert_true(in_memory == in_files);
    feedline_checker_destroy(memory);
    feedline_checker_destroy(files);
}

TEST_WITH(cut_image_fails_and_the_next_does_not, setup, teardown)
{
    images.sizes[1] /= 2;
    feedline_dataset *ds = fixture_memory(&images);
    feedline_checker *c = checker_of(ds);
    feedline_dataset_close(ds); /* the checker keeps it */
    struct feedline_checked out = check(c, 1);
    assert_int_equal(out.status, FEEDLINE_EDECODE);
    assert_non_null(strstr(out.reason, "truncated"));
    assert_true(out.width > 0);
    assert_int_equal(check(c, 2).status, FEEDLINE_OK);
    feedline_checker_destroy(c);
}

TEST_WITH(cut_image_that_is_accepted_is_told, setup, teardown)
{
    feedline_config *cfg;
    feedline_checker *c = NULL;
    images.sizes[1] -= images.sizes[1] / 3;
    SCOPED_DATASET ds = fixture_memory(&images);
    assert_ok(feedline_config_create(&cfg));
    assert_ok(feedline_config_set(cfg, "accept_truncated", "0.1"));
    assert_ok(feedline_checker_create(cfg, ds, &c));
    feedline_config_destroy(cfg);
    struct feedline_checked out = check(c, 1);
    assert_int_equal(out.status, FEEDLINE_OK);
    assert_true(out.flags & FEEDLINE_CHECKED_TRUNCATED);
    assert_int_equal(check(c, 2).flags, 0);
    feedline_checker_destroy(c);
}

/* Bytes of a sample, wherever it is. */
TEST_WITH(bytes_are_read, setup, teardown)
{
    void *data;
    uint64_t bytes;
    char path[256];
    for (uint32_t i = 0; i < N; i++) {
        assert_ok(feedline_dataset_read(NULL, images.ds, i, &data, &bytes));
        assert_int_equal(bytes, images.sizes[i]);
        assert_memory_equal(data, images.data[i], bytes);
        free(data);
        fixture_path(&images, i, path, sizeof(path));
        const char *const files[] = {path};
        const struct feedline_extent extent = {3, 0, 20};
        const struct feedline_extents one = {.struct_size = sizeof(one),
                                             .n_files = 1,
                                             .files = files,
                                             .extents = &extent,
                                             .count = 1};
        SCOPED_DATASET ds;
        assert_ok(feedline_dataset_open_extents(&one, &ds));
        assert_ok(feedline_dataset_read(NULL, ds, 0, &data, &bytes));
        assert_int_equal(bytes, 20);
        assert_memory_equal(data, images.data[i] + 3, bytes);
        free(data);
    }
    assert_int_equal(feedline_dataset_read(NULL, images.ds, N, &data, &bytes),
                     FEEDLINE_ERANGE);
    assert_int_equal(feedline_dataset_read(NULL, images.ds, 0, NULL, &bytes),
                     FEEDLINE_EINVAL);
    assert_int_equal(feedline_dataset_read(NULL, images.ds, 0, &data, NULL),
                     FEEDLINE_EINVAL);
    assert_int_equal(unlink(path), 0);
    const char *const gone[] = {path};
    SCOPED_DATASET ds;
    assert_ok(feedline_dataset_open_paths(gone, NULL, 1, &ds));
    assert_int_equal(feedline_dataset_read(NULL, ds, 0, &data, &bytes),
                     FEEDLINE_ENOENT);
    assert_non_null(strstr(feedline_last_error(), path));
}

TEST_WITH(missing_file_has_no_bytes, setup, teardown)
{
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_dataset_get_sample(images.files, 3, &info));
    assert_int_equal(unlink(info.path), 0);
    feedline_checker *c = checker_of(images.files);
    struct feedline_checked out = check(c, 3);
    assert_int_equal(out.status, FEEDLINE_ENOENT);
    assert_int_equal(out.bytes, 0);
    assert_null(out.format);
    feedline_checker_destroy(c);
}

TEST_WITH(limits_are_those_of_the_config, setup, teardown)
{
    feedline_config *cfg = NULL;
    feedline_checker *c = NULL;
    assert_ok(feedline_config_create(&cfg));
    assert_ok(feedline_config_set(cfg, "max_pixels", "10"));
    assert_ok(feedline_checker_create(cfg, images.ds, &c));
    feedline_config_destroy(cfg);
    assert_int_equal(check(c, 0).status, FEEDLINE_ERANGE);
    feedline_checker_destroy(c);
}

TEST_WITH(misuse_is_refused, setup, teardown)
{
    feedline_checker *c = NULL;
    struct feedline_checked out = {.struct_size = sizeof(out)};
    assert_int_equal(feedline_checker_create(NULL, NULL, &c), FEEDLINE_EINVAL);
    assert_int_equal(feedline_checker_create(NULL, images.ds, NULL),
                     FEEDLINE_EINVAL);
    assert_int_equal(feedline_checker_check(NULL, 0, &out), FEEDLINE_EINVAL);
    c = checker_of(images.ds);
    assert_int_equal(feedline_checker_check(c, N, &out), FEEDLINE_ERANGE);
    feedline_checker_destroy(c);
    feedline_checker_destroy(NULL);
}

TEST_MAIN("checker")
