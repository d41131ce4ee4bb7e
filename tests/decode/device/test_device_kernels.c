/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding on a device, by its kernels as C: no pixel differs from the CPU's,
 * of packed samples and of JPEGs that the index knows; and whatever is in a
 * payload, kernels stay in their memory, and end.
 */
#include "decode/formats/jpeg_pack.h"
#include "tests/decode/device/kernel_rig.h"
#include "tests/decode/make_blocks.h"

#include <glob.h>

/* Whether it is for a device; then its pixels are the CPU's. */
static bool compare(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                    const struct fdl_plan *plan,
                    const struct fdl_output_format *f, uint32_t blocks)
{
    uint64_t n = fdl_output_bytes(f);
    struct device_batch b = {0};
    struct fdl_device_job job = make_job(d, bytes, plan, f);
    if (job.kind == FDL_DEVICE_NONE)
        return false;
    uint8_t *expected = rig_alloc(n);
    rig_render(d, bytes, plan, f, expected);
    device_add(&b, &job, payload_memory());
    device_decode(&b, blocks);
    assert_int_equal(b.jobs[0].status, FDL_DEVICE_SOUND);
    assert_int_equal(differing(b.out, expected, n), 0);
    device_free(&b);
    free(expected);
    return true;
}

/* A file of a kind that a device knows, in whatever scale. */
static bool is_usual(const struct make_jpeg *m, bool fast)
{
    if (!can_decode() || fast)
        return false;
    if (m->components == 1)
        return m->h == 1 && m->v == 1;
    return m->components == 3 && m->h <= 2 && m->v <= 2 && m->width > 4;
}

/* In each of two forms. */
#define MADE_FILES 2500

/* Several parts of a file, with grids of several sizes. */
static uint64_t compare_parts(struct fdl_decoder *d,
                              const struct fdl_encoded *bytes,
                              const struct make_jpeg *m, uint64_t *seed)
{
    uint64_t done = 0;
    for (uint32_t i = 1; i < 5; i++) {
        struct fdl_output_format f;
        struct fdl_plan plan =
            draw_plan(seed, m->width, m->height, m->width + m->height, &f);
        as_c.backwards = i % 2;
        done += compare(d, bytes, &plan, &f, i);
    }
    return done;
}

TEST(indexed_files_are_the_cpus)
{
    uint64_t seed = test_seed(), done = 0;
    for (int round = 0; round < TEST_ROUNDS(MADE_FILES); round++) {
        bool fast = round % 3 == 0;
        SCOPED_DECODER d = create(fast, round % 2);
        struct make_jpeg m = draw_file(&seed, round % 4 ? 160 : 500);
        size_t size;
        uint8_t *file = make_jpeg(&m, &size);
        struct fdl_encoded bytes = file_of(file, size);
        learn_all(d, &bytes, &m);
        struct fdl_encoded noted = device_noted(&bytes);
        uint64_t n = compare_parts(d, &noted, &m, &seed);
        if (is_usual(&m, fast) && m.height > 1)
            assert_int_equal(n, 4);
        done += n;
        free(file);
    }
    assert_true(done > 0 || !can_decode());
}

TEST(packed_files_are_the_cpus)
{
    uint64_t seed = test_seed();
    for (int round = 0; round < TEST_ROUNDS(MADE_FILES); round++) {
        bool fast = round % 3 == 0;
        SCOPED_DECODER d = create(fast, round % 2);
        struct make_jpeg m = draw_file(&seed, round % 4 ? 160 : 500);
        m.progressive = round % 5 == 0;
        size_t size;
        uint8_t *file = make_jpeg(&m, &size), *packed;
        uint64_t bytes;
        if (fdl_jpeg_pack(file, size, 1u << 24, &packed, &bytes))
            test_skip("%s", fdl_last_error()); /* without jpegint.h */
        struct fdl_encoded encoded = file_of(packed, bytes);
        uint64_t n = compare_parts(d, &encoded, &m, &seed);
        if (is_usual(&m, fast))
            assert_int_equal(n, 4);
        free(packed);
        free(file);
    }
}

