/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sweep for people: the grid as a table, as a chart, and where its knee is.
 * Made from the document, as everything that is printed.
 */
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/report/plot.h"
#include "tools/loaderbench/sweep/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COLUMNS_MAX 7 /* depths beside each other in 80 columns */

/* The values of a key in the grid. */
static void axis_of(const json_t *grid, const char *key, struct sweep_axis *a)
{
    a->n = 0;
    for (size_t i = 0; i < json_array_size(grid); i++)
        sweep_axis_add(a, doc_int(json_array_get(grid, i), key));
}

/* io < 0: whatever it is. */
static const json_t *point_at(const json_t *grid, int64_t workers,
                              int64_t depth, int64_t io)
{
    for (size_t i = 0; i < json_array_size(grid); i++) {
        const json_t *p = json_array_get(grid, i);
        if (doc_int(p, "workers") == workers && doc_int(p, "depth") == depth &&
            (io < 0 || doc_int(p, "io_depth") == io))
            return p;
    }
    return NULL;
}

static bool is_point(const json_t *doc, const char *key, const json_t *p)
{
    const json_t *one = json_object_get(doc, key);
    return p && json_is_object(one) &&
           doc_int(one, "workers") == doc_int(p, "workers") &&
           doc_int(one, "depth") == doc_int(p, "depth") &&
           doc_int(one, "io_depth") == doc_int(p, "io_depth");
}

static bool has_consumer(const json_t *doc)
{
    return doc_number(doc, "settings.consumer_ms") > 0;
}

/* "1234*", and below it how long the consumer waits. */
static void print_cells(const json_t *doc, int64_t workers,
                        const struct sweep_axis *depths, size_t n, int64_t io,
                        bool waits)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *p =
            point_at(json_object_get(doc, "grid"), workers, depths->at[i], io);
        const char *mark = is_point(doc, "knee", p)   ? "*"
                           : is_point(doc, "best", p) ? "^"
                                                      : " ";
        char shown[24] = "-";
        double x = doc_number(p, waits ? "host_fraction" : "images_per_second");
        if (p && !isnan(x))
            snprintf(shown, sizeof(shown), waits ? "%.1f %%" : "%.0f",
                     waits ? 100 * x : x);
        printf(" %8s%s", shown, waits ? " " : mark);
    }
    putchar('\n');
}

static void print_table(const json_t *doc, const struct sweep_axis *workers,
                        const struct sweep_axis *depths, int64_t io)
{
    size_t n = depths->n < COLUMNS_MAX ? depths->n : COLUMNS_MAX;
    printf("\nimages/s");
    for (size_t i = 0; i < n; i++)
        printf(" %s%lld ", i ? "       " : "depth ", (long long)depths->at[i]);
    if (io >= 0)
        printf("  I/O depth %lld", (long long)io);
    if (n < depths->n)
        printf("  (%zu more: --json has them)", depths->n - n);
    putchar('\n');
    for (size_t w = 0; w < workers->n; w++) {
        long long count = (long long)workers->at[w];
        printf("%3lld wrk ", count);
        print_cells(doc, count, depths, n, io, false);
        if (has_consumer(doc)) {
            printf("  waits ");
            print_cells(doc, count, depths, n, io, true);
        }
    }
}

/* ---- The chart ---------------------------------------------------------- */

/* Worker counts are evenly apart, as 1, 2, 4, 8 are asked for. */
static double place_of(const struct sweep_axis *workers, int64_t count)
{
    for (size_t i = 0; i < workers->n; i++)
        if (workers->at[i] == count)
            return (double)i;
    return NAN;
}

static void print_chart(const json_t *doc, const struct sweep_axis *workers,
                        const struct sweep_axis *depths, int64_t io)
{
    const json_t *grid = json_object_get(doc, "grid");
    const json_t *knee = json_object_get(doc, "knee");
    struct plot_line lines[SWEEP_VALUES_MAX];
    struct plot_tick ticks[SWEEP_VALUES_MAX];
    double *values =
               calloc(2 * SWEEP_VALUES_MAX * SWEEP_VALUES_MAX, sizeof(*values)),
           *next = values;
    if (!values)
        return;
    for (size_t d = 0; d < depths->n; d++) {
        double *x = next, *y = next + workers->n;
        struct plot_line *l = &lines[d];
        *l = (struct plot_line){.x = x, .y = y};
        snprintf(l->label, sizeof(l->label), "depth %lld",
                 (long long)depths->at[d]);
        for (size_t w = 0; w < workers->n; w++) {
            const json_t *p = point_at(grid, workers->at[w], depths->at[d], io);
            if (!p || isnan(doc_number(p, "images_per_second")))
                continue;
            x[l->n] = (double)w;
            y[l->n++] = doc_number(p, "images_per_second");
        }
        next += 2 * workers->n;
    }
    for (size_t w = 0; w < workers->n; w++) {
        ticks[w].x = (double)w;
        snprintf(ticks[w].text, sizeof(ticks[w].text), "%lld",
                 (long long)workers->at[w]);
    }
    bool marked =
        json_is_object(knee) && (io < 0 || doc_int(knee, "io_depth") == io);
    plot_print(&(struct plot){
        .title = "\nimages/s",
        .lines = lines,
        .n_lines = depths->n,
        .ticks = ticks,
        .n_ticks = workers->n,
        .x_words = "workers",
        .mark_x = marked ? place_of(workers, doc_int(knee, "workers")) : NAN,
        .mark_y = marked ? doc_number(knee, "images_per_second") : NAN,
        .mark_words = "knee"});
    free(values);
}

