/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For benchmarks: how fast a GPU is reached, and work to keep it busy with. A
 * program that loads data does not need it. Statuses and strings as in
 * feedline.h.
 */
#ifndef FEEDLINE_BENCH_H
#define FEEDLINE_BENCH_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FEEDLINE_COPY_PAGEABLE 0x1u /* from plain memory, not from pinned    */
#define FEEDLINE_COPY_BUSY     0x2u /* while a kernel keeps the GPU busy     */

struct feedline_copy_test {
    uint32_t struct_size;
    uint32_t flags;   /* FEEDLINE_COPY_* */
    uint64_t bytes;   /* of all copies of a repeat together; at least copies */
    uint32_t copies;  /* that the bytes are split into: 1 to 4096 */
    uint32_t repeats; /* 1 to 1000 */
};

/* The median of all repeats, in microseconds. */
struct feedline_copy_time {
    uint32_t struct_size;
    uint32_t repeats;
    double host_us;   /* from the first call until the host knows of the end */
    double device_us; /* from start to end on the device's clock */
    double min_us, max_us; /* the shortest and the longest host_us */
};

/* Times copies from host memory to the device, "cuda" or "cuda:N". Blocks;
 * allocates and frees what it needs. EINVAL: `device` is not a GPU, or `test`
 * is out of range; ENOMEM; EDEVICE. Any thread. */
FEEDLINE_API int32_t feedline_device_time_copy(
    const char *device, const struct feedline_copy_test *test,
    struct feedline_copy_time *out);

struct feedline_copy_fit {
    uint32_t struct_size;
    uint32_t reserved;
    double latency_us;
    double gigabytes_per_second; /* 1e9 bytes */
    double half_bytes;  /* latency_us * bandwidth: smaller copies are latency
                          bound, larger ones bandwidth bound */
    double worst_error; /* largest relative distance of a point from the line */
};

/* Fits the line us = latency_us + bytes / bandwidth to n points (bytes[i],
 * us[i]), by least squares of relative errors. Only calculates; any thread.
 * EINVAL: fewer than two different sizes, or times that do not grow with them.
 */
FEEDLINE_API int32_t feedline_copy_fit(const uint64_t *bytes, const double *us,
                                       uint32_t n,
                                       struct feedline_copy_fit *out);

/* A stand-in for a training step, to measure with: a stream of its own, and
 * kernels that keep the GPU busy for a given time. One thread at a time. */
typedef struct feedline_busy feedline_busy;

/* device: "cuda" or "cuda:N". EINVAL: not a GPU; EDEVICE, ENOMEM. */
FEEDLINE_API int32_t feedline_busy_create(const char *device,
                                          feedline_busy **out);

/* Its stream, a cudaStream_t that lives as long as `busy`. */
FEEDLINE_API void *feedline_busy_stream(const feedline_busy *busy);

/* Queues a kernel that takes `ns`; the host does not wait. ERANGE: not 0 to
 * 10 s; EDEVICE: the driver rejects the library's kernels, with the reason in
 * the detail. */
FEEDLINE_API int32_t feedline_busy_work(feedline_busy *busy, int64_t ns);

/* Waits until all queued work is done. */
FEEDLINE_API int32_t feedline_busy_wait(feedline_busy *busy);
FEEDLINE_API void feedline_busy_destroy(feedline_busy *busy);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FEEDLINE_BENCH_H */
