/* SPDX-License-Identifier: Apache-2.0 */
#include "store/downloads.h"

#include "base/clock.h"
#include "base/memory.h"
#include "store/patience.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES        6u
#define STALL_S      30u
#define CONNECT_MS   10000u
#define MOST_HEDGES  6u /* of one download */
#define MOST_AT_ONCE 4u /* requests of one */
#define MOST_REFUSED 2u
#define SPENT_NS     ((int64_t)50000000) /* a hedge is thought of again */
#define PAUSED_NS    ((int64_t)4000000)  /* memory is asked for again */
#define MS           ((int64_t)1000000)
#define RANGE_BYTES  64
#define SPARE        4 /* connections, beside those that were needed at once */

/* A connection that brought so much is no reason to give up. */
#define PROGRESS_BYTES ((uint64_t)64 << 10)

struct fdl_downloads {
    const struct fdl_curl *curl;
    void *multi;
    struct fdl_downloads_config config;
    struct fdl_patience patience;
    struct fdl_download *first; /* under way */
    struct fdl_attempt *idle;   /* their handles are kept */
    int most_running;           /* requests; so many connections are kept */
    bool paused;                /* one of them waits for memory */
    uint32_t waiting;           /* see fdl_downloads_waiting */
};

/* A request that must not take a kept connection may leave one more behind.
 * Those that were never needed at once would pile up: each has a descriptor,
 * and buffers of libcurl's. */
static void keep_connections(struct fdl_downloads *all, int running)
{
    if (running < all->most_running)
        return;
    all->most_running = running;
    all->curl->MultiSet(all->multi, FDL_CURL_MOPT_MAXCONNECTS,
                        (long)running + SPARE);
}

int32_t fdl_downloads_create(const struct fdl_downloads_config *config,
                             struct fdl_downloads **out)
{
    const struct fdl_curl *curl;
    int32_t status = fdl_curl_load(&curl);
    if (status)
        return status;
    struct fdl_downloads *all = calloc(1, sizeof(*all));
    void *multi = all ? curl->MultiInit() : NULL;
    if (!multi) {
        free(all);
        return fdl_fail_memory(sizeof(*all), "downloads");
    }
    all->curl = curl;
    all->multi = multi;
    all->config = *config;
    if (!all->config.tries)
        all->config.tries = TRIES;
    if (!all->config.stall_s)
        all->config.stall_s = STALL_S;
    if (!all->config.connect_ms)
        all->config.connect_ms = CONNECT_MS;
    /* Two downloads that fail together shall not come back together. */
    fdl_patience_init(&all->patience,
                      (uint64_t)fdl_now_ns() ^ (uint64_t)(uintptr_t)all);
    keep_connections(all, 0);
    *out = all;
    return FEEDLINE_OK;
}

void fdl_downloads_destroy(struct fdl_downloads *all)
{
    if (!all)
        return;
    fdl_assert(!all->first);
    for (struct fdl_attempt *a = all->idle, *next; a; a = next) {
        next = a->next;
        all->curl->EasyCleanup(a->easy);
        free(a);
    }
    all->curl->MultiCleanup(all->multi);
    free(all);
}

void fdl_downloads_wake(struct fdl_downloads *all)
{
    all->curl->MultiWakeup(all->multi);
}

/* relaxed: a count, which orders nothing. */
static void add(_Atomic uint64_t *count, uint64_t n)
{
    atomic_fetch_add_explicit(count, n, memory_order_relaxed);
}

/* ---- What is told -------------------------------------------------------- */

static uint64_t missing(const struct fdl_download *d)
{
    if (d->total >= 0)
        return (uint64_t)d->total - d->have;
    return d->length >= 0 ? (uint64_t)d->length : 0;
}

