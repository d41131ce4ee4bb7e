/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our Huffman decoders against libjpeg's: whatever the file, sound or damaged,
 * pixels, status and words must be those of the decoder that leaves it to
 * libjpeg. And it must be at work where it claims to be. The same where it
 * enters the data at places that it noted before.
 */
#include "base/cpu.h"
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_transform.h"
#include "tests/decode/kept_entries.h"
#include "tests/decode/parts.h"

enum { SIDE = 120, BYTES = SIDE * SIDE * 3 };

static struct fdl_decoder *create(bool plain, double accept_truncated)
{
    return rig_decoder((struct fdl_decode_limits){
        .accept_truncated = accept_truncated, .libjpeg_huffman = plain});
}

struct outcome {
    int32_t status;
    char words[256];
    uint8_t pixels[BYTES];
};

/* A part of the file as it is, without resampling. */
static void decode(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                   uint64_t seed, struct outcome *o)
{
    struct fdl_image_info info;
    memset(o, 0, sizeof(*o));
    fdl_clear_error();
    o->status = fdl_decoder_open(d, bytes, &info);
    if (!o->status && (info.width > SIDE || info.height > SIDE)) {
        fdl_decoder_abort(d); /* damage can make any size */
        return;
    }
    if (!o->status) {
        struct fdl_box box = part_of(&seed, info.width, info.height);
        o->status = part_render(d, &info, &box, 1, o->pixels);
    }
    if (o->status) {
        memset(o->pixels, 0, sizeof(o->pixels)); /* undefined then */
        snprintf(o->words, sizeof(o->words), "%s", fdl_last_error());
    }
}

/* Whether pixels are libjpeg's where coefficients overflow, as damage makes
 * them: ours are those of its code for x86 everywhere. */
#if defined(__aarch64__)
static const bool same_overflow = false;
#else
static const bool same_overflow = true;
#endif

static void compare(struct fdl_decoder *ours, struct fdl_decoder *plain,
                    const struct fdl_encoded *bytes, bool sound, uint64_t seed,
                    uint64_t round)
{
    static struct outcome a, b;
    struct fdl_encoded noted = *bytes;
    if (round % 3)
        noted.notes = &kept_notes;
    fdl_entry_notes_begin(&kept_notes, kept_known, true);
    kept_notes.whole = round % 2;
    decode(ours, &noted, seed, &a);
    kept_add();
    decode(plain, bytes, seed, &b);
    if (a.status != b.status || strcmp(a.words, b.words) != 0)
        fail_msg("round %llu: %d \"%s\", and by libjpeg %d \"%s\"",
                 (unsigned long long)round, a.status, a.words, b.status,
                 b.words);
    if ((sound || same_overflow) &&
        memcmp(a.pixels, b.pixels, sizeof(a.pixels)) != 0)
        fail_msg("round %llu: pixels differ", (unsigned long long)round);
}

TEST(a_file_has_one_hash)
{
    uint64_t seed = test_seed();
    enum fdl_cpu_level level = fdl_cpu_level();
    uint8_t bytes[4000];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)make_random(&seed);
    for (int round = 0; round < 500; round++) {
        size_t at = (size_t)make_within(&seed, 0, 100);
        size_t size = (size_t)make_within(&seed, 0, sizeof(bytes) - 100);
        uint64_t hash = fdl_entries_hash(bytes + at, size);
        fdl_cpu_set_level(FDL_CPU_C);
        uint64_t plain = fdl_entries_hash(bytes + at, size);
        fdl_cpu_set_level(level);
        assert_true(hash == plain);
    }
}

TEST(sound_files_are_libjpegs)
{
    uint64_t seed = test_seed();
    struct fdl_decoder *ours = create(false, 0), *plain = create(true, 0);
    for (uint64_t round = 0; round < 1500; round++) {
        struct make_jpeg m = make_any_coding(&seed, SIDE, SIDE);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct fdl_encoded bytes = file_of(file, size);
        bytes.readable += round % 2 ? FDL_ENCODED_PADDING : 0;
        kept_forget();
        for (int crop = 0; crop < 4; crop++)
            compare(ours, plain, &bytes, true, make_random(&seed), round);
        free(file);
    }
    assert_true(kept_jumped > 0 || !kept_is_possible());
    fdl_decoder_destroy(ours);
    fdl_decoder_destroy(plain);
}

