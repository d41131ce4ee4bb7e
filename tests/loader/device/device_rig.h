/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaders on a device, compared with those of the host: images, streams of the
 * test, echoes, which are batches that came back, and desks, where a batch is
 * read late and given back early. Works with the double of
 * the CUDA driver and on hardware: what the library found is used here too.
 */
#ifndef FDL_TESTS_DEVICE_RIG_H
#define FDL_TESTS_DEVICE_RIG_H

#include "dice.h"
#include "test.h"
#include "tests/loader/fixture.h"
#include "transfer/cuda/cuda_api.h"

#include <feedline/bench.h>

#define RIG_IMAGES  44u
#define RIG_BATCH   8u
#define RIG_BATCHES 6u /* of an epoch; the last one has 4 images */
#define RIG_STREAMS 5u
#define RIG_ECHOES  12u

#define assert_cuda(call) assert_int_equal((call), FDL_CUDA_SUCCESS)

/* Of the driver that the library uses, whatever file it came from. */
struct driver {
    const struct fdl_cuda_api *cuda;
    int (*CtxSetCurrent)(void *context);
    int (*CtxGetDevice)(int *device);
    int (*MemHostAlloc)(void **memory, size_t bytes, unsigned flags);
    int (*MemFreeHost)(void *memory);
    int (*MemcpyDtoHAsync)(void *to, const void *from, size_t bytes,
                           fdl_cuda_stream stream);
};

struct rig {
    struct driver run;
    struct fixture images;
    feedline_dataset *dataset;
    fdl_cuda_stream streams[RIG_STREAMS];
    struct dice dice;
};

/* A batch as it came back: pinned, so that the host waits for no copy. */
struct echo {
    uint8_t *memory; /* images, then labels */
    uint64_t capacity;
};

/* A loader on a device and one of the host that makes the same batches. */
struct pair {
    feedline_loader *device, *host;
    struct echo echo;
};

/* Batches on their way back by two streams of work, and what they have to be.
 */
struct desk {
    struct rig rig;
    feedline_loader *device, *host;
    feedline_busy *busy[2];
    struct echo echoes[RIG_ECHOES][2];
    bool filled[RIG_ECHOES][2];           /* on which streams */
    feedline_batch *expected[RIG_ECHOES]; /* of the host, still held */
    struct feedline_batch_info info[RIG_ECHOES];
    uint32_t n;
};

/* Without a driver the case is skipped, unless one was asked for. */
void rig_open_driver(struct driver *run);
void rig_open(struct rig *r);
void rig_close(struct rig *r);

/* One that is closed where its block ends; clang does not count that as a
 * use. */
#define SCOPED_RIG __attribute__((cleanup(rig_close), unused)) struct rig

/* The program's own use of CUDA: the primary context of a device is current. */
void rig_use_device(struct rig *r, int device);
uint32_t rig_draw(struct rig *r, uint32_t below);

void rig_echo_open(const struct rig *r, struct echo *e, uint64_t bytes);
void rig_echo_close(const struct rig *r, struct echo *e);

/* device: "host", "cuda:0"; options: "key=value key=value", among them "size",
 * of the pipeline's images in place of 36 x 28, and "op", one operation more,
 * or "views": four of each sample by chains.
 */
feedline_loader *rig_loader(feedline_dataset *ds, const char *device,
                            const char *options);

/* What is needed to hold any batch of `host`, on any device: its slot has the
 * labels too. And where in an echo they are. */
uint64_t rig_batch_bytes(const feedline_loader *host);
uint64_t rig_labels_at(const struct feedline_batch_info *info);

/* Queues the copies behind whatever `stream` has to do. */
void rig_read_back(const struct rig *r, const struct feedline_batch_info *d,
                   fdl_cuda_stream stream, struct echo *e);

/* All that can be seen without touching the device; number: of it. */
void assert_same_info(const struct feedline_batch_info *d,
                      const struct feedline_batch_info *h, int32_t number);

/* Every byte of images and labels; the batch of `d` is still held. */
void assert_same_bytes(const struct feedline_batch_info *d,
                       const struct feedline_batch_info *h,
                       const struct echo *e);

/* A loader on the host and one on the device with these options; finish: where
 * the device's batches are finished. */
void rig_pair_open(const struct rig *r, struct pair *p, const char *device,
                   const char *finish, const char *options);
void rig_pair_close(const struct rig *r, struct pair *p);

/* Two batches that are the same by `stream`, which waits for the first. */
void rig_pair_check(const struct rig *r, struct pair *p, feedline_batch *device,
                    feedline_batch *host, int number, fdl_cuda_stream stream);

/* The next batches of both, which are given back. */
void rig_pair_next(const struct rig *r, struct pair *p, int number,
                   fdl_cuda_stream stream);

void desk_open(struct desk *d, const char *options, const char *finish);
void desk_close(struct desk *d);

/* All that is under way arrives, and is compared. */
void desk_verify(struct desk *d);

/* The next batch, and beside it that of the host; room for its way back. */
feedline_batch *desk_next(struct desk *d);

/* Work that takes a while on a stream, and behind it the way back of the batch
 * that came last: of its bytes as they are at `from`. */
void desk_read_late(struct desk *d, uint32_t stream,
                    const struct feedline_batch_info *from);

#endif