/* ---- In words ----------------------------------------------------------- */

#define OTHERS_MATTER  0.1 /* of the cores */
#define SPREAD_MATTERS 0.05

/* What else used the cores, and how far measurements of a point differ. */
static void print_trust(const json_t *doc)
{
    const json_t *trust = json_object_get(doc, "trust");
    double others = doc_number(trust, "others_cores");
    double spread = doc_number(trust, "noise_fraction");
    double cores = doc_number(doc, "machine.cpus_online");
    if (others > OTHERS_MATTER * cores) {
        cli_print(
            "Other processes used %.1f of the %.0f cores during the "
            "measurements, so the speeds are those of the rest. Repeat on "
            "an idle machine before relying on the knee.",
            others, cores);
    }
    if (spread > SPREAD_MATTERS) {
        cli_print("Spread: measurements of a point typically differ by +-%.0f "
                  "%%.",
                  100 * spread);
    }
}

static void print_knee(const json_t *doc)
{
    const json_t *knee = json_object_get(doc, "knee");
    const json_t *best = json_object_get(doc, "best");
    const json_t *rule = json_object_get(doc, "rule");
    if (!json_is_object(knee)) {
        printf("\nNothing was measured.\n");
        return;
    }
    putchar('\n');
    cli_print("* knee: " TOOL_COUNT ", depth %lld: %.0f images/s, %.0f per "
              "CPU second.\nThe rule: %s.",
              TOOL_COUNT_OF(doc_int(knee, "workers"), "worker"),
              (long long)doc_int(knee, "depth"),
              doc_number(knee, "images_per_second"),
              doc_number(knee, "images_per_cpu_second"),
              doc_text(rule, "words"));
    if (!is_point(doc, "knee", best)) {
        cli_print("^ fastest: " TOOL_COUNT ", depth %lld: %.0f images/s.",
                  TOOL_COUNT_OF(doc_int(best, "workers"), "worker"),
                  (long long)doc_int(best, "depth"),
                  doc_number(best, "images_per_second"));
    }
    double noise = doc_number(best, "noise_fraction");
    if (noise > doc_number(rule, "tolerance")) {
        cli_print("Measurements of the fastest point differ by +-%.1f %%, more "
                  "than the rule tolerates: use a larger --repeat or --seconds "
                  "to pin the knee down.",
                  100 * noise);
    }
}

static void print_header(const json_t *doc)
{
    const json_t *settings = json_object_get(doc, "settings");
    run_text_subject(doc);
    printf("%zu of %.0f settings, each measured ",
           json_array_size(json_object_get(doc, "grid")),
           doc_number(doc, "points"));
    if (doc_number(doc, "rounds") > 1)
        printf("%.0f times", doc_number(doc, "rounds"));
    else
        printf("once");
    if (doc_number(settings, "seconds") > 0)
        printf(" for %g s", doc_number(settings, "seconds"));
    if (has_consumer(doc))
        printf("; consumer %g ms a batch", doc_number(settings, "consumer_ms"));
    printf("\n");
    if (json_is_true(json_object_get(doc, "interrupted")))
        printf("Interrupted; results so far:\n");
}

void sweep_text(const json_t *doc)
{
    const json_t *grid = json_object_get(doc, "grid");
    struct sweep_axis workers, depths, io;
    axis_of(grid, "workers", &workers);
    axis_of(grid, "depth", &depths);
    axis_of(grid, "io_depth", &io);
    bool io_varied = json_is_true(doc_at(doc, "settings.io_depth_varied"));
    print_header(doc);
    for (size_t i = 0; i < (io_varied ? io.n : grid ? 1u : 0u); i++) {
        int64_t at = io_varied ? io.at[i] : -1;
        if (json_array_size(grid) == 0)
            break;
        print_table(doc, &workers, &depths, at);
        print_chart(doc, &workers, &depths, at);
    }
    print_knee(doc);
    print_trust(doc);
}
