/* SPDX-License-Identifier: Apache-2.0 */
/* Which function looks up, and the tables as it wants them. */
#include "decode/kernels/finish_lookup.h"

/* Elements of a sample, from which on tables are split in less time than that
 * saves. */
#define SPLIT_PAYS ((size_t)1 << 12)

const struct fdl_lookup_kernels fdl_lookup_none = {0};

/* NULL: that of plain C. */
static fdl_finish_fn by_split(const struct fdl_lookup_kernels *k,
                              const struct fdl_output_format *f,
                              uint32_t element_bytes)
{
    bool packed = f->nhwc && f->channels > 1;
    size_t pixels = (size_t)f->width * (size_t)f->height;
    if (pixels * (size_t)f->channels < SPLIT_PAYS)
        return NULL;
    if (element_bytes == 4 && packed)
        return f->channels == 3 ? k->nhwc_4 : NULL;
    if (element_bytes == 4)
        return k->nchw_4;
    return element_bytes == 8 && !packed ? k->nchw_8 : NULL;
}

fdl_finish_fn fdl_finish_lookup(const struct fdl_lookup_kernels *k,
                                const struct fdl_output_format *format,
                                uint32_t element_bytes)
{
    fdl_finish_fn found = by_split(k, format, element_bytes);
    return found ? found : fdl_finish_lookup_c(element_bytes, format->nhwc);
}

static void split(const uint8_t *table, uint32_t element_bytes,
                  uint8_t (*to)[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        for (uint32_t b = 0; b < element_bytes; b++)
            to[b][i] = *table++;
    }
}

void fdl_finish_set_lookup(const struct fdl_lookup_kernels *k,
                           const struct fdl_output_format *format,
                           const void *lookup, uint32_t element_bytes,
                           struct fdl_affine *affine)
{
    const uint8_t *table = lookup;
    affine->lookup = lookup;
    if (!by_split(k, format, element_bytes))
        return;
    for (int32_t c = 0; c < format->channels; c++, table += 256 * element_bytes)
        split(table, element_bytes, affine->split[c]);
}
