/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions that an observer asks an engine. Each answer is a copy, made for
 * one purpose: what the engine is doing now, or what it has counted since it
 * was created. Any thread may ask at any time. Nothing here takes `run_lock`,
 * so no answer waits for a thread that starts or stops.
 */
#ifndef FDL_LOADER_SNAPSHOT_H
#define FDL_LOADER_SNAPSHOT_H

#include "loader/read/remote_books.h"
#include "loader/read/user_calls.h"
#include "loader/stream/decode_choice.h"
#include "loader/stream/finish_choice.h"
#include "profiler/measure/copy_fit.h"
#include "profiler/measure/read_history.h"
#include "profiler/measure/timebook.h"
#include "profiler/measure/total.h"
#include "transfer/backend.h"

#include <stdbool.h>
#include <stdint.h>

struct fdl_engine;
struct fdl_trace_ring;

/* ---- Constants, which live as long as the engine ------------------------- */

/* Path of a sample of the data set; NULL: it has none. */
const char *fdl_engine_path(const struct fdl_engine *e, uint64_t index);

/* Notes of the ring: batches issued, ready and released. NULL: no memory. */
struct fdl_trace_ring *fdl_engine_notes(const struct fdl_engine *e);

/* An engine that never runs stands in for a watched loader. */
bool fdl_engine_stands_in(const struct fdl_engine *e);

/* How much the labels of a batch vary, in those of a full shuffle; 0: not
 * shuffle=block, or no labels. */
double fdl_engine_mixing(const struct fdl_engine *e);

/* Number of the GPU to which batches go; -1: none. */
int32_t fdl_engine_gpu(const struct fdl_engine *e);

/* ---- Batches and reads --------------------------------------------------- */

struct fdl_in_flight {
    uint32_t ready;        /* batches that could be delivered now */
    uint32_t outstanding;  /* batches issued and not delivered */
    uint32_t reads;        /* samples that are being read */
    uint64_t pinned_bytes; /* of all batches; 0: they stay on the host */
};

void fdl_engine_in_flight(const struct fdl_engine *e,
                          struct fdl_in_flight *out);

/* Ticket that next() has to deliver. */
uint64_t fdl_engine_awaited(const struct fdl_engine *e);

/* Adds all reads to *t, by the reader's threads and by workers. */
void fdl_engine_add_reads(const struct fdl_engine *e, struct fdl_total *t);

/* Whether storage_bytes of them are all that storage delivered. */
bool fdl_engine_counts_storage(const struct fdl_engine *e);

/* Adds only how long each took. */
void fdl_engine_add_read_times(const struct fdl_engine *e,
                               struct fdl_histogram *times);

/* Their sums; time_ns is 0, depth the one in force. */
void fdl_engine_read_sums(const struct fdl_engine *e,
                          struct fdl_read_sums *out);

/* What calls of the program's own reader took. Returns its name; NULL: there is
 * none. */
const char *fdl_engine_user_reads(const struct fdl_engine *e,
                                  struct fdl_user_sums *out);

/* What reading from stores has cost. */
void fdl_engine_remote_reads(const struct fdl_engine *e,
                             struct fdl_remote_sums *out);

/* The cache of what they have; false: there is none. */
bool fdl_engine_chunk_cache(const struct fdl_engine *e,
                            struct fdl_chunk_cache_state *out);

struct fdl_in_use {
    uint64_t memory_bytes; /* of batches, read buffers and decoders */
    uint64_t reader_bytes; /* beyond that, of files that the reader keeps */
    uint64_t index_bytes;  /* of memory_bytes, what was noted of JPEGs */
    uint64_t clock_reads;  /* of reads */
    uint64_t failed_samples;
};

void fdl_engine_in_use(const struct fdl_engine *e, struct fdl_in_use *out);

/* ---- Workers ------------------------------------------------------------- */

/* How many were ever created. They are numbered from 0, and exist as long as
 * the engine. */
uint32_t fdl_engine_worker_count(const struct fdl_engine *e);

/* The thread of a worker, to compare with what the kernel knows of it. */
struct fdl_worker_thread {
    int32_t tid;          /* 0: none runs */
    uint64_t past_cpu_ns; /* of its earlier threads; never of this one */
};

void fdl_engine_worker_thread(const struct fdl_engine *e, uint32_t worker,
                              struct fdl_worker_thread *out);

/* How a worker has spent its time, up to `now`. */
void fdl_engine_worker_spent(const struct fdl_engine *e, uint32_t worker,
                             int64_t now, struct fdl_spent_times *out);

/* The time of all workers' threads. */
struct fdl_workers_time {
    uint32_t threads; /* now */
    int64_t lived_ns;
    struct fdl_spent_times spent;
};

void fdl_engine_workers_time(const struct fdl_engine *e,
                             struct fdl_workers_time *out);

/* CPU time of all workers' threads, ever. A system call for each that runs. */
uint64_t fdl_engine_workers_cpu_ns(const struct fdl_engine *e);

/* A sample that is being read or prepared. */
struct fdl_sample_at {
    uint32_t worker; /* FDL_BY_READER: one of the reader's threads has it */
    uint32_t step;   /* enum fdl_render_step */
    int32_t tid;     /* of the worker */
    int64_t since_ns;
    uint64_t epoch, index, ticket;
};

#define FDL_BY_READER     UINT32_MAX
#define FDL_READS_AT_MOST 64u

/* The sample that a worker has. false: it is idle, or has just gone on to
 * another one. */
bool fdl_engine_worker_at(const struct fdl_engine *e, uint32_t worker,
                          struct fdl_sample_at *out);

/* Samples that the reader's threads have; returns how many. Takes the ring's
 * lock while it reads the time stamps of their batches. */
uint32_t fdl_engine_reads_at(const struct fdl_engine *e,
                             struct fdl_sample_at out[FDL_READS_AT_MOST]);

/* ---- The device ---------------------------------------------------------- */

struct fdl_device_state {
    struct fdl_backend_stats memory;
    const struct fdl_finish_choice *finish;
    const struct fdl_decode_choice *decode;
    struct fdl_copy_fit bus; /* 0: not measured */
    uint64_t batch_bytes;    /* as they cross the bus */
    uint64_t memory_budget;  /* of the device; 0: not known before a run */
};

/* When it returns, all copies that had landed have been reported to the
 * observer. ESTATE without a device. */
int32_t fdl_engine_device(const struct fdl_engine *e,
                          struct fdl_device_state *out);

#endif
