/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time went: wall = user + wait + api, the wait by cause, what the
 * GPU says, and the same in the four classes that TensorFlow's Input Pipeline
 * Analyzer has for the host.
 */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_chart.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <string.h>

static const struct report_cause causes[] = {
    {"not_issued", "the batch was not begun yet"},
    {"slot", "no free slot: the consumer held them all"},
    {"fetch_queue", "reads not sent yet: I/O depth reached"},
    {"fetch", "reading files"},
    {"worker_wait", "files read, workers busy elsewhere"},
    {"prep", "decoding and augmenting"},
    {"transfer_queue", "waiting to be copied to the device"},
    {"transfer", "copying to the device"},
    {"wake", "ready, until the consumer ran again"},
    {"residual", "not attributed"},
};
#define N_CAUSES (sizeof(causes) / sizeof(*causes))

const struct report_cause *report_cause(size_t i)
{
    return i < N_CAUSES ? &causes[i] : NULL;
}

static double part(double value)
{
    return value > 0 ? value : 0; /* no NAN */
}

static void wall(FILE *f, const json_t *doc)
{
    const json_t *stats = json_object_get(doc, "stats");
    struct chart_part parts[] = {
        {"c-user", "the consumer's own work", part(doc_time(stats, "user"))},
        {"c-wait", "waiting for a batch", part(doc_time(stats, "wait"))},
        {"c-api", "the call itself", part(doc_time(stats, "api"))},
    };
    if (!json_is_object(stats))
        return;
    fputs("<h3>The consumer: wall = user + wait + api</h3>\n", f);
    chart_whole(f, "The consumer's time, split", parts, 3);
}

static void waits(FILE *f, const json_t *doc)
{
    struct chart_part parts[N_CAUSES];
    char css[N_CAUSES][32];
    double total = 0;
    for (size_t i = 0; i < N_CAUSES; i++) {
        char path[64];
        snprintf(css[i], sizeof(css[i]), "c-%s", causes[i].key);
        snprintf(path, sizeof(path), "stall.buckets.%s", causes[i].key);
        parts[i] = (struct chart_part){css[i], causes[i].words,
                                       part(doc_number(doc, path))};
        total += parts[i].value;
    }
    fputs("<h3>What it waited for</h3>\n", f);
    if (total > 0)
        chart_whole(f, "The consumer's waits by cause", parts, N_CAUSES);
    else
        fputs("<p>It never waited.</p>\n", f);
}

/* Busy time of a bucket, by what the workers did: "prep", "worker_wait". */
static void workers_meanwhile(FILE *f, const json_t *doc, const char *bucket,
                              const char *words)
{
    static const char *const kinds[][2] = {{"cpu", "on a core"},
                                           {"runq", "no core was free"},
                                           {"throttle", "CPU quota spent"},
                                           {"sleep", "slept"}};
    char text[4][HTML_SHOWN];
    double seconds[4], total = 0;
    const json_t *split = json_object_get(doc_at(doc, "stall"), bucket);
    for (size_t i = 0; i < 4; i++) {
        seconds[i] = part(doc_time(split, kinds[i][0]));
        total += seconds[i];
    }
    if (!(total > 0))
        return;
    fprintf(f, "<p><b>%s</b> ", words);
    for (size_t i = 0; i < 4; i++) {
        html_shown(seconds[i], HTML_SECONDS, text[i]);
        fprintf(f, "%s%s %s", i ? ", " : "", kinds[i][1], text[i]);
    }
    fputs(".</p>\n", f);
}

static void device(FILE *f, const json_t *doc)
{
    const json_t *transfer = json_object_get(doc, "transfer");
    if (!json_is_object(transfer))
        return;
    double span = doc_or_0(transfer, "span_seconds");
    double idle = doc_or_0(transfer, "idle_seconds");
    struct chart_part parts[] = {{"c-user", "busy", part(span - idle)},
                                 {"c-wait", "idle for want of data", idle}};
    fputs("<h3>The GPU, by its own clock</h3>\n", f);
    chart_whole(f, "The stream of the GPU, busy and idle", parts, 2);
    fputs("<p>Copied ", f);
    html_value(f, "transfer.copied_bytes", doc_number(transfer, "copied_bytes"),
               HTML_BYTES);
    fputs(" at ", f);
    html_value(f, "transfer.gigabytes_per_second",
               doc_number(transfer, "gigabytes_per_second"), HTML_NUMBER);
    fputs(" GB/s, of which the bus gives ", f);
    html_value(f, "transfer.ceiling_gigabytes_per_second",
               doc_number(transfer, "ceiling_gigabytes_per_second"),
               HTML_NUMBER);
    fputs("; ", f);
    html_value(f, "transfer.overlap_fraction",
               doc_number(transfer, "overlap_fraction"), HTML_PERCENT);
    fputs(" of it beside the consumer&#39;s work.</p>\n", f);
}

static double stage_busy(const json_t *doc, const char *name)
{
    const json_t *stages = json_object_get(doc, "stages");
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *s = json_array_get(stages, i);
        if (strcmp(doc_text(s, "name"), name) == 0)
            return part(doc_time(s, "busy"));
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
            total += part(doc_time(s, "busy"));
    }
    return total;
}

static void four_classes(FILE *f, const json_t *doc)
{
    double demand = doc_or_0(doc, "stall.buckets.fetch") +
                    doc_or_0(doc, "stall.buckets.fetch_queue");
    const double seconds[] = {demand, part(stage_busy(doc, "read") - demand),
                              preprocess(doc), stage_busy(doc, "transfer")};
    static const char *const words[] = {
        "reading data on demand (the consumer waited for it)",
        "reading data in advance", "data preprocessing",
        "enqueuing data to be transferred to the device"};
    fputs("<p class=\"tensorflow\"><b>In the classes of TensorFlow&#39;s Input "
          "Pipeline Analyzer:</b> ",
          f);
    for (size_t i = 0; i < 4; i++) {
        fprintf(f, "%s%s ", i ? "; " : "", words[i]);
        html_value(f, NULL, seconds[i], HTML_SECONDS);
    }
    fputs(". Times of all threads are added up, so they may exceed the "
          "wall.</p>\n",
          f);
}

void report_ledger(FILE *f, const json_t *doc)
{
    if (!json_is_object(json_object_get(doc, "stall")))
        return;
    html_section(f, "Where the time went");
    wall(f, doc);
    waits(f, doc);
    workers_meanwhile(f, doc, "prep", "While it was decoded, its workers:");
    workers_meanwhile(f, doc, "worker_wait",
                      "While it waited for workers, they:");
    device(f, doc);
    four_classes(f, doc);
    html_section_end(f);
}
