/* SPDX-License-Identifier: Apache-2.0 */
/* Decoders in processes of their own: the same pixels and the same errors, and
 * what becomes of an image whose decoder ends. */
#include "decode/formats/jpeg_entries.h"
#include "decode/recorded_image.h"
#include "tests/decode/isolate/decoders.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/make_png.h"
#include "tests/decode/rig.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PIXELS_MOST (UINT64_C(1) << 24)

static void setup(void)
{
    decoders_need_seccomp();
    setenv("FEEDLINE_DECODE_PROGRAM", TEST_DECODE_PROGRAM, 1);
}

static struct fdl_decoder *isolated(struct fdl_decode_limits limits)
{
    limits.isolate = true;
    limits.max_pixels = PIXELS_MOST;
    return rig_decoder(limits);
}

static struct fdl_decoder *plain(struct fdl_decode_limits limits)
{
    limits.max_pixels = PIXELS_MOST;
    return rig_decoder(limits);
}

/* ---- The same ------------------------------------------------------------ */

/* Half of the image, resampled. */
static int32_t decode(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                      int32_t channels, uint8_t *out, char *words)
{
    struct fdl_image_info info;
    struct fdl_render_cost cost = {0};
    int32_t status = fdl_decoder_open(d, bytes, &info);
    if (status == FEEDLINE_OK) {
        struct fdl_plan plan;
        struct fdl_output_format f = {24, 24, channels, FEEDLINE_U8, true};
        fdl_plan_init(&plan, info.width, info.height);
        fdl_plan_crop(&plan, (struct fdl_box){info.width / 4, info.height / 4,
                                              info.width / 2 + 1,
                                              info.height / 2 + 1});
        assert_int_equal(fdl_geometry_resize(&plan.geometry, 24, 24),
                         FEEDLINE_OK);
        status = fdl_decoder_render(d, &plan, &f, out, &cost);
    }
    snprintf(words, FDL_ERROR_BYTES, "%s %s %dx%d %d %d %d",
             status ? fdl_last_error() : info.format->name,
             status ? "" : info.mode, status ? 0 : info.width,
             status ? 0 : info.height, status ? 0 : info.channels,
             status ? 0 : info.orientation, cost.truncated);
    return status;
}

static void check_same(struct fdl_decoder *a, struct fdl_decoder *b,
                       const struct fdl_encoded *bytes)
{
    static const int32_t channels[] = {1, 2, 3, 4};
    for (size_t i = 0; i < FDL_COUNT_OF(channels); i++) {
        uint8_t one[24 * 24 * 4] = {0}, other[24 * 24 * 4] = {0};
        char words[2][FDL_ERROR_BYTES];
        int32_t status = decode(a, bytes, channels[i], one, words[0]);
        int32_t isolated_status =
            decode(b, bytes, channels[i], other, words[1]);
        assert_string_equal(words[1], words[0]);
        assert_int_equal(isolated_status, status);
        if (status == FEEDLINE_OK)
            assert_memory_equal(one, other, sizeof(one));
    }
}

/* And of a part of the file, and one with a flaw in the middle. */
static void check_file(struct fdl_decoder *a, struct fdl_decoder *b,
                       uint8_t *file, size_t size)
{
    struct fdl_encoded bytes = file_of(file, size);
    check_same(a, b, &bytes);
    bytes = file_of(file, size * 2 / 3);
    check_same(a, b, &bytes);
    bytes = file_of(file, size);
    memset(file + size / 2, 0xff, size / 8);
    check_same(a, b, &bytes);
    free(file);
}

