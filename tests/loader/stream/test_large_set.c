/* SPDX-License-Identifier: Apache-2.0 */
/* Shards with more bytes than there is memory, which are a hole mostly: how
 * they are read. */
#include "loader/loader.h"
#include "loader/read/direct.h"
#include "loader/read/window.h"
#include "loader/stream/engine_own.h"
#include "profiler/system/machine.h"
#include "tests/loader/fixture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 512
#define HOLE  (UINT64_C(1) << 31)

FIXTURE_IMAGES(3)

static void put(int fd, const void *data, size_t bytes, off_t at)
{
    assert_int_equal(pwrite(fd, data, bytes, at), bytes);
}

/* Returns where its data begin. */
static off_t put_header(int fd, const char *name, uint64_t bytes, off_t at)
{
    char block[BLOCK] = {0};
    unsigned sum = 0;
    snprintf(block, 100, "%s", name);
    for (int i = 0; i < 8; i++) /* as GNU's tar writes more than 8 GiB */
        block[135 - i] = (char)(unsigned char)(bytes >> 8 * i);
    block[124] = (char)0x80;
    block[156] = '0';
    memcpy(block + 257, "ustar\00000", 8);
    memset(block + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    put(fd, block, BLOCK, at);
    return at + BLOCK;
}

static off_t put_member(int fd, const char *name, const void *data,
                        uint64_t bytes, off_t at)
{
    at = put_header(fd, name, bytes, at);
    if (data)
        put(fd, data, bytes, at);
    return at + (off_t)((bytes + BLOCK - 1) / BLOCK * BLOCK);
}

/* An image, n members of 2 GiB that are none, and another image. */
static feedline_dataset *open_tar(uint64_t n)
{
    char path[128], uri[160], name[32];
    feedline_dataset *ds;
    snprintf(path, sizeof(path), "%s/s.tar", images.folder);
    snprintf(uri, sizeof(uri), "tar:%s", path);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    if (ftruncate(fd, (off_t)((n + 1) * HOLE)) < 0)
        test_skip("no file may be so large here");
    off_t at = put_member(fd, "a.jpg", images.data[0], images.sizes[0], 0);
    for (uint64_t i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "b%" PRIu64 ".jpg", i);
        at = put_member(fd, name, NULL, HOLE, at);
    }
    at = put_member(fd, "c.jpg", images.data[1], images.sizes[1], at);
    assert_int_equal(ftruncate(fd, at + 2 * BLOCK), 0);
    close(fd);
    assert_ok(feedline_dataset_open(uri, &ds));
    return ds;
}

static void check(feedline_dataset *ds, const char *options, int32_t mode,
                  bool random)
{
    SCOPED_LOADER l = fixture_with(ds, NULL, "center_crop size=8",
                                   "batch_size=1 %s", options);
    assert_int_equal(fdl_window_direct(l->engine->window)->mode, mode);
    assert_int_equal(l->engine->random_shards, random);
}

/* Past the page cache, which would have none of it when it comes again. */
TEST_WITH(what_memory_cannot_hold_is_read_directly, setup, teardown)
{
    uint64_t memory = fdl_machine_get()->memory_limit_bytes;
    assert_true(memory > 0);
    SCOPED_DATASET large = open_tar(memory / HOLE + 1);
    check(large, "shuffle=true", FDL_DIRECT_AUTO, true);
    check(large, "shuffle=false", FDL_DIRECT_AUTO, false);
    check(large, "shuffle=block", FDL_DIRECT_FALSE, true);
    check(large, "shuffle=true direct=false", FDL_DIRECT_FALSE, true);
    check(large, "shuffle=block direct=true", FDL_DIRECT_TRUE, true);

    uint64_t wanted[2] = {0, 0};
    SCOPED_LOADER l =
        fixture_with(large, NULL, "center_crop size=8",
                     "batch_size=1 dtype=u8 shuffle=false on_error=skip");
    feedline_batch *b = fixture_next(l);
    assert_int_equal(fixture_info(b).sample_index[0], 0);
    fixture_consume(b, &wanted[0]);

    SCOPED_DATASET small = open_tar(0);
    check(small, "shuffle=true", FDL_DIRECT_FALSE, false);
    check(small, "shuffle=block", FDL_DIRECT_FALSE, false);
    SCOPED_LOADER same =
        fixture_with(small, NULL, "center_crop size=8",
                     "batch_size=1 dtype=u8 shuffle=false on_error=skip");
    fixture_consume(fixture_next(same), &wanted[1]);
    assert_int_equal(wanted[0], wanted[1]);
}

TEST_MAIN("large_set")
