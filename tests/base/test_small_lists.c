/* SPDX-License-Identifier: Apache-2.0 */
/* Integers and names in few bytes, against what was added. */
#include "base/integers.h"
#include "base/name_list.h"
#include "dice.h"
#include "test.h"

enum { N = 3000 };

static void check_integers(const int64_t *values, uint64_t n, uint32_t width)
{
    struct fdl_integers l = {0};
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(fdl_integers_add(&l, values[i]), 0);
    assert_int_equal(l.n, n);
    assert_int_equal(l.width, width);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(fdl_integers_at(&l, i), values[i]);
    fdl_integers_trim(&l);
    assert_int_equal(l.capacity, n);
    for (uint64_t i = 0; i < n; i++) {
        fdl_integers_copy(&l, 0, i);
        assert_int_equal(fdl_integers_at(&l, 0), values[i]);
    }
    fdl_integers_free(&l);
}

TEST(integers_at_every_border)
{
    static const struct {
        int64_t value;
        uint32_t width;
    } cases[] = {
        {0, 1},         {-1, 1},
        {127, 1},       {-128, 1},
        {128, 2},       {-129, 2},
        {32767, 2},     {-32768, 2},
        {32768, 4},     {-32769, 4},
        {INT32_MAX, 4}, {INT32_MIN, 4},
        {1ll << 31, 8}, {INT32_MIN - 1ll, 8},
        {INT64_MAX, 8}, {INT64_MIN, 8},
    };
    int64_t values[200];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (uint64_t before = 0; before < 200; before += 66) {
            for (uint64_t k = 0; k < before; k++)
                values[k] = (int64_t)k % 100 - 50;
            values[before] = cases[i].value;
            check_integers(values, before + 1, cases[i].width);
        }
}

TEST(integers_that_grow)
{
    struct dice d = {test_seed()};
    static int64_t values[N];
    for (int i = 0; i < N; i++) {
        int bits = i * 63 / N;
        values[i] = (int64_t)(dice_u64(&d) & ((UINT64_C(1) << bits) - 1));
        if (i % 2)
            values[i] = -values[i];
    }
    check_integers(values, N, 8);
}

TEST(names_of_any_number)
{
    struct fdl_name_list l = {0};
    char name[N];
    for (uint64_t n = 0; n < N; n++) {
        memset(name, 'a' + (int)(n % 26), n % 50);
        name[n % 50] = '\0';
        assert_int_equal(fdl_name_list_add(&l, n % 3 ? "in/" : "", name), 0);
        if (n == 40)
            fdl_name_list_trim(&l); /* more may follow all the same */
    }
    fdl_name_list_trim(&l);
    assert_int_equal(l.n, N);
    assert_int_equal(l.capacity, N);
    assert_int_equal(l.blocks_capacity, N / FDL_NAME_BLOCK + 1);
    const char *next = l.text.text;
    for (uint64_t n = 0; n < N; n++) {
        const char *found = fdl_name_list_at(&l, n);
        assert_ptr_equal(found, next);
        next += strlen(found) + 1;
        if (n % 3) {
            assert_memory_equal(found, "in/", 3);
            found += 3;
        }
        assert_int_equal(strlen(found), n % 50);
        assert_int_equal(strspn(found, (char[]){(char)('a' + n % 26), 0}),
                         n % 50);
    }
    assert_ptr_equal(next, l.text.text + l.text.bytes);
    fdl_name_list_free(&l);
}

TEST_MAIN("small_lists")
