/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The read window, without a lock. Its state is four counters:
 *
 *     next    samples claimed so far; moved by a CAS, so samples are claimed
 *             exactly once and in order
 *     end     samples below it are issued
 *     freed   samples freed so far; next - freed are held, at most `limit`
 *     head    a hint: all samples below it were taken, so take starts there
 *
 * Words of an entry only grow (sample << 2 | state), so "was this sample
 * already taken?" is one comparison, whatever happened since.
 *
 * Frees come in any order, so the oldest sample may hold its entry while the
 * counters show room. The ring has twice as many entries as the limit: a slow
 * sample may be overtaken by a whole window before it stops the readers.
 *
 * Readers are not woken for each entry that becomes free, but when a quarter of
 * the limit is: otherwise a worker that decodes much more slowly than a reader
 * reads would pay a wake-up per sample. No wake-up is lost by that. A reader
 * goes to sleep only after a claim that found the window full, made after its
 * waker was told that it sleeps. While all readers sleep, `next` is constant,
 * and what is held can only fall: reads in flight complete, workers take what
 * is READY without asking a reader, and free it. So the threshold is passed at
 * the latest by the free of the last one held; and had that free come before
 * the reader told its waker, the claim would have seen it.
 */
#include "loader/read/window.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/memory.h"
#include "decode/decoder.h"
#include "loader/read/gather.h"
#include "transfer/nvtx.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* A buffer is kept for the next file unless it is this many times as large as
 * the average file. Otherwise each would eventually be as large as the largest
 * file. Of 400 files of ImageNet four are that large, so one sample in a
 * hundred pays for new pages, some 50 us. */
#define KEEP_TIMES       3
#define KEEP_LEAST_BYTES ((uint64_t)256 << 10)

/* The average is over about this many files. */
#define USUAL_FILES 256

/* 1 / WAKE_FRACTION of the limit must be free before readers are woken. */
#define WAKE_FRACTION 4

#define MAX_LIMIT (1u << 24)

/* Workers scan the words while readers fill the entries: each its own lines. */
struct entry {
    FDL_ALIGNED(FDL_CACHE_LINE) struct fdl_read read;
};

struct fdl_window {
    /* Fixed while threads run. */
    struct entry *entries;
    uint64_t capacity; /* of entries; a power of two */
    uint64_t max_file_bytes;
    fdl_window_resolve *resolve;
    fdl_window_peek *peek;
    void *resolve_user;
    uint32_t max_limit;
    struct fdl_shard_files *shards;
    bool random;
    struct fdl_direct direct;
    struct fdl_keep keep;
    _Atomic int32_t storage_count; /* enum fdl_storage_count */

    struct fdl_buffers buffers;
    struct fdl_user_calls user_calls;
    struct fdl_remote_books remote;
    struct fdl_files_in_use files;

    /* Each modified by a different kind of thread. */
    FDL_ALIGNED(FDL_CACHE_LINE) _Atomic uint64_t next; /* readers */
    _Atomic uint64_t in_flight;                        /* bytes; readers */
    FDL_ALIGNED(FDL_CACHE_LINE) _Atomic uint64_t end;  /* the loader, rarely */
    _Atomic uint32_t limit;
    _Atomic bool closed;
    FDL_ALIGNED(FDL_CACHE_LINE) _Atomic uint64_t freed; /* workers */
    FDL_ALIGNED(FDL_CACHE_LINE) _Atomic uint64_t head;  /* workers */
    FDL_ALIGNED(FDL_CACHE_LINE) struct fdl_event ready; /* both */
    _Atomic uint64_t largest;                           /* buffer ever */
    _Atomic uint64_t usual; /* bytes of a file, on average of late */
    _Atomic bool hungry;    /* a read found no room for its buffer */
    FDL_ALIGNED(FDL_CACHE_LINE) _Atomic uint32_t wakers; /* calls in progress */
    void (*_Atomic waker)(void *);
    void *_Atomic waker_user;
};

/* What claim would find. */
enum outlook {
    OUTLOOK_NOTHING, /* not issued, or closed */
    OUTLOOK_FULL,
    OUTLOOK_ROOM
};

