/* SPDX-License-Identifier: Apache-2.0 */
/* loaderbench merge: the documents of the ranks of one training, side by side;
 * which of them is slow is judged by straggler.c. */
#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/report/report.h"
#include "tools/loaderbench/report/straggler.h"
#include "tools/loaderbench/stat.h"
#include "tools/loaderbench/tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merge_options {
    const char *json;
    bool quiet;
};

/* Of one rank, per batch. */
struct rank {
    int64_t number;
    const char *path, *code;
    double images_per_second, step_ms, wait_ms;
    double host_fraction, device_fraction; /* NAN: no device */
};

#define VALUES struct merge_options
static const struct cli_option options[] = {
    CLI_JSON(json),
    CLI_QUIET(quiet),
};

const struct cli_command command_merge = {
    .name = "merge",
    .positional = "RANK.json...",
    .positional_many = true,
    .summary = "which rank of a training is slow, and is it the loader",
    .about =
        "Compares the ranks of one training and names the straggler.\n\n"
        "Takes the documents that run writes with --json, one per rank. The "
        "straggler is the rank that the others wait for; its loader may be the "
        "cause or not.",
    .example = "merge rank0.json rank1.json",
    CLI_TABLE(0),
    .run = merge_main,
};

/* Where there is a GPU its own idle time counts, not what the host saw. */
static struct rank rank_of(const json_t *doc, const char *path, size_t i)
{
    const json_t *number = doc_at(doc, "config.rank");
    double batches = doc_or_0(doc, "result.batches");
    double seconds = doc_or_0(doc, "result.seconds");
    struct rank r = {
        .number =
            json_is_integer(number) ? json_integer_value(number) : (int64_t)i,
        .path = path,
        .code = doc_text(doc, "verdict.code"),
        .images_per_second = doc_or_0(doc, "result.images_per_second"),
        .step_ms = batches > 0 ? 1e3 * seconds / batches : 0,
        .host_fraction = doc_or_0(doc, "stall.host_fraction"),
        .device_fraction = doc_number(doc, "stall.device_fraction"),
    };
    r.wait_ms = r.step_ms * (isnan(r.device_fraction) ? r.host_fraction
                                                      : r.device_fraction);
    return r;
}

/* Documents that all say rank 0 (no option was set) are told by their order. */
static void number_ranks(struct rank *ranks, size_t n)
{
    bool distinct = true;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            distinct = distinct && ranks[i].number != ranks[k].number;
    for (size_t i = 0; !distinct && i < n; i++)
        ranks[i].number = (int64_t)i;
}

static json_t *straggler(const struct rank *ranks, size_t n)
{
    struct straggler_times *times = calloc(n, sizeof(*times));
    struct straggler found = {.at = n};
    for (size_t i = 0; times && i < n; i++)
        times[i] = (struct straggler_times){
            .step = ranks[i].step_ms, .wait = ranks[i].wait_ms, .busy = NAN};
    if (times)
        found = straggler_find(times, n);
    free(times);
    if (found.at == n)
        return json_null();
    const struct rank *r = &ranks[found.at];
    return json_pack("{s:I, s:s, s:b}", "rank", (json_int_t)r->number, "cause",
                     found.loader_at_fault ? r->code : "COMM_OR_STRAGGLER",
                     "loader_at_fault", found.loader_at_fault);
}

static json_t *merge(struct rank *ranks, size_t n)
{
    json_t *doc = document_new("merge"), *list = json_array();
    number_ranks(ranks, n);
    for (size_t i = 0; i < n; i++) {
        const struct rank *r = &ranks[i];
        json_array_append_new(
            list,
            json_pack("{s:I, s:o, s:f, s:f, s:f, s:f, s:o, s:s}", "rank",
                      (json_int_t)r->number, "file", doc_string(r->path),
                      "images_per_second", r->images_per_second, "step_ms",
                      r->step_ms, "wait_ms", r->wait_ms, "host_fraction",
                      r->host_fraction, "device_fraction",
                      doc_known(r->device_fraction), "verdict", r->code));
    }
    json_object_set_new(doc, "ranks", list);
    json_object_set_new(doc, "straggler", straggler(ranks, n));
    return doc;
}

