/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that are parts of files: the stream is that of the same images by
 * themselves, whoever reads them; what is wrong with a shard is said of
 * the sample that it harms.
 */
#include "loader/dataset/dataset.h"
#include "tests/loader/fixture.h"

#include <feedline/fields.h>
#include <feedline/files.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define N 31

FIXTURE_IMAGES(N)

/* The images in two files, one after the other with gaps. */
struct shards {
    char path[2][128];
    const char *files[2];
    struct feedline_extent extents[N];
    struct feedline_extents all;
};

static void write_shards(struct shards *s)
{
    memset(s, 0, sizeof(*s));
    for (uint32_t k = 0; k < 2; k++) {
        snprintf(s->path[k], sizeof(s->path[k]), "%s/shard%u", images.folder,
                 k);
        s->files[k] = s->path[k];
        FILE *f = fopen(s->path[k], "wb");
        assert_non_null(f);
        for (uint32_t i = k; i < N; i += 2) {
            fprintf(f, "%*s", (int)(i * 37 % 600), "");
            s->extents[i] = (struct feedline_extent){
                .offset = (uint64_t)ftell(f),
                .file = k,
                .length = (uint32_t)images.sizes[i],
            };
            fwrite(images.data[i], 1, images.sizes[i], f);
        }
        assert_int_equal(fclose(f), 0);
    }
    s->all = (struct feedline_extents){
        .struct_size = sizeof(s->all),
        .n_files = 2,
        .files = s->files,
        .extents = s->extents,
        .labels = images.labels,
        .count = N,
    };
}

static feedline_dataset *open_shards(struct shards *s)
{
    feedline_dataset *ds = NULL;
    write_shards(s);
    assert_ok(feedline_dataset_open_extents(&s->all, &ds));
    return ds;
}

static uint64_t hash_of(feedline_dataset *ds, const char *options)
{
    SCOPED_LOADER l = fixture_open(ds, options);
    return fixture_run(l, 2);
}

TEST_WITH(same_stream_as_images_of_their_own, setup, teardown)
{
    static const char *const readers[] = {
        "uring",
        "pread io_depth=3",
        "memory",
    };
    static const char *const orders[] = {
        "shuffle=true seed=7",
        "shuffle=true seed=7 world=2 rank=1",
        "shuffle=block block=5 lanes=3 seed=7",
        "shuffle=block block=5 lanes=3 seed=7 world=2 rank=1",
    };
    struct shards s;
    char options[128];
    SCOPED_DATASET ds = open_shards(&s);
    for (size_t k = 0; k < FDL_COUNT_OF(orders); k++) {
        uint64_t hash = hash_of(images.ds, orders[k]);
        for (size_t i = 0; i < FDL_COUNT_OF(readers); i++) {
            snprintf(options, sizeof(options), "%s reader=%s", orders[k],
                     readers[i]);
            SCOPED_LOADER l = fixture_open(ds, options);
            if (feedline_loader_start(l, 0) == FEEDLINE_ENOSYS)
                continue; /* there is no io_uring here */
            assert_true(fixture_run(l, 2) == hash);
        }
    }
}

TEST_WITH(samples_tell_where_they_are, setup, teardown)
{
    static const char *const classes[] = {"ant", "bee", "cat"};
    const char *names[N];
    struct shards s;
    write_shards(&s);
    for (uint32_t i = 0; i < N; i++)
        names[i] = i % 2 ? "" : "even.jpg";
    s.extents[7] = (struct feedline_extent){0, 1, FEEDLINE_TO_END};
    s.all.names = names;
    s.all.classes = classes;
    s.all.n_classes = 3;
    SCOPED_DATASET ds;
    assert_ok(feedline_dataset_open_extents(&s.all, &ds));
    assert_string_equal(feedline_dataset_class_name(ds, 2), "cat");
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < N; i++)
        bytes += i == 7 ? 0 : images.sizes[i];
    assert_true(fdl_dataset_extent_bytes(ds) == bytes);
    struct stat whole; /* of sample 7, whose length is asked for */
    assert_int_equal(stat(s.path[1], &whole), 0);
    assert_true(fdl_dataset_bytes(ds) == bytes + (uint64_t)whole.st_size);
    assert_int_equal(unlink(s.path[1]), 0);
    assert_true(fdl_dataset_bytes(ds) == bytes);

    char expected[256];
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_dataset_get_sample(ds, 4, &info));
    snprintf(expected, sizeof(expected), "%s:even.jpg", s.path[0]);
    assert_string_equal(info.path, expected);
    assert_string_equal(info.file, s.path[0]);
    assert_int_equal(info.offset, s.extents[4].offset);
    assert_int_equal(info.bytes, images.sizes[4]);
    const char *path = info.path;
    assert_ok(feedline_dataset_get_sample(ds, 4, &info));
    assert_ptr_equal(info.path, path);

    assert_ok(feedline_dataset_get_sample(ds, 5, &info));
    snprintf(expected, sizeof(expected), "%s@%llu", s.path[1],
             (unsigned long long)s.extents[5].offset);
    assert_string_equal(info.path, expected);

    assert_ok(feedline_dataset_get_sample(ds, 7, &info));
    assert_string_equal(info.path, s.path[1]);
}