/* "127.0.0.1:8080, bytes 0 to 99: WHY" */
static void tell(struct fdl_download *d, int32_t status, const char *why)
{
    char range[64] = "";
    const char *host = strstr(d->path, "://");
    host = host ? host + 3 : d->path;
    if (d->length > 0)
        snprintf(range, sizeof(range), ", bytes %" PRIu64 " to %" PRIu64,
                 d->offset, d->offset + (uint64_t)d->length - 1);
    else if (d->offset > 0)
        snprintf(range, sizeof(range), ", bytes from %" PRIu64 " on",
                 d->offset);
    d->status = status;
    snprintf(d->why, sizeof(d->why), "%.*s%s: %s", (int)strcspn(host, "/"),
             host, range, why);
    if (d->tries > 1) {
        size_t n = strlen(d->why);
        snprintf(d->why + n, sizeof(d->why) - n, ", after %" PRIu32 " tries",
                 d->tries);
    }
}

/* ---- Attempts ------------------------------------------------------------ */

static void drop(struct fdl_downloads *all, struct fdl_attempt *a)
{
    struct fdl_download *d = a->user;
    struct fdl_attempt **at = &d->attempts;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    add(&d->counts->bytes, a->got);
    if (a->easy)
        all->curl->MultiRemove(all->multi, a->easy);
    fdl_attempt_clear(a);
    a->next = all->idle;
    all->idle = a;
}

static void finish(struct fdl_downloads *all, struct fdl_download *d)
{
    while (d->attempts)
        drop(all, d->attempts);
    *d->at = d->next;
    if (d->next)
        d->next->at = d->at;
    d->done(d);
}

static enum fdl_attempt_go place(struct fdl_attempt *a);

static struct fdl_attempt *take_idle(struct fdl_downloads *all)
{
    struct fdl_attempt *a = all->idle;
    if (a)
        all->idle = a->next;
    else
        a = calloc(1, sizeof(*a));
    if (a)
        a->next = NULL;
    return a;
}

/* What is missing; a whole object is asked for without a range. */
static struct fdl_asked asked_for(const struct fdl_download *d)
{
    struct fdl_asked asked = {.offset = d->offset + d->have, .length = -1};
    if (d->length >= 0 || d->total >= 0)
        asked.length = (int64_t)missing(d);
    asked.ranged = asked.offset > 0 || d->length >= 0;
    asked.up_to = d->up_to && d->total < 0;
    return asked;
}

/* "bytes=0-99" */
static void write_range(const struct fdl_asked *asked, char out[RANGE_BYTES])
{
    if (asked->length >= 0)
        snprintf(out, RANGE_BYTES, "bytes=%" PRIu64 "-%" PRIu64, asked->offset,
                 asked->offset + (uint64_t)asked->length - 1);
    else
        snprintf(out, RANGE_BYTES, "bytes=%" PRIu64 "-", asked->offset);
}

static int32_t sign(struct fdl_download *d, struct fdl_attempt *a)
{
    const char *location = d->path;
    char *whole = NULL;
    if (d->query) {
        size_t bytes = strlen(d->path) + strlen(d->query) + 1;
        location = whole = malloc(bytes);
        if (!whole)
            return fdl_fail_memory(bytes, "a URL");
        snprintf(whole, bytes, "%s%s", d->path, d->query);
    }
    int32_t status =
        d->store->ops->sign(d->store, location, a->range, a->tag, &a->request);
    fdl_wipe(whole);
    return status;
}

static int32_t send_attempt(struct fdl_downloads *all, struct fdl_download *d,
                            struct fdl_attempt *a)
{
    char range[RANGE_BYTES];
    a->asked = asked_for(d);
    write_range(&a->asked, range);
    a->range = a->asked.ranged ? range : NULL;
    a->tag = d->strong ? d->known : NULL;
    a->place = place;
    a->stall_s = all->config.stall_s;
    a->connect_ms = all->config.connect_ms;
    int32_t status = sign(d, a);
    if (status == FEEDLINE_OK)
        status = fdl_attempt_prepare(a, all->curl);
    if (status == FEEDLINE_OK && all->curl->MultiAdd(all->multi, a->easy) != 0)
        status = fdl_fail(FEEDLINE_EIO, "libcurl takes no request");
    a->range = a->tag = NULL;
    add(&d->counts->requests, 1);
    return status;
}

