/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The io_uring reader: one thread, one ring, `depth` files in flight.
 *
 *     claim --> open --> (fstat) --> read, until all is there --> complete
 *       |         |                   ^                       \-> close, or not
 *       |         +-- no descriptor left: later, at the next close
 *       +-- part of a file that is open
 *
 * fstat is a plain call: on an open file it does not block, while statx in the
 * ring is always handed to a kernel thread. close goes through the ring,
 * because on network file systems it may take a round trip, and nothing waits
 * for it.
 *
 * The thread sleeps in one place, reading an eventfd. The kernel writes to it
 * when something completes; a thread that issues new samples writes to it if
 * `asleep` is set: see claim_or_announce. Waiting in io_uring_enter itself
 * would save a call per wake-up, but tools that run one thread at a time
 * (valgrind 3.19) do not know that it blocks, and the program would hang there.
 *
 * The ring has room for everything that can be in flight: each flight and each
 * close has at most one request in it, the timer one more, and fill keeps that
 * sum within `entries`. So submission slots cannot run out, and the completion
 * ring, twice as large, cannot overflow.
 *
 * It is for storage that has to be waited for. Files of 110 KB in the page
 * cache are read at 20 to 32 thousand a second whatever the depth, because one
 * thread does all the copying; reader_pread.c has what threads reach on that
 * machine.
 *
 * A ring is used only if it works: before start returns, a request has gone
 * through it once. There are sandboxes that allow setup and forbid the rest.
 */
#include "loader/read/reader.h"

#if FDL_FEATURES & FEEDLINE_FEATURE_URING

#  include "base/clock.h"
#  include "base/event.h"
#  include "base/log.h"
#  include "base/memory.h"
#  include "base/thread.h"
#  include "loader/options.h"
#  include "loader/read/gather.h"
#  include "loader/read/reader.h"
#  include "loader/read/reader_file.h"

#  include <errno.h>
#  include <inttypes.h>
#  include <liburing.h>
#  include <stdio.h>
#  include <stdlib.h>
#  include <string.h>
#  include <sys/eventfd.h>
#  include <unistd.h>

#  define MIN_ENTRIES     8
#  define MAX_ENTRIES     32768 /* the kernel's limit */
#  define SPARE_ENTRIES   1     /* of the timer */
#  define MAX_READ_BYTES  (1u << 30)
#  define REASON_BYTES    256
#  define DISABLED_SYSCTL "/proc/sys/kernel/io_uring_disabled"

/* The window's two stamps per item; one more per wake-up. */
#  define CLOCK_READS_PER_ITEM 2

enum request { REQUEST_OPEN, REQUEST_READ, REQUEST_CLOSE, REQUEST_TIMER };
#  define REQUEST_BITS 2

enum outcome { OUTCOME_PENDING, OUTCOME_RUNNING, OUTCOME_FAILED };

/* One sample in flight. */
struct flight {
    struct fdl_read *read;
    struct flight *next; /* in `idle`, `later` or `roomless` */
    uint64_t done;       /* bytes */
    uint32_t tries;      /* in a row without progress */
    uint32_t pass;       /* of the ring when its read was queued */
    int fd;
};

struct fdl_reader {
    struct fdl_window *window;
    struct fdl_stage *stage;
    uint32_t max_depth;
    struct fdl_thread thread;
    int wake_fd;

    struct fdl_event started;
    _Atomic int32_t outcome;
    char reason[REASON_BYTES]; /* of OUTCOME_FAILED */

    _Atomic uint32_t depth;
    FDL_ALIGNED(FDL_CACHE_LINE) _Atomic bool asleep;

    /* The thread's own. */
    FDL_ALIGNED(FDL_CACHE_LINE) struct io_uring ring;
    uint32_t entries;
    uint32_t in_ring; /* requests without a completion */
    uint32_t in_flight;
    uint32_t open_files; /* of flights, and being closed */
    uint32_t closing;
    uint32_t pass;          /* calls of submit */
    uint32_t landed;        /* and not announced: one wake-up serves many */
    struct fdl_read *apart; /* mates whose read failed: each by itself */
    struct flight *flights; /* [max_depth] */
    struct flight *idle;
    struct flight *later;    /* found no descriptor */
    struct flight *roomless; /* found no memory for what they opened */
    bool timer_armed;
    struct __kernel_timespec timer;
    int64_t mark_ns; /* time is accounted for up to here */
};

/* Completions are run when this thread asks for them and do not interrupt it;
 * kernels before 6.1 refuse that and get a plain ring. */
