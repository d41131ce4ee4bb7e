/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench compare: has it become slower? For a pipeline of CI: two
 * documents of `run`, one number, an exit status.
 *
 * One run says little, as two runs of the same program differ. With --repeat a
 * document has its raw values, and half their range is taken for the noise of
 * the median; that of both is added. A loss that is smaller than this is none.
 *
 * On a machine that others use, the two sides take turns: A B A B ... Whatever
 * slows the machine down for a while then slows both runs of a pair, and their
 * ratio stays. The change is the median of the ratios, and its interval is by
 * their order alone (the sign test's), so a few spoilt pairs do no harm.
 */
#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/report/report.h"
#include "tools/loaderbench/tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct compare_options {
    const char *fail_below, *metric, *json;
    bool quiet;
};

/* What can be compared, and whether more of it is better. */
static const struct metric {
    const char *name, *path;
    bool more_is_better;
} metrics[] = {
    {"images_per_second", "result.images_per_second", true},
    {"images_per_cpu_second", "result.images_per_cpu_second", true},
    {"first_batch_seconds", "result.first_batch_seconds", false},
    {"max_rss_bytes", "result.max_rss_bytes", false},
};
#define METRIC_NAMES                                                           \
  "images_per_second|images_per_cpu_second|first_batch_seconds|"               \
  "max_rss_bytes"

#define VALUES struct compare_options
static const struct cli_option options[] = {
    {"fail-below", "P%",
     "exit with 1 if B is worse than A by more than P % [3%]\n"
     "and by more than the noise.",
     VALUE_TEXT(fail_below)},
    {"metric", "NAME",
     "what is compared [images_per_second]\n"
     "images_per_second, images_per_cpu_second, first_batch_seconds or "
     "max_rss_bytes.",
     VALUE_CHOICE(metric, METRIC_NAMES)},
    CLI_JSON(json),
    CLI_QUIET(quiet),
};

const struct cli_command command_compare = {
    .name = "compare",
    .positional = "A.json B.json",
    .positional_many = true,
    .summary = "two runs, before and after: has it become slower",
    .about =
        "Compares two runs, A before a change and B after it.\n\n"
        "Both are documents that run wrote with --json, or the statistics of a "
        "loader. The exit status is 1 if B is worse by more than --fail-below "
        "and by more than the noise, which is known if both were measured with "
        "--repeat.\n\n"
        "On a machine that others use let them take turns and give all "
        "documents in that order, A1 B1 A2 B2 ..., at least six pairs: then "
        "the median of the pairs' ratios counts, and its 95 % interval.",
    .example = "compare before.json after.json --fail-below 3%",
    CLI_TABLE(.fail_below = "3%"),
    .run = compare_main,
};

/* Of the raw values; NAN: not known. */
static double noise_of(const json_t *doc, const struct metric *m)
{
    return doc_noise(json_object_get(doc, "runs"), m->path);
}

/* Names of options that differ: then more was changed than the code. */
static json_t *differences(const json_t *a, const json_t *b)
{
    json_t *names = json_array();
    json_t *config = doc_mutable(doc_at(a, "config"));
    if (json_is_object(config) && json_is_object(doc_at(b, "config"))) {
        const char *key;
        json_t *value;
        json_object_foreach(config, key, value)
        {
            const json_t *other = json_object_get(doc_at(b, "config"), key);
            if (other && !json_equal(value, other))
                json_array_append_new(names, json_string(key));
        }
    }
    if (strcmp(doc_text(a, "machine.cpu_model"),
               doc_text(b, "machine.cpu_model")) != 0)
        json_array_append_new(names, json_string("machine"));
    return names;
}

