/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of huge pages. */
#include "base/compiler.h"
#include "loader/read/slabs.h"
#include "test.h"

#include <string.h>

static struct fdl_slabs slabs;

TEST(sizes_are_steps)
{
    static const uint64_t sizes[][2] = {
        {1, 32768},       {32768, 32768},   {32769, 49152},
        {49153, 65536},   {65537, 98304},   {98305, 131072},
        {524288, 524288}, {524289, 540672}, {1000000, 1015808},
    };
    for (uint32_t i = 0; i < FDL_COUNT_OF(sizes); i++)
        assert_int_equal(fdl_slabs_round(sizes[i][0]), sizes[i][1]);
}

/* Each byte belongs to one of them; what comes back is zeroed again. */
TEST(pieces_do_not_overlap)
{
    static const uint64_t sizes[] = {32768, 49152, 393216, 524288, 1048576};
    uint8_t *pieces[FDL_COUNT_OF(sizes)][70];
    fdl_slabs_init(&slabs);
    for (uint32_t s = 0; s < FDL_COUNT_OF(sizes); s++)
        for (uint32_t i = 0; i < FDL_COUNT_OF(pieces[s]); i++) {
            pieces[s][i] = fdl_slabs_alloc(&slabs, sizes[s]);
            assert_non_null(pieces[s][i]);
            assert_int_equal((uintptr_t)pieces[s][i] % 4096, 0);
            memset(pieces[s][i], (int)(s + i + 1), sizes[s]);
        }
    for (uint32_t s = 0; s < FDL_COUNT_OF(sizes); s++)
        for (uint32_t i = 0; i < FDL_COUNT_OF(pieces[s]); i++) {
            assert_int_equal(pieces[s][i][0], s + i + 1);
            assert_int_equal(pieces[s][i][sizes[s] - 1], s + i + 1);
            fdl_slabs_free(&slabs, pieces[s][i], sizes[s]);
            if (i % 2)
                continue;
            uint8_t *again = fdl_slabs_alloc(&slabs, sizes[s]);
            assert_int_equal(again[0], 0);
            fdl_slabs_free(&slabs, again, sizes[s]);
        }
    fdl_slabs_fini(&slabs); /* asserts that no slab is left */
}

TEST_MAIN("slabs")