static const unsigned ring_flags[] = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
        IORING_SETUP_COOP_TASKRUN,
    0,
};

static atomic_flag small_ring_logged = ATOMIC_FLAG_INIT;

/* ---- Requests ----------------------------------------------------------- */

static struct io_uring_sqe *get_request(struct fdl_reader *r)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ring);
    fdl_assert(sqe && r->in_ring < r->entries);
    r->in_ring++;
    return sqe;
}

static void name_request(struct io_uring_sqe *sqe, enum request request,
                         uint64_t of)
{
    io_uring_sqe_set_data64(sqe, of << REQUEST_BITS | (uint64_t)request);
}

static uint64_t index_of(const struct fdl_reader *r, const struct flight *f)
{
    return (uint64_t)(f - r->flights);
}

static void queue_open(struct fdl_reader *r, const struct flight *f)
{
    struct io_uring_sqe *sqe = get_request(r);
    io_uring_prep_openat(sqe, AT_FDCWD, f->read->source.path, FDL_FILE_FLAGS,
                         0);
    name_request(sqe, REQUEST_OPEN, index_of(r, f));
}

/* flags: IOSQE_ASYNC to let a kernel thread block. */
static void queue_read(struct fdl_reader *r, struct flight *f, unsigned flags)
{
    f->pass = r->pass;
    struct io_uring_sqe *sqe = get_request(r);
    struct fdl_piece piece = fdl_file_piece(f->read, f->done);
    uint64_t bytes = FDL_MIN(piece.bytes, (uint64_t)MAX_READ_BYTES);
    io_uring_prep_read(sqe, f->fd, piece.to, (unsigned)bytes, piece.offset);
    io_uring_sqe_set_flags(sqe, flags);
    name_request(sqe, REQUEST_READ, index_of(r, f));
}

static void queue_close(struct fdl_reader *r, int fd)
{
    struct io_uring_sqe *sqe = get_request(r);
    io_uring_prep_close(sqe, fd);
    name_request(sqe, REQUEST_CLOSE, (uint64_t)fd);
    r->closing++;
}

static void queue_timer(struct fdl_reader *r, int64_t ns)
{
    if (r->timer_armed)
        return;
    struct io_uring_sqe *sqe = get_request(r);
    r->timer.tv_sec = ns / 1000000000;
    r->timer.tv_nsec = ns % 1000000000;
    io_uring_prep_timeout(sqe, &r->timer, 0, 0);
    name_request(sqe, REQUEST_TIMER, 0);
    r->timer_armed = true;
}

/* ---- One sample --------------------------------------------------------- */

static struct flight *pop(struct flight **list)
{
    struct flight *f = *list;
    if (f)
        *list = f->next;
    return f;
}

static void push(struct flight **list, struct flight *f)
{
    f->next = *list;
    *list = f;
}

/* A flight or a close gave up its file. */
static void give_up_file(struct fdl_reader *r)
{
    r->open_files--;
    struct flight *f = pop(&r->later);
    if (f)
        queue_open(r, f);
}

/* The last ones to fail come first; nothing depends on that. */
static void set_apart(struct fdl_reader *r, struct fdl_read *first)
{
    struct fdl_read *last = first;
    while (last->mate)
        last = last->mate;
    last->mate = r->apart;
    r->apart = first;
}

/* read->status is set. */
static void land(struct fdl_reader *r, struct flight *f)
{
    struct fdl_read *read = f->read;
    struct fdl_stage *stage = r->stage;
    int unused = f->fd >= 0 ? fdl_file_leave(r->window, read, f->fd) : -1;
    if (unused >= 0)
        queue_close(r, unused);

    int64_t begin =
        atomic_load_explicit(&read->times->read_start, memory_order_relaxed);
    uint64_t bytes = fdl_gather_bytes(read), ahead = read->ahead;
    bool failed = read->status != FEEDLINE_OK;
    fdl_read_arrive(r->window, read);
    push(&r->idle, f);
    r->in_flight--;
    if (f->fd >= 0 && unused < 0)
        give_up_file(r);
    if (failed && read->mate) {
        set_apart(r, read);
        return;
    }
    uint32_t n = fdl_window_publish(read); /* the workers own it from here */
    r->landed += n;

    /* Busy time is that of the ring and not the sum over samples. */
    int64_t own = fdl_now_ns() - begin;
    for (uint32_t i = 0; i < n; i++)
        fdl_histogram_add(&stage->times, own);
    fdl_stage_read(stage, own, bytes, ahead);
    fdl_counter_add(&stage->items, n);
    fdl_counter_add(&stage->bytes, bytes);
    fdl_counter_add(&stage->errors, failed);
    fdl_counter_add(&stage->clock_reads, n * CLOCK_READS_PER_ITEM + 1);
}

