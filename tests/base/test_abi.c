/* SPDX-License-Identifier: Apache-2.0 */
/* Size-tagged structs: what an older or a newer caller gets. */
#include "base/abi.h"
#include "base/status.h"
#include "test.h"

struct known {
    uint32_t struct_size;
    uint32_t a;
    uint64_t b;
};

struct newer {
    struct known known;
    uint64_t c;
};

static const struct known value = {.struct_size = 999, .a = 1, .b = 2};

TEST(same_size_gets_all)
{
    struct known out = {.struct_size = sizeof(out)};
    assert_int_equal(fdl_copy_out(&out, &value, sizeof(value)), FEEDLINE_OK);
    assert_int_equal(out.struct_size, sizeof(out));
    assert_int_equal(out.a, 1);
    assert_int_equal(out.b, 2);
}

TEST(smaller_gets_its_part)
{
    struct known out = {.struct_size = 8, .b = 77};
    assert_int_equal(fdl_copy_out(&out, &value, sizeof(value)), FEEDLINE_OK);
    assert_int_equal(out.struct_size, 8);
    assert_int_equal(out.a, 1);
    assert_int_equal(out.b, 77);
}

TEST(larger_keeps_its_rest)
{
    struct newer out = {.known.struct_size = sizeof(out), .c = 77};
    assert_int_equal(fdl_copy_out(&out, &value, sizeof(value)), FEEDLINE_OK);
    assert_int_equal(out.known.b, 2);
    assert_int_equal(out.c, 77);
}

TEST(input_of_an_older_caller_ends_in_zeros)
{
    struct known in = {.struct_size = 8, .a = 5, .b = 77};
    struct known got = {.b = 3};
    assert_int_equal(fdl_copy_in(&got, &in, sizeof(got)), FEEDLINE_OK);
    assert_int_equal(got.a, 5);
    assert_int_equal(got.b, 0);
    struct newer longer = {.known = {sizeof(longer), 6, 7}, .c = 8};
    assert_int_equal(fdl_copy_in(&got, &longer, sizeof(got)), FEEDLINE_OK);
    assert_int_equal(got.a, 6);
    assert_int_equal(got.b, 7);
    in.struct_size = 0;
    assert_int_equal(fdl_copy_in(&got, &in, sizeof(got)), FEEDLINE_EINVAL);
}

TEST(unset_size_is_refused)
{
    struct known out = {.struct_size = 0, .a = 5};
    assert_int_equal(fdl_check_out(&out), FEEDLINE_EINVAL);
    assert_int_equal(fdl_copy_out(&out, &value, sizeof(value)),
                     FEEDLINE_EINVAL);
    assert_int_equal(out.a, 5);
    out.struct_size = 1 << 20;
    assert_int_equal(fdl_check_out(&out), FEEDLINE_EINVAL);
    assert_int_equal(fdl_check_out(NULL), FEEDLINE_EINVAL);
}

TEST_MAIN("base_abi")
