/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of tar members: those of webdataset's base_plus_ext, whose expression
 * Python's re ran on these names. */
#include "loader/index/tar_groups.h"
#include "test.h"

TEST(keys_are_those_of_webdataset)
{
    static const struct {
        const char *name;
        size_t key; /* bytes; 0: it has none */
    } cases[] = {
        {"a.jpg", 1},
        {"a/b.c.jpg", 3},
        {"a.b/c.d.JPG", 5},
        {"./a.jpg", 3},
        {"a..jpg", 1},
        {"a.", 1},
        {"a", 0},
        {"a.b/c", 0},
        {".hidden", 0},
        {"d/.x.jpg", 2},
        {"./.x.jpg", 0},
        {"a.b/.x", 0},
        {"/.x.jpg", 1},
        {"/a.jpg", 2},
        {"a//.x", 3},
        {"a/b/.x.y", 4},
        {"a\nb/c.jpg", 5},
        {"a.b\nc/d.jpg", 0},
        {"a.b/c\nq.jpg", 7},
        {"a\nb/.x", 4},
        {"a/b\nc/.x", 6},
        {"a/\nb.c/d.e", 0},
        {"a b.c d", 3},
        {"a.b\n", 1},
        {"\n.x", 1},
        {"../a.b", 4},
        {"a/../b.c", 6},
        {"a/..x", 2},
        {"", 0},
        {".", 0},
        {"/", 0},
        {"a/", 0},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++)
        assert_int_equal(fdl_tar_key_bytes(cases[i].name), cases[i].key);
}

TEST_MAIN("tar_groups")