/* Errors that say nothing about the file. */
static bool is_passing(struct flight *f, int err)
{
    return (err == EINTR || err == EAGAIN || err == ECANCELED) &&
           f->tries++ < FDL_FILE_TRIES;
}

/* The oldest sample first. */
static void insert(struct flight **list, struct flight *f)
{
    struct flight **at = list;
    while (*at && (*at)->read->sample < f->read->sample)
        at = &(*at)->next;
    push(at, f);
}

/* While files are in use, one will be closed; else only time can help. */
static void postpone(struct fdl_reader *r, struct flight *f, int err)
{
    if (fdl_file_close_one(r->window)) {
        queue_open(r, f);
        return;
    }
    if (r->open_files == 0 && f->tries++ >= FDL_FILE_TRIES) {
        fdl_file_fail(f->read, "open", err);
        land(r, f);
        return;
    }
    insert(&r->later, f);
}

/* Its file is open. */
static void prepare(struct fdl_reader *r, struct flight *f)
{
    int32_t status = fdl_file_prepare(r->window, f->read, f->fd);
    if (status == FDL_READ_NO_ROOM && fdl_window_is_closed(r->window))
        status = fdl_read_fail(f->read, FEEDLINE_ENOMEM, FDL_READ_STOPS);
    if (status == FDL_READ_NO_ROOM) {
        insert(&r->roomless, f);
    } else if (status != FEEDLINE_OK) {
        land(r, f);
    } else if (f->read->size == 0) {
        fdl_read_finish(f->read);
        land(r, f);
    } else {
        queue_read(r, f, 0);
    }
}

static void on_file(struct fdl_reader *r, struct flight *f, int fd)
{
    f->fd = fd;
    f->tries = 0;
    r->open_files++;
    prepare(r, f);
}

static void launch(struct fdl_reader *r, struct fdl_read *read)
{
    struct flight *f = pop(&r->idle);
    *f = (struct flight){.read = read, .fd = -1};
    r->in_flight++;
    int fd = fdl_file_take(r->window, read);
    if (fd >= 0)
        on_file(r, f, fd);
    else
        queue_open(r, f);
}

static void on_open(struct fdl_reader *r, struct flight *f, int res)
{
    if (res >= 0) {
        on_file(r, f, res);
    } else if (fdl_file_is_limit(-res)) {
        postpone(r, f, -res);
    } else if (res != -EAGAIN && is_passing(f, -res)) {
        queue_open(r, f);
    } else {
        fdl_file_fail(f->read, "open", -res);
        land(r, f);
    }
}

/* What is in the page cache is copied while it is submitted. */
static bool was_cold(const struct fdl_reader *r, const struct flight *f)
{
    return fdl_file_is_direct(f->read) || f->pass + 1 != r->pass;
}

static void on_read(struct fdl_reader *r, struct flight *f, int res)
{
    f->read->cold |= was_cold(r, f);
    if (res >= 0) {
        uint64_t before = f->done;
        f->done = fdl_file_advance(f->read, before, (uint64_t)res);
        f->tries = 0;
        if (f->done > before && f->done < f->read->size) {
            queue_read(r, f, 0);
            return;
        }
        if (f->done > before)
            fdl_read_finish(f->read);
        else
            fdl_file_fail_shrank(f->read, f->done);
    } else if (is_passing(f, -res) ||
               fdl_file_refuses_direct(r->window, f->read, f->fd, -res)) {
        queue_read(r, f, res == -EAGAIN ? IOSQE_ASYNC : 0);
        return;
    } else {
        fdl_file_fail_read(f->read, f->done, -res);
    }
    land(r, f);
}

static void on_close(struct fdl_reader *r, int fd, int res)
{
    if (res == -ECANCELED)
        close(fd); /* any other result has closed it */
    r->closing--;
    give_up_file(r);
}

static void on_timer(struct fdl_reader *r)
{
    r->timer_armed = false;
    struct flight *f;
    while ((f = pop(&r->later))) /* a new failure requeues it */
        queue_open(r, f);
}

