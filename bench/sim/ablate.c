/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is a rule of the tuner worth? Each scenario runs with all rules, then
 * again with one rule or a group of them off; a rule that was never asked in
 * the first run changes nothing and is not run. Rows are printed as they come:
 *
 *   model  scenario  group   time, workers and depth off / on  changes off - on
 *
 * scripts/ablation_table makes the table of them.
 */
#include "bench/sim/controllers_own.h"
#include "bench/sim/second.h"
#include "bench/sim/tournament.h"
#include "profiler/tuner/tuner_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(name, meaning) #name,
    FDL_TUNER_RULES(X)
#undef X
};

static bool off[FDL_RULES], asked[FDL_RULES];

bool fdl_tuner_rule(unsigned r)
{
    asked[r] = true;
    return !off[r];
}

struct outcome {
    double seconds, workers, depth, changes;
};

struct play {
    const char *model;
    char name[64];
    struct sim_scenario scenario; /* of the first model */
    uint64_t seed, batches;
    bool from_one;
};

static bool run(const struct play *p, struct outcome *out)
{
    if (strcmp(p->model, "second") == 0) {
        struct second_outcome o;
        if (!second_run(p->seed, (uint32_t)p->batches, p->from_one, &o))
            return false;
        *out = (struct outcome){o.seconds, o.workers, o.depth, o.changes};
        return true;
    }
    struct sim_result r;
    if (!sim_run(&p->scenario, p->from_one ? &sim_feedline_1 : &sim_feedline,
                 NULL, p->seed, &r))
        return false;
    *out = (struct outcome){r.seconds, r.workers, r.depth, (double)r.changes};
    sim_result_free(&r);
    return true;
}

/* Sets what RULE+RULE+... turns off; true: any of it was asked. */
static bool turn_off(const char *group, const bool *was_asked)
{
    bool any = false;
    memset(off, 0, sizeof(off));
    char copy[2048];
    snprintf(copy, sizeof(copy), "%s", group);
    for (char *at = strtok(copy, "+"); at; at = strtok(NULL, "+")) {
        unsigned r = 0;
        while (r < FDL_RULES && strcmp(names[r], at) != 0)
            r++;
        if (r == FDL_RULES) {
            fprintf(stderr, "tuner_ablate: no rule %s\n", at);
            exit(2);
        }
        off[r] = true;
        any |= was_asked[r];
    }
    return any;
}

static void compare(const struct play *p, char **groups, int n_groups)
{
    struct outcome on, without;
    bool was_asked[FDL_RULES];
    memset(off, 0, sizeof(off));
    memset(asked, 0, sizeof(asked));
    if (!run(p, &on))
        exit(4);
    printf("%s\t%s\t-\t%.6f\t%.3f\t%.3f\t%.0f\n", p->model, p->name, on.seconds,
           on.workers, on.depth, on.changes);
    memcpy(was_asked, asked, sizeof(asked));
    for (int i = 0; i < (n_groups ? n_groups : (int)FDL_RULES); i++) {
        const char *group = n_groups ? groups[i] : names[i];
        if (!turn_off(group, was_asked))
            continue;
        if (!run(p, &without))
            exit(4);
        printf("%s\t%s\t%s\t%.5f\t%.4f\t%.4f\t%.0f\n", p->model, p->name, group,
               without.seconds / on.seconds, without.workers / on.workers,
               without.depth / on.depth, without.changes - on.changes);
    }
    fflush(stdout);
}

static void own_model(struct play *p, const char *name, char **groups, int n)
{
    snprintf(p->name, sizeof(p->name), "%s%s", name, p->from_one ? "-1" : "");
    if (!tournament_scenario(name, &p->scenario, &p->seed)) {
        fprintf(stderr, "tuner_ablate: no scenario %s\n", name);
        exit(2);
    }
    tournament_stretch(&p->scenario, p->batches);
    compare(p, groups, n);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr,
                "usage: tuner_ablate BATCHES START SCENARIO|second/SEED... "
                "[-- RULE[+RULE]...]\n"
                "START: default or one. Without rules: each of them.\n");
        return 2;
    }
    int end = 3;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    char **groups = argv + end + (end < argc);
    int n = argc - end - (end < argc);
    for (int i = 3; i < end; i++) {
        struct play p = {.model = "own",
                         .batches = strtoull(argv[1], NULL, 10),
                         .from_one = strcmp(argv[2], "one") == 0};
        if (strncmp(argv[i], "second/", 7) != 0) {
            own_model(&p, argv[i], groups, n);
            continue;
        }
        p.model = "second";
        p.seed = strtoull(argv[i] + 7, NULL, 10);
        snprintf(p.name, sizeof(p.name), "%s%s", argv[i],
                 p.from_one ? "-1" : "");
        compare(&p, groups, n);
    }
    return 0;
}
