/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that bring their own steps: what lies in the program's memory when a
 * batch is delivered, whoever reads; and what is said of those that cannot be
 * made. Pixels of all steps are the matter of tests/decode.
 */
#include "base/compiler.h"
#include "tests/loader/stream/recorded_rig.h"

#include <feedline/files.h>
#include <feedline/masks.h>
#include <feedline/order.h>
#include <feedline/tuning.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct recorded_rig rig;

static void setup(void)
{
    recorded_open(&rig);
}

static void teardown(void)
{
    recorded_close(&rig);
}

/* ---- Opens, counted and held --------------------------------------------- */

static struct {
    _Atomic uint32_t n;     /* of files of the rig */
    _Atomic bool holds;     /* the next one waits ... */
    _Atomic uint32_t calls; /* ... until so many reads have begun */
    const char *grows;      /* this file, when it is opened once more */
    uint32_t times;
} opens;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

static void append_to(const char *path)
{
    FILE *f = fopen(path, "ab");
    assert_non_null(f);
    assert_int_equal(fputc('x', f), 'x');
    assert_int_equal(fclose(f), 0);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = va_arg(args, int);
    va_end(args);
    if (strncmp(path, rig.fixture.folder, strlen(rig.fixture.folder)) == 0) {
        atomic_fetch_add(&opens.n, 1);
        while (atomic_load(&opens.holds))
            sched_yield();
        if (opens.grows && strcmp(path, opens.grows) == 0 && ++opens.times == 2)
            append_to(path);
    }
    return __real_open(path, flags, mode);
}

/* ---- What is made -------------------------------------------------------- */

static void expect_epochs(const char *options, uint32_t epochs)
{
    feedline_dataset *ds = recorded_dataset(&rig);
    feedline_loader *l = recorded_loader(ds, options);
    rig.compared = 0;
    assert_int_equal(recorded_run(&rig, l, epochs), 0);
    assert_true(rig.compared > epochs * RECORDED_N / 2);
    assert_int_equal(feedline_loader_failure_count(l), 0);
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
    recorded_forget(&rig);
}

TEST_WITH(each_image_is_made_where_it_is_wanted, setup, teardown)
{
    char options[128];
    for (uint32_t depth = 1; depth <= 8; depth++) {
        rig.source.flags = FEEDLINE_SOURCE_RECORDED |
                           (depth % 2 ? FEEDLINE_SOURCE_IN_ORDER : 0) |
                           (depth % 3 ? 0 : FEEDLINE_SOURCE_ONE_AT_A_TIME);
        snprintf(options, sizeof(options),
                 "reader=pread io_depth=%u workers=%u shuffle=true", depth,
                 depth % 3 + 1);
        expect_epochs(options, 3);
    }
}

TEST_WITH(workers_that_read_do_so_each_time, setup, teardown)
{
    expect_epochs("reader=memory workers=3", 3);
    rig.source.flags |= FEEDLINE_SOURCE_IN_ORDER;
    expect_epochs("reader=memory workers=4 shuffle=true", 3);
}

TEST_WITH(with_room_for_one_buffer, setup, teardown)
{
    rig.source.flags |= FEEDLINE_SOURCE_IN_ORDER;
    expect_epochs("reader=pread io_depth=8 workers=2 memory_budget=1000000 "
                  "depth=2",
                  2);
    expect_epochs("reader=memory workers=4 memory_budget=1000000 depth=2", 2);
}

/* Beside what decode, a pipeline and sizes would do with others. */
TEST_WITH(options_of_pixels_have_no_effect, setup, teardown)
{
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER none =
        recorded_loader(ds, "decode=none stored_mode=L epochs=1");
    assert_int_equal(recorded_run(&rig, none, 1), 0);
    SCOPED_LOADER views = fixture_with(
        ds, NULL, "resize size=40;ten_crop size=32;normalize",
        "batch_size=%u dtype=u8 max_sample_bytes=7 epochs=1", RECORDED_BATCH);
    feedline_batch *b = fixture_next(views);
    struct feedline_batch_info info = fixture_info(b);
    assert_int_equal(info.count, RECORDED_BATCH);
    assert_int_equal(info.images.shape[2], 0);
    assert_int_equal(info.images.shape[3], 0);
    assert_int_equal(info.labels.shape[0], RECORDED_BATCH);
    assert_int_equal(recorded_check(&rig, b, 0), 0);
    feedline_dataset_close(ds);
}

