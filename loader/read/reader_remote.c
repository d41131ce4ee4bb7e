/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of stores: one thread, `depth` requests in flight.
 *
 *     claim --> request --> bytes, into the read buffer --> complete
 *
 * What a request needs until its bytes are there, retries and second requests,
 * is the business of store/downloads.h. The thread sleeps in libcurl; a thread
 * that issues new samples wakes it if `asleep` is set, as in reader_uring.c.
 *
 * What the cache of this machine has (remote_read.h) is read by this thread as
 * well: at once if it is in the page cache. If not, the kernel begins to bring
 * it, as many samples at a time as may be in flight, and it is read once all
 * that there is room for have begun.
 *
 * Fields of samples may be files of this machine, and so may samples of a list:
 * these it reads itself, one after the other.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "loader/options.h"
#include "loader/read/gather.h"
#include "loader/read/reader.h"
#include "loader/read/reader_file.h"
#include "loader/read/remote_read.h"

#include <stdlib.h>
#include <string.h>

/* The window's two stamps per item; one more per read. */
#define CLOCK_READS_PER_ITEM 2

#define TURN_NS   ((int64_t)1000000000)
#define PAUSED_NS ((int64_t)4000000) /* memory is asked for again */

/* Samples that begin before requests under way are looked after, and that are
 * announced together: of those in the page cache some 0.3 ms of work. */
#define MOST_BEGUN  16
#define MOST_LANDED 4 /* of those that come from the disk */

/* One sample in flight. */
struct flight {
    struct fdl_remote_read remote; /* first */
    struct fdl_reader *reader;
    struct flight *next; /* in `idle` or `kept` */
};

struct fdl_reader {
    struct fdl_window *window;
    struct fdl_stage *stage;
    uint32_t max_depth;
    struct fdl_thread thread;
    struct fdl_downloads *downloads;

    _Atomic uint32_t depth;
    FDL_ALIGNED(FDL_CACHE_LINE) _Atomic bool asleep;

    /* The thread's own. */
    FDL_ALIGNED(FDL_CACHE_LINE) uint32_t in_flight;
    uint32_t asked;         /* of them, requests */
    uint32_t landed;        /* and not announced: one wake-up serves many */
    struct fdl_read *apart; /* mates whose read failed: each by itself */
    struct flight *flights; /* [max_depth] */
    struct flight *idle;
    struct flight *kept, **kept_end; /* in the cache, in order */
    int64_t mark_ns;                 /* time is accounted for up to here */
};

/* ---- One sample --------------------------------------------------------- */

/* The last ones to fail come first; nothing depends on that. */
static void set_apart(struct fdl_reader *r, struct fdl_read *first)
{
    struct fdl_read *last = first;
    while (last->mate)
        last = last->mate;
    last->mate = r->apart;
    r->apart = first;
}

/* read->status is set. Busy time is that of the thread and not the sum over
 * samples. */
static void land(struct fdl_reader *r, struct fdl_read *read)
{
    struct fdl_stage *stage = r->stage;
    int64_t begin =
        atomic_load_explicit(&read->times->read_start, memory_order_relaxed);
    uint64_t bytes = fdl_gather_bytes(read), ahead = read->ahead;
    bool failed = read->status != FEEDLINE_OK;
    if (failed && read->mate) {
        set_apart(r, read);
        return;
    }
    uint32_t n = fdl_window_publish(read); /* the workers own it from here */
    r->landed += n;
    int64_t own = fdl_now_ns() - begin;
    for (uint32_t i = 0; i < n; i++)
        fdl_histogram_add(&stage->times, own);
    fdl_stage_read(stage, own, bytes, ahead);
    fdl_counter_add(&stage->items, n);
    fdl_counter_add(&stage->bytes, bytes);
    fdl_counter_add(&stage->errors, failed);
    fdl_counter_add(&stage->clock_reads, n * CLOCK_READS_PER_ITEM + 1);
}

static void end_flight(struct fdl_reader *r, struct flight *f)
{
    f->next = r->idle;
    r->idle = f;
    r->in_flight--;
    land(r, f->remote.read);
}

static void on_done(struct fdl_download *d)
{
    struct flight *f = (struct flight *)d;
    f->reader->asked--;
    fdl_remote_end(&f->remote);
    end_flight(f->reader, f);
}

static void ask(struct fdl_reader *r, struct flight *f)
{
    r->asked++;
    fdl_downloads_begin(r->downloads, &f->remote.download);
}