/* Its rows are followed side by side from the second time on. */
TEST(whole_images_are_noted_and_entered)
{
    static uint8_t pixels[3][BYTES];
    uint64_t seed = test_seed();
    struct make_jpeg m = make_any(&seed, SIDE, SIDE);
    m.width = m.height = SIDE;
    m.components = 3;
    m.h = m.v = 1;
    m.quality = 95;
    size_t size;
    uint8_t *file = make_jpeg(&m, &size);
    struct fdl_encoded bytes = file_of(file, size);
    const struct fdl_box whole = {0, 0, SIDE, SIDE};
    kept_forget();
    for (int i = 0; i < 3; i++) {
        SCOPED_DECODER d = create(i == 0, 0);
        struct fdl_render_cost cost;
        fdl_entry_notes_begin(&kept_notes, kept_known, true);
        bytes.notes = i > 0 ? &kept_notes : NULL;
        assert_int_equal(rig_decode(d, &bytes, whole, SIDE, pixels[i], &cost),
                         FEEDLINE_OK);
        kept_add();
        assert_memory_equal(pixels[i], pixels[0], BYTES);
    }
    assert_true(!kept_is_possible() || kept_known->n > 0);
    assert_true(kept_notes.same == (kept_known->n > 0));
    free(file);
}

/* What transfers and disks do to files: bytes changed, runs lost, the end cut,
 * markers where none belong. */
static size_t damage(uint8_t *file, size_t size, uint64_t *seed)
{
    static const uint8_t markers[][2] = {
        {0xff, 0xd9}, {0xff, 0xd0}, {0xff, 0xd3}, {0xff, 0xda},
        {0xff, 0xc4}, {0xff, 0xff}, {0xff, 0x00}, {0xff, 0xfe},
    };
    size_t at = make_random(seed) % size;
    switch (make_within(seed, 0, 4)) {
    case 0:
        return at;
    case 1: {
        size_t lost = (size_t)make_within(seed, 1, 60);
        lost = FDL_MIN(lost, size - at);
        memmove(file + at, file + at + lost, size - at - lost);
        return size - lost;
    }
    case 2:
        if (at + 2 <= size)
            memcpy(file + at, markers[make_within(seed, 0, 7)], 2);
        return size;
    case 3:
        file[at] ^= (uint8_t)(1 << make_within(seed, 0, 7));
        return size;
    default:
        file[at] = (uint8_t)make_random(seed);
        return size;
    }
}

static void check_damage(double accept_truncated)
{
    uint64_t seed = test_seed();
    SCOPED_DECODER ours = create(false, accept_truncated);
    SCOPED_DECODER plain = create(true, accept_truncated);
    for (uint64_t round = 0; round < 6000; round++) {
        struct make_jpeg m = make_any_coding(&seed, SIDE, SIDE);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct fdl_encoded sound = file_of(file, size);
        kept_forget();
        compare(ours, plain, &sound, true, make_random(&seed), round);
        for (int i = make_within(&seed, 1, 3); i > 0 && size > 4; i--)
            size = damage(file, size, &seed);
        memset(file + size, 0, FDL_ENCODED_PADDING);
        struct fdl_encoded bytes = file_of(file, size);
        bytes.readable += round % 2 ? FDL_ENCODED_PADDING : 0;
        for (int crop = 0; crop < 2; crop++)
            compare(ours, plain, &bytes, false, make_random(&seed), round);
        free(file);
    }
}

TEST(damaged_files_are_libjpegs)
{
    check_damage(0);
}

TEST(damaged_and_accepted_files_are_libjpegs)
{
    check_damage(0.25);
}

