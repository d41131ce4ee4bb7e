/* SPDX-License-Identifier: Apache-2.0 */
/* ITU-T T.81, annex F.1. */
#include "decode/formats/jpeg_scan_write.h"

#include "base/grow.h"
#include "base/status.h"
#include "decode/packed/segment_parts.h"

#include <stdlib.h>
#include <string.h>

/* Most bytes of an MCU, stuffed, with a marker before it. */
#define MCU_BYTES (D_MAX_BLOCKS_IN_MCU * DCTSIZE2 * 4 * 2 + 16)

struct codes {
    uint32_t code[256];
    uint8_t length[256]; /* 0: none */
};

struct component {
    const struct fdl_jpeg_coefficients *of;
    uint32_t h, v;
    struct codes dc, ac;
    int32_t last_dc;
};

struct scan {
    struct component components[MAX_COMPS_IN_SCAN];
    int n;
    struct fdl_bytes *out;
    uint64_t bits; /* the lowest `count` are not written yet */
    unsigned count;
    bool missing; /* a code */
};

int32_t fdl_bytes_add(struct fdl_bytes *to, const void *from, uint64_t n)
{
    void *data = to->data;
    int32_t status = FEEDLINE_OK;
    if (n > 0)
        status = fdl_array_reserve(&data, &to->capacity, to->n + n, 1,
                                   "a JPEG file");
    to->data = data;
    if (status || n == 0)
        return status;
    memcpy(to->data + to->n, from, n);
    to->n += n;
    return FEEDLINE_OK;
}

/* False: no table. */
static bool make_codes(struct codes *c, const JHUFF_TBL *from)
{
    uint32_t code = 0, n = 0;
    memset(c, 0, sizeof(*c));
    if (!from)
        return false;
    for (uint8_t length = 1; length <= 16; length++, code <<= 1) {
        for (uint32_t i = 0; i < from->bits[length] && n < 256; i++, n++) {
            c->code[from->huffval[n]] = code++;
            c->length[from->huffval[n]] = length;
        }
    }
    return true;
}

/* ---- Bits ---------------------------------------------------------------- */

/* There is room for an MCU. */
static void put_bits(struct scan *s, uint32_t bits, unsigned n)
{
    s->bits = s->bits << n | (bits & ((UINT64_C(1) << n) - 1));
    s->count += n;
    while (s->count >= 8) {
        uint8_t byte = (uint8_t)(s->bits >> (s->count - 8));
        s->count -= 8;
        s->out->data[s->out->n++] = byte;
        if (byte == 0xff)
            s->out->data[s->out->n++] = 0;
    }
}

static void fill_byte(struct scan *s, unsigned fill)
{
    if (s->count > 0)
        put_bits(s, fill ? 0xff : 0, 8 - s->count);
}

static void put_symbol(struct scan *s, const struct codes *c, unsigned symbol)
{
    s->missing |= c->length[symbol] == 0;
    put_bits(s, c->code[symbol], c->length[symbol]);
}

/* A symbol that ends with the length of the value behind it. */
static void put_value(struct scan *s, const struct codes *c, unsigned run,
                      int32_t value, unsigned most)
{
    uint32_t size = (uint32_t)abs(value);
    unsigned n = 0;
    for (; size > 0; size >>= 1)
        n++;
    s->missing |= n > most;
    put_symbol(s, c, (run << 4 | n) & 255);
    put_bits(s, (uint32_t)(value < 0 ? value - 1 : value), n);
}

/* ---- Blocks -------------------------------------------------------------- */

static void put_block(struct scan *s, struct component *c, const int16_t *block)
{
    unsigned run = 0;
    put_value(s, &c->dc, 0, block[0] - c->last_dc, 16);
    c->last_dc = block[0];
    for (int k = 1; k < DCTSIZE2; k++) {
        int16_t value = block[fdl_segment_natural[k]];
        if (value == 0) {
            run++;
            continue;
        }
        for (; run > 15; run -= 16)
            put_symbol(s, &c->ac, 0xf0);
        put_value(s, &c->ac, run, value, 15);
        run = 0;
    }
    if (run > 0)
        put_symbol(s, &c->ac, 0);
}