static uint64_t make_word(uint64_t sample, enum fdl_read_state state)
{
    return sample << 2 | (uint64_t)state;
}

static struct fdl_read *entry_of(const struct fdl_window *w, uint64_t sample)
{
    return &w->entries[sample & (w->capacity - 1)].read;
}

/* Of this sample or of one after it in the same entry. */
static bool was_taken(uint64_t word, uint64_t sample)
{
    return word >= make_word(sample, FDL_READ_TAKEN);
}

/* acq_rel: pairs with the one in set_waker. Whichever comes second sees the
 * other: an earlier call is waited for, a later one finds the change. */
static void wake_readers(struct fdl_window *w)
{
    atomic_fetch_add_explicit(&w->wakers, 1, memory_order_acq_rel);
    /* acquire: pairs with the release of `waker` in set_waker, for its user. */
    void (*waker)(void *) =
        atomic_load_explicit(&w->waker, memory_order_acquire);
    if (waker)
        waker(atomic_load_explicit(&w->waker_user, memory_order_relaxed));
    /* release: pairs with the acq_rel in set_waker: the call is over. */
    atomic_fetch_sub_explicit(&w->wakers, 1, memory_order_release);
}

/* Every transition is counted, so the contents of the window are known at any
 * time. */
static void drop_memory(struct fdl_window *w, struct fdl_read *r)
{
    fdl_slabs_free(&w->buffers.slabs, r->buffer, r->capacity);
    fdl_buffers_unclaim(&w->buffers, r->capacity);
    r->buffer = NULL;
    r->capacity = 0;
}

int32_t fdl_window_create(uint32_t max_limit, uint64_t max_file_bytes,
                          fdl_window_resolve *resolve, void *user,
                          struct fdl_window **out)
{
    fdl_assert(max_limit >= 1 && max_limit <= MAX_LIMIT);
    uint64_t capacity = 2;
    while (capacity < 2 * (uint64_t)max_limit)
        capacity *= 2;

    struct fdl_window *w = fdl_alloc_aligned(sizeof(*w));
    if (!w)
        return fdl_fail_memory(sizeof(*w), "the read window");
    memset(w, 0, sizeof(*w));
    w->entries = fdl_alloc_aligned(capacity * sizeof(*w->entries));
    if (!w->entries) {
        free(w);
        return fdl_fail_memory(capacity * sizeof(*w->entries),
                               "the read window");
    }
    memset(w->entries, 0, capacity * sizeof(*w->entries));
    w->capacity = capacity;
    w->max_file_bytes = max_file_bytes;
    w->resolve = resolve;
    w->resolve_user = user;
    w->max_limit = max_limit;
    atomic_init(&w->limit, max_limit);
    fdl_event_init(&w->ready);
    fdl_event_init(&w->files.fewer);
    fdl_user_calls_init(&w->user_calls);
    /* One for each sample held, as many again for reads outside the window. */
    int32_t status = fdl_buffers_init(&w->buffers, 2 * max_limit);
    if (status < 0) {
        fdl_window_destroy(w);
        return status;
    }
    fdl_window_reset(w);
    *out = w;
    return FEEDLINE_OK;
}

void fdl_window_destroy(struct fdl_window *w)
{
    if (!w)
        return;
    for (uint64_t i = 0; i < w->capacity; i++)
        fdl_read_release(w, &w->entries[i].read);
    fdl_buffers_fini(&w->buffers);
    fdl_user_calls_fini(&w->user_calls);
    free(w->entries);
    free(w);
}

/* Relaxed: starting the threads orders it. */
void fdl_window_reset(struct fdl_window *w)
{
    for (uint64_t i = 0; i < w->capacity; i++) {
        struct fdl_read *r = &w->entries[i].read;
        fdl_read_release(w, r); /* of a sample that was never taken */
        atomic_store_explicit(&r->word, make_word(i, FDL_READ_FREE),
                              memory_order_relaxed);
    }
    atomic_store_explicit(&w->next, 0, memory_order_relaxed);
    atomic_store_explicit(&w->end, 0, memory_order_relaxed);
    atomic_store_explicit(&w->freed, 0, memory_order_relaxed);
    atomic_store_explicit(&w->head, 0, memory_order_relaxed);
    atomic_store_explicit(&w->closed, false, memory_order_relaxed);
    fdl_user_calls_open(&w->user_calls);
}

