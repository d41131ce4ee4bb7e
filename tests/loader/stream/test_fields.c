/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of samples from a tar file to the batch, with every reader: bytes are
 * those written, wherever they lie, and what fails belongs to one sample.
 * Python's tests have the formats.
 */
#include "tests/loader/fixture.h"
#include "tests/wrap_nowait.h"

#include <feedline/fields.h>

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 30, BATCH = 7, LARGEST = 150000 };

/* ---- Calls that fail ----------------------------------------------------- */

static _Atomic size_t refused; /* as many bytes and more; 0: none */
static _Atomic int64_t bad_at; /* reads from there on fail; -1: none */

static bool refuses(size_t bytes)
{
    size_t least = atomic_load_explicit(&refused, memory_order_relaxed);
    return least > 0 && bytes >= least;
}

WRAP(void *, malloc, size_t bytes)
{
    return refuses(bytes) ? NULL : __real_malloc(bytes);
}

/* Less than what read buffers are parts of. */
WRAP(void *, mmap, void *p, size_t n, int prot, int flags, int fd, off_t at)
{
    if (n < (size_t)2 << 20 && refuses(n)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(p, n, prot, flags, fd, at);
}

WRAP(ssize_t, pread, int fd, void *buf, size_t n, off_t offset)
{
    int64_t from = atomic_load_explicit(&bad_at, memory_order_relaxed);
    if (from >= 0 && offset >= from) {
        errno = EIO;
        return -1;
    }
    return __real_pread(fd, buf, n, offset);
}

/* ---- A tar file ---------------------------------------------------------- */

static char path[64];
static feedline_dataset *near, *far;
static char far_path[64];

static void add_member(FILE *f, const char *extension, uint32_t i,
                       const uint8_t *data, uint64_t size)
{
    static const uint8_t zeros[512];
    char header[512] = "";
    uint32_t sum = 8 * ' ';
    snprintf(header, 100, "%02" PRIu32 ".%s", i, extension);
    snprintf(header + 124, 12, "%011" PRIo64, size);
    memcpy(header + 257, "ustar\00000", 8);
    header[156] = '0';
    for (size_t k = 0; k < sizeof(header); k++)
        sum += (uint8_t)header[k];
    snprintf(header + 148, 8, "%06" PRIo32, sum);
    assert_int_equal(fwrite(header, sizeof(header), 1, f), 1);
    if (size > 0)
        assert_int_equal(fwrite(data, size, 1, f), 1);
    size_t rest = (512 - size % 512) % 512;
    assert_int_equal(fwrite(zeros, 1, rest, f), rest);
}

/* Sizes of the field "bin"; some are empty, some samples have none. */
static uint64_t size_of(uint64_t i)
{
    return i % 5 == 3 ? 0 : i * i * i % 977 * (i % 11 == 1 ? LARGEST / 977 : 3);
}

static bool has(uint64_t i)
{
    return i % 9 != 4;
}

static void add_bin(FILE *f, uint32_t i)
{
    static uint8_t bytes[LARGEST];
    memset(bytes, (int)i, sizeof(bytes));
    if (has(i))
        add_member(f, "bin", i, bytes, size_of(i));
}

static void add_image(FILE *f, uint32_t i)
{
    uint64_t size;
    uint8_t *jpeg = fixture_jpeg(i, &size);
    add_member(f, "jpg", i, jpeg, size);
    free(jpeg);
}

static FILE *create_file(char *name)
{
    strcpy(name, "/tmp/feedline-fields-XXXXXX");
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "wb");
    assert_non_null(f);
    return f;
}

static void end_file(FILE *f)
{
    static const uint8_t zeros[1024];
    assert_int_equal(fwrite(zeros, sizeof(zeros), 1, f), 1);
    assert_int_equal(fclose(f), 0);
}

static feedline_dataset *open_fields(const char *name, const char *options)
{
    char uri[256];
    feedline_dataset *ds;
    snprintf(uri, sizeof(uri), "tar:%s?%s", name, options);
    assert_ok(feedline_dataset_open(uri, &ds));
    return ds;
}

