/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"
#include "base/crc32.h"
#include "test.h"

/* Bit by bit, as the standards write it. */
static uint32_t by_bits(uint32_t polynomial, const uint8_t *data, size_t bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < 8 * bytes; i++) {
        uint32_t bit = data[i / 8] >> i % 8 & 1;
        crc = crc >> 1 ^ (((crc ^ bit) & 1) ? polynomial : 0);
    }
    return ~crc;
}

/* The check values of the catalogues of CRCs, whole and in pieces. */
TEST(known_values)
{
    for (int level = 0; level < FDL_CPU_LEVELS; level++) {
        fdl_cpu_set_level((enum fdl_cpu_level)level);
        assert_int_equal(fdl_crc32c(0, "123456789", 9), 0xe3069283);
        assert_int_equal(fdl_crc32(0, "123456789", 9), 0xcbf43926);
        assert_int_equal(fdl_crc32c(fdl_crc32c(0, "12", 2), "3456789", 7),
                         0xe3069283);
        assert_int_equal(fdl_crc32c(0, "", 0), 0);
        assert_int_equal(fdl_crc32(0, "", 0), 0);
    }
}

/* Around the runs that kernels take at once, at odd addresses, in pieces. */
TEST(every_length_on_every_level)
{
    static uint8_t data[9400];
    uint64_t x = 1;
    for (size_t i = 0; i < sizeof(data); i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        data[i] = (uint8_t)(x >> 56);
    }
    for (size_t n = 0; n < sizeof(data) - 7; n += n < 1400 ? 1 : 97) {
        const uint8_t *from = data + n % 7;
        uint32_t ieee = by_bits(0xedb88320, from, n);
        uint32_t castagnoli = by_bits(0x82f63b78, from, n);
        for (int level = 0; level < FDL_CPU_LEVELS; level++) {
            fdl_cpu_set_level((enum fdl_cpu_level)level);
            size_t first = n / 3;
            assert_int_equal(fdl_crc32(0, from, n), ieee);
            assert_int_equal(fdl_crc32c(0, from, n), castagnoli);
            assert_int_equal(
                fdl_crc32(fdl_crc32(0, from, first), from + first, n - first),
                ieee);
            assert_int_equal(
                fdl_crc32c(fdl_crc32c(0, from, first), from + first, n - first),
                castagnoli);
        }
    }
}

TEST_MAIN("base_crc32")
