/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/dataset/dataset_objects.h"

#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of one sample; and so many of each object. Numbers of a sample are counted in
 * 32 bits. */
#define OBJECTS_MAX   1000000u
#define KEYPOINTS_MAX 1000u

void fdl_object_table_free(struct fdl_object_table *t)
{
    if (!t)
        return;
    free(t->span);
    free(t->boxes);
    free(t->points);
    free(t->labels);
    free(t);
}

static int32_t check_finite(const float *v, uint64_t n, uint64_t per,
                            const char *what)
{
    for (uint64_t i = 0; i < n * per; i++)
        if (!isfinite(v[i]))
            return fdl_fail(FEEDLINE_EINVAL,
                            "objects: %s of object %" PRIu64 " are not finite",
                            what, i / per);
    return FEEDLINE_OK;
}

static int32_t check_spans(const feedline_dataset *ds,
                           const struct feedline_objects *from)
{
    const uint64_t *first = from->first;
    if (first[0] != 0 || first[ds->count] != from->n)
        return fdl_fail(FEEDLINE_EINVAL,
                        "objects: first goes from %" PRIu64 " to %" PRIu64
                        ", and not from 0 to n, %" PRIu64,
                        first[0], first[ds->count], from->n);
    for (uint64_t i = 0; i < ds->count; i++) {
        if (first[i + 1] < first[i] || first[i + 1] > from->n)
            return fdl_fail(FEEDLINE_EINVAL,
                            "objects: first[%" PRIu64 "] is %" PRIu64
                            " and first[%" PRIu64 "] %" PRIu64 ", of %" PRIu64
                            " objects",
                            i, first[i], i + 1, first[i + 1], from->n);
        if (first[i + 1] - first[i] > OBJECTS_MAX)
            return fdl_fail(FEEDLINE_ERANGE,
                            "objects: sample %" PRIu64 " has %" PRIu64
                            ", and at most %u are possible",
                            i, first[i + 1] - first[i], OBJECTS_MAX);
    }
    return FEEDLINE_OK;
}

static int32_t check(const feedline_dataset *ds,
                     const struct feedline_objects *from)
{
    if (from->keypoints > KEYPOINTS_MAX)
        return fdl_fail(FEEDLINE_ERANGE,
                        "objects: %" PRIu32 " keypoints each, above %u",
                        from->keypoints, KEYPOINTS_MAX);
    if (!from->first || (from->n > 0 && !from->boxes))
        return fdl_fail(FEEDLINE_EINVAL, "objects: %s is NULL",
                        from->first ? "boxes" : "first");
    if (from->n > 0 && (from->keypoints > 0) != (from->points != NULL))
        return fdl_fail(FEEDLINE_EINVAL,
                        "objects: points are for keypoints above 0");
    int32_t status = check_spans(ds, from);
    if (status == FEEDLINE_OK)
        status = check_finite(from->boxes, from->n, 4, "boxes");
    if (status == FEEDLINE_OK && from->keypoints > 0)
        status = check_finite(from->points, from->n,
                              2 * (uint64_t)from->keypoints, "points");
    return status;
}

/* A copy of n items, of which a table may have none. */
static int32_t copy(const void *from, uint64_t n, size_t bytes_each, void **out)
{
    size_t bytes;
    if (!fdl_mul_size(FDL_MAX(n, 1), bytes_each, &bytes))
        return fdl_fail_memory(UINT64_MAX, "the objects of a data set");
    *out = calloc(1, bytes);
    if (!*out)
        return fdl_fail_memory(bytes, "the objects of a data set");
    if (from && n > 0)
        memcpy(*out, from, n * bytes_each);
    return FEEDLINE_OK;
}

static int32_t fill(const feedline_dataset *ds,
                    const struct feedline_objects *from,
                    struct fdl_object_table *t)
{
    void *spans = NULL, *boxes = NULL, *labels = NULL, *points = NULL;
    t->keypoints = from->keypoints;
    int32_t status = copy(NULL, ds->count, sizeof(*t->span), &spans);
    if (status == FEEDLINE_OK)
        status = copy(from->boxes, from->n, 4 * sizeof(float), &boxes);
    if (status == FEEDLINE_OK)
        status = copy(from->labels, from->n, sizeof(int64_t), &labels);
    if (status == FEEDLINE_OK && t->keypoints > 0)
        status = copy(from->points, from->n, 2 * t->keypoints * sizeof(float),
                      &points);
    t->span = spans;
    t->boxes = boxes;
    t->labels = labels;
    t->points = points;
    for (uint64_t i = 0; status == FEEDLINE_OK && i < ds->count; i++)
        t->span[i] = (struct fdl_object_span){
            from->first[i], (uint32_t)(from->first[i + 1] - from->first[i])};
    return status;
}

int32_t fdl_dataset_set_objects(feedline_dataset *ds,
                                const struct feedline_objects *from)
{
    struct fdl_object_table *t = NULL;
    int32_t status = from ? check(ds, from) : FEEDLINE_OK;
    if (status == FEEDLINE_OK && from) {
        t = calloc(1, sizeof(*t));
        status = t ? fill(ds, from, t)
                   : fdl_fail_memory(sizeof(*t), "the objects of a data set");
    }
    if (status != FEEDLINE_OK) {
        fdl_object_table_free(t);
        return status;
    }
    fdl_object_table_free(ds->objects);
    ds->objects = t;
    return FEEDLINE_OK;
}

uint64_t fdl_dataset_objects_bytes(const feedline_dataset *ds, uint64_t index)
{
    const struct fdl_object_table *t = ds->objects;
    uint64_t each = sizeof(int64_t) + sizeof(uint32_t) +
                    (4 + 2 * (uint64_t)t->keypoints) * sizeof(float);
    return (t->span[index].n * each + 7) / 8 * 8;
}

void fdl_dataset_lay_objects(const feedline_dataset *ds, uint64_t index,
                             void *memory, struct fdl_objects *out)
{
    const struct fdl_object_table *t = ds->objects;
    uint64_t first = t->span[index].first;
    uint32_t n = t->span[index].n, numbers = 2 * t->keypoints;
    float *boxes = (float *)((int64_t *)memory + n);
    float *points = boxes + 4 * (size_t)n;
    *out = (struct fdl_objects){
        .n = n,
        .keypoints = t->keypoints,
        .boxes = boxes,
        .points = points,
        .source = (uint32_t *)(void *)(points + numbers * (size_t)n),
    };
    memcpy(boxes, t->boxes + 4 * first, n * 4 * sizeof(float));
    if (numbers > 0)
        memcpy(points, t->points + numbers * first,
               n * numbers * sizeof(float));
    for (uint32_t i = 0; i < n; i++)
        out->source[i] = i;
}

void fdl_dataset_label_objects(const feedline_dataset *ds, uint64_t index,
                               const struct fdl_objects *o, void *memory)
{
    const struct fdl_object_table *t = ds->objects;
    int64_t *labels = memory;
    for (uint32_t i = 0; i < o->n; i++)
        labels[i] = t->labels[t->span[index].first + o->source[i]];
}