static void check_formats(struct fdl_decode_limits limits)
{
    SCOPED_DECODER a = plain(limits);
    SCOPED_DECODER b = isolated(limits);
    uint64_t random = test_seed();
    size_t size;
    for (int i = 0; i < TEST_ROUNDS(24); i++) {
        struct make_jpeg m = make_any_coding(&random, 150, 120);
        uint8_t *file = make_jpeg(&m, &size);
        check_file(a, b, file, size);
    }
    static const int colours[] = {0, 2, 3, 4, 6};
    for (size_t i = 0; i < 2 * FDL_COUNT_OF(colours); i++) {
        struct make_png m = {.width = 61 + (uint32_t)i,
                             .height = 47,
                             .depth = 8,
                             .colour = colours[i / 2],
                             .interlaced = i % 2,
                             .seed = i};
        uint8_t *file = make_png(&m, &size);
        check_file(a, b, file, size);
    }
    check_file(a, b, rig_copy(rig_webp, sizeof(rig_webp)), sizeof(rig_webp));
    check_file(a, b, rig_copy("GIF89a...........", 16), 16);
    uint8_t noise[50 * 40 * 3];
    fill_noise(noise, sizeof(noise));
    struct fdl_encoded bytes = raw_of(noise, 50, 40, 3);
    check_same(a, b, &bytes);
}

TEST_WITH(pixels_and_errors_are_the_same, setup, NULL)
{
    check_formats((struct fdl_decode_limits){0});
}

TEST_WITH(and_so_they_are_with_other_limits, setup, NULL)
{
    check_formats((struct fdl_decode_limits){.apply_exif = true,
                                             .fast = true,
                                             .columns_first = true,
                                             .accept_truncated = 0.1});
}

TEST_WITH(masks_keep_their_indices, setup, NULL)
{
    const struct fdl_decode_limits limits = {.masks = true};
    SCOPED_DECODER a = plain(limits);
    SCOPED_DECODER b = isolated(limits);
    struct fdl_decoder *both[] = {a, b};
    struct make_png m = {.width = 40, .height = 30, .depth = 8, .colour = 3};
    size_t size;
    uint8_t *file = make_png(&m, &size);
    struct fdl_encoded bytes = file_of(file, size);
    uint8_t rows[2][40 * 30];
    for (int i = 0; i < 2; i++) {
        struct fdl_image_info info;
        struct fdl_render_cost cost;
        struct fdl_output_format f = {40, 30, 1, FEEDLINE_U8, true};
        struct fdl_plan plan;
        fdl_clear_error();
        int32_t status = fdl_decoder_open(both[i], &bytes, &info);
        if (status == FEEDLINE_EDECODE)
            test_skip("a palette is of three channels here: %s",
                      fdl_last_error());
        assert_int_equal(status, FEEDLINE_OK);
        fdl_plan_init(&plan, info.width, info.height);
        assert_int_equal(fdl_decoder_render(both[i], &plan, &f, rows[i], &cost),
                         FEEDLINE_OK);
    }
    assert_memory_equal(rows[0], rows[1], sizeof(rows[0]));
    free(file);
}

static void carry_out(struct fdl_decoder *d, const struct fdl_encoded *bytes,
                      const struct feedline_recorded_step *step, int32_t n,
                      uint8_t *out)
{
    struct feedline_recorded_image image = {
        .struct_size = sizeof(image),
        .n_steps = step ? 1 : 0,
        .steps = step,
        .out = out,
        .out_bytes = (uint64_t)n * 40 * 30,
        .dtype = FEEDLINE_U8,
        .nhwc = 1,
        .channels = n,
        .height = 30,
        .width = 40,
    };
    struct fdl_image_info info;
    struct fdl_render_cost cost;
    if (fdl_recorded_render(d, bytes, &image, &info, &cost))
        fail_msg("%s", fdl_last_error());
}

/* As indices, and in the colours of the palette. */
TEST_WITH(a_palette_is_what_it_is_to_recorded_samples, setup, NULL)
{
    SCOPED_DECODER a = plain((struct fdl_decode_limits){0});
    SCOPED_DECODER b = isolated((struct fdl_decode_limits){0});
    struct make_png m = {.width = 40, .height = 30, .depth = 4, .colour = 3};
    size_t size;
    uint8_t *file = make_png(&m, &size);
    struct fdl_encoded bytes = file_of(file, size);
    for (int32_t channels = 3; channels <= 4; channels++) {
        const struct feedline_recorded_step convert = {
            .op = FEEDLINE_STEP_CONVERT, .n = 1, .value = {channels}};
        uint8_t out[2][4 * 40 * 30], indices[2][40 * 30];
        carry_out(a, &bytes, NULL, 1, indices[0]);
        carry_out(b, &bytes, NULL, 1, indices[1]);
        assert_memory_equal(indices[0], indices[1], sizeof(indices[0]));
        carry_out(a, &bytes, &convert, channels, out[0]);
        carry_out(b, &bytes, &convert, channels, out[1]);
        assert_memory_equal(out[0], out[1], (size_t)channels * 40 * 30);
        for (size_t i = 0; i < sizeof(indices[0]); i++)
            assert_true(indices[0][i] < 16);
    }
    free(file);
}

