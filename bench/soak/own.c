/* SPDX-License-Identifier: Apache-2.0 */
#include "own.h"

#include "faults.h"

#include <feedline/files.h>
#include <feedline/source.h>

#include <stdlib.h>
#include <string.h>

#define FAILED 77 /* no status of the library's */

struct store {
    uint64_t count;
    void **data;
    uint64_t *sizes;
};

static int32_t read_sample(struct feedline_read_call *call)
{
    const struct store *s = call->context;
    uint64_t size = s->sizes[call->index];
    void *buffer = call->buffer;
    if (faults_callback())
        return FAILED;
    if (size > call->room)
        buffer = feedline_read_grow(call, size);
    call->length = size;
    if (!buffer)
        return FEEDLINE_ENOMEM;
    memcpy(buffer, s->data[call->index], size);
    return FEEDLINE_OK;
}

static void read_all(struct store *s, feedline_dataset *ds)
{
    if (feedline_dataset_get_count(ds, &s->count) < 0)
        abort();
    s->data = calloc(s->count, sizeof(*s->data));
    s->sizes = calloc(s->count, sizeof(*s->sizes));
    if (!s->data || !s->sizes)
        abort();
    for (uint64_t i = 0; i < s->count; i++)
        if (feedline_dataset_read(NULL, ds, i, &s->data[i], &s->sizes[i]) < 0)
            abort();
}

static bool load(struct store *s, const char *folder, struct ends *ends)
{
    char uri[1024];
    snprintf(uri, sizeof(uri), "tar:%s/tar/0.tar", folder);
    feedline_dataset *shard = again_open(uri, ends);
    if (shard)
        read_all(s, shard);
    feedline_dataset_close(shard);
    return shard != NULL;
}

feedline_dataset *own_open(const char *folder, struct ends *ends)
{
    static struct store store;
    if (store.count == 0 && !load(&store, folder, ends))
        return NULL;
    const struct feedline_source source = {.struct_size = sizeof(source),
                                           .name = "program",
                                           .count = store.count,
                                           .read = read_sample,
                                           .context = &store};
    return again_source(&source, ends);
}