/* Large enough for several symbols at a look; a crop, or the whole at 1/8. */
TEST(large_files_are_libjpegs)
{
    static uint8_t pixels[2][60 * 60 * 3];
    uint64_t seed = test_seed();
    for (int round = 0; round < 24; round++) {
        struct make_jpeg m = {.width = 900,
                              .height = 700,
                              .components = 3,
                              .h = make_within(&seed, 1, 2),
                              .v = make_within(&seed, 1, 2),
                              .quality = make_within(&seed, 94, 100),
                              .optimize = round % 2,
                              .restart = round % 3 ? 0 : 50,
                              .seed = make_random(&seed)};
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        if (round == 0)
            assert_true(size > 300000); /* else this is not about large files */
        if (round % 4 == 3)
            file[size / 2 + make_random(&seed) % (size / 2 - 2)] ^= 0x10;
        struct fdl_encoded bytes = file_of(file, size);
        struct fdl_box box = {0, 0, 900, 700};
        if (round % 3)
            box = (struct fdl_box){make_within(&seed, 0, 840),
                                   make_within(&seed, 0, 640), 60, 60};
        int32_t status[2];
        for (int plain = 0; plain < 2; plain++) {
            SCOPED_DECODER d = rig_decoder(
                (struct fdl_decode_limits){.max_pixels = 1u << 20,
                                           .fast = true,
                                           .libjpeg_huffman = plain});
            struct fdl_render_cost cost;
            status[plain] =
                rig_decode(d, &bytes, box, 60, pixels[plain], &cost);
        }
        assert_int_equal(status[0], status[1]);
        assert_true(status[0] == FEEDLINE_OK || round % 4 == 3);
        if (status[0] == FEEDLINE_OK)
            assert_memory_equal(pixels[0], pixels[1], sizeof(pixels[0]));
        free(file);
    }
}

/* Large enough for what is skipped to be worth its tables. */
TEST(crops_of_sound_and_damaged_files_are_libjpegs)
{
    enum { CROP = 40, WIDTH = 240, HEIGHT = 200 };
    static uint8_t pixels[2][CROP * CROP * 3];
    uint64_t seed = test_seed();
    SCOPED_DECODER ours = create(false, 0);
    SCOPED_DECODER plain = create(true, 0);
    for (int round = 0; round < 800; round++) {
        struct make_jpeg m = make_any(&seed, WIDTH, HEIGHT);
        m.width = make_within(&seed, WIDTH / 2, WIDTH);
        m.height = make_within(&seed, HEIGHT / 2, HEIGHT);
        m.quality = make_within(&seed, 85, 100);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        for (int i = make_within(&seed, -2, 2); i > 0 && size > 4; i--)
            size = damage(file, size, &seed);
        memset(file + size, 0, FDL_ENCODED_PADDING);
        struct fdl_encoded bytes = file_of(file, size);
        bytes.readable += round % 2 ? FDL_ENCODED_PADDING : 0;
        struct fdl_box box = {make_within(&seed, 0, m.width - CROP),
                              make_within(&seed, 0, m.height - CROP), CROP,
                              CROP};
        int32_t status[2];
        char words[2][256] = {"", ""};
        for (int i = 0; i < 2; i++) {
            struct fdl_render_cost cost;
            fdl_clear_error();
            status[i] = rig_decode(i ? plain : ours, &bytes, box, CROP,
                                   pixels[i], &cost);
            if (status[i])
                snprintf(words[i], sizeof(words[i]), "%s", fdl_last_error());
        }
        assert_int_equal(status[0], status[1]);
        assert_string_equal(words[0], words[1]);
        if (status[0] == FEEDLINE_OK)
            assert_memory_equal(pixels[0], pixels[1], sizeof(pixels[0]));
        free(file);
    }
}

/* ---- The decoder by itself ---------------------------------------------- */

struct reader {
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr err;
    jmp_buf gave_up;
};

static void give_up(struct jpeg_decompress_struct *c)
{
    struct reader *r = c->client_data;
    longjmp(r->gave_up, 1);
}

/* Up to the first row, with e attached if it can be. */
static bool start(struct reader *r, struct fdl_jpeg_entropy *e,
                  const uint8_t *file, size_t size)
{
    r->c.err = jpeg_std_error(&r->err);
    r->c.client_data = r;
    jpeg_create_decompress(&r->c);
    jpeg_mem_src(&r->c, file, size);
    jpeg_read_header(&r->c, TRUE);
    jpeg_start_decompress(&r->c);
    return fdl_jpeg_entropy_attach(e, &r->c, file + size, give_up);
}

