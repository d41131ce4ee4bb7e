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

const uint8_t *fdl_jpeg_entropy_take(struct fdl_jpeg_entropy *e,
                                     struct jpeg_decompress_struct *c,
                                     JBLOCKROW *mcu, const uint8_t *order)
{
    (void)e;
    (void)c;
    (void)mcu;
    return order;
}

void fdl_jpeg_entropy_skip(struct fdl_jpeg_entropy *e,
                           struct jpeg_decompress_struct *c, uint64_t mcus)
{
    (void)e;
    (void)c;
    (void)mcus;
}

bool fdl_jpeg_entropy_rest_is_sound(const struct fdl_jpeg_entropy *e)
{
    (void)e;
    return true;
}
