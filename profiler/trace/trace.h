/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The always-on recorder: each thread writes what it did into a ring of its
 * own, 32 bytes per note (one event of a trace), with time stamps that are
 * taken anyway. Nothing waits and nothing is woken; old notes are overwritten.
 * Readers copy a ring and drop what was overwritten meanwhile.
 */
#ifndef FDL_PROFILER_TRACE_H
#define FDL_PROFILER_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FDL_TRACE_NOTES 4096u /* of a ring; a power of two */

/* What a note is about. The category of a kind is in fdl_trace_category. */
enum fdl_trace_kind {
    FDL_TRACE_READ = 0, /* a sample: from submission to its last byte */
    FDL_TRACE_DECODE,   /* a sample in the image library */
    FDL_TRACE_AUGMENT,  /* a sample: the rest of a worker's time for it */
    FDL_TRACE_CUSTOM,   /* a sample in a custom operation; arg: which */
    FDL_TRACE_COPY,     /* a batch on the bus */
    FDL_TRACE_FINISH,   /* a batch in the finishing kernel */
    FDL_TRACE_WAIT,     /* the consumer waits in next() */
    FDL_TRACE_CAUSE,    /* part of the next wait: its begin, ns of it; arg:
                         * bucket of the ledger */
    FDL_TRACE_STEP,     /* the consumer between two calls of next() */
    FDL_TRACE_PHASE,    /* of the consumer; arg: its index */
    FDL_TRACE_ISSUE,    /* instant: a batch was scheduled */
    FDL_TRACE_READY,    /* instant: a batch can be delivered */
    FDL_TRACE_RELEASE,  /* instant: the consumer released a batch */
    FDL_TRACE_DECISION, /* instant: a setting was changed; length: its number;
                           arg 1: what came of it is known now */
    FDL_TRACE_COUNTER,  /* value: arg names the counter */
    FDL_TRACE_MARK,     /* a step that the program counts; ticket: its number */
    FDL_TRACE_KINDS
};

enum fdl_trace_counter {
    FDL_COUNTER_READY = 0,
    FDL_COUNTER_OUTSTANDING,
    FDL_COUNTER_WORKERS,
    FDL_COUNTER_READS,
    FDL_COUNTER_STALL_PPM, /* of the time since the last note */
    FDL_COUNTER_PINNED_BYTES,
    FDL_COUNTERS
};

#define FDL_TRACE_NO_SAMPLE UINT32_MAX /* the note is of the whole batch */

struct fdl_trace_note {
    int64_t begin_ns;
    int64_t length;  /* ns of a slice; 0 of an instant; value of a counter */
    uint64_t ticket; /* run in the upper 24 bits, see FDL_TRACE_RUN_SHIFT */
    uint32_t sample; /* place in its batch, or FDL_TRACE_NO_SAMPLE */
    uint16_t kind;
    uint16_t arg;
};

/* Tickets restart at 0 in every run of a loader; a note includes the run. */
#define FDL_TRACE_RUN_SHIFT 40

struct fdl_trace_ring;

/* NULL, without an error line, if out of memory; there are no notes then. */
struct fdl_trace_ring *fdl_trace_ring_create(void);
void fdl_trace_ring_destroy(struct fdl_trace_ring *ring);
uint64_t fdl_trace_ring_bytes(const struct fdl_trace_ring *ring);

/* By the ring's only writer (or by several under one lock), at any time. Does
 * nothing if ring is NULL. */
void fdl_trace_note(struct fdl_trace_ring *ring, enum fdl_trace_kind kind,
                    int64_t begin_ns, int64_t length, uint64_t ticket,
                    uint32_t sample, uint32_t arg);

/* Tickets of later notes are of this run. Between two runs. */
void fdl_trace_ring_set_run(struct fdl_trace_ring *ring, uint32_t run);

/*
 * Copies notes from *next on, oldest first, to out[FDL_TRACE_NOTES]; returns
 * how many and advances *next past the last. *lost grows by those that were
 * overwritten before they could be copied. Any thread.
 */
uint32_t fdl_trace_ring_copy(const struct fdl_trace_ring *ring, uint64_t *next,
                             struct fdl_trace_note *out, uint64_t *lost);

/* Notes ever written. */
uint64_t fdl_trace_ring_head(const struct fdl_trace_ring *ring);

#endif
