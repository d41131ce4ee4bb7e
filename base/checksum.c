/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checksum.h"

#include "base/crc32.h"
#include "base/status.h"

#include <inttypes.h>

uint32_t fdl_sum_of(enum fdl_sum_kind kind, const void *data, uint64_t bytes)
{
    if (kind == FDL_SUM_CRC32)
        return fdl_crc32(0, data, bytes);
    uint32_t crc = fdl_crc32c(0, data, bytes);
    return kind == FDL_SUM_MASKED
               ? (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8)
               : crc;
}

int32_t fdl_sum_check(const struct fdl_sum *sum, const void *data,
                      uint64_t bytes, uint64_t at, const char *of,
                      const char *leave_out)
{
    static const char *const names[] = {
        [FDL_SUM_CRC32] = "CRC-32",
        [FDL_SUM_CRC32C] = "CRC-32C",
        [FDL_SUM_MASKED] = "masked CRC-32C",
    };
    if (sum->kind == FDL_SUM_NONE)
        return FEEDLINE_OK;
    uint32_t found = fdl_sum_of((enum fdl_sum_kind)sum->kind, data, bytes);
    if (found == sum->value)
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EDECODE,
                    "offset %" PRIu64 ": %" PRIu64
                    " bytes of %s have changed since they were written: %s "
                    "%08" PRIx32 ", stored is %08" PRIx32
                    "; copy the file again, or leave the sample out (%s)",
                    at, bytes, of, names[sum->kind], found, sum->value,
                    leave_out);
}