static int32_t start(struct fdl_downloads *all, struct fdl_download *d,
                     bool fresh)
{
    struct fdl_attempt *a = take_idle(all);
    if (!a)
        return fdl_fail_memory(sizeof(*a), "a request");
    a->user = d;
    a->fresh = fresh;
    a->second = d->attempts != NULL;
    a->began_ns = fdl_now_ns();
    a->next = d->attempts;
    d->attempts = a;
    int32_t status = send_attempt(all, d, a);
    if (status)
        drop(all, a);
    return status;
}

/* There is nothing to ask for. */
static void end_empty(struct fdl_downloads *all, struct fdl_download *d)
{
    int32_t status = d->room(d, 0, &d->to);
    if (status == FDL_DOWNLOAD_NO_ROOM) {
        d->due_ns = fdl_now_ns() + PAUSED_NS;
        return;
    }
    d->status = status;
    if (status)
        snprintf(d->why, sizeof(d->why), "%s", fdl_last_error());
    finish(all, d);
}

static void ask(struct fdl_downloads *all, struct fdl_download *d)
{
    if (d->length == 0) {
        end_empty(all, d);
        return;
    }
    d->tries++;
    d->due_ns = 0;
    int32_t status = start(all, d, d->fresh);
    if (status == FEEDLINE_OK)
        return;
    tell(d, status, fdl_last_error());
    finish(all, d);
}

/* What is known of the object from downloads before. */
static void recall(struct fdl_download *d)
{
    /* acquire: pairs with the release in compare: the text. */
    const char *tag =
        d->tag ? atomic_load_explicit(d->tag, memory_order_acquire) : NULL;
    snprintf(d->known, sizeof(d->known), "%s", tag ? tag : "");
    d->strong = *d->known == '"';
}

void fdl_downloads_begin(struct fdl_downloads *all, struct fdl_download *d)
{
    static struct fdl_download_counts nobodys;
    if (!d->counts)
        d->counts = &nobodys;
    d->status = FEEDLINE_OK;
    d->why[0] = '\0';
    d->bytes = d->have = 0;
    d->to = NULL;
    d->total = d->object_bytes = -1;
    d->tries = d->refusals = d->hedges = 0;
    d->fresh = false;
    d->attempts = NULL;
    d->moved_ns = 0;
    recall(d);
    d->next = all->first;
    d->at = &all->first;
    if (d->next)
        d->next->at = &d->next;
    all->first = d;
    ask(all, d);
}

/* ---- Which object -------------------------------------------------------- */

/* Without an ETag and a date its size has to do. */
static void name_object(const struct fdl_attempt *a, char name[FDL_TAG_BYTES])
{
    const struct fdl_reply *r = &a->reply;
    int64_t total = r->status == 206 ? r->total : r->length;
    if (*r->tag)
        snprintf(name, FDL_TAG_BYTES, "%s", r->tag);
    else
        snprintf(name, FDL_TAG_BYTES, "%" PRId64 " bytes", total);
}

static bool is_named(const struct fdl_download *d)
{
    return *d->known && !isdigit((unsigned char)*d->known);
}

const char *fdl_download_tag(const struct fdl_download *d)
{
    return is_named(d) ? d->known : NULL;
}

static bool fail_changed(struct fdl_download *d, const char *now)
{
    char why[FDL_ATTEMPT_WHY + FDL_TAG_BYTES];
    snprintf(why, sizeof(why),
             "the object was replaced after the data set was opened: it was "
             "%s, and is %s",
             d->known, now);
    tell(d, FEEDLINE_EIO, why);
    return false;
}