TEST_WITH(copies_and_orders_that_are_given, setup, teardown)
{
    static const uint64_t rows[][RECORDED_BATCH] = {
        {7, 3, 7}, {22}, {1, 2, 3, 4}};
    static const uint32_t counts[] = {3, 1, 4};
    rig.source.flags |= FEEDLINE_SOURCE_IN_ORDER;
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER given = recorded_loader(ds, "order=given io_depth=4");
    assert_ok(feedline_loader_begin(given, 2, 0, 0));
    for (uint32_t i = 0; i < FDL_COUNT_OF(counts); i++)
        assert_ok(feedline_loader_append(given, rows[i], NULL, counts[i]));
    assert_ok(feedline_loader_end(given));
    for (uint32_t i = 0; i < FDL_COUNT_OF(counts); i++)
        assert_int_equal(recorded_check(&rig, fixture_next(given), i), 0);
    assert_null(fixture_next(given));
    feedline_dataset_close(ds);
    expect_epochs("repeats=3 epoch_samples=23 io_depth=4", 2);
}

/* Their structs end where the first version did. */
static int32_t as_first_version(struct feedline_read_call *call,
                                struct feedline_recorded_image *images,
                                uint32_t n)
{
    enum { BYTES = offsetof(struct feedline_recorded_image, pipeline) };
    uint8_t *packed = malloc(n * BYTES + 1);
    assert_non_null(packed);
    for (uint32_t i = 0; i < n; i++) {
        images[i].struct_size = BYTES;
        memcpy(packed + i * BYTES, &images[i], BYTES);
    }
    int32_t status = feedline_read_recorded(call, (const void *)packed, n);
    free(packed);
    return status;
}

TEST_WITH(programs_of_the_first_version, setup, teardown)
{
    rig.read = as_first_version;
    expect_epochs("workers=2", 1);
}

/* ---- How it is read ------------------------------------------------------ */

static int32_t count_call(struct feedline_read_call *call,
                          struct feedline_recorded_image *images, uint32_t n)
{
    if (atomic_fetch_add(&opens.calls, 1) + 1 == 2)
        atomic_store(&opens.holds, false);
    return feedline_read_recorded(call, images, n);
}

/* The first read cannot go on before the second one has begun. */
TEST_WITH(the_next_read_begins_while_files_are_read, setup, teardown)
{
    rig.source.flags |= FEEDLINE_SOURCE_IN_ORDER;
    rig.read = count_call;
    atomic_store(&opens.holds, true);
    expect_epochs("reader=pread io_depth=2 shuffle=false epochs=1", 1);
    assert_true(opens.calls >= RECORDED_N);
}

static uint8_t shared[2][36 * 40 * 3];

/* As the program's image, but of the file `path`; whole and as bytes. */
static struct feedline_recorded_image whole_image(const char *path,
                                                  uint32_t image, void *out)
{
    return (struct feedline_recorded_image){
        .struct_size = sizeof(struct feedline_recorded_image),
        .path = path,
        .length = -1,
        .out = out,
        .out_bytes =
            (uint64_t)rig.width[image] * (uint64_t)rig.height[image] * 3,
        .dtype = FEEDLINE_U8,
        .nhwc = 1,
        .channels = 3,
        .height = rig.height[image],
        .width = rig.width[image],
    };
}