static json_t *result_json(const struct metric *m, double before, double after,
                           double change, double noise, double tolerated)
{
    double loss = m->more_is_better ? -change : change;
    bool fail = loss > tolerated && (isnan(noise) || loss > noise);
    json_t *doc = document_new("compare");
    json_object_set_new(doc, "metric", json_string(m->name));
    json_object_set_new(doc, "before", json_real(before));
    json_object_set_new(doc, "after", json_real(after));
    json_object_set_new(doc, "change_fraction", json_real(change));
    json_object_set_new(doc, "noise_fraction", doc_known(noise));
    json_object_set_new(doc, "fail_below", json_real(tolerated));
    json_object_set_new(doc, "verdict", json_string(fail ? "fail" : "pass"));
    return doc;
}

static json_t *compare(const json_t *a, const json_t *b, const struct metric *m,
                       double tolerated)
{
    double before = doc_or_0(a, m->path), after = doc_or_0(b, m->path);
    double change = before > 0 ? after / before - 1 : 0;
    double noise = noise_of(a, m) + noise_of(b, m);
    json_t *doc = result_json(m, before, after, change, noise, tolerated);
    json_object_set_new(doc, "differences", differences(a, b));
    return doc;
}

/* ---- Pairs -------------------------------------------------------------- */

/* The largest k for which the k-th smallest and the k-th largest of n values
 * hold the median between them with 95 %: at most 2.5 % of n tosses of a coin
 * show fewer than k heads. 0: n is too small for any. */
static size_t sign_rank(size_t n)
{
    double term = pow(0.5, (double)n), sum = 0;
    size_t k = 0;
    for (; k < n && sum + term <= 0.025; k++) {
        sum += term;
        term *= (double)(n - k) / (double)(k + 1);
    }
    return k;
}

/* docs: A1 B1 A2 B2 ... */
static json_t *compare_pairs(json_t *const *docs, size_t pairs,
                             const struct metric *m, double tolerated)
{
    double *ratio = calloc(pairs, sizeof(*ratio));
    double *a = calloc(pairs, sizeof(*a)), *b = calloc(pairs, sizeof(*b));
    json_t *doc = NULL;
    if (ratio && a && b) {
        for (size_t i = 0; i < pairs; i++) {
            a[i] = doc_or_0(docs[2 * i], m->path);
            b[i] = doc_or_0(docs[2 * i + 1], m->path);
            ratio[i] = b[i] / a[i];
        }
        size_t k = sign_rank(pairs);
        double change = tool_median(ratio, pairs) - 1; /* sorts */
        double low = ratio[k - 1] - 1, high = ratio[pairs - k] - 1;
        /* The side of the interval where there is no change. */
        double noise = (change < 0) ? high - change : change - low;
        doc = result_json(m, tool_median(a, pairs), tool_median(b, pairs),
                          change, noise, tolerated);
        json_object_set_new(doc, "pairs", json_integer((json_int_t)pairs));
        json_object_set_new(doc, "low_fraction", json_real(low));
        json_object_set_new(doc, "high_fraction", json_real(high));
        json_object_set_new(doc, "differences", differences(docs[0], docs[1]));
    }
    free(ratio);
    free(a);
    free(b);
    return doc;
}

/* The interval becomes narrower with the square root of the pairs. */
static void put_pairs(const json_t *doc, char *out, size_t room)
{
    double pairs = doc_or_0(doc, "pairs");
    double tolerated = doc_or_0(doc, "fail_below");
    double times = doc_or_0(doc, "noise_fraction") / tolerated;
    int n = snprintf(
        out, room, " in the median of %.0f pairs, %+.1f to %+.1f %% with 95 %%",
        pairs, 100 * doc_or_0(doc, "low_fraction"),
        100 * doc_or_0(doc, "high_fraction"));
    if (tolerated > 0 && times > 1)
        snprintf(out + n, room - (size_t)n,
                 ": too wide to see a change of %.3g %%; take about %.0f pairs",
                 100 * tolerated, ceil(pairs * times * times));
}