/* Whether all rows came without giving up. */
static bool read_all(struct reader *r)
{
    static uint8_t row[SIDE * 4];
    if (setjmp(r->gave_up))
        return false;
    while (r->c.output_scanline < r->c.output_height) {
        JSAMPROW rows[1] = {row};
        jpeg_read_scanlines(&r->c, rows, 1);
    }
    return true;
}

static struct fdl_jpeg_entropy *make_entropy(void)
{
    if (fdl_jpeg_entropy_memory() == 0)
        test_skip("built without jpegint.h");
    struct fdl_jpeg_entropy *e = fdl_jpeg_entropy_create();
    assert_non_null(e);
    return e;
}

TEST(sequential_files_are_not_given_up)
{
    uint64_t seed = test_seed();
    struct fdl_jpeg_entropy *e = make_entropy();
    for (int round = 0; round < 500; round++) {
        struct make_jpeg m = make_any(&seed, SIDE, SIDE);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct reader r;
        assert_true(start(&r, e, file, size));
        assert_true(read_all(&r));
        jpeg_destroy_decompress(&r.c);
        free(file);
    }
    fdl_jpeg_entropy_destroy(e);
}

/* A block and as much room beside it, as jpeg_transform.h has pairs. */
typedef JCOEF pair[2 * DCTSIZE2];

/* Lanes whose units go to `space`. */
static struct fdl_jpeg_lane lanes[FDL_JPEG_LANES];
static pair space[FDL_JPEG_LANES][FDL_JPEG_UNIT * D_MAX_BLOCKS_IN_MCU];

static void point_lanes(uint32_t blocks)
{
    memset(space, 0, sizeof(space));
    for (int i = 0; i < FDL_JPEG_LANES; i++)
        for (uint32_t m = 0; m < FDL_JPEG_UNIT; m++)
            for (uint32_t b = 0; b < blocks; b++)
                lanes[i].blocks[m][b] =
                    (JBLOCKROW)(void *)space[i][m * blocks + b];
}

/* MCUs `from` to from + n - 1, all of the same row, and of rows below it; to
 * `all`, which has all of them. How many rows. */
static int32_t take_rows(struct reader *r, struct fdl_jpeg_blocks *source,
                         pair *all, uint32_t from, uint32_t n, int32_t rows)
{
    uint32_t done[FDL_JPEG_ROWS] = {0}, side = r->c.MCUs_per_row;
    uint32_t blocks = (uint32_t)r->c.blocks_in_MCU;
    point_lanes(blocks);
    rows = source->go(source, &r->c, from / side, rows, from % side, n, lanes);
    assert_true(rows >= 1 && rows <= FDL_JPEG_ROWS);
    for (uint32_t left = (uint32_t)rows * n; left > 0;) {
        int32_t i = source->take(source, &r->c);
        uint32_t row = (uint32_t)lanes[i].row;
        assert_true(row < (uint32_t)rows);
        uint32_t count = FDL_MIN(n - done[row], fdl_jpeg_unit(&r->c));
        size_t bytes = count * blocks * sizeof(pair);
        size_t at = ((size_t)from + row * side + done[row]) * blocks;
        memcpy(all + at, space[i], bytes);
        memset(space[i], 0, bytes);
        done[row] += count;
        left -= count;
    }
    return rows;
}

/* Coefficients of MCUs `from` to n - 1, gone to by way of another. */
static bool take_from(struct reader *r, struct fdl_jpeg_entropy *e, pair *all,
                      uint32_t from, uint32_t n)
{
    struct fdl_jpeg_blocks *source = fdl_jpeg_entropy_blocks(e);
    uint32_t side = r->c.MCUs_per_row, by = from / 2;
    if (setjmp(r->gave_up))
        return false;
    fdl_jpeg_entropy_use(e, &r->c, &kept_notes);
    point_lanes((uint32_t)r->c.blocks_in_MCU);
    source->go(source, &r->c, by / side, 1, by % side, 1, lanes);
    while (from < n) {
        uint32_t left = side - from % side;
        take_rows(r, source, all, from, left, 1);
        from += left;
    }
    return fdl_jpeg_entropy_rest_is_sound(e);
}

