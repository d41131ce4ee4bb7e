/* SPDX-License-Identifier: Apache-2.0 */
/* COCO's JSON: the order of samples, their objects, and what is refused. */
#include "base/status.h"
#include "loader/dataset/dataset_objects.h"
#include "tests/loader/fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char file[64];

static void write_file(const char *text)
{
    snprintf(file, sizeof(file), "/tmp/feedline-coco-%d.json", (int)getpid());
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int32_t open_text(const char *text, const char *options,
                         feedline_dataset **out)
{
    char uri[200];
    write_file(text);
    snprintf(uri, sizeof(uri), "coco:%s%s", file, options);
    int32_t status = feedline_dataset_open(uri, out);
    unlink(file);
    return status;
}

#define IMAGES                                                                 \
  "\"images\": [{\"id\": 9, \"file_name\": \"b.jpg\"},"                        \
  "{\"file_name\": \"x/a.jpg\", \"id\": 4, \"width\": 3},"                     \
  "{\"id\": 5, \"file_name\": \"c.jpg\"}]"
/* The third is of an image that is not listed. */
static const char notes[] =
    "{" IMAGES ", \"annotations\": ["
    "{\"id\": 1, \"image_id\": 9, \"bbox\": [1, 2, 3.5, 4],"
    " \"category_id\": 7, \"segmentation\": [[1, 2], [3]]},"
    "{\"image_id\": 4, \"bbox\": [2, 2, 3.5, 4], \"category_id\": 7,"
    " \"iscrowd\": 1, \"keypoints\": [1, 2, 2]},"
    "{\"image_id\": 8, \"bbox\": [1, 2, 3.5, 4], \"category_id\": 7},"
    "{\"image_id\": 9, \"bbox\": [0.5, 2, 3.5, 4], \"category_id\": 7}]}";

TEST(order_and_names)
{
    feedline_dataset *ds = NULL;
    uint64_t n = 0;
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    assert_ok(open_text("{" IMAGES "}", "?images=/data", &ds));
    assert_ok(feedline_dataset_get_count(ds, &n));
    assert_int_equal(n, 3);
    assert_ok(feedline_dataset_get_sample(ds, 0, &info));
    assert_int_equal(info.label, 4);
    assert_string_equal(info.path, "/data/x/a.jpg");
    assert_ok(feedline_dataset_get_sample(ds, 2, &info));
    assert_int_equal(info.label, 9);
    feedline_dataset_close(ds);
    assert_ok(open_text("{\"images\": [{\"id\": 1, \"file_name\": \"/b/c\"}]}",
                        "?images=/data/", &ds));
    assert_ok(feedline_dataset_get_sample(ds, 0, &info));
    assert_string_equal(info.path, "/b/c");
    feedline_dataset_close(ds);
    assert_ok(open_text("{" IMAGES "}", "?images=", &ds));
    assert_ok(feedline_dataset_get_sample(ds, 0, &info));
    assert_string_equal(info.path, "x/a.jpg");
    feedline_dataset_close(ds);
}

static void check_objects(const char *options, uint64_t more)
{
    feedline_dataset *ds = NULL;
    assert_ok(open_text(notes, options, &ds));
    const struct fdl_object_table *t = ds->objects;
    assert_int_equal(t->span[0].n, more);
    assert_int_equal(t->span[1].n, 0);
    assert_int_equal(t->span[2].n, 2);
    assert_int_equal(t->keypoints, 1);
    const float *last = t->boxes + 4 * t->span[2].first;
    assert_true(last[0] == 1.0F && last[1] == 2.0F && last[2] == 4.5F);
    assert_true(last[4] == 0.5F && last[6] == 4.0F && last[7] == 6.0F);
    assert_int_equal(t->labels[0], 7);
    assert_true(t->points[0] == (more ? 1.0F : 0.0F));
    feedline_dataset_close(ds);
}

TEST(objects)
{
    check_objects("", 1);
    check_objects("?crowd=keep", 1);
    check_objects("?crowd=skip", 0);
}

/* Whoever is left out takes its objects along, and those of others stay with
 * their images. */
TEST(objects_of_a_quarantine)
{
    char list[64], options[96];
    feedline_dataset *ds = NULL;
    snprintf(list, sizeof(list), "/tmp/feedline-coco-%d.list", (int)getpid());
    snprintf(options, sizeof(options), "?quarantine=%s", list);
    FILE *f = fopen(list, "w");
    assert_non_null(f);
    fputs("x/a.jpg\nnot there\n", f);
    assert_int_equal(fclose(f), 0);
    assert_ok(open_text(notes, options, &ds));
    unlink(list);
    assert_int_equal(ds->count, 2);
    assert_int_equal(fdl_dataset_label(ds, 0), 5);
    assert_int_equal(fdl_dataset_label(ds, 1), 9);
    const struct fdl_object_table *t = ds->objects;
    assert_int_equal(t->span[0].n, 0);
    assert_int_equal(t->span[1].n, 2);
    const float *last = t->boxes + 4 * t->span[1].first;
    assert_true(last[0] == 1.0F && last[4] == 0.5F);
    feedline_dataset_close(ds);
}

TEST(refusals)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "at 0: an object expected"},
        {"{" IMAGES "} x", "something after the last '}'"},
        {"{}", "lists no images"},
        {"{\"images\": [{\"id\": 1}]}", "without id or file_name"},
        {"{\"images\": [{\"id\": 1.5, \"file_name\": \"a\"}]}",
         "at 19: a whole number expected"},
        {"{\"images\": [{\"id\": 1, \"file_name\": \"\"}]}", "no file's name"},
        {"{\"images\": [{\"id\": 1, \"file_name\": \"a\"},"
         "{\"id\": 1, \"file_name\": \"b\"}]}",
         "two images have the id 1"},
        {"{\"annotations\": [{\"image_id\": 1}]," IMAGES "}",
         "without image_id, category_id or bbox"},
        {"{\"annotations\": [{\"bbox\": [1, 2, 3]}]}", "four numbers"},
        {"{\"annotations\": [{\"bbox\": [1, 2, 3, 1e99]}]}", "too large"},
        {"{\"annotations\": [{\"keypoints\": [1, 2]}]}", "three numbers each"},
        {"{\"annotations\": [{\"keypoints\": 1}]}", "a list of numbers"},
        {"{\"annotations\": [{\"image_id\": 1, \"category_id\": 1, \"bbox\":"
         " [1, 2, 3, 4], \"keypoints\": [1, 2, 2]}, {\"keypoints\":"
         " [1, 2, 2, 1, 2, 2]}]}",
         "as many as the objects before"},
        {"{\"annotations\": [{\"category_id\": 1, \"bbox\": [1, 2, 3, 4]}]}",
         "without image_id"},
        {"{\"annotations\": [{\"image_id\": 1, \"category_id\": 1}]}",
         "without image_id, category_id or bbox"},
        {"{\"images\": [{\"file_name\": \"a\"}]}", "without id or file_name"},
        {"{\"images\": [{\"id\": 1, \"file_name\": \"a\\u0000\"}]}",
         "no file's name"},
        {"{\"images\": [{\"id\": 1e16, \"file_name\": \"a\"}]}",
         "a whole number expected"},
        {"{\"images\": 3}", "at 11: a list expected"},
        {"{\"images\": [", "an object expected"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        feedline_dataset *ds = NULL;
        assert_int_equal(open_text(cases[i].text, "", &ds), FEEDLINE_EINVAL);
        assert_null(ds);
        assert_non_null(strstr(feedline_last_error(), file));
        if (!strstr(feedline_last_error(), cases[i].why))
            fail_msg("%s: %s", cases[i].why, feedline_last_error());
    }
    feedline_dataset *ds = NULL;
    assert_int_equal(open_text("{" IMAGES "}", "?image=x", &ds),
                     FEEDLINE_EINVAL);
    assert_non_null(strstr(feedline_last_error(), "images=FOLDER"));
}

TEST_MAIN("coco")
