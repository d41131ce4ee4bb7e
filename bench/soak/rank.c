/* SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#include "again.h"
#include "faults.h"
#include "soak_account.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

_Static_assert(sizeof(struct rank_record) <= PIPE_BUF, "a record is one piece");

static void fill(struct rank_record *r, const struct feedline_batch_info *info)
{
    const uint8_t *pixels = info->images.data;
    size_t bytes = (size_t)info->images.stride[0];
    r->count = info->count;
    r->epoch = info->epoch;
    r->place = info->place;
    for (uint32_t i = 0; i < info->count; i++) {
        r->index[i] = info->sample_index[i];
        r->sample_status[i] = info->sample_status[i];
        r->hash[i] = account_hash(pixels + i * bytes, bytes);
    }
}

/* Where it stands. A state that cannot be had is asked for again: nothing is
 * lost by that. */
static int32_t save(feedline_loader *l, struct rank_record *r,
                    struct ends *ends)
{
    uint64_t needed, position;
    int32_t status = feedline_loader_get_position(l, &r->next_epoch, &position);
    for (int tries = 0; tries < 100; tries++) {
        status = feedline_loader_save(l, r->state, sizeof(r->state), &needed);
        if (status >= 0)
            return status;
        ends->times[-status % STATUSES]++;
    }
    return status;
}

static void take(feedline_loader *l, struct rank_record *r, struct ends *ends)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    feedline_batch *b = NULL;
    *r = (struct rank_record){.status = again_next(l, ends, &b)};
    if (r->status == FEEDLINE_OK)
        r->status = feedline_batch_get_info(b, &info);
    if (r->status == FEEDLINE_OK)
        fill(r, &info);
    int32_t saved = save(l, r, ends);
    if (saved < 0)
        r->status = saved;
    feedline_batch_release(b);
}

static int serve(feedline_loader *l, struct ends *ends)
{
    struct rank_record r;
    char order;
    while (read(STDIN_FILENO, &order, 1) == 1) {
        take(l, &r, ends);
        if (write(STDOUT_FILENO, &r, sizeof(r)) != (ssize_t)sizeof(r))
            return 1;
    }
    return 0;
}

int rank_main(const struct rank_order *o)
{
    char options[512];
    struct ends ends = {{0}};
    if (o->one_in > 0)
        faults_begin(o->seed, o->one_in);
    snprintf(options, sizeof(options),
             "dtype=u8 batch_size=%u shuffle=true on_error=zero workers_max=2 "
             "memory_budget=512k jpeg_index_budget=512k rank=%" PRIu32
             " world=%" PRIu32,
             RANK_BATCH, o->rank, o->world);
    feedline_dataset *ds = again_open(o->uri, &ends);
    feedline_loader *l =
        ds ? again_create(ds, "resize width=32 height=32", options, &ends)
           : NULL;
    int status = 2;
    if (l && again_start(l, 0, o->state, &ends))
        status = serve(l, &ends);
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
    return status;
}
