/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a batch carries, and where that is in its slab: columns, each with so
 * many bytes for every image, one behind the other. What a device needs is in
 * one piece that begins with the slab and ends with the last image:
 *
 *     | labels | targets | told | images | index | status | ...
 *     +--------- moves -----------------+ +--- stays on the host ---
 *
 * Images of one size have fixed places. With different sizes it is unknown
 * where one ends before all previous ones are decoded, so each takes the next
 * free bytes once its own size is known, and the offsets are a column. Images
 * then come last: the used part stays in one piece at the front of the slab,
 * and the rest is never touched. The order of the images depends on timing,
 * which the offsets hide.
 *
 * Where a device makes the images, jobs are in their place: a record of each
 * image, and behind these one room for the payloads of all, with the pixels of
 * what the host had to decode; see slot_jobs.h.
 *
 *     | labels | targets | told | jobs | room: used | unused | index | ...
 *     +--------------- moves ---------------------+
 *
 * What takes as many bytes as a sample happens to need (fields, objects, masks
 * of any size) is in memory of its own, see slot_fields.h.
 */
#ifndef FDL_LOADER_LAYOUT_H
#define FDL_LOADER_LAYOUT_H

#include "decode/decoder.h"

#include <feedline/views.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Of a slab, and of each column and the images in it. */
#define FDL_SLAB_ALIGN 64u

enum fdl_column {
    FDL_COLUMN_LABELS = 0, /* int64_t */
    FDL_COLUMN_TARGETS,    /* float [classes]; this and the next: mixed */
    FDL_COLUMN_TOLD,       /* struct fdl_image_mix, where the device mixes */
    FDL_COLUMN_JOBS,       /* struct fdl_device_job, where the device decodes */
    FDL_COLUMN_IMAGES,
    FDL_COLUMN_INDEX,   /* int64_t */
    FDL_COLUMN_STATUS,  /* int32_t */
    FDL_COLUMN_OFFSETS, /* int64_t; this and the next: images differ in size */
    FDL_COLUMN_SIZES,   /* int32_t [2]: height, width */
    FDL_COLUMN_MIXES,   /* struct feedline_image_mix; from here on: mixed */
    FDL_COLUMN_INPUTS,  /* struct fdl_mix_input */
    FDL_COLUMN_STEPS,   /* struct fdl_step [late_steps] */
    FDL_COLUMN_LEFT,    /* planes of bytes: an image before the last pass */
    FDL_COLUMNS
};

/* An image that waits for its two samples. */
struct fdl_mix_input {
    _Atomic uint32_t lacks;
    uint32_t n_steps; /* of its own sample */
};

/* Where a view of its own chain lies: those of a batch of n samples begin n *
 * `before` bytes behind its first image, one sample after the other. */
struct fdl_view_place {
    struct fdl_output_format format;
    uint64_t bytes, before;
};

/* Of a full batch. */
struct fdl_layout {
    struct fdl_output_format format;    /* 0x0: images differ in size */
    struct fdl_output_format delivered; /* after the device finished it */
    bool late;           /* which it does as the images are copied: the slab has
                            none that could be delivered */
    uint32_t batch_size; /* images */
    uint32_t n_parts;    /* that may go ahead of each other */
    uint32_t views;      /* images of each sample: places in a row */
    bool chains;         /* views have a chain each, and lie view by view */
    struct fdl_view_place view[FEEDLINE_VIEWS_MAX]; /* with chains */
    uint64_t sample_bytes;    /* of one image; the most, where they differ */
    uint64_t all_views_bytes; /* of one sample */
    uint32_t classes;         /* of a soft target; 0: batches are not mixed */
    uint32_t late_steps;      /* finished steps of an image, at most */
    uint64_t left_bytes;      /* of an image before the last pass; 0: none */
    bool jobs;              /* images are in one room, or made on the device */
    uint64_t scratch_bytes; /* there, of all batches; 0 without jobs */
    uint64_t at[FDL_COLUMNS]; /* 0 but for the labels: there is none */
    uint64_t bytes;           /* of a batch, at most */
    uint64_t reserved;        /* of the slab, in addresses */
};

/* What mixing takes. */
struct fdl_mix_room {
    uint32_t classes, late_steps;
    bool on_device;
};

/* For samples of `views` images. mix: NULL: batches are not mixed. jobs: for a
 * device that decodes. ERANGE if it does not fit an address space. */
int32_t fdl_layout_init(struct fdl_layout *layout, uint32_t batch_size,
                        uint32_t views, const struct fdl_output_format *format,
                        const struct fdl_mix_room *mix, bool jobs);

/* For views of their own chains: formats[views]. */
int32_t fdl_layout_init_chains(struct fdl_layout *layout, uint32_t batch_size,
                               uint32_t views,
                               const struct fdl_output_format *formats);

/* A layout for images of different sizes, of max_bytes each at most; format's
 * width and height are 0. again: an image may be claimed for twice. */
int32_t fdl_layout_init_various(struct fdl_layout *layout, uint32_t batch_size,
                                const struct fdl_output_format *format,
                                uint64_t max_bytes, bool again);

/* What moves to a device of a full batch; with jobs, at most. */
uint64_t fdl_layout_moved_bytes(const struct fdl_layout *layout);
/* With jobs: of an image in the room, if the host decodes it; and of the room.
 */
uint64_t fdl_layout_share(const struct fdl_layout *layout);
uint64_t fdl_layout_room(const struct fdl_layout *layout);
bool fdl_layout_is_various(const struct fdl_layout *layout);

/* Shape of `count` images of this format as a tensor; and of those of a batch,
 * with chains of the first views of them. */
void fdl_format_shape(const struct fdl_output_format *f, uint32_t count,
                      int64_t shape[4]);
void fdl_batch_shape(const struct fdl_layout *layout, uint32_t count,
                     int64_t shape[4]);

#endif
