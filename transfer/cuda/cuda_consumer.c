/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer's side of the CUDA backend: streams that wait for batches, and
 * marks on them.
 *
 * When does a stream run out of work? It waits for the next batch from
 * `entered` on, a mark before the wait. But as long as the host sits in next(),
 * it cannot tell the stream to wait, and the stream is idle all the same, from
 * where its work ended, though not before the host called next():
 *
 *     host      work queued   next() ......... wait
 *     stream    === work ===|                    |... copy |=== work
 *                         asked    idle       entered     ready
 *
 * So next() marks the stream on which the program computes, if it was named.
 * Otherwise only a stream that waited for a batch is known, and it need not
 * exist once that batch is released: it is marked in next() while the batch is
 * held, else on release. A batch that was copied is released before the work on
 * it is queued, so then there is no mark.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "transfer/cuda/cuda_backend.h"

/* ---- Streams of a thread ------------------------------------------------ */

static uint64_t thread_number(void)
{
    static _Atomic uint64_t threads;
    static _Thread_local uint64_t own;
    if (own == 0)
        own = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
    return own;
}

static struct fdl_cuda_user user_of(void *stream)
{
    return (struct fdl_cuda_user){
        .stream = stream,
        .thread = stream == FDL_CUDA_PER_THREAD ? thread_number() : 0};
}

static bool is_same(struct fdl_cuda_user a, struct fdl_cuda_user b)
{
    return a.stream == b.stream && a.thread == b.thread;
}

/* Whether this thread means the same stream by that handle. */
static bool is_reachable(struct fdl_cuda_user user)
{
    return user.thread == 0 || user.thread == thread_number();
}

/* A mark for all that `user` has queued: the legacy stream waits for those of
 * all threads. */
static struct fdl_cuda_user reachable(struct fdl_cuda_user user)
{
    return is_reachable(user) ? user : user_of(FDL_CUDA_LEGACY);
}

/* ---- When the consumer's stream ran out of work -------------------------- */

/* Not on a stream that is captured: the mark would go into the graph. A stream
 * whose queue is full holds up who marks it, so that is done without the lock;
 * others make no mark meanwhile. */
static void mark_asked(struct fdl_cuda *c, struct fdl_cuda_user user)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    fdl_lock(&c->ask_lock);
    bool mine = !c->has_asked && !c->marks;
    uint64_t turn = c->turn;
    c->marks |= mine;
    fdl_unlock(&c->ask_lock);
    if (!mine)
        return;
    bool marked = is_reachable(user) && !fdl_cuda_captures(cuda, user.stream) &&
                  cuda->EventRecord(c->asked, user.stream) == FDL_CUDA_SUCCESS;
    fdl_lock(&c->ask_lock);
    c->marks = false;
    c->has_asked = marked && c->turn == turn;
    fdl_unlock(&c->ask_lock);
}

void fdl_cuda_set_stream(void *backend, void *stream)
{
    struct fdl_cuda *c = backend;
    fdl_lock(&c->ask_lock);
    c->stream_told = stream;
    c->is_told = true;
    fdl_unlock(&c->ask_lock);
}

/* Where to mark; false: nowhere. */
static bool ask_locked(struct fdl_cuda *c, int64_t now, enum fdl_ask how,
                       struct fdl_cuda_user *where)
{
    c->called_ns = now;
    if (how == FDL_ASK_ANEW)
        c->resumes = true;
    if (how == FDL_ASK_ANEW || c->is_told) {
        c->has_asked = false; /* a mark of an earlier call */
        c->turn++;
    }
    if (c->is_told)
        *where = user_of(c->stream_told);
    else if (c->current)
        *where = c->current->streams[0];
    return c->is_told || c->current;
}

void fdl_cuda_ask(void *backend, int64_t now, enum fdl_ask how)
{
    struct fdl_cuda *c = backend;
    struct fdl_cuda_user where;
    if (how == FDL_ASK_AGAIN || !c->device || fdl_cuda_enter(c->device) < 0)
        return;
    fdl_lock(&c->ask_lock);
    bool known = ask_locked(c, now, how, &where);
    fdl_unlock(&c->ask_lock);
    if (known)
        mark_asked(c, where);
    fdl_cuda_leave(c->device);
}