/* No photo has such values; entries and codes do not reach all of them. */
TEST(values_overflow_as_on_the_cpu)
{
    uint64_t seed = test_seed(), done = 0;
    for (int round = 0; round < TEST_ROUNDS(1600); round++) {
        SCOPED_DECODER d = create(round % 4 == 0, false);
        size_t size;
        uint8_t *file = make_blocks(&seed, 100, 100, false, &size);
        uint8_t *packed = NULL;
        uint64_t bytes;
        if (fdl_jpeg_pack(file, size, 1u << 24, &packed, &bytes)) {
            free(file); /* libjpeg warns of it */
            continue;
        }
        struct fdl_encoded encoded = file_of(packed, bytes);
        struct fdl_image_info info;
        assert_int_equal(fdl_decoder_open(d, &encoded, &info), FEEDLINE_OK);
        fdl_decoder_abort(d);
        struct make_jpeg m = {.width = info.width, .height = info.height};
        done += compare_parts(d, &encoded, &m, &seed);
        free(packed);
        free(file);
    }
    assert_true(done > 400 || !can_decode() || TEST_SANITIZED);
}

/* ---- Real files, as they are trained on ---------------------------------- */

/* Of all images that a device decoded, in one form. */
struct totals {
    uint64_t images, files, file_bytes, payload, segments, scratch, blocks;
    uint64_t pixels;
};

/* One of the recipe's crops. */
static void compare_crop(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                         const struct fdl_pipeline *p, uint64_t sample,
                         struct totals *totals)
{
    struct fdl_output_format f = {224, 224, 3, FEEDLINE_U8, true};
    struct fdl_image_info info;
    assert_int_equal(fdl_decoder_open(d, bytes, &info), FEEDLINE_OK);
    struct fdl_plan plan = rig_plan(p, sample, info.width, info.height);
    struct fdl_device_job job = make_job(d, bytes, &plan, &f);
    totals->files++;
    if (job.kind == FDL_DEVICE_NONE)
        return;
    compare(d, bytes, &plan, &f, 4);
    totals->images++;
    totals->file_bytes += bytes->size;
    totals->payload += job.payload_bytes + sizeof(job);
    totals->segments += job.n_segments;
    totals->scratch += job.scratch_bytes;
    totals->blocks += job.n_blocks;
    totals->pixels += (uint64_t)job.width * job.height;
}

static void print_totals(const char *name, const struct totals *t)
{
    static const char *const stages[STAGES] = {
        "coefficients", "transform", "colour", "first pass", "second pass"};
    double n = (double)FDL_MAX(t->images, 1);
    print_message("%s: %u of %u images; of one %.0f bytes in its file, %.0f to "
                  "the device, %.0f segments, %.0f blocks, %.0f pixels, %.0f "
                  "bytes of scratch\n",
                  name, (unsigned)t->images, (unsigned)t->files,
                  (double)t->file_bytes / n, (double)t->payload / n,
                  (double)t->segments / n, (double)t->blocks / n,
                  (double)t->pixels / n, (double)t->scratch / n);
    for (int i = 0; i < STAGES; i++) {
        const struct as_c_counts *c = &device_counts[i];
        print_message("  %-12s %9.0f bytes read %9.0f written %9.0f operations "
                      "%8.0f of warps, %.0f of the longest\n",
                      stages[i], (double)c->read / n, (double)c->written / n,
                      (double)c->operations / n, (double)c->warp_operations / n,
                      (double)c->longest);
    }
    memset(device_counts, 0, sizeof(device_counts));
}

/* FDL_TEST_FILES: how many of them. */
static size_t real_files(glob_t *found)
{
    char pattern[4200];
    const char *data = test_data(), *text = getenv("FDL_TEST_FILES");
    if (!data)
        test_skip("no ../shared/data");
    snprintf(pattern, sizeof(pattern), "%s/imagenet-sample/*/*", data);
    if (glob(pattern, 0, NULL, found))
        test_skip("no images in ../shared/data");
    return FDL_MIN(text ? strtoull(text, NULL, 10) : TEST_ROUNDS(64),
                   found->gl_pathc);
}

/* One file, as it is and packed, if a device can do it; its damaged ones are
 * not known to the index, and do not pack. */