/* Image 0 as two images of sample 0; others have none. */
static int32_t read_twice_the_same(struct feedline_read_call *call,
                                   struct feedline_recorded_image *images,
                                   uint32_t n)
{
    char again[128];
    struct feedline_recorded_image two[2];
    struct recorded_sample *s = &rig.samples[call->ticket][call->place];
    (void)images;
    (void)n;
    while (s->n > 0)
        free(s->images[--s->n].out);
    snprintf(again, sizeof(again), "%s", rig.paths[0]);
    two[0] = whole_image(rig.paths[0], 0, shared[0]);
    two[1] = whole_image(again, 0, shared[1]);
    return feedline_read_recorded(call, two, call->index == 0 ? 2 : 0);
}

TEST_WITH(a_file_of_several_images_is_read_once, setup, teardown)
{
    rig.read = read_twice_the_same;
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER l = recorded_loader(ds, "drop_last=false epochs=1");
    atomic_store(&opens.n, 0);
    assert_true(fixture_pass_epoch(l) > 0);
    assert_int_equal(opens.n, 1);
    for (uint32_t i = 0; i < 2; i++)
        assert_memory_equal(shared[i], rig.pixels[0], sizeof(shared[i]));
    feedline_dataset_close(ds);
}

#define MANY 12u

static uint8_t many[RECORDED_TICKETS][RECORDED_BATCH][MANY][60 * 60 * 3];

/* Sample i has images i, i + 1, ... */
static int32_t read_many(struct feedline_read_call *call,
                         struct feedline_recorded_image *images, uint32_t n)
{
    struct feedline_recorded_image all[MANY];
    (void)images;
    (void)n;
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t image = (uint32_t)(call->index + i) % RECORDED_N;
        all[i] = whole_image(rig.paths[image], image,
                             many[call->ticket][call->place][i]);
    }
    return feedline_read_recorded(call, all, MANY);
}

static void expect_many(feedline_loader *l)
{
    uint64_t ticket = 0;
    for (feedline_batch *b; (b = fixture_next(l)); ticket++) {
        struct feedline_batch_info info = fixture_info(b);
        for (uint32_t i = 0; i < info.count; i++) {
            assert_int_equal(info.sample_status[i], FEEDLINE_OK);
            for (uint32_t k = 0; k < MANY; k++) {
                uint32_t m = (uint32_t)(info.sample_index[i] + k) % RECORDED_N;
                size_t bytes = (size_t)rig.width[m] * (size_t)rig.height[m] * 3;
                assert_memory_equal(many[ticket][i][k], rig.pixels[m], bytes);
            }
        }
        feedline_batch_release(b);
    }
    assert_int_equal(ticket,
                     (RECORDED_N + RECORDED_BATCH - 1) / RECORDED_BATCH);
}

TEST_WITH(more_files_than_stay_open, setup, teardown)
{
    rig.read = read_many;
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER l = recorded_loader(ds, "io_depth=4 drop_last=false");
    expect_many(l);
    feedline_dataset_close(ds);
}

/* 8 threads, of which each would keep 4 files open: nobody fails, and nobody
 * waits for another for ever. */
TEST_WITH(more_files_than_descriptors, setup, teardown)
{
    rig.read = read_many;
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER l =
        recorded_loader(ds, "reader=pread io_depth=8 workers=2 live=false "
                            "drop_last=false memory_budget=1000000 depth=2");
    assert_ok(feedline_loader_start(l, 0));
    int next = dup(0);
    assert_true(next >= 0);
    assert_int_equal(close(next), 0);
    struct rlimit few = {.rlim_cur = (rlim_t)next + 3,
                         .rlim_max = (rlim_t)next + 3};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    expect_many(l);
    feedline_dataset_close(ds);
}

/* ---- What cannot be made ------------------------------------------------- */

/* Sample 5 is read by this. */
static int32_t (*odd)(struct feedline_read_call *call,
                      struct feedline_recorded_image *image);

