/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/chart.h"

#include "bench/sim/summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define WIDE 64u
#define HIGH 14u

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

void chart_workers(FILE *f, const struct sim_scenario *s,
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

/* 0.01 % is at the left, 100 % and more at the right, by factors. */
static uint32_t column_of(double regret)
{
    double decades = log10(fmax(100 * regret, 0.01)) + 2;
    return (uint32_t)fmin(decades / 4 * (WIDE - 1), WIDE - 1);
}

static void draw_box(FILE *f, double *values, size_t n)
{
    uint32_t low = column_of(summary_quantile(values, n, 0.05));
    uint32_t q1 = column_of(summary_quantile(values, n, 0.25));
    uint32_t mid = column_of(summary_quantile(values, n, 0.5));
    uint32_t q3 = column_of(summary_quantile(values, n, 0.75));
    uint32_t high = column_of(summary_quantile(values, n, 0.95));
    uint32_t most = column_of(summary_quantile(values, n, 1));
    for (uint32_t x = 0; x < WIDE; x++) {
        char c = ' ';
        if (x >= low && x <= high)
            c = '-';
        if (x >= q1 && x <= q3)
            c = '=';
        if (x == most)
            c = '*';
        if (x == mid)
            c = '|';
        fputc(c, f);
    }
}

void chart_regret(FILE *f, const struct tournament *t)
{
    double *values = calloc(t->n_matches + 1, sizeof(*values));
    if (!values)
        return;
    fprintf(f, "\nregret: - 90 %% of the runs, = half of them, | the median, * "
               "the worst\n");
    for (size_t i = 0; i < t->plan->n_controllers; i++) {
        for (size_t m = 0; m < t->n_matches; m++)
            values[m] = t->matches[m].scores[i].regret;
        fprintf(f, "%-15s", t->plan->controllers[i]->name);
        draw_box(f, values, t->n_matches);
        fputc('\n', f);
    }
    fprintf(f, "%15s%-*s%-*s%-*s%-*s%s\n", "", (int)WIDE / 4, "0.01 %",
            (int)WIDE / 4, "0.1 %", (int)WIDE / 4, "1 %", (int)WIDE / 4 - 4,
            "10 %", "100 %");
    free(values);
}
