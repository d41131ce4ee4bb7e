/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes docs/statistics.md from the table of statistics, through the public
 * interface only. The test compares; to renew the page:
 *
 *     build/tests/docs/statistics_page > docs/statistics.md
 */
#include <feedline/statistics.h>

#include <stdio.h>

/* A name of a metric, or nothing; labels are in it. */
static void print_row(const struct feedline_stat_info *row)
{
    static const char *const ranks[] = {"", "sum", "largest"};
    printf("| `%s` | %s | ", row->name, row->unit);
    if (row->metric[0])
        printf("`feedline_%s`", row->metric);
    printf(" | %s | %s |\n", ranks[row->merge], row->help);
}

static void print_part(const char *part, const char *of)
{
    struct feedline_stat_info row = {.struct_size = sizeof(row)};
    printf("\n## %s\n\n%s\n\n"
           "| name | unit | metric | ranks | meaning |\n"
           "|---|---|---|---|---|\n",
           part, of);
    for (uint32_t i = 0; feedline_stat_get_info(part, i, &row) == FEEDLINE_OK;
         i++)
        print_row(&row);
}

int main(void)
{
    puts("# Statistics\n\n"
         "Made from the table of statistics (`feedline_stat_get_info`); "
         "`tests/docs` keeps it true.\n\n"
         "Each section is an object of `feedline_loader_stats_json`, of "
         "`Loader.stats()` in Python, of a line of the log and of the document "
         "of `loaderbench run`; *queue*, *machine* and *gpu* are what the live "
         "page and `loaderbench top` have of the moment. A name with a dot is "
         "a member of an object in it. *metric* is the name in the metrics "
         "file ([live.md](live.md)), *ranks* how the numbers of several ranks "
         "become one. What the numbers mean together is in "
         "[profiling.md](profiling.md).");
    print_part("stats", "The consumer, since the start or the last reset.");
    print_part("stall", "The waits of the consumer, by what the awaited batch "
                        "was doing. Besides: `host_fraction` of the wall time "
                        "and `device_fraction` of the device's.");
    print_part("stages", "An object for each stage, with its `name`.");
    print_part("workers", "The time of all worker threads, without a gap.");
    print_part("transfer", "Copies to a device; null with `device=host`. "
                           "`finish` is where batches are finished.");
    print_part("gaps", "Steps of the consumer that took far too long.");
    print_part("slow_samples", "The slowest samples, with `path` and the "
                               "`stage` that took longest.");
    print_part("headroom", "What would be gained, and of each of `stages` the "
                           "batches per second it could do alone.");
    print_part("tuner", "What the tuner does. Besides: `finish` and "
                        "`stall_of`, host or device; `converged_batch` and "
                        "`converged_seconds`, null until it has settled; "
                        "`cpu_seconds` of its thread.");
    print_part("queue", "What is in flight.");
    print_part("machine", "What the process uses and may use.");
    print_part("gpu", "What NVML says of the GPU.");
    return 0;
}