int32_t fdl_window_open_shards(struct fdl_window *w, uint64_t n_files,
                               bool random)
{
    w->random = random;
    if (w->keep.drops)
        n_files *= 2; /* places, see reader_file.c */
    return fdl_shard_files_create(n_files, &w->shards);
}

void fdl_window_close_shards(struct fdl_window *w)
{
    fdl_shard_files_destroy(w->shards);
    w->shards = NULL;
}

struct fdl_direct *fdl_window_direct(struct fdl_window *w)
{
    return &w->direct;
}

struct fdl_shard_files *fdl_window_shards(const struct fdl_window *w)
{
    return w->shards;
}

uint32_t fdl_window_shard_place(const struct fdl_window *w,
                                const struct fdl_read *r)
{
    uint32_t file = r->source.file;
    if (file == FDL_OWN_FILE || !w->keep.drops)
        return file;
    return 2 * file + (r->kept ? 1 : 0);
}

bool fdl_window_is_random(const struct fdl_window *w)
{
    return w->random;
}

void fdl_window_set_peek(struct fdl_window *w, fdl_window_peek *peek)
{
    w->peek = peek;
}

void fdl_window_set_keep(struct fdl_window *w, const struct fdl_keep *keep)
{
    w->keep = *keep;
}

const struct fdl_keep *fdl_window_keep(const struct fdl_window *w)
{
    return &w->keep;
}

void fdl_window_set_storage_count(struct fdl_window *w,
                                  enum fdl_storage_count count)
{
    atomic_store_explicit(&w->storage_count, (int32_t)count,
                          memory_order_relaxed);
}

enum fdl_storage_count fdl_window_storage_count(const struct fdl_window *w)
{
    return (enum fdl_storage_count)atomic_load_explicit(&w->storage_count,
                                                        memory_order_relaxed);
}

void fdl_window_issue(struct fdl_window *w, uint64_t end)
{
    uint64_t before = atomic_load_explicit(&w->end, memory_order_relaxed);
    /* release: pairs with the acquire of `end` in look: resolve sees what the
     * loader prepared for the samples it issues. */
    while (before < end && !atomic_compare_exchange_weak_explicit(
                               &w->end, &before, end, memory_order_release,
                               memory_order_relaxed))
        ;
    wake_readers(w);
}

void fdl_window_set_limit(struct fdl_window *w, uint32_t limit)
{
    fdl_assert(limit >= 1 && limit <= w->max_limit);
    atomic_store_explicit(&w->limit, limit, memory_order_relaxed);
    wake_readers(w);
}

void fdl_window_close(struct fdl_window *w)
{
    /* release: pairs with the acquire in is_closed. */
    atomic_store_explicit(&w->closed, true, memory_order_release);
    wake_readers(w);
    fdl_event_notify(&w->buffers.room, UINT32_MAX);
    fdl_event_notify(&w->ready, UINT32_MAX);
    fdl_user_calls_close(&w->user_calls);
}

bool fdl_window_is_closed(const struct fdl_window *w)
{
    /* acquire: pairs with the release in close. */
    return atomic_load_explicit(&w->closed, memory_order_acquire);
}

/* Relaxed loads of head and next will do: a stale head makes the scan longer, a
 * stale next hides samples whose completion has yet to be notified. */
struct fdl_read *fdl_window_take(struct fdl_window *w)
{
    uint64_t head = atomic_load_explicit(&w->head, memory_order_relaxed);
    uint64_t next = atomic_load_explicit(&w->next, memory_order_relaxed);
    uint64_t passed = head; /* all below it were taken */
    struct fdl_read *found = NULL;

