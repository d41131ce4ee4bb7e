/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's part in images that a device decodes: it writes what the device is
 * told, or decodes what the device cannot. */
#ifndef FDL_LOADER_WORKER_JOBS_H
#define FDL_LOADER_WORKER_JOBS_H

#include "decode/decoder.h"
#include "loader/dataset/entry_store.h"
#include "loader/stream/slot.h"

/* What a worker has for that. */
struct fdl_job_tools {
    struct fdl_decoder *decoder;
    struct fdl_entry_store *entries;
    struct fdl_entry_notes *notes;
    uint8_t *payload; /* memory that payloads are made in */
    uint32_t payload_bytes;
    bool jobs;   /* false: the host decodes, for the time being */
    bool checks; /* what is damaged in a packed sample is found by checksums */
};

/* For a batch with jobs: completes the open of `bytes`, the sample of that
 * number, as fdl_decoder_render does. Errors as of that, and of
 * fdl_decoder_open; cost is untouched on error. */
int32_t fdl_worker_place_image(const struct fdl_job_tools *tools,
                               struct fdl_encoded *bytes, uint64_t index,
                               const struct fdl_plan *plan, feedline_batch *b,
                               uint32_t place, struct fdl_render_cost *cost);

/* Bytes of such memory; 0: batches have no jobs. */
uint32_t fdl_payload_bytes(const struct fdl_layout *layout);

#endif
