/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The read window: the samples between "may be read" and "decoded", in a ring
 * of entries. Readers claim samples in exactly the coming order; workers take
 * the oldest one whose bytes are there, so one slow read idles no worker.
 *
 *        freed <= ... TAKEN TAKEN READY READING READY READING | FREE FREE ...
 *                       workers    ^ take                  next ^ claim   < end
 *
 * An entry is named by its sample number s, at s % capacity. Its word holds s
 * << 2 | state, and moves FREE -> READING -> READY -> TAKEN -> FREE of s +
 * capacity; each transition is made by one thread, so there is no lock and no
 * ABA. The thread that moves the word owns the entry's fields until the next
 * transition.
 *
 * At most `limit` samples are between claim and free, which bounds the memory
 * for encoded bytes. Their buffers come from a stack (buffers.h) and are kept,
 * except for those much larger than most files, which are freed.
 */
#ifndef FDL_LOADER_WINDOW_H
#define FDL_LOADER_WINDOW_H

#include "base/event.h"
#include "loader/dataset/dataset.h"
#include "loader/read/buffers.h"
#include "loader/read/direct.h"
#include "loader/read/keep.h"
#include "loader/read/remote_books.h"
#include "loader/read/shard_files.h"
#include "loader/read/user_calls.h"
#include "profiler/measure/ledger.h"

#include <stdatomic.h>
#include <stdint.h>

#define FDL_READ_KEEP_BYTES   (4u << 20) /* a buffer's, at most */
#define FDL_READ_REASON_BYTES 256

/* Why a sample fails that waited for memory when the run ended. */
#define FDL_READ_STOPS "the loader stops"

enum fdl_read_state {
    FDL_READ_FREE = 0,
    FDL_READ_READING,
    FDL_READ_READY,
    FDL_READ_TAKEN
};

/* One sample in the window. */
struct fdl_read {
    _Atomic uint64_t word; /* sample << 2 | enum fdl_read_state */

    /* Filled by the loader when the sample is claimed. */
    uint64_t sample; /* of the run */
    uint64_t index;  /* in the data set */
    uint64_t epoch;
    uint64_t ticket;
    uint32_t place; /* of its first image in the batch */
    uint32_t copy;  /* with repeats, else 0 */
    uint64_t range; /* transfer/nvtx.h, from claim to complete */
    struct fdl_source source;
    struct fdl_sample_times *times; /* NULL: it is not of the stream */

    /* Filled by the reader. On success `data` has `size` bytes and
     * FDL_ENCODED_PADDING zeroed ones behind them if it is our buffer. */
    const uint8_t *data;
    uint64_t size;
    uint64_t readable;
    struct fdl_record *record; /* malloc'ed, of a sample that has its own steps:
                                  record.h; in place of data */
    struct fdl_buffer *held;   /* off the stack, from reserve to release */
    uint8_t *buffer;           /* its memory */
    uint64_t capacity;         /* of buffer */
    struct fdl_open_shard
        *shard;            /* whose descriptor it reads from; NULL: its own */
    uint64_t file_bytes;   /* of the file, where the descriptor is its own */
    uint32_t align;        /* of its reads, see direct.h; 0: to the byte */
    uint32_t head;         /* bytes in the buffer that come before its own */
    bool plain;            /* a direct read was refused */
    bool kept;             /* it begins in a block that stays, see keep.h */
    bool cold;             /* storage delivered it, as far as can be told */
    bool exempt;           /* its buffer is had at once, see worker.c */
    bool rides;            /* in the read of an earlier sample */
    bool verified;         /* its checksums were compared, all of them */
    struct fdl_read *mate; /* the next sample in this read, or NULL */
    uint64_t span;         /* bytes of this one and those that ride in it */
    uint64_t sent;         /* bytes that are in flight */
    uint64_t ahead;        /* those of others when it was sent */
    int32_t status;        /* FEEDLINE_OK, EIO, ENOENT, ERANGE, ENOMEM */
    char reason[FDL_READ_REASON_BYTES];
};

struct fdl_window;

/* Fills the loader's fields of r for r->sample. On the reader's thread. */
typedef void fdl_window_resolve(void *user, struct fdl_read *r);

/* Where r->sample, which is issued, is to be read. On the reader's thread. */
typedef void fdl_window_peek(void *user, uint64_t sample,
                             struct fdl_source *out);

/* max_limit: the largest limit ever set; capacity is the next power of two
 * above twice that. */
int32_t fdl_window_create(uint32_t max_limit, uint64_t max_file_bytes,
                          fdl_window_resolve *resolve, void *user,
                          struct fdl_window **out);
void fdl_window_destroy(struct fdl_window *w);

/* Sample 0 comes next, nothing may be read. No thread may be using w. */
void fdl_window_reset(struct fdl_window *w);

/* For the run that follows reset: samples may be parts of n_files files, which
 * are kept open; random: without read-ahead. ENOMEM. close: at its end. */
int32_t fdl_window_open_shards(struct fdl_window *w, uint64_t n_files,
                               bool random);
void fdl_window_close_shards(struct fdl_window *w);

/* From the next claim on neighbours are read together; NULL: they are not. */
void fdl_window_set_peek(struct fdl_window *w, fdl_window_peek *peek);

/* Until the next run; which files are read past the page cache. */
struct fdl_direct *fdl_window_direct(struct fdl_window *w);

/* NULL outside a run. */
struct fdl_shard_files *fdl_window_shards(const struct fdl_window *w);

/* The number of r's file among these. What is kept is read through the page
 * cache and what is not past it: where both occur, a shard is open twice. */
uint32_t fdl_window_shard_place(const struct fdl_window *w,
                                const struct fdl_read *r);
bool fdl_window_is_random(const struct fdl_window *w);

