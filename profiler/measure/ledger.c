/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep: nothing changes between two stamps, so a wait is cut at the stamps
 * inside it, and each piece is split by the number of samples in each state.
 *
 *   a        issued   s s  s   s    s  last    start     done      b
 *   |--SLOT----|------+-+--+---+----+---|--QUEUE--|-TRANSFER-|-WAKE-|
 *                 split by q, r, w, d
 *
 * A binary heap yields the stamps in order: it is built in linear time from the
 * stamps inside (a, b) only, and allocates nothing, as qsort may. A stamp is
 * kept as (time - a) * 4 + step, so a sample's steps at the same instant stay
 * in order; its last bit says whether the sample is cold. On a 2-core virtual
 * machine a wait of 256 samples took 2.4 us if it began late (few stamps in
 * it), and 55 us if all 1024 stamps were in it, as when waiting for the first
 * batch.
 *
 * Steps imply the steps before them: a sample that is being worked on has been
 * read, whatever its read stamps say. So stamps written by several threads and
 * partly seen make no time appear or vanish, and a reader with nothing to read
 * (memory) need not stamp it.
 *
 * Rounding: parts of a piece are multiples of 2^-12 ns, cut where the running
 * sum is rounded, so they sum to the piece; at the end the parts of the wait
 * are cut to whole nanoseconds in the same way. A thousand pieces move less
 * than a nanosecond between two buckets, and none is lost.
 */
#include "profiler/measure/ledger.h"

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"

#include <stdlib.h>

#define NEVER         INT64_MAX
#define FRACTION_BITS 12
/* Keys and fractions fit into 63 bits up to here: 36 years. */
#define WAIT_LIMIT_NS (INT64_C(1) << 60)

/* Where a sample is; a stamp moves it to the next place. */
enum place { QUEUED, READING, WAITING, WORKING, DONE, PLACES };

#define STEPS (PLACES - 1)

struct fdl_ledger_scratch {
    uint32_t n_samples;
    uint32_t n_keys;
    uint64_t key[]; /* STEPS per sample */
};

/* One wait while it is being split: sums in fractions of a nanosecond. */
struct sweep {
    uint64_t part[FDL_BUCKETS];
    uint64_t lacking, cold;
    uint32_t at[PLACES]; /* samples in each place */
    uint32_t cold_reads; /* of at[READING] */
    uint32_t workers;
    uint32_t bits; /* of the fraction */
};

static const char *const bucket_names[FDL_BUCKETS] = {
    "not_issued", "slot",           "fetch_queue", "fetch", "worker_wait",
    "prep",       "transfer_queue", "transfer",    "wake",
};

const char *fdl_bucket_name(enum fdl_bucket bucket)
{
    return (uint32_t)bucket < FDL_BUCKETS ? bucket_names[bucket] : "unknown";
}

int32_t fdl_ledger_scratch_create(uint32_t n_samples,
                                  struct fdl_ledger_scratch **out)
{
    struct fdl_ledger_scratch *s = NULL;
    size_t bytes;
    if (fdl_mul_size(n_samples, STEPS * sizeof(s->key[0]), &bytes) &&
        fdl_add_size(bytes, sizeof(*s), &bytes))
        s = malloc(bytes);
    else
        bytes = SIZE_MAX;
    if (!s)
        return fdl_fail_memory(bytes, "the stall ledger");
    s->n_samples = n_samples;
    s->n_keys = 0;
    *out = s;
    return FEEDLINE_OK;
}

void fdl_ledger_scratch_destroy(struct fdl_ledger_scratch *s)
{
    free(s);
}

static void sift_down(uint64_t *key, uint32_t n, uint32_t hole)
{
    uint64_t moved = key[hole];
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= n)
            break;
        if (child + 1 < n && key[child + 1] < key[child])
            child++;
        if (moved <= key[child])
            break;
        key[hole] = key[child];
        hole = child;
    }
    key[hole] = moved;
}

static void heapify(struct fdl_ledger_scratch *s)
{
    for (uint32_t i = s->n_keys / 2; i > 0; i--)
        sift_down(s->key, s->n_keys, i - 1);
}

static uint64_t pop(struct fdl_ledger_scratch *s)
{
    uint64_t first = s->key[0];
    s->key[0] = s->key[--s->n_keys];
    if (s->n_keys > 0)
        sift_down(s->key, s->n_keys, 0);
    return first;
}

/* The time of a stamp: 0 and times from b on have not happened. */
static int64_t happened(int64_t stamp, int64_t b)
{
    return stamp == 0 || stamp >= b ? NEVER : stamp;
}

/* Enters a sample as of time a, and its later steps as keys. The copy started
 * at `latest`, so the sample was done by then. */
static void place_sample(struct sweep *sw, struct fdl_ledger_scratch *s,
                         const struct fdl_sample_times *t, int64_t latest,
                         int64_t a, int64_t b)
{
    int64_t step[STEPS] = {happened(fdl_load(&t->read_start), b),
                           happened(fdl_load(&t->read_done), b),
                           happened(fdl_load(&t->work_start), b),
                           happened(fdl_load(&t->work_done), b)};
    uint32_t place = QUEUED;
    bool cold = atomic_load_explicit(&t->cold, memory_order_relaxed);
    for (uint32_t i = STEPS; i-- > 0;) {
        latest = FDL_MIN(latest, step[i]);
        step[i] = latest;
    }
    for (uint32_t i = 0; i < STEPS; i++) {
        if (step[i] <= a)
            place = i + 1;
        else if (step[i] != NEVER)
            s->key[s->n_keys++] =
                ((uint64_t)(step[i] - a) * STEPS + i) << 1 | cold;
    }
    sw->at[place]++;
    sw->cold_reads += cold && place == READING;
}