/* What the change is to be seen beside. */
static void put_noise(const json_t *doc, char *out, size_t room)
{
    double noise = doc_number(doc, "noise_fraction");
    double tolerated = doc_or_0(doc, "fail_below");
    if (json_object_get(doc, "pairs"))
        put_pairs(doc, out, room);
    else if (isnan(noise))
        snprintf(out, room, "; measure both with --repeat to know the noise");
    else if (noise > tolerated)
        snprintf(out, room,
                 ", noise %.1f %%: too much to see a change of %.3g %%; give "
                 "--repeat a larger number",
                 100 * noise, 100 * tolerated);
    else
        snprintf(out, room, ", noise %.1f %%", 100 * noise);
}

static void print(const json_t *doc)
{
    const json_t *differ = json_object_get(doc, "differences");
    char noise[200];
    put_noise(doc, noise, sizeof(noise));
    cli_print("%s: %.6g before, %.6g after, %+.1f %%%s",
              doc_text(doc, "metric"), doc_or_0(doc, "before"),
              doc_or_0(doc, "after"), 100 * doc_or_0(doc, "change_fraction"),
              noise);
    for (size_t i = 0; i < json_array_size(differ); i++)
        printf("%s%s%s", i ? ", " : "different in both: ",
               json_string_value(json_array_get(differ, i)),
               i + 1 == json_array_size(differ) ? "\n" : "");
    cli_print("%s: a loss of more than %.3g %% fails, if it is more than the "
              "noise",
              doc_text(doc, "verdict"), 100 * doc_or_0(doc, "fail_below"));
}

static const struct metric *metric_of(const char *name)
{
    size_t i = 0;
    while (name && strcmp(metrics[i].name, name) != 0)
        i++;
    return &metrics[i];
}

static int read_run(const char *name, const char *path, json_t **doc)
{
    int rc = report_read_run("compared", name, doc);
    if (rc == TOOL_DONE && !(doc_or_0(*doc, path) > 0)) {
        tool_say("%s: %s is missing or no positive number", name, path);
        rc = TOOL_DATA;
    }
    return rc;
}

static json_t *result_of(json_t *const *docs, size_t n, const struct metric *m,
                         double tolerated)
{
    return n == 2 ? compare(docs[0], docs[1], m, tolerated)
                  : compare_pairs(docs, n / 2, m, tolerated);
}

static int deliver(const json_t *result, const struct compare_options *o)
{
    int rc = TOOL_DONE;
    if (!result)
        return tool_no_memory();
    if (output_is_free(o->quiet, o->json, NULL))
        print(result);
    if (o->json)
        rc = document_write(result, o->json);
    if (rc == TOOL_DONE && strcmp(doc_text(result, "verdict"), "fail") == 0)
        rc = TOOL_MISSED;
    return rc;
}

static int compare_files(const char *const *paths, size_t n,
                         const struct compare_options *o, double tolerated)
{
    const struct metric *m = metric_of(o->metric);
    json_t **docs = calloc(n, sizeof(*docs));
    int rc = docs ? TOOL_DONE : tool_no_memory();
    for (size_t i = 0; rc == TOOL_DONE && i < n; i++)
        rc = read_run(paths[i], m->path, &docs[i]);
    if (rc == TOOL_DONE) {
        json_t *result = result_of(docs, n, m, tolerated);
        rc = deliver(result, o);
        json_decref(result);
    }
    for (size_t i = 0; docs && i < n; i++)
        json_decref(docs[i]);
    free(docs);
    return rc;
}

int compare_main(void *values, const struct cli_parsed *parsed)
{
    const struct compare_options *o = values;
    size_t n = parsed->positionals.n;
    double tolerated = 0;
    if (n != 2 && (n % 2 || sign_rank(n / 2) == 0)) {
        tool_say("compare takes two files, A.json and B.json, or six pairs and "
                 "more, A1.json B1.json A2.json B2.json ..., not %zu files",
                 n);
        return TOOL_USAGE;
    }
    int rc = tool_parse_fraction("fail-below", o->fail_below, &tolerated);
    return rc == TOOL_DONE
               ? compare_files(parsed->positionals.items, n, o, tolerated)
               : rc;
}