/* What stays in the page cache; at first everything does. No run is on. */
void fdl_window_set_keep(struct fdl_window *w, const struct fdl_keep *keep);
const struct fdl_keep *fdl_window_keep(const struct fdl_window *w);

/* Whether what the kernel counts for readers' threads is what storage delivered
 * to them. Known once a file was opened. */
enum fdl_storage_count {
    FDL_STORAGE_UNASKED = 0,
    FDL_STORAGE_COUNTED,
    FDL_STORAGE_UNKNOWN
};
void fdl_window_set_storage_count(struct fdl_window *w,
                                  enum fdl_storage_count count);
enum fdl_storage_count fdl_window_storage_count(const struct fdl_window *w);

/* The loader's side. Samples below `end` may be read. Any thread. */
void fdl_window_issue(struct fdl_window *w, uint64_t end);
void fdl_window_set_limit(struct fdl_window *w, uint32_t limit);

/* From now on claim returns nothing, and all waiters are woken. */
void fdl_window_close(struct fdl_window *w);
bool fdl_window_is_closed(const struct fdl_window *w);

/* The workers' side. take: the oldest sample that is READY, or NULL. free: its
 * bytes are no longer needed. Workers sleep on the event `ready`. */
struct fdl_read *fdl_window_take(struct fdl_window *w);
void fdl_window_free(struct fdl_window *w, struct fdl_read *r);
struct fdl_event *fdl_window_ready(struct fdl_window *w);

/* Whether a sample is being read or READY: a worker without work is starved if
 * so, else blocked. */
bool fdl_window_has_reads(const struct fdl_window *w);

/* Samples that are being read now; may be a little off. */
uint32_t fdl_window_reading(const struct fdl_window *w);

/* The oldest of them, up to n. Returns how many. */
uint32_t fdl_window_list_reads(const struct fdl_window *w, uint64_t *samples,
                               uint32_t n);

/* The readers' side. claim: the next sample in order, resolved and stamped, or
 * NULL if there is no room, nothing is issued, or the window is closed. `waker`
 * is called (any thread) when claim may succeed again; it must be quick and
 * must not lose a wake-up. With it come those that ride in its read (gather.h).
 * complete: r->status and the rest are set; it is publish, and announce for as
 * many samples as were published since. publish: r and its mates; returns how
 * many. */
struct fdl_read *fdl_window_claim(struct fdl_window *w);
void fdl_window_complete(struct fdl_window *w, struct fdl_read *r);
uint32_t fdl_window_publish(struct fdl_read *r);
void fdl_window_announce(struct fdl_window *w, uint32_t n);

/* One thread at a time. When it returns, the waker that was set before is not
 * being called and never will be. NULL: none. */
void fdl_window_set_waker(struct fdl_window *w, void (*waker)(void *),
                          void *user);

/* Why claim returned nothing: true if samples are issued but the window is
 * full. */
bool fdl_window_is_full(const struct fdl_window *w);

/* Whether a claim would succeed now: a reader that got a sample then wakes
 * another one. */
bool fdl_window_has_room(const struct fdl_window *w);

/* Gives r a buffer of at least size + padding, and for r->align. ERANGE above
 * max_file_bytes, ENOMEM: r->status and r->reason are set too. NO_ROOM: the
 * allowance is used up; r has no buffer then, and the caller waits for the
 * event `room`, which close notifies too. */
#define FDL_READ_NO_ROOM 1
int32_t fdl_read_reserve(struct fdl_window *w, struct fdl_read *r,
                         uint64_t size);

/* The same whatever max_file_bytes says. await: without NO_ROOM, waits until
 * others have given back what they hold. The caller holds nothing that they may
 * be waiting for. */
int32_t fdl_read_take_room(struct fdl_window *w, struct fdl_read *r,
                           uint64_t size);
int32_t fdl_read_await_room(struct fdl_window *w, struct fdl_read *r,
                            uint64_t size);

/* Returns the buffer and frees the record; fdl_window_free does it for samples
 * of the window. */
void fdl_read_release(struct fdl_window *w, struct fdl_read *r);

/* r->status = status, r->reason = one line. Returns status. */
int32_t fdl_read_fail(struct fdl_read *r, int32_t status, const char *fmt, ...)
    FDL_PRINTF(3, 4);

/* The buffer holds r->head + r->size bytes: zero the padding, set data and
 * readable, for those that ride in it too. */
void fdl_read_finish(struct fdl_read *r);

/* From send to arrive r->size bytes count as in flight, of all readers; arrive
 * does nothing if they were not sent. */
void fdl_read_send(struct fdl_window *w, struct fdl_read *r);
void fdl_read_arrive(struct fdl_window *w, struct fdl_read *r);

struct fdl_event *fdl_window_room(struct fdl_window *w);

/* Files that readers' threads and workers read from, and each time that one is
 * no longer in use: who found no descriptor tries again. */
struct fdl_files_in_use {
    struct fdl_event fewer;
    _Atomic uint32_t n;
};
struct fdl_files_in_use *fdl_window_files(struct fdl_window *w);

/* What all buffers together may take, see buffers.h; at first without limit. */
void fdl_window_set_allowance(struct fdl_window *w, uint64_t bytes);

/* Memory in buffers now. */
uint64_t fdl_window_memory(const struct fdl_window *w);

/* The largest of them, ever. */
uint64_t fdl_window_largest(const struct fdl_window *w);

/* As it was created with; and what it knows of the program's own reader. */
uint64_t fdl_window_max_file_bytes(const struct fdl_window *w);
struct fdl_user_calls *fdl_window_user_calls(struct fdl_window *w);

/* What reading from stores has cost. */
struct fdl_remote_books *fdl_window_remote(struct fdl_window *w);

#endif
