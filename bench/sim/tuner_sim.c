/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuner_sim: the tuner against other rules, in the simulator. A development
 * program: it is built with the tree and not installed.
 */
#include "bench/sim/arguments.h"
#include "bench/sim/outcome_json.h"
#include "bench/sim/story.h"
#include "bench/sim/tables.h"
#include "bench/sim/verdicts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDE 64u
#define HIGH 14u /* of the chart, in characters */

static int write_json(const struct tournament *t, const char *path)
{
    bool out = strcmp(path, "-") == 0;
    FILE *f = out ? stdout : fopen(path, "w");
    bool ok = f && outcome_json(t, f);
    if (f && !out && fclose(f) != 0)
        ok = false;
    if (ok)
        return SIM_DONE;
    fprintf(stderr, "tuner_sim: %s: %s\n", path, strerror(errno));
    return SIM_ENVIRONMENT;
}

static int list(void)
{
    puts("families:");
    for (unsigned i = 0; i < sim_n_families; i++)
        printf("  %-18s %s\n", sim_families[i].name, sim_families[i].about);
    puts("controllers:");
    for (unsigned i = 0; i < sim_n_controllers; i++)
        printf("  %-18s %s\n", sim_controllers[i]->name,
               sim_controllers[i]->about);
    return SIM_DONE;
}

static void say_oracle(const struct sim_scenario *s, const struct sim_oracle *o)
{
    printf("%s: %u cores of %u, %u samples a batch, %u loader%s\n", s->name,
           (unsigned)s->cores, s->host_cores, s->batch_size, s->loaders,
           s->loaders == 1 ? "" : "s");
    for (uint32_t p = 0; p < o->n_phases; p++) {
        const struct sim_oracle_phase *q = &o->phase[p];
        printf("oracle from batch %llu: workers %u, depth %u, io_depth %u: "
               "%.2f batches/s, stall %.2f %%, cheapest that is fed: ",
               (unsigned long long)q->from, q->best.workers, q->best.depth,
               q->best.io_depth, q->rate, 100 * q->stall);
        if (q->cheapest_fed)
            printf("%u\n", q->cheapest_fed);
        else
            puts("none");
    }
}

static void say_score(const char *name, const struct sim_score *s)
{
    printf("%s: %.2f s, regret %.2f +- %.2f %%, excess %.2f %%, stall %.2f %%, "
           "workers %.1f, at the end %u (cheapest %u), changes %.0f, settled ",
           name, s->seconds, 100 * s->regret, 100 * s->error, 100 * s->excess,
           100 * s->stall, s->workers, s->final, s->cheapest, s->changes);
    if (s->settled_ever)
        printf("from batch %llu (%.1f s, %llu changes)\n",
               (unsigned long long)s->settled, s->settled_seconds,
               (unsigned long long)s->settled_changes);
    else
        puts("never");
}

static float at(const float *curve, uint32_t column)
{
    return curve[column * SIM_CURVE / WIDE];
}

static double oracle_at(const struct sim_oracle *o, uint64_t batch)
{
    uint32_t p = 0;
    while (p + 1 < o->n_phases && batch >= o->phase[p + 1].from)
        p++;
    return o->phase[p].best.workers;
}

/* Workers over the batches of one run, and the oracle's, 80 columns wide. */
static void draw_workers(FILE *f, const struct sim_scenario *s,
                         const struct sim_oracle *oracle,
                         const struct sim_score *score)
{
    double most = 1;
    for (uint32_t x = 0; x < WIDE; x++) {
        uint64_t batch = x * s->batches / WIDE;
        most = fmax(most, at(score->curve_workers, x));
        most = fmax(most, oracle_at(oracle, batch));
    }
    double step = ceil(most / HIGH);
    uint32_t rows = (uint32_t)ceil(most / step);
    fprintf(f, "\nworkers (#) and the oracle's (o) over batches\n");
    for (uint32_t row = rows; row > 0; row--) {
        double top = row * step, below = top - step;
        fprintf(f, "%6.0f |", top);
        for (uint32_t x = 0; x < WIDE; x++) {
            double mine = at(score->curve_workers, x);
            double best = oracle_at(oracle, x * s->batches / WIDE);
            bool is_best = best > below && best <= top;
            fputc(is_best ? 'o' : mine > below ? '#' : ' ', f);
        }
        fputc('\n', f);
    }
    fprintf(f, "%6s +", "");
    for (uint32_t x = 0; x < WIDE; x++)
        fputc('-', f);
    fprintf(f, "\n%8s%-*d%*" PRIu64 "\n", "", (int)WIDE / 2, 0, (int)WIDE / 2,
            s->batches);
}

/* One scenario under each controller, the project's with each decision. */
static int trace(const struct arguments *a)
{
    struct tournament_match m = {0};
    tournament_scenario(a->trace, &m.scenario, &m.seed);
    bool ok = tournament_prepare(&m, a->plan.batches);
    if (ok)
        say_oracle(&m.scenario, &m.oracle);
    for (size_t i = 0; ok && i < a->plan.n_controllers; i++) {
        const struct sim_controller *c = a->plan.controllers[i];
        struct sim_score score;
        sim_story_to(stdout);
        printf("\n%s\n", c->name);
        ok = tournament_play_one(&m, c, &score);
        if (!ok)
            break;
        say_score(c->name, &score);
        draw_workers(stdout, &m.scenario, &m.oracle, &score);
    }
    if (ok)
        return SIM_DONE;
    fputs("tuner_sim: out of memory\n", stderr);
    return SIM_ENVIRONMENT;
}

static void show(const struct tournament *t)
{
    struct sheet s;
    tables_what(t, stdout);
    puts("");
    tables_controllers(t, &s);
    sheet_text(&s, stdout);
    sheet_fini(&s);
    tables_families(t, &s);
    sheet_text(&s, stdout);
    sheet_fini(&s);
}

static bool write_markdown(const struct tournament *t, FILE *f)
{
    struct sheet s;
    fputs("Played: ", f);
    tables_what(t, f);
    fputs(".\n\n", f);
    tables_controllers(t, &s);
    sheet_markdown(&s, f);
    sheet_fini(&s);
    verdict_sheet(t, &s);
    if (s.columns > 2)
        sheet_markdown(&s, f);
    sheet_fini(&s);
    tables_families(t, &s);
    sheet_markdown(&s, f);
    sheet_fini(&s);
    tables_origins(t, f);
    return !ferror(f);
}

static int put_out(const struct arguments *a, const struct tournament *t)
{
    bool to_stdout = a->json && strcmp(a->json, "-") == 0;
    int rc = SIM_DONE;
    if (a->markdown)
        write_markdown(t, stdout);
    else if (!to_stdout)
        show(t);
    if (a->json)
        rc = write_json(t, a->json);
    FILE *f = to_stdout ? stderr : stdout;
    if (a->sound && rc == SIM_DONE)
        rc = verdict_sound(t, f);
    if (a->gates && rc == SIM_DONE)
        rc = verdict_gates(t, f);
    return rc;
}

int main(int argc, char **argv)
{
    struct arguments a;
    int rc = arguments_parse(argc, argv, &a);
    if (rc < 0 && a.list) {
        rc = list();
    } else if (rc < 0 && a.trace) {
        rc = trace(&a);
    } else if (rc < 0) {
        struct tournament t;
        bool ok = tournament_play(&a.plan, &t);
        rc = ok ? put_out(&a, &t) : SIM_ENVIRONMENT;
        tournament_fini(&t);
    }
    arguments_fini(&a);
    return rc;
}
