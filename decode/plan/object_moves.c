/* SPDX-License-Identifier: Apache-2.0 */
/* Each sum and product is rounded to float32 where torch does so: this file is
 * compiled without contraction. */
#include "decode/plan/object_moves.h"

#include "base/compiler.h"

#include <string.h>

/* What is no number becomes 0, too. */
static float within(float v, int32_t size)
{
    float most = (float)size;
    return v > 0 ? (v < most ? v : most) : 0;
}

static void clamp(float box[4], int32_t width, int32_t height)
{
    box[0] = within(box[0], width);
    box[1] = within(box[1], height);
    box[2] = within(box[2], width);
    box[3] = within(box[3], height);
}

static uint32_t points_of(const struct fdl_objects *o)
{
    return o->n * o->keypoints;
}

void fdl_objects_window(struct fdl_objects *o, struct fdl_box box)
{
    float x = (float)box.x, y = (float)box.y;
    for (uint32_t i = 0; o && i < o->n; i++) {
        float *b = o->boxes + 4 * i;
        b[0] -= x;
        b[1] -= y;
        b[2] -= x;
        b[3] -= y;
        clamp(b, box.width, box.height);
    }
    for (uint32_t i = 0; o && i < points_of(o); i++) {
        o->points[2 * i] -= x;
        o->points[2 * i + 1] -= y;
    }
}

void fdl_objects_resize(struct fdl_objects *o, int32_t old_width,
                        int32_t old_height, int32_t width, int32_t height)
{
    float by[2] = {(float)((double)width / old_width),
                   (float)((double)height / old_height)};
    if (width == old_width && height == old_height)
        return;
    for (uint32_t i = 0; o && i < 4 * o->n; i++)
        o->boxes[i] *= by[i % 2];
    for (uint32_t i = 0; o && i < 2 * points_of(o); i++)
        o->points[i] *= by[i % 2];
}

/* Along one axis; a keypoint is in the middle of its pixel. */
static void mirror(struct fdl_objects *o, uint32_t axis, int32_t size)
{
    for (uint32_t i = 0; o && i < o->n; i++) {
        float *b = o->boxes + 4 * i + axis, first = b[0];
        b[0] = -(b[2] - (float)size);
        b[2] = -(first - (float)size);
    }
    for (uint32_t i = 0; o && i < points_of(o); i++)
        o->points[2 * i + axis] =
            -(o->points[2 * i + axis] - (float)(size - 1));
}

void fdl_objects_flip(struct fdl_objects *o, int32_t width)
{
    mirror(o, 0, width);
}

void fdl_objects_flip_vertical(struct fdl_objects *o, int32_t height)
{
    mirror(o, 1, height);
}

/* (m0 x + m1 y + m2, m3 x + m4 y + m5), over m6 x + m7 y + 1. */
static void map(const float m[8], bool perspective, const float from[2],
                float to[2])
{
    float x = from[0], y = from[1];
    to[0] = m[0] * x + m[1] * y + m[2];
    to[1] = m[3] * x + m[4] * y + m[5];
    if (perspective) {
        float over = m[6] * x + m[7] * y + 1;
        to[0] /= over;
        to[1] /= over;
    }
}

static void map_box(const float m[8], bool perspective, float box[4])
{
    float out[4], to[2];
    for (int i = 0; i < 4; i++) {
        float corner[2] = {box[i == 1 || i == 2 ? 2 : 0], box[i < 2 ? 1 : 3]};
        map(m, perspective, corner, to);
        for (int k = 0; k < 2; k++) {
            out[k] = i == 0 ? to[k] : FDL_MIN(out[k], to[k]);
            out[2 + k] = i == 0 ? to[k] : FDL_MAX(out[2 + k], to[k]);
        }
    }
    memcpy(box, out, sizeof(out));
}

static void map_all(struct fdl_objects *o, const double a[8], bool perspective,
                    int32_t width, int32_t height)
{
    float m[8];
    for (uint32_t i = 0; i < FDL_COUNT_OF(m); i++)
        m[i] = (float)a[i];
    for (uint32_t i = 0; i < o->n; i++) {
        map_box(m, perspective, o->boxes + 4 * i);
        clamp(o->boxes + 4 * i, width, height);
    }
    for (uint32_t i = 0; i < points_of(o); i++) {
        float from[2] = {o->points[2 * i], o->points[2 * i + 1]};
        map(m, perspective, from, o->points + 2 * i);
    }
}

void fdl_objects_perspective(struct fdl_objects *o, const double a[8],
                             int32_t width, int32_t height)
{
    double over = a[0] * a[4] - a[1] * a[3];
    double back[8] = {(a[4] - a[5] * a[7]) / over,
                      (-a[1] + a[2] * a[7]) / over,
                      (a[1] * a[5] - a[2] * a[4]) / over,
                      (-a[3] + a[5] * a[6]) / over,
                      (a[0] - a[2] * a[6]) / over,
                      (-a[0] * a[5] + a[2] * a[3]) / over,
                      (-a[4] * a[6] + a[3] * a[7]) / over,
                      (-a[0] * a[7] + a[1] * a[6]) / over};
    if (o)
        map_all(o, back, true, width, height);
}

void fdl_objects_affine(struct fdl_objects *o, const double a[6], int32_t width,
                        int32_t height)
{
    double over = a[0] * a[4] - a[1] * a[3];
    double back[8] = {
        a[4] / over,  -a[1] / over, (a[1] * a[5] - a[2] * a[4]) / over,
        -a[3] / over, a[0] / over,  (a[2] * a[3] - a[0] * a[5]) / over};
    if (o)
        map_all(o, back, false, width, height);
}

void fdl_objects_void(struct fdl_objects *o, uint32_t i)
{
    memset(o->boxes + 4 * i, 0, 4 * sizeof(float));
}

void fdl_objects_keep(struct fdl_objects *o,
                      bool (*keep)(const float box[4], const void *arg),
                      const void *arg)
{
    uint32_t n = 0, points = 2 * o->keypoints;
    for (uint32_t i = 0; i < o->n; i++) {
        if (!keep(o->boxes + 4 * i, arg))
            continue;
        if (n < i) {
            memcpy(o->boxes + 4 * n, o->boxes + 4 * i, 4 * sizeof(float));
            o->source[n] = o->source[i];
        }
        if (n < i && points)
            memcpy(o->points + points * n, o->points + points * i,
                   points * sizeof(float));
        n++;
    }
    o->n = n;
}
