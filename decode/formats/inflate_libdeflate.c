/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/formats/inflate.h"

#include <libdeflate.h>

struct fdl_inflate *fdl_inflate_create(void)
{
    return (struct fdl_inflate *)libdeflate_alloc_decompressor();
}

void fdl_inflate_destroy(struct fdl_inflate *i)
{
    libdeflate_free_decompressor((struct libdeflate_decompressor *)i);
}

bool fdl_inflate_all(struct fdl_inflate *i, const uint8_t *in, size_t in_bytes,
                     uint8_t *out, size_t out_bytes)
{
    size_t read = 0;
    enum libdeflate_result result =
        libdeflate_zlib_decompress_ex((struct libdeflate_decompressor *)i, in,
                                      in_bytes, out, out_bytes, &read, NULL);
    return result == LIBDEFLATE_SUCCESS && read == in_bytes;
}
