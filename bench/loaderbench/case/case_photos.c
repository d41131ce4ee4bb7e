/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/loaderbench/case/case_photos.h"

#include "bench/loaderbench/gen/gen_jpeg.h"
#include "bench/loaderbench/tool.h"

#include <stdlib.h>

#define SAMPLES (CASE_PHOTOS * 64) /* an epoch of some batches */

int case_photos_make(struct case_photos *p)
{
    struct photo photo = {0};
    struct photo_plan plan;
    int rc = TOOL_DONE;
    *p = (struct case_photos){.sizes = {0}};
    for (uint64_t i = 0; i < CASE_PHOTOS && rc == TOOL_DONE; i++) {
        gen_plan(0, i, &plan);
        if (photo_draw(&photo, &plan) ||
            photo_encode(&photo, &plan, &p->data[i], &p->sizes[i])) {
            tool_say("photo %u: out of memory", (unsigned)i);
            rc = TOOL_ENVIRONMENT;
        }
        if (tool_interrupted())
            rc = TOOL_INTERRUPTED;
    }
    photo_fini(&photo);
    return rc;
}

void case_photos_fini(struct case_photos *p)
{
    for (uint32_t i = 0; i < CASE_PHOTOS; i++)
        free(p->data[i]);
    *p = (struct case_photos){.sizes = {0}};
}

int case_photos_open(const struct case_photos *p, feedline_dataset **out)
{
    const void *data[SAMPLES];
    uint64_t sizes[SAMPLES];
    for (uint32_t i = 0; i < SAMPLES; i++) {
        data[i] = p->data[i % CASE_PHOTOS];
        sizes[i] = p->sizes[i % CASE_PHOTOS];
    }
    int32_t status =
        feedline_dataset_open_memory(data, sizes, NULL, SAMPLES, out);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}
