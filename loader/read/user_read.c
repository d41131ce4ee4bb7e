/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffer is as large as the sample where its size is known, and else as
 * samples usually are: the callback asks for more before it has read, or has
 * its bytes elsewhere and copies them once. So nothing is read twice.
 */
#include "loader/read/user_read.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/thread.h"
#include "decode/decoder.h"
#include "loader/read/recorded_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The usual size moves by such a fraction with each sample, up if that is
 * larger: about one in 1 + USUAL_FALL / USUAL_RISE will be. A single huge one
 * hardly moves it. */
#define USUAL_RISE 8
#define USUAL_FALL 128

/* What a callback gets is the beginning of this. */
struct user_call {
    struct fdl_user_call under_way;
    struct fdl_user_reader *user;
    struct fdl_window *window;
    struct fdl_read *read;
    int64_t own_ns; /* of the call's time, not the callback's */
    int64_t lock_ns;
    bool failed; /* what it asked for: read->status says why */
    bool turn;   /* it is its turn, which is to be passed on */
    char reason[FDL_READ_REASON_BYTES];
};

static struct user_call *of(struct feedline_read_call *call)
{
    return (struct user_call *)(void *)call;
}

static bool is_recorded(const struct user_call *c)
{
    return c->user->source.flags & FEEDLINE_SOURCE_RECORDED;
}

/* ---- Turns --------------------------------------------------------------- */

/* True: now, or this source has none. Only samples of the stream do. */
static bool wait_turn(struct user_call *c)
{
    struct fdl_user_calls *u = fdl_window_user_calls(c->window);
    uint32_t flags = c->user->source.flags;
    if (!(flags & FEEDLINE_SOURCE_IN_ORDER) || !c->read->times)
        return true;
    c->turn = fdl_turns_wait(&u->turns, c->read->sample);
    return c->turn;
}

static void pass_turn(struct user_call *c)
{
    if (c->turn)
        fdl_turns_pass(&fdl_window_user_calls(c->window)->turns,
                       c->read->sample);
    c->turn = false;
}

/* ---- Room ---------------------------------------------------------------- */

static int32_t reserve(struct user_call *c, uint64_t bytes)
{
    int32_t status = fdl_read_reserve(c->window, c->read, bytes);
    if (status == FDL_READ_NO_ROOM)
        status = fdl_read_await_room(c->window, c->read, bytes);
    c->under_way.call.buffer = status ? NULL : c->read->buffer;
    c->under_way.call.room =
        status ? 0 : c->read->capacity - FDL_ENCODED_PADDING;
    return status;
}

void *fdl_user_read_grow(struct feedline_read_call *call, uint64_t bytes)
{
    struct user_call *c = of(call);
    int64_t before = fdl_now_ns();
    if (!c->failed && is_recorded(c))
        fdl_read_fail(c->read, FEEDLINE_EINVAL,
                      "a recorded sample has no buffer to grow: it is read by "
                      "feedline_read_recorded");
    if (!c->failed)
        c->failed = is_recorded(c) || reserve(c, bytes) != FEEDLINE_OK;
    c->own_ns += fdl_now_ns() - before;
    return call->buffer;
}

/* Of one more sample; another thread's may be lost. */
static void note_usual(struct fdl_user_reader *user, uint64_t size)
{
    uint64_t usual = fdl_load(&user->usual);
    usual =
        size > usual ? usual + usual / USUAL_RISE : usual - usual / USUAL_FALL;
    atomic_store_explicit(&user->usual, usual, memory_order_relaxed);
}

/* ---- Records ------------------------------------------------------------- */

static int32_t make_record(struct user_call *c,
                           const struct feedline_recorded_image *images,
                           uint32_t n)
{
    struct fdl_read *r = c->read;
    if (!is_recorded(c))
        return fdl_read_fail(r, FEEDLINE_EINVAL,
                             "feedline_read_recorded is for sources with "
                             "FEEDLINE_SOURCE_RECORDED");
    if (r->record)
        return fdl_read_fail(r, FEEDLINE_EINVAL,
                             "feedline_read_recorded was called twice");
    int32_t status = fdl_record_make(
        images, n, fdl_window_max_file_bytes(c->window), &r->record);
    if (status < 0) {
        fdl_read_fail(r, status, "%s", fdl_last_error());
        fdl_clear_error();
    }
    return status;
}

int32_t fdl_user_read_recorded(struct feedline_read_call *call,
                               const struct feedline_recorded_image *images,
                               uint32_t n)
{
    struct user_call *c = of(call);
    if (!c->failed)
        c->failed = make_record(c, images, n) < 0;
    return c->failed ? c->read->status : FEEDLINE_OK;
}

int32_t fdl_user_read_recorded_ahead(
    struct feedline_read_call *call,
    const struct feedline_recorded_image *images, const uint32_t *counts,
    uint32_t samples)
{
    struct user_call *c = of(call);
    if (!c->turn || !is_recorded(c) || !c->read->record)
        return FEEDLINE_EINVAL;
    int32_t status = fdl_ahead_tell(
        &fdl_window_user_calls(c->window)->ahead, c->read->sample + 1, images,
        counts, samples, fdl_window_max_file_bytes(c->window));
    if (status < 0)
        fdl_clear_error();
    return status;
}

/* In a call before, which made its record. */
static bool was_told(struct user_call *c, struct fdl_user_calls *u)
{
    if (!c->turn)
        return false;
    c->read->record = fdl_ahead_take(&u->ahead, c->read->sample);
    if (c->read->record)
        fdl_user_calls_count(u, 0, 0, 0);
    return c->read->record;
}

/* ---- What callbacks say -------------------------------------------------- */

