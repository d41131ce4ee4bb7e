/* SPDX-License-Identifier: Apache-2.0 */
/* APP1 segments of a JPEG; see jpeg_orientation.h. */
#include "decode/formats/jpeg_orientation.h"

#include "base/status.h"
#include "decode/formats/exif.h"

#include <string.h>

/* The memory doubles, as a file may consist of such segments. */
static int32_t join(struct fdl_jpeg_profile *p, struct fdl_arena *arena,
                    const uint8_t *data, size_t size)
{
    size_t whole = p->size + size;
    if (whole > p->capacity) {
        uint8_t *joined = fdl_arena_take(arena, 2 * whole);
        if (!joined)
            return fdl_fail_memory(2 * whole, "EXIF data");
        memcpy(joined, p->data, p->size);
        p->data = p->joined = joined;
        p->capacity = 2 * whole;
    }
    memcpy(p->joined + p->size, data, size);
    p->size = whole;
    return FEEDLINE_OK;
}

/* As in Pillow, EXIF data goes on in the next segment with such data, and of
 * those with XMP the last one counts. */
int32_t fdl_jpeg_profiles_add(struct fdl_jpeg_profiles *p,
                              struct fdl_arena *arena, const uint8_t *data,
                              size_t size)
{
    static const char xmp[] = "http://ns.adobe.com/xap/1.0/";
    if (fdl_exif_is_prefixed(data, size)) {
        if (p->exif.data)
            return join(&p->exif, arena, data + FDL_EXIF_PREFIX_BYTES,
                        size - FDL_EXIF_PREFIX_BYTES);
        p->exif = (struct fdl_jpeg_profile){.data = data, .size = size};
    } else if (size >= sizeof(xmp) && memcmp(data, xmp, sizeof(xmp)) == 0) {
        p->xmp = (struct fdl_jpeg_profile){.data = data + sizeof(xmp),
                                           .size = size - sizeof(xmp)};
    }
    return FEEDLINE_OK;
}

int32_t fdl_jpeg_profiles_orientation(const struct fdl_jpeg_profiles *p)
{
    int32_t found = 1;
    if (!fdl_exif_find(p->exif.data, p->exif.size, &found))
        found = fdl_xmp_orientation(p->xmp.data, p->xmp.size);
    return found;
}
