/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/model/model.h"

#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FED 0.05 /* waits that a loop does not notice */

/* ---- The table ---------------------------------------------------------- */

const struct model_rate *model_find(const char *name)
{
    struct cli_closest closest = {.name = name};
    for (size_t i = 0; i < n_model_rates; i++) {
        if (strcmp(model_rates[i].name, name) == 0)
            return &model_rates[i];
        cli_consider(&closest, model_rates[i].name);
    }
    const char *best = cli_closest_name(&closest);
    tool_say("--model: '%s' is not in the table%s%s; 'loaderbench help models' "
             "prints it. --consumer-ms takes the time of a batch as you "
             "measured it",
             name, best ? "; the closest is " : "", best ? best : "");
    return NULL;
}

static void print_source(const struct model_source *source)
{
    char about[512];
    snprintf(about, sizeof(about), "%s, %s (%s): %s", source->name,
             source->date, source->version, source->what);
    putchar('\n');
    cli_print_wrapped(about, 2, 0);
    printf("  %s\n", source->url);
}

void model_list(void)
{
    cli_print("Images a second that a training takes on one GPU, in mixed "
              "precision, as published. Yours may differ: --consumer-ms takes "
              "the time of a batch as you measured it.\n");
    for (size_t i = 0; i < n_model_rates; i++) {
        const struct model_rate *rate = &model_rates[i];
        printf("  %-26s %5.0f  %s\n", rate->name, rate->images_per_second,
               rate->words);
    }
    printf("\nSources:\n");
    for (size_t i = 0; i < n_model_rates; i++)
        if (i == 0 || model_rates[i].source != model_rates[i - 1].source)
            print_source(model_rates[i].source);
}

static void offer_names(void (*offer)(const void *self, const char *value),
                        const void *self)
{
    for (size_t i = 0; i < n_model_rates; i++)
        offer(self, model_rates[i].name);
}

const struct cli_known model_known = {offer_names, model_list};

/* ---- What a machine can feed -------------------------------------------- */

/* Images a second that the slowest of the stages could do alone; NAN: no stage
 * is known. */
static double slowest_stage(const json_t *run)
{
    const json_t *stages = doc_at(run, "headroom.stages");
    double slowest = (double)NAN, batches = doc_or_0(run, "result.batches");
    const char *name;
    json_t *rate;
    json_object_foreach(doc_mutable(stages), name, rate)
    {
        double x = json_number_value(rate);
        if (x > 0)
            slowest = fmin(slowest, x); /* of NAN and x it is x */
    }
    return batches > 0 ? slowest * doc_or_0(run, "result.images") / batches
                       : (double)NAN;
}

/* Images a second that the steps of the run would take; 0: it had none. */
static double rate_of_steps(const json_t *run)
{
    const json_t *shape = doc_at(run, "run.batch_shape");
    double ms = doc_or_0(run, "run.consumer_ms");
    double batch = json_number_value(json_array_get(shape, 0));
    return ms > 0 ? 1e3 * batch / ms : 0;
}

/* A loop that waits is given all that there is. One that does not has its steps
 * fed, whatever else the run cost; the stages tell what they could. */
static double capacity(const json_t *run, bool *at_least)
{
    double fed = rate_of_steps(run);
    double measured = doc_or_0(run, "result.images_per_second");
    const json_t *device = doc_at(run, "stall.device_fraction");
    double waits = json_is_number(device)
                       ? json_number_value(device)
                       : doc_or_0(run, "stall.host_fraction");
    double could = slowest_stage(run);
    *at_least = false;
    if (waits >= FED)
        return measured;
    if (could > fed)
        return could;
    *at_least = true;
    return fmax(measured, fed);
}

/* Do the waits come from decoding? */
static bool cores_are_missing(const json_t *run)
{
    const json_t *buckets = doc_at(run, "stall.buckets");
    double cores = doc_or_0(buckets, "prep") + doc_or_0(buckets, "worker_wait");
    const char *name;
    json_t *seconds;
    double all = 0;
    json_object_foreach(doc_mutable(buckets), name, seconds) all +=
        json_number_value(seconds);
    return cores > 0.5 * all;
}

/* 0: those that there are would do, if they were left to it. */
static json_t *more_cores(const json_t *run, double rate)
{
    double per_core = doc_or_0(run, "result.images_per_cpu_second");
    struct feedline_machine_info m = {.struct_size = sizeof(m)};
    if (!(per_core > 0) || !cores_are_missing(run) ||
        feedline_machine_get_info(&m) < 0)
        return json_null();
    return json_integer(
        (json_int_t)fmax(ceil(rate / per_core - m.cpus_usable), 0));
}

json_t *model_json(const struct model_rate *rate, const json_t *run)
{
    bool at_least;
    double could = capacity(run, &at_least);
    double part = could / rate->images_per_second;
    return json_pack(
        "{s:s, s:s, s:f, s:{s:s, s:s, s:s, s:s, s:s}, s:f, s:f, "
        "s:b, s:o}",
        "name", rate->name, "words", rate->words, "images_per_second",
        rate->images_per_second, "source", "name", rate->source->name, "date",
        rate->source->date, "version", rate->source->version, "url",
        rate->source->url, "what", rate->source->what, "loads_per_second",
        could, "fed_fraction", part, "at_least", at_least, "more_cores",
        part < 1 ? more_cores(run, rate->images_per_second) : json_integer(0));
}

void model_add(json_t *doc, const struct model_rate *rate, const json_t *run)
{
    if (rate)
        json_object_set_new(doc, "model", model_json(rate, run));
}

void model_text(const json_t *model)
{
    if (!json_is_object(model))
        return;
    double part = doc_or_0(model, "fed_fraction");
    double more = doc_number(model, "more_cores");
    char cores[160] = "", of[16];
    snprintf(of, sizeof(of), part >= 10 ? "%.0f" : "%.2g", part);
    if (part < 1 && isnan(more))
        snprintf(cores, sizeof(cores),
                 " More cores would not help: see what it waits for.");
    else if (part < 1 && more > 0)
        snprintf(cores, sizeof(cores),
                 " All of it would take about " TOOL_COUNT " more.",
                 TOOL_COUNT_OF(more, "core"));
    else if (part < 1)
        snprintf(cores, sizeof(cores),
                 " Its cores would do for all of it, if nothing else ran on "
                 "them.");
    putchar('\n');
    cli_print(
        "This machine loads%s %.0f images/s, which feeds %s of %s "
        "(%.0f images/s: %s, %s).%s",
        json_is_true(json_object_get(model, "at_least")) ? " at least" : "",
        doc_or_0(model, "loads_per_second"), of, doc_text(model, "words"),
        doc_or_0(model, "images_per_second"), doc_text(model, "source.name"),
        doc_text(model, "source.date"), cores);
}
