/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/arguments.h"

#include "base/closest.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "usage: tuner_sim [options]\n"
    "\n"
    "The tuner against other rules, in a simulator of loaders, storage, cores\n"
    "and consumers. Without arguments: every family once, the project's tuner\n"
    "and the static default, in less than a minute.\n"
    "\n"
    "What is played:\n"
    "  --family NAME      only this family of scenarios; may be repeated\n"
    "  --seeds N          scenarios of each family (1; 0 with --scenarios)\n"
    "  --scenarios N      random scenarios (0)\n"
    "  --seed S           the first seed of both; the others follow it (1);\n"
    "                     'fresh' takes one from the clock, which is said\n"
    "  --controller NAME  only this controller; may be repeated; 'all' for "
    "all\n"
    "                     (feedline, feedline-1, static-default)\n"
    "  --batches B        length of each run (as the scenario says: 24,000)\n"
    "  --jobs J           threads (one for each core); changes no result\n"
    "\n"
    "What comes out:\n"
    "  --markdown         tables for a document instead\n"
    "  --json FILE        everything as JSON; - is standard output\n"
    "  --gates            holds the tuner against what the project asks of "
    "it;\n"
    "                     exit status 1 if it misses something\n"
    "  --sound            memory and limits were kept, nothing hung, every "
    "number\n"
    "                     is one; exit status 1 if not. Gates are for many "
    "runs,\n"
    "                     this is for any\n"
    "  --trace FAMILY/SEED\n"
    "                     one scenario: each decision of the tuner, and a "
    "chart\n"
    "                     of its workers; also random/SEED\n"
    "  --list             families and controllers\n"
    "  --quiet            no progress\n"
    "  --help\n"
    "\n"
    "Exit status: 0, 1 a gate was missed, 2 a mistake on the command line, 4 "
    "no\n"
    "memory or no file.\n";

/* Where a value goes; counts are at least `least`. */
static const struct row {
    const char *name;
    enum { SWITCH, TEXT, COUNT, SEED, FAMILY, CONTROLLER, HELP } kind;
    size_t at;
    uint64_t least;
} rows[] = {
#define AT(field) offsetof(struct arguments, field)
    {"family", FAMILY, 0, 0},
    {"seeds", COUNT, AT(plan.seeds), 0},
    {"scenarios", COUNT, AT(plan.scenarios), 0},
    {"seed", SEED, AT(plan.seed), 0},
    {"controller", CONTROLLER, 0, 0},
    {"batches", COUNT, AT(plan.batches), 100},
    {"jobs", COUNT, AT(plan.jobs), 1},
    {"markdown", SWITCH, AT(markdown), 0},
    {"json", TEXT, AT(json), 0},
    {"gates", SWITCH, AT(gates), 0},
    {"sound", SWITCH, AT(sound), 0},
    {"trace", TEXT, AT(trace), 0},
    {"list", SWITCH, AT(list), 0},
    {"quiet", SWITCH, AT(quiet), 0},
    {"help", HELP, 0, 0},
#undef AT
};

#define N_ROWS    (sizeof(rows) / sizeof(*rows))
#define NOT_GIVEN UINT64_MAX /* seeds, scenarios */

static int usage(void)
{
    fputs("tuner_sim: 'tuner_sim --help' lists what there is\n", stderr);
    return SIM_USAGE;
}

static int unknown(const char *what, struct fdl_closest *closest)
{
    fprintf(stderr, "tuner_sim: there is no %s '%s'", what, closest->typed);
    if (closest->name)
        fprintf(stderr, "; the closest is '%s'", closest->name);
    fputc('\n', stderr);
    return usage();
}

static int unknown_option(const char *text)
{
    char name[FDL_CLOSEST_NAME_MAX + 1];
    while (*text == '-')
        text++;
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "="), text);
    struct fdl_closest closest = {.typed = name};
    for (size_t i = 0; i < N_ROWS; i++)
        fdl_closest_offer(&closest, rows[i].name);
    return unknown("option", &closest);
}

static int take_count(const char *option, const char *text, uint64_t least,
                      uint64_t *out)
{
    char *end;
    errno = 0;
    uint64_t n = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || n < least) {
        fprintf(stderr,
                "tuner_sim: --%s: '%s' is not a whole number of %llu or more\n",
                option, text, (unsigned long long)least);
        return usage();
    }
    *out = n;
    return -1;
}

/* Few digits: somebody may have to type it. */
static uint64_t fresh_seed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t x =
        (uint64_t)now.tv_sec * UINT64_C(1000000007) + (uint64_t)now.tv_nsec;
    return x % 1000000;
}

static int add_family(struct tournament_plan *plan, const char *name)
{
    struct fdl_closest closest = {.typed = name};
    for (unsigned i = 0; i < sim_n_families; i++) {
        fdl_closest_offer(&closest, sim_families[i].name);
        if (strcmp(sim_families[i].name, name) != 0)
            continue;
        for (size_t k = 0; k < plan->n_families; k++)
            if (plan->families[k] == &sim_families[i])
                return -1;
        plan->families[plan->n_families++] = &sim_families[i];
        return -1;
    }
    return unknown("family", &closest);
}

