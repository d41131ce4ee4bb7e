/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/read/pause.h"

#include "base/compiler.h"

#include <time.h>

#define MAX_SHIFT 6 /* 64 ms */

int64_t fdl_file_pause_ns(uint32_t tries)
{
    return (int64_t)1000000 << FDL_MIN(tries, (uint32_t)MAX_SHIFT);
}

void fdl_file_pause(uint32_t tries)
{
    int64_t ns = fdl_file_pause_ns(tries);
    struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000),
                          .tv_nsec = (long)(ns % 1000000000)};
    nanosleep(&ts, NULL);
}
