/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a payload becomes is known when it is there, so it is made in memory
 * of the worker's, which stays in its cache, and copied to the batch's room.
 */
#include "loader/stream/worker_jobs.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "decode/make_job.h"
#include "loader/stream/slot_jobs.h"

/* Of what the pixels would take; one that is longer is decoded by the host. */
#define PAYLOAD_MOST  4u
#define PAYLOAD_LEAST (UINT64_C(1) << 16)

uint32_t fdl_payload_bytes(const struct fdl_layout *layout)
{
    uint64_t bytes =
        FDL_MAX(PAYLOAD_MOST * layout->sample_bytes, PAYLOAD_LEAST);
    return layout->jobs ? (uint32_t)FDL_MIN(bytes, FDL_DEVICE_MOST) : 0;
}

/* Whatever is damaged has to be found by the host: the index knows a file by
 * its hash, but a packed sample has checksums alone. */
static bool is_known_to_be_whole(const struct fdl_job_tools *t,
                                 const struct fdl_device_job *job)
{
    return job->kind == FDL_DEVICE_CHAINS || t->checks;
}

/* *placed: the batch has it. */
static int32_t make_job(const struct fdl_job_tools *t,
                        const struct fdl_plan *plan, feedline_batch *b,
                        uint32_t place, bool *placed)
{
    struct fdl_device_payload to = {.data = t->payload,
                                    .capacity = t->payload_bytes};
    struct fdl_device_job job;
    int32_t status =
        fdl_decoder_make_job(t->decoder, plan, &b->layout->format, &to, &job);
    *placed = status >= 0 && job.kind != FDL_DEVICE_NONE &&
              is_known_to_be_whole(t, &job) &&
              fdl_slot_put_job(b, place, &job, to.data);
    return status;
}

int32_t fdl_worker_place_image(const struct fdl_job_tools *t,
                               struct fdl_encoded *bytes, uint64_t index,
                               const struct fdl_plan *plan, feedline_batch *b,
                               uint32_t place, struct fdl_render_cost *cost)
{
    struct fdl_image_info info;
    bool placed = false;
    int64_t begin = fdl_now_ns();
    int32_t status = FEEDLINE_OK;
    if (t->jobs)
        status = make_job(t, plan, b, place, &placed);
    if (status >= 0 && placed) {
        *cost = (struct fdl_render_cost){.decode_ns = fdl_now_ns() - begin,
                                         .clock_reads = 2,
                                         .on_device = true};
        return FEEDLINE_OK;
    }
    if (status >= 0 && t->jobs) {
        fdl_entry_store_begin(t->entries, index, t->notes, bytes);
        if (t->notes)
            t->notes->whole = true; /* so that the device has the next one */
        status = fdl_decoder_open(t->decoder, bytes, &info);
    }
    if (status < 0)
        return status;
    return fdl_decoder_render(t->decoder, plan, &b->layout->format,
                              fdl_slot_claim_pixels(b, place), cost);
}
