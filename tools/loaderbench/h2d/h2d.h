/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench h2d: h2d.c measures, h2d_advice.c interprets, h2d_report.c
 * prints. The cases use the fit, too.
 */
#ifndef LOADERBENCH_H2D_H
#define LOADERBENCH_H2D_H

#include "tools/loaderbench/gpu.h"

#include <feedline/bench.h>

#define H2D_BATCHES_MAX 2
#define H2D_TEXT_BYTES  1024

/* A batch as it may cross the bus. */
struct h2d_batch {
    char name[64]; /* "64x3x224x224 f32" */
    uint64_t bytes;
    uint64_t images; /* 0: not known */
    double us;       /* measured: pinned, one copy, idle GPU */
    double device_us, pageable_us;
    const char *regime; /* "latency" or "bandwidth" */
};

struct h2d {
    struct feedline_device_info gpu;
    char
        no_kernels[H2D_TEXT_BYTES]; /* why nothing keeps it busy; "": it does */
    struct gpu_copy *points;        /* the grid, and then two for each batch */
    size_t n_points;
    struct feedline_copy_fit fit;
    bool interrupted; /* the points are those of complete rounds */

    /* As u8 and as they are delivered, or only the latter. */
    struct h2d_batch batches[H2D_BATCHES_MAX];
    size_t n_batches;
    char advice[H2D_TEXT_BYTES];
};

/* The fit through those of the points that are pinned, one copy, on an idle
 * GPU. An exit status. */
int h2d_fit(const struct gpu_copy *points, size_t n,
            struct feedline_copy_fit *out);

/* us of `copies` copies of `bytes` in all, one after the other. */
double h2d_predict(const struct feedline_copy_fit *fit, double bytes,
                   double copies);

/* "latency" below half_bytes, else "bandwidth". */
const char *h2d_regime(const struct feedline_copy_fit *fit, uint64_t bytes);

/* Fills times, regimes and advice from the points. */
void h2d_advise(struct h2d *h);

json_t *h2d_fit_json(const struct feedline_copy_fit *fit);
json_t *h2d_point_json(const struct gpu_copy *point);
void h2d_print_fit(const struct feedline_copy_fit *fit);

json_t *h2d_document(const struct h2d *h);
void h2d_report(const struct h2d *h);

/* "4 KiB", "256 MiB", "36.8 MiB" */
const char *h2d_size_text(uint64_t bytes, char *buf, size_t capacity);

#endif
