/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed samples against the JPEGs they are of: the file comes back, to the
 * byte where that is claimed, and pixels are the same whoever makes them.
 * FDL_TEST_FILES: how many generated and real files each test takes.
 */
#include "base/cpu.h"
#include "decode/formats/jpeg_entropy.h"
#include "decode/formats/jpeg_pack.h"
#include "decode/packed/container.h"
#include "tests/decode/parts.h"

#include <glob.h>

enum { WIDTH = 67, HEIGHT = 131, MOST = 1 << 26 };

static long files(long usual)
{
    const char *text = getenv("FDL_TEST_FILES");
    return text ? atol(text) : usual;
}

static struct make_jpeg any_kind(uint64_t *seed)
{
    struct make_jpeg m = make_any(seed, WIDTH, HEIGHT);
    m.progressive = make_within(seed, 0, 3) == 0;
    m.separate = make_within(seed, 0, 7) == 0;
    return m;
}

static void need_packed(void)
{
    if (fdl_jpeg_entropy_memory() == 0)
        test_skip("built without jpegint.h");
}

struct packed {
    uint8_t *data;
    uint64_t size;
};

static struct packed pack(const uint8_t *jpeg, uint64_t size)
{
    struct packed p;
    if (fdl_jpeg_pack(jpeg, size, MOST, &p.data, &p.size))
        fail_msg("%s", fdl_last_error());
    return p;
}

/* ---- The file comes back ------------------------------------------------- */

/* Planes of two packed samples. */
static void assert_same_coefficients(const struct packed *a,
                                     const struct packed *b)
{
    struct fdl_packed x, y;
    assert_int_equal(fdl_packed_open(a->data, a->size, &x), FEEDLINE_OK);
    assert_int_equal(fdl_packed_open(b->data, b->size, &y), FEEDLINE_OK);
    assert_true(fdl_packed_is_whole(&x));
    assert_int_equal(x.n_planes, y.n_planes);
    for (unsigned i = 0; i < x.n_planes; i++) {
        assert_int_equal(x.planes[i].blocks_wide, y.planes[i].blocks_wide);
        assert_int_equal(x.planes[i].blocks_high, y.planes[i].blocks_high);
        assert_int_equal(x.planes[i].bytes, y.planes[i].bytes);
        assert_memory_equal(x.planes[i].data, y.planes[i].data,
                            x.planes[i].bytes);
    }
}

/* Whether to the byte. */
static bool check_unpack(const struct packed *p, const uint8_t *jpeg,
                         uint64_t size)
{
    uint8_t *back;
    uint64_t n;
    bool same;
    if (fdl_jpeg_unpack(p->data, p->size, MOST, &back, &n, &same))
        fail_msg("%s", fdl_last_error());
    if (same) {
        assert_int_equal(n, size);
        assert_memory_equal(back, jpeg, n);
    } else {
        struct packed again = pack(back, n);
        assert_same_coefficients(p, &again);
        free(again.data);
    }
    free(back);
    return same;
}

/* ---- Pixels -------------------------------------------------------------- */

static void decode(struct fdl_decoder *d, const void *data, uint64_t size,
                   uint64_t seed, uint8_t *to, size_t *bytes)
{
    struct fdl_image_info info;
    struct fdl_encoded file = file_of(data, size);
    if (fdl_decoder_open(d, &file, &info))
        fail_msg("%s", fdl_last_error());
    struct fdl_box box = part_of(&seed, info.width, info.height);
    int32_t divisor = make_within(&seed, 0, 2) ? 1 : 5;
    if (part_render(d, &info, &box, divisor, to))
        fail_msg("%s", fdl_last_error());
    *bytes = (size_t)((box.width + divisor - 1) / divisor) *
             (size_t)((box.height + divisor - 1) / divisor) * 3;
}

struct decoders {
    struct fdl_decoder *d[2][2]; /* fast, by libjpeg */
    uint8_t *a, *b;
};

static struct decoders make_decoders(size_t pixels)
{
    struct decoders all = {.a = rig_alloc(3 * pixels),
                           .b = rig_alloc(3 * pixels)};
    for (int fast = 0; fast < 2; fast++)
        for (int plain = 0; plain < 2; plain++)
            all.d[fast][plain] = rig_decoder(
                (struct fdl_decode_limits){.max_pixels = pixels,
                                           .max_scans = 100,
                                           .fast = fast,
                                           .apply_exif = true,
                                           .libjpeg_huffman = plain});
    return all;
}