/* Any place is noted, and entered from any other before it. */
TEST(every_mcu_can_be_entered)
{
    uint64_t seed = test_seed();
    struct fdl_jpeg_entropy *e = make_entropy();
    for (int round = 0; round < 300; round++) {
        struct make_jpeg m = make_any(&seed, SIDE, SIDE);
        size_t size;
        if (m.components == 4)
            m.components = 3;
        uint8_t *file = make_jpeg(&m, &size);
        struct reader r;
        kept_forget();
        kept_notes.spacing = (uint64_t)make_within(&seed, 1, 3);
        assert_true(start(&r, e, file, size));
        uint32_t n = r.c.MCUs_per_row * r.c.MCU_rows_in_scan;
        size_t bytes = n * (size_t)r.c.blocks_in_MCU * sizeof(pair);
        pair *all = calloc(2, bytes), *again = all + bytes / sizeof(pair);
        assert_non_null(all);
        assert_true(take_from(&r, e, all, 0, n));
        assert_int_equal(kept_notes.n, (n - 1) / kept_notes.spacing);
        kept_notes.valid = true;
        kept_add();
        for (uint32_t from = 0; from < n;
             from += (uint32_t)make_within(&seed, 1, 20)) {
            jpeg_destroy_decompress(&r.c);
            assert_true(start(&r, e, file, size));
            fdl_entry_notes_begin(&kept_notes, kept_known, true);
            kept_notes.same = true;
            size_t at = from * (size_t)r.c.blocks_in_MCU;
            memset(again, 0, bytes);
            assert_true(take_from(&r, e, again, from, n));
            assert_memory_equal(all + at, again + at,
                                bytes - at * sizeof(pair));
        }
        jpeg_destroy_decompress(&r.c);
        free(all);
        free(file);
    }
    fdl_jpeg_entropy_destroy(e);
}

/* All of a small file, and that many entries as known that lie close together;
 * attached again. How many MCUs. */
static uint32_t learn(struct reader *r, struct fdl_jpeg_entropy *e,
                      const uint8_t *file, size_t size, uint64_t spacing,
                      pair **all)
{
    kept_forget();
    kept_notes.spacing = spacing;
    assert_true(start(r, e, file, size));
    uint32_t n = r->c.MCUs_per_row * r->c.MCU_rows_in_scan;
    *all = calloc(n, (size_t)r->c.blocks_in_MCU * sizeof(pair));
    assert_non_null(*all);
    assert_true(take_from(r, e, *all, 0, n));
    jpeg_destroy_decompress(&r->c);
    kept_notes.valid = true;
    kept_add();
    fdl_entry_notes_begin(&kept_notes, kept_known, false);
    kept_notes.same = true;
    return n;
}

/* Takes rows from MCU `from` on. How many; 0: gave up. */
static int32_t take_known(struct reader *r, struct fdl_jpeg_entropy *e,
                          const uint8_t *file, size_t size, pair *all,
                          uint32_t from, uint32_t n, int32_t rows)
{
    assert_true(start(r, e, file, size));
    fdl_jpeg_entropy_use(e, &r->c, &kept_notes);
    if (setjmp(r->gave_up))
        rows = 0;
    else
        rows = take_rows(r, fdl_jpeg_entropy_blocks(e), all, from, n, rows);
    jpeg_destroy_decompress(&r->c);
    return rows;
}

static void compare_rows(const pair *a, const pair *b, const struct reader *r,
                         uint32_t from, uint32_t n, int32_t rows)
{
    size_t blocks = (size_t)r->c.blocks_in_MCU, side = r->c.MCUs_per_row;
    for (size_t row = 0; row < (size_t)rows; row++) {
        size_t at = (from + row * side) * blocks;
        assert_memory_equal(a + at, b + at, n * blocks * sizeof(pair));
    }
}

/* Whatever columns of whatever rows, and however many of their entries are
 * known. */