/* More rows than there is room for, in 4 MiB beside 1.6 of the file; a row that
 * could be too long for it; and a small image after those. */
TEST_WITH(large_images_come_in_parts, setup, NULL)
{
    static const struct make_png files[] = {
        {.width = 4200, .height = 3000, .depth = 1, .colour = 0},
        {.width = 1000000, .height = 3, .depth = 1, .colour = 0},
        {.width = 30, .height = 20, .depth = 8, .colour = 2},
    };
    SCOPED_DECODER a = plain((struct fdl_decode_limits){0});
    SCOPED_DECODER b = isolated((struct fdl_decode_limits){0});
    for (size_t i = 0; i < FDL_COUNT_OF(files); i++) {
        size_t size;
        uint8_t *file = make_png(&files[i], &size);
        struct fdl_encoded bytes = file_of(file, size);
        check_same(a, b, &bytes);
        free(file);
    }
}

TEST_WITH(places_to_enter_a_jpeg_are_noted, setup, NULL)
{
    struct make_jpeg m = {.width = 700,
                          .height = 500,
                          .components = 3,
                          .h = 2,
                          .v = 2,
                          .quality = 90};
    static struct fdl_entry_notes notes[2];
    size_t size;
    uint8_t *file = make_jpeg(&m, &size), out[24 * 24 * 4];
    char words[FDL_ERROR_BYTES];
    SCOPED_DECODER a = plain((struct fdl_decode_limits){0});
    SCOPED_DECODER b = isolated((struct fdl_decode_limits){0});
    struct fdl_decoder *both[] = {a, b};
    struct fdl_entries *known = NULL;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            struct fdl_encoded bytes = file_of(file, size);
            bytes.notes = &notes[i];
            fdl_entry_notes_begin(&notes[i], known, true);
            assert_int_equal(decode(both[i], &bytes, 3, out, words),
                             FEEDLINE_OK);
            if (!notes[0].valid)
                test_skip("nothing is noted in this build");
        }
        assert_true(notes[1].valid);
        assert_int_equal(notes[1].same, round == 1);
        assert_int_equal(notes[0].same, notes[1].same);
        assert_int_equal(notes[0].hash, notes[1].hash);
        assert_int_equal(notes[0].spacing, notes[1].spacing);
        assert_int_equal(notes[0].jumped, notes[1].jumped);
        assert_int_equal(notes[0].decoded, notes[1].decoded);
        assert_int_equal(notes[0].capacity, notes[1].capacity);
        assert_int_equal(notes[0].first, notes[1].first);
        assert_int_equal(notes[0].n, notes[1].n);
        assert_memory_equal(notes[0].at, notes[1].at,
                            notes[0].n * sizeof(notes[0].at[0]));
        if (round > 0)
            break;
        assert_true(notes[1].n > 0);
        known = rig_alloc(sizeof(*known) +
                          notes[1].capacity * sizeof(known->at[0]));
        known->hash = notes[1].hash;
        known->capacity = notes[1].capacity;
        known->n = notes[1].n;
        memcpy(known->at, notes[1].at, notes[1].n * sizeof(known->at[0]));
    }
    assert_true(notes[1].jumped > 0);
    free(known);
    free(file);
}

/* ---- A decoder that ends ------------------------------------------------- */

static uint8_t *small_jpeg(struct fdl_encoded *bytes)
{
    struct make_jpeg m = {.width = 64, .height = 48, .components = 3};
    size_t size;
    uint8_t *file = make_jpeg(&m, &size);
    *bytes = file_of(file, size);
    return file;
}

