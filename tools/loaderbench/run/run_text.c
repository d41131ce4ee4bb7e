/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for people, made from the same document that --json writes, so
 * that the two cannot disagree. Short, in plain words, the largest cause first.
 */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/model/model.h"
#include "tools/loaderbench/run/run.h"
#include "tools/loaderbench/stat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILURES_SHOWN 5
#define TINY           0.01 /* causes below this part of the waits are folded */

#define CAUSES_MAX 32

#define BOLD  tool_colour("\033[1m")
#define PLAIN tool_colour("\033[0m")

static const char *level_style(const char *level)
{
    if (strcmp(level, "FED") == 0 || strcmp(level, "MINOR") == 0)
        return tool_colour("\033[32m");
    return strcmp(level, "HIGH") == 0 ? tool_colour("\033[31m")
                                      : tool_colour("\033[33m");
}

#define CORES_BYTES 64

/* "2 of 4 cores, quota 1.5 cores" */
static const char *cores(const json_t *doc, char out[CORES_BYTES])
{
    double quota = doc_or_0(doc, "machine.cpu_quota");
    int n = snprintf(out, CORES_BYTES, "%.0f of %.0f cores",
                     doc_or_0(doc, "machine.cpus_allowed"),
                     doc_or_0(doc, "machine.cpus_online"));
    if (quota > 0 && n > 0 && n < CORES_BYTES)
        snprintf(out + n, (size_t)(CORES_BYTES - n), ", quota %.3g cores",
                 quota);
    return out;
}

void run_text_subject(const json_t *doc)
{
    char text[CORES_BYTES], steps[48] = "";
    double consumer = doc_or_0(doc, "run.consumer_ms");
    if (consumer > 0)
        snprintf(steps, sizeof(steps), "; consumer %g ms a batch", consumer);
    cli_print("%s: %.0f images; %s%s", doc_text(doc, "dataset.uri"),
              doc_or_0(doc, "dataset.samples"), cores(doc, text), steps);
}

static void print_header(const json_t *doc)
{
    const json_t *axes = doc_at(doc, "run.batch_shape");
    printf("%s: %.0f images, %.0f classes\n", doc_text(doc, "dataset.uri"),
           doc_or_0(doc, "dataset.samples"), doc_or_0(doc, "dataset.classes"));
    long long sides[4];
    for (size_t i = 0; i < 4; i++)
        sides[i] = json_integer_value(json_array_get(axes, i));
    char shape[96], steps[48] = "";
    if (sides[2] == 0)
        snprintf(shape, sizeof(shape), "%lld of any size", sides[0]);
    else
        snprintf(shape, sizeof(shape), "%lldx%lldx%lldx%lld", sides[0],
                 sides[1], sides[2], sides[3]);
    double consumer = doc_or_0(doc, "run.consumer_ms");
    if (consumer > 0)
        snprintf(steps, sizeof(steps), "; consumer %g ms a batch", consumer);
    cli_print(
        "batches of %s %s %s; " TOOL_COUNT ", depth %.0f, reader %s%s", shape,
        doc_text(doc, "config.dtype"), doc_text(doc, "config.layout"),
        TOOL_COUNT_OF(doc_or_0(doc, "tuner.workers"), "worker"),
        doc_or_0(doc, "tuner.depth"), doc_text(doc, "config.reader"), steps);
    char text[CORES_BYTES];
    cli_print("machine: %s, %.1f GiB, %s, Linux %s", cores(doc, text),
              doc_or_0(doc, "machine.memory_limit_bytes") / 1073741824,
              doc_text(doc, "machine.cpu_model"),
              doc_text(doc, "machine.kernel"));
    putchar('\n');
}

/* " (1180 to 1240 in 5 runs)" */
static void print_range(const json_t *doc)
{
    size_t n;
    double *x = doc_values(json_object_get(doc, "runs"),
                           "result.images_per_second", &n);
    if (n > 1) {
        tool_median(x, n); /* sorts */
        printf(" (median; %.0f to %.0f in %zu runs)", x[0], x[n - 1], n);
    }
    free(x);
}

static void print_result(const json_t *doc)
{
    double batches = doc_or_0(doc, "result.batches");
    double seconds = doc_or_0(doc, "result.seconds");
    char each[48] = "";
    printf("%s%.0f images/s%s", BOLD, doc_or_0(doc, "result.images_per_second"),
           PLAIN);
    print_range(doc);
    printf(", %.0f per CPU second\n",
           doc_or_0(doc, "result.images_per_cpu_second"));
    if (batches > 0)
        snprintf(each, sizeof(each), ", %.1f ms a batch",
                 1e3 * seconds / batches);
    cli_print(TOOL_COUNT " in %.0f batch%s in %.2f s%s; first batch after "
                         "%.0f ms; peak memory %.0f MiB",
              TOOL_COUNT_OF(doc_or_0(doc, "result.images"), "image"), batches,
              batches == 1 ? "" : "es", seconds, each,
              1e3 * doc_or_0(doc, "result.first_batch_seconds"),
              doc_or_0(doc, "result.max_rss_bytes") / 1048576);
    if (json_is_string(doc_at(doc, "result.stream_hash")))
        printf("stream %s\n", doc_text(doc, "result.stream_hash"));
}