static uint64_t compare_file(const char *path, bool fast, uint64_t *seed)
{
    SCOPED_DECODER d = create(fast, false);
    size_t size;
    uint8_t *file = read_file(path, &size), *packed;
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_image_info info;
    uint64_t done = 0, n;
    if (fdl_decoder_open(d, &bytes, &info) == FEEDLINE_OK) {
        fdl_decoder_abort(d);
        struct make_jpeg m = {.width = info.width, .height = info.height};
        learn_all(d, &bytes, &m);
        struct fdl_encoded noted = device_noted(&bytes);
        done += compare_parts(d, &noted, &m, seed);
        if (fdl_jpeg_pack(file, size, 1u << 24, &packed, &n) == FEEDLINE_OK) {
            struct fdl_encoded encoded = file_of(packed, n);
            done += compare_parts(d, &encoded, &m, seed);
            free(packed);
        }
    }
    free(file);
    return done;
}

TEST(reference_files_are_the_cpus)
{
    static const char *const folders[] = {"reftest", "reftest/mozilla",
                                          "orientation"};
    const char *data = test_data();
    uint64_t seed = test_seed(), done = 0, files = 0;
    if (!data)
        test_skip("no ../shared/data");
    for (size_t k = 0; k < FDL_COUNT_OF(folders); k++) {
        char pattern[4200];
        glob_t found;
        snprintf(pattern, sizeof(pattern), "%s/%s/*.jp*g", data, folders[k]);
        if (glob(pattern, 0, NULL, &found))
            continue;
        for (size_t i = 0; i < found.gl_pathc; i += 64 / TEST_ROUNDS(64)) {
            uint64_t n = compare_file(found.gl_pathv[i], false, &seed);
            done += n + compare_file(found.gl_pathv[i], true, &seed);
            files += n > 0;
        }
        globfree(&found);
    }
    print_message("%u reference files, %u images\n", (unsigned)files,
                  (unsigned)done);
    assert_true(done > 0 || !can_decode());
}

TEST(real_indexed_files_are_the_cpus)
{
    glob_t found;
    size_t n = real_files(&found);
    struct totals totals = {0};
    SCOPED_PIPELINE p = rig_recipe("train_u8");
    SCOPED_DECODER d = create(false, false);
    for (size_t i = 0; i < n; i++) {
        size_t size, at = i * found.gl_pathc / n;
        uint8_t *file = read_file(found.gl_pathv[at], &size);
        struct fdl_encoded bytes = file_of(file, size);
        struct fdl_image_info info;
        assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
        device_learn(d, &bytes, 1, info.height);
        struct fdl_encoded noted = device_noted(&bytes);
        compare_crop(d, &noted, p, i, &totals);
        free(file);
    }
    print_totals("indexed", &totals);
    assert_true(totals.images * 10 >= totals.files * 9 || !can_decode());
    globfree(&found);
}

TEST(real_packed_files_are_the_cpus)
{
    glob_t found;
    size_t n = real_files(&found);
    struct totals totals = {0};
    SCOPED_PIPELINE p = rig_recipe("train_u8");
    SCOPED_DECODER d = create(false, false);
    for (size_t i = 0; i < n; i++) {
        size_t size, at = i * found.gl_pathc / n;
        uint8_t *file = read_file(found.gl_pathv[at], &size), *packed;
        uint64_t bytes;
        if (fdl_jpeg_pack(file, size, 1u << 24, &packed, &bytes) == 0) {
            struct fdl_encoded encoded = file_of(packed, bytes);
            compare_crop(d, &encoded, p, i, &totals);
            free(packed);
        }
        free(file);
    }
    print_totals("packed", &totals);
    assert_true(totals.images * 10 >= totals.files * 9 || !can_decode());
    globfree(&found);
}

/* ---- The host's side ----------------------------------------------------- */

static const struct make_jpeg photo = {.width = 200,
                                       .height = 150,
                                       .components = 3,
                                       .h = 2,
                                       .v = 2,
                                       .quality = 90,
                                       .seed = 3};

/* Whether the part of `photo`'s kind is for a device, if rows [0, known) were
 * decoded before. */
static bool is_for_device(const struct make_jpeg *m, int32_t known,
                          const struct fdl_plan *plan,
                          const struct fdl_output_format *f)
{
    SCOPED_DECODER d = create(false, false);
    size_t size;
    uint8_t *file = make_jpeg(m, &size);
    struct fdl_encoded bytes = file_of(file, size);
    device_learn(d, &bytes, 0, known);
    struct fdl_encoded noted = device_noted(&bytes);
    struct fdl_device_job job = make_job(d, &noted, plan, f);
    free(file);
    return job.kind != FDL_DEVICE_NONE;
}

