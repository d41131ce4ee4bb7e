/* SPDX-License-Identifier: Apache-2.0 */
#include "lane.h"

#include "own.h"
#include "soak_device.h"

#include <feedline/elsewhere.h>

#include <stdio.h>
#include <string.h>

#define BATCH 64u /* as the options say */

/* A little more memory than one lane needs. */
#define COMMON                                                                 \
  "dtype=u8 batch_size=64 workers_max=4 depth_max=8 io_depth_max=16 "          \
  "memory_budget=1m jpeg_index_budget=1m "
#define SMALL "resize width=32 height=32"

const struct lane_plan lane_plans[] = {
    {.name = "files",
     .uri = "folder:@/files",
     .operations = SMALL,
     .options = COMMON "shuffle=true reader=pread on_error=skip",
     .lasting = true,
     .whole_files = true},
    {.name = "tar",
     .uri = "tar:@/tar/{0,1}.tar",
     .operations = SMALL,
     .options = COMMON "shuffle=true on_error=zero",
     .lasting = true},
    {.name = "records",
     .uri = "idx:@/idx/images-idx3-ubyte,@/idx/labels-idx1-ubyte",
     .operations = "",
     .options = COMMON "shuffle=block block=512 lanes=4 channels=1 "
                       "on_error=zero",
     .lasting = true},
    {.name = "zip",
     .uri = "zip:@/a.zip",
     .operations = SMALL,
     .options = COMMON "shuffle=block on_error=raise epochs=1"},
    {.name = "program",
     .operations = SMALL,
     .options = COMMON "shuffle=true reader=pread on_error=skip epochs=1"},
    {.name = "server",
     .uri = "tar:http://127.0.0.1:#/0.tar",
     .operations = SMALL,
     .options = COMMON "on_error=zero",
     .lasting = true,
     .by_server = true},
    {.name = "device",
     .uri = "tar:@/tar/0.tar",
     .operations = SMALL,
     .options = COMMON "shuffle=true reader=pread on_error=zero device=cuda:0",
     .lasting = true,
     .on_device = true},
};
const uint32_t lane_plan_count = sizeof(lane_plans) / sizeof(lane_plans[0]);

/* ---- Opening ------------------------------------------------------------- */

/* @ and # as in struct lane_plan. */
static void fill_in(const char *pattern, const struct place *where, char *uri,
                    size_t room)
{
    size_t n = 0;
    for (; *pattern && n + 1 < room; pattern++) {
        if (*pattern == '@')
            n += (size_t)snprintf(uri + n, room - n, "%s", where->folder);
        else if (*pattern == '#')
            n += (size_t)snprintf(uri + n, room - n, "%u", where->port);
        else
            uri[n++] = *pattern;
    }
    uri[n < room ? n : room - 1] = '\0';
}

static bool open_set(struct lane *l)
{
    char uri[2048];
    if (l->plan->uri) {
        fill_in(l->plan->uri, l->where, uri, sizeof(uri));
        l->ds = again_open(uri, &l->ends);
    } else
        l->ds = own_open(l->where->folder, &l->ends);
    return l->ds != NULL;
}

bool lane_open(struct lane *l, const struct lane_plan *plan,
               const struct place *where)
{
    uint64_t count = 0;
    *l = (struct lane){.plan = plan, .where = where};
    if (plan->by_server && where->port == 0)
        return false;
    if (plan->on_device && !device_is_there())
        return false;
    l->dead = !open_set(l) || feedline_dataset_get_count(l->ds, &count) < 0;
    account_init(&l->account, plan->name, count);
    return true;
}

static bool begin(struct lane *l)
{
    if (l->loader)
        return true;
    if (!l->ds && !open_set(l))
        return false;
    l->loader =
        again_create(l->ds, l->plan->operations, l->plan->options, &l->ends);
    return l->loader && again_start(l->loader, l->epoch, "", &l->ends);
}

/* ---- Batches ------------------------------------------------------------- */

static void look(struct account *a, const struct feedline_batch_info *info,
                 const uint64_t *planned)
{
    const uint8_t *pixels = info->images.data;
    size_t bytes = (size_t)info->images.stride[0];
    for (uint32_t i = 0; i < info->count; i++) {
        struct seen s = {.planned = (int64_t)planned[i],
                         .index = info->sample_index[i],
                         .status = info->sample_status[i]};
        if (s.status >= 0)
            s.hash = account_hash(pixels + i * bytes, bytes);
        account_add(a, &s);
    }
}

void lane_take(struct account *a, const feedline_loader *l,
               const struct feedline_batch_info *info)
{
    uint64_t planned[BATCH];
    uint32_t copies[BATCH];
    struct feedline_planned p = {.struct_size = sizeof(p)};
    if (info->epoch != a->epoch)
        account_wrong(a, "is of another epoch");
    int32_t status = feedline_loader_plan(
        l, info->epoch, 0, info->position / BATCH, planned, copies, &p);
    if (status < 0 || p.position != info->position || p.count != info->count)
        account_wrong(a, "is in a batch that is not planned");
    else
        look(a, info, planned);
}

/* false: of a batch whose pixels the host cannot have. */
static bool take(struct lane *l, feedline_batch *b)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    if (feedline_batch_get_info(b, &info) < 0)
        return false;
    if (l->plan->on_device && !device_fetch(b, &info, &l->ends))
        return false;
    lane_take(&l->account, l->loader, &info);
    return true;
}

static void drop(struct lane *l)
{
    feedline_loader_destroy(l->loader);
    feedline_dataset_close(l->ds);
    l->loader = NULL;
    l->ds = NULL;
}

/* Whether another batch may come. */
static bool step(struct lane *l)
{
    feedline_batch *b = NULL;
    int32_t status = again_next(l->loader, &l->ends, &b);
    if (status == FEEDLINE_END)
        return false;
    if (status != FEEDLINE_OK || !take(l, b)) {
        account_wrong(&l->account, status == FEEDLINE_TIMEOUT
                                       ? "did not come within five minutes"
                                       : "did not come: an error");
        l->dead = true;
    }
    feedline_batch_release(b);
    return !l->dead;
}

void lane_epoch(struct lane *l)
{
    l->dead = l->dead || !begin(l);
    while (!l->dead && step(l))
        continue;
    account_end(&l->account);
    l->epoch++;
    if (!l->plan->lasting)
        drop(l);
}

void lane_close(struct lane *l)
{
    drop(l);
}

/* Between epochs, when the account has nothing of the next one. */
uint64_t lane_notes(struct lane *l)
{
    if (!l->loader)
        return 0;
    uint32_t n = (uint32_t)feedline_loader_failure_count(l->loader);
    uint64_t names = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct feedline_failure f = {.struct_size = sizeof(f)};
        if (feedline_loader_get_failure(l->loader, i, &f) >= 0)
            names += l->account.times[f.sample_index]++ == 0;
    }
    memset(l->account.times, 0, l->account.count);
    return n + (l->plan->whole_files ? 0 : names);
}
