/* SPDX-License-Identifier: Apache-2.0 */
/* "signals" of the statistics; the keys are in docs/profiling.md. */
#include "loader/report/stats_json.h"
#include "loader/watch/stats.h"
#include "profiler/system/machine.h"

/* null: not known. */
static void json_known(struct fdl_json *j, const char *key, bool known,
                       double value)
{
    if (known)
        fdl_json_double(j, key, value);
    else
        fdl_json_null(j, key);
}

static void json_gpu(const struct fdl_gpu_watched *g, struct fdl_json *j)
{
    const struct fdl_gpu_signals *s = &g->now;
    const struct {
        const char *key;
        double value;
    } known[] = {
        {"utilization", s->utilization},
        {"memory_utilization", s->memory_utilization},
        {"memory_used_bytes", s->memory_used_bytes},
        {"memory_total_bytes", s->memory_total_bytes},
        {"power_watts", s->power_watts},
        {"power_limit_watts", s->power_limit_watts},
        {"temperature", s->temperature},
        {"sm_clock_mhz", s->sm_clock_mhz},
        {"max_sm_clock_mhz", s->max_sm_clock_mhz},
        {"sm_active", s->sm_active},
        {"pcie_rx_gbps", s->pcie_rx_gbps},
        {"pcie_tx_gbps", s->pcie_tx_gbps},
        {"energy_joules", s->energy_joules},
    };
    if (!g->has_gpu) {
        fdl_json_null(j, "gpu");
        return;
    }
    fdl_json_begin_object(j, "gpu");
    for (uint32_t i = 0; i < FDL_COUNT_OF(known); i++)
        json_known(j, known[i].key, known[i].value >= 0, known[i].value);
    fdl_json_double(j, "idle_seconds", g->idle_seconds);
    fdl_json_string(j, "throttle", fdl_gpu_cap_name(s));
    fdl_json_string(j, "driver", s->driver);
    fdl_json_end_object(j);
}

static double rate(uint64_t now, uint64_t before, int64_t span_ns)
{
    return span_ns > 0 ? (double)(now - before) / (double)span_ns : 0;
}

void fdl_stats_signals_json(struct fdl_watch *watch, struct fdl_json *j)
{
    const struct fdl_machine *machine = fdl_machine_get();
    struct fdl_gpu_watched gpu;
    struct fdl_watched w;
    fdl_monitor_get(watch->monitor, &w, &gpu);
    const struct fdl_system_signals *a = &w.zero, *b = &w.system;
    int64_t span = w.span_ns;
    uint64_t total = b->host_total_ns - a->host_total_ns;
    double busy = (double)(b->host_busy_ns - a->host_busy_ns);
    fdl_json_begin_object(j, "signals");
    json_known(j, "quota_cores", machine->cpu_quota > 0, machine->cpu_quota);
    json_known(j, "throttled_seconds", b->has_throttle,
               (double)(b->throttled_ns - a->throttled_ns) / 1e9);
    json_known(j, "throttled_fraction", b->has_throttle && span > 0,
               rate(b->throttled_ns, a->throttled_ns, span));
    json_known(j, "psi_cpu_some", b->has_pressure && span > 0,
               rate(b->pressure_cpu_ns, a->pressure_cpu_ns, span));
    json_known(j, "psi_io_some", b->has_pressure && span > 0,
               rate(b->pressure_io_ns, a->pressure_io_ns, span));
    json_known(j, "psi_memory_some", b->has_pressure && span > 0,
               rate(b->pressure_memory_ns, a->pressure_memory_ns, span));
    json_known(j, "host_busy", b->has_host && total > 0,
               total ? busy / (double)total : 0);
    json_known(j, "process_cores", span > 0,
               rate(b->process_cpu_ns, a->process_cpu_ns, span));
    json_known(j, "foreign_cores", w.seconds_ns > 0,
               rate((uint64_t)w.foreign_ns, 0, w.seconds_ns));
    fdl_json_string(j, "foreign_name", w.foreign_name);
    json_known(j, "consumer_cores", w.seconds_ns > 0,
               rate((uint64_t)w.consumer_ns, 0, w.seconds_ns));
    json_known(j, "memory_bytes", b->has_memory, (double)b->memory_bytes);
    json_known(j, "memory_limit_bytes", b->memory_limit_bytes > 0,
               (double)b->memory_limit_bytes);
    fdl_json_bool(j, "run_queue_known", w.has_runq);
    json_gpu(&gpu, j);
    fdl_json_end_object(j);
}