/* Its slab may be freed from now on. */
static void leave_current(struct fdl_cuda *c, struct fdl_cuda_slab *own,
                          bool entered)
{
    fdl_lock(&c->ask_lock);
    bool is_current = c->current == own;
    bool mark = entered && is_current && !c->is_told && !c->copied;
    if (is_current)
        c->current = NULL;
    fdl_unlock(&c->ask_lock);
    if (mark)
        mark_asked(c, own->streams[0]);
}

/* ---- Waiting ------------------------------------------------------------ */

/* What is known of the call of next() that delivered this batch goes to its
 * step. */
static void take_ask(struct fdl_cuda *c, struct fdl_cuda_slab *own)
{
    struct fdl_cuda_step *s = own->step;
    fdl_lock(&c->ask_lock);
    bool has_asked = c->has_asked, resumes = c->resumes;
    if (has_asked) {
        fdl_cuda_event swap = c->asked;
        c->asked = s->asked;
        s->asked = swap;
    }
    c->turn++;
    s->called_ns = c->called_ns;
    c->has_asked = c->resumes = c->copied = false;
    c->current = own;
    fdl_unlock(&c->ask_lock);
    fdl_lock(&c->lock);
    s->has_asked = has_asked;
    s->resumes = resumes;
    s->has_entered = true;
    fdl_unlock(&c->lock);
}

/* The first stream that waits for a batch is the consumer's. */
static int enter_step(struct fdl_cuda *c, struct fdl_cuda_slab *own,
                      fdl_cuda_stream stream)
{
    struct fdl_cuda_step *s = own->step;
    int error = c->device->cuda->EventRecord(s->entered, stream);
    if (error != FDL_CUDA_SUCCESS)
        return error;
    own->streams[0] = user_of(stream);
    take_ask(c, own);
    return FDL_CUDA_SUCCESS;
}

static bool has_waited(const struct fdl_cuda_slab *own,
                       struct fdl_cuda_user user)
{
    for (uint32_t i = 0; i < own->n_streams; i++)
        if (is_same(own->streams[i], user))
            return true;
    return false;
}

static int32_t check_capture(const struct fdl_cuda *c, void *stream)
{
    if (!fdl_cuda_captures(c->device->cuda, stream))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_ESTATE,
                    "the stream is being captured into a CUDA graph, which "
                    "cannot contain a batch: copy it into the graph's own "
                    "tensors before the capture, and before each replay");
}

static int32_t wait_locked(struct fdl_cuda *c, struct fdl_cuda_slab *own,
                           void *stream)
{
    int32_t status = check_capture(c, stream);
    if (status < 0)
        return status;
    if (has_waited(own, user_of(stream)))
        return FEEDLINE_OK;
    if (own->n_streams == FDL_CUDA_STREAMS)
        return fdl_fail(FEEDLINE_ERANGE,
                        "more than %u streams wait for one batch; let one of "
                        "them wait for another",
                        FDL_CUDA_STREAMS);
    int error = FDL_CUDA_SUCCESS;
    if (own->n_streams == 0)
        error = enter_step(c, own, stream);
    if (error == FDL_CUDA_SUCCESS)
        error = c->device->cuda->StreamWaitEvent(stream, own->step->ready, 0);
    if (error != FDL_CUDA_SUCCESS)
        return fdl_cuda_fail(c->device->cuda, error,
                             "the stream cannot wait for the batch");
    own->streams[own->n_streams++] = user_of(stream);
    return FEEDLINE_OK;
}

int32_t fdl_cuda_wait(void *backend, struct fdl_transfer *t, void *stream)
{
    struct fdl_cuda *c = backend;
    struct fdl_cuda_slab *own = t->slab->own;
    int32_t status = fdl_cuda_enter(c->device);
    if (status < 0)
        return status;
    fdl_lock(&own->lock);
    status = wait_locked(c, own, stream);
    fdl_unlock(&own->lock);
    fdl_cuda_leave(c->device);
    return status;
}

/* ---- Copying ------------------------------------------------------------ */

