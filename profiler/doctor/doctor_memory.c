/* SPDX-License-Identifier: Apache-2.0 */
/* What the doctor says of memory. */
#include "profiler/doctor/doctor_own.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* A loader of 224x224 images takes a few hundred MiB, of large ones and with
 * depth more; the framework wants its part. */
#define FREE_ERROR   (256 * MIB)
#define FREE_WARNING (1 * GIB)
#define FREE_NOTE    (4 * GIB)

bool fdl_diagnose_memory(const struct fdl_doctor_facts *f,
                         struct fdl_finding *out)
{
    static const char remedy[] =
        "raise the memory limit of the container or job, or lower batch_size, "
        "depth and workers; option memory_budget bounds the loader";
    uint64_t limit = f->machine.memory_limit_bytes;
    bool grouped = limit > 0 && limit < f->machine.memory_bytes;
    if (!f->has_memory)
        return false;
    double left = FDL_GIB(f->memory_free_bytes);
    const char *where = grouped ? "under the memory limit" : "of the machine";
    double all = FDL_GIB(limit);
    if (f->memory_free_bytes < FREE_ERROR)
        return fdl_find(out, FDL_FINDING_ERROR, remedy,
                        "%.2f of %.1f GiB %s are left: a loader will be killed",
                        left, all, where);
    if (f->memory_free_bytes < FREE_WARNING)
        return fdl_find(out, FDL_FINDING_WARNING, remedy,
                        "%.2f of %.1f GiB %s are left", left, all, where);
    return fdl_find_ok(out, "%.1f of %.1f GiB %s are left", left, all, where);
}

bool fdl_diagnose_memory_pressure(const struct fdl_doctor_facts *f,
                                  struct fdl_finding *out)
{
    if (!f->has_memory_pressure)
        return false;
    if (f->memory_pressure < 0.01)
        return fdl_find_ok(out, "no task waits for memory");
    return fdl_find(
        out, FDL_FINDING_WARNING,
        "free memory, or give the job more: pages are evicted and read again",
        "for %.0f %% of the last 10 s some task waited for memory",
        100 * f->memory_pressure);
}

bool fdl_diagnose_swap(const struct fdl_doctor_facts *f,
                       struct fdl_finding *out)
{
    static const char remedy[] =
        "free memory, then swapoff -a && swapon -a (as root); for training "
        "hosts vm.swappiness=1";
    double used = FDL_GIB(f->swap_used_bytes);
    double all = FDL_GIB(f->swap_bytes);
    if (f->swap_bytes == 0)
        return fdl_find_ok(out, "no swap");
    if (f->swap_used_bytes > f->machine.memory_bytes / 20 &&
        f->swap_used_bytes > GIB)
        return fdl_find(out, FDL_FINDING_WARNING, remedy,
                        "%.1f of %.1f GiB of swap are in use", used, all);
    if (f->swap_used_bytes > 64 * MIB)
        return fdl_find(out, FDL_FINDING_NOTE, remedy,
                        "%.1f of %.1f GiB of swap are in use", used, all);
    return fdl_find_ok(out, "swap is not in use");
}

/* What is free holds the files that were read. */
bool fdl_diagnose_page_cache(const struct fdl_doctor_facts *f,
                             struct fdl_finding *out)
{
    if (!f->has_memory)
        return false;
    if (f->memory_free_bytes < FREE_NOTE)
        return fdl_find(
            out, FDL_FINDING_NOTE,
            "if the data set is larger and is read again each "
            "epoch: more memory, or smaller files (resized once)",
            "%.1f GiB are left for the page cache: each epoch reads "
            "a larger data set from storage again",
            FDL_GIB(f->memory_free_bytes));
    return fdl_find_ok(out, "%.1f GiB are left for the page cache",
                       FDL_GIB(f->memory_free_bytes));
}

bool fdl_diagnose_huge_pages(const struct fdl_doctor_facts *f,
                             struct fdl_finding *out)
{
    if (f->huge_pages[0] == '\0')
        return false;
    if (strcmp(f->huge_pages, "never") == 0)
        return fdl_find(out, FDL_FINDING_NOTE,
                        "echo madvise > /sys/kernel/mm/transparent_hugepage/"
                        "enabled (as root)",
                        "transparent huge pages are off: batches use pages of "
                        "4 KiB, with more TLB misses");
    return fdl_find_ok(out, "transparent huge pages: %s", f->huge_pages);
}

bool fdl_diagnose_overcommit(const struct fdl_doctor_facts *f,
                             struct fdl_finding *out)
{
    if (f->overcommit < 0)
        return false;
    if (f->overcommit == 2)
        return fdl_find(
            out, FDL_FINDING_NOTE,
            "sysctl vm.overcommit_memory=0, or a larger "
            "vm.overcommit_ratio (as root)",
            "strict accounting of memory (vm.overcommit_memory=2): "
            "CUDA reserves far more than it uses and may be refused");
    return fdl_find_ok(out, "vm.overcommit_memory=%d", f->overcommit);
}

/* Since 5.12 rings of io_uring are charged to the group instead. */
bool fdl_diagnose_memlock(const struct fdl_doctor_facts *f,
                          struct fdl_finding *out)
{
    uint32_t kernel = fdl_doctor_kernel(f);
    if (f->memlock_bytes == UINT64_MAX)
        return fdl_find_ok(out, "no limit of locked memory");
    if (f->memlock_bytes < 8 * MIB && kernel > 0 && kernel < 512)
        return fdl_find(out, FDL_FINDING_WARNING,
                        "ulimit -l unlimited (docker --ulimit memlock=-1, "
                        "LimitMEMLOCK=infinity in systemd)",
                        "%.0f KiB of memory may be locked, and this kernel "
                        "counts io_uring's rings against that",
                        FDL_KIB(f->memlock_bytes));
    if (f->wants_gpu)
        return fdl_find(
            out, FDL_FINDING_NOTE,
            "for RDMA and NCCL over InfiniBand: ulimit -l "
            "unlimited (docker --ulimit memlock=-1)",
            "%.0f KiB of memory may be locked; pinned memory of CUDA "
            "does not count, that of a network adapter does",
            FDL_KIB(f->memlock_bytes));
    return fdl_find_ok(out, "%.0f KiB of memory may be locked: enough here",
                       FDL_KIB(f->memlock_bytes));
}

/* feedline needs none of it; other loaders and NCCL do. */
bool fdl_diagnose_shm(const struct fdl_doctor_facts *f, struct fdl_finding *out)
{
    static const char remedy[] =
        "docker --shm-size=8g or --ipc=host; in Kubernetes an emptyDir with "
        "medium: Memory at /dev/shm";
    if (!f->has_shm)
        return false;
    if (f->shm_bytes > 64 * MIB)
        return fdl_find_ok(out, "/dev/shm has %.1f GiB", FDL_GIB(f->shm_bytes));
    return fdl_find(
        out, f->ranks > 1 ? FDL_FINDING_WARNING : FDL_FINDING_NOTE, remedy,
        "/dev/shm has %.0f MiB: too little for NCCL between "
        "processes and for workers of other loaders (feedline needs "
        "none)",
        FDL_MIB(f->shm_bytes));
}
