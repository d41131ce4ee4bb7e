/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second set of books, kept by who makes the delays. Storage, operation, bus
 * and consumer of the test write down when they did what, by clock reads of
 * their own; from that log alone the waits are split again, by brute force: at
 * every 10 us of each wait it is counted which samples of the awaited batch are
 * where, and the instant is split by the words of profiler/measure/ledger.h.
 *
 *   fdl_window_claim, open   a sample's read begins; which one it is
 *   pread                    sleeps, slow_reads.h
 *   fdl_window_complete      the read ends
 *   fdl_window_take          a worker has a sample
 *   the custom operation     which one
 *   fdl_ring_sample_done     it is done
 *   fdl_window_issue         batches are issued
 *   slow_bus.h               a copy begins, and ends
 *   fdl_ring_deliver         the consumer stops waiting: what next() does from
 *                            there on is its own
 *
 * Functions are taps by the linker's --wrap, close to where the loader stamps:
 * a thread may lose its core between any two lines.
 *
 * It shares neither stamps nor code with the ledger. One run at a time; epochs
 * are not passed, so a sample's number says where it belongs.
 */
#ifndef FDL_TESTS_LEDGER_LOG_H
#define FDL_TESTS_LEDGER_LOG_H

#include "profiler/measure/ledger.h"

#include <stdbool.h>
#include <stdint.h>

#define LOG_SAMPLES 512u
#define LOG_WAITS   4096u

#define LOG_INSTANT_NS INT64_C(10000)

struct log_sample {
    _Atomic int64_t read_begin, read_end, work_begin, work_end;
};

struct log_batch {
    _Atomic int64_t issued, copy_begin, copy_end;
};

/* One call of next(), from before until after it. */
struct log_wait {
    int64_t begin, end;
    uint32_t batch;
};

struct ledger_log {
    uint32_t batch_size, workers;
    uint32_t n_samples;
    bool reads;                /* else samples are in memory */
    bool bus;                  /* else batches are handed over at once */
    _Atomic uint32_t n_issued; /* batches */
    uint32_t n_waits;
    struct log_sample samples[LOG_SAMPLES];
    struct log_batch batches[LOG_SAMPLES];
    struct log_wait waits[LOG_WAITS];
};

/* The log that everybody writes to from now on; NULL: none. */
void ledger_log_use(struct ledger_log *log);

/* By the operation of the test, on the worker's thread. */
void ledger_log_worked(int64_t sample);

/* By the bus. */
void ledger_log_copy(uint64_t batch, int64_t begin, int64_t end);

/* By the consumer, around each call of next(). */
void ledger_log_wait(int64_t begin, int64_t end, uint64_t batch);

/* What the ledger should say: ns by bucket. */
void ledger_log_attribute(const struct ledger_log *log, double ns[FDL_BUCKETS]);

#endif