static void drop_decoders(struct decoders *all)
{
    for (int i = 0; i < 4; i++)
        fdl_decoder_destroy(all->d[i / 2][i % 2]);
    free(all->a);
    free(all->b);
}

/* A part of it, exact and fast. */
static void check_pixels(struct decoders *all, const struct packed *p,
                         const uint8_t *jpeg, uint64_t size, uint64_t seed)
{
    for (int fast = 0; fast < 2; fast++) {
        size_t n, m;
        decode(all->d[fast][1], jpeg, size, seed, all->a, &n);
        for (int plain = 0; plain < 2; plain++) {
            decode(all->d[fast][plain], p->data, p->size, seed, all->b, &m);
            assert_int_equal(n, m);
            assert_memory_equal(all->a, all->b, n);
        }
    }
}

/* ---- Tests --------------------------------------------------------------- */

TEST(generated_files)
{
    need_packed();
    uint64_t seed = test_seed();
    struct decoders all = make_decoders((size_t)WIDTH * HEIGHT);
    long n = files(300), same = 0;
    for (long i = 0; i < n; i++) {
        size_t size;
        struct make_jpeg m = any_kind(&seed);
        uint8_t *jpeg = make_jpeg(&m, &size);
        struct packed p = pack(jpeg, size);
        same += check_unpack(&p, jpeg, size);
        fdl_cpu_set_level(i % 2 ? FDL_CPU_AVX2 : FDL_CPU_C);
        check_pixels(&all, &p, jpeg, size, make_random(&seed));
        free(p.data);
        free(jpeg);
    }
    print_message("%ld of %ld to the byte\n", same, n);
    assert_true(same > n / 2);
    drop_decoders(&all);
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_false(fseek(f, 0, SEEK_END));
    *size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = rig_alloc(*size);
    assert_int_equal(fread(data, 1, *size, f), *size);
    fclose(f);
    return data;
}

TEST(real_files)
{
    char pattern[4200];
    glob_t found;
    const char *folder = test_data();
    snprintf(pattern, sizeof(pattern), "%s/imagenet-sample/*/*",
             folder ? folder : "");
    if (!folder || glob(pattern, 0, NULL, &found) != 0)
        test_skip("no real files");
    need_packed();
    struct decoders all = make_decoders(1u << 25);
    uint64_t seed = test_seed(), before = 0, after = 0;
    long n = files(20), count = 0, same = 0, all_files = (long)found.gl_pathc;
    for (long i = 0; i < FDL_MIN(n, all_files); i++) {
        size_t size;
        const char *path =
            found.gl_pathv[i * all_files / FDL_MIN(n, all_files)];
        uint8_t *jpeg = read_file(path, &size);
        struct packed p;
        if (fdl_jpeg_pack(jpeg, size, MOST, &p.data, &p.size)) {
            print_message("%s: %s\n", path, fdl_last_error());
            free(jpeg);
            continue;
        }
        before += size;
        after += p.size;
        count++;
        same += check_unpack(&p, jpeg, size);
        check_pixels(&all, &p, jpeg, size, make_random(&seed));
        free(p.data);
        free(jpeg);
    }
    print_message("%ld packed, %.3f of the bytes, %ld to the byte\n", count,
                  (double)after / (double)before, same);
    globfree(&found);
    drop_decoders(&all);
}

static int32_t check(struct fdl_decoder *d, const void *data, uint64_t size,
                     struct fdl_checked *checked)
{
    struct fdl_image_info info;
    uint8_t *copy = rig_copy(data, size);
    struct fdl_encoded file = file_of(copy, size);
    fdl_clear_error();
    int32_t status = fdl_decoder_open(d, &file, &info);
    if (!status)
        status = fdl_decoder_check(d, checked);
    rig_check_clean(status);
    free(copy);
    return status;
}

/* Whether it opens, which compares checksums, unless somebody else did. */
static int32_t open_once(struct fdl_decoder *d, const struct packed *p,
                         bool verified)
{
    struct fdl_image_info info;
    struct fdl_encoded file = file_of(p->data, p->size);
    file.verified = verified;
    fdl_clear_error();
    int32_t status = fdl_decoder_open(d, &file, &info);
    rig_check_clean(status);
    fdl_decoder_abort(d);
    return status;
}

/* Each byte changed, and the end cut off everywhere: an error where checksums
 * count, else an error or found where files are checked; never unpacked. */