/* The same as in attempts and downloads before; false: d->status and d->why. */
static bool compare(struct fdl_download *d, const struct fdl_attempt *a)
{
    char name[FDL_TAG_BYTES], *first = NULL;
    name_object(a, name);
    if (*d->known)
        return strcmp(d->known, name) == 0 || fail_changed(d, name);
    memcpy(d->known, name, sizeof(name));
    d->strong = a->reply.strong;
    char *copy = d->tag ? fdl_strdup(name) : NULL;
    /* release: the text; acquire: that of another thread that was first. */
    if (!copy || atomic_compare_exchange_strong_explicit(d->tag, &first, copy,
                                                         memory_order_acq_rel,
                                                         memory_order_acquire))
        return true;
    free(copy);
    snprintf(d->known, sizeof(d->known), "%s", first);
    return strcmp(first, name) == 0 || fail_changed(d, name);
}

/* ---- Bytes --------------------------------------------------------------- */

/* The one request whose bytes are taken; NULL: none has an answer yet. */
static struct fdl_attempt *writer_of(const struct fdl_download *d)
{
    struct fdl_attempt *a = d->attempts;
    while (a && (!a->to || a->dropped))
        a = a->next;
    return a;
}

/* What its writer has brought. */
static void count_bytes(struct fdl_download *d)
{
    const struct fdl_attempt *a = writer_of(d);
    uint64_t have = a ? a->asked.offset - d->offset + a->got : d->have;
    if (have != d->have)
        d->moved_ns = fdl_now_ns();
    d->have = have;
}

/* A later request has an answer. The writer goes on if it has come half the way
 * since that was sent; who was asked before it is of no use any more. Dropped
 * attempts are taken away after libcurl's turn. */
static enum fdl_attempt_go settle(struct fdl_download *d, struct fdl_attempt *a)
{
    count_bytes(d);
    uint64_t since = d->offset + d->have - a->asked.offset;
    if (writer_of(d) && since >= missing(d) && since > 0) {
        a->dropped = true;
        return FDL_ATTEMPT_STOP;
    }
    for (struct fdl_attempt *older = a->next; older; older = older->next)
        older->dropped = true;
    return FDL_ATTEMPT_GO;
}

static enum fdl_attempt_go find_room(struct fdl_download *d,
                                     const struct fdl_attempt *a)
{
    if (d->to) {
        fdl_assert(a->asked.offset - d->offset + a->bytes <=
                   (uint64_t)d->total);
        return FDL_ATTEMPT_GO;
    }
    int32_t status = d->room(d, a->bytes, &d->to);
    if (status == FDL_DOWNLOAD_NO_ROOM)
        return FDL_ATTEMPT_LATER;
    if (status == FEEDLINE_OK) {
        d->total = (int64_t)a->bytes;
        d->object_bytes =
            a->reply.status == 200 ? a->reply.length : a->reply.total;
        return FDL_ATTEMPT_GO;
    }
    d->status = status;
    snprintf(d->why, sizeof(d->why), "%s", fdl_last_error());
    return FDL_ATTEMPT_STOP;
}

static enum fdl_attempt_go place(struct fdl_attempt *a)
{
    struct fdl_download *d = a->user;
    if (a->reply.status != 416 && !compare(d, a)) /* of no bytes */
        return FDL_ATTEMPT_STOP;
    enum fdl_attempt_go go = find_room(d, a);
    if (go == FDL_ATTEMPT_GO)
        go = settle(d, a);
    if (go == FDL_ATTEMPT_GO)
        a->to = d->to + (a->asked.offset - d->offset);
    return go;
}

/* ---- The end of an attempt ----------------------------------------------- */

static void wait_for_next(struct fdl_downloads *all, struct fdl_download *d,
                          struct fdl_attempt *a)
{
    if (a->got >= PROGRESS_BYTES)
        d->tries = 0;
    if (d->tries >= all->config.tries) {
        tell(d, a->status, a->why);
        finish(all, d);
        return;
    }
    if (!is_named(d)) { /* who knows whether it is the same object */
        d->have = 0;
        recall(d);
    }
    d->fresh = a->unreachable;
    d->due_ns =
        fdl_now_ns() + fdl_patience_pause_ns(&all->patience, d->tries + 1,
                                             a->reply.retry_after_s);
    add(&d->counts->retries, 1);
    drop(all, a);
}

