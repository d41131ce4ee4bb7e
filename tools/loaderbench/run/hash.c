/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/run/hash.h"

#include <feedline/views.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct stream_hash {
    XXH3_state_t *state;
};

struct stream_hash *stream_hash_create(void)
{
    struct stream_hash *h = calloc(1, sizeof(*h));
    if (h)
        h->state = XXH3_createState();
    if (!h || !h->state || XXH3_64bits_reset(h->state) != XXH_OK) {
        stream_hash_destroy(h);
        return NULL;
    }
    return h;
}

void stream_hash_destroy(struct stream_hash *h)
{
    if (!h)
        return;
    XXH3_freeState(h->state);
    free(h);
}

static uint64_t item_bytes(int32_t dtype)
{
    if (dtype == FEEDLINE_U8)
        return 1;
    return dtype == FEEDLINE_F32 ? 4 : 2;
}

/* Image i, which has a size of its own: that, and its pixels. */
static void add_various(struct stream_hash *h,
                        const struct feedline_batch_info *info, uint32_t i)
{
    const struct feedline_tensor *t = &info->images;
    const int32_t *size = info->image_size[i];
    uint64_t channels = (uint64_t)(t->shape[1] + t->shape[3]);
    const uint8_t *pixels = t->data;
    XXH3_64bits_update(h->state, size, sizeof(info->image_size[i]));
    XXH3_64bits_update(h->state, pixels + info->image_offset[i],
                       (uint64_t)size[0] * (uint64_t)size[1] * channels *
                           item_bytes(t->dtype));
}

/* Image i of those that its view has, one of each sample. */
static int32_t add_view(struct stream_hash *h, const feedline_batch *batch,
                        uint32_t views, uint32_t i)
{
    struct feedline_tensor t;
    int32_t status = feedline_batch_get_view(batch, i % views, &t);
    if (status < 0)
        return status;
    uint64_t item = item_bytes(t.dtype);
    const uint8_t *pixels = t.data;
    pixels += (uint64_t)(t.stride[0] * (i / views)) * item;
    XXH3_64bits_update(h->state, pixels,
                       (uint64_t)(t.shape[1] * t.shape[2] * t.shape[3]) * item);
    return FEEDLINE_OK;
}

int32_t stream_hash_add(struct stream_hash *h, const feedline_batch *batch,
                        const struct feedline_batch_info *info)
{
    const int64_t *labels = info->labels.data;
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < info->count && status == FEEDLINE_OK; i++) {
        int64_t facts[3] = {info->sample_index[i], labels[i],
                            info->sample_status[i]};
        XXH3_64bits_update(h->state, facts, sizeof(facts));
        if (info->image_size)
            add_various(h, info, i);
        else
            status = add_view(h, batch, info->views, i);
    }
    return status;
}

void stream_hash_text(const struct stream_hash *h, char text[STREAM_HASH_BYTES])
{
    snprintf(text, STREAM_HASH_BYTES, "xxh3:%016" PRIx64,
             (uint64_t)XXH3_64bits_digest(h->state));
}
