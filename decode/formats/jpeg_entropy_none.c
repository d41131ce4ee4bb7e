/* SPDX-License-Identifier: Apache-2.0 */
/* Where libjpeg's jpegint.h is not installed, its own Huffman decoder stays. */
#include "decode/formats/jpeg_entropy.h"

struct fdl_jpeg_entropy {
    char nothing;
};

struct fdl_jpeg_entropy *fdl_jpeg_entropy_create(void)
{
    static struct fdl_jpeg_entropy none;
    return &none;
}

void fdl_jpeg_entropy_destroy(struct fdl_jpeg_entropy *e)
{
    (void)e;
}

size_t fdl_jpeg_entropy_memory(void)
{
    return 0;
}

bool fdl_jpeg_entropy_attach(struct fdl_jpeg_entropy *e,
                             struct jpeg_decompress_struct *c,
                             const uint8_t *end,
                             void (*give_up)(struct jpeg_decompress_struct *c))
{
    (void)e;
    (void)c;
    (void)end;
    (void)give_up;
    return false;
}

struct fdl_jpeg_blocks *fdl_jpeg_entropy_blocks(struct fdl_jpeg_entropy *e)
{
    (void)e;
    return NULL;
}

void fdl_jpeg_entropy_use(struct fdl_jpeg_entropy *e,
                          const struct jpeg_decompress_struct *c,
                          struct fdl_entry_notes *notes)
{
    (void)e;
    (void)c;
    (void)notes;
}

bool fdl_jpeg_entropy_rest_is_sound(const struct fdl_jpeg_entropy *e)
{
    (void)e;
    return true;
}
