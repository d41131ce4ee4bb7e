/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in memory; see headroom_trial.h. */
#include "tools/loaderbench/headroom/headroom_trial.h"

#include "tools/loaderbench/tool.h"

#include <feedline/files.h>
#include <feedline/packed.h>

#include <stdbool.h>
#include <stdlib.h>

#define MOST_BYTES (UINT64_C(256) << 20)

enum { AS_IS, PACKED };

static bool has_memory(struct headroom_trial *t, uint64_t most)
{
    for (int k = AS_IS; k <= PACKED; k++) {
        t->data[k] = calloc(most, sizeof(*t->data[k]));
        t->sizes[k] = calloc(most, sizeof(*t->sizes[k]));
    }
    return t->data[AS_IS] && t->data[PACKED] && t->sizes[AS_IS] &&
           t->sizes[PACKED];
}

/* Takes over `bytes` bytes. */
static void add(struct headroom_trial *t, void *data, uint64_t bytes)
{
    uint64_t i = t->samples++;
    t->data[AS_IS][i] = t->data[PACKED][i] = data;
    t->sizes[AS_IS][i] = t->sizes[PACKED][i] = bytes;
    if (!(feedline_features() & FEEDLINE_FEATURE_PACKED) ||
        feedline_jpeg_pack(data, bytes, &t->data[PACKED][i],
                           &t->sizes[PACKED][i]) < 0) {
        t->data[PACKED][i] = data;
        t->sizes[PACKED][i] = bytes;
        return;
    }
    t->n_packed++;
    t->bytes += bytes;
    t->packed_bytes += t->sizes[PACKED][i];
}

static int read_some(const feedline_config *config, feedline_dataset *from,
                     uint64_t count, uint64_t most, struct headroom_trial *t)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < most && sum < MOST_BYTES; i++) {
        void *data;
        uint64_t bytes;
        uint64_t index = (uint64_t)((double)i * (double)count / (double)most);
        if (tool_interrupted())
            return TOOL_INTERRUPTED;
        if (feedline_dataset_read(config, from, index, &data, &bytes) < 0)
            continue;
        sum += bytes;
        add(t, data, bytes);
    }
    return TOOL_DONE;
}

static int open_kind(struct headroom_trial *t, int kind, feedline_dataset **out)
{
    int32_t status =
        feedline_dataset_open_memory((const void *const *)t->data[kind],
                                     t->sizes[kind], NULL, t->samples, out);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

int headroom_trial_make(const feedline_config *config, feedline_dataset *from,
                        uint64_t most, struct headroom_trial *out)
{
    uint64_t count = 0;
    *out = (struct headroom_trial){0};
    int32_t status = feedline_dataset_get_count(from, &count);
    if (status < 0)
        return tool_setup_failed(status);
    most = most < count ? most : count;
    if (!has_memory(out, most))
        return tool_no_memory();
    int rc = read_some(config, from, count, most, out);
    if (rc != TOOL_DONE || out->n_packed == 0)
        return rc;
    rc = open_kind(out, AS_IS, &out->as_is);
    return rc == TOOL_DONE ? open_kind(out, PACKED, &out->packed) : rc;
}

void headroom_trial_free(struct headroom_trial *t)
{
    feedline_dataset_close(t->as_is);
    feedline_dataset_close(t->packed);
    for (uint64_t i = 0; i < t->samples; i++) {
        if (t->data[PACKED][i] != t->data[AS_IS][i])
            free(t->data[PACKED][i]);
        free(t->data[AS_IS][i]);
    }
    for (int k = AS_IS; k <= PACKED; k++) {
        free(t->data[k]);
        free(t->sizes[k]);
    }
}
