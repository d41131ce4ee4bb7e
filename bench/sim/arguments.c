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
    "  --verbose          for each controller a table by family\n"
    "  --markdown         tables for a document instead\n"
    "  --json FILE        everything as JSON; - is standard output\n"
    "  --html FILE        a page with tables and charts, in one file\n"
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

enum {
    OPT_FAMILY = 256,
    OPT_SEEDS,
    OPT_SCENARIOS,
    OPT_SEED,
    OPT_CONTROLLER,
    OPT_BATCHES,
    OPT_JOBS,
    OPT_VERBOSE,
    OPT_MARKDOWN,
    OPT_JSON,
    OPT_HTML,
    OPT_GATES,
    OPT_SOUND,
    OPT_TRACE,
    OPT_LIST,
    OPT_QUIET,
    OPT_HELP
};

static const struct option options[] = {
    {"family", required_argument, NULL, OPT_FAMILY},
    {"seeds", required_argument, NULL, OPT_SEEDS},
    {"scenarios", required_argument, NULL, OPT_SCENARIOS},
    {"seed", required_argument, NULL, OPT_SEED},
    {"controller", required_argument, NULL, OPT_CONTROLLER},
    {"batches", required_argument, NULL, OPT_BATCHES},
    {"jobs", required_argument, NULL, OPT_JOBS},
    {"verbose", no_argument, NULL, OPT_VERBOSE},
    {"markdown", no_argument, NULL, OPT_MARKDOWN},
    {"json", required_argument, NULL, OPT_JSON},
    {"html", required_argument, NULL, OPT_HTML},
    {"gates", no_argument, NULL, OPT_GATES},
    {"sound", no_argument, NULL, OPT_SOUND},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"list", no_argument, NULL, OPT_LIST},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0}};

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
    for (const struct option *o = options; o->name; o++)
        fdl_closest_offer(&closest, o->name);
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

struct given {
    bool seeds, scenarios;
};

static int take(struct arguments *a, struct given *given, int option,
                const char *name)
{
    struct tournament_plan *plan = &a->plan;
    switch (option) {
    case OPT_FAMILY:
        return add_family(plan, optarg);
    case OPT_CONTROLLER:
        return add_controller(plan, optarg);
    case OPT_SEEDS:
        given->seeds = true;
        return take_count(name, optarg, 0, &plan->seeds);
    case OPT_SCENARIOS:
        given->scenarios = true;
        return take_count(name, optarg, 0, &plan->scenarios);
    case OPT_SEED:
        if (strcmp(optarg, "fresh") == 0) {
            plan->seed = fresh_seed();
            return -1;
        }
        return take_count(name, optarg, 0, &plan->seed);
    case OPT_BATCHES:
        return take_count(name, optarg, 100, &plan->batches);
    case OPT_JOBS:
        return take_count(name, optarg, 1, &plan->jobs);
    case OPT_JSON:
        a->json = optarg;
        return -1;
    case OPT_HTML:
        a->html = optarg;
        return -1;
    case OPT_TRACE:
        a->trace = optarg;
        return -1;
    case OPT_VERBOSE:
        a->verbose = true;
        return -1;
    case OPT_MARKDOWN:
        a->markdown = true;
        return -1;
    case OPT_GATES:
        a->gates = true;
        return -1;
    case OPT_SOUND:
        a->sound = true;
        return -1;
    case OPT_LIST:
        a->list = true;
        return -1;
    case OPT_QUIET:
        a->quiet = true;
        return -1;
    default:
        fputs(help, stdout);
        return SIM_DONE;
    }
}

/* What was left open. */
static int complete(struct arguments *a, const struct given *given)
{
    struct tournament_plan *plan = &a->plan;
    bool families = plan->n_families > 0;
    if (given->scenarios && !given->seeds && !families)
        plan->seeds = 0;
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
    plan->seeds = 1;
    plan->seed = 1;
    plan->families = calloc(sim_n_families + 1, sizeof(*plan->families));
    plan->controllers =
        calloc(sim_n_controllers + 1, sizeof(*plan->controllers));
    if (!plan->families || !plan->controllers) {
        fputs("tuner_sim: out of memory\n", stderr);
        return SIM_ENVIRONMENT;
    }
    struct given given = {0};
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
        int rc = take(out, &given, option, options[row].name);
        if (rc >= 0)
            return rc;
    }
    if (optind < argc) {
        fprintf(stderr, "tuner_sim: '%s' is one argument too many\n",
                argv[optind]);
        return usage();
    }
    return complete(out, &given);
}

void arguments_fini(struct arguments *a)
{
    free(a->plan.families);
    free(a->plan.controllers);
}