    for (uint64_t s = head; s < next && !found; s++) {
        struct fdl_read *r = entry_of(w, s);
        uint64_t word = atomic_load_explicit(&r->word, memory_order_relaxed);
        if (word == make_word(s, FDL_READ_READY)) {
            uint64_t taken = make_word(s, FDL_READ_TAKEN);
            /* acquire: pairs with the release in complete: the worker sees
             * the bytes. */
            if (atomic_compare_exchange_strong_explicit(&r->word, &word, taken,
                                                        memory_order_acquire,
                                                        memory_order_relaxed)) {
                found = r;
                word = taken;
            }
        }
        if (passed == s && was_taken(word, s))
            passed = s + 1;
    }
    /* Lost to another worker's: the hint is merely older than it could be. */
    if (passed > head)
        atomic_compare_exchange_strong_explicit(&w->head, &head, passed,
                                                memory_order_relaxed,
                                                memory_order_relaxed);
    return found;
}

void fdl_window_free(struct fdl_window *w, struct fdl_read *r)
{
    bool rode = r->rides;
    fdl_read_release(w, r);

    /* release: pairs with the acquire of the word in look: the next reader of
     * the entry gets it after this worker is done with it. */
    atomic_store_explicit(&r->word,
                          make_word(r->sample + w->capacity, FDL_READ_FREE),
                          memory_order_release);

    /* release: pairs with the acquire of `freed` in look. acquire: with the
     * release of earlier frees here, so that `next` is not below `freed`. A
     * `next` that is too old at worst wakes a reader early. */
    uint64_t one = rode ? 0 : 1;
    uint64_t freed =
        atomic_fetch_add_explicit(&w->freed, one, memory_order_acq_rel) + one;
    uint64_t held =
        atomic_load_explicit(&w->next, memory_order_relaxed) - freed;
    uint64_t limit = atomic_load_explicit(&w->limit, memory_order_relaxed);
    bool hungry = atomic_load_explicit(&w->hungry, memory_order_relaxed);
    if (hungry)
        atomic_store_explicit(&w->hungry, false, memory_order_relaxed);
    if (hungry || (held < limit && (limit - held) * WAKE_FRACTION >= limit))
        wake_readers(w);
}

struct fdl_event *fdl_window_ready(struct fdl_window *w)
{
    return &w->ready;
}

bool fdl_window_has_reads(const struct fdl_window *w)
{
    uint64_t s = atomic_load_explicit(&w->head, memory_order_relaxed);
    uint64_t next = atomic_load_explicit(&w->next, memory_order_relaxed);
    for (; s < next; s++) {
        uint64_t word =
            atomic_load_explicit(&entry_of(w, s)->word, memory_order_relaxed);
        if (!was_taken(word, s))
            return true;
    }
    return false;
}

FDL_HOT uint32_t fdl_window_reading(const struct fdl_window *w)
{
    uint64_t s = atomic_load_explicit(&w->head, memory_order_relaxed);
    uint64_t next = atomic_load_explicit(&w->next, memory_order_relaxed);
    uint32_t n = 0;
    for (; s < next; s++) {
        uint64_t word =
            atomic_load_explicit(&entry_of(w, s)->word, memory_order_relaxed);
        n += word == (s << 2 | FDL_READ_READING);
    }
    return n;
}

uint32_t fdl_window_list_reads(const struct fdl_window *w, uint64_t *samples,
                               uint32_t n)
{
    uint64_t s = atomic_load_explicit(&w->head, memory_order_relaxed);
    uint64_t next = atomic_load_explicit(&w->next, memory_order_relaxed);
    uint32_t found = 0;
    for (; s < next && found < n; s++)
        if (atomic_load_explicit(&entry_of(w, s)->word, memory_order_relaxed) ==
            make_word(s, FDL_READ_READING))
            samples[found++] = s;
    return found;
}

/* What claim would find now; *sample comes next. more: beyond the limit. */
static enum outlook look_beyond(const struct fdl_window *w, uint64_t *sample,
                                uint32_t more)
{
    for (;;) {
        /* acquire: pairs with the release of `freed` in free. It comes before
         * the load of `next`: each freed sample was claimed before, so next is
         * not below freed, and next - freed is never too small. */
        uint64_t freed = atomic_load_explicit(&w->freed, memory_order_acquire);
        uint64_t next = atomic_load_explicit(&w->next, memory_order_relaxed);
        *sample = next;

        /* acquire: pairs with the release in issue. */
        if (next >= atomic_load_explicit(&w->end, memory_order_acquire) ||
            atomic_load_explicit(&w->closed, memory_order_relaxed))
            return OUTLOOK_NOTHING;
        uint64_t limit = atomic_load_explicit(&w->limit, memory_order_relaxed);
        if (next - freed >= limit + more)
            return OUTLOOK_FULL;

        /* acquire: pairs with the release in free, for the entry's fields, and
         * with the one in claim, so that the loop sees the new `next`. */
        uint64_t word = atomic_load_explicit(&entry_of(w, next)->word,
                                             memory_order_acquire);
        uint64_t wanted = make_word(next, FDL_READ_FREE);
        if (word == wanted)
            return OUTLOOK_ROOM;
        if (word < wanted)
            return OUTLOOK_FULL;
        /* Another reader has claimed it since: look at the one after. */
    }
}

