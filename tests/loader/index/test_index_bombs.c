/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shards, lists and names that claim more than there is, or make much of
 * little: each is refused before there is memory for it. docs/limits.md.
 */
#include "base/checksum.h"
#include "loader/dataset/dataset.h"
#include "loader/index/index_format.h"
#include "test.h"
#include "tests/peak_memory.h"
#include "tests/remove_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#define MIB   (UINT64_C(1) << 20)
#define BLOCK 512

static char folder[] = "/tmp/feedline-bombs-XXXXXX";
static char path[64];

static void set_up(void)
{
    setenv("FEEDLINE_CACHE_DIR", "off", 1);
    assert_non_null(mkdtemp(folder));
}

static void tear_down(void)
{
    remove_tree(folder);
}

static FILE *create(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    return f;
}

static void write_file(const char *name, const void *data, size_t n)
{
    FILE *f = create(name);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static void put_le(uint8_t *to, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(x >> 8 * i);
}

/* Little is taken, and the error is about the file. */
static void expect_refusal(const struct fdl_index_format *format,
                           const char *spec, const char *words)
{
    feedline_dataset *ds = NULL;
    peak_begin();
    int32_t status = fdl_dataset_open_shards(format, spec, &ds);
    assert_peak_below(16 * MIB);
    if (status >= 0 || !strstr(fdl_last_error(), words))
        fail_msg("%d: %s, and not: %s", status, fdl_last_error(), words);
    assert_null(ds);
}

/* ---- Counts and lengths -------------------------------------------------- */

TEST_WITH(zip_of_many_members, set_up, tear_down)
{
    uint8_t data[4 + 56 + 20 + 22] = "PK\3\4";
    uint8_t *end64 = data + 4, *locator = end64 + 56, *end = locator + 20;
    memcpy(end64, "PK\6\6", 4);
    put_le(end64 + 32, UINT64_MAX / 2, 8); /* members */
    put_le(end64 + 40, 60, 8);             /* bytes of the directory */
    put_le(end64 + 48, 4, 8);
    memcpy(locator, "PK\6\7", 4);
    put_le(locator + 8, 4, 8);
    memcpy(end, "PK\5\6", 4);
    write_file("a.zip", data, sizeof(data));
    expect_refusal(&fdl_index_zip, path, "a.zip at 4");
}

TEST_WITH(lengths_that_are_not_there, set_up, tear_down)
{
    uint8_t data[64] = {0};
    put_le(data, UINT64_MAX - 7, 8);
    put_le(data + 8, fdl_sum_of(FDL_SUM_MASKED, data, 8), 4);
    write_file("a.tfrecord", data, sizeof(data));
    expect_refusal(&fdl_index_tfrecord, path, "a.tfrecord at 12");

    put_le(data, 0xced7230a, 4);
    put_le(data + 4, 0x1fffffff, 4);
    write_file("a.rec", data, sizeof(data));
    expect_refusal(&fdl_index_recordio, path, "a.rec at 0");

    put_le(data, UINT32_MAX, 4);
    put_le(data + 4, UINT32_MAX, 4);
    write_file("a.mds", data, sizeof(data));
    expect_refusal(&fdl_index_mds, path, "a.mds at");
}

TEST_WITH(beton_of_many_samples, set_up, tear_down)
{
    static uint8_t data[24 + 1041 + 100];
    put_le(data, 2, 2);
    put_le(data + 2, 1, 2);
    put_le(data + 4, 512, 4);
    put_le(data + 8, UINT64_C(1) << 60, 8);
    put_le(data + 16, 24 + 1041, 8);
    data[24] = 2; /* an image */
    write_file("a.beton", data, sizeof(data));
    expect_refusal(&fdl_index_beton, path, "do not fit");
}

TEST_WITH(litdata_of_many_samples, set_up, tear_down)
{
    static const char index[] = "{\"chunks\": [{\"filename\": \"a.bin\"}], "
                                "\"config\": {\"data_format\": [\"jpeg\"]}}";
    write_file("a.bin", "\xff\xff\xff\xff\0\0\0\0", 8);
    write_file("index.json", index, strlen(index));
    expect_refusal(&fdl_index_litdata, folder, "a.bin at");
}

/* ---- Tar ----------------------------------------------------------------- */

static void tar_header(FILE *f, const char *name, uint32_t size, char type)
{
    char block[BLOCK] = {0};
    unsigned sum = 0;
    snprintf(block, 100, "%s", name);
    snprintf(block + 124, 12, "%011o", size);
    block[156] = type;
    memset(block + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
    assert_int_equal(fwrite(block, 1, BLOCK, f), BLOCK);
}

/* Up to whole blocks. */
static void tar_body(FILE *f, const char *head, size_t n)
{
    size_t head_bytes = strlen(head), all = (n + BLOCK - 1) / BLOCK * BLOCK;
    assert_int_equal(fwrite(head, 1, head_bytes, f), head_bytes);
    for (size_t i = head_bytes; i < all; i++)
        fputc(i + 1 < n ? 'a' : i + 1 == n ? '\n' : '\0', f);
}

/* A name of a megabyte that every member has which follows. */
TEST_WITH(tar_of_long_names, set_up, tear_down)
{
    FILE *f = create("a.tar");
    tar_header(f, "g", 1000000, 'g');
    tar_body(f, "1000000 path=", 1000000);
    for (int i = 0; i < 200; i++)
        tar_header(f, "x", 0, '0');
    fclose(f);
    snprintf(path, sizeof(path), "%s/a.tar", folder);
    expect_refusal(&fdl_index_tar, path, "a name of 999986 bytes");
}

TEST_WITH(tar_of_a_long_gnu_name, set_up, tear_down)
{
    FILE *f = create("a.tar");
    tar_header(f, "././@LongLink", 100000, 'L');
    tar_body(f, "", 100000);
    tar_header(f, "x", 0, '0');
    fclose(f);
    expect_refusal(&fdl_index_tar, path, "a name of 100000 bytes");
}

/* ---- Lists --------------------------------------------------------------- */

static void expect_no_list(const char *name, const char *words)
{
    static const char *const endings[] = {".tar", NULL};
    struct fdl_string_list list = {0};
    peak_begin();
    int32_t status = fdl_shard_list_find(&list, name, endings);
    assert_peak_below(16 * MIB);
    assert_int_equal(status, FEEDLINE_EINVAL);
    if (!strstr(fdl_last_error(), words))
        fail_msg("%s, and not: %s", fdl_last_error(), words);
    fdl_string_list_free(&list);
}

TEST(names_of_many_shards)
{
    static char name[4000];
    expect_no_list("a{0..99999999}.tar", "more than 1000000 shards");
    memset(name, 'a', sizeof(name) - 1);
    memcpy(name, "{0..999999}", 11);
    expect_no_list(name, "names of shards of more than 268435456 bytes");
}

TEST(names_that_nest)
{
    static char name[4000];
    memset(name, '{', sizeof(name) / 2 - 1);
    memset(name + sizeof(name) / 2 - 1, '}', sizeof(name) / 2);
    memcpy(name + sizeof(name) / 2 - 4, "a,b", 3);
    static const char *const endings[] = {".tar", NULL};
    struct fdl_string_list list = {0};
    peak_begin();
    int32_t status = fdl_shard_list_find(&list, name, endings);
    assert_peak_below(16 * MIB);
    assert_true(status == FEEDLINE_OK || status == FEEDLINE_EINVAL);
    assert_true(list.n <= 2);
    fdl_string_list_free(&list);
}

TEST_WITH(json_that_nests, set_up, tear_down)
{
    static char text[MIB];
    memset(text, '[', sizeof(text));
    memcpy(text, "{\"a\":", 5);
    write_file("index.json", text, sizeof(text));
    expect_refusal(&fdl_index_litdata, folder, "index.json");
    expect_refusal(&fdl_index_mds, folder, "index.json");
}

/* ---- IDX ----------------------------------------------------------------- */

TEST_WITH(idx_of_many_images, set_up, tear_down)
{
    char spec[160];
    feedline_dataset *ds = NULL;
    write_file("images", "\0\0\x08\3\xff\xff\xff\xff\0\0\xff\xff\0\0\xff\xff",
               16);
    write_file("labels", "\0\0\x08\1\xff\xff\xff\xff", 8);
    snprintf(spec, sizeof(spec), "%s/images?labels=%s/labels", folder, folder);
    peak_begin();
    assert_true(fdl_dataset_open_idx(spec, &ds) < 0);
    assert_peak_below(16 * MIB);
    assert_null(ds);
}

TEST_MAIN("index bombs")
