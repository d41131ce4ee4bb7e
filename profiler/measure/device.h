/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of a device: what its copies did, and when the consumer's stream
 * was idle for want of a batch. One record per batch is added, in the order of
 * the copies; the results are sums.
 *
 *   copies        [== 1 ==]  [== 2 ==]        [======== 3 ========]
 *   stream  --- wait 1 ---|  work on 1   |wait| work on 2  |-- wait 3 --| ...
 *                         ^              2    ^            ^            ^
 *                     ready 1       entered 2 ready 2   entered 3    ready 3
 *                         |<------------------- span ------------------>|
 *
 * A step is a batch that a stream waited for. The stream enters the wait when
 * it has no other work left, even if the host, which waits for the batch too,
 * cannot tell it to wait yet; it leaves the wait when the batch is ready.
 *
 * The span runs from the end of the first wait to the end of the last: the
 * first one is the loader's start-up, which nothing could have hidden. Each
 * instant of the span is
 *
 *   idle   the stream is in a wait: the sum of ready - entered, where positive,
 *          over all steps but the first
 *   busy   from the end of a wait to the entry of the next
 *
 * so idle + busy = span, to the nanosecond. Waits of several streams do not
 * nest: the part of a wait before the end of the previous one counts once.
 *
 * What a program does between two epochs is its own affair. A step that resumes
 * after such a pause continues the span at its own entry: its wait counts as
 * idle, and the time from the previous wait to this one is left out.
 *
 * The overlap of a copy is the part of [start, end) in which the stream was
 * busy. If pieces of a copy leave gaps, it is scaled by the time spent copying.
 * The work on the last step ends when the next one is entered, so it is counted
 * with the next record.
 *
 * A copy meets busy times of earlier steps, known when its record arrives, and,
 * if no stream waits for it, of later ones. The last FDL_DEVICE_HELD busy times
 * are kept, and as many copies that may still meet some: the overlap is exact
 * as long as no copy begins more than 64 steps ahead of its own. Beyond that it
 * is a lower bound.
 */
#ifndef FDL_PROFILER_DEVICE_H
#define FDL_PROFILER_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define FDL_DEVICE_HELD 64u

/* Of one batch; ns on one clock. */
struct fdl_device_event {
    int64_t queued;               /* first copy submitted */
    int64_t start, end;           /* first copy begun, last one done */
    int64_t ready;                /* finished: == end where nothing is */
    int64_t entered;              /* see above; 0: no stream waited for it */
    int64_t copying;              /* of end - start, copies under way */
    int64_t make_start, make_end; /* the device made the images; 0: it did not
                                   */
    uint64_t bytes;
    uint32_t copies;
    bool finished; /* by the device */
    bool resumes;  /* the first step of an epoch */
};

/* A copy, and how much of it met busy times so far. */
struct fdl_device_copy {
    int64_t start, end, copying, met;
};

struct fdl_device_busy {
    int64_t begin, end;
};

/* Zeroed memory is an empty ledger, and zeroing resets it: the next step begins
 * a new span. Nothing here is atomic: the owner has one thread add to it, and a
 * lock for that thread and the readers. */
struct fdl_device_ledger {
    uint64_t batches, finished, copies, bytes;
    int64_t queue_ns;   /* submitted until begun */
    int64_t copy_ns;    /* copying */
    uint64_t made;      /* of batches: the device made their images */
    int64_t make_ns;    /* which took so long */
    int64_t finish_ns;  /* from the end of that, or of the copy, until ready */
    int64_t overlap_ns; /* of copy_ns */

    uint64_t steps;
    int64_t span_ns, idle_ns;

    int64_t left; /* end of the last wait; of the span, while steps > 0 */
    struct fdl_device_copy held[FDL_DEVICE_HELD];
    struct fdl_device_busy busy[FDL_DEVICE_HELD];
    uint32_t n_held, n_busy;
};

/* Adds the next batch. Times that run backwards count as 0. */
void fdl_device_ledger_add(struct fdl_device_ledger *l,
                           const struct fdl_device_event *event);

#endif
