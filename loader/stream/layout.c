/* SPDX-License-Identifier: Apache-2.0 */
/* What lies where in the memory of a batch; layout.h has the reasons. */
#include "loader/stream/layout.h"

#include "base/compiler.h"
#include "base/memory.h"
#include "base/status.h"
#include "decode/device/device_job.h"
#include "decode/plan/plan.h"
#include "transfer/image_mix.h"

#include <feedline/targets.h>

#include <inttypes.h>
#include <string.h>

#define IMAGES_ALIGN  256u /* as a GPU's own allocations are */
#define SCRATCH_BYTES (UINT64_C(5) << 18)
#define SCRATCH_LEAST (UINT64_C(64) << 20)

/* ---- Columns ------------------------------------------------------------ */

/* Of one image, 0: batches have none. Images are placed apart. */
static size_t column_bytes(const struct fdl_layout *l, enum fdl_column c)
{
    bool various = fdl_layout_is_various(l), mixed = l->classes > 0;
    const size_t bytes[FDL_COLUMNS] = {
        [FDL_COLUMN_LABELS] = sizeof(int64_t),
        [FDL_COLUMN_TARGETS] = l->classes * sizeof(float),
        [FDL_COLUMN_TOLD] =
            mixed && l->left_bytes == 0 ? sizeof(struct fdl_image_mix) : 0,
        [FDL_COLUMN_JOBS] = l->jobs ? sizeof(struct fdl_device_job) : 0,
        [FDL_COLUMN_INDEX] = sizeof(int64_t),
        [FDL_COLUMN_STATUS] = sizeof(int32_t),
        [FDL_COLUMN_OFFSETS] = various ? sizeof(int64_t) : 0,
        [FDL_COLUMN_SIZES] = various ? 2 * sizeof(int32_t) : 0,
        [FDL_COLUMN_MIXES] = mixed ? sizeof(struct feedline_image_mix) : 0,
        [FDL_COLUMN_INPUTS] = mixed ? sizeof(struct fdl_mix_input) : 0,
        [FDL_COLUMN_STEPS] = l->late_steps * sizeof(struct fdl_step),
        [FDL_COLUMN_LEFT] = l->left_bytes,
    };
    return bytes[c];
}

static bool align_up(size_t bytes, size_t align, size_t *out)
{
    size_t sum;
    if (!fdl_add_size(bytes, align - 1, &sum))
        return false;
    *out = sum & ~(align - 1);
    return true;
}

/* Places n elements behind *end; false on overflow. */
static bool place(size_t n, size_t element, size_t align, uint64_t *at,
                  size_t *end)
{
    size_t start, bytes;
    if (!align_up(*end, align, &start) || !fdl_mul_size(n, element, &bytes) ||
        !fdl_add_size(start, bytes, end))
        return false;
    *at = start;
    return true;
}

/* Those from `first` to before `last` that there are. */
static bool place_columns(struct fdl_layout *l, int first, int last,
                          size_t *end)
{
    for (int c = first; c < last; c++) {
        size_t bytes = column_bytes(l, (enum fdl_column)c);
        if (bytes > 0 &&
            !place(l->batch_size, bytes, FDL_SLAB_ALIGN, &l->at[c], end))
            return false;
    }
    return true;
}

static int32_t fail_layout(const struct fdl_layout *l)
{
    return fdl_fail(FEEDLINE_ERANGE,
                    "a batch of %u samples of %" PRIu64
                    " bytes does not fit memory; lower batch_size",
                    l->batch_size, l->sample_bytes);
}

/* ---- Layouts ------------------------------------------------------------ */

/* What moves ends with the last image of the batch, which may be short. */
static int32_t init_fixed(struct fdl_layout *l)
{
    size_t end = 0;
    uint64_t images = l->jobs ? fdl_layout_share(l) : l->all_views_bytes;
    if (!place_columns(l, 0, FDL_COLUMN_IMAGES, &end) ||
        !place(l->batch_size / l->views, images, IMAGES_ALIGN,
               &l->at[FDL_COLUMN_IMAGES], &end) ||
        !place_columns(l, FDL_COLUMN_IMAGES + 1, FDL_COLUMNS, &end) ||
        !align_up(end, FDL_SLAB_ALIGN, &end))
        return fail_layout(l);
    l->bytes = l->reserved = end;
    l->delivered = l->format;
    return FEEDLINE_OK;
}

/* What an image takes there on average, and half as much: 10 bytes for each
 * pixel of its crop. A few large ones fit any batch. */
