/* SPDX-License-Identifier: Apache-2.0 */
/* What loaderbench scan prints, from its document. */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/scan/scan.h"
#include "tools/loaderbench/tool.h"

#include <string.h>

#define COLUMN 9 /* where names begin */

static void print_class(const char *what, const json_t *class)
{
    const char *name = doc_text(class, "name");
    printf("%s ", what);
    if (*name)
        scan_put_name(name, stdout);
    else
        printf("label %lld", (long long)doc_int(class, "label"));
    printf(" has " TOOL_COUNT,
           TOOL_COUNT_OF(doc_int(class, "samples"), "sample"));
}

static void print_totals(const json_t *doc)
{
    double seconds = doc_or_0(doc, "seconds");
    int64_t samples = doc_int(doc, "checked");
    const json_t *classes = doc_at(doc, "classes");
    if (json_is_true(doc_at(doc, "interrupted")))
        printf("Interrupted; results so far:\n");
    printf(TOOL_COUNT ", %.1f MB, in %.1f s: %.0f samples/s\n",
           TOOL_COUNT_OF(samples, "sample"), doc_or_0(doc, "bytes") * 1e-6,
           seconds, seconds > 0 ? (double)samples / seconds : 0);
    if (json_is_object(classes)) {
        int64_t used = doc_int(classes, "used");
        printf("%lld %s:", (long long)used, used == 1 ? "class" : "classes");
        print_class("", doc_at(classes, "smallest"));
        print_class(",", doc_at(classes, "largest"));
        printf(", %zu are empty\n", json_array_size(doc_at(classes, "empty")));
    }
    putchar('\n');
}

static void print_finding(const json_t *finding, uint64_t show)
{
    static const struct {
        const char *level, *colour;
    } levels[] = {
        {"error", "\033[31m"}, {"warning", "\033[33m"}, {"note", "\033[36m"}};
    const char *level = doc_text(finding, "level"), *colour = "";
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
        if (strcmp(levels[i].level, level) == 0)
            colour = levels[i].colour;
    int64_t count = doc_int(finding, "count");
    printf("%s%-9s%s%lld %s\n", tool_colour(colour), level,
           tool_colour("\033[0m"), (long long)count, doc_text(finding, "what"));
    size_t i;
    json_t *sample;
    json_array_foreach(doc_at(finding, "samples"), i, sample)
    {
        if (i >= show)
            break;
        const char *name = doc_text(sample, "name");
        const char *why = doc_text(sample, "reason");
        printf("%*s", COLUMN, "");
        if (*name)
            scan_put_name(name, stdout);
        else
            printf("sample %lld", (long long)doc_int(sample, "index"));
        printf("%s%s\n", *why ? ": " : "", why);
    }
    if (count > (int64_t)show && show > 0)
        printf("%*s... and %lld more (--show, --json)\n", COLUMN, "",
               (long long)(count - (int64_t)show));
}

void scan_print(const json_t *doc, uint64_t show)
{
    size_t i;
    json_t *finding;
    print_totals(doc);
    json_array_foreach(doc_at(doc, "findings"), i, finding)
    {
        print_finding(finding, show);
    }
    int64_t damaged = doc_int(doc, "checked") - doc_int(doc, "usable");
    printf("%s%lld of " TOOL_COUNT " cannot be used\n",
           json_array_size(doc_at(doc, "findings")) > 0 ? "\n" : "",
           (long long)damaged,
           TOOL_COUNT_OF(doc_int(doc, "checked"), "sample"));
    scan_print_mixing(doc_at(doc, "shuffle"));
}
