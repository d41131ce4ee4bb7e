/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of all samples of a data set: what feedline/objects.h sets. */
#ifndef FDL_LOADER_DATASET_OBJECTS_H
#define FDL_LOADER_DATASET_OBJECTS_H

#include "decode/plan/object_moves.h"
#include "loader/dataset/dataset.h"

#include <feedline/objects.h>

struct fdl_object_span {
    uint64_t first;
    uint32_t n;
};

struct fdl_object_table {
    uint32_t keypoints;
    struct fdl_object_span *span; /* [count] of the data set */
    float *boxes, *points;
    int64_t *labels;
};

/* The errors of feedline_dataset_set_objects, but for ESTATE. */
int32_t fdl_dataset_set_objects(feedline_dataset *ds,
                                const struct feedline_objects *from);
void fdl_object_table_free(struct fdl_object_table *t);

/* Memory for sample `index`: labels first, then what a struct fdl_objects has;
 * a multiple of 8. */
uint64_t fdl_dataset_objects_bytes(const feedline_dataset *ds, uint64_t index);

/* Lays them out in that memory; labels when it is known which are left. */
void fdl_dataset_lay_objects(const feedline_dataset *ds, uint64_t index,
                             void *memory, struct fdl_objects *out);
void fdl_dataset_label_objects(const feedline_dataset *ds, uint64_t index,
                               const struct fdl_objects *o, void *memory);

#endif