struct cause {
    double seconds;
    const char *words;
};

static int compare_causes(const void *a, const void *b)
{
    const struct cause *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* The buckets of the wait, the largest first. */
static size_t sorted_causes(const json_t *doc, struct cause *out)
{
    static const char buckets[] = "buckets.";
    struct feedline_stat_info row;
    size_t n = 0;
    for (uint32_t i = 0; n < CAUSES_MAX && stat_row("stall", i, &row); i++) {
        if (strncmp(row.name, buckets, strlen(buckets)) != 0)
            continue;
        const json_t *seconds = json_object_get(doc_at(doc, "stall.buckets"),
                                                row.name + strlen(buckets));
        out[n++] = (struct cause){json_number_value(seconds), row.help};
    }
    qsort(out, n, sizeof(*out), compare_causes);
    return n;
}

static void print_waits(const json_t *doc)
{
    struct cause causes[CAUSES_MAX];
    size_t n = sorted_causes(doc, causes);
    double fraction = doc_or_0(doc, "stall.host_fraction"), total = 0;
    for (size_t i = 0; i < n; i++)
        total += causes[i].seconds;
    printf("\nThe consumer waited %.1f %% of the time", 100 * fraction);
    if (fraction < 0.001 || total <= 0) {
        printf(".\n");
        return;
    }
    printf(", of which\n");
    double other = 0;
    for (size_t i = 0; i < n; i++) {
        double part = causes[i].seconds / total;
        if (part < TINY)
            other += part;
        else
            printf("  %5.1f %%  %s\n", 100 * part, causes[i].words);
    }
    if (other >= 0.0005)
        printf("  %5.1f %%  other\n", 100 * other);
}

/* What the GPU's own clock says, where there is one. */
static void print_device(const json_t *doc)
{
    double copies = doc_or_0(doc, "transfer.copies");
    double ceiling = doc_or_0(doc, "transfer.ceiling_gigabytes_per_second");
    if (!json_is_object(json_object_get(doc, "transfer")))
        return;
    printf("\nGPU idle for lack of images: ");
    if (json_is_number(doc_at(doc, "stall.device_fraction")))
        printf("%.1f %% of %.1f s",
               100 * doc_or_0(doc, "stall.device_fraction"),
               doc_or_0(doc, "transfer.span_seconds"));
    else
        printf("not measured");
    if (copies > 0) {
        printf("; copies: %.1f MB each, %.1f",
               doc_or_0(doc, "transfer.copied_bytes") / copies / 1e6,
               doc_or_0(doc, "transfer.gigabytes_per_second"));
        if (ceiling > 0)
            printf(" of %.1f", ceiling);
        printf(" GB/s, %.0f %% overlapping the consumer's work",
               100 * doc_or_0(doc, "transfer.overlap_fraction"));
    }
    printf("\nfinished on the %s", doc_text(doc, "transfer.finish"));
    if (*doc_text(doc, "transfer.finish_reason"))
        printf(": %s", doc_text(doc, "transfer.finish_reason"));
    printf("\n");
}

/* ---- The tuner ---------------------------------------------------------- */

/* What a knob had before its first change; NAN: it was not changed. */
static double began_with(const json_t *decisions, const char *knob)
{
    for (size_t i = 0; i < json_array_size(decisions); i++) {
        const json_t *d = json_array_get(decisions, i);
        if (strcmp(doc_text(d, "knob"), knob) == 0)
            return doc_or_0(d, "before");
    }
    return (double)NAN;
}

/* ", workers 2 -> 3"; changed and changed back is no line either. */
static void print_knob(const json_t *doc, const char *knob, const char *words)
{
    double now = doc_or_0(doc_at(doc, "tuner"), knob);
    double then = began_with(doc_at(doc, "tuner.decisions"), knob);
    if (isnan(then) || fabs(then - now) < 0.5)
        printf(", %s %.0f", words, now);
    else
        printf(", %s %.0f -> %.0f", words, then, now);
}

/* Was what was measured all of one piece? */
static void print_settled(const json_t *doc, size_t changes)
{
    double settled = doc_or_0(doc, "tuner.converged_seconds");
    double begin = doc_or_0(doc, "run.begin_seconds");
    double end = begin + doc_or_0(doc, "result.seconds");
    double batch = doc_or_0(doc, "tuner.converged_batch");
    if (!json_is_number(doc_at(doc, "tuner.converged_batch"))) {
        printf(".\n");
        cli_print("It had not settled by the end%s. 'loaderbench tune' runs "
                  "until it has settled.",
                  changes ? ", so the speed above is an average over the "
                            "settings it tried"
                          : "");
    } else if (settled > begin && settled < end) {
        printf("; settled at batch %.0f.\n", batch);
        cli_print("That was %.1f s into the measurement: the speed above "
                  "includes what it tried before.",
                  settled - begin);
    } else {
        printf("; settled at batch %.0f.\n", batch);
    }
}

static void print_tuner(const json_t *doc)
{
    const char *mode = doc_text(doc, "tuner.mode");
    size_t n = json_array_size(doc_at(doc, "tuner.decisions"));
    if (strcmp(mode, "observe") == 0) {
        printf("\nThe tuner only observed; it would have made " TOOL_COUNT
               " (--json lists them).\n",
               TOOL_COUNT_OF(n, "change"));
    } else if (strcmp(mode, "auto") == 0) {
        printf("\nTuner: " TOOL_COUNT, TOOL_COUNT_OF(n, "change"));
        print_knob(doc, "workers", "workers");
        print_knob(doc, "depth", "depth");
        print_knob(doc, "io_depth", "I/O depth");
        print_settled(doc, n);
    }
}

static void print_stages(const json_t *doc)
{
    const json_t *stages = json_object_get(doc, "stages");
    printf("\nstage        items    busy s      p50 ms      p99 ms\n");
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *s = json_array_get(stages, i);
        double items = doc_or_0(s, "items");
        if (items <= 0)
            continue;
        printf("%-10s %7.0f %9.2f %11.3f %11.3f\n", doc_text(s, "name"), items,
               doc_or_0(s, "busy_seconds"), doc_or_0(s, "p50_us") * 1e-3,
               doc_or_0(s, "p99_us") * 1e-3);
    }
    const json_t *read = json_array_get(stages, 0);
    double bytes = doc_or_0(read, "bytes");
    if (bytes > 0 && json_is_number(doc_at(read, "storage_bytes")))
        printf("read %.0f MB; storage delivered %.0f MB, %.0f %%\n",
               bytes / 1e6, doc_or_0(read, "storage_bytes") / 1e6,
               100 * doc_or_0(read, "storage_bytes") / bytes);
}