static void announce(struct fdl_reader *r)
{
    if (r->landed)
        fdl_window_announce(r->window, r->landed);
    r->landed = 0;
}

static struct flight *take_kept(struct fdl_reader *r)
{
    struct flight *f = r->kept;
    r->kept = f->next;
    if (!r->kept)
        r->kept_end = &r->kept;
    return f;
}

/* Returns whether one was read. Those that follow one without room wait with
 * it. */
static bool read_kept(struct fdl_reader *r)
{
    bool any = false;
    while (r->kept) {
        enum fdl_remote_taken taken = fdl_remote_take(&r->kept->remote, true);
        if (taken == FDL_REMOTE_LATER)
            break;
        struct flight *f = take_kept(r);
        any = true;
        if (taken == FDL_REMOTE_TAKEN)
            end_flight(r, f);
        else
            ask(r, f);
        if (r->landed >= MOST_LANDED) /* the next one may be waited for */
            announce(r);
    }
    return any;
}

static void launch(struct fdl_reader *r, struct fdl_read *read)
{
    if (!read->source.store) {
        announce(r); /* this may take a while */
        fdl_read_file(r->window, read);
        land(r, read);
        return;
    }
    struct flight *f = r->idle;
    r->idle = f->next;
    r->in_flight++;
    fdl_remote_prepare(&f->remote, r->window, read);
    f->remote.download.done = on_done;
    switch (f->remote.is_kept ? fdl_remote_take(&f->remote, false)
                              : FDL_REMOTE_GONE) {
    case FDL_REMOTE_TAKEN:
        end_flight(r, f);
        break;
    case FDL_REMOTE_LATER:
        f->next = NULL;
        *r->kept_end = f;
        r->kept_end = &f->next;
        break;
    case FDL_REMOTE_GONE:
        ask(r, f);
        break;
    }
}

/* ---- The loop ----------------------------------------------------------- */

static void wake(void *user)
{
    struct fdl_reader *r = user;
    /* acq_rel: pairs with the exchange in claim_or_announce. */
    if (atomic_exchange_explicit(&r->asleep, false, memory_order_acq_rel))
        fdl_downloads_wake(r->downloads);
}

/* A sample, or NULL after `asleep` was set. No wake-up is lost: this exchange
 * and the one in wake modify one word, so one comes first. If it is this one,
 * wake sees `asleep`; if it is the other, the second claim sees what wake was
 * called for. */
static struct fdl_read *claim_or_announce(struct fdl_reader *r)
{
    struct fdl_read *read = fdl_window_claim(r->window);
    if (read)
        return read;
    atomic_exchange_explicit(&r->asleep, true, memory_order_acq_rel);
    read = fdl_window_claim(r->window);
    if (read) /* a wake-up in between is one for nothing */
        atomic_store_explicit(&r->asleep, false, memory_order_relaxed);
    return read;
}

static struct fdl_read *next_read(struct fdl_reader *r)
{
    struct fdl_read *read = r->apart;
    if (!read)
        return claim_or_announce(r);
    r->apart = fdl_gather_detach(read);
    return read;
}

/* A request that has failed or is late holds up no other, but where many are,
 * the server has too much to do. */
static uint32_t most_in_flight(const struct fdl_reader *r)
{
    uint32_t depth = atomic_load_explicit(&r->depth, memory_order_relaxed);
    uint32_t more = FDL_MIN(fdl_downloads_waiting(r->downloads), depth / 2);
    return FDL_MIN(depth + more, r->max_depth);
}

/* With all flights under way nothing is claimed, and a close is to be heard.
 * true: there may be more to begin. */
static bool fill(struct fdl_reader *r)
{
    uint32_t most = most_in_flight(r), begun = 0;
    struct fdl_read *read;
    while (r->in_flight < most && begun < MOST_BEGUN && (read = next_read(r))) {
        launch(r, read);
        begun++;
    }
    if (r->in_flight >= most)
        atomic_exchange_explicit(&r->asleep, true, memory_order_acq_rel);
    return r->in_flight < most && begun == MOST_BEGUN;
}

/* Adds the time since the last mark to `counter`. */
static void account(struct fdl_reader *r, _Atomic uint64_t *counter)
{
    int64_t now = fdl_now_ns();
    fdl_counter_add(counter, (uint64_t)(now - r->mark_ns));
    fdl_counter_add(&r->stage->clock_reads, 1);
    r->mark_ns = now;
}

