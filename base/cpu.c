/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels this process uses. Asked once per process, kept in one atomic
 * that fdl_cpu_level reads on every choice of a kernel.
 */
#include "base/cpu.h"

#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#  include <cpuid.h>
#endif

/* NULL: not on this processor. */
static const char *const level_names[FDL_CPU_LEVELS] = {
    [FDL_CPU_C] = "c",
#if defined(__aarch64__)
    [FDL_CPU_NEON] = "neon",
#else
    [FDL_CPU_AVX2] = "avx2",
    [FDL_CPU_AVX512] = "avx512",
#endif
};

static pthread_once_t level_once = PTHREAD_ONCE_INIT;
static enum fdl_cpu_level machine; /* written once, in choose_level */
static _Atomic int level_now;      /* relaxed: a number that guards nothing */

/* What processor and operating system both support. */
#if defined(__x86_64__)
/* clang 14 has no name for F16C in __builtin_cpu_supports. */
static int has_f16c(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
}

static enum fdl_cpu_level ask_machine(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("pclmul") ||
        !has_f16c())
        return FDL_CPU_C;
    if (!__builtin_cpu_supports("avx512f") ||
        !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512vbmi") ||
        !__builtin_cpu_supports("avx512vbmi2") ||
        !__builtin_cpu_supports("avx512vnni") ||
        !__builtin_cpu_supports("avx512bitalg") ||
        !__builtin_cpu_supports("vpclmulqdq"))
        return FDL_CPU_AVX2;
    return FDL_CPU_AVX512;
}
#elif defined(__aarch64__)
static enum fdl_cpu_level ask_machine(void)
{
    return FDL_CPU_NEON;
}
#else
static enum fdl_cpu_level ask_machine(void)
{
    return FDL_CPU_C;
}
#endif

/* FDL_CPU_LEVELS: no mask, or none that is understood. */
static enum fdl_cpu_level read_mask(void)
{
    const char *mask = getenv("FDL_CPU_MASK");
    if (!mask || !*mask)
        return FDL_CPU_LEVELS;
    for (int i = 0; i < FDL_CPU_LEVELS; i++) {
        if (level_names[i] && strcmp(mask, level_names[i]) == 0)
            return (enum fdl_cpu_level)i;
    }
    fdl_log(FDL_LOG_WARNING, "FDL_CPU_MASK=%s is ignored: it can be %s", mask,
            level_names[FDL_CPU_AVX512] ? "c, avx2 or avx512" : "c or neon");
    return FDL_CPU_LEVELS;
}

static void choose_level(void)
{
    machine = ask_machine();
    enum fdl_cpu_level mask = read_mask();
    atomic_store_explicit(&level_now, (int)FDL_MIN(mask, machine),
                          memory_order_relaxed);
}

enum fdl_cpu_level fdl_cpu_level(void)
{
    pthread_once(&level_once, choose_level);
    return (enum fdl_cpu_level)atomic_load_explicit(&level_now,
                                                    memory_order_relaxed);
}

const char *fdl_cpu_level_name(enum fdl_cpu_level level)
{
    bool known = (uint32_t)level < FDL_CPU_LEVELS && level_names[level];
    return known ? level_names[level] : "unknown";
}

enum fdl_cpu_level fdl_cpu_set_level(enum fdl_cpu_level level)
{
    pthread_once(&level_once, choose_level);
    enum fdl_cpu_level allowed = FDL_MIN(level, machine);
    atomic_store_explicit(&level_now, (int)allowed, memory_order_relaxed);
    return allowed;
}
