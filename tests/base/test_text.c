/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text: what is added is there, and memory that ends is remembered. */
#include "base/text.h"
#include "test.h"
#include "tests/wrap_memory.h"

#include <feedline/feedline.h>

#include <stdbool.h>

TEST(grows)
{
    struct fdl_text t = {0};
    for (uint32_t i = 0; i < 10000; i++)
        fdl_text_add(&t, "%u,", i % 10);
    fdl_text_add_double(&t, 0.5);
    assert_false(t.failed);
    assert_int_equal(t.length, 20003);
    assert_int_equal(strlen(t.data), 20003);
    assert_memory_equal(t.data + 19996, "8,9,0.5", 8);
    const char *memory = t.data;
    fdl_text_clear(&t);
    assert_int_equal(t.length, 0);
    fdl_text_add(&t, "%s", "again");
    assert_string_equal(t.data, "again");
    assert_ptr_equal(t.data, memory);
    fdl_text_free(&t);
    assert_null(t.data);
}

TEST(copies_out)
{
    struct fdl_text t = {0};
    char buf[8] = "xxxxxxx";
    uint64_t needed = 0;
    assert_int_equal(fdl_text_copy_out(&t, buf, 8, &needed), FEEDLINE_OK);
    assert_string_equal(buf, "");
    fdl_text_add(&t, "12345");
    assert_int_equal(fdl_text_copy_out(&t, NULL, 0, &needed), FEEDLINE_OK);
    assert_int_equal(needed, 6);
    assert_int_equal(fdl_text_copy_out(&t, buf, 6, &needed), FEEDLINE_OK);
    assert_string_equal(buf, "12345");
    assert_int_equal(fdl_text_copy_out(&t, buf, 5, &needed), FEEDLINE_ERANGE);
    assert_string_equal(buf, "1234");
    assert_int_equal(fdl_text_copy_out(&t, buf, 1, &needed), FEEDLINE_ERANGE);
    assert_string_equal(buf, "");
    fdl_text_free(&t);
}

TEST(memory_ends)
{
    struct fdl_text t = {0};
    char buf[8];
    uint64_t needed = 0;
    fdl_text_add(&t, "kept");
    memory_refuses = 1;
    fdl_text_add(&t, "%5000d", 1);
    memory_refuses = 0;
    fdl_text_add(&t, "more");
    assert_true(t.failed);
    assert_string_equal(t.data, "keptmore");
    assert_int_equal(fdl_text_copy_out(&t, buf, 8, &needed), FEEDLINE_ENOMEM);
    assert_int_equal(needed, 0);
    fdl_text_clear(&t);
    assert_false(t.failed);
    fdl_text_free(&t);
}

TEST_MAIN("base_text")
