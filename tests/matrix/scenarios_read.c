/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios about storage. */
#include "scenarios.h"

#define LARGE_FILE (200u * 1024)
#define SMALL_FILE (4u * 1024)

static void latency(struct scene *s)
{
    scene_option(s, "io_depth=2 ");
    s->file_bytes = LARGE_FILE;
    s->step_ns = scene_vary(s, 4 * MS);
    s->storage.latency_ns = scene_vary(s, 8 * MS);
}

static void small_files(struct scene *s)
{
    latency(s);
    s->file_bytes = SMALL_FILE;
}

/* More reads at once, of which none comes sooner. */
static void ask_for_more(struct scene *s, feedline_loader *l, uint32_t batch)
{
    if (batch == s->warm + s->batches / 2)
        (void)feedline_loader_set_int(l, "io_depth", 8);
}

void slow_disk(struct scene *s, uint32_t file_bytes, double bytes_per_second)
{
    scene_option(s, "io_depth=2 ");
    s->batches = 400; /* growth is known by whole seconds */
    s->file_bytes = file_bytes;
    s->step_ns = scene_vary(s, 2 * MS);
    s->storage.bytes_per_second =
        (int64_t)(bytes_per_second * dice_between(&s->dice, 0.8, 1.2));
    s->before = ask_for_more;
}

static void bandwidth(struct scene *s)
{
    slow_disk(s, LARGE_FILE, 50e6);
}

/* The first epoch comes from a device, the others from memory. */
static void warm_up(struct scene *s, feedline_loader *l, uint32_t batch)
{
    (void)l;
    if (batch == SCENE_IMAGES / SCENE_BATCH)
        slow_reads_set(&(struct slow_reads){0});
    (void)s;
}

static void cold_cache(struct scene *s)
{
    scene_option(s, "io_depth=2 ");
    s->warm = 0;
    s->file_bytes = LARGE_FILE;
    s->step_ns = scene_vary(s, 5 * MS);
    s->storage.latency_ns = scene_vary(s, 20 * MS);
    s->before = warm_up;
}

static void periodic(struct scene *s)
{
    scene_option(s, "io_depth=1 depth=2 workers=2 ");
    s->batches = 150;
    s->file_bytes = LARGE_FILE;
    s->step_ns = scene_vary(s, 5 * MS);
    s->storage.hiccup_every = (6 + dice_below(&s->dice, 5)) * SCENE_BATCH;
    s->storage.hiccup_ns = scene_vary(s, 60 * MS);
}

const struct scenario read_scenarios[] = {
    {"FETCH_LATENCY_BOUND", "reads of 200 KiB take 8 ms each, 2 at a time",
     latency, false},
    {"SMALL_FILES", "reads of 4 KiB take 8 ms each, 2 at a time", small_files,
     false},
    {"FETCH_BW_BOUND", "storage of 50 MB/s, I/O depth is raised from 2 to 8",
     bandwidth, false},
    {"COLD_CACHE", "reads take 20 ms in the first epoch, then nothing",
     cold_cache, false},
    {"PERIODIC_STALL", "every 6th to 10th batch one read takes 60 ms more",
     periodic, false},
    {NULL, NULL, NULL, false}};
