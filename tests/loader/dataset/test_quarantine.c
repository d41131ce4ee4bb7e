/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that a list leaves out: the rest is a data set like one that never
 * had them; a list that fits another data set is refused.
 */
#include "tests/loader/fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N 12

FIXTURE_IMAGES(N)

/* Opens the folder with a list of that text, which is removed again. */
static int32_t open_without(const char *text, size_t bytes,
                            feedline_dataset **out)
{
    char list[128], uri[300];
    snprintf(list, sizeof(list), "%s.list", images.folder);
    snprintf(uri, sizeof(uri), "folder:%s?quarantine=%s", images.folder, list);
    FILE *f = fopen(list, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
    int32_t status = feedline_dataset_open(uri, out);
    unlink(list);
    return status;
}

static struct feedline_sample_info sample(feedline_dataset *ds, uint64_t i)
{
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_dataset_get_sample(ds, i, &info));
    return info;
}

static uint64_t count_of(feedline_dataset *ds)
{
    uint64_t n = 0;
    assert_ok(feedline_dataset_get_count(ds, &n));
    return n;
}

static uint64_t hash_of(feedline_dataset *ds)
{
    SCOPED_LOADER l = fixture_open(ds, "shuffle=true seed=7");
    return fixture_run(l, 2);
}

TEST_WITH(as_if_never_there, setup, teardown)
{
    char text[512];
    const char *paths[N];
    int64_t labels[N];
    uint64_t kept = 0;
    feedline_dataset *ds = NULL, *same = NULL;
    for (uint32_t i = 0; i < N; i++) {
        struct feedline_sample_info info = sample(images.files, i);
        assert_true(strlen(info.name) < strlen(info.path));
        if (i == 3 || i == N - 1)
            continue;
        paths[kept] = info.path;
        labels[kept++] = info.label;
    }
    int n = snprintf(text, sizeof(text), "# both\r\n\n%s\toffset 3: bad\r\n%s",
                     sample(images.files, N - 1).name,
                     sample(images.files, 3).name);
    assert_ok(open_without(text, (size_t)n, &ds));
    assert_int_equal(count_of(ds), N - 2);
    assert_int_equal(feedline_dataset_class_count(ds), 3);
    assert_ok(feedline_dataset_open_paths(paths, labels, kept, &same));
    assert_true(hash_of(ds) == hash_of(same));
    feedline_dataset_close(same);
    feedline_dataset_close(ds);
}

TEST_WITH(state_of_all_samples_is_refused, setup, teardown)
{
    char state[256], text[256];
    uint64_t needed;
    feedline_dataset *ds = NULL;
    SCOPED_LOADER all = fixture_open(images.files, "shuffle=true");
    assert_ok(feedline_loader_save(all, state, sizeof(state), &needed));
    int n = snprintf(text, sizeof(text), "%s\n", sample(images.files, 0).name);
    assert_ok(open_without(text, (size_t)n, &ds));
    SCOPED_LOADER rest = fixture_open(ds, "shuffle=true");
    assert_int_equal(feedline_loader_restore(rest, state), FEEDLINE_EINVAL);
    feedline_dataset_close(ds);
}

TEST_WITH(name_with_a_newline_is_escaped, setup, teardown)
{
    char odd[256], path[200], text[256];
    feedline_dataset *ds = NULL;
    fixture_path(&images, 0, path, sizeof(path));
    char *slash = strrchr(path, '/');
    assert_non_null(slash);
    *slash = '\0'; /* its class */
    snprintf(odd, sizeof(odd), "%s/zebra\n\t\\.jpg", path);
    *slash = '/';
    assert_int_equal(link(path, odd), 0);
    *slash = '\0';
    int n = snprintf(text, sizeof(text), "%s/zebra\\n\\t\\\\.jpg\n",
                     path + strlen(images.folder) + 1);
    assert_ok(open_without(text, (size_t)n, &ds));
    assert_int_equal(unlink(odd), 0);
    assert_int_equal(count_of(ds), N);
    feedline_dataset_close(ds);
}

TEST_WITH(list_of_nothing_leaves_out_nothing, setup, teardown)
{
    feedline_dataset *ds = NULL;
    assert_ok(open_without("", 0, &ds));
    assert_int_equal(count_of(ds), N);
    assert_true(hash_of(ds) == hash_of(images.files));
    feedline_dataset_close(ds);
}

TEST_WITH(list_that_does_not_fit_is_refused, setup, teardown)
{
    feedline_dataset *ds = NULL;
    char text[N * 64];
    size_t n = 0;
    assert_int_equal(open_without("a/b.jpg\n", 8, &ds), FEEDLINE_EINVAL);
    assert_non_null(strstr(feedline_last_error(), "a/b.jpg"));
    assert_null(ds);
    assert_int_equal(open_without("b.jpg\\", 6, &ds), FEEDLINE_EINVAL);
    assert_non_null(strstr(feedline_last_error(), "b.jpg\\")); /* no escape */
    assert_int_equal(open_without("a\0b", 3, &ds), FEEDLINE_EINVAL);
    for (uint32_t i = 0; i < N; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\n",
                              sample(images.files, i).name);
    assert_int_equal(open_without(text, n, &ds), FEEDLINE_EINVAL);
    assert_non_null(strstr(feedline_last_error(), "every sample"));
    snprintf(text, sizeof(text), "folder:%s?quarantine=%s/none", images.folder,
             images.folder);
    assert_int_equal(feedline_dataset_open(text, &ds), FEEDLINE_ENOENT);
    assert_null(ds);
}

TEST_MAIN("quarantine")
