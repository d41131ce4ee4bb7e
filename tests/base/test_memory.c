/* SPDX-License-Identifier: Apache-2.0 */
/* Checked sizes, alignment, pages. */
#include "base/memory.h"
#include "test.h"

TEST(products)
{
    const size_t half = SIZE_MAX / 2 + 1;
    size_t out = 7;
    assert_true(fdl_mul_size(6, 7, &out));
    assert_int_equal(out, 42);
    assert_true(fdl_mul_size(0, SIZE_MAX, &out));
    assert_int_equal(out, 0);
    assert_true(fdl_mul_size(SIZE_MAX, 0, &out));
    assert_int_equal(out, 0);
    assert_true(fdl_mul_size(1, SIZE_MAX, &out));
    assert_true(out == SIZE_MAX);

    out = 7;
    assert_false(fdl_mul_size(2, half, &out));
    assert_false(fdl_mul_size(half, 2, &out));
    assert_false(fdl_mul_size(SIZE_MAX, SIZE_MAX, &out));
    assert_int_equal(out, 7);
}

TEST(sums)
{
    size_t out = 7;
    assert_true(fdl_add_size(SIZE_MAX - 1, 1, &out));
    assert_true(out == SIZE_MAX);
    out = 7;
    assert_false(fdl_add_size(SIZE_MAX, 1, &out));
    assert_false(fdl_add_size(1, SIZE_MAX, &out));
    assert_int_equal(out, 7);
}

TEST(aligned_to_a_cache_line)
{
    for (size_t bytes = 0; bytes < 1000; bytes += 37) {
        unsigned char *p = fdl_alloc_aligned(bytes);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % FDL_CACHE_LINE, 0);
        memset(p, 0xa5, bytes);
        free(p);
    }
}

TEST(impossible_sizes_are_null)
{
    assert_null(fdl_alloc_aligned(SIZE_MAX));
    assert_null(fdl_pages_alloc(SIZE_MAX));
    assert_null(fdl_pages_alloc(SIZE_MAX - 4096));
    assert_null(fdl_pages_alloc(SIZE_MAX / 2));
}

static void check_pages(size_t bytes, size_t alignment)
{
    unsigned char *p = fdl_pages_alloc(bytes);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % alignment, 0);
    for (size_t i = 0; i < bytes; i++)
        assert_true(p[i] == 0);
    memset(p, 0xa5, bytes);
    fdl_pages_free(p, bytes);
}

TEST(pages_are_zero_and_aligned)
{
    const size_t huge = (size_t)2 << 20;
    check_pages(0, 4096);
    check_pages(1, 4096);
    check_pages(4097, 4096);
    check_pages(huge - 4096, 4096);
    check_pages(huge - 1, huge); /* rounded up to whole pages first */
    check_pages(huge, huge);
    check_pages(huge + 1, huge);
    fdl_pages_free(NULL, 4096);
}

/* What alignment reserves beyond the block is given back: the address space of
 * the process is the same after many rounds. */
static uint64_t address_space_pages(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%llu", &pages), 1);
    fclose(f);
    return pages;
}

TEST(pages_are_given_back)
{
    const size_t bytes = ((size_t)3 << 20) + 5;
    uint64_t before = address_space_pages();
    for (int i = 0; i < 200; i++) {
        void *p = fdl_pages_alloc(bytes);
        assert_non_null(p);
        fdl_pages_free(p, bytes);
    }
    assert_true(address_space_pages() < before + 512);
}

TEST(copies_of_text)
{
    static const char text[] = "a text";
    char *copy = fdl_strdup(text);
    assert_string_equal(copy, text);
    assert_ptr_not_equal(copy, text);
    free(copy);
    copy = fdl_strdup("");
    assert_string_equal(copy, "");
    free(copy);
}

TEST_MAIN("base_memory")
