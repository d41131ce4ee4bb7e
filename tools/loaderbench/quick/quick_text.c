/* SPDX-License-Identifier: Apache-2.0 */
/* The answer in the order in which one asks: what is it about, how fast, why
 * not faster, what to do, what does that gain. */
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/quick/quick.h"
#include "tools/loaderbench/tool.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COLUMN     10
#define GAIN_LEAST 0.02 /* smaller ones are noise */
#define ALSO_SHOWN 3    /* of doctor's findings */
#define PART_BYTES 1024

/* "Speed     ..." */
static void row(const char *name, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void row(const char *name, const char *fmt, ...)
{
    char text[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    printf("%s%-*s%s", tool_colour("\033[1m"), COLUMN, name,
           tool_colour("\033[0m"));
    cli_print_wrapped(text, COLUMN, COLUMN);
}

void quick_text_found(const json_t *doc)
{
    const json_t *run = json_object_get(doc, "run");
    const char *kind = doc_text(doc, "data.kind");
    double quota = doc_or_0(run, "machine.cpu_quota");
    char cores[64] = "", gpu[64] = "no GPU";
    int32_t gpus = feedline_device_count();
    struct feedline_device_info info = {.struct_size = sizeof(info)};
    if (quota > 0)
        snprintf(cores, sizeof(cores), " (quota %.3g)", quota);
    if (gpus > 0 && feedline_device_look("cuda:0", &info) >= 0)
        snprintf(gpu, sizeof(gpu), "%s", info.name);
    row("Machine", "%.0f of %.0f cores%s, %s, %.1f GiB; %s",
        doc_or_0(run, "machine.cpus_allowed"),
        doc_or_0(run, "machine.cpus_online"), cores,
        doc_text(run, "machine.cpu_model"),
        doc_or_0(run, "machine.memory_limit_bytes") / 1073741824, gpu);
    if (strcmp(kind, "made") == 0)
        row("Images",
            "%.0f photos, made for this and removed again: below this folder "
            "there are none. 'loaderbench FOLDER' takes yours.",
            doc_or_0(run, "dataset.samples"));
    else
        row("Images", "%s: %.0f images%s", doc_text(doc, "data.where"),
            doc_or_0(run, "dataset.samples"),
            strncmp(doc_text(doc, "data.uri"), "list:", 5) == 0
                ? ", wherever they lie in it"
                : "");
    fflush(stdout);
}

static void print_speed(const json_t *run)
{
    const json_t *shape = doc_at(run, "run.batch_shape");
    double failed = doc_or_0(run, "result.failed_samples");
    char bad[96] = "", consumer[64] = "";
    if (failed > 0)
        snprintf(bad, sizeof(bad),
                 "; %.0f could not be used, 'loaderbench scan' names them",
                 failed);
    if (doc_or_0(run, "run.consumer_ms") > 0)
        snprintf(consumer, sizeof(consumer), " and steps of %.3g ms",
                 doc_or_0(run, "run.consumer_ms"));
    row("Speed",
        "%.0f images/s, %.0f per CPU second, with " TOOL_COUNT
        ", batches of %lld%s%s",
        doc_or_0(run, "result.images_per_second"),
        doc_or_0(run, "result.images_per_cpu_second"),
        TOOL_COUNT_OF(doc_or_0(run, "tuner.workers"), "worker"),
        json_integer_value(json_array_get(shape, 0)), consumer, bad);
}

/* "0.78 of ResNet-50 on an A100, ..." */
static void print_feeds(const json_t *doc)
{
    const json_t *feeds = json_object_get(doc, "feeds");
    char text[PART_BYTES];
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(feeds) && n < sizeof(text); i++) {
        const json_t *m = json_array_get(feeds, i);
        double part = doc_or_0(m, "fed_fraction");
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              part >= 10 ? "%s%.0f of %s" : "%s%.2g of %s",
                              i ? ", " : "", part, doc_text(m, "words"));
    }
    row("Feeds", "%s, by published rates ('loaderbench help models')", text);
}

