/* SPDX-License-Identifier: Apache-2.0 */
/* The document of loaderbench pack, and what it prints from it. */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/pack/pack.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/tool.h"

#include <math.h>

#define LISTED 10

static json_t *trial_json(const struct pack *p)
{
    const struct pack_trial *t = &p->trial;
    if (t->samples == 0)
        return json_null();
    double n = (double)t->samples;
    return json_pack(
        "{s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o, s:o, s:o}", "samples",
        (json_int_t)t->samples, "failed", (json_int_t)t->failed,
        "training_size", (json_int_t)p->options->training_size,
        "mean_bytes_before", t->bytes_before / n, "mean_bytes_after",
        t->bytes_after / n, "decode_us_before", doc_known(t->decode_us_before),
        "decode_us_after", doc_known(t->decode_us_after), "mean_difference",
        doc_known(t->difference), "psnr", doc_known(t->psnr), "worst_psnr",
        doc_known(t->worst_psnr));
}

static json_t *forecast_json(const struct pack *p)
{
    const struct pack_trial *t = &p->trial;
    double bytes = 0, made = (double)(t->samples + t->failed);
    for (uint64_t i = 0; i < p->n; i++)
        bytes += (double)(shard_sample_bytes(
                              (uint64_t)((double)p->bytes[i] * p->ratio)) +
                          pack_field_bytes(p, i));
    return json_pack(
        "{s:I, s:I, s:o}", "bytes", (json_int_t)bytes, "shards",
        (json_int_t)p->n_shards, "seconds",
        doc_known(made > 0 ? t->seconds / made * (double)p->n : (double)NAN));
}

json_t *pack_document(const struct pack *p)
{
    json_t *doc = document_new("pack");
    json_t *result = json_pack(
        "{s:o, s:o, s:I, s:I, s:o, s:o, s:b, s:I, s:I, s:I, s:I, s:f, s:I, "
        "s:O, s:b, s:I, s:I}",
        "source", doc_string(p->uri), "destination", doc_string(p->folder),
        "samples", (json_int_t)p->n, "source_bytes",
        (json_int_t)p->source_bytes, "trial", trial_json(p), "forecast",
        forecast_json(p), "dry_run", p->options->dry_run, "shards_before",
        (json_int_t)p->done_before, "shards_written",
        (json_int_t)p->shards_written, "samples_written",
        (json_int_t)p->samples_written, "bytes_written",
        (json_int_t)p->bytes_written, "seconds", p->seconds, "left_out",
        (json_int_t)p->left_out, "failures", p->failures, "interrupted",
        tool_interrupted(), "packed", (json_int_t)p->packed, "stayed_jpeg",
        (json_int_t)p->stayed);
    json_object_update_new(doc, result);
    return doc;
}

static void print_trial(const json_t *trial)
{
    double before = doc_or_0(trial, "mean_bytes_before");
    double after = doc_or_0(trial, "mean_bytes_after");
    double slow = doc_or_0(trial, "decode_us_before");
    double fast = doc_or_0(trial, "decode_us_after");
    double psnr = doc_number(trial, "psnr");
    printf("Tried on " TOOL_COUNT ":\n",
           TOOL_COUNT_OF(doc_int(trial, "samples"), "sample"));
    printf("  bytes    %.1f KB becomes %.1f KB", before * 1e-3, after * 1e-3);
    printf(" (%+.0f %%)\n", before > 0 ? 100 * (after / before - 1) : 0);
    printf("  decoding %.0f us becomes %.0f us (%+.0f %%)\n", slow, fast,
           slow > 0 ? 100 * (fast / slow - 1) : 0);
    printf("  error    at %lld x %lld pixels: ",
           (long long)doc_int(trial, "training_size"),
           (long long)doc_int(trial, "training_size"));
    if (isnan(psnr))
        printf("none\n\n");
    else
        printf("%.2f of 255 on average, PSNR %.1f dB, the worst %.1f dB\n\n",
               doc_or_0(trial, "mean_difference"), psnr,
               doc_or_0(trial, "worst_psnr"));
}

static void print_forecast(const json_t *doc)
{
    double seconds = doc_number(doc, "forecast.seconds");
    printf(TOOL_COUNT " of %.1f MB: about %.1f MB in " TOOL_COUNT,
           TOOL_COUNT_OF(doc_int(doc, "samples"), "sample"),
           doc_or_0(doc, "source_bytes") * 1e-6,
           doc_or_0(doc, "forecast.bytes") * 1e-6,
           TOOL_COUNT_OF(doc_int(doc, "forecast.shards"), "shard"));
    if (!isnan(seconds))
        printf(", in about %.*f s", seconds < 10, seconds);
    putchar('\n');
}

static void print_left_out(const json_t *doc)
{
    size_t i;
    json_t *failure;
    int64_t n = doc_int(doc, "left_out");
    if (n > 0)
        printf("%lld of them left out:\n", (long long)n);
    json_array_foreach(doc_at(doc, "failures"), i, failure)
    {
        if (i == LISTED) {
            printf("  ... and %lld more (--quarantine, --json)\n",
                   (long long)n - LISTED);
            break;
        }
        printf("  %s: %s\n", doc_text(failure, "name"),
               doc_text(failure, "reason"));
    }
}

void pack_print_before(const json_t *doc)
{
    if (json_is_object(doc_at(doc, "trial")))
        print_trial(doc_at(doc, "trial"));
    print_forecast(doc);
    fflush(stdout);
}

void pack_print_after(const json_t *doc)
{
    double seconds = doc_or_0(doc, "seconds");
    int64_t before = doc_int(doc, "shards_before");
    if (json_is_true(doc_at(doc, "interrupted")))
        printf("Interrupted; the same command continues\n");
    if (before > 0)
        printf(TOOL_COUNT " there already\n", TOOL_COUNT_OF(before, "shard"));
    if (doc_int(doc, "shards_written") > 0 || before == 0)
        printf("%s: " TOOL_COUNT " in " TOOL_COUNT ", %.1f MB, in %.1f s\n",
               doc_text(doc, "destination"),
               TOOL_COUNT_OF(doc_int(doc, "samples_written"), "sample"),
               TOOL_COUNT_OF(doc_int(doc, "shards_written"), "shard"),
               doc_or_0(doc, "bytes_written") * 1e-6, seconds);
    if (doc_int(doc, "packed") > 0 || doc_int(doc, "stayed_jpeg") > 0)
        printf("%lld packed, %lld stayed as they were\n",
               (long long)doc_int(doc, "packed"),
               (long long)doc_int(doc, "stayed_jpeg"));
    print_left_out(doc);
}
