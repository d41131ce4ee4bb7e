/* SPDX-License-Identifier: Apache-2.0 */
/* Where libjpeg's jpegint.h is not installed, nothing can take the place of its
 * own Huffman decoder. */
#include "base/status.h"
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_packed.h"
#include "decode/formats/jpeg_progressive.h"

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

void fdl_jpeg_entropy_note_rest(struct fdl_jpeg_entropy *e)
{
    (void)e;
}

bool fdl_jpeg_entropy_is_through(const struct fdl_jpeg_entropy *e)
{
    (void)e;
    return true;
}

bool fdl_jpeg_entropy_rest_is_sound(const struct fdl_jpeg_entropy *e)
{
    (void)e;
    return true;
}

struct fdl_jpeg_packed *fdl_jpeg_packed_attach(
    struct jpeg_decompress_struct *c, const struct fdl_packed *p,
    const uint8_t *file, void (*fail)(struct jpeg_decompress_struct *c))
{
    (void)c;
    (void)p;
    (void)file;
    (void)fail;
    fdl_fail(FEEDLINE_EDECODE,
             "offset 0: this is a packed JPEG, and this feedline was built "
             "without libjpeg-turbo's jpegint.h: build it with that file "
             "beside jpeglib.h");
    return NULL;
}

bool fdl_jpeg_packed_is_of(const struct fdl_packed *p,
                           const struct jpeg_decompress_struct *c)
{
    (void)p;
    (void)c;
    return false;
}

struct fdl_jpeg_blocks *fdl_jpeg_packed_blocks(struct fdl_jpeg_packed *e)
{
    (void)e;
    return NULL;
}

struct fdl_jpeg_progressive *fdl_jpeg_progressive_open(
    struct jpeg_decompress_struct *c, const uint8_t *end,
    struct fdl_jpeg_progressive_user user)
{
    (void)c;
    (void)end;
    (void)user;
    return NULL;
}

struct fdl_jpeg_blocks *fdl_jpeg_progressive_blocks(
    struct fdl_jpeg_progressive *p)
{
    (void)p;
    return NULL;
}

void fdl_jpeg_progressive_keep(struct fdl_jpeg_progressive *p,
                               struct jpeg_decompress_struct *c, uint32_t first,
                               uint32_t n)
{
    (void)p;
    (void)c;
    (void)first;
    (void)n;
}