int32_t fdl_user_read_fail(struct feedline_read_call *call, int32_t status,
                           const char *reason)
{
    struct user_call *c = of(call);
    if (reason)
        snprintf(c->reason, sizeof(c->reason), "%s", reason);
    return status;
}

bool fdl_user_read_is_cancelled(const struct feedline_read_call *call)
{
    const struct user_call *c = (const struct user_call *)(const void *)call;
    return fdl_window_is_closed(c->window);
}

void fdl_user_read_waited(struct feedline_read_call *call, int64_t ns)
{
    struct user_call *c = of(call);
    if (ns > 0 && ns <= INT64_MAX - c->lock_ns)
        c->lock_ns += ns;
}

/* ---- One read ------------------------------------------------------------ */

static int32_t fail(struct user_call *c, int32_t status)
{
    const char *name = c->user->name;
    bool known = status < 0 && strcmp(fdl_status_name(status), "UNKNOWN") != 0;
    int32_t counts = known ? status : FEEDLINE_EUSER;
    if (c->reason[0])
        return fdl_read_fail(c->read, counts, "%s", c->reason);
    if (known)
        return fdl_read_fail(c->read, counts, "%s returned %s", name,
                             fdl_status_name(status));
    return fdl_read_fail(c->read, counts, "%s returned %" PRId32, name, status);
}

/* What the callback says that it did. */
static int32_t check(struct user_call *c, int32_t status)
{
    struct fdl_read *r = c->read;
    uint64_t length = c->under_way.call.length;
    int64_t expected = r->source.length;
    if (c->failed)
        return r->status;
    if (status)
        return fail(c, status);
    if (is_recorded(c))
        return r->record ? FEEDLINE_OK
                         : fdl_read_fail(r, FEEDLINE_EUSER,
                                         "%s returned without a call of "
                                         "feedline_read_recorded",
                                         c->user->name);
    if (expected >= 0 && length != (uint64_t)expected)
        return fdl_read_fail(r, FEEDLINE_EIO,
                             "expected %" PRId64 " bytes, got %" PRIu64,
                             expected, length);
    if (length > r->capacity - FDL_ENCODED_PADDING)
        return fdl_read_fail(
            r, FEEDLINE_EIO,
            "%s says it put %" PRIu64 " bytes into a buffer of %" PRIu64
            "; feedline_read_grow makes it larger",
            c->user->name, length, r->capacity - FDL_ENCODED_PADDING);
    return fdl_read_reserve(c->window, r, length); /* max_file_bytes */
}

static int32_t call_back(struct user_call *c, struct fdl_user_calls *u)
{
    int64_t cpu = fdl_thread_cpu_ns(), begin_ns = fdl_now_ns();
    c->under_way.call.begin_ns = begin_ns;
    fdl_thread_open_signals();
    int32_t status = c->user->source.read(&c->under_way.call);
    fdl_thread_block_signals();
    int64_t wall = fdl_now_ns() - begin_ns - c->own_ns;
    cpu = fdl_thread_cpu_ns() - cpu;
    fdl_user_calls_count(u, wall, cpu, c->lock_ns);
    return status;
}

/* Of the size that the sample has, or that most have. A record makes room for
 * itself. */
static int32_t reserve_first(struct user_call *c)
{
    uint64_t usual = FDL_MIN(fdl_load(&c->user->usual),
                             fdl_window_max_file_bytes(c->window));
    int64_t length = c->read->source.length;
    if (is_recorded(c))
        return FEEDLINE_OK;
    return reserve(c, length < 0 ? usual : (uint64_t)length);
}

/* True: the program is done, and r->record says what is to be read. */
static bool read_one(struct user_call *c)
{
    struct fdl_user_calls *u = fdl_window_user_calls(c->window);
    struct fdl_read *r = c->read;
    if (reserve_first(c))
        return false;
    bool closed = fdl_window_is_closed(c->window);
    if (!closed && was_told(c, u))
        return true;
    if (closed || !fdl_user_calls_begin(u, &c->under_way)) {
        fdl_read_fail(r, FEEDLINE_EIO, FDL_READ_STOPS);
        return false;
    }
    int32_t status = call_back(c, u);
    fdl_user_calls_end(u, &c->under_way);
    if (check(c, status) != FEEDLINE_OK)
        return false;
    if (is_recorded(c))
        return true;
    r->size = c->under_way.call.length;
    fdl_read_finish(r);
    note_usual(c->user, r->size);
    return false;
}

void fdl_user_read(struct fdl_window *w, struct fdl_read *r)
{
    struct fdl_user_reader *user = r->source.user;
    struct user_call c = {
        .under_way = {.call = {.struct_size = sizeof(c.under_way.call),
                               .context = user->source.context,
                               .index = r->source.offset,
                               .sample_index = (int64_t)r->index,
                               .epoch = r->epoch,
                               .ticket = r->ticket,
                               .place = r->place,
                               .copy = r->copy},
                      .cancel = user->source.cancel},
        .user = user,
        .window = w,
        .read = r,
    };
    bool alone = user->source.flags & FEEDLINE_SOURCE_ONE_AT_A_TIME;
    /* Before it has a buffer, which the one that reads may be waiting for; and
     * the turn before the lock, for which the one whose turn it is may wait. */
    if (!wait_turn(&c)) {
        fdl_read_fail(r, FEEDLINE_EIO, FDL_READ_STOPS);
        return;
    }
    if (alone)
        fdl_lock(&user->turns);
    bool has_record = read_one(&c);
    if (alone)
        fdl_unlock(&user->turns);
    pass_turn(&c);
    if (has_record) /* files of it: the program goes on meanwhile */
        fdl_recorded_read(w, r);
}
