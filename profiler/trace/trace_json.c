/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats notes as Chrome JSON; trace_json.h has the picture. Numbers are
 * written digit by digit: an event has seven or more, and there are some 20000
 * events a second with small images.
 */
#include "profiler/trace/trace_json.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/json.h"
#include "base/status.h"
#include "profiler/trace/trace_decision.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* libkineto's: a quarter of a Julian year, so that a double holds every ns. */
#define BASE_NS (INT64_C(7889238) * 1000000000)

#define TID_CONSUMER 1u
#define TID_PHASES   2u
#define TID_BATCHES  3u
#define TID_TUNER    4u
#define TID_MARKS    5u
#define TID_WORKER   1000u
#define TID_READ     3000u
#define TID_COPY     5000u
#define TID_FINISH   6000u
#define TIDS         7000u
#define WORKERS      2000u /* tracks of theirs, at most */

#define LANES     1000u /* of slices that overlap: reads, copies */
#define WAYS      4096u /* batches whose flow is incomplete; a power of two */
#define EVENT_MAX 1024u /* bytes of one event without its name */

/* Tracks for slices that overlap. */
struct lanes {
    uint32_t tid, n;
    int64_t end[LANES];
};

/* A slice that a flow runs through. */
struct stop {
    uint32_t tid; /* 0: none */
    int64_t begin, end;
};

/* Of a batch. */
struct way {
    uint64_t ticket;
    bool used;
    struct stop read, decode, copy, step;
};

struct fdl_trace_json {
    struct fdl_trace_json_config config;
    int64_t base_ns; /* unix */
    char *text;
    uint64_t length, capacity;
    uint64_t event_at; /* where the last event begins */
    bool failed;
    uint64_t steps, marks;
    uint8_t named[TIDS]; /* tracks that have their name */
    struct lanes reads, copies, finishing;
    struct way ways[WAYS];

    /* Within one call. */
    struct fdl_trace_note **sorted;
    uint32_t n_sorted, sorted_capacity;
    int64_t causes[FDL_BUCKETS];
    struct stop last_read;
    uint64_t last_read_ticket;
    uint32_t last_read_sample;
};

/* ---- Text --------------------------------------------------------------- */

static bool reserve(struct fdl_trace_json *j, uint64_t bytes)
{
    if (j->capacity - j->length >= bytes)
        return true;
    uint64_t capacity = FDL_MAX(2 * j->capacity, j->length + bytes);
    char *text = realloc(j->text, capacity);
    if (!text) {
        j->failed = true;
        return false;
    }
    j->text = text;
    j->capacity = capacity;
    return true;
}

/* The following write into reserved room. */
static void put(struct fdl_trace_json *j, const char *s)
{
    size_t n = strlen(s);
    memcpy(j->text + j->length, s, n);
    j->length += n;
}

static void put_u64(struct fdl_trace_json *j, uint64_t value)
{
    char digits[20];
    uint32_t n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n > 0)
        j->text[j->length++] = digits[--n];
}

