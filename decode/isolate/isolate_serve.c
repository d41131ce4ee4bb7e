/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out calls with the formats themselves. Once the first file comes this
 * process can do nothing but that (isolate_confine.h).
 */
#include "decode/isolate/isolate_serve.h"

#include "base/compiler.h"
#include "base/cpu.h"
#include "base/status.h"
#include "decode/formats/format_set.h"
#include "decode/formats/jpeg_entries.h"
#include "decode/isolate/isolate_call.h"
#include "decode/isolate/isolate_confine.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STRIP_BYTES 131072 /* between two looks at the deadline */

struct server {
    int socket;
    uint8_t *area;
    struct fdl_decode_limits limits;
    struct fdl_deadline deadline;
    struct fdl_format_set formats;

    /* The open image. */
    struct fdl_isolate_call open;    /* the call that opened it */
    const struct fdl_format *format; /* NULL: none is open */
    void *self;
    struct fdl_image_info info;
    int32_t channels; /* that rows have */
    uint64_t stride;
    int32_t width, left; /* of what it gives; rows to come */
    struct fdl_isolate_answer answer;
};

/* ---- Messages ----------------------------------------------------------- */

static bool send_answer(int socket, struct fdl_isolate_answer *a,
                        int32_t status)
{
    size_t n = 0;
    ssize_t sent;
    a->status = status;
    if (status < 0)
        n = strlen(fdl_last_error());
    memcpy(a->text, fdl_last_error(), n);
    a->text[n] = '\0';
    n += offsetof(struct fdl_isolate_answer, text) + 1;
    do
        sent = write(socket, a, n);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)n;
}

_Bool fdl_isolate_say(int socket, int32_t status, int32_t landlock)
{
    struct fdl_isolate_answer answer = {.landlock = landlock};
    return send_answer(socket, &answer, status);
}

static bool receive_call(int socket, struct fdl_isolate_call *call)
{
    ssize_t n;
    do
        n = read(socket, call, sizeof(*call));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*call);
}

/* ---- Calls -------------------------------------------------------------- */

static void abort_image(struct server *s)
{
    if (s->format)
        s->format->abort(s->self);
    s->format = NULL;
}

static void find_notes(const struct server *s, struct fdl_encoded *bytes)
{
    const struct fdl_isolate_call *open = &s->open;
    if (!open->notes)
        return;
    bytes->notes = (void *)(s->area + open->notes);
    bytes->notes->known =
        open->entries ? (const void *)(s->area + open->entries) : NULL;
}

static int32_t open_image(struct server *s)
{
    const struct fdl_isolate_call *open = &s->open;
    struct fdl_isolate_answer *a = &s->answer;
    struct fdl_encoded bytes = {
        .data = s->area + FDL_ISOLATE_HEAD_BYTES,
        .size = open->size,
        .readable = open->readable,
        .raw_width = open->raw_width,
        .raw_height = open->raw_height,
        .raw_channels = open->raw_channels,
        .verified = open->verified,
    };
    if (open->format != FDL_ISOLATE_ANY_FORMAT)
        bytes.format = fdl_formats[open->format];
    find_notes(s, &bytes);
    fdl_deadline_start(&s->deadline, s->limits.max_image_ms);
    int32_t status = fdl_format_set_open(&s->formats, &bytes, &s->format,
                                         &s->self, &s->info);
    if (status < 0)
        return status;
    s->channels = s->info.channels;
    a->format = fdl_format_number(s->info.format);
    snprintf(a->mode, sizeof(a->mode), "%s", s->info.mode);
    a->width = s->info.width;
    a->height = s->info.height;
    a->channels = s->info.channels;
    a->orientation = s->info.orientation;
    a->keyed = s->info.keyed;
    a->unscaled = s->info.unscaled;
    return status;
}

static int32_t ask_alpha(struct server *s, int32_t channels)
{
    bool yes = s->format->alpha && s->format->alpha(s->self, channels);
    s->channels += yes;
    s->answer.yes = yes;
    return FEEDLINE_OK;
}

static int32_t ask_indices(struct server *s)
{
    const struct fdl_palette *palette =
        s->format->indices ? s->format->indices(s->self) : NULL;
    s->answer.yes = palette != NULL;
    if (palette) {
        s->channels = 1;
        memcpy(s->area + s->open.rows, palette, sizeof(*palette));
    }
    return FEEDLINE_OK;
}