static void turn(struct fdl_reader *r, int64_t most_ns)
{
    struct fdl_stage *s = r->stage;
    _Atomic uint64_t *counter = r->in_flight > 0 ? &s->busy_ns
                                : fdl_window_is_full(r->window)
                                    ? &s->blocked_ns
                                    : &s->starved_ns;
    fdl_downloads_turn(r->downloads, most_ns);
    atomic_store_explicit(&r->asleep, false, memory_order_relaxed);
    account(r, counter);
}

/* What is under way when the window closes fails; what was claimed with it, as
 * well. */
static void end_all(struct fdl_reader *r)
{
    fdl_downloads_cancel(r->downloads, FDL_READ_STOPS);
    while (r->kept) {
        struct flight *f = take_kept(r);
        fdl_remote_drop(&f->remote, FDL_READ_STOPS);
        end_flight(r, f);
    }
    while (r->apart) {
        struct fdl_read *read = r->apart;
        r->apart = fdl_gather_detach(read);
        fdl_read_fail(read, FEEDLINE_EIO, FDL_READ_STOPS);
        land(r, read);
    }
    announce(r);
}

static void *remote_main(void *arg)
{
    struct fdl_reader *r = arg;
    r->mark_ns = fdl_now_ns();
    for (;;) {
        bool more = fill(r);
        more = read_kept(r) || more;
        announce(r);
        /* After `asleep` was set in fill, so a close that found nothing asleep
         * is seen here. */
        if (fdl_window_is_closed(r->window))
            break;
        if (more && r->asked == 0)
            continue;
        account(r, &r->stage->busy_ns);
        turn(r, more ? 0 : r->kept ? PAUSED_NS : TURN_NS);
        announce(r);
    }
    end_all(r);
    return NULL;
}

/* ---- The reader --------------------------------------------------------- */

static void set_depth(struct fdl_reader *r, uint32_t depth)
{
    atomic_store_explicit(&r->depth, FDL_MAX(1, FDL_MIN(depth, r->max_depth)),
                          memory_order_relaxed);
    wake(r);
}

static void destroy(struct fdl_reader *r)
{
    fdl_window_set_waker(r->window, NULL, NULL);
    fdl_thread_join(&r->thread);
    fdl_downloads_destroy(r->downloads);
    free(r->flights);
    free(r);
}

static int32_t create(const struct fdl_reader_config *cfg,
                      struct fdl_reader **out)
{
    struct fdl_reader *r = fdl_alloc_aligned(sizeof(*r));
    if (!r)
        return fdl_fail_memory(sizeof(*r), "the reader");
    memset(r, 0, sizeof(*r));
    r->window = cfg->window;
    r->stage = &cfg->stages[0];
    r->max_depth = FDL_MAX(1, cfg->max_depth);
    r->kept_end = &r->kept;
    atomic_init(&r->depth, FDL_MAX(1, FDL_MIN(cfg->depth, r->max_depth)));
    const struct fdl_downloads_config config = {0};
    int32_t status = fdl_downloads_create(&config, &r->downloads);
    r->flights = calloc(r->max_depth, sizeof(*r->flights));
    if (status == FEEDLINE_OK && !r->flights)
        status = fdl_fail_memory(r->max_depth * sizeof(*r->flights),
                                 "the reads in flight");
    if (status) {
        destroy(r);
        return status;
    }
    for (uint32_t i = 0; i < r->max_depth; i++) {
        r->flights[i].reader = r;
        r->flights[i].next = r->idle;
        r->idle = &r->flights[i];
    }
    *out = r;
    return FEEDLINE_OK;
}

static int32_t start(const struct fdl_reader_config *cfg,
                     struct fdl_reader **out)
{
    struct fdl_reader *r = NULL;
    int32_t status = create(cfg, &r);
    if (status != FEEDLINE_OK)
        return status;
    /* The kernel knows of no storage that this thread reads from. */
    fdl_window_set_storage_count(r->window, FDL_STORAGE_UNKNOWN);
    fdl_window_set_waker(r->window, wake, r); /* before the thread looks */
    status = fdl_thread_start_on(&r->thread, cfg->cpus, "feedline-io",
                                 remote_main, r);
    if (status != FEEDLINE_OK) {
        destroy(r);
        return status;
    }
    *out = r;
    return FEEDLINE_OK;
}

const struct fdl_reader_ops fdl_reader_remote = {
    .name = "remote",
    .kind = FDL_READER_remote,
    .reads_files = true,
    .default_depth = 32,
    .max_depth = FDL_MAX_IO_DEPTH,
    .start = start,
    .set_depth = set_depth,
    .stop = destroy,
};