TEST_WITH(a_cut_shard_fails_its_last_sample, setup, teardown)
{
    struct shards s;
    SCOPED_DATASET ds = open_shards(&s);
    const struct feedline_extent *last = &s.extents[N - 1];
    assert_int_equal(
        truncate(s.path[0], (off_t)(last->offset + last->length - 1)), 0);
    SCOPED_LOADER l = fixture_open(ds, "on_error=zero epochs=1");
    fixture_run(l, 1);
    assert_int_equal(feedline_loader_failure_count(l), 1);
    struct feedline_failure f = {.struct_size = sizeof(f)};
    assert_ok(feedline_loader_get_failure(l, 0, &f));
    assert_int_equal(f.sample_index, N - 1);
    assert_non_null(strstr(f.path, "shard0@"));
    assert_non_null(strstr(f.reason, "at offset "));
}

TEST_WITH(mistakes_are_named, setup, teardown)
{
    struct shards s;
    feedline_dataset *ds = NULL;
    write_shards(&s);
    s.extents[3].file = 2;
    assert_error(feedline_dataset_open_extents(&s.all, &ds), FEEDLINE_EINVAL,
                 "sample 3 is in file 2, and there are 2");
    s.extents[3].file = 1;
    s.extents[4].offset = UINT64_MAX;
    assert_error(feedline_dataset_open_extents(&s.all, &ds), FEEDLINE_EINVAL,
                 "sample 4 begins at 18446744073709551615");
    s.all.files = NULL;
    assert_error(feedline_dataset_open_extents(&s.all, &ds), FEEDLINE_EINVAL,
                 "no extents");
    s.all.struct_size = 0;
    assert_error(feedline_dataset_open_extents(&s.all, &ds), FEEDLINE_EINVAL,
                 "struct_size");
    assert_null(ds);
}

TEST_WITH(fields_that_cannot_be, setup, teardown)
{
    struct shards s;
    feedline_dataset *ds = NULL;
    int64_t numbers[N] = {0};
    struct feedline_field_table t = {
        .struct_size = sizeof(t),
        .kind = FEEDLINE_FIELD_INT,
        .name = "n",
        .integers = numbers,
    };
    const struct feedline_field_table *tables[FEEDLINE_FIELDS_MAX + 1] = {&t,
                                                                          &t};
    write_shards(&s);
    s.all.fields = tables;
    s.all.n_fields = 1;
    assert_ok(feedline_dataset_open_extents(&s.all, &ds));
    feedline_dataset_close(ds);
    ds = NULL;
    s.all.n_fields = 2;
    assert_error(feedline_dataset_open_extents(&s.all, &ds), FEEDLINE_EINVAL,
                 "two fields 'n'");
    s.all.n_fields = FEEDLINE_FIELDS_MAX + 1;
    assert_error(feedline_dataset_open_extents(&s.all, &ds), FEEDLINE_EINVAL,
                 "33 fields, of 32 at most");
    s.all.n_fields = 1;
    t.kind = FEEDLINE_FIELD_FLOAT;
    assert_error(feedline_dataset_open_extents(&s.all, &ds), FEEDLINE_EINVAL,
                 "nothing of its kind");
    t.struct_size = 0;
    assert_error(feedline_dataset_open_extents(&s.all, &ds), FEEDLINE_EINVAL,
                 "struct_size");
    assert_null(ds);
}

TEST_MAIN("extents")
