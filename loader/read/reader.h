/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers: whoever fills the read window. One contract, four backends so far:
 *
 *   pread   a pool of threads: open, fstat, pread, close. Works everywhere;
 *           many containers forbid io_uring, so it is no second choice.
 *   uring   one thread, one ring, `depth` reads in flight.
 *   remote  one thread, `depth` requests to object stores in flight.
 *   memory  no thread: the worker that needs a sample reads it itself, once,
 *           and the bytes stay. Data sets that are in memory anyway use it.
 *
 * A reader repeats: claim, read, complete. It learns of new room through the
 * window's waker. Errors belong to the sample (fdl_read_fail), never to the
 * reader; EMFILE and ENFILE are tried again as other reads finish.
 *
 * To add one, write loader/read/reader_NAME.c, which defines fdl_reader_NAME,
 * and add its line to FDL_READERS.
 */
#ifndef FDL_LOADER_READER_H
#define FDL_LOADER_READER_H

#include "loader/read/window.h"
#include "profiler/measure/stage.h"

#include <stdbool.h>
#include <stdint.h>

/* CMakeLists.txt reads it too. */
#define FDL_READERS(READER)                                                    \
  READER(uring)                                                                \
  READER(pread)                                                                \
  READER(memory)                                                               \
  READER(remote)

/* The choices of option `reader`. */
#define FDL_READER_KIND(name) FDL_READER_##name,
#define FDL_READER_TEXT(name) "|" #name
enum fdl_reader_kind {
    FDL_READER_AUTO = 0,
    FDL_READERS(FDL_READER_KIND) FDL_READER_KINDS
};
#define FDL_READER_CHOICE_TEXT "auto" FDL_READERS(FDL_READER_TEXT)

struct fdl_reader_config {
    struct fdl_window *window;
    const feedline_dataset *dataset;
    uint32_t depth;                 /* reads in flight now */
    uint32_t max_depth;             /* ever */
    struct fdl_stage *stages;       /* [max_depth], one per thread */
    uint64_t memory_budget;         /* of the memory reader's cache, bytes */
    const struct fdl_cpu_set *cpus; /* of its threads, NULL: any; lives until
                                       stop */
};

struct fdl_reader;

struct fdl_reader_ops {
    const char *name;
    enum fdl_reader_kind kind;
    bool reads_files;                  /* each time; false: keeps them */
    uint32_t default_depth, max_depth; /* where io_depth is auto */

    /* ENOSYS if the backend cannot work here, with the reason. */
    int32_t (*start)(const struct fdl_reader_config *cfg,
                     struct fdl_reader **out);

    /* Any thread, while started. NULL: depth means nothing. */
    void (*set_depth)(struct fdl_reader *r, uint32_t depth);

    /* Reads r->source here and now, on the calling worker. NULL: the backend
     * has threads of its own. */
    void (*read_now)(struct fdl_reader *r, struct fdl_read *read);

    /* Bytes held beyond the window's buffers; NULL: none. */
    uint64_t (*memory)(const struct fdl_reader *r);

    /* The window is closed. Waits for reads in flight, joins, frees. */
    void (*stop)(struct fdl_reader *r);
};

#define FDL_READER_DECLARE(name)                                               \
  extern const struct fdl_reader_ops fdl_reader_##name;
FDL_READERS(FDL_READER_DECLARE)

/* By kind; NULL for AUTO. */
extern const struct fdl_reader_ops *const fdl_readers[FDL_READER_KINDS];

/* AUTO, before a run: yes. */
static inline bool fdl_reader_has_threads(int32_t kind)
{
    return kind == FDL_READER_AUTO || !fdl_readers[kind]->read_now;
}
static inline bool fdl_reader_reads_files(int32_t kind)
{
    return kind == FDL_READER_AUTO || fdl_readers[kind]->reads_files;
}

/* Does io_uring work here? ENOSYS with the reason; a ring is made, tried and
 * taken down. */
int32_t fdl_reader_uring_try(void);

/* Starts what `kind` asks for. AUTO takes io_uring where it works, else pread,
 * and says why in the log, once per process. *ops is what was started. */
int32_t fdl_reader_start(enum fdl_reader_kind kind,
                         const struct fdl_reader_config *cfg,
                         const struct fdl_reader_ops **ops,
                         struct fdl_reader **out);

#endif