/* The work on a batch that is copied is queued later than its release. */
static int32_t copied(struct fdl_cuda *c, int error)
{
    fdl_lock(&c->ask_lock);
    c->copied = true;
    fdl_unlock(&c->ask_lock);
    if (error == FDL_CUDA_SUCCESS)
        return FEEDLINE_OK;
    return fdl_cuda_fail(c->device->cuda, error, "the batch cannot be copied");
}

int32_t fdl_cuda_copy(void *backend, void *to, const void *from, uint64_t bytes,
                      void *stream)
{
    struct fdl_cuda *c = backend;
    int32_t status = fdl_cuda_enter(c->device);
    if (status < 0)
        return status;
    status = check_capture(c, stream);
    if (status >= 0)
        status = copied(c, c->device->cuda->MemcpyDtoDAsync(
                               to, from, (size_t)bytes, stream));
    fdl_cuda_leave(c->device);
    return status;
}

int32_t fdl_cuda_finish_to(void *backend, struct fdl_transfer *t, void *to,
                           void *stream)
{
    struct fdl_cuda *c = backend;
    int32_t status = fdl_cuda_enter(c->device);
    if (status < 0)
        return status;
    status = check_capture(c, stream);
    if (status >= 0)
        status = copied(c, fdl_cuda_finish(c, t, to, stream));
    fdl_cuda_leave(c->device);
    return status;
}

/* ---- Giving back -------------------------------------------------------- */

/* Place of the stream's mark: the one it has, which a later one includes, or a
 * new one. */
static uint32_t place_of_mark(const struct fdl_cuda_slab *own,
                              struct fdl_cuda_user user)
{
    uint32_t i = 0;
    while (i < own->n_used && !is_same(own->used_on[i], user))
        i++;
    return i;
}

/* Remembers what `user` has queued by now, or has the copy thread do so when
 * its capture is over. A stream that cannot be marked is waited for here: late
 * is better than torn pixels. */
static void mark_used_locked(struct fdl_cuda *c, struct fdl_cuda_slab *own,
                             struct fdl_cuda_user user)
{
    const struct fdl_cuda_api *cuda = c->device->cuda;
    uint32_t i = place_of_mark(own, user);
    bool room = i < FDL_COUNT_OF(own->used);
    bool late = room && fdl_cuda_captures(cuda, user.stream);
    int error = room ? FDL_CUDA_SUCCESS : FDL_CUDA_ERROR_NOT_READY;
    if (room && !late && !own->used[i])
        error = cuda->EventCreate(&own->used[i], FDL_CUDA_EVENT_NO_TIMING);
    if (error == FDL_CUDA_SUCCESS && !late)
        error = cuda->EventRecord(own->used[i], user.stream);
    if (error == FDL_CUDA_SUCCESS) {
        own->used_on[i] = user;
        own->late[i] = late;
        own->n_used = FDL_MAX(own->n_used, i + 1);
    } else {
        cuda->StreamSynchronize(user.stream);
    }
}

/* A stream that waited is marked when the batch is given back. */
void fdl_cuda_use(void *backend, struct fdl_transfer *t, void *stream)
{
    struct fdl_cuda *c = backend;
    struct fdl_cuda_slab *own = t->slab->own;
    if (fdl_cuda_enter(c->device) < 0)
        return; /* as release will find */
    fdl_lock(&own->lock);
    if (!has_waited(own, user_of(stream)))
        mark_used_locked(c, own, user_of(stream));
    fdl_unlock(&own->lock);
    fdl_cuda_leave(c->device);
}

void fdl_cuda_release(void *backend, struct fdl_transfer *t)
{
    struct fdl_cuda *c = backend;
    struct fdl_cuda_slab *own = t->slab->own;
    if (fdl_cuda_enter(c->device) < 0) {
        fdl_cuda_lose(c, FEEDLINE_EDEVICE); /* nothing overwrites it any more */
        leave_current(c, own, false);
        return;
    }
    fdl_lock(&own->lock);
    leave_current(c, own, true);
    for (uint32_t i = 0; i < own->n_streams; i++)
        mark_used_locked(c, own, reachable(own->streams[i]));
    own->n_streams = 0;
    struct fdl_cuda_step *step = own->step;
    own->step = NULL;
    fdl_unlock(&own->lock);
    fdl_cuda_leave(c->device);
    if (step)
        fdl_cuda_step_let_go(c, step);
}