static void on_completion(struct fdl_reader *r, uint64_t name, int res)
{
    uint64_t of = name >> REQUEST_BITS;
    r->in_ring--;
    switch ((enum request)(name & ((1u << REQUEST_BITS) - 1))) {
    case REQUEST_OPEN:
        on_open(r, &r->flights[of], res);
        break;
    case REQUEST_READ:
        on_read(r, &r->flights[of], res);
        break;
    case REQUEST_CLOSE:
        on_close(r, (int)of, res);
        break;
    case REQUEST_TIMER:
        on_timer(r);
        break;
    }
}

/* ---- The loop ----------------------------------------------------------- */

static void write_wake(const struct fdl_reader *r)
{
    uint64_t one = 1;
    ssize_t n;
    /* Blocks only after 2^64 - 2 unread writes. */
    do
        n = write(r->wake_fd, &one, sizeof(one));
    while (n < 0 && errno == EINTR);
}

static void wake(void *user)
{
    struct fdl_reader *r = user;
    /* acq_rel: pairs with the exchange in claim_or_announce. */
    if (atomic_exchange_explicit(&r->asleep, false, memory_order_acq_rel))
        write_wake(r);
}

/* A sample, or NULL after `asleep` was set. No wake-up is lost: this exchange
 * and the one in wake modify one word, so one comes first. If it is this one,
 * wake sees `asleep` and writes; if it is the other, the second claim sees what
 * wake was called for. */
static struct fdl_read *claim_or_announce(struct fdl_reader *r)
{
    struct fdl_read *read = fdl_window_claim(r->window);
    if (read)
        return read;
    atomic_exchange_explicit(&r->asleep, true, memory_order_acq_rel);
    read = fdl_window_claim(r->window);
    if (read) /* a write in between wakes us once for nothing */
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

/* Announced first, as in claim_or_announce, so a thread that returns memory
 * wakes us. The window may miss that (hungry is a hint), so there is a timer
 * too. */
static void retry_roomless(struct fdl_reader *r)
{
    struct flight *f, *roomless = r->roomless;
    if (!roomless)
        return;
    atomic_exchange_explicit(&r->asleep, true, memory_order_acq_rel);
    r->roomless = NULL;
    while ((f = pop(&roomless)))
        prepare(r, f);
    if (r->roomless)
        queue_timer(r, fdl_file_pause_ns(2));
}

static void launch_all(struct fdl_reader *r)
{
    uint32_t depth = atomic_load_explicit(&r->depth, memory_order_relaxed);
    struct fdl_read *read;
    while (!r->later && !r->roomless && r->in_flight < depth &&
           r->in_flight + r->closing < r->entries - SPARE_ENTRIES &&
           (read = next_read(r)))
        launch(r, read);
}

/* What was just launched may have found no memory, before anything was
 * announced: it is tried once more. */
static void fill(struct fdl_reader *r)
{
    retry_roomless(r);
    if (!r->roomless) {
        launch_all(r);
        retry_roomless(r);
    }
    if (r->later && r->open_files == 0)
        queue_timer(r, fdl_file_pause_ns(r->later->tries));
}

/* false: the call failed, and what was not submitted stays in the ring for
 * the next time. Errors of the call are not those of a request (EINTR; EAGAIN
 * and EBUSY: the kernel is short of memory). */
static bool submit(struct fdl_reader *r)
{
    int res = io_uring_submit_and_get_events(&r->ring);
    r->pass++;
    if (res < 0 && res != -EINTR)
        fdl_file_pause(0);
    return res >= 0;
}

/* How many have completed. */
static unsigned reap(struct fdl_reader *r)
{
    struct io_uring_cqe *cqe;
    unsigned head, n = 0;
    io_uring_for_each_cqe(&r->ring, head, cqe)
    {
        on_completion(r, cqe->user_data, cqe->res);
        n++;
    }
    io_uring_cq_advance(&r->ring, n);
    if (n > 0)
        fdl_stage_storage(r->stage);
    return n;
}

/* Adds the time since the last mark to `counter`. */
static void account(struct fdl_reader *r, _Atomic uint64_t *counter)
{
    int64_t now = fdl_now_ns();
    fdl_counter_add(counter, (uint64_t)(now - r->mark_ns));
    fdl_counter_add(&r->stage->clock_reads, 1);
    r->mark_ns = now;
}

static void announce(struct fdl_reader *r)
{
    if (r->landed)
        fdl_window_announce(r->window, r->landed);
    r->landed = 0;
}

/* Sleeps until something has completed or been written. The eventfd counts what
 * happened since it was last read; the read then returns at once. */
static void sleep_until_event(struct fdl_reader *r)
{
    struct fdl_stage *s = r->stage;
    _Atomic uint64_t *counter = r->in_flight > 0 ? &s->busy_ns
                                : fdl_window_is_full(r->window)
                                    ? &s->blocked_ns
                                    : &s->starved_ns;
    uint64_t events;
    ssize_t n;
    account(r, &s->busy_ns);
    do
        n = read(r->wake_fd, &events, sizeof(events));
    while (n < 0 && errno == EINTR);
    atomic_store_explicit(&r->asleep, false, memory_order_relaxed);
    account(r, counter);
}

/* ---- The ring ----------------------------------------------------------- */

static int32_t refuse(int err)
{
    char disabled = '0';
    FILE *f = fopen(DISABLED_SYSCTL, "re");
    if (f) {
        int c = fgetc(f);
        disabled = c == EOF ? '0' : (char)c;
        fclose(f);
    }
    if (disabled != '0' && err == EPERM)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "io_uring: the system forbids it (sysctl "
                        "kernel.io_uring_disabled is %c)",
                        disabled);
    if (err == EPERM || err == EACCES || err == ENOSYS)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "io_uring: %s (no support in the kernel, or a seccomp "
                        "filter as containers have it)",
                        strerror(err));
    if (err == ENOMEM)
        return fdl_fail(FEEDLINE_ENOSYS,
                        "io_uring: no memory for a ring of %d entries (see "
                        "ulimit -l)",
                        MIN_ENTRIES);
    return fdl_fail(FEEDLINE_ENOSYS, "io_uring: %s", strerror(err));
}

