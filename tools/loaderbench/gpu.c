/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/gpu.h"

#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/library.h"
#include "tools/loaderbench/tool_progress.h"

#include <feedline/bench.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX    100
#define REPEAT_BYTES  (8u << 20) /* a call copies about that much, if it may: */
#define REPEAT_COPIES 512
#define REPEATS_LOW   3
#define REPEATS_HIGH  50

int gpu_find(const char *device, struct feedline_device_info *out)
{
    memset(out, 0, sizeof(*out));
    out->struct_size = sizeof(*out);
    int32_t status = feedline_device_get_info(device, out);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

json_t *gpu_json(const struct feedline_device_info *gpu)
{
    return json_pack("{s:i, s:s, s:s, s:i, s:i, s:i, s:i}", "id", gpu->id,
                     "name", gpu->name, "pci", gpu->pci, "runtime_version",
                     gpu->runtime_version, "driver_version",
                     gpu->driver_version, "numa_node", gpu->numa_node,
                     "copy_engines", gpu->copy_engines);
}

void gpu_print(const struct feedline_device_info *gpu)
{
    printf("cuda:%d: %s, %s, driver for CUDA %d.%d", gpu->id, gpu->name,
           gpu->pci, gpu->driver_version / 1000,
           gpu->driver_version % 1000 / 10);
    if (gpu->numa_node >= 0)
        printf(", NUMA node %d", gpu->numa_node);
    printf("\n");
}

void gpu_kernels(const char *device, char *reason, size_t capacity)
{
    feedline_busy *busy = NULL;
    int32_t status = feedline_busy_create(device, &busy);
    if (status >= 0)
        status = feedline_busy_work(busy, 0);
    snprintf(reason, capacity, "%s", status < 0 ? feedline_last_error() : "");
    feedline_busy_destroy(busy);
}

void gpu_of_config(const feedline_config *cfg, char *buf, size_t capacity)
{
    json_t *config = library_json(LIBRARY_CONFIG, cfg);
    snprintf(buf, capacity, "%s", doc_text(config, "device"));
    json_decref(config);
}

double gpu_rate(double bytes, double us)
{
    return us > 0 ? bytes / us * 1e-3 : 0;
}

/* Small copies are short, so there is time for many of them, unless they are
 * many themselves. */
static uint32_t repeats_of(uint64_t bytes, uint32_t copies)
{
    uint64_t n = REPEAT_BYTES / (bytes ? bytes : 1);
    if (n > REPEAT_COPIES / copies)
        n = REPEAT_COPIES / copies;
    return n < REPEATS_LOW    ? REPEATS_LOW
           : n > REPEATS_HIGH ? REPEATS_HIGH
                              : (uint32_t)n;
}

static int time_one(const char *device, struct gpu_copy *copy, double *host,
                    double *gpu)
{
    const struct feedline_copy_test test = {
        .struct_size = sizeof(test),
        .flags = (copy->pageable ? FEEDLINE_COPY_PAGEABLE : 0) |
                 (copy->busy ? FEEDLINE_COPY_BUSY : 0),
        .bytes = copy->bytes,
        .copies = copy->copies,
        .repeats = repeats_of(copy->bytes, copy->copies),
    };
    struct feedline_copy_time t = {.struct_size = sizeof(t)};
    int32_t status = feedline_device_time_copy(device, &test, &t);
    if (status < 0)
        return tool_setup_failed(status);
    *host = t.host_us;
    *gpu = t.device_us;
    if (copy->min_us <= 0 || t.min_us < copy->min_us)
        copy->min_us = t.min_us;
    if (t.max_us > copy->max_us)
        copy->max_us = t.max_us;
    return TOOL_DONE;
}

int gpu_time_copies(const char *device, struct gpu_copy *copies, size_t n,
                    uint64_t rounds)
{
    if (rounds > ROUNDS_MAX)
        rounds = ROUNDS_MAX;
    double *host = calloc(n * rounds, sizeof(*host));
    double *gpu = calloc(n * rounds, sizeof(*gpu));
    int rc = TOOL_DONE;
    uint64_t whole = 0; /* rounds that are complete */
    const struct progress progress = {.what = "copies",
                                      .unit = "measurements",
                                      .all = n * rounds,
                                      .begin = tool_seconds()};
    if (!host || !gpu)
        rc = tool_no_memory();
    for (size_t k = 0; k < rounds * n && rc == TOOL_DONE; k++) {
        size_t round = k / n, i = k % n;
        rc = time_one(device, &copies[i], &host[i * rounds + round],
                      &gpu[i * rounds + round]);
        whole += rc == TOOL_DONE && i == n - 1;
        if (rc == TOOL_DONE && tool_interrupted())
            rc = TOOL_INTERRUPTED;
        progress_count(&progress, k + 1);
    }
    progress_line("%s", "");
    for (size_t i = 0; i < n && whole; i++) {
        copies[i].host_us = tool_median(host + i * rounds, whole);
        copies[i].device_us = tool_median(gpu + i * rounds, whole);
    }
    free(host);
    free(gpu);
    return rc;
}
