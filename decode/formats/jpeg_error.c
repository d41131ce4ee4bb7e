/* SPDX-License-Identifier: Apache-2.0 */
/* What libjpeg's errors are called; see jpeg_error.h. */
#include "decode/formats/jpeg_error.h"

#include "base/status.h"

#include <inttypes.h>
#include <jerror.h>

/* Describes a file that libjpeg does not decode. */
static const char *process_name(int marker)
{
    static const char *const names[] = {
        [0x3] = "lossless",
        [0x5] = "hierarchical",
        [0x6] = "hierarchical progressive",
        [0x7] = "hierarchical lossless",
        [0x8] = "reserved",
        [0x9] = "arithmetic-coded",
        [0xa] = "arithmetic-coded progressive",
        [0xb] = "arithmetic-coded lossless",
        [0xd] = "arithmetic-coded hierarchical",
        [0xe] = "arithmetic-coded hierarchical progressive",
        [0xf] = "arithmetic-coded hierarchical lossless",
    };
    return names[marker & 0xf] ? names[marker & 0xf] : "unknown";
}

int32_t fdl_jpeg_fail_precision(uint64_t at, int bits)
{
    return fdl_fail(FEEDLINE_EDECODE,
                    "offset %" PRIu64 ": JPEG of %d bits is not decoded; "
                    "8 bits are supported",
                    at, bits);
}

int32_t fdl_jpeg_fail(j_common_ptr c, uint64_t at)
{
    char text[JMSG_LENGTH_MAX];
    c->err->format_message(c, text);
    const int *number = c->err->msg_parm.i;
    switch (c->err->msg_code) {
    case JERR_OUT_OF_MEMORY:
    case JERR_NO_BACKING_STORE:
        return fdl_fail(FEEDLINE_ENOMEM, "JPEG: %s", text);
    case JERR_SOF_UNSUPPORTED:
        return fdl_fail(FEEDLINE_EDECODE,
                        "offset %" PRIu64 ": %s JPEG (SOF%d) is not decoded by "
                        "this libjpeg; make it a PNG or another JPEG",
                        at, process_name(number[0]), number[0] & 0xf);
    case JERR_ARITH_NOTIMPL:
        return fdl_fail(FEEDLINE_EDECODE,
                        "offset %" PRIu64 ": arithmetic-coded JPEG is not "
                        "decoded by this libjpeg",
                        at);
    case JERR_BAD_PRECISION:
        return fdl_jpeg_fail_precision(at, number[0]);
    default:
        return fdl_fail(FEEDLINE_EDECODE, "offset %" PRIu64 ": %s", at, text);
    }
}