/* 0 or -errno. */
static int init_ring(struct fdl_reader *r, uint32_t entries)
{
    int res = -EINVAL;
    for (size_t i = 0; i < FDL_COUNT_OF(ring_flags) && res == -EINVAL; i++) {
        struct io_uring_params p = {.flags = ring_flags[i]};
        res = io_uring_queue_init_params(entries, &r->ring, &p);
    }
    return res;
}

static bool has_requests(struct io_uring *ring)
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
    bool all = probe && io_uring_opcode_supported(probe, IORING_OP_OPENAT) &&
               io_uring_opcode_supported(probe, IORING_OP_READ) &&
               io_uring_opcode_supported(probe, IORING_OP_CLOSE) &&
               io_uring_opcode_supported(probe, IORING_OP_TIMEOUT);
    io_uring_free_probe(probe);
    return all;
}

/* Sends a request through the ring, which from then on reports completions to
 * the eventfd. 0 or -errno. */
static int try_ring(struct fdl_reader *r)
{
    struct io_uring_cqe *cqe;
    if (!has_requests(&r->ring))
        return -ENOSYS;
    io_uring_prep_nop(io_uring_get_sqe(&r->ring)); /* done at once */
    int res;
    do
        res = io_uring_submit_and_get_events(&r->ring);
    while (res == -EINTR);
    if (res >= 0)
        res = io_uring_peek_cqe(&r->ring, &cqe);
    if (res < 0)
        return res;
    io_uring_cqe_seen(&r->ring, cqe);
    return io_uring_register_eventfd(&r->ring, r->wake_fd);
}

/* On the thread that will use it: a single-issuer ring belongs to its maker. */
static int32_t open_ring(struct fdl_reader *r)
{
    uint32_t entries = MIN_ENTRIES;
    while (entries < 2 * r->max_depth && entries < MAX_ENTRIES)
        entries *= 2;

    uint32_t wanted = entries;
    int res = init_ring(r, entries);
    while (res == -ENOMEM && entries > MIN_ENTRIES) {
        entries /= 2;
        res = init_ring(r, entries);
    }
    if (res < 0)
        return refuse(-res);
    r->entries = entries;
    res = try_ring(r);
    if (res >= 0)
        res = io_uring_ring_dontfork(&r->ring);
    if (res < 0) {
        io_uring_queue_exit(&r->ring);
        return refuse(-res);
    }
    if (entries < wanted && !atomic_flag_test_and_set_explicit(
                                &small_ring_logged, memory_order_relaxed))
        fdl_log(FDL_LOG_WARNING,
                "io_uring: memory for %" PRIu32 " entries instead of %" PRIu32
                ", so fewer reads at once (see ulimit -l)",
                entries, wanted);
    return FEEDLINE_OK;
}