static int32_t read_odd(struct feedline_read_call *call,
                        struct feedline_recorded_image *images, uint32_t n)
{
    static uint8_t out[60 * 60 * 3];
    if (call->index != 5)
        return feedline_read_recorded(call, images, n);
    struct feedline_recorded_image one = whole_image(rig.paths[5], 5, out);
    return odd(call, &one);
}

#define ODD(name, change)                                                      \
  static int32_t name(struct feedline_read_call *call,                         \
                      struct feedline_recorded_image *image)                   \
  {                                                                            \
    change;                                                                    \
    return feedline_read_recorded(call, image, 1);                             \
  }

static const struct feedline_recorded_step no_step = {.op = 1000};

static const char *long_name;

ODD(has_a_long_name, image->path = long_name)
ODD(is_the_pack, image->path = rig.pack)
ODD(is_missing, image->path = "/nowhere/to/be/found.jpg")
ODD(is_a_folder, image->path = rig.fixture.folder)
ODD(is_no_image, image->path = "/proc/self/exe")
ODD(is_a_device, image->path = "/dev/null")
ODD(begins_behind_the_end, image->offset = 1 << 30)
ODD(ends_behind_the_end, image->length = 1 << 30)
ODD(was_another_file, (recorded_see(image), image->seen_inode++))
ODD(was_longer, (recorded_see(image), image->seen_bytes++))
ODD(was_older, (recorded_see(image), image->seen_ctime_ns--))
ODD(is_half, image->length = (int64_t)rig.fixture.sizes[5] / 2)
ODD(has_another_size,
    (image->width++, image->out_bytes += 3 * (uint32_t)image->height))
ODD(has_too_small_an_out, image->out_bytes--)
ODD(has_no_out, image->out = NULL)
ODD(has_no_bytes, image->path = NULL)
ODD(has_negative_data,
    (image->path = NULL, image->data = "x", image->length = -1))
ODD(has_negative_length, image->length = -2)
ODD(is_beyond_files, (image->offset = INT64_MAX, image->length = 1))
ODD(is_of_no_size, image->struct_size = 0)
ODD(has_no_steps, image->n_steps = 1)
ODD(has_too_many_steps, image->n_steps = 65)
ODD(has_no_such_step, (image->n_steps = 1, image->steps = &no_step))
ODD(has_empty_data, (image->path = NULL, image->data = "x", image->length = 0))

static int32_t is_too_many(struct feedline_read_call *call,
                           struct feedline_recorded_image *image)
{
    return feedline_read_recorded(call, image,
                                  FEEDLINE_RECORDED_IMAGES_MAX + 1);
}

static int32_t is_null(struct feedline_read_call *call,
                       struct feedline_recorded_image *image)
{
    (void)image;
    return feedline_read_recorded(call, NULL, 1);
}

static int32_t has_two_sizes(struct feedline_read_call *call,
                             struct feedline_recorded_image *image)
{
    struct feedline_recorded_image two[2] = {*image, *image};
    two[1].struct_size += 8;
    return feedline_read_recorded(call, two, 2);
}

static int32_t has_a_bad_second(struct feedline_read_call *call,
                                struct feedline_recorded_image *image)
{
    struct feedline_recorded_image two[2] = {*image, *image};
    two[1].path = NULL;
    two[1].data = "not an image";
    two[1].length = 12;
    return feedline_read_recorded(call, two, 2);
}

static int32_t is_never_read(struct feedline_read_call *call,
                             struct feedline_recorded_image *image)
{
    (void)call;
    (void)image;
    return FEEDLINE_OK;
}

static int32_t is_read_twice(struct feedline_read_call *call,
                             struct feedline_recorded_image *image)
{
    int32_t status = feedline_read_recorded(call, image, 1);
    assert_int_equal(status, FEEDLINE_OK);
    return feedline_read_recorded(call, image, 1);
}

static int32_t is_refused_late(struct feedline_read_call *call,
                               struct feedline_recorded_image *image)
{
    int32_t status = feedline_read_recorded(call, image, 1);
    assert_int_equal(status, FEEDLINE_OK);
    return feedline_read_fail(call, FEEDLINE_EUSER, "changed its mind");
}

