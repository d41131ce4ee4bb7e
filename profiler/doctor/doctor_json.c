/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's findings, and the facts they rest on, as JSON. */
#include "profiler/doctor/doctor_facts.h"

#include <stddef.h>

static void write_text(struct fdl_json *j, const char *key, const char *text)
{
    if (text[0] != '\0')
        fdl_json_string(j, key, text);
    else
        fdl_json_null(j, key);
}

/* Numbers whose 0 means "not known", and limits that may be endless. */
static void write_known(struct fdl_json *j, const char *key, uint64_t value)
{
    if (value > 0 && value <= INT64_MAX)
        fdl_json_int(j, key, (int64_t)value);
    else
        fdl_json_null(j, key);
}

static void write_if(struct fdl_json *j, const char *key, bool known,
                     double value)
{
    if (known)
        fdl_json_double(j, key, value);
    else
        fdl_json_null(j, key);
}

static void write_bytes(struct fdl_json *j, const char *key, bool known,
                        uint64_t bytes)
{
    if (known && bytes <= INT64_MAX)
        fdl_json_int(j, key, (int64_t)bytes);
    else
        fdl_json_null(j, key);
}

static void write_cpu(const struct fdl_doctor_facts *f, struct fdl_json *j)
{
    bool measured = f->seconds > 0;
    write_if(j, "throttled_share", measured, f->throttled_share);
    write_if(j, "other_cores", measured, f->other_cores);
    write_if(j, "clock_ns", f->clock_ns > 0, f->clock_ns);
    write_text(j, "governor", f->governor);
    write_text(j, "scaling_driver", f->scaling_driver);
    write_text(j, "clocksource", f->clocksource);
    write_text(j, "simd", f->simd);
    write_known(j, "omp_num_threads", f->omp_threads);
    write_known(j, "mkl_num_threads", f->mkl_threads);
    write_known(j, "openblas_num_threads", f->blas_threads);
    write_known(j, "local_world_size", f->ranks);
    write_known(j, "numa_nodes", f->numa_nodes);
}

static void write_memory(const struct fdl_doctor_facts *f, struct fdl_json *j)
{
    write_bytes(j, "memory_used_bytes", f->has_memory, f->memory_used_bytes);
    write_bytes(j, "memory_free_bytes", f->has_memory, f->memory_free_bytes);
    write_bytes(j, "swap_bytes", true, f->swap_bytes);
    write_bytes(j, "swap_used_bytes", true, f->swap_used_bytes);
    write_if(j, "memory_pressure", f->has_memory_pressure, f->memory_pressure);
    write_bytes(j, "memlock_bytes", true, f->memlock_bytes);
    write_bytes(j, "shm_bytes", f->has_shm, f->shm_bytes);
    write_text(j, "transparent_huge_pages", f->huge_pages);
    write_bytes(j, "overcommit", f->overcommit >= 0, (uint64_t)f->overcommit);
}

static void write_system(const struct fdl_doctor_facts *f, struct fdl_json *j)
{
    if (f->io_uring != 0)
        fdl_json_bool(j, "io_uring", f->io_uring > 0);
    else
        fdl_json_null(j, "io_uring");
    write_text(j, "io_uring_reason", f->io_uring_reason);
    write_known(j, "open_files", f->open_files);
    write_known(j, "threads", f->threads);
    write_known(j, "threads_limit", f->threads_limit);
    write_bytes(j, "read_ahead_bytes", f->has_read_ahead, f->read_ahead_bytes);
}

static void write_gpu(const struct fdl_doctor_facts *f, struct fdl_json *j)
{
    const struct fdl_gpu_signals *g = &f->gpu;
    if (!f->wants_gpu) {
        fdl_json_null(j, "gpu");
        return;
    }
    fdl_json_begin_object(j, "gpu");
    fdl_json_bool(j, "usable", f->has_gpu);
    write_text(j, "reason", f->gpu_reason);
    write_text(j, "name", f->gpu_name);
    write_text(j, "pci", f->gpu_pci);
    write_known(j, "cuda_runtime_version", 0); /* none is used any more */
    write_known(j, "cuda_driver_version", (uint64_t)f->driver_version);
    write_bytes(j, "numa_node", f->has_gpu && f->gpu_node >= 0,
                (uint64_t)f->gpu_node);
    fdl_json_bool(j, "nvml", f->has_nvml);
    write_text(j, "nvml_reason", f->nvml_reason);
    if (f->has_nvml) {
        write_text(j, "driver", g->driver);
        write_if(j, "utilization", g->utilization >= 0, g->utilization);
        write_if(j, "memory_used_bytes", g->memory_used_bytes >= 0,
                 g->memory_used_bytes);
        write_if(j, "memory_total_bytes", g->memory_total_bytes >= 0,
                 g->memory_total_bytes);
        write_if(j, "power_watts", g->power_watts >= 0, g->power_watts);
        write_if(j, "temperature", g->temperature >= 0, g->temperature);
        fdl_json_string(j, "throttle", fdl_gpu_cap_name(g));
    }
    fdl_json_end_object(j);
}

void fdl_doctor_json(const struct fdl_doctor_facts *f, struct fdl_json *j)
{
    struct fdl_finding findings[FDL_FINDINGS_MAX];
    uint32_t n = fdl_doctor_judge(f, findings);
    fdl_json_begin_array(j, "findings");
    for (uint32_t i = 0; i < n; i++) {
        fdl_json_begin_object(j, NULL);
        fdl_json_string(j, "id", findings[i].id);
        fdl_json_string(j, "level", fdl_finding_level_name(findings[i].level));
        fdl_json_string(j, "text", findings[i].text);
        fdl_json_string(j, "remedy", findings[i].remedy);
        fdl_json_end_object(j);
    }
    fdl_json_end_array(j);
    fdl_json_begin_object(j, "facts");
    fdl_machine_json(&f->machine, "machine", j);
    write_cpu(f, j);
    write_memory(f, j);
    write_system(f, j);
    write_gpu(f, j);
    fdl_json_end_object(j);
}