static enum outlook look(const struct fdl_window *w, uint64_t *sample)
{
    return look_beyond(w, sample, 0);
}

/* The calling thread has claimed it. */
static struct fdl_read *begin_read(struct fdl_window *w, uint64_t sample)
{
    struct fdl_read *r = entry_of(w, sample);
    /* release: pairs with the acquire of the word in look. */
    atomic_store_explicit(&r->word, make_word(sample, FDL_READ_READING),
                          memory_order_release);
    r->sample = sample;
    w->resolve(w->resolve_user, r);
    r->sent = r->ahead = r->span = 0;
    r->mate = NULL;
    r->rides = r->cold = r->verified = false;
    r->range = fdl_nvtx_start(FDL_NVTX_READ, r->ticket, 1);
    atomic_store_explicit(&r->times->read_start, fdl_now_ns(),
                          memory_order_relaxed);
    return r;
}

/* Relaxed: look has acquired everything that a claim must see; only one thread
 * may win the CAS. */
static bool win(struct fdl_window *w, uint64_t sample)
{
    return atomic_compare_exchange_strong_explicit(
        &w->next, &sample, sample + 1, memory_order_relaxed,
        memory_order_relaxed);
}

/* `limit` counts reads: who rides is as good as freed. A sample that another
 * thread claims meanwhile may be located all the same, as its batch comes no
 * earlier than that of `first`, which is not done. */
static void gather(struct fdl_window *w, struct fdl_read *first)
{
    struct fdl_read *last = first;
    struct fdl_source source;
    uint64_t sample;
    while (look_beyond(w, &sample, 1) == OUTLOOK_ROOM &&
           sample == last->sample + 1) {
        w->peek(w->resolve_user, sample, &source);
        if (!fdl_gather_accepts(&w->keep, first, last, &source) ||
            !win(w, sample))
            break;
        struct fdl_read *r = begin_read(w, sample);
        r->rides = true;
        fdl_gather_add(first, last, r);
        last = r;
        /* acq_rel: as in free. */
        atomic_fetch_add_explicit(&w->freed, 1, memory_order_acq_rel);
    }
}

struct fdl_read *fdl_window_claim(struct fdl_window *w)
{
    uint64_t sample;
    do {
        if (look(w, &sample) != OUTLOOK_ROOM)
            return NULL;
    } while (!win(w, sample));
    struct fdl_read *r = begin_read(w, sample);
    if (w->peek && r->source.file != FDL_OWN_FILE)
        gather(w, r);
    return r;
}

static void publish_one(struct fdl_read *r)
{
    fdl_nvtx_end(r->range);
    atomic_store_explicit(&r->times->cold, r->cold, memory_order_relaxed);
    /* release: a thread that acquires read_done also sees read_start. */
    atomic_store_explicit(&r->times->read_done, fdl_now_ns(),
                          memory_order_release);
    /* release: pairs with the acquire in take. */
    atomic_store_explicit(&r->word, make_word(r->sample, FDL_READ_READY),
                          memory_order_release);
}

uint32_t fdl_window_publish(struct fdl_read *r)
{
    uint32_t n = 0;
    for (struct fdl_read *next; r; r = next, n++) {
        next = r->mate; /* before a worker has it */
        publish_one(r);
    }
    return n;
}

void fdl_window_announce(struct fdl_window *w, uint32_t n)
{
    fdl_event_notify(&w->ready, n);
}

void fdl_window_complete(struct fdl_window *w, struct fdl_read *r)
{
    fdl_window_announce(w, fdl_window_publish(r));
}

