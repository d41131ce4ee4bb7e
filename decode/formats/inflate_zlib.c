/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/formats/inflate.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct fdl_inflate {
    z_stream z;
};

struct fdl_inflate *fdl_inflate_create(void)
{
    struct fdl_inflate *i = calloc(1, sizeof(*i));
    if (i && inflateInit(&i->z) != Z_OK) {
        free(i);
        return NULL;
    }
    return i;
}

void fdl_inflate_destroy(struct fdl_inflate *i)
{
    if (i)
        inflateEnd(&i->z);
    free(i);
}

bool fdl_inflate_all(struct fdl_inflate *i, const uint8_t *in, size_t in_bytes,
                     uint8_t *out, size_t out_bytes)
{
    if (in_bytes > UINT_MAX || out_bytes > UINT_MAX ||
        inflateReset(&i->z) != Z_OK)
        return false;
    memcpy(&i->z.next_in, &in, sizeof(i->z.next_in)); /* it is only read */
    i->z.avail_in = (uInt)in_bytes;
    i->z.next_out = out;
    i->z.avail_out = (uInt)out_bytes;
    return inflate(&i->z, Z_FINISH) == Z_STREAM_END && i->z.avail_in == 0 &&
           i->z.avail_out == 0;
}