/* Fields beside their images, in front of them and behind; and far away. */
static void setup(void)
{
    static const uint8_t gap[200000];
    bad_at = -1;
    FILE *f = create_file(path), *g = create_file(far_path);
    for (uint32_t i = 0; i < N; i++) {
        char number[8];
        snprintf(number, sizeof(number), "%" PRIu32, 1000 + i);
        if (i % 2)
            add_image(f, i);
        add_bin(f, i);
        add_member(f, "id", i, (uint8_t *)number, strlen(number));
        if (i % 2 == 0)
            add_image(f, i);
        add_image(g, i);
    }
    add_member(g, "gap", 99, gap, sizeof(gap));
    for (uint32_t i = 0; i < N; i++)
        add_bin(g, i);
    end_file(f);
    end_file(g);
    near = open_fields(path, "fields=bin,id");
    far = open_fields(far_path, "group=key&missing=skip&fields=bin");
}

static void teardown(void)
{
    feedline_dataset_close(near);
    feedline_dataset_close(far);
    unlink(path);
    unlink(far_path);
}

/* ---- Batches ------------------------------------------------------------- */

static struct feedline_batch_field field_of(const feedline_batch *b, uint32_t i)
{
    struct feedline_batch_field field = {.struct_size = sizeof(field)};
    assert_ok(feedline_batch_get_field(b, i, &field));
    return field;
}

/* Whether the bytes are those of sample `index`. */
static void check_bin(const struct feedline_batch_field *bin, uint32_t place,
                      uint64_t index)
{
    uint64_t bytes = bin->bytes[place];
    assert_int_equal(bytes, has(index) ? size_of(index) : 0);
    for (uint64_t k = 0; k < bytes; k++)
        if (bin->data[bin->offset[place] + k] != (uint8_t)index)
            fail_msg("byte %d of sample %d", (int)k, (int)index);
}

static void check_batch(const feedline_batch *b, bool with_id)
{
    struct feedline_batch_info info = fixture_info(b);
    struct feedline_batch_field bin = field_of(b, 0), id = {0};
    assert_int_equal(bin.kind, FEEDLINE_FIELD_BYTES);
    assert_string_equal(bin.name, "bin");
    if (with_id)
        id = field_of(b, 1);
    for (uint32_t i = 0; i < info.count; i++) {
        assert_int_equal(info.sample_status[i], FEEDLINE_OK);
        check_bin(&bin, i, (uint64_t)info.sample_index[i]);
        if (with_id)
            assert_int_equal(id.integers[i], 1000 + info.sample_index[i]);
    }
}

static void run_all(feedline_dataset *ds, const char *reader, bool with_id)
{
    SCOPED_LOADER l;
    int32_t status = fixture_try(&l, ds, NULL, "center_crop size=8",
                                 "batch_size=7 dtype=u8 workers=3 shuffle=true "
                                 "epochs=3 reader=%s",
                                 reader);
    feedline_batch *b = NULL;
    for (uint32_t epochs = 0; status >= 0 && epochs < 3;) {
        b = fixture_next(l);
        if (!b) {
            epochs++;
            continue;
        }
        check_batch(b, with_id);
        feedline_batch_release(b);
    }
    if (status == FEEDLINE_ENOSYS)
        return; /* io_uring is forbidden here */
    assert_ok(status);
}

static const char *const readers[] = {"auto", "pread", "memory",
                                      "auto direct=true", "pread direct=true"};

TEST_WITH(bytes_are_those_written, setup, teardown)
{
    for (size_t i = 0; i < FDL_COUNT_OF(readers); i++)
        run_all(near, readers[i], true);
}

TEST_WITH(fields_may_be_far_from_their_images, setup, teardown)
{
    for (size_t i = 0; i < FDL_COUNT_OF(readers); i++)
        run_all(far, readers[i], false);
}

TEST_WITH(there_is_no_other_field, setup, teardown)
{
    SCOPED_LOADER l = fixture_with(near, NULL, "center_crop size=8",
                                   "batch_size=7 dtype=u8 epochs=1");
    struct feedline_batch_field field = {.struct_size = sizeof(field)};
    struct feedline_sample_field one = {.struct_size = sizeof(one)};
    feedline_batch *b = fixture_next(l);
    assert_error(feedline_batch_get_field(b, 2, &field), FEEDLINE_ERANGE,
                 "field 2 of a batch that has 2");
    assert_error(feedline_dataset_get_field(near, 0, 2, &one), FEEDLINE_ERANGE,
                 "has 2 fields and 30 samples");
    assert_error(feedline_dataset_get_field(near, N, 0, &one), FEEDLINE_ERANGE,
                 "sample 30");
    assert_error(feedline_batch_get_field(NULL, 0, &field), FEEDLINE_EINVAL,
                 "NULL");
    feedline_batch_release(b);
}

