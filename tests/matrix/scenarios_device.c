/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios about a GPU: the double of the CUDA driver copies and computes in
 * real time, that of NVML says what such a GPU would be seen to do.
 */
#include "fixture.h"
#include "scenarios.h"

#include <feedline/packed.h>

#define BUSY_GPU "utilization 97\nsm 88\nclock 1900\nmax_clock 1980\n"

static void on_device(struct scene *s)
{
    s->device = true;
    s->cuda = "devices=1,latency_us=20,gbps=8,hash=0";
    s->nvml = BUSY_GPU;
    s->side = 64;
    scene_option(s, "finish=host ");
}

/* Batches wait for the GPU. */
static void gpu_bound(struct scene *s)
{
    on_device(s);
    s->kernel_ns = scene_vary(s, 14 * MS);
    s->synchronise = dice_below(&s->dice, 2) != 0;
    s->sleep_ns = scene_vary(s, 2 * MS);
}

static void inefficient(struct scene *s)
{
    gpu_bound(s);
    s->nvml = "utilization 97\nsm 21\nclock 1900\nmax_clock 1980\n";
}

static void capped(struct scene *s)
{
    static const char *const says[] = {
        "utilization 98\nsm 88\nclock 1100\nmax_clock 1980\nreasons 4\n"
        "power 300000\npower_limit 300000\n",
        "utilization 98\nsm 88\nclock 900\nmax_clock 1980\nreasons 64\n"};
    gpu_bound(s);
    s->nvml = says[dice_below(&s->dice, 2)];
}

/* Ten seconds of a program that asks nothing of its GPU. */
static void unused(struct scene *s)
{
    on_device(s);
    s->nvml = "utilization 0\nsm 0\n";
    s->step_ns = scene_vary(s, 80 * MS);
    s->sleep_ns = scene_vary(s, 2 * MS);
    s->batches = 160;
}

/* Logging, checkpoints, a loop in an interpreter. */
static void host_bound(struct scene *s)
{
    on_device(s);
    s->nvml = "utilization 12\nsm 9\nclock 1900\nmax_clock 1980\n";
    s->kernel_ns = scene_vary(s, 2 * MS);
    s->step_ns = scene_vary(s, 14 * MS);
    s->sleep_ns = scene_vary(s, 2 * MS);
}

/* 768 KiB at 64 MB/s: 12 ms a copy. With less and slower, measuring the bus,
 * which goes before, would take ten seconds. */
static void slow_bus(struct scene *s)
{
    on_device(s);
    s->cuda = "devices=1,latency_us=20,gbps=0.064,hash=0";
    s->side = 256;
    s->kernel_ns = scene_vary(s, 3 * MS);
    s->sleep_ns = scene_vary(s, MS / 2);
}

/* Six launches of 3 ms a batch, in one epoch: at the end of each the device is
 * waited for. */
static void slow_kernels(struct scene *s)
{
    void *packed;
    uint64_t size, bytes;
    uint8_t *file = fixture_jpeg(1, &size);
    on_device(s);
    if (feedline_jpeg_pack(file, size, &packed, &bytes) < 0)
        s->why_not = "built without jpegint.h, or no AVX2";
    else
        free(packed);
    free(file);
    s->packed = true;
    s->cuda = "devices=1,latency_us=20,gbps=8,hash=0,decode_us=3000";
    s->kernel_ns = scene_vary(s, 2 * MS);
    scene_option(s, "decode=device layout=nhwc repeats=8 epoch_samples=512 ");
}

/* The consumer keeps all it can, works, and lets go of it when that is done: so
 * the next copy begins when the GPU has nothing to do. */
static void no_overlap(struct scene *s)
{
    on_device(s);
    s->cuda = "devices=1,latency_us=20,gbps=0.08,hash=0";
    s->side = 256;
    s->hold = 2;
    s->synchronise = true;
    scene_option(s, "depth=1 workers=4 ");
    s->kernel_ns = scene_vary(s, 10 * MS);
}

const struct scenario device_scenarios[] = {
    {"XFER_BOUND", "copies of 12 ms for kernels of 3 ms", slow_bus, false},
    {"DEVICE_DECODE_BOUND", "kernels that decode take 18 ms, others 2 ms",
     slow_kernels, false},
    {"COPY_NOT_OVERLAPPED",
     "copies of 10 ms begin when the kernel of 10 ms is done", no_overlap,
     false},
    {"GPU_BOUND", "kernels of 14 ms, batches are there", gpu_bound, false},
    {"GPU_KERNEL_INEFFICIENT", "the same, and 21 % of the SMs are at work",
     inefficient, false},
    {"GPU_CAPPED", "the same, and power or heat holds the clock down", capped,
     false},
    {"CONSUMER_HOST_BOUND", "kernels of 2 ms in steps of 14 ms on the host",
     host_bound, false},
    {"GPU_UNUSED", "13 s of steps without any kernel", unused, false},
    {NULL, NULL, NULL, false}};