static int32_t finish(struct fdl_decoder *d)
{
    struct fdl_plan plan;
    struct fdl_output_format f = {64, 48, 3, FEEDLINE_U8, true};
    struct fdl_render_cost cost;
    uint8_t out[64 * 48 * 3];
    fdl_plan_init(&plan, 64, 48);
    return fdl_decoder_render(d, &plan, &f, out, &cost);
}

static void check_works(struct fdl_decoder *d, const struct fdl_encoded *bytes)
{
    struct fdl_image_info info;
    if (fdl_decoder_open(d, bytes, &info) || finish(d))
        fail_msg("%s", fdl_last_error());
}

/* The decoder, and who keeps it. */
static void kill_idle(void)
{
    pid_t keeper;
    assert_int_equal(decoders_find(getpid(), true, &keeper, 1), 1);
    kill(decoders_only(), SIGKILL);
    decoders_wait_end(keeper);
}

static void check_killed(int signal_number, const char *words)
{
    struct fdl_encoded bytes;
    struct fdl_image_info info;
    uint8_t *file = small_jpeg(&bytes);
    SCOPED_DECODER d = isolated((struct fdl_decode_limits){0});
    check_works(d, &bytes);
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
    pid_t before = decoders_only();
    assert_int_equal(kill(before, signal_number), 0);
    assert_int_equal(finish(d), FEEDLINE_EDECODE);
    assert_non_null(strstr(fdl_last_error(), words));
    check_works(d, &bytes);
    assert_int_not_equal(decoders_only(), before);
    free(file);
}

TEST_WITH(a_crash_costs_one_image, setup, NULL)
{
    check_killed(SIGSEGV, "the decoder of this file was killed by SIGSEGV");
}

TEST_WITH(a_kill_costs_one_image, setup, NULL)
{
    check_killed(SIGKILL, "the decoder of this file was killed by SIGKILL");
}

TEST_WITH(a_forbidden_call_costs_one_image, setup, NULL)
{
    check_killed(SIGSYS, "killed by SIGSYS, for a system call");
}

TEST_WITH(one_that_ended_meanwhile_costs_none, setup, NULL)
{
    struct fdl_encoded bytes;
    pid_t keeper;
    uint8_t *file = small_jpeg(&bytes);
    SCOPED_DECODER d = isolated((struct fdl_decode_limits){0});
    kill_idle();
    check_works(d, &bytes);
    assert_int_equal(decoders_find(getpid(), true, &keeper, 1), 1);
    pid_t decoder = decoders_only();
    kill(keeper, SIGKILL);
    decoders_wait_end(decoder);
    check_works(d, &bytes);
    free(file);
}

TEST_WITH(one_that_hangs_is_ended_by_the_time_limit, setup, NULL)
{
    struct fdl_encoded bytes;
    struct fdl_image_info info;
    uint8_t *file = small_jpeg(&bytes);
    SCOPED_DECODER d =
        isolated((struct fdl_decode_limits){.max_image_ms = 100});
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
    pid_t hung = decoders_only();
    kill(hung, SIGSTOP);
    assert_int_equal(finish(d), FEEDLINE_ERANGE);
    assert_non_null(strstr(fdl_last_error(), "the limit of 100 ms"));
    assert_false(decoders_lives(hung));
    assert_int_equal(fdl_decoder_open(d, &bytes, &info), FEEDLINE_OK);
    assert_int_not_equal(decoders_only(), hung);
    free(file);
}

/* ---- The program that uses it -------------------------------------------- */

static volatile sig_atomic_t children;

static void count_child(int number)
{
    (void)number;
    children = children + 1;
}

static void live(void)
{
    struct fdl_encoded bytes;
    uint8_t *file = small_jpeg(&bytes);
    SCOPED_DECODER d = isolated((struct fdl_decode_limits){0});
    check_works(d, &bytes);
    kill_idle();
    check_works(d, &bytes);
    free(file);
}

