/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of several scans, read side by side: coefficients are those that
 * libjpeg reads, of any part of the image, and no file of libjpeg's is given
 * up. That pixels and verdicts are the same is tested in test_entropy.c.
 */
#include "base/cpu.h"
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_progressive.h"
#include "decode/formats/jpeg_transform.h"
#include "tests/decode/parts.h"

enum { SIDE = 150 };

struct reader {
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr err;
    struct jpeg_progress_mgr progress;
    jmp_buf gave_up;
    int scans, rows;
};

static void give_up(struct jpeg_decompress_struct *c)
{
    struct reader *r = c->client_data;
    longjmp(r->gave_up, 1);
}

static void on_row(struct jpeg_decompress_struct *c)
{
    struct reader *r = c->client_data;
    r->rows++;
}

static void on_scan(j_common_ptr c)
{
    struct reader *r = c->client_data;
    r->scans++;
}

/* Up to the data of the first scan. */
static void start(struct reader *r, const uint8_t *file, size_t size)
{
    memset(r, 0, sizeof(*r));
    r->c.err = jpeg_std_error(&r->err);
    r->c.client_data = r;
    r->progress.progress_monitor = on_scan;
    jpeg_create_decompress(&r->c);
    jpeg_mem_src(&r->c, file, size);
    jpeg_read_header(&r->c, TRUE);
}

static struct fdl_jpeg_progressive *open_scans(struct reader *r,
                                               const uint8_t *file, size_t size)
{
    start(r, file, size);
    r->c.progress = &r->progress;
    jpeg_calc_output_dimensions(&r->c);
    return fdl_jpeg_progressive_open(
        &r->c, file + size,
        (struct fdl_jpeg_progressive_user){give_up, on_row});
}

static struct make_jpeg any_of_several_scans(uint64_t *seed)
{
    struct make_jpeg m = make_any(seed, SIDE, SIDE);
    if (m.components > 1)
        m.components = 3;
    m.h = m.components > 1 ? make_within(seed, 1, 2) : 1;
    m.v = m.components > 1 ? make_within(seed, 1, 2) : 1;
    m.separate = m.components > 1 && make_within(seed, 0, 4) == 0;
    m.progressive = !m.separate;
    m.scans = make_within(seed, 0, 3) ? make_random(seed) : 0;
    return m;
}

/* Whole files of each component, by libjpeg. */
struct planes {
    struct reader r;
    jvirt_barray_ptr *arrays;
};

static const JCOEF *libjpegs_block(struct planes *p, int component, uint32_t x,
                                   uint32_t y)
{
    JBLOCKARRAY row = p->r.c.mem->access_virt_barray(
        (j_common_ptr)&p->r.c, p->arrays[component], y, 1, FALSE);
    return row[0][x];
}

/* An MCU's blocks, with room for the right one of each pair. */
struct mcu {
    JCOEF blocks[D_MAX_BLOCKS_IN_MCU][FDL_PAIR_COEFFICIENTS];
};

static void check_block(const JCOEF *got, const JCOEF *want, unsigned last)
{
    unsigned found = 0;
    for (unsigned k = 0; k < DCTSIZE2; k++) {
        unsigned at = fdl_jpeg_pair_order[k], natural = at / 16 * 8 + at % 8;
        if (got[at] != want[natural])
            fail_msg("coefficient %u: %d, and libjpeg's %d", k, got[at],
                     want[natural]);
        found = want[natural] != 0 ? k : found;
    }
    assert_true(last >= found);
}

static void check_mcu(struct planes *p, const struct mcu *mcu,
                      const uint8_t *last, uint32_t column, uint32_t row)
{
    int n = 0;
    for (int i = 0; i < p->r.c.num_components; i++) {
        const jpeg_component_info *info = &p->r.c.comp_info[i];
        uint32_t wide = (uint32_t)info->h_samp_factor;
        uint32_t high = (uint32_t)info->v_samp_factor;
        for (uint32_t b = 0; b < wide * high; b++, n++) {
            uint32_t x = column * wide + b % wide, y = row * high + b / wide;
            if (x < info->width_in_blocks && y < info->height_in_blocks)
                check_block(mcu->blocks[n], libjpegs_block(p, i, x, y),
                            last[n]);
        }
    }
}

static uint32_t mcus(JDIMENSION size, int factor)
{
    uint32_t side = (uint32_t)factor * DCTSIZE;
    return (size + side - 1) / side;
}

static void point_lane(struct fdl_jpeg_lane *lane,
                       struct mcu unit[FDL_JPEG_UNIT])
{
    memset(unit, 0, FDL_JPEG_UNIT * sizeof(*unit));
    for (int m = 0; m < FDL_JPEG_UNIT; m++)
        for (int i = 0; i < D_MAX_BLOCKS_IN_MCU; i++)
            lane->blocks[m][i] = (JBLOCKROW)(void *)unit[m].blocks[i];
}

