/* SPDX-License-Identifier: Apache-2.0 */
/* A read window of which only the buffers are used, and a decoder. */
#include "loader/read/checker.h"

#include "base/memory.h"
#include "base/thread.h"
#include "decode/decoder.h"
#include "decode/formats/format.h"
#include "loader/read/read_bytes.h"
#include "loader/read/reader_file.h"

#define XXH_INLINE_ALL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define REASON_BYTES 1024

struct feedline_checker {
    uint32_t fork_generation;
    feedline_dataset *dataset;
    enum fdl_checksums checksums;
    struct fdl_window *window;
    struct fdl_decoder *decoder;
    char reason[REASON_BYTES]; /* of the last check */
};

uint32_t fdl_checker_generation(const feedline_checker *c)
{
    return c->fork_generation;
}

const feedline_dataset *fdl_checker_dataset(const feedline_checker *c)
{
    return c->dataset;
}

int32_t fdl_checker_create(feedline_dataset *ds,
                           const struct fdl_decode_limits *limits,
                           uint64_t max_file_bytes, feedline_checker **out)
{
    feedline_checker *c = calloc(1, sizeof(*c));
    if (!c)
        return fdl_fail_memory(sizeof(*c), "a checker");
    c->fork_generation = fdl_fork_generation();
    int32_t status =
        fdl_window_create(1, max_file_bytes, NULL, NULL, &c->window);
    if (status == FEEDLINE_OK)
        status = fdl_decoder_create(limits, &c->decoder);
    if (status) {
        fdl_checker_destroy(c);
        return status;
    }
    fdl_dataset_ref(ds);
    c->dataset = ds;
    c->checksums = limits->checksums;
    *out = c;
    return FEEDLINE_OK;
}

void fdl_checker_destroy(feedline_checker *c)
{
    fdl_decoder_destroy(c->decoder);
    fdl_window_destroy(c->window);
    fdl_dataset_unref(c->dataset);
    free(c);
}

/* What the bytes are; the error line says what is wrong with them. */
static int32_t check_bytes(feedline_checker *c, const struct fdl_read *r,
                           const struct fdl_encoded *encoded,
                           struct feedline_checked *out)
{
    const struct fdl_format *format = encoded->format;
    struct fdl_image_info info;
    struct fdl_checked checked;
    out->bytes = encoded->size;
    out->hash = XXH64(encoded->data, encoded->size, 0);
    int32_t known =
        format ? FEEDLINE_OK
               : fdl_format_find(encoded->data, encoded->size, &format);
    if (known == FEEDLINE_OK)
        out->format = format->name;
    int32_t status = fdl_read_verify(c->dataset, r, false);
    if (status == FEEDLINE_OK)
        status = known;
    if (status)
        return status;
    status = fdl_decoder_open(c->decoder, encoded, &info);
    if (status)
        return status;
    out->width = info.width;
    out->height = info.height;
    out->channels = info.channels;
    out->orientation = info.orientation;
    status = fdl_decoder_check(c->decoder, &checked);
    if (status)
        return status;
    out->flags = (checked.alpha ? FEEDLINE_CHECKED_ALPHA : 0) |
                 (checked.truncated ? FEEDLINE_CHECKED_TRUNCATED : 0) |
                 (checked.doubtful ? FEEDLINE_CHECKED_DOUBTFUL : 0);
    return FEEDLINE_OK;
}

static int32_t check_read(feedline_checker *c, const struct fdl_read *r,
                          struct feedline_checked *out)
{
    if (r->status < 0)
        return fdl_fail(r->status, "%s", r->reason);
    struct fdl_encoded encoded;
    fdl_read_encoded(r, &encoded);
    return check_bytes(c, r, &encoded, out);
}

/* Until fdl_read_release. */
static void read_sample(feedline_dataset *ds, struct fdl_window *w,
                        enum fdl_checksums checksums, struct fdl_read *r)
{
    fdl_dataset_locate(ds, r->index, checksums, &r->source);
    if (r->source.data) {
        r->data = r->source.data;
        r->size = r->readable = (uint64_t)r->source.length;
    } else {
        fdl_read_file(w, r);
    }
}

void fdl_checker_check(feedline_checker *c, uint64_t index,
                       struct feedline_checked *out)
{
    struct fdl_read r = {.index = index};
    read_sample(c->dataset, c->window, c->checksums, &r);
    *out = (struct feedline_checked){.reason = c->reason};
    out->status = check_read(c, &r, out);
    snprintf(c->reason, sizeof(c->reason), "%s",
             out->status < 0 ? fdl_last_error() : "");
    fdl_read_release(c->window, &r);
    fdl_clear_error();
}

static int32_t copy_image(feedline_dataset *ds, const struct fdl_read *r,
                          void **data, uint64_t *bytes)
{
    if (r->status < 0)
        return fdl_fail(r->status, "%s: %s", fdl_dataset_name(ds, r->index),
                        r->reason);
    int32_t status = fdl_read_verify(ds, r, true);
    if (status < 0)
        return fdl_fail(status, "%s: %s", fdl_dataset_name(ds, r->index),
                        fdl_last_error());
    uint64_t size = fdl_read_image_bytes(r);
    void *copy = malloc(FDL_MAX(size, UINT64_C(1)));
    if (!copy)
        return fdl_fail_memory(size, "the bytes of a sample");
    if (size > 0)
        memcpy(copy, r->data + r->source.image_at, size);
    *data = copy;
    *bytes = size;
    return FEEDLINE_OK;
}

int32_t fdl_sample_read(feedline_dataset *ds, enum fdl_checksums checksums,
                        uint64_t max_file_bytes, uint64_t index, void **data,
                        uint64_t *bytes)
{
    struct fdl_window *w;
    struct fdl_read r = {.index = index};
    int32_t status = fdl_window_create(1, max_file_bytes, NULL, NULL, &w);
    if (status < 0)
        return status;
    read_sample(ds, w, checksums, &r);
    status = copy_image(ds, &r, data, bytes);
    fdl_read_release(w, &r);
    fdl_window_destroy(w);
    return status;
}