/* What an answer means that is none of ours. */
static enum fdl_reply_is ask_store(struct fdl_download *d,
                                   struct fdl_attempt *a)
{
    const struct fdl_store_ops *ops = d->store->ops;
    if (a->reply.status < 300 || a->reply.status == 412 || !ops->refused)
        return a->is == FDL_REPLY_REFUSED ? FDL_REPLY_BAD : a->is;
    char range[RANGE_BYTES];
    write_range(&a->asked, range);
    a->answer.status = a->reply.status;
    enum fdl_refusal what =
        ops->refused(d->store, d->path, a->asked.ranged ? range : NULL,
                     &a->answer, &a->status);
    snprintf(a->why, sizeof(a->why), "%s", fdl_last_error());
    if (what == FDL_REFUSED_LATER)
        return FDL_REPLY_PASSING;
    return what == FDL_REFUSED_AGAIN ? FDL_REPLY_REFUSED : FDL_REPLY_BAD;
}

static void end_badly(struct fdl_downloads *all, struct fdl_download *d,
                      struct fdl_attempt *a)
{
    enum fdl_reply_is is = ask_store(d, a);
    if (is == FDL_REPLY_REFUSED && d->refusals++ < MOST_REFUSED) {
        drop(all, a);
        d->tries--;
        ask(all, d);
    } else if (is == FDL_REPLY_PASSING) {
        wait_for_next(all, d, a);
    } else {
        if (is == FDL_REPLY_CHANGED)
            fail_changed(d, "another");
        else
            tell(d, a->status, a->why);
        finish(all, d);
    }
}

static void end_well(struct fdl_downloads *all, struct fdl_download *d,
                     const struct fdl_attempt *a)
{
    fdl_patience_learn(&all->patience, a->asked.length, a->bytes,
                       fdl_now_ns() - a->began_ns);
    add(&d->counts->hedges_won, a->second);
    d->bytes = (uint64_t)d->total;
    finish(all, d);
}

/* What libcurl's turn has left to do: those that were dropped go. */
static void tidy(struct fdl_downloads *all, struct fdl_download *d)
{
    for (struct fdl_attempt *a = d->attempts, *next; a; a = next) {
        next = a->next;
        if (a->dropped)
            drop(all, a);
    }
    count_bytes(d);
}

static void on_end(struct fdl_downloads *all, struct fdl_attempt *a, int code)
{
    struct fdl_download *d = a->user;
    fdl_attempt_end(a, code);
    if (a->dropped) {
        drop(all, a);
        return;
    }
    tidy(all, d);
    add(&d->counts->failures, a->is != FDL_REPLY_GOOD);
    if (d->status) { /* place has failed it */
        finish(all, d);
    } else if (a->is == FDL_REPLY_GOOD) {
        end_well(all, d, a);
    } else if (d->attempts == a && !a->next) {
        end_badly(all, d, a);
    } else { /* another may bring it */
        d->due_ns = fdl_now_ns() +
                    fdl_patience_pause_ns(&all->patience, d->tries + 1, -1);
        drop(all, a);
    }
}

/* ---- Turns --------------------------------------------------------------- */

static bool is_paused(const struct fdl_download *d)
{
    const struct fdl_attempt *a = d->attempts;
    while (a && !a->paused)
        a = a->next;
    return a != NULL;
}

static struct fdl_patience_wait wait_of(const struct fdl_download *d)
{
    const struct fdl_attempt *a = d->attempts;
    return (struct fdl_patience_wait){.asked = a->asked.length,
                                      .began_ns = a->began_ns,
                                      .moved_ns =
                                          FDL_MAX(a->began_ns, d->moved_ns)};
}

/* When it is tried again, or asked for twice: once the last request is late.
 * INT64_MAX: it waits for nothing but the server. */