/* Whatever it says then. */
static int32_t hides_the_error(struct feedline_read_call *call,
                               struct feedline_recorded_image *image)
{
    (void)is_missing(call, image);
    return FEEDLINE_OK;
}

static int32_t wants_a_buffer(struct feedline_read_call *call,
                              struct feedline_recorded_image *image)
{
    assert_null(call->buffer);
    assert_int_equal(call->room, 0);
    assert_null(feedline_read_grow(call, 10));
    return feedline_read_recorded(call, image, 1);
}

static const struct fault {
    int32_t (*odd)(struct feedline_read_call *call,
                   struct feedline_recorded_image *image);
    int32_t status;
    const char *reason;
} faults[] = {
    {is_missing, FEEDLINE_ENOENT,
     "/nowhere/to/be/found.jpg: open: No such file or directory"},
    {is_a_folder, FEEDLINE_EIO, ": not a regular file: it is a directory"},
    {is_a_device, FEEDLINE_EIO, "not a regular file: it is a character device"},
    {was_another_file, FEEDLINE_EIO, "000005.jpg: is not the file any more"},
    {was_longer, FEEDLINE_EIO, "000005.jpg: is not the file any more"},
    {was_older, FEEDLINE_EIO, "000005.jpg: is not the file any more"},
    {is_no_image, FEEDLINE_EDECODE, "/proc/self/exe: offset 0"},
    {begins_behind_the_end, FEEDLINE_EIO, "is past the end of the file"},
    {ends_behind_the_end, FEEDLINE_EIO, "which is all there is"},
    {is_half, FEEDLINE_EDECODE, "/000005.jpg: "},
    {has_another_size, FEEDLINE_EINVAL, "/000005.jpg: "},
    {has_too_small_an_out, FEEDLINE_EINVAL, "/000005.jpg: out has"},
    {has_no_out, FEEDLINE_EINVAL, "out is NULL"},
    {has_no_bytes, FEEDLINE_EINVAL, "image 1: path and data are NULL"},
    {has_negative_data, FEEDLINE_EINVAL, "image 1: length of data is -1"},
    {has_negative_length, FEEDLINE_EINVAL, "length is -2"},
    {is_beyond_files, FEEDLINE_ERANGE, "beyond the end of any file"},
    {is_of_no_size, FEEDLINE_EINVAL, "struct_size of the first image is 0"},
    {has_no_steps, FEEDLINE_EINVAL, "steps is NULL"},
    {has_too_many_steps, FEEDLINE_ERANGE, "65 steps"},
    {has_no_such_step, FEEDLINE_EINVAL, "step 1: "},
    {has_empty_data, FEEDLINE_EDECODE, "image 1: "},
    {is_too_many, FEEDLINE_ERANGE, "257 images; a sample has 256"},
    {is_null, FEEDLINE_EINVAL, "images is NULL"},
    {has_two_sizes, FEEDLINE_EINVAL, "in the first image"},
    {has_a_bad_second, FEEDLINE_EDECODE, "image 2: offset 0"},
    {is_never_read, FEEDLINE_EUSER, "without a call of feedline_read_recorded"},
    {is_read_twice, FEEDLINE_EINVAL, "was called twice"},
    {is_refused_late, FEEDLINE_EUSER, "changed its mind"},
    {hides_the_error, FEEDLINE_ENOENT, "open: No such file"},
    {wants_a_buffer, FEEDLINE_EINVAL, "has no buffer to grow"},
};

static void expect_reason(feedline_loader *l, int32_t status,
                          const char *reason)
{
    struct feedline_failure f = {.struct_size = sizeof(f)};
    assert_int_equal(feedline_loader_failure_count(l), 1);
    assert_ok(feedline_loader_get_failure(l, 0, &f));
    assert_int_equal(f.sample_index, 5);
    assert_string_equal(f.path, "crops:5");
    assert_int_equal(f.status, status);
    if (!strstr(f.reason, reason))
        fail_msg("\"%s\" lacks \"%s\"", f.reason, reason);
}