TEST_WITH(the_program_hears_nothing_of_it, setup, NULL)
{
    if (getpid() == 1)
        test_skip("the first process of a container adopts orphans");
    signal(SIGCHLD, count_child);
    live();
    assert_int_equal(children, 0);
    assert_int_equal(waitpid(-1, NULL, __WALL), -1);
    assert_int_equal(errno, ECHILD);
}

TEST_WITH(one_that_adopts_orphans_has_none_left, setup, NULL)
{
    pid_t found[2];
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    live();
    assert_int_equal(decoders_find(getpid(), true, found, 2), 0);
    assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

TEST_WITH(it_works_where_children_are_ignored, setup, NULL)
{
    signal(SIGCHLD, SIG_IGN);
    check_killed(SIGKILL, "killed by SIGKILL");
}

TEST_WITH(destroyed_leaves_no_process, setup, NULL)
{
    pid_t found[2];
    struct fdl_decoder *d = isolated((struct fdl_decode_limits){0});
    pid_t decoder = decoders_only();
    kill(decoder, SIGSTOP); /* it could not end by itself */
    fdl_decoder_destroy(d);
    assert_false(decoders_lives(decoder));
    assert_int_equal(decoders_find(getpid(), true, found, 2), 0);
}

/* Even if the decoder hangs, and a fork has the descriptors. */
/* Tells the number of a fork of itself, which has its descriptors. */
static void be_killed(int to)
{
    struct fdl_decoder *d = isolated((struct fdl_decode_limits){0});
    kill(decoders_only(), SIGSTOP);
    pid_t copy = fork();
    if (copy > 0 && write(to, &copy, sizeof(copy)) < 0)
        fdl_decoder_destroy(d);
    for (;;)
        pause();
}

TEST_WITH(a_killed_program_leaves_no_process, setup, NULL)
{
    int ready[2];
    pid_t decoder, keeper, copy;
    assert_int_equal(pipe(ready), 0);
    pid_t program = fork();
    if (program == 0)
        be_killed(ready[1]);
    assert_int_equal(read(ready[0], &copy, sizeof(copy)), sizeof(copy));
    assert_int_equal(decoders_find(program, false, &decoder, 1), 1);
    assert_int_equal(decoders_find(program, true, &keeper, 1), 1);
    kill(program, SIGKILL);
    assert_int_equal(waitpid(program, NULL, 0), program);
    decoders_wait_end(keeper);
    decoders_wait_end(decoder);
    assert_int_equal(kill(copy, SIGKILL), 0);
}

TEST_WITH(it_has_given_up_what_it_does_not_need, setup, NULL)
{
    SCOPED_DECODER d = isolated((struct fdl_decode_limits){0});
    pid_t decoder = decoders_only();
    assert_string_equal(decoders_line(decoder, "Seccomp"), "2\n");
    assert_string_equal(decoders_line(decoder, "NoNewPrivs"), "1\n");
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)decoder);
    DIR *fds = opendir(path);
    if (!fds)
        test_skip("%s: %s", path, strerror(errno));
    int n = 0;
    for (struct dirent *e = readdir(fds); e; e = readdir(fds))
        n += e->d_name[0] != '.';
    closedir(fds);
    assert_int_equal(n, 4); /* /dev/null three times, and the socket */
}

TEST_WITH(a_program_that_is_missing_is_named, setup, NULL)
{
    struct fdl_decode_limits limits = {.isolate = true};
    struct fdl_decoder *d;
    setenv("FEEDLINE_DECODE_PROGRAM", "/nowhere/feedline-decode", 1);
    assert_int_equal(fdl_decoder_create(&limits, &d), FEEDLINE_EIO);
    assert_non_null(strstr(fdl_last_error(), "/nowhere/feedline-decode"));
    assert_null(d);
    unsetenv("FEEDLINE_DECODE_PROGRAM");
    assert_int_equal(fdl_decoder_create(&limits, &d), FEEDLINE_ENOENT);
    assert_non_null(strstr(fdl_last_error(), "FEEDLINE_DECODE_PROGRAM"));
}

TEST_MAIN("isolate")
