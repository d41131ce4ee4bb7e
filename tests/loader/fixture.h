/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loader's tests share: generated JPEG files, in memory and on disk, a
 * loader made from a few words, and a hash of everything a run delivers.
 */
#ifndef FDL_TESTS_LOADER_FIXTURE_H
#define FDL_TESTS_LOADER_FIXTURE_H

#include "base/compiler.h"
#include "test.h"

#include <feedline/custom_op.h>
#include <feedline/targets.h>

#include <stdbool.h>

/* A JPEG whose content and size depend on `seed`; the caller frees. */
uint8_t *fixture_jpeg(uint32_t seed, uint64_t *size);

/* n > 2 generated images: in memory, and as class folders of a new temporary
 * directory; labels 0 .. 2 in turn. Removed by fixture_remove. */
struct fixture {
    uint32_t n;
    uint8_t **data;
    uint64_t *sizes;
    int64_t *labels;
    char folder[64];
    feedline_dataset *ds, *files; /* of both; closed by fixture_remove */
};
void fixture_create(struct fixture *f, uint32_t n);
void fixture_remove(struct fixture *f);

/* `images`, made and removed by setup and teardown. */
#define FIXTURE_IMAGES(n)                                                      \
  static struct fixture images;                                                \
  static void setup(void)                                                      \
  {                                                                            \
    fixture_create(&images, n);                                                \
  }                                                                            \
  static void teardown(void)                                                   \
  {                                                                            \
    fixture_remove(&images);                                                   \
  }

/* Path of image i in the folder. */
void fixture_path(const struct fixture *f, uint32_t i, char *path, size_t size);

/* A data set that is closed where its block ends, as SCOPED_LOADER has it. */
#define SCOPED_DATASET                                                         \
  __attribute__((cleanup(fixture_close), unused)) feedline_dataset *
void fixture_close(feedline_dataset **ds);

/* A data set of its own, which the caller closes. */
feedline_dataset *fixture_memory(const struct fixture *f);
feedline_dataset *fixture_folder(const struct fixture *f);

/* A loader in words. options: "key=value key=value", a format; operations:
 * "name args;name args", of which `def` (NULL: none) is one of the program's
 * own. A status; *out is NULL on error. */
int32_t fixture_try(feedline_loader **out, feedline_dataset *ds,
                    const struct feedline_op_def *def, const char *operations,
                    const char *options, ...) FDL_PRINTF(5, 6);

/* fixture_try where an error fails the test. */
feedline_loader *fixture_with(feedline_dataset *ds,
                              const struct feedline_op_def *def,
                              const char *operations, const char *options, ...)
    FDL_PRINTF(4, 5);

/* options: "key=value key=value"; u8, 32 x 32 by the recipe "train" without
 * normalize unless they say otherwise; with max_sample_bytes, images keep their
 * sizes. NULL on error. */
feedline_loader *fixture_loader(feedline_dataset *ds, const char *options);

/* fixture_loader where an error fails the test. */
feedline_loader *fixture_open(feedline_dataset *ds, const char *options);

/* A loader that is destroyed where its block ends; clang does not count that as
 * a use. */
#define SCOPED_LOADER                                                          \
  __attribute__((cleanup(fixture_destroy), unused)) feedline_loader *
void fixture_destroy(feedline_loader **l);

/* The next batch, NULL at an END. */
feedline_batch *fixture_next(feedline_loader *l);

/* The next batch, past ENDs; n of them; and n that are given back. */
feedline_batch *fixture_take(feedline_loader *l);
void fixture_take_all(feedline_loader *l, feedline_batch **out, uint32_t n);
void fixture_release_all(feedline_batch **batches, uint32_t n);
void fixture_pass(feedline_loader *l, uint32_t n);

/* The rest of the epoch, given back; how many batches. */
uint32_t fixture_pass_epoch(feedline_loader *l);

/* What the calls of these names give. */
struct feedline_batch_info fixture_info(const feedline_batch *b);
struct feedline_batch_targets fixture_targets(const feedline_batch *b);
struct feedline_stats fixture_stats(const feedline_loader *l);
struct feedline_wait_stats fixture_waits(const feedline_loader *l);
struct feedline_stage_stats fixture_stage(const feedline_loader *l,
                                          uint32_t stage);
struct feedline_worker_stats fixture_workers(const feedline_loader *l);
struct feedline_device_stats fixture_device(const feedline_loader *l);
struct feedline_verdict fixture_verdict(feedline_loader *l);
int64_t fixture_int(const feedline_loader *l, const char *key);

/* The statistics as JSON, until the next call. */
const char *fixture_json(feedline_loader *l);

/* Reads the log to its end: how many lines have these words. */
uint32_t fixture_log_count(const char *words);

/* Image i of a batch and its bytes, whether all have one size or not. */
const uint8_t *fixture_image(const struct feedline_batch_info *info, uint32_t i,
                             size_t *bytes);

/* The hash of what came before, and of n bytes, or of sample i of a batch. */
#define FIXTURE_HASH UINT64_C(1099511628211) /* of nothing */
uint64_t fixture_hash(uint64_t hash, const void *data, size_t n);
uint64_t fixture_hash_sample(uint64_t hash,
                             const struct feedline_batch_info *info,
                             uint32_t i);

/* What one batch holds, added to *hash. Releases it. */
void fixture_consume(feedline_batch *b, uint64_t *hash);

/* Runs n epochs to their END; the hash of it all. */
uint64_t fixture_run(feedline_loader *l, uint32_t epochs);

#define assert_ok(call)                                                        \
  do {                                                                         \
    int32_t status_ = (call);                                                  \
    if (status_ < 0)                                                           \
      fail_msg("%s: %s: %s", #call, feedline_status_name(status_),             \
               feedline_last_error());                                         \
  } while (0)

/* The status, and words that its detail must contain. */
#define assert_error(call, code, words)                                        \
  do {                                                                         \
    assert_int_equal((call), (code));                                          \
    if (!strstr(feedline_last_error(), (words)))                               \
      fail_msg("%s: \"%s\" lacks \"%s\"", #call, feedline_last_error(),        \
               (words));                                                       \
  } while (0)

#endif