static int64_t due_at(const struct fdl_downloads *all,
                      const struct fdl_download *d)
{
    uint32_t n = 0;
    if (!d->attempts)
        return d->due_ns;
    for (const struct fdl_attempt *a = d->attempts; a; a = a->next)
        n++;
    if (n >= MOST_AT_ONCE || d->hedges >= MOST_HEDGES || is_paused(d))
        return INT64_MAX;
    const struct fdl_patience_wait w = wait_of(d);
    return FDL_MAX(d->due_ns, fdl_patience_late_at(&all->patience, &w));
}

/* The next moment at which there is something to do; INT64_MAX: none. */
static int64_t next_due(const struct fdl_downloads *all)
{
    int64_t due = INT64_MAX;
    for (const struct fdl_download *d = all->first; d; d = d->next)
        due = FDL_MIN(due, due_at(all, d));
    return due;
}

static void poll_all(struct fdl_downloads *all, int64_t timeout_ns)
{
    int64_t now = fdl_now_ns(), due = next_due(all);
    int running, left;
    if (due < INT64_MAX)
        timeout_ns = FDL_MIN(timeout_ns, FDL_MAX(due - now, 0));
    if (all->paused)
        timeout_ns = FDL_MIN(timeout_ns, PAUSED_NS);
    all->curl->MultiPoll(all->multi, NULL, 0,
                         (int)FDL_MIN((timeout_ns + MS - 1) / MS, 60000), NULL);
    all->curl->MultiPerform(all->multi, &running);
    keep_connections(all, running);
    const struct fdl_curl_message *m;
    while ((m = all->curl->MultiInfo(all->multi, &left))) {
        struct fdl_attempt *a = NULL;
        int code = m->of.result;
        if (m->what != FDL_CURL_DONE)
            continue;
        all->curl->EasyGet(m->easy, FDL_CURL_INFO_PRIVATE, &a);
        on_end(all, a, code);
    }
}

static void hedge(struct fdl_downloads *all, struct fdl_download *d)
{
    struct fdl_asked asked = asked_for(d);
    if (fdl_patience_spend(&all->patience, asked.length) &&
        start(all, d, true) == FEEDLINE_OK) {
        d->hedges++;
        add(&d->counts->hedges, 1);
    } else {
        d->due_ns = fdl_now_ns() + SPENT_NS;
    }
}

static void resume(struct fdl_downloads *all, struct fdl_download *d)
{
    for (struct fdl_attempt *a = d->attempts; a; a = a->next) {
        if (!a->paused)
            continue;
        fdl_attempt_resume(a);
        all->paused |= a->paused;
    }
}

uint32_t fdl_downloads_waiting(const struct fdl_downloads *all)
{
    return all->waiting;
}

static bool waits(const struct fdl_downloads *all, const struct fdl_download *d,
                  int64_t now)
{
    if (d->length == 0 || is_paused(d))
        return false;
    if (!d->attempts || d->attempts->next)
        return true;
    const struct fdl_patience_wait w = wait_of(d);
    return now > fdl_patience_slow_at(&all->patience, &w);
}

void fdl_downloads_turn(struct fdl_downloads *all, int64_t timeout_ns)
{
    struct fdl_download *next;
    poll_all(all, timeout_ns);
    int64_t now = fdl_now_ns();
    all->paused = false;
    all->waiting = 0;
    for (struct fdl_download *d = all->first; d; d = next) {
        next = d->next;
        tidy(all, d);
        resume(all, d);
        all->waiting += waits(all, d, now);
        if (due_at(all, d) > now)
            continue;
        if (d->attempts)
            hedge(all, d);
        else
            ask(all, d);
    }
}

void fdl_downloads_cancel(struct fdl_downloads *all, const char *why)
{
    while (all->first) {
        struct fdl_download *d = all->first;
        d->status = FEEDLINE_EIO;
        snprintf(d->why, sizeof(d->why), "%s", why);
        finish(all, d);
    }
}
