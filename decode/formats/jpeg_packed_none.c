/* SPDX-License-Identifier: Apache-2.0 */
/* Where libjpeg's jpegint.h is not installed, nothing can be put in its place.
 */
#include "base/status.h"
#include "decode/formats/jpeg_packed.h"

struct fdl_jpeg_packed *fdl_jpeg_packed_attach(
    struct jpeg_decompress_struct *c, const struct fdl_packed *p,
    const uint8_t *file, void (*fail)(struct jpeg_decompress_struct *c))
{
    (void)c;
    (void)p;
    (void)file;
    (void)fail;
    fdl_fail(FEEDLINE_EDECODE, "offset 0: this is a packed JPEG, and this "
                               "feedline was built without jpegint.h");
    return NULL;
}

struct fdl_jpeg_blocks *fdl_jpeg_packed_blocks(struct fdl_jpeg_packed *e)
{
    (void)e;
    return NULL;
}
