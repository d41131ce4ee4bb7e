/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"
#include "base/crc32c.h"
#include "test.h"

/* The check value of the catalogues of CRCs, whole and in pieces. */
TEST(known_values)
{
    for (int level = 0; level < FDL_CPU_LEVELS; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        assert_int_equal(fdl_crc32c(0, "123456789", 9), 0xe3069283);
        assert_int_equal(fdl_crc32c(fdl_crc32c(0, "12", 2), "3456789", 7),
                         0xe3069283);
        assert_int_equal(fdl_crc32c(0, "", 0), 0);
    }
}

TEST_MAIN("base_crc32c")
