/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's part in samples that bring their own steps (feedline/recorded.h).
 */
#ifndef FDL_LOADER_WORKER_RECORDED_H
#define FDL_LOADER_WORKER_RECORDED_H

#include "decode/decoder.h"
#include "decode/pixels/scratch.h"
#include "loader/dataset/entry_store.h"
#include "loader/read/window.h"
#include "loader/stream/pixel_store.h"

#include <feedline/recorded.h>

#include <stdbool.h>

/* Of images that are parts of others, and of those before their steps; a worker
 * keeps it. Zeroed memory is an empty one. */
struct fdl_recorded_memory {
    struct fdl_scratch parts, canvas;
    struct fdl_stored_pixels *taken[FEEDLINE_RECORDED_IMAGES_MAX];
    bool is_made[FEEDLINE_RECORDED_IMAGES_MAX]; /* by another sample */
};

void fdl_recorded_memory_fini(struct fdl_recorded_memory *memory);
uint64_t fdl_recorded_memory_bytes(const struct fdl_recorded_memory *memory);

/* What they take. */
struct fdl_recorded_tools {
    struct fdl_decoder *decoder;
    struct fdl_entry_store *entries; /* the JPEG index: of the largest file, of
                                        which several images may be */
    struct fdl_entry_notes *notes;   /* NULL: there is none */
    struct fdl_recorded_memory *memory;
    struct fdl_pixel_store *store; /* of images that are kept */
};

/* And what comes of them. */
struct fdl_recorded_made {
    uint32_t width, height;  /* of the first image in its file; 0: none */
    uint64_t source, output; /* pixels of all in their files, and made */
    uint64_t bytes;          /* made */
};

/* Makes each image of the record in r, where the program wants it, and adds to
 * *cost and *made. The decoder's errors, which name the image; some may be made
 * then. */
int32_t fdl_worker_render_recorded(const struct fdl_recorded_tools *tools,
                                   const struct fdl_read *r,
                                   struct fdl_render_cost *cost,
                                   struct fdl_recorded_made *made);

#endif