static struct fdl_plan part_of(const struct make_jpeg *m, int32_t height)
{
    struct fdl_plan plan;
    fdl_plan_init(&plan, m->width, m->height);
    fdl_plan_crop(&plan, (struct fdl_box){8, 0, 100, height});
    return plan;
}

TEST(a_device_has_only_what_it_can)
{
    struct fdl_output_format f = {100, 60, 3, FEEDLINE_U8, true};
    struct fdl_plan plan = part_of(&photo, 60);
    bool can = can_decode();
    struct make_jpeg m = photo;
    assert_true(is_for_device(&m, 149, &plan, &f) == can);
    assert_true(is_for_device(&m, 90, &plan, &f) == can);
    assert_false(is_for_device(&m, 30, &plan, &f)); /* not that far */
    m.progressive = true;
    assert_false(is_for_device(&m, 149, &plan, &f));
    m = photo;
    m.separate = true;
    assert_false(is_for_device(&m, 149, &plan, &f));
    m = photo;
    m.components = 4;
    assert_false(is_for_device(&m, 149, &plan, &f));
    f.dtype = FEEDLINE_F32;
    assert_false(is_for_device(&photo, 149, &plan, &f));
    f = (struct fdl_output_format){100, 60, 4, FEEDLINE_U8, true};
    assert_false(is_for_device(&photo, 149, &plan, &f));
    f.channels = 3;
    plan.n_views = 2;
    assert_false(is_for_device(&photo, 149, &plan, &f));
}

/* A file that `m` makes, the last bytes of which are no codes. */
static uint8_t *make_unsound_end(const struct make_jpeg *m, size_t *size)
{
    uint8_t *file = make_jpeg(m, size);
    for (size_t at = *size - 42; at < *size - 2; at += 2)
        memcpy(file + at, "\xff\x00", 2);
    return file;
}

/* The host goes on to the end of a file that a device is to have. */
TEST(a_device_has_all_of_what_was_decoded_for_it)
{
    static const struct fdl_box parts[] = {
        {0, 0, 60, 20}, {100, 90, 100, 60}, {0, 0, 200, 150}};
    struct fdl_output_format f = {60, 50, 3, FEEDLINE_U8, true};
    for (size_t i = 0; i < 2 * FDL_COUNT_OF(parts); i++) {
        SCOPED_DECODER d = create(false, false);
        struct make_jpeg m = photo;
        struct fdl_plan plan;
        size_t size;
        m.restart = i < FDL_COUNT_OF(parts) ? 0 : 7;
        uint8_t *file = make_jpeg(&m, &size);
        struct fdl_encoded bytes = file_of(file, size);
        device_learn_part(d, &bytes, parts[i % FDL_COUNT_OF(parts)], true);
        struct fdl_encoded noted = device_noted(&bytes);
        fdl_plan_init(&plan, m.width, m.height);
        fdl_plan_crop(&plan, (struct fdl_box){140, 100, 60, 50});
        assert_true(compare(d, &noted, &plan, &f, 2) == can_decode());
        free(file);
    }
}

/* Whatever was decoded of a file whose last block is unsound, with or without
 * the rest: a device has nothing that the host would not have decoded. */
TEST(an_unsound_end_is_the_hosts)
{
    SCOPED_DECODER d = create(false, false);
    size_t size;
    uint8_t *file = make_unsound_end(&photo, &size);
    struct fdl_encoded bytes = file_of(file, size);
    for (int32_t width = 1; width <= photo.width; width++) {
        struct fdl_box box = {0, 90, width, 60};
        struct fdl_output_format f = {60, 50, 3, FEEDLINE_U8, true};
        struct fdl_plan plan;
        device_learn_part(d, &bytes, box, width % 8 == 0);
        struct fdl_encoded noted = device_noted(&bytes);
        fdl_plan_init(&plan, photo.width, photo.height);
        fdl_plan_crop(&plan, (struct fdl_box){140, 100, 60, 50});
        assert_false(compare(d, &noted, &plan, &f, 2));
        fdl_plan_init(&plan, photo.width, photo.height);
        fdl_plan_crop(&plan, (struct fdl_box){0, 0, 60, 50});
        bool has_some = compare(d, &noted, &plan, &f, 2);
        assert_true(has_some || width > 150 || !can_decode());
    }
    free(file);
}

