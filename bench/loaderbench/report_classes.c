/* SPDX-License-Identifier: Apache-2.0 */
/* The stages in the four classes that TensorFlow's Input Pipeline Analyzer has
 * for the host, for readers who compare the two. */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <string.h>

static double positive(double value)
{
    return value > 0 ? value : 0; /* no NAN */
}

static double stage_busy(const json_t *doc, const char *name)
{
    const json_t *stages = json_object_get(doc, "stages");
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *s = json_array_get(stages, i);
        if (strcmp(doc_text(s, "name"), name) == 0)
            return positive(doc_time(s, "busy"));
    }
    return 0;
}

/* Busy time of all stages but those of reading, copying and consuming. */
static double preprocess(const json_t *doc)
{
    static const char *const others[] = {"read", "transfer", "consume"};
    const json_t *stages = json_object_get(doc, "stages");
    double total = 0;
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *s = json_array_get(stages, i);
        size_t k = 0;
        while (k < 3 && strcmp(doc_text(s, "name"), others[k]) != 0)
            k++;
        if (k == 3)
            total += positive(doc_time(s, "busy"));
    }
    return total;
}

void report_classes(FILE *f, const json_t *doc)
{
    double demand = doc_or_0(doc, "stall.buckets.fetch") +
                    doc_or_0(doc, "stall.buckets.fetch_queue");
    const double seconds[] = {demand,
                              positive(stage_busy(doc, "read") - demand),
                              preprocess(doc), stage_busy(doc, "transfer")};
    static const char *const words[] = {
        "reading data on demand (the consumer waited for it)",
        "reading data in advance", "data preprocessing",
        "enqueuing data to be transferred to the device"};
    fputs("<details><summary>In the terms of TensorFlow&#39;s Input Pipeline "
          "Analyzer</summary>\n<p class=\"note\">",
          f);
    for (size_t i = 0; i < 4; i++) {
        fprintf(f, "%s%s ", i ? "; " : "", words[i]);
        html_value(f, NULL, seconds[i], HTML_SECONDS);
    }
    fputs(". These are sums over all threads, so they may exceed the wall "
          "time.</p></details>\n",
          f);
}
