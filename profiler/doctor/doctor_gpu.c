/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor says of a GPU that was asked for. */
#include "profiler/doctor/doctor_own.h"

bool fdl_diagnose_gpu(const struct fdl_doctor_facts *f, struct fdl_finding *out)
{
    if (!f->wants_gpu)
        return false;
    if (!f->has_gpu)
        return fdl_find(out, FDL_FINDING_ERROR,
                        "make sure that nvidia-smi shows a GPU here (docker "
                        "--gpus all) and that the driver's libcuda.so.1 can be "
                        "loaded (or name it in FEEDLINE_LIBCUDA)",
                        "no GPU can be used: %s", f->gpu_reason);
    return fdl_find_ok(out, "%s, %s", f->gpu_name, f->gpu_pci);
}

bool fdl_diagnose_cuda_versions(const struct fdl_doctor_facts *f,
                                struct fdl_finding *out)
{
    int32_t driver = f->driver_version;
    if (!f->wants_gpu || driver <= 0)
        return false;
    return fdl_find_ok(out, "driver for CUDA %d.%d", driver / 1000,
                       driver % 1000 / 10);
}

bool fdl_diagnose_gpu_numa(const struct fdl_doctor_facts *f,
                           struct fdl_finding *out)
{
    static const char remedy[] =
        "numactl --cpunodebind=N --preferred=N, with the node of the GPU, or "
        "let the launcher bind each process to the node of its GPU";
    uint32_t allowed = f->machine.cpus_allowed;
    if (!f->has_gpu || f->numa_nodes == 0)
        return false;
    if (f->numa_nodes == 1)
        return fdl_find_ok(out, "one NUMA node");
    if (f->gpu_node < 0)
        return fdl_find(
            out, FDL_FINDING_NOTE,
            "nvidia-smi topo -m shows which cores are near; bind to those",
            "%u NUMA nodes, and the system does not say which one "
            "is the GPU's",
            f->numa_nodes);
    if (f->cpus_on_gpu_node == 0)
        return fdl_find(out, FDL_FINDING_WARNING, remedy,
                        "none of the %u cores of this process is on NUMA node "
                        "%d, where the GPU is: every batch crosses over",
                        allowed, f->gpu_node);
    if (f->cpus_on_gpu_node < allowed)
        return fdl_find(out, FDL_FINDING_NOTE,
                        "option affinity=auto binds workers there if these "
                        "cores are enough; to bind the whole program, numactl "
                        "or the launcher",
                        "%u of the %u cores of this process are on NUMA node "
                        "%d, where the GPU is",
                        f->cpus_on_gpu_node, allowed, f->gpu_node);
    return fdl_find_ok(out, "all cores are on NUMA node %d, where the GPU is",
                       f->gpu_node);
}

bool fdl_diagnose_nvml(const struct fdl_doctor_facts *f,
                       struct fdl_finding *out)
{
    if (!f->has_gpu)
        return false;
    if (f->has_nvml)
        return fdl_find_ok(out, "NVML answers, driver %s",
                           f->gpu.driver[0] ? f->gpu.driver : "unknown");
    return fdl_find(out, FDL_FINDING_NOTE,
                    "the driver's libnvidia-ml.so.1 in the container "
                    "(NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
                    "no NVML, so statistics lack use, power and clocks of the "
                    "GPU: %s",
                    f->nvml_reason);
}

bool fdl_diagnose_gpu_clocks(const struct fdl_doctor_facts *f,
                             struct fdl_finding *out)
{
    if (!f->has_nvml)
        return false;
    if (f->gpu.thermal_capped)
        return fdl_find(
            out, FDL_FINDING_WARNING,
            "improve cooling (fans, air flow, dust, neighbours), or lower the "
            "power limit for steady clocks",
            "the GPU is too hot (%.0f degrees) and lowers its clocks",
            f->gpu.temperature);
    if (f->gpu.power_capped)
        return fdl_find(out, FDL_FINDING_NOTE,
                        "nvidia-smi -q -d POWER; raise the limit with "
                        "nvidia-smi -pl (as root), if it was lowered",
                        "the GPU is at its power limit (%.0f of %.0f W) and "
                        "lowers its clocks",
                        f->gpu.power_watts, f->gpu.power_limit_watts);
    return fdl_find_ok(out, "the GPU's clocks are not throttled");
}

/* The doctor itself uses none of it. */
bool fdl_diagnose_gpu_busy(const struct fdl_doctor_facts *f,
                           struct fdl_finding *out)
{
    if (!f->has_nvml || f->gpu.utilization < 0)
        return false;
    if (f->gpu.utilization < 0.10)
        return fdl_find_ok(out, "the GPU is idle");
    return fdl_find(
        out, FDL_FINDING_WARNING,
        "nvidia-smi shows by whom; CUDA_VISIBLE_DEVICES selects another GPU",
        "the GPU is already in use, %.0f %% of the time",
        100 * f->gpu.utilization);
}

bool fdl_diagnose_gpu_memory(const struct fdl_doctor_facts *f,
                             struct fdl_finding *out)
{
    double used = f->gpu.memory_used_bytes;
    double all = f->gpu.memory_total_bytes;
    if (!f->has_nvml || used < 0 || all <= 0)
        return false;
    if (used > 0.5 * all)
        return fdl_find(
            out, FDL_FINDING_WARNING,
            "nvidia-smi shows whose it is; a process that died may "
            "have left children",
            "%.1f of %.1f GiB of the GPU's memory are already in use",
            FDL_GIB(used), FDL_GIB(all));
    return fdl_find_ok(out, "%.1f of %.1f GiB of the GPU's memory are taken",
                       FDL_GIB(used), FDL_GIB(all));
}
