/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader on its own: files in a folder of their own, a window, and the test
 * itself in the part of the loader and its workers.
 *
 * What arrives is compared with a copy, in one call: a loop over its bytes is
 * most of what the thread sanitizer would have to do.
 */
#ifndef FDL_TESTS_READER_RIG_H
#define FDL_TESTS_READER_RIG_H

#include "loader/options.h"
#include "loader/read/reader.h"
#include "profiler/measure/total.h"
#include "store/store.h"
#include "test.h"

#define RIG_FILES     512
#define RIG_TIMES     4096
#define RIG_MAX_DEPTH 64
#define RIG_MAX_FILE  ((uint64_t)64 << 20)

struct rig {
    char folder[64];
    uint32_t n_files;
    char *paths[RIG_FILES];
    uint64_t sizes[RIG_FILES]; /* as written */
    uint8_t *bytes[RIG_FILES];
    struct rig_extent {
        uint32_t file; /* whose bytes these are */
        uint64_t offset;
        int64_t length;
        bool part; /* of that file, which is kept open */
    } extents[RIG_FILES];

    feedline_dataset dataset;
    struct fdl_window *window;
    const struct fdl_reader_ops *ops;
    struct fdl_reader *reader;
    struct fdl_stage *stages; /* [RIG_MAX_DEPTH] */
    struct fdl_sample_times times[RIG_TIMES];

    /* Before rig_start. */
    uint32_t depth, limit;
    uint64_t max_file_bytes, memory_budget;
    bool random, gathers;
    int32_t direct; /* enum fdl_direct_choice */

    struct fdl_user_reader user; /* for rig_reads: the rig is the program */

    /* For the remote reader, once it was started: names of the files there. */
    struct fdl_store *store;
    char base[64];
    char *urls[RIG_FILES];
    fdl_tag tags[RIG_FILES];
    struct fdl_chunk_cache *chunks; /* with rig_caches */
};

/* Starts a server on a folder: tests/store/server.h, for who links it. */
extern uint16_t (*rig_serve)(const char *folder, uint32_t delay_ms);

/* For the remote reader: it keeps in a folder what it has read. */
extern bool rig_caches;

/* The test reads the files, as a program with a reader of its own. */
extern bool rig_reads;

/* A new folder; depth 4, limit 16. */
struct rig *rig_create(void);

/* A rig with n files of `bytes` each; start also begins to read them. */
struct rig *rig_with_files(uint32_t n, uint64_t bytes);
struct rig *rig_start_files(const struct fdl_reader_ops *ops, uint32_t n,
                            uint64_t bytes);
void rig_destroy(struct rig *rig);

/* One that is destroyed where its block ends; clang does not count that as a
 * use. */
#define SCOPED_RIG __attribute__((cleanup(rig_end), unused)) struct rig *
static inline void rig_end(struct rig **rig)
{
    rig_destroy(*rig);
}

/* Adds a file and makes it; rig_add_path: only the name. Returns its number. */
uint32_t rig_add_file(struct rig *rig, uint64_t size);
uint32_t rig_add_path(struct rig *rig, const char *name);

/* Adds a part of a file that was added; as if a file of its own. */
uint32_t rig_add_extent(struct rig *rig, uint32_t file, uint64_t offset,
                        int64_t length);

/* Start does it too. */
void rig_open_window(struct rig *rig);

/* 0 or what the reader's start said. */
int32_t rig_try_start(struct rig *rig, const struct fdl_reader_ops *ops);

/* Skips the case where the reader cannot work here. */
void rig_start(struct rig *rig, const struct fdl_reader_ops *ops);
void rig_stop(struct rig *rig);

/* The next sample that is there, in the way of a worker; waits for it. Sample s
 * is file s % n_files. */
struct fdl_read *rig_take(struct rig *rig);

/* The bytes, the padding and the stamps of a sample are right. */
void rig_check(const struct rig *rig, const struct fdl_read *r);

/* Takes samples until n were seen, checks each that has no error, frees it;
 * returns how many had one. */
uint64_t rig_drain(struct rig *rig, uint64_t n);

/* Reads file number `index` alone and expects the error and the text in its
 * reason. */
void rig_expect_failure(struct rig *rig, uint64_t sample, int32_t status,
                        const char *text);

/* Issues all before `end`, and takes n samples, none of which has an error. */
void rig_expect(struct rig *rig, uint64_t end, uint64_t n);

/* The next line of the log has the text; NULL: there is none. */
void rig_expect_log(const char *text);

/* Samples 0 to 3 are parts of a shard, 4 is a file of its own; one at a time.
 */
struct rig *rig_start_shard(const struct fdl_reader_ops *ops);

/* n parts of one shard, 4,000 bytes each and as close as neighbours are that
 * are read together. */
struct rig *rig_neighbours(uint32_t n);

/* The cases of a contract: three, and one more where a file says so. */
#ifndef RIG_REMOTE
#  define RIG_REMOTE(contract)
#endif
#define TEST_EACH(contract)                                                    \
  TEST(pread_##contract)                                                       \
  {                                                                            \
    contract(&fdl_reader_pread);                                               \
  }                                                                            \
  TEST(uring_##contract)                                                       \
  {                                                                            \
    contract(&fdl_reader_uring);                                               \
  }                                                                            \
  TEST(memory_##contract)                                                      \
  {                                                                            \
    contract(&fdl_reader_memory);                                              \
  }                                                                            \
  RIG_REMOTE(contract)

/* Over all threads of the reader; for free(). */
struct fdl_total *rig_total(const struct rig *rig);

#endif
