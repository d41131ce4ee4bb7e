/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the doctor knows about an environment. Zeroed, it is a machine of which
 * nothing is known; each field documents its zero.
 */
#ifndef FDL_PROFILER_DOCTOR_FACTS_H
#define FDL_PROFILER_DOCTOR_FACTS_H

#include "base/json.h"
#include "profiler/doctor/doctor.h"
#include "profiler/system/machine.h"
#include "profiler/system/nvml.h"

#include <stdbool.h>
#include <stdint.h>

/* Another process, and the cores that it used. */
#define FDL_BUSIEST 3
struct fdl_busy {
    int32_t pid;
    double cores;
    char name[32];
};

struct fdl_doctor_facts {
    struct fdl_machine machine;

    /* Measured over a fraction of a second. */
    double seconds;         /* 0: nothing was measured */
    double throttled_share; /* of the periods in which the quota was spent */
    double other_cores;     /* that other processes used */
    double clock_ns;        /* reading the clock; 0: not known */
    struct fdl_busy busiest[FDL_BUSIEST]; /* of them, the busiest first */
    uint32_t n_busiest;

    /* The processor. */
    char governor[32], scaling_driver[32]; /* "": the system does not say */
    char clocksource[32];
    char simd[16];       /* that feedline's kernels use */
    bool simd_is_masked; /* FDL_CPU_MASK or JSIMD_FORCE* lower it */
    uint32_t omp_threads, mkl_threads, blas_threads; /* 0: not set */
    uint32_t ranks;      /* processes of the job on this host; 0: not set */
    uint32_t numa_nodes; /* 0: not known */

    /* Memory. */
    bool has_memory;            /* the next two are known */
    uint64_t memory_used_bytes; /* charged, less what can be reclaimed */
    uint64_t memory_free_bytes; /* available of the machine and under limits */
    uint64_t swap_bytes, swap_used_bytes;
    bool has_memory_pressure;
    double memory_pressure; /* PSI: some, 10 s, fraction of 1 */
    uint64_t memlock_bytes; /* UINT64_MAX: no limit */
    bool has_shm;
    uint64_t shm_bytes;
    char huge_pages[16]; /* "always", "madvise", "never", "" */
    int32_t overcommit;  /* 0, 1, 2; -1: not known */

    /* Files and threads. */
    int32_t io_uring;                /* 1: works; 0: not tried; < 0: a status */
    char io_uring_reason[256];       /* why it does not */
    uint64_t open_files;             /* 0: not known; UINT64_MAX: no limit */
    uint64_t threads, threads_limit; /* of the group; limit 0: none */
    bool has_read_ahead;
    uint64_t read_ahead_bytes; /* of the disk that has the least */

    /* The GPU, if it was asked for. */
    bool wants_gpu;
    bool has_gpu;
    char gpu_reason[256]; /* why there is none */
    char gpu_name[64], gpu_pci[16];
    int32_t driver_version;    /* of CUDA: 12040 is 12.4 */
    int32_t gpu_node;          /* NUMA; -1: not known */
    uint32_t cpus_on_gpu_node; /* of those that this process may use */
    bool has_nvml;
    char nvml_reason[256];
    struct fdl_gpu_signals gpu;
};

/* Gathers the part that is in files below a root ("" for the real one). The
 * rest of `f` is untouched. */
void fdl_doctor_read(const char *root, struct fdl_doctor_facts *f);

/* CPUs that this process may use and that are on a NUMA node. */
uint32_t fdl_doctor_cpus_on_node(const char *root, int32_t node);

/* "findings" and "facts", as members of the object that is open in j. */
void fdl_doctor_json(const struct fdl_doctor_facts *f, struct fdl_json *j);

/* "ok", "note", "warning", "error". */
const char *fdl_finding_level_name(enum fdl_finding_level level);

#endif
