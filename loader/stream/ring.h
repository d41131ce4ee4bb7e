/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slot ring: the memory of batches, and the life of each batch.
 *
 *      issue          first        last          handed over        next()
 * FREE ----> ISSUED -------> FILLING ----> MOVING ----------> READY -----> HELD
 *   ^                 sample                                                |
 *   +-- LEAVING <----------------------- release ---------------------------+
 *
 * A slot that is released while the device still copies from it is LEAVING
 * until the copy has landed; on the host it is free at once.
 *
 * Tickets number the batches of a run from 0. A ticket gets a slot when it is
 * issued; any free slot will do, so a consumer that keeps a batch for long
 * costs one slot and delays nothing else. At most `depth` tickets are issued
 * and not yet delivered; a quarter less while all of these are complete.
 *
 * On the host a batch gets its memory with its first sample, and the one that
 * another gave back last: so pages that no batch ever used are made only as
 * workers come further ahead than before. Where they are what is waited for,
 * three batches' memory serves any depth.
 *
 * There is a lock per batch and none per sample: workers find the slot of a
 * ticket without it (fdl_ring_slot) and count down `remaining`.
 *
 * A ring that may grow gets a slot for each batch that the consumer keeps
 * beyond the usual, so that depth tickets stay ahead however many those are.
 * These slots go once batches came back and no more were kept from one trim to
 * the next.
 *
 * On a device memory is made before a run and freed after it: what depth and
 * kept batches may come to is there from the start (fdl_ring_reserve). Only if
 * the program holds every slot there is, more are made.
 *
 * The ring outlives its loader while batches are held: it is reference-counted.
 */
#ifndef FDL_LOADER_RING_H
#define FDL_LOADER_RING_H

#include "base/event.h"
#include "base/lock.h"
#include "loader/order/sampler.h"
#include "loader/read/window.h"
#include "loader/stream/observer.h"
#include "loader/stream/slot.h"
#include "profiler/trace/trace.h"
#include "transfer/backend.h"

#include <feedline/elsewhere.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* A batch that the consumer waits for is moved in parts as they fill up, each
 * of at least this size: at 50 GB/s a copy of 4 MiB takes 80 us, while each
 * additional copy costs a few us. */
#define FDL_PART_BYTES (UINT64_C(4) << 20)

/* Slots beyond depth: one in use, one not yet released by the consumer. */
#define FDL_SPARE_SLOTS 2u

struct fdl_ring {
    uint32_t fork_generation; /* constant */
    struct fdl_lock growing;  /* one thread at a time makes and frees slots:
                                 held while their memory is pinned */
    struct fdl_lock lock;     /* guards what is not marked otherwise */
    _Atomic uint32_t refs;
    struct fdl_slot_kind kind; /* of every slot */
    const struct fdl_backend_ops *backend_ops;
    void *backend;
    struct fdl_copy_observer copies; /* held; all NULL: none */
    struct fdl_trace_ring *notes;    /* written under the lock; NULL: none */

    feedline_batch **slots; /* [n_slots], all of them */
    uint32_t n_slots, slots_capacity;
    feedline_batch **free_slots; /* the one released last is last */
    uint32_t n_free;
    struct fdl_slot_memory *idle; /* [slots_capacity], what no batch has; given
                                     back last, last. None on a device */
    uint32_t n_idle;
    uint32_t n_held;
    uint32_t most_held; /* since the last trim */
    bool may_grow;      /* constant */
    uint32_t full_at;   /* slots beside which there was no memory for one more;
                           0: not known */
    uint32_t reserve;   /* slots that a run on a device begins with; 0: none */
    bool outgrown;      /* the run has needed more than that */
    uint32_t depth;

    feedline_batch **by_ticket; /* [FDL_RING_TICKETS], see fdl_ring_slot */
    uint64_t next_issue;
    uint64_t next_deliver;
    _Atomic uint64_t awaited; /* next_deliver, for threads without the lock */
    _Atomic uint32_t n_ready; /* slots */
    uint64_t issued_samples;
    bool starved_of_slots; /* the last issue stopped for lack of a slot */

    void **lent; /* [FEEDLINE_LENT_MAX], a stack; NULL: never used */
    uint32_t n_lent;

    const struct fdl_stream *stream; /* NULL: no run */
    struct fdl_window *window;

    struct fdl_event ready;       /* a slot became READY, or an interrupt */
    _Atomic uint32_t in_transfer; /* submits whose landed is to come */
    bool has_damage;              /* a device lost data of a sample: */
    uint64_t damaged;             /* its number in the data set */
};

/* A ticket's slot is found at ticket % FDL_RING_TICKETS. */
#define FDL_RING_TICKETS 2048 /* a power of two above FDL_MAX_DEPTH */

/* Takes over `backend` (made by ops->create), also on error. */
int32_t fdl_ring_create(const struct fdl_layout *layout,
                        const struct fdl_backend_ops *ops, void *backend,
                        struct fdl_ring **out);

void fdl_ring_unref(struct fdl_ring *r);

/* Slots for `depth` batches ahead and two held ones; fewer, down to depth 1, if
 * memory runs out, or a run on a device has no more (*depth is set); ENOMEM
 * below that. Any thread. */
