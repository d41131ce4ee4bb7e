/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets that are opened, and epochs of each reader. */
#include "base/status.h"
#include "lives.h"
#include "loader/read/reader.h"
#include "tests/remove_tree.h"

#include <dirent.h>
#include <limits.h>
#include <sys/prctl.h>

#define COMMON (KIND(MEMORY) | KIND(THREAD) | KINDS_FILES)

/* ---- Opening ------------------------------------------------------------ */

static int32_t open_and_look(const char *uri)
{
    feedline_dataset *ds = NULL;
    uint64_t count = 0;
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    int32_t status = trial_note(feedline_dataset_open(uri, &ds));
    if ((status < 0) != (ds == NULL))
        fail_msg("%s: a data set with status %d", uri, status);
    TRY(status, feedline_dataset_get_count(ds, &count));
    TRY(status, feedline_dataset_get_sample(ds, count - 1, &info));
    feedline_dataset_close(ds);
    return status;
}

static int32_t open_folder(void)
{
    return open_and_look(fault_images.folder);
}

const struct scenario fault_open_folder = {
    .name = "open_folder",
    .what = "a folder of classes is opened and closed",
    .kinds = COMMON,
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = open_folder};

/* Those that can be opened, of every format. */
static char shards[16][PATH_MAX];
static uint32_t n_shards;

static const char *find_shards(void)
{
    fault_images_make();
    n_shards = 0;
    DIR *d = opendir(TEST_SEEDS);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) {
        feedline_dataset *ds = NULL;
        snprintf(shards[n_shards], PATH_MAX, "%s/%s", TEST_SEEDS, e->d_name);
        if (e->d_name[0] != '.' && e->d_name[0] != 'f' && /* found by fuzzers */
            feedline_dataset_open(shards[n_shards], &ds) == FEEDLINE_OK)
            n_shards++;
        feedline_dataset_close(ds);
    }
    closedir(d);
    assert_in_range(n_shards, 6, 16);
    return NULL;
}

static int32_t open_shards(void)
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < n_shards && status >= 0; i++)
        status = open_and_look(shards[i]);
    return status;
}

const struct scenario fault_open_shards = {
    .name = "open_shards",
    .what = "a shard of each format is indexed",
    .kinds = COMMON,
    .setup = find_shards,
    .teardown = fault_images_remove,
    .life = open_shards};

/* ---- Epochs ------------------------------------------------------------- */

static int32_t epoch_pread(void)
{
    return fault_epoch(fault_images.folder, FAULT_OPERATIONS,
                       FAULT_OPTIONS "reader=pread");
}

const struct scenario fault_epoch_pread = {
    .name = "epoch_pread",
    .what = "an epoch of files, read by threads",
    .kinds = COMMON | KIND(DECODER),
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = epoch_pread};

static int32_t epoch_memory(void)
{
    return fault_epoch(fault_images.folder, FAULT_OPERATIONS,
                       FAULT_OPTIONS "reader=memory");
}

const struct scenario fault_epoch_memory = {
    .name = "epoch_memory",
    .what = "an epoch of files that workers read and keep",
    .kinds = COMMON | KIND(DECODER),
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = epoch_memory};

static int32_t epoch_uring(void)
{
    return fault_epoch(fault_images.folder, FAULT_OPERATIONS,
                       FAULT_OPTIONS "reader=uring");
}

static const char *with_ring(void)
{
    if (fdl_reader_uring_try() < 0)
        return fdl_last_error();
    return fault_images_make();
}

const struct scenario fault_epoch_uring = {
    .name = "epoch_uring",
    .what = "an epoch of files, read by io_uring",
    .kinds = KIND(MEMORY) | KIND(THREAD) | KIND(STAT) | KIND(LIMIT) |
             KIND(RING) | KIND(SUBMIT) | KIND(COMPLETION),
    .setup = with_ring,
    .teardown = fault_images_remove,
    .life = epoch_uring};

static char shard[128];

static const char *make_shard(void)
{
    fault_images_make();
    snprintf(shard, sizeof(shard), "tar:%s", fault_tar());
    return NULL;
}

/* In their order, so that neighbours are one read. */
static int32_t epoch_shard(void)
{
    return fault_epoch(shard, FAULT_OPERATIONS,
                       "dtype=f32 batch_size=4 workers=2 tuner=off live=false "
                       "reader=pread");
}

const struct scenario fault_epoch_shard = {
    .name = "epoch_shard",
    .what = "an epoch of a tar shard, in its order",
    .kinds = COMMON,
    .setup = make_shard,
    .teardown = fault_images_remove,
    .life = epoch_shard};

static int32_t epoch_ragged(void)
{
    return fault_epoch(fault_images.folder, "horizontal_flip",
                       FAULT_OPTIONS "reader=pread max_sample_bytes=1m");
}

const struct scenario fault_epoch_ragged = {
    .name = "epoch_ragged",
    .what = "an epoch of images that keep their sizes",
    .kinds = COMMON,
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = epoch_ragged};

/* ---- What samples fail costs one of them -------------------------------- */

static int32_t skip_failed(void)
{
    return fault_epoch(fault_images.folder, FAULT_OPERATIONS,
                       FAULT_OPTIONS "reader=pread on_error=skip");
}

const struct scenario fault_skip = {
    .name = "skip",
    .what = "an epoch in which other samples take the place of failed ones",
    .kinds = KIND(MEMORY) | KINDS_FILES | KIND(DECODER),
    .slow = KIND(LIMIT),
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = skip_failed};

static int32_t zero_failed(void)
{
    return fault_epoch(fault_images.folder, FAULT_OPERATIONS,
                       FAULT_OPTIONS "reader=memory on_error=zero");
}

const struct scenario fault_zero = {
    .name = "zero",
    .what = "an epoch in which failed samples are zeros",
    .kinds = KIND(MEMORY) | KINDS_FILES | KIND(DECODER),
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = zero_failed};

static const char *with_decoders(void)
{
    if (prctl(PR_GET_SECCOMP) < 0)
        return "no seccomp, which holds a decoder in";
    setenv("FEEDLINE_DECODE_PROGRAM", TEST_DECODE_PROGRAM, 1);
    return fault_images_make();
}

static int32_t epoch_isolated(void)
{
    return fault_epoch(fault_images.folder, FAULT_OPERATIONS,
                       FAULT_OPTIONS "reader=pread isolate=decode");
}

const struct scenario fault_epoch_isolated = {
    .name = "epoch_isolated",
    .what = "an epoch of files, decoded by processes of their own",
    .kinds = COMMON,
    .setup = with_decoders,
    .teardown = fault_images_remove,
    .life = epoch_isolated};
