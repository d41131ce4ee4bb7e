/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions: batches made elsewhere. */
#include "loader/api/api.h"
#include "loader/loader.h"
#include "loader/order/sampler.h"
#include "loader/stream/ring.h"

#include <feedline/elsewhere.h>

#include <inttypes.h>

int32_t feedline_loader_expect(feedline_loader *l, uint32_t count,
                               uint64_t *ticket)
{
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter(ticket, "ticket");
    if (status < 0)
        return status;
    if (!fdl_engine_given(l->engine))
        return fdl_fail(FEEDLINE_ESTATE,
                        "the loader makes its own order; create it with "
                        "order=given to expect a batch");
    return fdl_consumer_expect(l->engine, count, ticket);
}

/* The run does not end while bytes are copied into its memory. */
int32_t feedline_loader_bring(feedline_loader *l, uint64_t ticket,
                              const struct feedline_brought *what)
{
    struct feedline_brought known;
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_copy_in(&known, what, sizeof(known));
    if (status < 0)
        return status;
    fdl_engine_lock(l->engine);
    status = fdl_ring_bring(fdl_engine_ring(l->engine), ticket, &known);
    fdl_engine_unlock(l->engine);
    return status;
}

static void find_samples(const struct fdl_stream *st,
                         const struct fdl_ticket_range *range,
                         uint64_t *indices, uint32_t *copies)
{
    for (uint32_t i = 0; i < range->count; i++) {
        struct fdl_place place;
        fdl_stream_locate(st, range->first_sample + i, &place);
        indices[i] = place.index;
        copies[i] = place.copy;
    }
}

int32_t feedline_loader_plan(const feedline_loader *l, uint64_t epoch,
                             uint64_t position, uint64_t batch,
                             uint64_t *indices, uint32_t *copies,
                             struct feedline_planned *out)
{
    struct fdl_stream st;
    struct fdl_ticket_range range;
    int32_t status = fdl_api_enter_engine(l);
    if (status >= 0)
        status = fdl_api_enter(indices, "indices");
    if (status >= 0)
        status = fdl_api_enter(copies, "copies");
    if (status >= 0 && fdl_engine_given(l->engine))
        status = fdl_fail(FEEDLINE_ESTATE,
                          "with order=given the program plans the order");
    if (status >= 0)
        status = fdl_stream_init(&st, fdl_engine_sampler(l->engine), epoch,
                                 position, FDL_EPOCHS_MAX);
    if (status < 0)
        return status;
    if (batch >= FDL_EPOCHS_MAX / st.sampler.batch_size || /* samples count */
        !fdl_stream_ticket(&st, batch, &range))
        return fdl_fail(FEEDLINE_ERANGE, "there is no batch %" PRIu64, batch);
    find_samples(&st, &range, indices, copies);
    struct feedline_planned planned = {
        .count = range.count,
        .epoch = range.epoch,
        .sequence = range.sequence,
        .position = range.position,
        .place = range.place,
        .last = range.last,
    };
    return fdl_copy_out(out, &planned, sizeof(planned));
}
