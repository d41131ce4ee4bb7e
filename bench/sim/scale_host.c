/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated host; see scale_host.h. */
#include "scale_host.h"

#include "families_own.h"

static double step_seconds(void)
{
    return JOB_PLAYED / JOB_IMAGES_S;
}

double job_asks(uint32_t ranks)
{
    return ranks * JOB_IMAGES_S / (1 + JOB_EXCHANGE_PART);
}

static void set_storage(struct sim_scenario *s, bool object_store)
{
    s->latency = (struct sim_draw){
        .mean = object_store ? JOB_FIRST_BYTE : JOB_DISK_LATENCY,
        .cv = 0.5,
    };
    s->burst_rate = object_store ? JOB_LATE_PART : 0;
    s->burst = JOB_LATE;
}

struct sim_cluster job_of(uint32_t ranks, bool object_store)
{
    uint32_t local = ranks < JOB_GPUS ? ranks : JOB_GPUS;
    double load = JOB_IMAGES_S / JOB_CORE_S;
    struct sim_cluster j = {
        .hosts = ranks / local,
        .steps = ranks > 512 ? 32 : 96,
        .port = JOB_PORT,
        .exchange = JOB_EXCHANGE_PART * step_seconds(),
        .tells = JOB_TELLS * (ranks > 1024 ? ranks / 1024.0 : 1),
        .straggler = ranks / local,
        .differs = {.cores = 1, .step = 1, .latency = 1},
    };
    sim_plain(&j.host, step_seconds(), JOB_CORES, load);
    j.host.loaders = local;
    j.host.batch_size = JOB_PLAYED;
    j.host.work.mean = 1 / JOB_CORE_S;
    j.host.step.cv = 0.01; /* a GPU's */
    j.host.consumer_cores = 1;
    j.host.read_bytes = JOB_IMAGE_BYTES;
    set_storage(&j.host, object_store);
    sim_bounds(&j.host);
    return j;
}