int32_t fdl_ring_set_depth(struct fdl_ring *r, uint32_t *depth);

/* Before a run on a device: slots for any depth up to this one, as far as there
 * is memory. reach: the depth that the run has slots for; UINT32_MAX: any. */
void fdl_ring_reserve(struct fdl_ring *r, uint32_t depth);
uint32_t fdl_ring_reach(struct fdl_ring *r);

/* Slots left over by a smaller depth, or by batches that came back, are freed
 * as they become free: here, and in set_depth; on a device only between runs.
 * Any thread. has_surplus: trim may have something to do, now or next time. */
void fdl_ring_trim(struct fdl_ring *r);
bool fdl_ring_has_surplus(struct fdl_ring *r);

/* No run is on, and none follows at once: on a device every slot is freed that
 * is not held. set_depth makes them again. */
void fdl_ring_rest(struct fdl_ring *r);

/* With may_grow: adds a slot if fewer than depth remain beside those that the
 * consumer keeps. false: none was needed. Any thread. ENOMEM. */
int32_t fdl_ring_grow(struct fdl_ring *r, bool *grew);

/* Whether it should, and may have the memory; and how many batches are kept. */
bool fdl_ring_is_short(struct fdl_ring *r, uint32_t *n_held);

/* How many there are, without those for batches that are kept. */
uint32_t fdl_ring_slots(struct fdl_ring *r);

/* Where the slots' host memory begins, of `most` slots at most. How many. */
uint32_t fdl_ring_host_memory(struct fdl_ring *r, const void **out,
                              uint32_t most);

/* Memory of a slot: of the host, and of the device. */
uint64_t fdl_ring_slot_bytes(const struct fdl_ring *r);
uint64_t fdl_ring_slot_device_bytes(const struct fdl_ring *r);

/* Begins and ends a run. start: tickets from 0 of `stream`, samples are issued
 * to `window`; both must outlive the run. stop: no worker is in the ring any
 * more; waits for transfers; everything not held becomes free. */
void fdl_ring_start(struct fdl_ring *r, const struct fdl_stream *stream,
                    struct fdl_window *window);
void fdl_ring_stop(struct fdl_ring *r);

/* As feedline_loader_lend; the run's end forgets it. */
int32_t fdl_ring_lend(struct fdl_ring *r, void *images, uint64_t bytes);

/* The stream has new tickets. */
void fdl_ring_more(struct fdl_ring *r);

/* Slot of an issued and undelivered ticket; no lock. */
feedline_batch *fdl_ring_slot(const struct fdl_ring *r, uint64_t ticket);

/* The same for who describes a sample of it, before anything else of that
 * sample is written: the first one gives it memory. */
feedline_batch *fdl_ring_open(struct fdl_ring *r, uint64_t ticket);

/* The ticket that next() has to deliver: false past the end of the run. *slot
 * is NULL if it is not issued. *all_held: because the consumer holds all. */
bool fdl_ring_awaited(struct fdl_ring *r, struct fdl_ticket_range *range,
                      feedline_batch **slot, bool *all_held);

/* The batch `ahead` places behind the awaited one, NULL if it is not READY or
 * has an error. From here on the consumer has its reference, which deliver
 * hands over, or stop drops. Host only; the consumer's thread. */
feedline_batch *fdl_ring_peek(struct fdl_ring *r, uint32_t ahead);

/* READY -> HELD, for the consumer. */
void fdl_ring_deliver(struct fdl_ring *r, feedline_batch *b);

/* Adds and drops a reference of a batch that is HELD; any thread. Dropping the
 * last one makes it FREE, or LEAVING; the loader may be gone by then. */
void fdl_ring_hold(feedline_batch *b);
void fdl_ring_release(feedline_batch *b);

/* The sample at `place`, counted in samples, is done; the last one sends the
 * batch on its way. */
void fdl_ring_sample_done(feedline_batch *b, uint32_t place);

/* As feedline_loader_bring; no run ends meanwhile. */
int32_t fdl_ring_bring(struct fdl_ring *r, uint64_t ticket,
                       const struct feedline_brought *what);

/* The batch ends with this error instead of its pixels. */
void fdl_ring_sample_error(feedline_batch *b, uint32_t place, int32_t status,
                           const char *reason);

/* Whether a batch after `ticket` was ready before done_ns. */
bool fdl_ring_passed(struct fdl_ring *r, uint64_t ticket, int64_t done_ns);

/* Whether a device lost data of a sample in a batch that it made, and of which,
 * since the run began. settle: waits for it to have made all batches that were
 * delivered. */
bool fdl_ring_is_damaged(struct fdl_ring *r, bool settle, uint64_t *index);

/* Of all slots; and without those for batches that are kept. */
uint64_t fdl_ring_memory(struct fdl_ring *r);
uint64_t fdl_ring_own_memory(struct fdl_ring *r);

/* Of the fields of all batches, which none of these count. */
uint64_t fdl_ring_field_memory(const struct fdl_ring *r);

/* Batches that could be delivered now, and all that are issued and are not
 * delivered. */
void fdl_ring_count(struct fdl_ring *r, uint32_t *ready, uint32_t *outstanding);

#endif
