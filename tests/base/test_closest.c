/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distances and proposals. */
#include "base/closest.h"
#include "base/compiler.h"
#include "test.h"

TEST(distances)
{
    static const struct {
        const char *a, *b;
        uint32_t distance;
    } rows[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"same", "same", 0},
        {"kitten", "sitting", 3},
        {"batchsize", "batch_size", 1},
        {"bacth_size", "batch_size", 1}, /* a swap is one */
        {"ab", "ba", 1},
        {"ca", "abc", 3}, /* no edits inside a swapped pair */
        {"flaw", "lawn", 2},
        {"a", "b", 1},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(rows); i++) {
        assert_int_equal(fdl_edit_distance(rows[i].a, rows[i].b),
                         rows[i].distance);
        assert_int_equal(fdl_edit_distance(rows[i].b, rows[i].a),
                         rows[i].distance);
    }
}

TEST(longest_names)
{
    char longest[FDL_CLOSEST_NAME_MAX + 1], longer[FDL_CLOSEST_NAME_MAX + 2];
    memset(longest, 'x', sizeof(longest));
    longest[FDL_CLOSEST_NAME_MAX] = '\0';
    memset(longer, 'x', sizeof(longer));
    longer[FDL_CLOSEST_NAME_MAX + 1] = '\0';
    assert_int_equal(fdl_edit_distance(longest, longest), 0);
    assert_int_equal(fdl_edit_distance("", longest), FDL_CLOSEST_NAME_MAX);
    assert_int_equal(fdl_edit_distance(longest, longer), UINT32_MAX);

    struct fdl_closest closest = {.typed = longer};
    fdl_closest_offer(&closest, longest);
    assert_null(closest.name);
}

static const char *propose(const char *typed)
{
    static const char *const names[] = {"batch_size", "workers", "seed", "op",
                                        "shuffle"};
    struct fdl_closest closest = {.typed = typed};
    for (size_t i = 0; i < FDL_COUNT_OF(names); i++)
        fdl_closest_offer(&closest, names[i]);
    return closest.name;
}

TEST(proposals)
{
    assert_string_equal(propose("batchsize"), "batch_size");
    assert_string_equal(propose("bacth_szie"), "batch_size");
    assert_string_equal(propose("worker"), "workers");
    assert_string_equal(propose("sed"), "seed");
    assert_string_equal(propose("shufle"), "shuffle");
    assert_null(propose("temperature"));
    assert_null(propose("xy")); /* every letter of "op" would be wrong */
    assert_null(propose(""));
}

TEST_MAIN("base_closest")