/* What was tried, the largest first, is one of these. */
static const struct {
    const char *key, *words, *how;
} gains[] = {
    {"packing", "packed images", "loaderbench pack --store packed"},
    {"jpeg_index", "an index of the JPEGs", "option --jpeg-index"},
    {"two_workers", "two more workers", "option --workers"},
};
#define N_GAINS (sizeof(gains) / sizeof(*gains))

static double measured_gain(const json_t *doc, size_t i)
{
    return doc_number(doc_at(doc, "headroom.measured"), gains[i].key);
}

static void print_gain(const json_t *doc)
{
    double predicted = doc_or_0(doc, "run.verdict.predicted_gain");
    char text[PART_BYTES] = "", gain[TOOL_GAIN];
    size_t n = 0;
    bool shown[N_GAINS] = {false};
    if (predicted > 0) {
        tool_gain(predicted, gain);
        n = (size_t)snprintf(text, sizeof(text),
                             "%s images/s by that, predicted. ", gain);
    }
    for (size_t round = 0; round < N_GAINS; round++) {
        size_t best = N_GAINS;
        for (size_t i = 0; i < N_GAINS; i++) {
            double x = measured_gain(doc, i);
            if (!shown[i] && x >= GAIN_LEAST &&
                (best == N_GAINS || x > measured_gain(doc, best)))
                best = i;
        }
        if (best == N_GAINS)
            break;
        tool_gain(measured_gain(doc, best), gain);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s by %s (%s)",
                              round ? ", " : "Tried: ", gain, gains[best].words,
                              gains[best].how);
        shown[best] = true;
    }
    if (n > 0)
        row("Gain", "%s", text);
    else
        row("Gain", "none: nothing that was tried is faster.");
}

/* Of doctor's words, which stand behind a level there. A name such as
 * vm.overcommit_memory stays as it is. */
static const char *sentence(const char *words, char *out, size_t room)
{
    snprintf(out, room, "%s", words);
    if (out[strspn(out, "abcdefghijklmnopqrstuvwxyz")] == ' ')
        out[0] = (char)toupper((unsigned char)out[0]);
    return out;
}

/* Doctor's, the worst first. */
static void print_also(const json_t *doc)
{
    static const char *const levels[] = {"error", "warning"};
    const json_t *findings = doc_at(doc, "doctor.findings");
    size_t found = 0;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < json_array_size(findings); i++) {
            const json_t *f = json_array_get(findings, i);
            if (strcmp(doc_text(f, "level"), levels[k]) != 0)
                continue;
            char text[PART_BYTES], remedy[PART_BYTES];
            if (found++ < ALSO_SHOWN)
                row(found == 1 ? "Also" : "", "%s. %s.",
                    sentence(doc_text(f, "text"), text, sizeof(text)),
                    sentence(doc_text(f, "remedy"), remedy, sizeof(remedy)));
        }
    if (found > ALSO_SHOWN)
        row("", "and %zu more: 'loaderbench doctor'", found - ALSO_SHOWN);
}

static void print_next(const json_t *doc)
{
    const char *where = doc_text(doc, "data.where");
    if (!*where || strpbrk(where, " '\"$\\"))
        where = "FOLDER";
    if (*doc_text(doc, "report"))
        row("Report", "%s", doc_text(doc, "report"));
    putchar('\n');
    cli_print("With your own time of a training step, and all that the tool "
              "can do:");
    printf("  loaderbench run %s --consumer-ms 50\n"
           "  loaderbench help\n",
           where);
}

void quick_text(const json_t *doc)
{
    const json_t *run = json_object_get(doc, "run");
    if (json_is_true(json_object_get(doc, "interrupted")))
        printf("Interrupted; results so far:\n");
    print_speed(run);
    print_feeds(doc);
    row("Cause", "%s: %s", doc_text(run, "verdict.code"),
        doc_text(run, "verdict.sentence"));
    if (*doc_text(run, "verdict.action"))
        row("Remedy", "%s", doc_text(run, "verdict.action"));
    print_gain(doc);
    print_also(doc);
    print_next(doc);
}
