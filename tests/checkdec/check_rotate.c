/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear mapping of one level against plain C: tiny images, tails of rows,
 * turns, shifts by less than a pixel and far outside. */
#include "base/compiler.h"
#include "checkdec.h"
#include "decode/kernels/levels.h"
#include "decode/kernels/rotate.h"
#include "make_jpeg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A turn about the middle by any angle, sometimes enlarged or moved. */
static void pick_matrix(uint64_t *state, const struct fdl_image *in,
                        double m[6])
{
    double angle = pick(state, -3600, 3600) * 0.0017453;
    double scale = pick(state, 0, 2) ? 1.0 : pick(state, 1, 40) / 10.0;
    double shift = pick(state, 0, 3) ? 0.0 : pick(state, -300, 300) / 8.0;
    double x = in->width / 2.0, y = in->height / 2.0;
    if (pick(state, 0, 7) == 0)
        angle = 0.0;
    m[0] = m[4] = cos(angle) * scale;
    m[1] = sin(angle) * scale;
    m[3] = -m[1];
    m[2] = x - m[0] * x - m[1] * y + shift;
    m[5] = y - m[3] * x - m[4] * y - shift;
}

static bool check_one(const struct fdl_rotate_kernels *k, uint64_t *state)
{
    struct fdl_image in = {.width = pick(state, 1, pick(state, 0, 1) ? 4 : 90),
                           .height = pick(state, 1, 40),
                           .channels = pick(state, 0, 2) ? 3 : 1};
    in.plane = (size_t)in.width * (size_t)in.height;
    size_t bytes = in.plane * (size_t)in.channels;
    struct fdl_image want = in, got = in;
    in.data = must_alloc(bytes);
    want.data = must_alloc(bytes);
    got.data = must_alloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        in.data[i] = (uint8_t)make_random(state);

    struct fdl_rotate_job job = {
        .in = &in, .out = &want, .fill = {7, 99, 255, 1}};
    pick_matrix(state, &in, job.matrix);
    fdl_kernels[FDL_CPU_C].rotate->bilinear(&job);
    job.out = &got;
    job.scratch = must_alloc(k->scratch_bytes ? k->scratch_bytes(&in) : 0);
    k->bilinear(&job);
    bool same = memcmp(want.data, got.data, bytes) == 0;
    if (!same)
        printf("bilinear mapping of %" PRId32 "x%" PRId32 "x%" PRId32
               " by %g %g %g %g %g %g differs\n",
               in.width, in.height, in.channels, job.matrix[0], job.matrix[1],
               job.matrix[2], job.matrix[3], job.matrix[4], job.matrix[5]);
    free(in.data);
    free(want.data);
    free(got.data);
    free(job.scratch);
    return same;
}

bool check_rotate(enum fdl_cpu_level level, uint64_t seed, int rounds)
{
    const struct fdl_rotate_kernels *k = fdl_kernels[level].rotate;
    uint64_t state = seed ^ 0x707a7e;
    for (int i = 0; i < rounds; i++) {
        if (!check_one(k, &state))
            return false;
    }
    return true;
}