/* What all ranks together did, by how the table merges each row; what no
 * document has is left out. */
static json_t *total_of(json_t *const *docs, size_t n, const char *part)
{
    struct feedline_stat_info row;
    json_t *total = json_object();
    for (uint32_t k = 0; stat_row(part, k, &row); k++) {
        json_t *sum = NULL;
        for (size_t i = 0; i < n && row.merge != FEEDLINE_MERGE_NONE; i++) {
            const json_t *x =
                json_object_get(json_object_get(docs[i], part), row.name);
            double a = json_number_value(sum), b = json_number_value(x);
            double both = row.merge == FEEDLINE_MERGE_SUM ? a + b : fmax(a, b);
            if (!json_is_number(x))
                continue;
            json_decref(sum);
            /* What is too large for an integer is none that was counted. */
            sum = row.scale > 1 || fabs(both) >= 9e18
                      ? json_real(both)
                      : json_integer((json_int_t)both);
        }
        if (sum)
            json_object_set_new(total, row.name, sum);
    }
    return total;
}

static json_t *totals(json_t *const *docs, size_t n)
{
    return json_pack("{s:o, s:o, s:o}", "stats", total_of(docs, n, "stats"),
                     "workers", total_of(docs, n, "workers"), "transfer",
                     total_of(docs, n, "transfer"));
}

static void print(const json_t *doc, const struct rank *ranks, size_t n)
{
    const json_t *slow = json_object_get(doc, "straggler");
    printf("rank   images/s    step ms  waits ms  verdict\n");
    for (size_t i = 0; i < n; i++)
        printf("%4lld %10.0f %10.2f %9.2f  %s\n", (long long)ranks[i].number,
               ranks[i].images_per_second, ranks[i].step_ms, ranks[i].wait_ms,
               ranks[i].code);
    if (!json_is_object(slow))
        printf("No rank holds up the others.\n");
    else if (json_is_true(doc_at(slow, "loader_at_fault")))
        printf("Rank %.0f holds up the others: it waits for its loader (%s).\n",
               doc_or_0(slow, "rank"), doc_text(slow, "cause"));
    else
        printf("Rank %.0f is slower than the others, and waits for data no "
               "longer than they do: its loader is not the cause.\n",
               doc_or_0(slow, "rank"));
}

static int merge_files(const char *const *paths, size_t n,
                       const struct merge_options *o)
{
    json_t **docs = calloc(n, sizeof(json_t *)), *result = NULL;
    struct rank *ranks = calloc(n, sizeof(*ranks));
    int rc = docs && ranks ? TOOL_DONE : TOOL_ENVIRONMENT;
    for (size_t i = 0; rc == TOOL_DONE && i < n; i++) {
        rc = report_read_run("merged", paths[i], &docs[i]);
        if (rc == TOOL_DONE)
            ranks[i] = rank_of(docs[i], paths[i], i);
    }
    if (rc != TOOL_DONE)
        goto out;
    result = merge(ranks, n);
    json_object_set_new(result, "total", totals(docs, n));
    if (output_is_free(o->quiet, o->json, NULL))
        print(result, ranks, n);
    if (o->json)
        rc = document_write(result, o->json);
out:
    json_decref(result);
    for (size_t i = 0; docs && i < n; i++)
        json_decref(docs[i]);
    free(docs);
    free(ranks);
    return rc;
}

int merge_main(void *values, const struct cli_parsed *parsed)
{
    if (parsed->positionals.n < 2) {
        tool_say("merge takes the documents of two ranks or more");
        return TOOL_USAGE;
    }
    return merge_files(parsed->positionals.items, parsed->positionals.n,
                       values);
}