static int add_controller(struct tournament_plan *plan, const char *name)
{
    struct fdl_closest closest = {.typed = name};
    bool all = strcmp(name, "all") == 0;
    for (unsigned i = 0; i < sim_n_controllers; i++) {
        const struct sim_controller *c = sim_controllers[i];
        fdl_closest_offer(&closest, c->name);
        bool there = false;
        for (size_t k = 0; k < plan->n_controllers; k++)
            there = there || plan->controllers[k] == c;
        if (!all && strcmp(c->name, name) != 0)
            continue;
        if (!there)
            plan->controllers[plan->n_controllers++] = c;
        if (!all)
            return -1;
    }
    return all ? -1 : unknown("controller", &closest);
}

static int take(struct arguments *a, const struct row *row)
{
    char *at = (char *)a + row->at;
    const char *text = optarg;
    const bool on = true;
    uint64_t n = 0;
    int rc = -1;
    switch (row->kind) {
    case FAMILY:
        return add_family(&a->plan, text);
    case CONTROLLER:
        return add_controller(&a->plan, text);
    case SWITCH:
        memcpy(at, &on, sizeof(on));
        return -1;
    case TEXT:
        memcpy(at, &text, sizeof(text));
        return -1;
    case SEED:
    case COUNT:
        if (row->kind == SEED && strcmp(text, "fresh") == 0)
            n = fresh_seed();
        else
            rc = take_count(row->name, text, row->least, &n);
        memcpy(at, &n, sizeof(n));
        return rc;
    case HELP:
        break;
    }
    fputs(help, stdout);
    return SIM_DONE;
}

/* What was left open. */
static int complete(struct arguments *a)
{
    struct tournament_plan *plan = &a->plan;
    bool families = plan->n_families > 0;
    if (plan->seeds == NOT_GIVEN)
        plan->seeds = plan->scenarios == NOT_GIVEN || families;
    if (plan->scenarios == NOT_GIVEN)
        plan->scenarios = 0;
    for (unsigned i = 0; !families && i < sim_n_families; i++)
        plan->families[plan->n_families++] = &sim_families[i];
    if (!plan->n_controllers) {
        add_controller(plan, "feedline");
        add_controller(plan, "feedline-1");
        add_controller(plan, "static-default");
    }
    if (a->trace) {
        struct sim_scenario s;
        uint64_t seed;
        if (!tournament_scenario(a->trace, &s, &seed)) {
            fprintf(stderr,
                    "tuner_sim: --trace: '%s' is not FAMILY/SEED or "
                    "random/SEED, as cpu-saturated/3\n",
                    a->trace);
            return usage();
        }
    } else if (!a->list && !plan->scenarios && !plan->seeds) {
        fputs("tuner_sim: nothing is to be played: --seeds and --scenarios "
              "are 0\n",
              stderr);
        return usage();
    }
    bool own = false;
    for (size_t i = 0; i < plan->n_controllers; i++)
        own = own || plan->controllers[i]->status;
    if ((a->gates || a->sound) && !own) {
        fputs("tuner_sim: --gates and --sound are about the project's tuner, "
              "which is not played\n",
              stderr);
        return usage();
    }
    if (!plan->jobs) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        plan->jobs = cores > 0 ? (uint64_t)cores : 1;
    }
    plan->progress = !a->quiet && isatty(STDERR_FILENO);
    return -1;
}

int arguments_parse(int argc, char **argv, struct arguments *out)
{
    memset(out, 0, sizeof(*out));
    struct tournament_plan *plan = &out->plan;
    struct option options[N_ROWS + 1] = {{0}};
    plan->seeds = plan->scenarios = NOT_GIVEN;
    plan->seed = 1;
    for (size_t i = 0; i < N_ROWS; i++) {
        bool alone = rows[i].kind == SWITCH || rows[i].kind == HELP;
        options[i].name = rows[i].name;
        options[i].has_arg = alone ? no_argument : required_argument;
    }
    plan->families = calloc(sim_n_families + 1, sizeof(*plan->families));
    plan->controllers =
        calloc(sim_n_controllers + 1, sizeof(*plan->controllers));
    if (!plan->families || !plan->controllers) {
        fputs("tuner_sim: out of memory\n", stderr);
        return SIM_ENVIRONMENT;
    }
    opterr = 0;
    optind = 1;
    for (;;) {
        int row = 0, at = optind;
        int option = getopt_long(argc, argv, ":", options, &row);
        if (option < 0)
            break;
        if (option == ':') {
            fprintf(stderr, "tuner_sim: %s needs a value\n", argv[at]);
            return usage();
        }
        if (option == '?')
            return unknown_option(argv[at]);
        int rc = take(out, &rows[row]);
        if (rc >= 0)
            return rc;
    }
    if (optind < argc) {
        fprintf(stderr, "tuner_sim: '%s' is one argument too many\n",
                argv[optind]);
        return usage();
    }
    return complete(out);
}

void arguments_fini(struct arguments *a)
{
    free(a->plan.families);
    free(a->plan.controllers);
}
