/* SPDX-License-Identifier: Apache-2.0 */
/* Positions to elements, elements to as many places of the next group. */
#include "loader/order/ahead.h"

#include "base/compiler.h"

#define CATCH_UP 4

/* One call of fdl_ahead. */
struct look {
    const struct fdl_stream *st;
    uint64_t elements; /* of an epoch, without copies */
    fdl_ahead_each *each;
    void *user;
};

static uint64_t divide_up(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

/* The first element that has a place at or after this position's row of ranks.
 */
static uint64_t element_at(const struct fdl_stream *st, uint64_t epoch,
                           uint64_t position)
{
    return divide_up(fdl_stream_delivered(st, epoch, position),
                     st->sampler.repeats);
}

/* Whether this rank delivers a copy of it. */
static bool is_ours(const struct fdl_stream *st, uint64_t epoch,
                    uint64_t element)
{
    const struct fdl_sampler *s = &st->sampler;
    uint64_t first = element * s->repeats;
    uint64_t copies = FDL_MIN(s->repeats, s->places - first);
    uint64_t after =
        s->rank + fdl_stream_shift(st, epoch) + s->world - first % s->world;
    return after % s->world < copies;
}

/* Places `from` to `to` of group g, counted in the group; those of elements
 * before `least` were delivered already. */
static void ask(const struct look *l, const struct fdl_blocks *b,
                const struct fdl_block_group *g, uint64_t from, uint64_t to,
                uint64_t least)
{
    bool all = l->st->sampler.world == 1 && least <= g->first &&
               g->first + g->length <= l->elements;
    for (uint64_t i = from; i < FDL_MIN(to, g->length); i++) {
        uint64_t place = g->first + i;
        if (!all) {
            uint64_t element = fdl_blocks_element(b, g, place);
            if (element < least || element >= l->elements ||
                !is_ours(l->st, b->epoch, element))
                continue;
        }
        l->each(l->user, fdl_blocks_row(b, place));
    }
}

/* How far the next group of `length` is when this one is at done of `all`. */
static uint64_t share(uint64_t done, uint64_t all, uint64_t length)
{
    return done >= all
               ? length
               : (uint64_t)((double)length * (double)done / (double)all);
}

/* While elements from to end - 1 of [first, last) are read. */
static void ask_next(const struct look *l, const struct fdl_blocks *next,
                     const struct fdl_block_group *g, uint64_t first,
                     uint64_t last, uint64_t from, uint64_t end)
{
    ask(l, next, g, share(from - first, last - first, g->length),
        share(end - first, last - first, g->length), 0);
}

void fdl_ahead(const struct fdl_stream *st, uint64_t epoch, uint64_t position,
               fdl_ahead_each *each, void *user)
{
    const struct fdl_sampler *s = &st->sampler;
    struct fdl_blocks b, later;
    struct fdl_block_group g, next;
    if (st->given || s->shuffle != FDL_SHUFFLE_BLOCK ||
        s->world > FDL_AHEAD_WORLD_MAX)
        return;
    struct look l = {st, divide_up(s->places, s->repeats), each, user};
    uint64_t begun = epoch == st->first_epoch
                         ? element_at(st, epoch, st->first_position)
                         : 0;
    uint64_t at = element_at(st, epoch, position);
    uint64_t end = FDL_MIN(element_at(st, epoch, position + 1), l.elements);
    fdl_blocks_init(&b, s->count, &s->blocks, s->seed, epoch);
    fdl_blocks_init(&later, s->count, &s->blocks, s->seed, epoch + 1);
    for (uint64_t stop; at < end; at = stop) {
        fdl_blocks_group_of(&b, at, &g);
        uint64_t last = FDL_MIN(g.first + g.length, l.elements);
        uint64_t first = FDL_MAX(g.first, begun);
        stop = FDL_MIN(end, last);
        if (epoch == st->first_epoch && g.first <= begun)
            ask(&l, &b, &g, CATCH_UP * (at - first), CATCH_UP * (stop - first),
                begun);
        if (last < l.elements) {
            fdl_blocks_group(&b, g.number + 1, &next);
            ask_next(&l, &b, &next, first, last, at, stop);
        } else if (epoch + 1 < st->end_epoch) {
            fdl_blocks_group(&later, 0, &next);
            ask_next(&l, &later, &next, first, last, at, stop);
        }
    }
}
