/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instruction set levels. Every kernel has a plain C version; faster ones are
 * chosen by level. FDL_CPU_MASK=c|avx2|avx512 in the environment (on ARM64
 * c|neon), or fdl_cpu_set_level in a test, lowers the level of the process.
 */
#ifndef FDL_BASE_CPU_H
#define FDL_BASE_CPU_H

#include <stdint.h>

enum fdl_cpu_level {
    FDL_CPU_C = 0,
    FDL_CPU_AVX2,                /* AVX2, FMA, F16C, BMI2 and PCLMULQDQ */
    FDL_CPU_NEON = FDL_CPU_AVX2, /* the first one above plain C of ARM64, where
                                    each processor has it and none has more */
    FDL_CPU_AVX512, /* F, BW, VL, VBMI, VBMI2, VNNI, BITALG and VPCLMULQDQ on
                       top: Ice Lake, Zen 4 and later */
    FDL_CPU_LEVELS
};

/* What the machine and the mask allow. */
enum fdl_cpu_level fdl_cpu_level(void);
const char *fdl_cpu_level_name(enum fdl_cpu_level level);

/* At most what the machine has; returns the level now in force. */
enum fdl_cpu_level fdl_cpu_set_level(enum fdl_cpu_level level);

#endif
