/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes between a worker and the process that decodes for it: the functions
 * of a format (decode/formats/format.h), one call and one answer each, through
 * a socket; bytes and rows through an area of memory that both have.
 *
 *     area:   head | bytes of the file, padded | entries, notes | rows
 *
 *     worker  --OPEN----->  process   reads the header
 *             <---answer--            what image it is
 *             --BEGIN---->            decodes as many rows as there is room for
 *             <---answer--            how many there are
 *             --READ----->            the next ones, of an image of many
 *             <---answer--
 *
 * Calls are trusted and answers are not: the worker checks whatever it goes on
 * with. A message is copied by the kernel, so what was checked stays so; of the
 * area the worker takes nothing but pixels, and entries, which it checks, too.
 *
 * Both sides are of one build, and compare its name.
 */
#ifndef FDL_DECODE_ISOLATE_CALL_H
#define FDL_DECODE_ISOLATE_CALL_H

#include "base/status.h"
#include "decode/formats/encoded.h"
#include "decode/pixels/geometry.h"

#include <feedline/feedline.h>

#include <stddef.h>
#include <stdint.h>

#define FDL_ISOLATE_HEAD_BYTES  4096
#define FDL_ISOLATE_SLACK_BYTES 256 /* behind the last row */
#define FDL_ISOLATE_RUNS        (-1)
#define FDL_ISOLATE_MODE_BYTES  8

/* What the process is made for; before it begins, written by the worker. */
struct fdl_isolate_head {
    uint64_t build; /* fdl_isolate_build() */
    struct fdl_decode_limits limits;
    uint32_t cpu_level;
    int32_t ended; /* how, as waitpid says it, or FDL_ISOLATE_RUNS */
};

static inline uint64_t fdl_isolate_build(void)
{
    uint64_t version = FEEDLINE_VERSION_MAJOR << 16 |
                       FEEDLINE_VERSION_MINOR << 8 | FEEDLINE_VERSION_PATCH;
    return version << 32 | sizeof(struct fdl_decode_limits);
}

enum fdl_isolate_what {
    FDL_ISOLATE_OPEN,
    FDL_ISOLATE_ALPHA,
    FDL_ISOLATE_INDICES, /* the palette goes to where rows would */
    FDL_ISOLATE_BEGIN,
    FDL_ISOLATE_READ,
};

#define FDL_ISOLATE_ANY_FORMAT UINT32_MAX

struct fdl_isolate_call {
    uint32_t what; /* enum fdl_isolate_what */
    /* OPEN */
    uint64_t size, readable; /* of the bytes behind the head */
    uint64_t entries, notes; /* places of these; 0: none */
    uint64_t rows, rows_end; /* places */
    uint32_t format;         /* number, or FDL_ISOLATE_ANY_FORMAT */
    int32_t raw_width, raw_height, raw_channels;
    bool verified;
    /* ALPHA */
    int32_t channels;
    /* BEGIN */
    int32_t shift;
    struct fdl_box need;
};

/* To the first call, which nobody made, the answer is whether the process is
 * ready. */
struct fdl_isolate_answer {
    int32_t status;
    int32_t landlock; /* its version, 0: this kernel has none */
    uint64_t memory;  /* held between images */
    /* OPEN */
    uint32_t format;
    char mode[FDL_ISOLATE_MODE_BYTES];
    int32_t width, height, channels, orientation;
    uint8_t keyed, unscaled;
    /* ALPHA, INDICES */
    uint8_t yes;
    /* BEGIN */
    struct fdl_box have;
    /* BEGIN, READ */
    int32_t rows; /* that are there now */
    uint8_t truncated, doubtful;
    uint8_t huffman; /* this and the next: struct fdl_decode_parts */
    uint32_t clock_reads;
    int64_t unpack_ns, transform_ns;
    /* Cut behind its NUL. */
    char text[FDL_ERROR_BYTES];
};

/* From one row to the next, of so many bytes; they begin as those of
 * render_sample.c do, and for its reason. */
#define FDL_ISOLATE_ROW_SHIFT 8
static inline uint64_t fdl_isolate_stride(uint64_t row_bytes)
{
    return (row_bytes + 63) & ~(uint64_t)63;
}

/* How many there is room for between two places. */
static inline uint64_t fdl_isolate_room(uint64_t rows, uint64_t rows_end,
                                        uint64_t stride)
{
    return (rows_end - rows - FDL_ISOLATE_SLACK_BYTES) / stride;
}

#endif
