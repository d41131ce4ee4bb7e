/* SPDX-License-Identifier: Apache-2.0 */
/* Affine and perspective maps of every level against plain C: tiny images,
 * tails of rows, turns, shears, shifts by less than a pixel and far outside. */
#include "decode/kernels/levels.h"
#include "decode/kernels/map.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#include <inttypes.h>
#include <math.h>

#define ROUNDS 400

/* A turn about the middle by any angle, sometimes enlarged or moved, or a shear
 * along one side. */
static void pick_map(uint64_t *state, struct fdl_map_job *job)
{
    double *a = job->a, angle = make_within(state, -3600, 3600) * 0.0017453;
    double scale =
        make_within(state, 0, 2) ? 1.0 : make_within(state, 1, 40) / 10.0;
    double shift =
        make_within(state, 0, 3) ? 0.0 : make_within(state, -300, 300) / 8.0;
    double x = job->in->width / 2.0, y = job->in->height / 2.0;
    if (make_within(state, 0, 7) == 0)
        angle = 0.0;
    a[0] = a[4] = cos(angle) * scale;
    a[1] = sin(angle) * scale;
    a[3] = -a[1];
    switch (make_within(state, 0, 7)) {
    case 0:
        a[0] = a[4] = 1.0;
        a[3] = 0.0;
        break;
    case 1:
        a[0] = a[4] = 1.0;
        a[1] = 0.0;
        break;
    default:
        break;
    }
    a[2] = x - a[0] * x - a[1] * y + shift;
    a[5] = y - a[3] * x - a[4] * y - (make_within(state, 0, 1) ? shift : 0.0);
    job->perspective = make_within(state, 0, 3) == 0;
    a[6] = make_within(state, -100, 100) * 1e-4;
    a[7] = make_within(state, -100, 100) * 1e-4;
}

static struct fdl_image pick_image(uint64_t *state)
{
    struct fdl_image image = {
        .width = make_within(state, 1, make_within(state, 0, 1) ? 4 : 90),
        .height = make_within(state, 1, 40),
        .channels = make_within(state, 1, 4)};
    image.plane = (size_t)image.width * (size_t)image.height;
    size_t bytes = image.plane * (size_t)image.channels;
    bool flat = make_within(state, 0, 3) == 0;
    image.data = rig_alloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        image.data[i] = (uint8_t)make_random(state);
        if (flat)
            image.data[i] = image.data[i] < 250 ? 77 : 78;
    }
    return image;
}

static void assert_same(const struct fdl_map_job *job,
                        const struct fdl_image *want, const char *filter)
{
    const double *a = job->a;
    size_t bytes = want->plane * (size_t)want->channels;
    if (memcmp(want->data, job->out->data, bytes) != 0)
        fail_msg("%s map of %" PRId32 "x%" PRId32 "x%" PRId32
                 " by %g %g %g %g %g %g, %g %g differs",
                 filter, want->width, want->height, want->channels, a[0], a[1],
                 a[2], a[3], a[4], a[5], a[6], a[7]);
}

static const char *const names[] = {"nearest", "bilinear", "bicubic"};

static void map(const struct fdl_map_kernels *k, int filter,
                const struct fdl_map_job *job)
{
    if (filter == 0)
        fdl_map_nearest(k, job);
    else
        (filter == 1 ? k->bilinear : k->bicubic)(job);
}

static void check_one(const struct fdl_map_kernels *k, uint64_t *state)
{
    const struct fdl_map_kernels *c = fdl_kernels[FDL_CPU_C].map;
    struct fdl_image in = pick_image(state), want = in, got = in;
    size_t bytes = in.plane * (size_t)in.channels;
    want.data = rig_alloc(bytes);
    got.data = rig_alloc(bytes);
    struct fdl_map_job job = {.in = &in, .out = &want, .fill = {7, 99, 255, 1}};
    pick_map(state, &job);
    int filter = make_within(state, 0, 2);
    map(c, filter, &job);
    job.out = &got;
    job.scratch = rig_alloc(k->scratch_bytes ? k->scratch_bytes(&in) : 0);
    map(k, filter, &job);
    assert_same(&job, &want, names[filter]);
    free(in.data);
    free(want.data);
    free(got.data);
    free(job.scratch);
}

TEST(levels_give_the_bytes_of_plain_c)
{
    uint64_t seed = test_seed();
    for (int level = FDL_CPU_AVX2; level <= (int)fdl_cpu_level(); level++) {
        uint64_t state = seed;
        for (int i = 0; i < ROUNDS; i++)
            check_one(fdl_kernels[level].map, &state);
    }
}

TEST_MAIN("decode_map")