TEST(damage_is_found)
{
    need_packed();
    struct make_jpeg m = {.width = 35,
                          .height = 20,
                          .components = 3,
                          .h = 2,
                          .v = 2,
                          .quality = 80};
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    SCOPED_DECODER strict = rig_decoder(
        (struct fdl_decode_limits){.checksums = FDL_CHECKSUMS_AUTO});
    struct fdl_checked checked;
    for (int kind = 0; kind < 2; kind++) {
        size_t size;
        m.progressive = kind == 1;
        uint8_t *jpeg = make_jpeg(&m, &size), *out;
        struct packed p = pack(jpeg, size);
        uint64_t n;
        bool same;
        assert_false(check(d, p.data, p.size, &checked));
        assert_false(checked.doubtful || checked.truncated);
        assert_int_equal(open_once(strict, &p, false), FEEDLINE_OK);
        for (uint64_t i = 0; i < p.size; i++) {
            p.data[i] ^= 0x10;
            assert_true(check(d, p.data, p.size, &checked) || checked.doubtful);
            assert_int_equal(open_once(strict, &p, false), FEEDLINE_EDECODE);
            assert_int_equal(open_once(strict, &p, true),
                             open_once(d, &p, false));
            assert_int_equal(
                fdl_jpeg_unpack(p.data, p.size, MOST, &out, &n, &same),
                FEEDLINE_EDECODE);
            p.data[i] ^= 0x10;
            assert_int_equal(check(d, p.data, i, &checked), FEEDLINE_EDECODE);
        }
        free(p.data);
        free(jpeg);
    }
}

static void assert_refused(const uint8_t *jpeg, size_t size, const char *why)
{
    struct packed p;
    assert_int_equal(fdl_jpeg_pack(jpeg, size, MOST, &p.data, &p.size),
                     FEEDLINE_EDECODE);
    if (!strstr(fdl_last_error(), why))
        fail_msg("%s", fdl_last_error());
}

TEST(what_cannot_be_packed_is_said)
{
    struct make_jpeg m = {
        .width = 40, .height = 40, .components = 3, .h = 1, .v = 1};
    size_t size;
    m.arithmetic = true;
    uint8_t *jpeg = make_jpeg(&m, &size);
    assert_refused(jpeg, size, "arithmetic");
    free(jpeg);
    m.arithmetic = false;
    jpeg = make_jpeg(&m, &size);
    assert_refused(jpeg, size - 2, "Premature end");
    assert_refused(jpeg, size / 2, "Premature end");
    assert_refused(jpeg, 3, "empty");
    struct packed p;
    assert_int_equal(fdl_jpeg_pack(jpeg, size, 40 * 39, &p.data, &p.size),
                     FEEDLINE_ERANGE);
    /* What follows the end comes back. */
    uint8_t *longer = rig_alloc(size + 5);
    memcpy(longer, jpeg, size);
    memcpy(longer + size, "after", 5);
    p = pack(longer, size + 5);
    assert_true(check_unpack(&p, longer, size + 5));
    free(p.data);
    free(longer);
    free(jpeg);
}

/* Headers of a file that has no coefficients, before coefficients. */
TEST(a_lossless_header_is_refused)
{
    SCOPED_DECODER d = rig_decoder((struct fdl_decode_limits){0});
    struct make_jpeg m = {.width = 40, .height = 40, .components = 1};
    size_t size, sof = 0;
    uint8_t *jpeg = make_jpeg(&m, &size);
    struct packed p = pack(jpeg, size), made;
    struct fdl_packed parts;
    assert_false(fdl_packed_open(p.data, p.size, &parts));
    uint8_t *prefix = rig_copy(parts.prefix, parts.prefix_bytes);
    while (prefix[sof] != 0xff || prefix[sof + 1] != 0xc0)
        sof++;
    prefix[sof + 1] = 0xc3;
    parts.prefix = prefix;
    assert_false(fdl_packed_write(&parts, &made.data, &made.size));
    struct fdl_checked checked;
    assert_int_equal(check(d, made.data, made.size, &checked),
                     FEEDLINE_EDECODE);
    uint8_t *out;
    uint64_t n;
    bool same;
    assert_int_equal(
        fdl_jpeg_unpack(made.data, made.size, MOST, &out, &n, &same),
        FEEDLINE_EDECODE);
    free(made.data);
    free(prefix);
    free(p.data);
    free(jpeg);
}

TEST_MAIN("packed")
