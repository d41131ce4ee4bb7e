/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's management library, for the files that ask it. */
#ifndef FDL_PROFILER_NVML_LIBRARY_H
#define FDL_PROFILER_NVML_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#define FDL_NVML_SUCCESS 0

/* A function, and where its pointer is in a struct. Some were renamed: the
 * first name that is there is taken. */
struct fdl_nvml_symbol {
    size_t at;
    const char *name[2];
};

/* libnvidia-ml.so.1, or the file that FEEDLINE_NVML names, with its functions
 * in `out`, NULL for those that it lacks. For dlclose(); NULL: it cannot be
 * loaded, with the reason in why (up to `room` bytes, or NULL). */
void *fdl_nvml_load(const struct fdl_nvml_symbol *symbols, size_t n, void *out,
                    char *why, uint32_t room);

#endif