static void expect_fault(const char *options, int32_t status,
                         const char *reason)
{
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER l = recorded_loader(ds, options);
    assert_int_equal(recorded_run(&rig, l, 1), 1);
    expect_reason(l, status, reason);
    feedline_dataset_close(ds);
    recorded_forget(&rig);
}

TEST_WITH(faults_are_the_samples_own, setup, teardown)
{
    rig.read = read_odd;
    for (size_t i = 0; i < FDL_COUNT_OF(faults); i++) {
        odd = faults[i].odd;
        rig.source.flags =
            FEEDLINE_SOURCE_RECORDED | (i % 3 ? FEEDLINE_SOURCE_IN_ORDER : 0);
        expect_fault(i % 2 ? "reader=memory on_error=zero epochs=1"
                           : "reader=pread on_error=zero epochs=1",
                     faults[i].status, faults[i].reason);
    }
}

static uint8_t small[MANY][60 * 60 * 3];

static int32_t is_large_together(struct feedline_read_call *call,
                                 struct feedline_recorded_image *image)
{
    struct feedline_recorded_image all[MANY];
    (void)image;
    for (uint32_t i = 0; i < MANY; i++)
        all[i] = whole_image(rig.paths[i], i, small[i]);
    return feedline_read_recorded(call, all, MANY);
}

static int32_t is_large_and_stays(struct feedline_read_call *call,
                                  struct feedline_recorded_image *image)
{
    struct feedline_recorded_image all[MANY];
    (void)image;
    for (uint32_t i = 0; i < MANY; i++) {
        all[i] = whole_image(NULL, i, small[i]);
        all[i].data = rig.fixture.data[i];
        all[i].length = (int64_t)rig.fixture.sizes[i];
        all[i].data_stays = 1;
    }
    return feedline_read_recorded(call, all, MANY);
}

TEST_WITH(the_limit_of_bytes_holds_for_all_images, setup, teardown)
{
    rig.read = read_odd;
    odd = is_large_together;
    expect_fault("on_error=zero epochs=1 max_file_bytes=20000", FEEDLINE_ERANGE,
                 "more bytes together than max_file_bytes=20000");
    odd = is_large_and_stays;
    expect_fault("on_error=zero epochs=1 max_file_bytes=20000", FEEDLINE_ERANGE,
                 "more bytes together than max_file_bytes=20000");
    odd = is_the_pack;
    expect_fault("on_error=zero epochs=1 max_file_bytes=20000", FEEDLINE_ERANGE,
                 " bytes; max_file_bytes allows 20000");
}

/* The fifth file of a sample, which is opened twice. */
TEST_WITH(a_file_that_changes_meanwhile, setup, teardown)
{
    rig.read = read_odd;
    odd = is_large_together;
    opens.grows = rig.paths[11];
    expect_fault("on_error=zero epochs=1 reader=pread io_depth=1 shuffle=false",
                 FEEDLINE_EIO, "000011.jpg: changed while it was read");
}

TEST_WITH(names_of_any_length, setup, teardown)
{
    static char name[5000];
    memset(name, 'a', sizeof(name) - 1);
    memcpy(name + sizeof(name) - 6, "b.jpg", 5);
    long_name = name;
    rig.read = read_odd;
    odd = has_a_long_name;
    expect_fault("on_error=zero epochs=1", FEEDLINE_EIO,
                 "aab.jpg: open: File name too long");
}

