/* SPDX-License-Identifier: Apache-2.0 */
/* What zlib makes of a deflate stream without header and checksum, and our
 * inflate must make of it, too. */
#ifndef FDL_TESTS_ZLIB_VERDICT_H
#define FDL_TESTS_ZLIB_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

struct zlib_verdict {
    bool ends;
    size_t read, size; /* of the input up to there; of what it makes */
};

static inline struct zlib_verdict zlib_verdict(const uint8_t *in, size_t n,
                                               uint8_t *out, size_t room)
{
    z_stream z = {0};
    struct zlib_verdict v = {false, 0, 0};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return v;
    memcpy(&z.next_in, &in, sizeof(z.next_in)); /* it is only read */
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)room;
    v.ends = inflate(&z, Z_FINISH) == Z_STREAM_END;
    v.read = n - z.avail_in;
    v.size = room - z.avail_out;
    inflateEnd(&z);
    return v;
}

#endif
