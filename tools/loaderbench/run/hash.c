/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/run/hash.h"

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
                        const struct feedline_batch_info *batch, uint32_t i)
{
    const struct feedline_tensor *t = &batch->images;
    const int32_t *size = batch->image_size[i];
    uint64_t channels = (uint64_t)(t->shape[1] + t->shape[3]);
    const uint8_t *pixels = t->data;
    XXH3_64bits_update(h->state, size, sizeof(batch->image_size[i]));
    XXH3_64bits_update(h->state, pixels + batch->image_offset[i],
                       (uint64_t)size[0] * (uint64_t)size[1] * channels *
                           item_bytes(t->dtype));
}

void stream_hash_add(struct stream_hash *h,
                     const struct feedline_batch_info *batch)
{
    const struct feedline_tensor *t = &batch->images;
    const int64_t *labels = batch->labels.data;
    uint64_t item = item_bytes(t->dtype);
    uint64_t bytes = (uint64_t)(t->shape[1] * t->shape[2] * t->shape[3]) * item;
    for (uint32_t i = 0; i < batch->count; i++) {
        int64_t facts[3] = {batch->sample_index[i], labels[i],
                            batch->sample_status[i]};
        XXH3_64bits_update(h->state, facts, sizeof(facts));
        if (batch->image_size) {
            add_various(h, batch, i);
            continue;
        }
        const uint8_t *pixels = t->data;
        pixels += (uint64_t)(t->stride[0] * i) * item;
        XXH3_64bits_update(h->state, pixels, bytes);
    }
}

void stream_hash_text(const struct stream_hash *h, char text[STREAM_HASH_BYTES])
{
    snprintf(text, STREAM_HASH_BYTES, "xxh3:%016" PRIx64,
             (uint64_t)XXH3_64bits_digest(h->state));
}
