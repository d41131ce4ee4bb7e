/* SPDX-License-Identifier: Apache-2.0 */
/* What loaderbench io prints, from its document. */
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/io/io.h"
#include "tools/loaderbench/tool.h"

static void print_point(const json_t *p)
{
    double cached = doc_number(p, "cached");
    printf("%-10s %-4s %-5s %-6s %5lld %6.0f %7.0f %6.1f %7.0f %7.0f ",
           doc_text(p, "mode"), doc_text(p, "state"), doc_text(p, "reader"),
           json_is_true(doc_at(p, "refused")) ? "(no)" : doc_text(p, "direct"),
           (long long)doc_int(p, "io_depth"),
           doc_or_0(p, "bytes_per_second") * 1e-6,
           doc_or_0(p, "reads_per_second"), doc_or_0(p, "cpu_us_per_read"),
           doc_or_0(p, "p50_us"), doc_or_0(p, "p99_us"));
    if (cached < 0)
        printf("     ?\n");
    else
        printf("%4.0f %%\n", 100 * cached);
}

void io_print(const json_t *doc)
{
    const char *missing = doc_text(doc, "uring_missing");
    const json_t *chosen = doc_at(doc, "chosen");
    size_t i;
    json_t *p;
    if (json_is_true(doc_at(doc, "interrupted")))
        printf("Interrupted; results so far:\n");
    printf("%-10s %-4s %-5s %-6s %5s %6s %7s %6s %7s %7s %6s\n", "order", "",
           "reader", "direct", "depth", "MB/s", "reads/s", "CPU us", "p50 us",
           "p99 us", "cached");
    json_array_foreach(doc_at(doc, "points"), i, p)
    {
        print_point(p);
    }
    if (*missing)
        cli_print("%s", missing);
    if (!json_is_object(chosen))
        return;
    printf("\nBest: reader=%s direct=%s io_depth=%lld\n",
           doc_text(chosen, "reader"), doc_text(chosen, "direct"),
           (long long)doc_int(chosen, "io_depth"));
    cli_print("%s.", doc_text(chosen, "reason"));
}
