/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time went: wall = user + wait + api, the wait by cause, and the
 * GPU by its own clock. The wait for decoding is split by what the workers did,
 * as a worker without a core calls for another remedy than a busy one.
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

#define N_KINDS 4 /* what workers do while a batch is prepared */

static const struct {
    const char *key, *css, *words, *prep_words;
} kinds[N_KINDS] = {
    {"cpu", "c-cpu", "on a core", "decoding and augmenting, on a core"},
    {"runq", "c-runq", "no core was free",
     "decoding and augmenting, no core was free"},
    {"throttle", "c-throttle", "CPU quota used up",
     "decoding and augmenting, CPU quota used up"},
    {"sleep", "c-sleep", "asleep", "decoding and augmenting, asleep"},
};

/* The wait for decoding in up to N_KINDS parts and what is left of it, which
 * is all of it in documents that do not split it. Returns how many. */
static size_t prep_parts(struct chart_part *parts, const json_t *doc)
{
    const json_t *split = doc_at(doc, "stall.prep");
    double whole = part(doc_number(doc, "stall.buckets.prep")), left = whole;
    for (size_t i = 0; i < N_KINDS; i++) {
        double seconds = part(doc_time(split, kinds[i].key));
        parts[i] =
            (struct chart_part){kinds[i].css, kinds[i].prep_words, seconds};
        left -= seconds;
    }
    if (!(left > 0.001 * whole))
        return N_KINDS;
    parts[N_KINDS] = (struct chart_part){
        "c-prep", "decoding and augmenting, not split", left};
    return N_KINDS + 1;
}

static void waits(FILE *f, const json_t *doc)
{
    struct chart_part parts[N_CAUSES + N_KINDS];
    char css[N_CAUSES][32];
    size_t n = 0;
    double total = 0;
    for (size_t i = 0; i < N_CAUSES; i++) {
        char path[64];
        if (strcmp(causes[i].key, "prep") == 0) {
            n += prep_parts(parts + n, doc);
            continue;
        }
        snprintf(css[i], sizeof(css[i]), "c-%s", causes[i].key);
        snprintf(path, sizeof(path), "stall.buckets.%s", causes[i].key);
        parts[n++] = (struct chart_part){css[i], causes[i].words,
                                         part(doc_number(doc, path))};
    }
    for (size_t i = 0; i < n; i++)
        total += parts[i].value;
    fputs("<h3>What it waited for</h3>\n", f);
    if (total > 0)
        chart_whole(f, "The consumer's waits by cause", parts, n);
    else
        fputs("<p>It never waited.</p>\n", f);
}

/* What the workers did while files that had been read waited for one. */
static void workers_meanwhile(FILE *f, const json_t *doc)
{
    const json_t *split = doc_at(doc, "stall.worker_wait");
    const char *between = "<p>While files waited for a worker, the workers "
                          "spent their time so: ";
    for (size_t i = 0; i < N_KINDS; i++) {
        double seconds = part(doc_time(split, kinds[i].key));
        if (!(seconds > 0))
            continue;
        fprintf(f, "%s%s ", between, kinds[i].words);
        html_value(f, NULL, seconds, HTML_SECONDS);
        between = ", ";
    }
    if (*between == ',')
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

void report_ledger(FILE *f, const json_t *doc)
{
    if (!json_is_object(json_object_get(doc, "stall")))
        return;
    html_section(f, "Where the time went");
    wall(f, doc);
    waits(f, doc);
    workers_meanwhile(f, doc);
    device(f, doc);
    html_section_end(f);
}
