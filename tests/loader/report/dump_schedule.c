/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the schedule of a trace says of steps 0 .. n-1, for
 * trace_files.py. */
#include "profiler/trace/trace_schedule.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static const char *const names[] = {"NONE", "WARMUP", "RECORD",
                                        "RECORD_AND_SAVE"};
    uint64_t v[6];
    if (argc != 7)
        return 2;
    for (int i = 0; i < 6; i++)
        v[i] = strtoull(argv[i + 1], NULL, 10);
    struct fdl_trace_schedule s = {v[0], v[1], v[2], v[3], v[4]};
    for (uint64_t step = 0; step < v[5]; step++)
        puts(names[fdl_trace_action_at(&s, step)]);
    return 0;
}