void fdl_window_set_waker(struct fdl_window *w, void (*waker)(void *),
                          void *user)
{
    atomic_store_explicit(&w->waker, NULL, memory_order_relaxed);
    /* acq_rel: pairs with those in wake_readers. A waker is quick: this loop
     * hardly ever runs twice. */
    while (atomic_fetch_add_explicit(&w->wakers, 0, memory_order_acq_rel) > 0)
        sched_yield();
    atomic_store_explicit(&w->waker_user, user, memory_order_relaxed);
    /* release: pairs with the acquire in wake_readers. */
    atomic_store_explicit(&w->waker, waker, memory_order_release);
}

bool fdl_window_is_full(const struct fdl_window *w)
{
    uint64_t sample;
    return look(w, &sample) == OUTLOOK_FULL;
}

bool fdl_window_has_room(const struct fdl_window *w)
{
    uint64_t sample;
    return look(w, &sample) == OUTLOOK_ROOM;
}

static bool take_buffer(struct fdl_window *w, struct fdl_read *r)
{
    if (r->held)
        return true;
    r->held = fdl_buffers_take(&w->buffers);
    if (!r->held)
        return false;
    r->buffer = r->held->bytes;
    r->capacity = r->held->capacity;
    atomic_store_explicit(&r->held->users, 1, memory_order_relaxed);
    return true;
}

static uint64_t most_kept(const struct fdl_window *w)
{
    uint64_t usual = atomic_load_explicit(&w->usual, memory_order_relaxed);
    uint64_t bytes = FDL_MAX(KEEP_TIMES * usual, KEEP_LEAST_BYTES);
    /* As buffers are: else those of the last step below it would go each time.
     */
    return FDL_MIN(fdl_slabs_round(bytes), FDL_READ_KEEP_BYTES);
}

void fdl_read_release(struct fdl_window *w, struct fdl_read *r)
{
    struct fdl_buffer *held = r->held;
    free(r->record);
    r->record = NULL;
    if (!held)
        return;
    r->held = NULL;
    /* acq_rel: pairs with that of the other users, who are done with it. */
    if (atomic_fetch_sub_explicit(&held->users, 1, memory_order_acq_rel) == 1) {
        if (r->capacity > most_kept(w) || fdl_buffers_is_over(&w->buffers))
            drop_memory(w, r);
        held->bytes = r->buffer;
        held->capacity = r->capacity;
        fdl_buffers_give(&w->buffers, held);
    }
    r->buffer = NULL;
    r->capacity = 0;
}

/* Another reader's file may be lost: it is one of many. */
static void average_in(struct fdl_window *w, uint64_t bytes)
{
    uint64_t usual = atomic_load_explicit(&w->usual, memory_order_relaxed);
    usual =
        usual == 0 ? bytes : usual - usual / USUAL_FILES + bytes / USUAL_FILES;
    atomic_store_explicit(&w->usual, usual, memory_order_relaxed);
}