static uint64_t scratch(uint32_t images)
{
    return FDL_MAX((uint64_t)images * SCRATCH_BYTES, SCRATCH_LEAST);
}

/* What is left of an image is read in whole vectors. */
int32_t fdl_layout_init(struct fdl_layout *layout, uint32_t batch_size,
                        uint32_t views, const struct fdl_output_format *format,
                        const struct fdl_mix_room *mix, bool jobs)
{
    uint64_t bytes = fdl_output_bytes(format);
    struct fdl_layout made = {.format = *format,
                              .batch_size = batch_size,
                              .views = views,
                              .jobs = jobs,
                              .scratch_bytes = jobs ? scratch(batch_size) : 0,
                              .sample_bytes = bytes,
                              .all_views_bytes = views * bytes};
    if (mix) {
        made.classes = mix->classes;
        made.late_steps = mix->late_steps;
    }
    if (mix && !mix->on_device)
        made.left_bytes =
            bytes / fdl_dtype_bytes(format->dtype) + FDL_PLANE_ALIGN;
    int32_t status = init_fixed(&made);
    if (status == FEEDLINE_OK)
        *layout = made;
    return status;
}

int32_t fdl_layout_init_chains(struct fdl_layout *layout, uint32_t batch_size,
                               uint32_t views,
                               const struct fdl_output_format *formats)
{
    struct fdl_layout made = {.format = formats[0],
                              .batch_size = batch_size,
                              .views = views,
                              .chains = true,
                              .sample_bytes = fdl_output_bytes(&formats[0])};
    for (uint32_t v = 0; v < views; v++) {
        made.view[v] = (struct fdl_view_place){
            .format = formats[v],
            .bytes = fdl_output_bytes(&formats[v]),
            .before = made.all_views_bytes,
        };
        made.all_views_bytes += made.view[v].bytes;
    }
    int32_t status = init_fixed(&made);
    if (status == FEEDLINE_OK)
        *layout = made;
    return status;
}

/* A sample that failed may have taken its room; another in its place then takes
 * as much as any may need, and that is the last. */
int32_t fdl_layout_init_various(struct fdl_layout *layout, uint32_t batch_size,
                                const struct fdl_output_format *format,
                                uint64_t max_bytes, bool again)
{
    struct fdl_layout made = {
        .format = *format, .batch_size = batch_size, .views = 1};
    size_t room, end = 0, spare;
    uint64_t spare_at;
    fdl_assert(format->width == 0 && format->height == 0);
    made.sample_bytes = made.all_views_bytes = max_bytes;
    if (max_bytes > SIZE_MAX ||
        !align_up((size_t)max_bytes, FDL_SLAB_ALIGN, &room) ||
        !place_columns(&made, 0, FDL_COLUMNS, &end) ||
        !place(batch_size, room, FDL_SLAB_ALIGN, &made.at[FDL_COLUMN_IMAGES],
               &end))
        return fail_layout(&made);
    spare = end;
    if (again && !place(batch_size, room, FDL_SLAB_ALIGN, &spare_at, &spare))
        return fail_layout(&made);
    made.delivered = *format;
    made.bytes = end;
    made.reserved = spare;
    *layout = made;
    return FEEDLINE_OK;
}

uint64_t fdl_layout_moved_bytes(const struct fdl_layout *layout)
{
    uint64_t images = layout->jobs ? fdl_layout_room(layout)
                                   : layout->batch_size / layout->views *
                                         layout->all_views_bytes;
    return layout->at[FDL_COLUMN_IMAGES] + images;
}

uint64_t fdl_layout_share(const struct fdl_layout *layout)
{
    return (layout->sample_bytes + FDL_SLAB_ALIGN - 1) &
           ~(uint64_t)(FDL_SLAB_ALIGN - 1);
}

uint64_t fdl_layout_room(const struct fdl_layout *layout)
{
    return layout->batch_size * fdl_layout_share(layout);
}

FDL_HOT bool fdl_layout_is_various(const struct fdl_layout *layout)
{
    return layout->format.width == 0;
}

void fdl_format_shape(const struct fdl_output_format *f, uint32_t count,
                      int64_t shape[4])
{
    int64_t nchw[4] = {count, f->channels, f->height, f->width};
    int64_t nhwc[4] = {count, f->height, f->width, f->channels};
    memcpy(shape, f->nhwc ? nhwc : nchw, sizeof(nchw));
}

void fdl_batch_shape(const struct fdl_layout *layout, uint32_t count,
                     int64_t shape[4])
{
    fdl_format_shape(&layout->delivered,
                     layout->chains ? count / layout->views : count, shape);
}
