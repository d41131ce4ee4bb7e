/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's checks: one function per finding, in files by subject. */
#ifndef FDL_PROFILER_DOCTOR_OWN_H
#define FDL_PROFILER_DOCTOR_OWN_H

#include "base/compiler.h"
#include "profiler/doctor/doctor_facts.h"

/* X(id, judge): in the order in which they are listed. */
#define FDL_FINDINGS(X)                                                        \
  X(cpu_quota)                                                                 \
  X(cpu_throttling)                                                            \
  X(affinity)                                                                  \
  X(other_load)                                                                \
  X(math_threads)                                                              \
  X(ranks)                                                                     \
  X(governor)                                                                  \
  X(clocksource)                                                               \
  X(simd)                                                                      \
  X(memory)                                                                    \
  X(memory_pressure)                                                           \
  X(swap)                                                                      \
  X(page_cache)                                                                \
  X(huge_pages)                                                                \
  X(overcommit)                                                                \
  X(memlock)                                                                   \
  X(shm)                                                                       \
  X(kernel)                                                                    \
  X(io_uring)                                                                  \
  X(open_files)                                                                \
  X(threads_limit)                                                             \
  X(read_ahead)                                                                \
  X(gpu)                                                                       \
  X(cuda_versions)                                                             \
  X(gpu_numa)                                                                  \
  X(nvml)                                                                      \
  X(gpu_clocks)                                                                \
  X(gpu_busy)                                                                  \
  X(gpu_memory)

/* false: nothing is known about it, or it does not matter here, so there is no
 * finding. */
#define FDL_DECLARE_JUDGE(id)                                                  \
  bool fdl_diagnose_##id(const struct fdl_doctor_facts *f,                     \
                         struct fdl_finding *out);
FDL_FINDINGS(FDL_DECLARE_JUDGE)
#undef FDL_DECLARE_JUDGE

/* Fills a finding; true. */
bool fdl_find(struct fdl_finding *out, enum fdl_finding_level level,
              const char *remedy, const char *format, ...) FDL_PRINTF(4, 5);
bool fdl_find_ok(struct fdl_finding *out, const char *format, ...)
    FDL_PRINTF(2, 3);

#define FDL_KIB(bytes) ((double)(bytes) / 1024)
#define FDL_MIB(bytes) ((double)(bytes) / 1048576)
#define FDL_GIB(bytes) ((double)(bytes) / 1073741824)

/* Cores that the threads of one process can use at the same time. */
double fdl_doctor_cores(const struct fdl_doctor_facts *f);

/* 6.1 of "6.1.0-13-amd64" as 601, 0 if it cannot be read. */
uint32_t fdl_doctor_kernel(const struct fdl_doctor_facts *f);

#endif
