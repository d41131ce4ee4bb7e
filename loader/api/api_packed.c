/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: packed samples. */
#include "decode/formats/jpeg_pack.h"
#include "decode/packed/container.h"
#include "loader/api/api.h"

#include <feedline/packed.h>

#define MAX_PIXELS ((UINT64_C(1) << 28) - 1)

int32_t feedline_jpeg_pack(const void *jpeg, uint64_t bytes, void **packed,
                           uint64_t *packed_bytes)
{
    uint8_t *data;
    int32_t status = fdl_api_enter(jpeg, "jpeg");
    if (status >= 0 && (!packed || !packed_bytes))
        status = fdl_fail(FEEDLINE_EINVAL, "packed or packed_bytes is NULL");
    if (status >= 0)
        status = fdl_jpeg_pack(jpeg, bytes, MAX_PIXELS, &data, packed_bytes);
    if (status >= 0)
        *packed = data;
    return status;
}

int32_t feedline_jpeg_unpack(const void *packed, uint64_t bytes, void **jpeg,
                             uint64_t *jpeg_bytes, int32_t *same)
{
    uint8_t *data;
    bool is_same;
    int32_t status = fdl_api_enter(packed, "packed");
    if (status >= 0 && (!jpeg || !jpeg_bytes || !same))
        status = fdl_fail(FEEDLINE_EINVAL, "jpeg, jpeg_bytes or same is NULL");
    if (status >= 0 && !fdl_packed_matches(packed, bytes))
        status = fdl_fail(FEEDLINE_EDECODE, "offset 0: not a packed JPEG");
    if (status >= 0)
        status = fdl_jpeg_unpack(packed, bytes, MAX_PIXELS, &data, jpeg_bytes,
                                 &is_same);
    if (status >= 0) {
        *jpeg = data;
        *same = is_same;
    }
    return status;
}