TEST_WITH(a_sample_that_fails_is_raised_or_replaced, setup, teardown)
{
    feedline_batch *b;
    rig.read = read_odd;
    odd = is_missing;
    feedline_dataset *ds = recorded_dataset(&rig);
    feedline_loader *l = recorded_loader(ds, "shuffle=false");
    recorded_check(&rig, fixture_next(l), 0);
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_ENOENT,
                 "crops:5: /nowhere/to/be/found.jpg: open: No such file");
    /* It has stopped: what it was about to make is the program's again. */
    recorded_forget(&rig);
    feedline_loader_destroy(l);
    SCOPED_LOADER skips =
        recorded_loader(ds, "on_error=skip epochs=1 io_depth=3");
    assert_int_equal(recorded_run(&rig, skips, 1), 0);
    assert_int_equal(feedline_loader_failure_count(skips), 1);
    feedline_dataset_close(ds);
}

/* ---- The end ------------------------------------------------------------- */

/* The program frees its memory as soon as the loader has stopped, wherever that
 * was. */
static void stops_anywhere(const char *options)
{
    feedline_dataset *ds = recorded_dataset(&rig);
    feedline_loader *l = recorded_loader(ds, options);
    for (uint32_t i = 0; i < 40; i++) {
        assert_ok(feedline_loader_start(l, i));
        for (uint32_t k = 0; k < i % 4; k++)
            recorded_check(&rig, fixture_next(l), k);
        for (uint32_t turns = i * 7 % 50; turns > 0; turns--)
            sched_yield();
        assert_ok(feedline_loader_stop(l));
        recorded_forget(&rig);
    }
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
}

TEST_WITH(memory_is_left_alone_after_a_stop, setup, teardown)
{
    stops_anywhere("reader=pread io_depth=4 workers=3");
    rig.source.flags |= FEEDLINE_SOURCE_IN_ORDER;
    stops_anywhere("reader=pread io_depth=8 workers=2");
    stops_anywhere("reader=memory workers=3");
}

/* ---- What is refused, and what is told ----------------------------------- */

TEST_WITH(what_makes_no_sense_is_refused, setup, teardown)
{
    uint64_t sizes[RECORDED_N] = {0};
    feedline_dataset *ds = NULL;
    feedline_checker *c = NULL;
    feedline_loader *l = NULL;
    const char *files[RECORDED_N];
    void *data;
    uint64_t bytes;
    rig.source.sizes = sizes;
    assert_error(feedline_dataset_open_source(&rig.source, &ds),
                 FEEDLINE_EINVAL, "recorded samples have no sizes");
    rig.source.sizes = NULL;
    ds = recorded_dataset(&rig);
    assert_error(feedline_checker_create(NULL, ds, &c), FEEDLINE_EINVAL,
                 "samples of crops bring their own steps");
    assert_error(feedline_dataset_read(NULL, ds, 0, &data, &bytes),
                 FEEDLINE_EINVAL, "samples of crops bring their own steps");
    for (uint32_t i = 0; i < RECORDED_N; i++)
        files[i] = rig.paths[i];
    assert_ok(feedline_dataset_add_files(ds, "mask", files));
    assert_error(fixture_try(&l, ds, NULL, "", "masks=mask"), FEEDLINE_EINVAL,
                 "samples bring their own steps");
    feedline_dataset_close(ds);
}

static int32_t read_as_record(struct feedline_read_call *call)
{
    (void)feedline_read_recorded(call, NULL, 0);
    return FEEDLINE_OK;
}

TEST_WITH(a_source_without_the_flag_has_no_records, setup, teardown)
{
    feedline_batch *b;
    rig.source.flags = 0;
    rig.source.read = read_as_record;
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER l = fixture_open(ds, "");
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EINVAL,
                 "is for sources with FEEDLINE_SOURCE_RECORDED");
    feedline_dataset_close(ds);
}

TEST_WITH(statistics_know_what_was_read_and_made, setup, teardown)
{
    char text[8192];
    uint64_t needed;
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER l = recorded_loader(ds, "epochs=1 drop_last=false");
    recorded_run(&rig, l, 1);
    struct feedline_stats s = fixture_stats(l);
    assert_int_equal(s.samples, RECORDED_N);
    assert_true(s.bytes_read > 10000);
    assert_ok(feedline_loader_explain(l, text, sizeof(text), &needed));
    assert_non_null(strstr(text, "Your reader `crops`: "));
    feedline_dataset_close(ds);
}