static void note_size(struct fdl_window *w, uint64_t bytes)
{
    uint64_t largest = atomic_load_explicit(&w->largest, memory_order_relaxed);
    while (largest < bytes && !atomic_compare_exchange_weak_explicit(
                                  &w->largest, &largest, bytes,
                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

int32_t fdl_read_take_room(struct fdl_window *w, struct fdl_read *r,
                           uint64_t size)
{
    if (size > SIZE_MAX / 2)
        return fdl_read_fail(r, FEEDLINE_ENOMEM,
                             "out of memory: %" PRIu64 " bytes for the file",
                             size);
    if (!take_buffer(w, r))
        return fdl_read_fail(r, FEEDLINE_ENOMEM, "every read buffer is in use");
    average_in(w, size);
    uint64_t wanted = size + FDL_ENCODED_PADDING + 2 * (uint64_t)r->align;
    if (wanted <= r->capacity)
        return FEEDLINE_OK;

    /* In steps, so that files of about one size (the usual data set) settle
     * after a few samples. */
    uint64_t rounded = fdl_slabs_round(wanted);
    drop_memory(w, r); /* first: its contents are no longer needed */
    note_size(w, rounded);
    if (!fdl_buffers_claim(&w->buffers, rounded, r->exempt)) {
        fdl_read_release(w, r);
        atomic_store_explicit(&w->hungry, true, memory_order_relaxed);
        return FDL_READ_NO_ROOM;
    }
    /* Separate pages: freed memory returns to the system at once, pages that no
     * file reached take no memory, and memcheck sees them as zeros: it does not
     * see what the kernel writes for io_uring. */
    r->buffer = fdl_slabs_alloc(&w->buffers.slabs, rounded);
    if (!r->buffer) {
        fdl_buffers_unclaim(&w->buffers, rounded);
        return fdl_read_fail(r, FEEDLINE_ENOMEM,
                             "out of memory: %" PRIu64 " bytes for the file",
                             rounded);
    }
    r->capacity = rounded;
    return FEEDLINE_OK;
}

int32_t fdl_read_reserve(struct fdl_window *w, struct fdl_read *r,
                         uint64_t size)
{
    if (size > w->max_file_bytes)
        return fdl_read_fail(r, FEEDLINE_ERANGE,
                             "the file has %" PRIu64
                             " bytes; max_file_bytes allows %" PRIu64,
                             size, w->max_file_bytes);
    return fdl_read_take_room(w, r, size);
}

int32_t fdl_read_await_room(struct fdl_window *w, struct fdl_read *r,
                            uint64_t size)
{
    struct fdl_event *room = &w->buffers.room;
    int32_t status = fdl_read_take_room(w, r, size);
    while (status == FDL_READ_NO_ROOM) {
        uint32_t key = fdl_event_prepare(room);
        status = fdl_read_take_room(w, r, size);
        if (status == FDL_READ_NO_ROOM && fdl_window_is_closed(w))
            status = fdl_read_fail(r, FEEDLINE_ENOMEM, FDL_READ_STOPS);
        if (status == FDL_READ_NO_ROOM)
            fdl_event_wait(room, key, -1);
        else
            fdl_event_cancel(room);
    }
    return status;
}

int32_t fdl_read_fail(struct fdl_read *r, int32_t status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fdl_format_line(r->reason, sizeof(r->reason), fmt, args);
    va_end(args);
    r->status = status;
    r->data = NULL;
    r->size = 0;
    r->readable = 0;
    return status;
}

void fdl_read_finish(struct fdl_read *r)
{
    if (r->mate) {
        fdl_gather_hand_out(r);
        return;
    }
    r->data = r->buffer + r->head;
    memset(r->buffer + r->head + r->size, 0, FDL_ENCODED_PADDING);
    r->readable = r->size + FDL_ENCODED_PADDING;
    r->status = FEEDLINE_OK;
    r->reason[0] = '\0';
}

/* Relaxed: a count, which orders nothing. */
void fdl_read_send(struct fdl_window *w, struct fdl_read *r)
{
    r->sent = r->size;
    r->ahead =
        atomic_fetch_add_explicit(&w->in_flight, r->sent, memory_order_relaxed);
}

void fdl_read_arrive(struct fdl_window *w, struct fdl_read *r)
{
    atomic_fetch_sub_explicit(&w->in_flight, r->sent, memory_order_relaxed);
    r->sent = 0;
}

uint64_t fdl_window_memory(const struct fdl_window *w)
{
    return atomic_load_explicit(&w->buffers.memory, memory_order_relaxed);
}

void fdl_window_set_allowance(struct fdl_window *w, uint64_t bytes)
{
    fdl_buffers_set_allowance(&w->buffers, bytes);
}

struct fdl_event *fdl_window_room(struct fdl_window *w)
{
    return &w->buffers.room;
}

struct fdl_files_in_use *fdl_window_files(struct fdl_window *w)
{
    return &w->files;
}

uint64_t fdl_window_max_file_bytes(const struct fdl_window *w)
{
    return w->max_file_bytes;
}

struct fdl_user_calls *fdl_window_user_calls(struct fdl_window *w)
{
    return &w->user_calls;
}

struct fdl_remote_books *fdl_window_remote(struct fdl_window *w)
{
    return &w->remote;
}

uint64_t fdl_window_largest(const struct fdl_window *w)
{
    return atomic_load_explicit(&w->largest, memory_order_relaxed);
}
