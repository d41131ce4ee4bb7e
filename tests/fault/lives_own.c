/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that the program reads, and an operation of its own. */
#include "lives.h"

#include <feedline/source.h>

#define FAILED 77 /* no status of the library's */

static int32_t read_sample(struct feedline_read_call *call)
{
    uint64_t size = fault_images.sizes[call->index];
    void *buffer = call->buffer;
    if (MUST_FAIL(CALLBACK))
        return FAILED;
    if (size > call->room)
        buffer = feedline_read_grow(call, size);
    call->length = size;
    if (buffer)
        memcpy(buffer, fault_images.data[call->index], size);
    return FEEDLINE_OK;
}

static int32_t invert(const struct feedline_op_call *call)
{
    const struct feedline_image *image = &call->image;
    if (MUST_FAIL(CALLBACK))
        return FAILED;
    for (int32_t y = 0; y < image->height; y++)
        for (int32_t x = 0; x < image->width * image->channels; x++)
            image->data[y * image->row_bytes + x] ^= 0xff;
    return FEEDLINE_OK;
}

static int32_t own(void)
{
    static const struct feedline_op_def def = {
        .struct_size = sizeof(def), .name = "invert", .run = invert};
    const struct feedline_source source = {.struct_size = sizeof(source),
                                           .name = "own",
                                           .count = FAULT_IMAGES,
                                           .read = read_sample,
                                           .labels = fault_images.labels};
    feedline_dataset *ds = NULL;
    feedline_loader *l = NULL;
    int32_t status = trial_note(feedline_dataset_open_source(&source, &ds));
    if (status >= 0)
        status = trial_loader(ds, &def, FAULT_OPERATIONS ";invert",
                              FAULT_OPTIONS "io_depth=3", &l);
    feedline_dataset_close(ds);
    if (status >= 0)
        status = trial_epoch(l);
    fault_end(l);
    return status;
}

const struct scenario fault_own = {
    .name = "own",
    .what = "an epoch that the program reads, with an operation of its own",
    .kinds = KIND(MEMORY) | KIND(THREAD) | KIND(CALLBACK),
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = own};