/* Image 0 is of file `index`, where there is an image 0. */
TEST_WITH(slow_samples_have_a_size, setup, teardown)
{
    uint32_t seen = 0;
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER l = recorded_loader(ds, "epochs=1 drop_last=false");
    recorded_run(&rig, l, 1);
    for (uint32_t i = 0; i < 10; i++) {
        struct feedline_slow_sample slow = {.struct_size = sizeof(slow)};
        if (feedline_loader_get_slow(l, i, &slow) < 0)
            break;
        if (slow.width == 0)
            continue;
        assert_int_equal(slow.width, rig.width[slow.sample_index]);
        assert_int_equal(slow.height, rig.height[slow.sample_index]);
        seen++;
    }
    assert_true(seen > 0);
    feedline_dataset_close(ds);
}

/* Where crops of a JPEG begin, which the first epochs note. */
TEST_WITH(later_epochs_enter_at_the_crop, setup, teardown)
{
    if (!(feedline_features() & FEEDLINE_FEATURE_PACKED))
        test_skip("built without jpegint.h");
    feedline_dataset *ds = recorded_dataset(&rig);
    SCOPED_LOADER none = recorded_loader(ds, "jpeg_index=false");
    assert_int_equal(recorded_run(&rig, none, 5), 0);
    assert_int_equal(fixture_stats(none).jpeg_mcus, 0);
    assert_ok(feedline_loader_stop(none));
    recorded_forget(&rig);
    SCOPED_LOADER l = recorded_loader(ds, "jpeg_index=true");
    assert_int_equal(recorded_run(&rig, l, 5), 0);
    struct feedline_stats s = fixture_stats(l);
    assert_true(s.jpeg_mcus_jumped > 0 && s.jpeg_mcus > 0);
    assert_ok(feedline_loader_stop(l));
    recorded_forget(&rig);
    feedline_dataset_close(ds);
}

static bool largest_first;

static uint64_t encoded_bytes(const struct feedline_recorded_image *image)
{
    return image->length >= 0 ? (uint64_t)image->length
                              : image->seen_bytes - image->offset;
}

static int by_bytes(const void *a, const void *b)
{
    uint64_t m = encoded_bytes(a), n = encoded_bytes(b);
    return (m > n) - (m < n);
}

static int32_t read_by_bytes(struct feedline_read_call *call,
                             struct feedline_recorded_image *images, uint32_t n)
{
    struct feedline_recorded_image sorted[RECORDED_IMAGES];
    qsort(images, n, sizeof(*images), by_bytes);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = images[largest_first ? n - 1 - i : i];
    return feedline_read_recorded(call, sorted, n);
}

/* Of a sample with several files the index is of the largest one. */
TEST_WITH(the_largest_file_is_entered, setup, teardown)
{
    uint64_t jumped[2];
    if (!(feedline_features() & FEEDLINE_FEATURE_PACKED))
        test_skip("built without jpegint.h");
    rig.read = read_by_bytes;
    feedline_dataset *ds = recorded_dataset(&rig);
    for (int i = 0; i < 2; i++) {
        largest_first = i > 0;
        SCOPED_LOADER l =
            recorded_loader(ds, "jpeg_index=true workers=1 epochs=5");
        assert_int_equal(recorded_run(&rig, l, 5), 0);
        jumped[i] = fixture_stats(l).jpeg_mcus_jumped;
        assert_ok(feedline_loader_stop(l));
        recorded_forget(&rig);
    }
    /* All of it is known a batch later or sooner; of the small one it would be
     * half of that. */
    assert_true(3 * jumped[0] > 2 * jumped[1] && jumped[1] > 0);
    assert_true(3 * jumped[1] > 2 * jumped[0]);
    feedline_dataset_close(ds);
}

TEST_MAIN("recorded_samples")