/* Of any capacity: what does not fit is left to the host. */
TEST(payloads_fit_or_are_none)
{
    SCOPED_DECODER d = create(false, false);
    size_t size;
    uint8_t *file = make_jpeg(&photo, &size), *packed;
    uint64_t bytes;
    struct fdl_encoded of[2] = {file_of(file, size)};
    if (fdl_jpeg_pack(file, size, 1u << 24, &packed, &bytes))
        test_skip("%s", fdl_last_error());
    of[1] = file_of(packed, bytes);
    device_learn(d, &of[0], 0, 149);
    of[0] = device_noted(&of[0]);
    struct fdl_output_format f = {100, 60, 3, FEEDLINE_U8, true};
    struct fdl_plan plan = part_of(&photo, 60);
    for (int i = 0; i < 2; i++) {
        bool fits = false;
        for (uint32_t n = 0; n < 1u << 20 && !fits; n += 64) {
            uint8_t *memory = device_alloc(n + 256);
            struct fdl_device_payload to = {.data = memory, .capacity = n};
            struct fdl_device_job job;
            struct fdl_image_info info;
            assert_int_equal(fdl_decoder_open(d, &of[i], &info), FEEDLINE_OK);
            assert_int_equal(fdl_decoder_make_job(d, &plan, &f, &to, &job),
                             FEEDLINE_OK);
            fits = job.kind != FDL_DEVICE_NONE;
            assert_int_equal(memory[n], 0xa5);
            free(memory);
        }
        assert_true(fits || !can_decode());
    }
    free(packed);
    free(file);
}

/* Bytes of `photo` in one form, whose job is the last one made. */
static struct fdl_device_job make_photo(bool is_packed)
{
    SCOPED_DECODER d = create(false, false);
    struct fdl_output_format f = {100, 60, 3, FEEDLINE_U8, true};
    struct fdl_plan plan = part_of(&photo, 60);
    size_t size;
    uint8_t *file = make_jpeg(&photo, &size), *packed;
    uint64_t bytes;
    if (fdl_jpeg_pack(file, size, 1u << 24, &packed, &bytes))
        test_skip("%s", fdl_last_error());
    struct fdl_encoded of = file_of(file, size);
    device_learn(d, &of, 0, 149);
    of = is_packed ? file_of(packed, bytes) : device_noted(&of);
    struct fdl_device_job job = make_job(d, &of, &plan, &f);
    free(packed);
    free(file);
    return job;
}

/* Whether kernels see that something is wrong. */
static bool is_damaged(const struct fdl_device_job *job)
{
    struct device_batch b = {0};
    device_add(&b, job, payload_memory());
    device_decode(&b, 1);
    bool seen = b.jobs[0].status == FDL_DEVICE_DAMAGED;
    device_free(&b);
    return seen;
}

/* That is how lost data shows: what comes is not what was known to come. */
TEST(segments_end_where_they_have_to)
{
    if (!can_decode())
        test_skip("built without jpegint.h, or no AVX2");
    struct fdl_device_job job = make_photo(false);
    struct fdl_device_chain *chain = (void *)(payload_memory() + job.segments);
    assert_true(job.kind == FDL_DEVICE_CHAINS && job.n_segments > 1);
    assert_false(is_damaged(&job));
    while (chain->slack > 0) /* the first ones are cut, or end a scan */
        chain++;
    chain->bits++;
    assert_true(is_damaged(&job));
    chain->bits -= 2;
    assert_true(is_damaged(&job));
    chain->at = job.payload_bytes; /* nothing is there */
    chain->bits = 0;
    assert_true(is_damaged(&job));
    job = make_photo(true);
    struct fdl_device_run *run = (void *)(payload_memory() + job.segments);
    assert_int_equal(job.kind, FDL_DEVICE_PACKED);
    assert_false(is_damaged(&job));
    run->bytes++;
    assert_true(is_damaged(&job));
    run->bytes -= 2;
    assert_true(is_damaged(&job));
    run->at = job.payload_bytes;
    run->bytes = 0;
    assert_true(is_damaged(&job));
}