/* A file that failed in several epochs is shown once. */
static bool shown_before(const json_t *failures, size_t i)
{
    const char *path = doc_text(json_array_get(failures, i), "path");
    for (size_t k = 0; k < i; k++)
        if (strcmp(doc_text(json_array_get(failures, k), "path"), path) == 0)
            return true;
    return false;
}

static void print_failures(const json_t *doc)
{
    const json_t *failures = json_object_get(doc, "failures");
    double failed = doc_or_0(doc, "result.failed_samples");
    if (failed <= 0)
        return;
    size_t files = 0, shown = 0;
    for (size_t i = 0; i < json_array_size(failures); i++)
        files += !shown_before(failures, i);
    printf("\n" TOOL_COUNT " of " TOOL_COUNT " could not be used:\n",
           TOOL_COUNT_OF(failed, "sample"), TOOL_COUNT_OF(files, "file"));
    for (size_t i = 0; shown < files && shown < FAILURES_SHOWN; i++) {
        const json_t *failure = json_array_get(failures, i);
        const char *path = doc_text(failure, "path");
        const char *reason = doc_text(failure, "reason");
        if (shown_before(failures, i))
            continue;
        shown++;
        /* A reason names its file where the file could not even be read. */
        if (strstr(reason, path))
            printf("  %s\n", reason);
        else
            printf("  %s: %s\n", path, reason);
    }
    if (files > shown)
        printf("  and %zu more (--json lists them)\n", files - shown);
}

static void print_verdict(const json_t *doc, const char *level)
{
    const char *code = doc_text(doc, "verdict.code");
    printf("\n%s%s%s: ", level_style(level), code, PLAIN);
    cli_print_wrapped(doc_text(doc, "verdict.sentence"), 0, strlen(code) + 2);
    if (*doc_text(doc, "verdict.action"))
        cli_print("%s", doc_text(doc, "verdict.action"));
}

void run_text(const json_t *doc, const char *table)
{
    print_header(doc);
    if (json_is_true(json_object_get(doc, "interrupted")))
        printf("Interrupted; results so far:\n");
    print_result(doc);
    print_waits(doc);
    print_device(doc);
    if (table)
        printf("\n%s", table);
    else
        print_stages(doc);
    print_tuner(doc);
    print_failures(doc);
    const char *level = doc_text(doc, "verdict.level");
    if (*level)
        print_verdict(doc, level);
    model_text(json_object_get(doc, "model"));
}