static void put_mcu(struct scan *s, uint32_t row, uint32_t column)
{
    for (int i = 0; i < s->n; i++) {
        struct component *c = &s->components[i];
        for (uint32_t y = 0; y < c->v; y++) {
            size_t at = (size_t)(row * c->v + y) * c->of->wide + column * c->h;
            for (uint32_t x = 0; x < c->h; x++)
                put_block(s, c, c->of->blocks[at + x]);
        }
    }
}

static void put_restart(struct scan *s, unsigned number, unsigned fill)
{
    fill_byte(s, fill);
    s->out->data[s->out->n++] = 0xff;
    s->out->data[s->out->n++] = (uint8_t)(JPEG_RST0 + number);
    for (int i = 0; i < s->n; i++)
        s->components[i].last_dc = 0;
}

/* ---- The scan ------------------------------------------------------------ */

/* NULL: there is none; the number is the file's. */
static const JHUFF_TBL *table_of(JHUFF_TBL *const *tables, int number)
{
    return number < NUM_HUFF_TBLS ? tables[number] : NULL;
}

static bool prepare(struct scan *s, const struct jpeg_decompress_struct *c,
                    const struct fdl_jpeg_coefficients *components)
{
    s->n = c->comps_in_scan;
    for (int i = 0; i < s->n; i++) {
        const jpeg_component_info *info = c->cur_comp_info[i];
        struct component *to = &s->components[i];
        to->of = &components[info->component_index];
        to->h = s->n == 1 ? 1 : (uint32_t)info->h_samp_factor;
        to->v = s->n == 1 ? 1 : (uint32_t)info->v_samp_factor;
        if (!make_codes(&to->dc,
                        table_of(c->dc_huff_tbl_ptrs, info->dc_tbl_no)) ||
            !make_codes(&to->ac,
                        table_of(c->ac_huff_tbl_ptrs, info->ac_tbl_no)))
            return false;
    }
    return true;
}

static int32_t reserve_mcu(struct fdl_bytes *out)
{
    void *data = out->data;
    int32_t status = fdl_array_reserve(&data, &out->capacity,
                                       out->n + MCU_BYTES, 1, "a JPEG file");
    out->data = data;
    return status;
}

static int32_t put_all(struct scan *s, uint32_t restart, unsigned fill)
{
    const struct component *first = &s->components[0];
    uint32_t columns = first->of->wide / first->h;
    uint64_t n = (uint64_t)columns * (first->of->high / first->v);
    for (uint64_t i = 0; i < n; i++) {
        int32_t status = reserve_mcu(s->out);
        if (status)
            return status;
        if (restart > 0 && i > 0 && i % restart == 0)
            put_restart(s, (i / restart - 1) & 7, fill);
        put_mcu(s, (uint32_t)(i / columns), (uint32_t)(i % columns));
    }
    fill_byte(s, fill);
    return FEEDLINE_OK;
}

int32_t fdl_jpeg_scan_write(const struct jpeg_decompress_struct *c,
                            const struct fdl_jpeg_coefficients *components,
                            unsigned fill, struct fdl_bytes *out)
{
    struct scan *s = calloc(1, sizeof(*s));
    if (!s)
        return fdl_fail_memory(sizeof(*s), "a JPEG file");
    s->out = out;
    int32_t status = FEEDLINE_OK;
    s->missing = !prepare(s, c, components);
    if (!s->missing)
        status = put_all(s, c->restart_interval, fill);
    if (!status && s->missing)
        status = fdl_fail(FEEDLINE_EDECODE, "offset 0: the Huffman tables have "
                                            "no code for some value");
    free(s);
    return status;
}