/* What lies before the end of a file is nobody's. A chain that stops there has
 * as many bits left as there are. */
TEST(bytes_before_the_end_do_not_count)
{
    if (!can_decode())
        test_skip("built without jpegint.h, or no AVX2");
    SCOPED_DECODER d = create(false, false);
    struct fdl_output_format f = {100, 60, 3, FEEDLINE_U8, true};
    struct fdl_plan plan = part_of(&photo, 60);
    plan.geometry.box.x = photo.width - 100; /* its last MCU is needed */
    plan.geometry.box.y = photo.height - 60;
    size_t size;
    uint8_t *file = make_jpeg(&photo, &size);
    for (size_t n = 0; n < 50; n = 2 * n + 1) {
        uint8_t *longer = rig_alloc(size + n);
        memcpy(longer, file, size - 2);
        memset(longer + size - 2, 0x5a, n);
        memcpy(longer + size - 2 + n, file + size - 2, 2);
        struct fdl_encoded bytes = file_of(longer, size + n);
        device_learn(d, &bytes, 1, photo.height);
        struct fdl_encoded noted = device_noted(&bytes);
        assert_true(compare(d, &noted, &plan, &f, 1));
        free(longer);
    }
    free(file);
}

/* Kernels trust it, so whatever they compute from it has to be looked at. */
TEST(records_that_are_not_sound)
{
    if (!can_decode())
        test_skip("built without jpegint.h, or no AVX2");
    const struct fdl_device_job job = make_photo(false);
    struct fdl_device_job other = job;
    assert_true(fdl_device_job_is_sound(&other));
    other.planes[0].height += 1u << 31;
    assert_false(fdl_device_job_is_sound(&other));
    other = job;
    other.planes[1].width = job.mcus_wide * 8 + 1;
    assert_false(fdl_device_job_is_sound(&other));
    other = job;
    other.pass[0].n_weights += job.payload_bytes;
    assert_false(fdl_device_job_is_sound(&other));
    other = job;
    other.n_segments += job.payload_bytes;
    assert_false(fdl_device_job_is_sound(&other));
    other = job;
    other.x += job.width;
    assert_false(fdl_device_job_is_sound(&other));
}

#define UNSOUND(change)                                                        \
  do {                                                                         \
    struct fdl_device_job other = job;                                         \
    other.change;                                                              \
    assert_false(fdl_device_job_is_sound(&other));                             \
  } while (0)

TEST(records_with_a_number_that_cannot_be)
{
    if (!can_decode())
        test_skip("built without jpegint.h, or no AVX2");
    const struct fdl_device_job job = make_photo(false);
    assert_int_equal(job.kind, FDL_DEVICE_CHAINS);
    UNSOUND(n_planes = 0);
    UNSOUND(mcus_wide = 0);
    UNSOUND(mcus_high = 0);
    UNSOUND(width = 0);
    UNSOUND(height = 0);
    UNSOUND(n_blocks++);
    UNSOUND(tables = job.payload_bytes);
    UNSOUND(segments += 2);
    UNSOUND(between = 0);
    UNSOUND(planes[2].samples = 0);
    UNSOUND(planes[0].side = 3);
    UNSOUND(planes[0].ac = 0);
    UNSOUND(out_channels = 1);
    UNSOUND(pass[0].width = 0);
    UNSOUND(pass[1].height = 0);
    UNSOUND(pass[1].in_width++);
}

TEST(weights_end_where_they_have_to)
{
    if (!can_decode())
        test_skip("built without jpegint.h, or no AVX2");
    struct fdl_device_job job = make_photo(true);
    struct fdl_device_span *span =
        (void *)(payload_memory() + job.pass[0].spans);
    uint32_t last = job.pass[0].width;
    assert_false(is_damaged(&job));
    span[last - 1].start = 0;
    span[last].first++;
    assert_true(is_damaged(&job));
    span[last].first--;
    span[0].start = (uint16_t)job.width;
    assert_true(is_damaged(&job));
    span[0].start = 0;
    assert_false(is_damaged(&job));
}

TEST_MAIN("device")
