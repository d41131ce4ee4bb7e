/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a failed assertion says: cases that fail, each for CTest to read the
 * message of.
 */
#include "test.h"

TEST(int_equal)
{
    const int counted = 20003;
    assert_int_equal(counted + 1, 20005);
}

TEST(negative)
{
    const int status = -22;
    assert_int_equal(status, 0);
}

TEST(large)
{
    const uint64_t hash = UINT64_MAX;
    assert_int_not_equal(hash, UINT64_MAX);
}

TEST(in_range)
{
    const size_t n = 7;
    assert_in_range(n, 1, 6);
}

TEST(string_equal)
{
    const char *name = "cat";
    assert_string_equal(name, "dog");
}

TEST(string_missing)
{
    const char *name = NULL;
    assert_string_equal(name, "dog");
}

TEST_MAIN("failing")
