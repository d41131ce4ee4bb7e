/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/stream/slot_objects.h"

#include "loader/dataset/dataset_objects.h"
#include "loader/stream/slot_fields.h"

#include <string.h>

int32_t fdl_slot_objects_take(const feedline_dataset *ds, uint64_t index,
                              feedline_batch *b, struct fdl_laid_objects *out)
{
    int32_t status = fdl_slot_fields_claim(
        b, fdl_dataset_objects_bytes(ds, index), &out->at, &out->memory);
    if (status == FEEDLINE_OK)
        fdl_slot_objects_lay(ds, index, out);
    return status;
}

void fdl_slot_objects_lay(const feedline_dataset *ds, uint64_t index,
                          struct fdl_laid_objects *out)
{
    fdl_dataset_lay_objects(ds, index, out->memory, &out->objects);
}

void fdl_slot_objects_put(const feedline_dataset *ds, uint64_t index,
                          const feedline_batch *b, uint32_t place,
                          const struct fdl_laid_objects *from)
{
    fdl_dataset_label_objects(ds, index, &from->objects, from->memory);
    b->fields.placed[place] = (struct fdl_placed_objects){
        .at = from->at,
        .n = from->objects.n,
        .room = ds->objects->span[index].n,
    };
}

/* ---- Of the whole batch ------------------------------------------------- */

/* Places in the joined part. */
struct joined {
    uint64_t n, *first;
    int64_t *labels, *source;
    float *boxes, *points;
};

static struct joined joined_at(const feedline_batch *b, uint64_t at)
{
    struct joined j = {.first = (uint64_t *)(void *)(b->fields.slab.data + at)};
    for (uint32_t i = 0; i < b->range.count; i++)
        j.n += b->fields.placed[i].n;
    j.labels = (int64_t *)(j.first + b->range.count + 1);
    j.source = j.labels + j.n;
    j.boxes = (float *)(j.source + j.n);
    j.points = j.boxes + 4 * j.n;
    return j;
}

uint64_t fdl_slot_objects_bytes(const feedline_batch *b)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < b->range.count; i++)
        n += b->fields.placed[i].n;
    return (b->range.count + 1) * sizeof(uint64_t) +
           n * (2 * sizeof(int64_t) +
                (4 + 2 * (uint64_t)b->kind->keypoints) * sizeof(float));
}

/* Laid out as fdl_dataset_lay_objects does. */
static void join_one(const feedline_batch *b, uint32_t place,
                     const struct joined *j)
{
    const struct fdl_placed_objects *p = &b->fields.placed[place];
    const int64_t *labels = (const void *)(b->fields.slab.data + p->at);
    const float *boxes = (const void *)(labels + p->room);
    const float *points = boxes + 4 * (size_t)p->room;
    size_t numbers = 2 * (size_t)b->kind->keypoints;
    const uint32_t *source = (const void *)(points + numbers * p->room);
    uint64_t first = j->first[place];
    memcpy(j->labels + first, labels, p->n * sizeof(*labels));
    memcpy(j->boxes + 4 * first, boxes, p->n * 4 * sizeof(*boxes));
    memcpy(j->points + numbers * first, points,
           p->n * numbers * sizeof(*points));
    for (uint32_t i = 0; i < p->n; i++)
        j->source[first + i] = source[i];
}

void fdl_slot_objects_join(feedline_batch *b, uint64_t at)
{
    struct joined j = joined_at(b, at);
    b->fields.joined_at = at;
    j.first[0] = 0;
    for (uint32_t i = 0; i < b->range.count; i++) {
        j.first[i + 1] = j.first[i] + b->fields.placed[i].n;
        if (b->fields.placed[i].n > 0)
            join_one(b, i, &j);
    }
}

void fdl_slot_objects_get(const feedline_batch *b,
                          struct feedline_batch_objects *out)
{
    struct joined j = joined_at(b, b->fields.joined_at);
    *out = (struct feedline_batch_objects){
        .keypoints = b->kind->keypoints,
        .n = j.n,
        .first = j.first,
        .boxes = j.boxes,
        .labels = j.labels,
        .points = b->kind->keypoints > 0 ? j.points : NULL,
        .source = j.source,
    };
}