/* After the last row, what a format says of them all. */
static void sum_up(struct server *s)
{
    const struct fdl_format *f = s->format;
    struct fdl_decode_parts parts = {0};
    struct fdl_isolate_answer *a = &s->answer;
    a->truncated = f->truncated && f->truncated(s->self);
    a->doubtful = s->left == 0 && f->doubtful && f->doubtful(s->self);
    if (f->parts)
        f->parts(s->self, &parts);
    a->unpack_ns = parts.unpack_ns;
    a->transform_ns = parts.transform_ns;
    a->huffman = parts.huffman;
    a->clock_reads = parts.clock_reads;
}

/* As many rows as there is room for. */
static int32_t read_rows(struct server *s)
{
    uint64_t room = fdl_isolate_room(s->open.rows, s->open.rows_end, s->stride);
    int32_t rows = (int32_t)FDL_MIN((uint64_t)s->left, room);
    int32_t strip = (int32_t)FDL_MAX(STRIP_BYTES / s->stride, 1u);
    uint8_t *to = s->area + s->open.rows + FDL_ISOLATE_ROW_SHIFT;
    for (int32_t done = 0; done < rows;) {
        int32_t n = FDL_MIN(strip, rows - done);
        int32_t status = s->format->read(
            s->self, to + (uint64_t)done * s->stride, s->stride, n);
        if (!status)
            status = fdl_deadline_check(&s->deadline, 0);
        if (status)
            return status;
        done += n;
    }
    s->left -= rows;
    s->answer.rows = rows;
    sum_up(s);
    return FEEDLINE_OK;
}

static int32_t begin(struct server *s, const struct fdl_isolate_call *call)
{
    struct fdl_box *have = &s->answer.have;
    if (call->shift > 0)
        s->format->shrink(s->self, call->shift);
    int32_t status = s->format->begin(s->self, &call->need, have);
    if (status < 0)
        return status;
    s->width = have->width;
    s->left = have->height;
    s->stride = fdl_isolate_stride((uint64_t)s->width * (uint64_t)s->channels);
    return read_rows(s);
}

static int32_t carry_out(struct server *s, const struct fdl_isolate_call *call)
{
    if (call->what == FDL_ISOLATE_OPEN) {
        abort_image(s);
        s->open = *call;
        return open_image(s);
    }
    if (!s->format)
        return fdl_fail(FEEDLINE_ESTATE, "no image is open");
    switch (call->what) {
    case FDL_ISOLATE_ALPHA:
        return ask_alpha(s, call->channels);
    case FDL_ISOLATE_INDICES:
        return ask_indices(s);
    case FDL_ISOLATE_BEGIN:
        return begin(s, call);
    default:
        return read_rows(s);
    }
}

/* ---- Life --------------------------------------------------------------- */

/* What a file of the largest image takes at most (docs/limits.md), and what
 * does not depend on it. */
static uint64_t most_memory(const struct fdl_decode_limits *limits)
{
    return (limits->max_pixels + (UINT64_C(1) << 24)) * 20;
}

static int32_t prepare(struct server *s)
{
    const struct fdl_isolate_head *head = (void *)s->area;
    if (head->build != fdl_isolate_build())
        return fdl_fail(FEEDLINE_EABI,
                        "feedline-decode is of another version of feedline");
    s->limits = head->limits;
    fdl_cpu_set_level((enum fdl_cpu_level)head->cpu_level);
    int32_t status = fdl_format_set_init(&s->formats, &s->limits, &s->deadline);
    if (status == FEEDLINE_OK)
        status = fdl_isolate_confine(s->socket, most_memory(&s->limits),
                                     &s->answer.landlock);
    return status;
}

void fdl_isolate_serve(int socket, uint8_t *area)
{
    static struct server s;
    struct fdl_isolate_call call;
    s.socket = socket;
    s.area = area;
    int32_t status = prepare(&s);
    bool heard = fdl_isolate_say(socket, status, s.answer.landlock);
    while (heard && status == FEEDLINE_OK && receive_call(socket, &call)) {
        int32_t result = carry_out(&s, &call);
        if (result < 0)
            abort_image(&s);
        s.answer.memory = fdl_format_set_memory(&s.formats);
        heard = send_answer(socket, &s.answer, result);
    }
    abort_image(&s);
    fdl_format_set_fini(&s.formats);
}