TEST(rows_side_by_side_are_rows_alone)
{
    uint64_t seed = test_seed();
    struct fdl_jpeg_entropy *e = make_entropy();
    int32_t most = 0;
    for (int round = 0; round < 400; round++) {
        struct make_jpeg m = make_any(&seed, SIDE, SIDE);
        size_t size;
        if (m.components == 4)
            m.components = 3;
        uint8_t *file = make_jpeg(&m, &size);
        struct reader r;
        pair *all;
        uint32_t mcus =
            learn(&r, e, file, size, (uint64_t)make_within(&seed, 1, 9), &all);
        pair *again = calloc(mcus, (size_t)r.c.blocks_in_MCU * sizeof(pair));
        assert_non_null(again);
        if (round % 3 == 0)
            kept_known->n =
                (uint32_t)make_within(&seed, 0, (int32_t)kept_known->n);
        uint32_t side = r.c.MCUs_per_row;
        uint32_t from = (uint32_t)make_within(&seed, 0, (int32_t)mcus - 1);
        int32_t n = make_within(&seed, 1, (int32_t)(side - from % side));
        int32_t rows = (int32_t)(r.c.MCU_rows_in_scan - from / side);
        rows = take_known(&r, e, file, size, again, from, (uint32_t)n, rows);
        assert_true(rows > 0);
        compare_rows(all, again, &r, from, (uint32_t)n, rows);
        most = FDL_MAX(most, rows);
        free(again);
        free(all);
        free(file);
    }
    assert_int_equal(most, FDL_JPEG_ROWS);
    fdl_jpeg_entropy_destroy(e);
}

/* Where the data of the second row ends by a marker, the first alone is sound.
 */
TEST(damage_below_a_row_is_given_up)
{
    uint64_t seed = test_seed();
    struct fdl_jpeg_entropy *e = make_entropy();
    for (int round = 0; round < 100; round++) {
        struct make_jpeg m = make_any(&seed, SIDE, SIDE);
        m.width = m.height = SIDE;
        m.components = round % 2 ? 3 : 1;
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct reader r;
        pair *all;
        learn(&r, e, file, size, 1, &all);
        uint32_t side = r.c.MCUs_per_row;
        if (side >= 2 && r.c.MCU_rows_in_scan >= 2) {
            int32_t dc[FDL_ENTRY_COMPONENTS];
            assert_true(start(&r, e, file, size));
            size_t begin = size - r.c.src->bytes_in_buffer;
            jpeg_destroy_decompress(&r.c);
            uint64_t bit = fdl_entry_unpack(kept_known->at[side], dc);
            uint8_t *at = file + begin + bit / 8 + 1;
            at += at[-1] == 0xff; /* and a zero */
            memcpy(at, "\xff\xd9", 2);
            assert_int_equal(take_known(&r, e, file, size, all, 0, side, 1), 1);
            assert_int_equal(take_known(&r, e, file, size, all, 0, side, 2), 0);
        }
        free(all);
        free(file);
    }
    fdl_jpeg_entropy_destroy(e);
}

TEST(other_files_are_left_alone)
{
    struct fdl_jpeg_entropy *e = make_entropy();
    for (int i = 0; i < 3; i++) {
        struct make_jpeg m = {.width = 50,
                              .height = 40,
                              .components = 3,
                              .h = 2,
                              .v = 2,
                              .quality = 80,
                              .progressive = i == 0,
                              .arithmetic = i == 1,
                              .separate = i == 2};
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct reader r;
        assert_false(start(&r, e, file, size));
        assert_true(read_all(&r));
        jpeg_destroy_decompress(&r.c);
        free(file);
    }
    fdl_jpeg_entropy_destroy(e);
}

TEST(a_file_that_ends_early_is_given_up)
{
    struct fdl_jpeg_entropy *e = make_entropy();
    struct make_jpeg m = {.width = 100,
                          .height = 100,
                          .components = 3,
                          .h = 1,
                          .v = 1,
                          .quality = 90};
    size_t size;
    uint8_t *file = make_jpeg(&m, &size);
    struct reader r;
    assert_true(start(&r, e, file, size - 100));
    assert_false(read_all(&r));
    jpeg_destroy_decompress(&r.c);
    free(file);
    fdl_jpeg_entropy_destroy(e);
}

TEST_MAIN("decode_entropy")
