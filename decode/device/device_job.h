/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device is told to decode one sample: this record, and a payload. The
 * host writes both, and the kernels of device_kernels.cu read them.
 *
 *     payload   segments of the file, as they are or unstuffed, what is known
 *               of each, Huffman tables, weights
 *     scratch   coefficients, then in their place pixels;
 *               samples of each component; rows between the passes
 *     out       the pixels, u8, as the host would have written them
 *
 * The record is the host's own arithmetic, so kernels trust it, once
 * fdl_device_job_is_sound says that it is one. The payload has bytes of a file
 * and of an index: whatever is in there, kernels stay within these pieces of
 * memory, and end. Where they see that it is wrong, `status` becomes
 * FDL_DEVICE_DAMAGED, and the pixels do not count.
 *
 * Numbers are little-endian. There are no addresses, so that a record may be
 * copied with its payload from one memory to the other.
 */
#ifndef FDL_DECODE_DEVICE_JOB_H
#define FDL_DECODE_DEVICE_JOB_H

#include <stdint.h>

#define FDL_DEVICE_PLANES 3
#define FDL_DEVICE_TABLES 4  /* of Huffman codes: two of DC, two of AC */
#define FDL_DEVICE_ALIGN  16 /* of payload, scratch and out; bytes */

/* Payload and scratch of a sample are smaller. */
#define FDL_DEVICE_MOST (1u << 28)

enum fdl_device_kind {
    FDL_DEVICE_NONE,   /* not for the device: its kernels leave it alone */
    FDL_DEVICE_CHAINS, /* of Huffman codes: struct fdl_device_chain */
    FDL_DEVICE_PACKED  /* struct fdl_device_run */
};

enum fdl_device_status { FDL_DEVICE_SOUND, FDL_DEVICE_DAMAGED };

/* Some MCUs that lie behind each other in a scan, from a place in it that is
 * known. Without FF 00, and on 4 bytes. */
struct fdl_device_chain {
    uint32_t at;   /* bytes from the payload's beginning */
    uint32_t bits; /* from there to the end */
    uint32_t mcu, n;
    int16_t dc[FDL_DEVICE_PLANES]; /* of the block before */
    uint8_t first;                 /* bit: 0 to 7 */
    uint8_t slack;                 /* so many bits of the end may be left */
};
#define FDL_DEVICE_CUT 255 /* any number: MCUs, or an end, are left out */

/* A segment of decode/packed/segment.h. */
struct fdl_device_run {
    uint32_t at, bytes;
    uint32_t row, column; /* of its first block, in the image */
    uint16_t plane, n;
};

/* Huffman codes as in a file. */
struct fdl_device_table {
    uint8_t counts[16], symbols[256];
};

/* Output i of an axis takes samples from `start` on, with weights number
 * `first` up to that of i + 1. */
struct fdl_device_span {
    uint16_t start, first;
};

/* A component, in the MCUs that are decoded. */
struct fdl_device_plane {
    uint32_t columns, rows; /* of blocks in an MCU */
    uint32_t side;          /* of a block, in samples: 8, 4, 2 or 1 */
    uint32_t wide, high;    /* blocks */
    uint32_t width, height; /* of the whole component, in samples */
    uint32_t block;         /* number of the first one, of all components */
    uint32_t samples;       /* bytes from scratch */
    uint32_t dc, ac;        /* numbers of its tables */
    uint16_t quant[64];     /* by rows */
};

/* Resampling along one axis; the other one stays. */
struct fdl_device_pass {
    uint32_t down; /* along columns */
    uint32_t in_width, in_height;
    uint32_t width, height;
    uint32_t spans; /* bytes from payload: one more than outputs */
    uint32_t weights, n_weights;
};

struct fdl_device_job {
    uint32_t kind, status;
    uint64_t payload, scratch, out; /* bytes from where all of them begin */
    uint32_t payload_bytes, scratch_bytes;
    uint32_t segments, n_segments;         /* bytes from payload */
    uint32_t tables, n_tables;             /* bytes from payload */
    uint32_t mcus_wide, mcus_high;         /* of the image */
    uint32_t column, row, n_columns, rows; /* MCUs that are decoded */
    uint32_t n_planes, n_blocks;
    struct fdl_device_plane planes[FDL_DEVICE_PLANES];
    uint32_t x, y, width, height; /* pixels that are resampled */
    uint32_t channels;            /* of these: 1 or 3 */
    uint32_t between;             /* the passes; bytes from scratch */
    struct fdl_device_pass pass[2];
    uint32_t out_channels; /* 1 or 3 */
    uint32_t planar;       /* and lie one behind the other, not 0 */
};

/* Of every launch. Block (x, y) of a grid does each gridDim.x-th part of job y.
 */
struct fdl_device_args {
    struct fdl_device_job *jobs;
    const uint8_t *slab; /* where payloads lie */
    uint8_t *scratch, *out;
    uint32_t pass; /* of fdl_device_resample: 0, then 1 */
};

/* Threads of a block, for all kernels. */
#define FDL_DEVICE_THREADS 128

/* What a payload is written to, from its beginning on. */
struct fdl_device_payload {
    uint8_t *data; /* on FDL_DEVICE_ALIGN bytes */
    uint32_t capacity, used;
};

#ifndef __CUDACC__
#  include <stdbool.h>

/* Room for so many bytes more, on `align` bytes, a power of 2: where it begins.
 * False: there is not so much. */
bool fdl_device_reserve(struct fdl_device_payload *p, uint64_t bytes,
                        uint32_t align, uint32_t *at);

/* Whether kernels may trust it: all that it says lies in its payload and its
 * scratch memory. */
bool fdl_device_job_is_sound(const struct fdl_device_job *job);
#endif

#endif
