/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stall ledger: attributes each nanosecond that the consumer waited.
 *
 * A wait [a, b) in next() waits for exactly one batch, the awaited ticket. Its
 * samples carry time stamps, so at each instant it is known how many of them
 * are not yet submitted for reading (q), being read (r), read and waiting for a
 * worker (w), or with a worker (d). With n active workers, P = min(n, q + r + w
 * + d) of them could be busy with this ticket, and d are. The instant is split:
 *
 *   d / P        PREP         decode and augment
 *   the rest, (P - d) / P, in this order until it is used up:
 *   w            WORKER_WAIT  bytes are there, the workers are elsewhere
 *   r            FETCH        reads are in flight
 *   q            FETCH_QUEUE  reads are not submitted, the I/O depth is used up
 *
 * Before the ticket was issued the instant is SLOT if the consumer held every
 * slot, else NOT_ISSUED; when all samples are done, it is TRANSFER_QUEUE until
 * the copy starts, TRANSFER until it is done, and WAKE from then to b. The
 * parts of an instant sum to it, so the buckets sum to b - a.
 *
 * PREP of an instant in which reads are missing as well is also counted as
 * lacking: a faster worker would only have waited longer for bytes. FETCH of
 * reads that storage had to deliver (`cold`) is also counted as cold; the rest
 * of it are copies from the page cache.
 *
 * Workers that are parked finish their sample first: if d > n, P is d.
 *
 * The attribution is a pure function of time stamps. Stamps after b, or 0 (not
 * happened), count as not happened. A step whose stamp is missing counts as
 * done together with the step after it, and the start of the copy implies that
 * all samples are done.
 */
#ifndef FDL_PROFILER_LEDGER_H
#define FDL_PROFILER_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum fdl_bucket {
    FDL_BUCKET_NOT_ISSUED = 0,
    FDL_BUCKET_SLOT,
    FDL_BUCKET_FETCH_QUEUE,
    FDL_BUCKET_FETCH,
    FDL_BUCKET_WORKER_WAIT,
    FDL_BUCKET_PREP,
    FDL_BUCKET_TRANSFER_QUEUE,
    FDL_BUCKET_TRANSFER,
    FDL_BUCKET_WAKE,
    FDL_BUCKETS
};

/* "not_issued", "slot", ... as in JSON. */
const char *fdl_bucket_name(enum fdl_bucket bucket);

/* Stamps of one sample, ns; 0: not yet. Written by the thread that does the
 * step, read by the consumer. */
struct fdl_sample_times {
    _Atomic int64_t read_start;
    _Atomic int64_t read_done;
    _Atomic int64_t work_start;
    _Atomic int64_t work_done;
    _Atomic bool cold; /* storage delivered its bytes; before read_done */
};

struct fdl_ticket_times {
    int64_t issued;         /* 0: not yet                                */
    int64_t transfer_start; /* 0: not yet                                */
    int64_t transfer_done;  /* 0: not yet                                */
    bool slots_held;        /* before `issued`, the consumer held all    */
    uint32_t workers;       /* active, at least 1                        */
    uint32_t n_samples;
    const struct fdl_sample_times *samples;
};

struct fdl_ledger {
    int64_t ns[FDL_BUCKETS];
    int64_t wait_ns;
    uint32_t waits;
    int64_t lacking_ns; /* of PREP: other workers lacked bytes */
    int64_t cold_ns;    /* of FETCH: storage had to deliver */
};

/* Scratch for the sweep over a ticket of up to n_samples. */
struct fdl_ledger_scratch;
int32_t fdl_ledger_scratch_create(uint32_t n_samples,
                                  struct fdl_ledger_scratch **out);
void fdl_ledger_scratch_destroy(struct fdl_ledger_scratch *s);

/* Adds the wait [a, b) to the ledger; sums are exact to the nanosecond.
 * O(samples + stamps in the wait * log), allocates nothing. b <= a is no wait
 * and changes nothing. ticket->n_samples is at most that of the scratch. One
 * thread at a time per ledger and per scratch. */
void fdl_ledger_add(struct fdl_ledger *l, struct fdl_ledger_scratch *s,
                    const struct fdl_ticket_times *ticket, int64_t a,
                    int64_t b);

#endif