static void put_i64(struct fdl_trace_json *j, int64_t value)
{
    if (value < 0)
        j->text[j->length++] = '-';
    put_u64(j, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Microseconds, with three decimals. */
static void put_us(struct fdl_trace_json *j, int64_t ns)
{
    uint64_t left = ns > 0 ? (uint64_t)ns : 0;
    put_u64(j, left / 1000);
    j->text[j->length++] = '.';
    j->text[j->length++] = (char)('0' + left / 100 % 10);
    j->text[j->length++] = (char)('0' + left / 10 % 10);
    j->text[j->length++] = (char)('0' + left % 10);
}

/* In quotes. `name` may be any bytes. */
static bool put_name(struct fdl_trace_json *j, const char *name)
{
    struct fdl_json quoted;
    uint64_t needed = 6 * strlen(name) + 3;
    if (!reserve(j, needed + EVENT_MAX)) {
        j->length = j->event_at;
        return false;
    }
    fdl_json_init(&quoted, j->text + j->length, needed);
    fdl_json_string(&quoted, NULL, name);
    fdl_json_finish(&quoted, &needed);
    j->length += needed - 1;
    return true;
}

/* ---- Events ------------------------------------------------------------- */

/* {"ph":...,"pid":...,"tid":... of the next event; `more` follows. */
static bool begin_event(struct fdl_trace_json *j, char phase, uint32_t tid)
{
    char ph[] = ",\n{\"ph\":\"?\",\"pid\":";
    if (!reserve(j, EVENT_MAX))
        return false;
    j->event_at = j->length;
    ph[9] = phase;
    put(j, ph);
    put_i64(j, j->config.pid);
    put(j, ",\"tid\":");
    put_u64(j, tid);
    return true;
}

static void put_time(struct fdl_trace_json *j, int64_t ns)
{
    put(j, ",\"ts\":");
    put_us(j, ns + j->config.unix_offset_ns - j->base_ns);
}

static void put_category(struct fdl_trace_json *j, uint32_t kind)
{
    put(j, ",\"cat\":\"");
    put(j, fdl_trace_category_name(fdl_trace_category_of(kind)));
    put(j, "\"");
}

static void metadata(struct fdl_trace_json *j, uint32_t tid, const char *what,
                     const char *key, const char *text, uint64_t number)
{
    if (!begin_event(j, 'M', tid))
        return;
    put(j, ",\"ts\":0.000,\"name\":\"");
    put(j, what);
    put(j, "\",\"args\":{\"");
    put(j, key);
    put(j, "\":");
    if (text && !put_name(j, text))
        return;
    if (!text)
        put_u64(j, number);
    put(j, "}}");
}

static void name_of_track(uint32_t tid, char *out, size_t capacity)
{
    static const char *const fixed[] = {[TID_CONSUMER] = "consumer",
                                        [TID_PHASES] = "consumer's phases",
                                        [TID_BATCHES] = "batches",
                                        [TID_TUNER] = "tuner",
                                        [TID_MARKS] = "steps"};
    static const struct {
        uint32_t from;
        const char *name;
    } groups[] = {{TID_FINISH, "finish"},
                  {TID_COPY, "copy"},
                  {TID_READ, "read"},
                  {TID_WORKER, "worker"}};
    if (tid <= TID_MARKS) {
        snprintf(out, capacity, "%s", fixed[tid]);
        return;
    }
    uint32_t g = 0;
    while (tid < groups[g].from)
        g++;
    snprintf(out, capacity, "%s %u", groups[g].name, tid - groups[g].from);
}

/* Names the track when it is first used. */
static void use_track(struct fdl_trace_json *j, uint32_t tid)
{
    char name[32];
    if (j->named[tid])
        return;
    j->named[tid] = 1;
    name_of_track(tid, name, sizeof(name));
    metadata(j, tid, "thread_name", "name", name, 0);
    metadata(j, tid, "thread_sort_index", "sort_index", NULL, tid);
}

/* Up to the args, which are open: end_slice closes. */
static bool begin_slice(struct fdl_trace_json *j, uint32_t tid,
                        const struct fdl_trace_note *n, const char *name)
{
    use_track(j, tid);
    if (!begin_event(j, 'X', tid))
        return false;
    put_time(j, n->begin_ns);
    put(j, ",\"dur\":");
    put_us(j, n->length);
    put_category(j, n->kind);
    put(j, ",\"name\":");
    return put_name(j, name);
}

static void put_arg(struct fdl_trace_json *j, bool first, const char *key,
                    uint64_t value)
{
    put(j, first ? ",\"args\":{\"" : ",\"");
    put(j, key);
    put(j, "\":");
    put_u64(j, value);
}

static uint64_t ticket_of(const struct fdl_trace_note *n)
{
    return n->ticket & ((UINT64_C(1) << FDL_TRACE_RUN_SHIFT) - 1);
}

static void put_batch(struct fdl_trace_json *j, const struct fdl_trace_note *n)
{
    put_arg(j, true, "run", n->ticket >> FDL_TRACE_RUN_SHIFT);
    put_arg(j, false, "batch", ticket_of(n));
}

static void sample_slice(struct fdl_trace_json *j, uint32_t tid,
                         const struct fdl_trace_note *n, const char *name)
{
    if (!begin_slice(j, tid, n, name))
        return;
    put_batch(j, n);
    if (n->sample != FDL_TRACE_NO_SAMPLE)
        put_arg(j, false, "sample", n->sample);
    put(j, "}}");
}

static void instant(struct fdl_trace_json *j, uint32_t tid,
                    const struct fdl_trace_note *n, const char *name)
{
    use_track(j, tid);
    if (!begin_event(j, 'i', tid))
        return;
    put_time(j, n->begin_ns);
    put(j, ",\"s\":\"t\"");
    put_category(j, n->kind);
    put(j, ",\"name\":");
    if (!put_name(j, name))
        return;
    put_batch(j, n);
    put(j, "}}");
}

static void counter(struct fdl_trace_json *j, const struct fdl_trace_note *n)
{
    static const char *const counters[FDL_COUNTERS][2] = {
        [FDL_COUNTER_READY] = {"ready", "batches"},
        [FDL_COUNTER_OUTSTANDING] = {"outstanding", "batches"},
        [FDL_COUNTER_WORKERS] = {"workers", "threads"},
        [FDL_COUNTER_READS] = {"reads in flight", "reads"},
        [FDL_COUNTER_STALL_PPM] = {"stall", "percent"},
        [FDL_COUNTER_PINNED_BYTES] = {"pinned", "bytes"},
    };
    if (n->arg >= FDL_COUNTERS || !begin_event(j, 'C', 0))
        return;
    put_time(j, n->begin_ns);
    put_category(j, n->kind);
    put(j, ",\"name\":\"");
    put(j, counters[n->arg][0]);
    put(j, "\",\"args\":{\"");
    put(j, counters[n->arg][1]);
    put(j, "\":");
    if (n->arg == FDL_COUNTER_STALL_PPM) {
        put_u64(j, (uint64_t)n->length / 10000);
        put(j, ".");
        put_u64(j, (uint64_t)n->length / 1000 % 10);
    } else {
        put_i64(j, n->length);
    }
    put(j, "}}");
}

/* ---- Flows -------------------------------------------------------------- */

static void flow_event(struct fdl_trace_json *j, char phase, uint64_t id,
                       uint32_t tid, int64_t at)
{
    if (!begin_event(j, phase, tid))
        return;
    put_time(j, at);
    put(j, ",\"cat\":\"batch\",\"name\":\"batch\",\"id\":");
    put_u64(j, id);
    if (phase != 's')
        put(j, ",\"bp\":\"e\"");
    put(j, "}");
}

static int by_begin(const void *a, const void *b)
{
    const struct stop *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* A flow needs two ends. With a device the host may finish a step before its
 * copy begins, so the order is that of time. */
static void write_way(struct fdl_trace_json *j, struct way *w)
{
    struct stop stops[] = {w->read, w->decode, w->copy, w->step};
    uint32_t n = 0;
    w->used = false;
    for (uint32_t i = 0; i < 4; i++)
        if (stops[i].tid)
            stops[n++] = stops[i];
    if (n < 2 || !(j->config.categories & 1u << FDL_CATEGORY_BATCH))
        return;
    qsort(stops, n, sizeof(stops[0]), by_begin);
    for (uint32_t i = 0; i < n; i++)
        flow_event(j,
                   i == 0      ? 's'
                   : i + 1 < n ? 't'
                               : 'f',
                   w->ticket, stops[i].tid, stops[i].begin);
}

static struct way *way_of(struct fdl_trace_json *j, uint64_t ticket)
{
    struct way *w = &j->ways[ticket % WAYS];
    if (w->used && w->ticket != ticket)
        write_way(j, w);
    if (!w->used)
        *w = (struct way){.ticket = ticket, .used = true};
    return w;
}

static void write_if_whole(struct fdl_trace_json *j, struct way *w)
{
    bool copy = j->config.has_device &&
                (j->config.categories & 1u << FDL_CATEGORY_COPY);
    if (w->step.tid && (w->copy.tid || !copy))
        write_way(j, w);
}

/* ---- Notes -------------------------------------------------------------- */

static struct stop stop_of(const struct fdl_trace_note *n, uint32_t tid)
{
    return (struct stop){
        .tid = tid, .begin = n->begin_ns, .end = n->begin_ns + n->length};
}

static uint32_t lane_of(struct lanes *l, const struct fdl_trace_note *n)
{
    uint32_t i = 0;
    while (i < l->n && l->end[i] > n->begin_ns)
        i++;
    if (i == LANES)
        return 0; /* overlaps: better than nothing */
    if (i == l->n)
        l->n++;
    l->end[i] = n->begin_ns + n->length;
    return i;
}

static void read_note(struct fdl_trace_json *j, const struct fdl_trace_note *n)
{
    uint32_t tid = j->reads.tid + n->arg;
    sample_slice(j, tid, n, "read");
    j->last_read = stop_of(n, tid);
    j->last_read_ticket = n->ticket;
    j->last_read_sample = n->sample;
}

static void decode_note(struct fdl_trace_json *j, uint32_t tid,
                        const struct fdl_trace_note *n)
{
    struct way *w = way_of(j, n->ticket);
    struct stop stop = stop_of(n, tid);
    sample_slice(j, tid, n, "decode");
    if (w->decode.tid && w->decode.end > stop.end)
        return;
    w->decode = stop;
    w->read = (struct stop){0};
    if (j->last_read.tid && j->last_read_ticket == n->ticket &&
        j->last_read_sample == n->sample)
        w->read = j->last_read;
}

static void device_note(struct fdl_trace_json *j, struct lanes *lanes,
                        const struct fdl_trace_note *n, const char *name)
{
    uint32_t tid = lanes->tid + lane_of(lanes, n);
    sample_slice(j, tid, n, name);
    if (n->kind != FDL_TRACE_COPY)
        return;
    struct way *w = way_of(j, n->ticket);
    w->copy = stop_of(n, tid);
    write_if_whole(j, w);
}

static void wait_note(struct fdl_trace_json *j, const struct fdl_trace_note *n)
{
    if (begin_slice(j, TID_CONSUMER, n, "wait")) {
        put_batch(j, n);
        for (uint32_t i = 0; i < FDL_BUCKETS; i++) {
            if (j->causes[i] <= 0)
                continue;
            put(j, ",\"");
            put(j, fdl_bucket_name((enum fdl_bucket)i));
            put(j, "_us\":");
            put_us(j, j->causes[i]);
        }
        put(j, "}}");
    }
    memset(j->causes, 0, sizeof(j->causes));
}

static void step_note(struct fdl_trace_json *j, const struct fdl_trace_note *n)
{
    struct way *w = way_of(j, n->ticket);
    sample_slice(j, TID_CONSUMER, n, "step");
    j->steps++;
    w->step = stop_of(n, TID_CONSUMER);
    write_if_whole(j, w);
}

/* Named as torch.profiler names its steps. */
static void mark_note(struct fdl_trace_json *j, const struct fdl_trace_note *n)
{
    char name[40];
    snprintf(name, sizeof(name), "ProfilerStep#%" PRIu64, ticket_of(n));
    if (begin_slice(j, TID_MARKS, n, name))
        put(j, "}");
    j->marks++;
}

static const char *name_from(const char *(*look)(const void *, uint32_t),
                             const void *user, uint32_t i, const char *other)
{
    const char *name = look ? look(user, i) : NULL;
    return name ? name : other;
}

static void instant_note(struct fdl_trace_json *j,
                         const struct fdl_trace_note *n)
{
    instant(j, TID_BATCHES, n,
            n->kind == FDL_TRACE_ISSUE   ? "issue"
            : n->kind == FDL_TRACE_READY ? "ready"
                                         : "release");
}

/* A change of a setting, and again when it was judged. */
static void decision_note(struct fdl_trace_json *j,
                          const struct fdl_trace_note *n)
{
    const struct fdl_trace_json_config *c = &j->config;
    char args[FDL_TRACE_DECISION_BYTES], name[FDL_TRACE_DECISION_NAME_BYTES];
    struct fdl_decision d;
    bool found = c->decision && c->decision(c->user, (uint64_t)n->length, &d);
    fdl_trace_decision_name(found ? &d : NULL, n->arg != 0, name);
    fdl_trace_decision_args(found ? &d : NULL, (uint64_t)n->length, n->arg != 0,
                            args);
    use_track(j, TID_TUNER);
    if (!begin_event(j, 'i', TID_TUNER))
        return;
    put_time(j, n->begin_ns);
    put(j, ",\"s\":\"t\"");
    put_category(j, n->kind);
    put(j, ",\"name\":");
    if (!put_name(j, name))
        return;
    if (!reserve(j, strlen(args) + EVENT_MAX)) {
        j->length = j->event_at;
        return;
    }
    put(j, ",\"args\":");
    put(j, args);
    put(j, "}");
}

static void write_note(struct fdl_trace_json *j, uint32_t tid,
                       const struct fdl_trace_note *n)
{
    const struct fdl_trace_json_config *c = &j->config;
    switch ((enum fdl_trace_kind)n->kind) {
    case FDL_TRACE_READ:
        read_note(j, n);
        break;
    case FDL_TRACE_DECODE:
        decode_note(j, tid, n);
        break;
    case FDL_TRACE_AUGMENT:
        sample_slice(j, tid, n, "augment");
        break;
    case FDL_TRACE_CUSTOM:
        sample_slice(j, tid, n,
                     name_from(c->custom, c->user, n->arg, "custom"));
        break;
    case FDL_TRACE_COPY:
        device_note(j, &j->copies, n, "copy");
        break;
    case FDL_TRACE_FINISH:
        device_note(j, &j->finishing, n, "finish");
        break;
    case FDL_TRACE_WAIT:
        wait_note(j, n);
        break;
    case FDL_TRACE_CAUSE:
        if (n->arg < FDL_BUCKETS)
            j->causes[n->arg] = n->length;
        break;
    case FDL_TRACE_STEP:
        step_note(j, n);
        break;
    case FDL_TRACE_MARK:
        mark_note(j, n);
        break;
    case FDL_TRACE_PHASE:
        if (begin_slice(j, TID_PHASES, n,
                        name_from(c->phase, c->user, n->arg, "phase")))
            put(j, "}");
        break;
    case FDL_TRACE_ISSUE:
    case FDL_TRACE_READY:
    case FDL_TRACE_RELEASE:
        instant_note(j, n);
        break;
    case FDL_TRACE_DECISION:
        decision_note(j, n);
        break;
    case FDL_TRACE_COUNTER:
        counter(j, n);
        break;
    case FDL_TRACE_KINDS:
        break;
    }
}

static bool is_wanted(const struct fdl_trace_json *j,
                      const struct fdl_trace_note *n)
{
    return n->kind < FDL_TRACE_KINDS &&
           j->config.categories & 1u << fdl_trace_category_of(n->kind);
}

static bool keep_read(struct fdl_trace_json *j, struct fdl_trace_note *n)
{
    if (j->n_sorted == j->sorted_capacity) {
        uint32_t capacity = FDL_MAX(2 * j->sorted_capacity, 1024u);
        struct fdl_trace_note **sorted =
            realloc(j->sorted, capacity * sizeof(*sorted));
        if (!sorted) {
            j->failed = true;
            return false;
        }
        j->sorted = sorted;
        j->sorted_capacity = capacity;
    }
    j->sorted[j->n_sorted++] = n;
    return true;
}

static int by_note_begin(const void *a, const void *b)
{
    const struct fdl_trace_note *x = *(struct fdl_trace_note *const *)a;
    const struct fdl_trace_note *y = *(struct fdl_trace_note *const *)b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Reads of all workers, in order of time, to tracks: `arg` of their notes. */
static void place_reads(struct fdl_trace_json *j, struct fdl_trace_part *parts,
                        uint32_t n_parts)
{
    j->n_sorted = 0;
    for (uint32_t p = 0; p < n_parts; p++)
        for (uint32_t i = 0; i < parts[p].n; i++) {
            struct fdl_trace_note *n = &parts[p].notes[i];
            if (n->kind == FDL_TRACE_READ && is_wanted(j, n) &&
                !keep_read(j, n))
                break;
        }
    if (j->n_sorted)
        qsort(j->sorted, j->n_sorted, sizeof(j->sorted[0]), by_note_begin);
    for (uint32_t i = 0; i < j->n_sorted; i++)
        j->sorted[i]->arg = (uint16_t)lane_of(&j->reads, j->sorted[i]);
}

void fdl_trace_json_notes(struct fdl_trace_json *j,
                          struct fdl_trace_part *parts, uint32_t n_parts)
{
    place_reads(j, parts, n_parts);
    /* The consumer's come last: then all that led to its steps is known. */
    for (uint32_t p = n_parts; p-- > 0;) {
        uint32_t writer = parts[p].writer;
        uint32_t tid = TID_WORKER;
        if (writer >= FDL_WRITER_WORKERS)
            tid += FDL_MIN(writer - FDL_WRITER_WORKERS, WORKERS - 1);
        j->last_read = (struct stop){0};
        for (uint32_t i = 0; i < parts[p].n; i++)
            if (is_wanted(j, &parts[p].notes[i]))
                write_note(j, tid, &parts[p].notes[i]);
    }
}

/* ---- The file ----------------------------------------------------------- */

int64_t fdl_trace_unix_offset_ns(void)
{
    struct timespec ts;
    /* The narrowest of a few: between the two readings others may run. */
    int64_t best = INT64_MAX, offset = 0;
    for (uint32_t i = 0; i < 8; i++) {
        int64_t before = fdl_now_ns();
        clock_gettime(CLOCK_REALTIME, &ts);
        int64_t after = fdl_now_ns();
        if (after - before >= best)
            continue;
        best = after - before;
        offset =
            (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec - (before + best / 2);
    }
    return offset;
}

void fdl_trace_json_head(struct fdl_trace_json *j)
{
    if (!reserve(j, EVENT_MAX))
        return;
    j->event_at = j->length;
    put(j, "{\"schemaVersion\":1,\"baseTimeNanoseconds\":");
    put_i64(j, j->base_ns);
    put(j, ",\"displayTimeUnit\":\"ms\",\"feedline\":{\"trace_version\":1,"
           "\"clock\":\"unix\",\"monotonic_to_unix_ns\":");
    put_i64(j, j->config.unix_offset_ns);
    put(j, "},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":");
    put_i64(j, j->config.pid);
    put(j, ",\"tid\":0,\"ts\":0.000,\"name\":\"process_name\",\"args\":{"
           "\"name\":");
    if (put_name(j, j->config.process))
        put(j, "}}");
}

void fdl_trace_json_end(struct fdl_trace_json *j)
{
    for (uint32_t i = 0; i < WAYS; i++)
        if (j->ways[i].used && j->ways[i].step.tid)
            write_way(j, &j->ways[i]);
}

int32_t fdl_trace_json_create(const struct fdl_trace_json_config *config,
                              struct fdl_trace_json **out)
{
    struct fdl_trace_json *j = calloc(1, sizeof(*j));
    if (!j)
        return fdl_fail_memory(sizeof(*j), "the text of a trace");
    j->config = *config;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    j->base_ns = (int64_t)now.tv_sec / (BASE_NS / 1000000000) * BASE_NS;
    j->reads.tid = TID_READ;
    j->copies.tid = TID_COPY;
    j->finishing.tid = TID_FINISH;
    *out = j;
    return FEEDLINE_OK;
}

void fdl_trace_json_destroy(struct fdl_trace_json *j)
{
    if (!j)
        return;
    free(j->sorted);
    free(j->text);
    free(j);
}

bool fdl_trace_json_text(const struct fdl_trace_json *j, const char **text,
                         uint64_t *length)
{
    *text = j->text;
    *length = j->length;
    return !j->failed;
}

void fdl_trace_json_clear(struct fdl_trace_json *j)
{
    j->length = 0;
    j->failed = false;
}

uint64_t fdl_trace_json_steps(const struct fdl_trace_json *j)
{
    return j->steps;
}

uint64_t fdl_trace_json_marks(const struct fdl_trace_json *j)
{
    return j->marks;
}