/* floor(x * part / whole), part <= whole, without leaving 64 bits. */
static uint64_t share(uint64_t x, uint32_t part, uint32_t whole)
{
    return x / whole * part + x % whole * part / whole;
}

static void add_whole(struct sweep *sw, enum fdl_bucket bucket, int64_t ns)
{
    if (ns > 0)
        sw->part[bucket] += (uint64_t)ns << sw->bits;
}

/* A piece during which no sample changes its state. */
static void add_piece(struct sweep *sw, uint64_t ns)
{
    uint32_t busy = sw->at[WORKING];
    uint32_t active = sw->at[QUEUED] + sw->at[READING] + sw->at[WAITING] + busy;
    /* Workers may have been parked while working on it. */
    uint32_t could = FDL_MAX(FDL_MIN(sw->workers, active), busy);
    uint32_t rest = could - busy;
    uint32_t waiting = FDL_MIN(rest, sw->at[WAITING]);
    uint32_t reading = FDL_MIN(rest - waiting, sw->at[READING]);
    const struct {
        enum fdl_bucket bucket;
        uint32_t weight;
    } split[] = {{FDL_BUCKET_PREP, busy},
                 {FDL_BUCKET_WORKER_WAIT, waiting},
                 {FDL_BUCKET_FETCH, reading},
                 {FDL_BUCKET_FETCH_QUEUE, rest - waiting - reading}};
    uint64_t whole = ns << sw->bits;
    uint64_t given = 0;
    uint32_t weight = 0;
    if (ns == 0)
        return;
    if (rest > waiting)
        sw->lacking += share(whole, busy, could);
    for (uint32_t i = 0; i < FDL_COUNT_OF(split); i++) {
        weight += split[i].weight;
        uint64_t until = share(whole, weight, could);
        sw->part[split[i].bucket] += until - given;
        if (split[i].bucket == FDL_BUCKET_FETCH && sw->cold_reads > 0)
            sw->cold += share(until - given, sw->cold_reads, sw->at[READING]);
        given = until;
    }
}

/* From t (>= a) until all samples are done; returns that time, at most b. */
static int64_t sweep_samples(struct sweep *sw, struct fdl_ledger_scratch *s,
                             const struct fdl_ticket_times *ticket,
                             int64_t latest, int64_t t, int64_t b)
{
    uint64_t now = 0;
    s->n_keys = 0;
    for (uint32_t i = 0; i < ticket->n_samples; i++)
        place_sample(sw, s, &ticket->samples[i], latest, t, b);
    heapify(s);
    while (s->n_keys > 0) {
        uint64_t key = pop(s);
        bool cold = key & 1;
        key >>= 1;
        add_piece(sw, key / STEPS - now);
        now = key / STEPS;
        sw->cold_reads -= cold && key % STEPS == READING;
        sw->at[key % STEPS]--;
        sw->at[key % STEPS + 1]++;
        sw->cold_reads += cold && key % STEPS + 1 == READING;
    }
    if (sw->at[DONE] < ticket->n_samples) {
        add_piece(sw, (uint64_t)(b - t) - now);
        return b;
    }
    return t + (int64_t)now;
}

/* Cuts the parts to whole nanoseconds and adds them. */
static void book(struct fdl_ledger *l, const struct sweep *sw)
{
    uint64_t half = (UINT64_C(1) << sw->bits) >> 1;
    uint64_t sum = 0;
    uint64_t given = 0;
    for (uint32_t i = 0; i < FDL_BUCKETS; i++) {
        sum += sw->part[i];
        uint64_t until = (sum + half) >> sw->bits;
        l->ns[i] += (int64_t)(until - given);
        given = until;
    }
    l->wait_ns += (int64_t)given;
    l->lacking_ns += (int64_t)((sw->lacking + half) >> sw->bits);
    l->cold_ns += (int64_t)((sw->cold + half) >> sw->bits);
    l->waits++;
}

void fdl_ledger_add(struct fdl_ledger *l, struct fdl_ledger_scratch *s,
                    const struct fdl_ticket_times *ticket, int64_t a, int64_t b)
{
    if (a >= b)
        return;
    fdl_assert(b - a < WAIT_LIMIT_NS);
    fdl_assert(ticket->n_samples <= s->n_samples);
    struct sweep sw = {.workers = FDL_MAX(ticket->workers, 1u),
                       .bits = FRACTION_BITS};
    while ((b - a) >> (62 - sw.bits))
        sw.bits--;

    int64_t done = happened(ticket->transfer_done, b);
    int64_t start = FDL_MIN(happened(ticket->transfer_start, b), done);
    int64_t issued = FDL_MIN(happened(ticket->issued, b), b);
    int64_t t = FDL_MAX(a, issued);
    add_whole(&sw, ticket->slots_held ? FDL_BUCKET_SLOT : FDL_BUCKET_NOT_ISSUED,
              t - a);
    if (t < b)
        t = sweep_samples(&sw, s, ticket, start, t, b);

    start = FDL_MAX(t, FDL_MIN(start, b));
    done = FDL_MAX(start, FDL_MIN(done, b));
    add_whole(&sw, FDL_BUCKET_TRANSFER_QUEUE, start - t);
    add_whole(&sw, FDL_BUCKET_TRANSFER, done - start);
    add_whole(&sw, FDL_BUCKET_WAKE, b - done);
    book(l, &sw);
}
