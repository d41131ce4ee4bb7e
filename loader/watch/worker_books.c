/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics of each worker's samples; see worker_books.h. */
#include "loader/watch/worker_books.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "profiler/measure/pace.h"

#include <stdlib.h>
#include <string.h>

/* ---- Life ---------------------------------------------------------------- */

int32_t fdl_worker_books_create(uint32_t n_customs, struct fdl_slow *slow,
                                struct fdl_worker_books **out)
{
    size_t bytes = n_customs * sizeof(struct fdl_custom_stage);
    struct fdl_worker_books *b = fdl_alloc_aligned(sizeof(*b));
    if (!b)
        return fdl_fail_memory(sizeof(*b), "counters");
    memset(b, 0, sizeof(*b));
    b->slow = slow;
    b->n_customs = n_customs;
    b->notes = fdl_trace_ring_create();
    if (n_customs > 0) {
        b->customs = fdl_alloc_aligned(bytes);
        if (!b->customs) {
            fdl_worker_books_destroy(b);
            return fdl_fail_memory(bytes, "counters");
        }
        memset(b->customs, 0, bytes);
    }
    *out = b;
    return FEEDLINE_OK;
}

void fdl_worker_books_destroy(struct fdl_worker_books *b)
{
    if (!b)
        return;
    fdl_trace_ring_destroy(b->notes);
    free(b->customs);
    free(b);
}

/* ---- A sample ------------------------------------------------------------ */

void fdl_worker_books_attempt(void *books, const struct fdl_render_cost *cost)
{
    struct fdl_worker_books *b = books;
    for (uint32_t i = 0; i < b->n_customs; i++) {
        const struct fdl_custom_cost *c = &cost->custom[i];
        struct fdl_custom_stage *s = &b->customs[i];
        if (c->runs == 0)
            continue;
        fdl_stage_item(&s->stage, c->wall_ns, 0);
        fdl_counter_add(&s->stage.errors, c->errors);
        fdl_counter_add(&s->cpu_ns, (uint64_t)c->cpu_ns);
        fdl_counter_add(&s->lock_ns, (uint64_t)c->lock_ns);
        if (c->lock_ns >= c->runs * FDL_LONG_WAIT_NS)
            fdl_counter_add(&s->lock_waits, 1);
        b->customs_ns += c->wall_ns;
    }
}

/* How long the parts of a sample took. */
struct parts {
    int64_t decode, augment, mix, customs;
};

/* For the trace. Only the length of each step after `begin` is known; they are
 * drawn one after the other. */
static void note(const struct fdl_worker_books *b,
                 const struct fdl_sample_record *r, const struct parts *p)
{
    struct fdl_trace_ring *ring = b->notes;
    int64_t at = r->begin + p->decode;
    if (r->read_done > r->read_start)
        fdl_trace_note(ring, FDL_TRACE_READ, r->read_start,
                       r->read_done - r->read_start, r->ticket, r->place, 0);
    fdl_trace_note(ring, FDL_TRACE_DECODE, r->begin, p->decode, r->ticket,
                   r->place, 0);
    uint32_t customs = p->customs ? b->n_customs : 0;
    for (uint32_t i = 0; i < customs; i++) {
        if (r->cost->custom[i].runs == 0)
            continue;
        int64_t ns = r->cost->custom[i].wall_ns;
        fdl_trace_note(ring, FDL_TRACE_CUSTOM, at, ns, r->ticket, r->place, i);
        at += ns;
    }
    if (p->augment + p->mix > 0)
        fdl_trace_note(ring, FDL_TRACE_AUGMENT, at, p->augment + p->mix,
                       r->ticket, r->place, 0);
}

static void offer_slow(const struct fdl_worker_books *b,
                       const struct fdl_sample_record *r, const struct parts *p)
{
    struct fdl_slow_sample slow = {
        .epoch = r->epoch,
        .sequence = r->sequence,
        .index = r->index,
        .place = r->place,
        .done_ns = r->end,
        .read_ns = FDL_MAX(r->read_done - r->read_start, INT64_C(0)),
        .decode_ns = p->decode,
        .augment_ns = p->augment + p->mix,
        .custom_ns = p->customs,
        .bytes = r->bytes,
        .width = r->width,
        .height = r->height,
    };
    uint32_t customs = p->customs ? b->n_customs : 0;
    for (uint32_t i = 0; i < customs; i++) {
        if (r->cost->custom[i].wall_ns <= slow.slowest_custom_ns)
            continue;
        slow.slowest_custom_ns = r->cost->custom[i].wall_ns;
        slow.custom = i;
    }
    fdl_slow_offer(b->slow, &slow);
}

static void count_pixels(struct fdl_worker_books *b,
                         const struct fdl_sample_record *r)
{
    if (r->width == 0)
        return;
    fdl_counter_add(&b->pixels.samples, 1);
    fdl_counter_add(&b->pixels.source, r->source);
    fdl_counter_add(&b->pixels.output, r->output);
    fdl_counter_add(&b->pixels.mcus, r->cost->mcus);
    fdl_counter_add(&b->pixels.mcus_jumped, r->cost->mcus_jumped);
    fdl_counter_add(&b->pixels.on_device, r->cost->on_device);
}

/* Of decode_ns. */
static void count_parts(struct fdl_worker_books *b,
                        const struct fdl_decode_parts *p, int64_t decode_ns)
{
    uint64_t unpack = (uint64_t)FDL_MIN(p->unpack_ns, decode_ns);
    uint64_t rest = (uint64_t)decode_ns - unpack;
    fdl_counter_add(&b->decode.unpack_ns, unpack);
    fdl_counter_add(&b->decode.huffman_ns, p->huffman ? unpack : 0);
    fdl_counter_add(&b->decode.transform_ns,
                    FDL_MIN((uint64_t)p->transform_ns, rest));
}

void fdl_worker_books_sample(void *books, const struct fdl_sample_record *r)
{
    struct fdl_worker_books *b = books;
    fdl_worker_books_attempt(b, r->cost);
    int64_t own = r->end - r->begin;
    struct parts parts = {.customs = b->customs_ns};
    own -= FDL_MIN(parts.customs, own);
    parts.mix = FDL_MIN(r->cost->mix_ns, own);
    own -= parts.mix;
    parts.augment = FDL_MIN(r->cost->augment_ns, own);
    parts.decode = own - parts.augment;
    count_parts(b, &r->cost->parts, parts.decode);
    b->customs_ns = 0;
    if (r->failed)
        fdl_counter_add(&b->decode.errors, 1);
    if (r->cost->truncated)
        fdl_counter_add(&b->truncated, 1);
    count_pixels(b, r);
    fdl_stage_item(&b->decode, parts.decode, r->bytes);
    fdl_stage_item(&b->augment, parts.augment, r->made);
    if (parts.mix > 0)
        fdl_stage_item(&b->mix, parts.mix, r->made);
    fdl_histogram_add(&b->whole, r->end - r->begin);
    fdl_counter_add(&b->decode.clock_reads,
                    1 + r->cost->clock_reads + r->cost->parts.clock_reads);
    note(b, r, &parts);
    offer_slow(b, r, &parts);
}

void fdl_worker_books_waited(void *books, int64_t ns, bool starved)
{
    struct fdl_worker_books *b = books;
    fdl_counter_add(starved ? &b->decode.starved_ns : &b->decode.blocked_ns,
                    (uint64_t)ns);
    fdl_counter_add(&b->decode.clock_reads, 1);
}