/* A part of the image. */
static void check_part(struct planes *p, const uint8_t *file, size_t size,
                       uint64_t *seed)
{
    struct reader r;
    struct mcu unit[FDL_JPEG_UNIT];
    struct fdl_jpeg_lane lane;
    struct fdl_jpeg_progressive *scans = open_scans(&r, file, size);
    assert_non_null(scans);
    uint32_t wide = mcus(r.c.image_width, r.c.max_h_samp_factor);
    uint32_t high = mcus(r.c.image_height, r.c.max_v_samp_factor);
    struct fdl_box part = part_of(seed, (int32_t)wide, (int32_t)high);
    struct fdl_jpeg_blocks *source = fdl_jpeg_progressive_blocks(scans);
    uint32_t left = (uint32_t)part.x, top = (uint32_t)part.y;
    if (setjmp(r.gave_up))
        fail_msg("given up");
    point_lane(&lane, unit);
    source->go(source, &r.c, top, 1, left, 1, &lane);
    fdl_jpeg_progressive_keep(scans, &r.c, left, (uint32_t)part.width);
    for (uint32_t y = 0; y < (uint32_t)part.height; y++) {
        source->go(source, &r.c, top + y, 1, left, (uint32_t)part.width, &lane);
        for (uint32_t x = 0; x < (uint32_t)part.width; x++) {
            uint32_t m = x % fdl_jpeg_unit(&r.c);
            if (m == 0) {
                point_lane(&lane, unit);
                source->take(source, &r.c);
            }
            check_mcu(p, &unit[m], lane.last[m], left + x, top + y);
        }
    }
    assert_int_equal(r.rows, part.y + part.height); /* and none below */
    jpeg_destroy_decompress(&r.c);
}

static void need_ours(void)
{
    if (!fdl_jpeg_transform() || fdl_jpeg_entropy_memory() == 0)
        test_skip("this machine or build leaves such files to libjpeg");
}

TEST(coefficients_are_libjpegs)
{
    uint64_t seed = test_seed();
    need_ours();
    for (int round = 0; round < 400; round++) {
        struct make_jpeg m = any_of_several_scans(&seed);
        size_t size;
        fdl_cpu_set_level(round % 2 ? FDL_CPU_AVX2 : FDL_CPU_AVX512);
        uint8_t *file = make_jpeg(&m, &size);
        struct planes p;
        start(&p.r, file, size);
        p.arrays = jpeg_read_coefficients(&p.r.c);
        for (int part = 0; part < 3; part++)
            check_part(&p, file, size, &seed);
        jpeg_destroy_decompress(&p.r.c);
        free(file);
    }
}

/* libjpeg smooths those that lack scans. */
TEST(files_that_lack_scans_are_left_alone)
{
    uint64_t seed = test_seed();
    need_ours();
    for (int round = 0; round < 100; round++) {
        struct make_jpeg m = any_of_several_scans(&seed);
        m.progressive = true;
        m.scans = make_random(&seed);
        m.lacking = round % 2;
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct reader r;
        assert_int_equal(open_scans(&r, file, size) == NULL, m.lacking);
        assert_true(r.scans > 0);
        jpeg_destroy_decompress(&r.c);
        free(file);
    }
}

/* Of scan number n: the byte of its header that has Ah and Al. */
static uint8_t *bits_of_scan(uint8_t *file, int n)
{
    uint8_t *at = file + 1;
    for (; n > 0; n -= at[-2] == 0xff && at[-1] == 0xda)
        at++;
    return at + (at[0] << 8 | at[1]) - 1;
}

/* Which of two faults of a scan counts is for libjpeg to say. */
TEST(a_scan_too_many_that_is_not_sound)
{
    struct make_jpeg m = {
        .width = 50, .height = 40, .components = 3, .progressive = true};
    size_t size;
    uint8_t *file = make_jpeg(&m, &size);
    struct fdl_encoded bytes = file_of(file, size);
    for (int damaged = 0; damaged < 2; damaged++) {
        if (damaged)
            *bits_of_scan(file, 4) = 0x18;
        for (int plain = 0; plain < 2; plain++) {
            struct fdl_image_info info;
            struct fdl_box box = {0, 0, 50, 40};
            static uint8_t pixels[50 * 40 * 3];
            SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){
                .max_scans = 3, .libjpeg_huffman = plain});
            assert_false(fdl_decoder_open(d, &bytes, &info));
            assert_int_equal(part_render(d, &info, &box, 1, pixels),
                             damaged ? FEEDLINE_EDECODE : FEEDLINE_ERANGE);
        }
    }
    free(file);
}

TEST_MAIN("decode_progressive")
