/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option --model NAME@GPU: how many images a second the training of a known
 * network takes on one GPU, as somebody has published it, and what a machine
 * that was measured has to do with that. model_rates.c is the table.
 */
#ifndef LOADERBENCH_MODEL_H
#define LOADERBENCH_MODEL_H

#include "tools/loaderbench/cli/cli.h"

#include <jansson.h>

struct model_source {
    const char *name;    /* who measured, and where it is published */
    const char *date;    /* of the software */
    const char *version; /* of it */
    const char *url;
    const char *what; /* was measured; which version of the file */
};

struct model_rate {
    const char *name;  /* "resnet50@a100" */
    const char *words; /* "ResNet-50 on an A100" */
    double images_per_second;
    const struct model_source *source;
};

extern const struct model_rate model_rates[];
extern const size_t n_model_rates;

/* The row; NULL: none, which was said, with the closest. */
const struct model_rate *model_find(const char *name);

/* The whole table with its sources, on standard output. */
void model_list(void);

/* For the row of the option, in which its value is `f`. */
extern const struct cli_known model_known;
#define CLI_MODEL(f)                                                           \
  {                                                                            \
    "model", "NAME@GPU",                                                       \
        "steps of a known training, as resnet50@a100\n"                        \
        "Sets --consumer-ms to the batch's time by a published rate, and "     \
        "says "                                                                \
        "how much of that GPU this machine can feed. --model list shows all.", \
        VALUE_KNOWN(f, &model_known)                                           \
  }

/* Of what run_json_one made: the rate and its source; what part of it this
 * machine can load (fed_fraction; at_least: it may be more); and how many more
 * cores the rest would take (more_cores; null: cores are not what is missing,
 * or it is not known; 0 where not all is fed: those that there are would do, if
 * nothing else ran on them). */
json_t *model_json(const struct model_rate *rate, const json_t *run);

/* Adds that to a document as "model", unless rate is NULL. */
void model_add(json_t *doc, const struct model_rate *rate, const json_t *run);

/* What the object says, in two sentences, as a paragraph on standard output;
 * nothing for NULL. */
void model_text(const json_t *model);

#endif