int32_t fdl_reader_uring_try(void)
{
    struct fdl_reader r = {.max_depth = 1};
    r.wake_fd = eventfd(0, EFD_CLOEXEC);
    if (r.wake_fd < 0)
        return fdl_fail(FEEDLINE_ENOSYS, "io_uring: eventfd: %s",
                        strerror(errno));
    int32_t status = open_ring(&r);
    if (status >= 0)
        io_uring_queue_exit(&r.ring);
    close(r.wake_fd);
    return status;
}

static void report(struct fdl_reader *r, enum outcome outcome)
{
    /* release: pairs with the acquire in await_start, for `reason`. */
    atomic_store_explicit(&r->outcome, (int32_t)outcome, memory_order_release);
    fdl_event_notify(&r->started, 1);
}

static void *ring_main(void *arg)
{
    struct fdl_reader *r = arg;
    if (open_ring(r) != FEEDLINE_OK) {
        snprintf(r->reason, sizeof(r->reason), "%s", fdl_last_error());
        report(r, OUTCOME_FAILED);
        return NULL;
    }
    report(r, OUTCOME_RUNNING);
    r->mark_ns = fdl_now_ns();
    for (;;) {
        fill(r);
        announce(r);
        /* After the announcement in fill, so a close that found nothing asleep
         * is seen here. */
        if (r->in_ring == 0 && !r->apart && fdl_window_is_closed(r->window))
            break; /* all have landed */
        bool idle = submit(r) && reap(r) == 0;
        announce(r);
        if (idle)
            sleep_until_event(r);
    }
    io_uring_queue_exit(&r->ring);
    return NULL;
}

/* ---- The reader --------------------------------------------------------- */

static enum outcome await_start(struct fdl_reader *r)
{
    for (;;) {
        uint32_t key = fdl_event_prepare(&r->started);
        /* acquire: pairs with the release in report. */
        int32_t outcome =
            atomic_load_explicit(&r->outcome, memory_order_acquire);
        if (outcome != OUTCOME_PENDING) {
            fdl_event_cancel(&r->started);
            return (enum outcome)outcome;
        }
        fdl_event_wait(&r->started, key, -1);
    }
}

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
    if (r->wake_fd >= 0)
        close(r->wake_fd);
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
    r->max_depth = FDL_MAX(1, FDL_MIN(cfg->max_depth, MAX_ENTRIES / 2));
    fdl_event_init(&r->started);
    atomic_init(&r->depth, FDL_MAX(1, FDL_MIN(cfg->depth, r->max_depth)));
    r->wake_fd = eventfd(0, EFD_CLOEXEC);
    r->flights = calloc(r->max_depth, sizeof(*r->flights));
    if (r->wake_fd < 0 || !r->flights) {
        int32_t status =
            r->flights ? fdl_fail(FEEDLINE_ENOSYS, "io_uring: eventfd: %s",
                                  strerror(errno))
                       : fdl_fail_memory(r->max_depth * sizeof(*r->flights),
                                         "the reads in flight");
        destroy(r);
        return status;
    }
    for (uint32_t i = 0; i < r->max_depth; i++)
        push(&r->idle, &r->flights[i]);
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
    fdl_window_set_waker(r->window, wake, r); /* before the thread looks */
    status =
        fdl_thread_start_on(&r->thread, cfg->cpus, "feedline-io", ring_main, r);
    if (status == FEEDLINE_OK && await_start(r) == OUTCOME_FAILED)
        status = fdl_fail(FEEDLINE_ENOSYS, "%s", r->reason);
    if (status != FEEDLINE_OK) {
        destroy(r);
        return status;
    }
    *out = r;
    return FEEDLINE_OK;
}

const struct fdl_reader_ops fdl_reader_uring = {
    .name = "uring",
    .kind = FDL_READER_uring,
    .reads_files = true,
    .default_depth = 16,
    .max_depth = FDL_MAX_IO_DEPTH,
    .start = start,
    .set_depth = set_depth,
    .stop = destroy,
};

#else /* liburing was missing at build time */

int32_t fdl_reader_uring_try(void)
{
    return fdl_fail(FEEDLINE_ENOSYS,
                    "io_uring: this library was built without it");
}

static int32_t start(const struct fdl_reader_config *cfg,
                     struct fdl_reader **out)
{
    (void)cfg;
    (void)out;
    return fdl_reader_uring_try();
}

static void stop(struct fdl_reader *r)
{
    (void)r; /* there never is one */
}

const struct fdl_reader_ops fdl_reader_uring = {
    .name = "uring",
    .kind = FDL_READER_uring,
    .reads_files = true,
    .start = start,
    .stop = stop,
};

#endif