/* ---- Failures ------------------------------------------------------------ */

static feedline_loader *open_pread(feedline_dataset *ds, const char *on_error)
{
    return fixture_with(ds, NULL, "center_crop size=8",
                        "batch_size=30 dtype=u8 epochs=1 reader=pread "
                        "workers=2 on_error=%s",
                        on_error);
}

static int32_t run_to_error(feedline_dataset *ds, size_t least)
{
    feedline_batch *b = NULL;
    SCOPED_LOADER l = open_pread(ds, "raise");
    refused = least;
    int32_t status = feedline_loader_next(l, -1, &b);
    refused = 0;
    return status;
}

TEST_WITH(a_part_that_cannot_be_read_fails_its_sample, setup, teardown)
{
    struct feedline_sample_field f = {.struct_size = sizeof(f)};
    assert_ok(feedline_dataset_get_field(far, 7, 0, &f));
    bad_at = (int64_t)f.offset;
    assert_error(run_to_error(far, 0), FEEDLINE_EIO,
                 "field 'bin' in /tmp/feedline-fields-");
    SCOPED_LOADER l = open_pread(far, "zero");
    feedline_batch *b = fixture_next(l);
    struct feedline_batch_info info = fixture_info(b);
    struct feedline_batch_field bin = field_of(b, 0);
    for (uint32_t i = 0; i < N; i++) {
        bool reads = has(i) && size_of(i) > 0;
        bool fails = i >= 7 && reads;
        assert_int_equal(info.sample_status[i],
                         fails ? FEEDLINE_EIO : FEEDLINE_OK);
        if (fails)
            assert_int_equal(bin.bytes[i], 0);
        else
            check_bin(&bin, i, i);
    }
    feedline_batch_release(b);
    bad_at = -1;
}

/* A sample finds no memory for what does not fit the slab. */
TEST_WITH(without_memory_for_a_sample, setup, teardown)
{
    SCOPED_LOADER l = open_pread(near, "zero");
    refused = 70000;
    feedline_batch *b = NULL;
    int32_t status = feedline_loader_next(l, -1, &b);
    refused = 0;
    /* What fits in 70,000 bytes apiece has to be joined, too. */
    assert_error(status, FEEDLINE_ENOMEM, "the fields of a batch");
    assert_null(b);
}

TEST_WITH(memory_that_comes_back, setup, teardown)
{
    assert_int_equal(run_to_error(near, 70000), FEEDLINE_ENOMEM);
    run_all(near, "pread", true);
}

TEST_WITH(a_stopped_run_leaves_nothing, setup, teardown)
{
    SCOPED_LOADER l = fixture_with(near, NULL, "center_crop size=8",
                                   "batch_size=7 dtype=u8 workers=2");
    for (uint32_t i = 0; i < 5; i++) {
        feedline_batch_release(fixture_next(l));
        assert_ok(feedline_loader_stop(l));
        assert_ok(feedline_loader_start(l, i));
    }
}

/* ---- Without pixels ------------------------------------------------------ */

TEST_WITH(encoded_images_come_as_a_field, setup, teardown)
{
    SCOPED_LOADER l = fixture_with(near, NULL, "five_crop size=8",
                                   "batch_size=30 decode=none epochs=1");
    feedline_batch *b = fixture_next(l);
    check_batch(b, true);
    struct feedline_batch_field image = field_of(b, 2);
    assert_string_equal(image.name, "image");
    for (uint32_t i = 0; i < N; i++) {
        uint64_t size;
        uint8_t *jpeg = fixture_jpeg(i, &size);
        assert_int_equal(image.bytes[i], size);
        assert_memory_equal(image.data + image.offset[i], jpeg, size);
        free(jpeg);
    }
    feedline_batch_release(b);
}

/* What bytes of fields take counts. */
TEST_WITH(memory_is_counted, setup, teardown)
{
    SCOPED_LOADER l = open_pread(near, "raise");
    uint64_t before = fixture_stats(l).memory_bytes;
    feedline_batch *b = fixture_next(l);
    struct feedline_batch_field bin = field_of(b, 0);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < N; i++)
        bytes += bin.bytes[i];
    assert_true(fixture_stats(l).memory_bytes >= before + bytes);
    feedline_batch_release(b);
}

TEST_MAIN("fields")
