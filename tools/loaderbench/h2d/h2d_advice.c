/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the times mean. A copy takes latency + bytes / bandwidth; where the two
 * parts are equal, at half_bytes, a batch passes from one regime to the other:
 *
 *   latency    the number of copies counts, not their size: one slab
 *   bandwidth  the bytes count: u8 over the bus, finished by the GPU
 */
#include "tools/loaderbench/h2d/h2d.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORTH 1.1 /* gains below are not worth a word */

int h2d_fit(const struct gpu_copy *points, size_t n,
            struct feedline_copy_fit *out)
{
    uint64_t *bytes = calloc(n, sizeof(*bytes));
    double *us = calloc(n, sizeof(*us));
    uint32_t used = 0;
    int32_t status = FEEDLINE_ENOMEM;
    *out = (struct feedline_copy_fit){.struct_size = sizeof(*out)};
    for (size_t i = 0; bytes && us && i < n; i++) {
        if (points[i].pageable || points[i].busy || points[i].copies != 1)
            continue;
        bytes[used] = points[i].bytes;
        us[used++] = points[i].host_us;
    }
    if (bytes && us)
        status = feedline_copy_fit(bytes, us, used, out);
    free(bytes);
    free(us);
    if (status >= 0)
        return TOOL_DONE;
    tool_say("the times do not follow latency + bytes / bandwidth: %s",
             status == FEEDLINE_ENOMEM ? "out of memory"
                                       : feedline_last_error());
    return TOOL_ENVIRONMENT;
}

double h2d_predict(const struct feedline_copy_fit *fit, double bytes,
                   double copies)
{
    return copies * fit->latency_us + bytes / (fit->gigabytes_per_second * 1e3);
}

const char *h2d_regime(const struct feedline_copy_fit *fit, uint64_t bytes)
{
    return (double)bytes < fit->half_bytes ? "latency" : "bandwidth";
}

/* The points of the batches themselves come last, so they are what is found. */
static double time_of(const struct h2d *h, uint64_t bytes, bool pageable,
                      bool on_device)
{
    for (size_t i = h->n_points; i-- > 0;) {
        const struct gpu_copy *p = &h->points[i];
        if (p->bytes == bytes && p->copies == 1 && p->pageable == pageable &&
            !p->busy)
            return on_device ? p->device_us : p->host_us;
    }
    return 0;
}

static void say(struct h2d *h, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct h2d *h, const char *fmt, ...)
{
    size_t n = strlen(h->advice);
    va_list args;
    va_start(args, fmt);
    vsnprintf(h->advice + n, sizeof(h->advice) - n, fmt, args);
    va_end(args);
}

static void advise_latency(struct h2d *h, const struct h2d_batch *b)
{
    double one = h2d_predict(&h->fit, (double)b->bytes, 1);
    double n = b->images > 1 ? (double)b->images : 64;
    double many = h2d_predict(&h->fit, (double)b->bytes, n);
    say(h,
        "Batches of %s are latency bound: %.0f of the %.0f us that their copy "
        "takes pass whatever its size. Copy a batch as one slab, as feedline "
        "does: %.0f copies, one per image, would take %.0f us, %.1f times as "
        "long. Larger batches cost next to nothing more.",
        b->name, h->fit.latency_us, one, n, many, many / one);
}

static void advise_bandwidth(struct h2d *h, const struct h2d_batch *b,
                             const struct h2d_batch *u8)
{
    double now = h2d_predict(&h->fit, (double)b->bytes, 1);
    say(h,
        "Batches of %s are bandwidth bound: %.0f of %.0f us are their bytes. ",
        b->name, now - h->fit.latency_us, now);
    if (u8 == b) {
        say(h,
            "If they are u8, nothing smaller can cross the bus; if not, send "
            "u8 and let the GPU finish them (--finish device).");
        return;
    }
    double then = h2d_predict(&h->fit, (double)u8->bytes, 1);
    say(h,
        "Send u8 and let the GPU make the numbers (--finish device): %.0f us "
        "instead of %.0f, %.1f times as fast.",
        then, now, now / then);
}

static void advise_pinned(struct h2d *h, const struct h2d_batch *b)
{
    double gain = b->us > 0 ? b->pageable_us / b->us : 0;
    if (gain >= WORTH)
        say(h,
            " Copy from pinned memory, as feedline does: from pageable memory "
            "this batch takes %.0f us instead of %.0f, %.1f times as long, and "
            "the copy holds up the thread that asks for it.",
            b->pageable_us, b->us, gain);
}

void h2d_advise(struct h2d *h)
{
    for (size_t i = 0; i < h->n_batches; i++) {
        struct h2d_batch *b = &h->batches[i];
        b->us = time_of(h, b->bytes, false, false);
        b->device_us = time_of(h, b->bytes, false, true);
        b->pageable_us = time_of(h, b->bytes, true, false);
        b->regime = h2d_regime(&h->fit, b->bytes);
    }
    const struct h2d_batch *as_u8 = &h->batches[0];
    const struct h2d_batch *now = &h->batches[h->n_batches - 1];
    if (strcmp(now->regime, "latency") == 0)
        advise_latency(h, now);
    else
        advise_bandwidth(h, now, as_u8);
    advise_pinned(h, now);
}
