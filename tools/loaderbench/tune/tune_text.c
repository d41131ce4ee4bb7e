/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tuning for people: the library's own story, what happened over time as
 * charts, what it means, and how it compares with a sweep. From the document,
 * as everything that is printed.
 */
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/model/model.h"
#include "tools/loaderbench/report/plot.h"
#include "tools/loaderbench/tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A change is a line with a dash; what follows it stands below its words. */
static void print_story(const json_t *doc)
{
    const json_t *story = doc_at(doc, "tune.story");
    for (size_t i = 0; i < json_array_size(story); i++) {
        const char *line = json_string_value(json_array_get(story, i));
        if (strncmp(line, "- ", 2) == 0) {
            printf("- ");
            cli_print_wrapped(line + 2, 2, 2);
        } else {
            cli_print_wrapped(line, 0, 0);
        }
    }
}

/* ---- Charts over time --------------------------------------------------- */

struct series {
    double *x, *y[3]; /* images per second, workers, depth */
    size_t n;
};

static const char *const keys[] = {"images_per_second", "workers", "depth"};

static bool make_series(const json_t *timeline, struct series *s)
{
    size_t n = json_array_size(timeline);
    double *all = calloc(4 * (n + 1), sizeof(*all));
    *s = (struct series){.x = all};
    if (!all)
        return false;
    for (size_t k = 0; k < 3; k++)
        s->y[k] = all + (k + 1) * (n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *point = json_array_get(timeline, i);
        s->x[i] = doc_number(point, "seconds");
        for (size_t k = 0; k < 3; k++)
            s->y[k][i] = doc_number(point, keys[k]);
    }
    s->n = n;
    return n > 1;
}

static void print_charts(const json_t *doc)
{
    struct series s;
    struct plot_tick ticks[3];
    if (make_series(json_object_get(doc, "timeline"), &s)) {
        for (size_t i = 0; i < 3; i++) {
            ticks[i].x = s.x[0] + (s.x[s.n - 1] - s.x[0]) * (double)i / 2;
            snprintf(ticks[i].text, sizeof(ticks[i].text), "%.1f", ticks[i].x);
        }
        struct plot_line rate = {"images/s", s.x, s.y[0], s.n, true};
        struct plot_line knobs[] = {{"workers", s.x, s.y[1], s.n, true},
                                    {"depth", s.x, s.y[2], s.n, true}};
        struct plot p = {"\nimages/s", &rate, 1,   ticks, 3,
                         "seconds",    NAN,   NAN, "",    7};
        plot_print(&p);
        p.title = "\nworkers and depth";
        p.lines = knobs;
        p.n_lines = 2;
        plot_print(&p);
    }
    free(s.x);
}

/* ---- What it means ------------------------------------------------------ */

static void print_steady(const json_t *doc)
{
    const json_t *steady = doc_at(doc, "tune.steady");
    putchar('\n');
    if (json_is_object(steady))
        cli_print("Since it settled: %.0f images/s over %.1f s, %.0f per CPU "
                  "second.",
                  doc_number(steady, "images_per_second"),
                  doc_number(steady, "seconds"),
                  doc_number(steady, "images_per_cpu_second"));
    else if (strcmp(doc_text(doc, "tuner.mode"), "observe") == 0)
        cli_print("The tuner only observed; without --observe it makes these "
                  "changes.");
    else if (json_is_number(doc_at(doc, "tuner.converged_batch")))
        cli_print(
            "It settled just before the end, too late to measure the speed.");
    else
        cli_print("It has not settled; the settings above are the last it "
                  "tried. A larger --seconds gives it time.");
}

static void print_next(const json_t *doc)
{
    const char *profile = doc_text(doc, "tune.profile");
    if (strcmp(doc_text(doc, "tuner.mode"), "observe") == 0)
        return;
    if (*profile)
        cli_print("The result is in %s; --tuner-profile %s starts from it.",
                  profile, profile);
    else
        cli_print(
            "To start from there: --workers-start %.0f, or --profile FILE "
            "now and --tuner-profile FILE later. To use exactly this: "
            "--workers %.0f --depth %.0f.",
            doc_number(doc, "tuner.workers"), doc_number(doc, "tuner.workers"),
            doc_number(doc, "tuner.depth"));
}

/* ---- The sweep ---------------------------------------------------------- */

static void print_setting(const char *name, const json_t *point)
{
    double cost = doc_number(point, "images_per_cpu_second");
    printf("%-14s %7.0f %7.0f %10.0f %8.1f %% %9.2f ms\n", name,
           doc_number(point, "workers"), doc_number(point, "depth"),
           doc_number(point, "images_per_second"),
           100 * doc_number(point, "host_fraction"), cost > 0 ? 1e3 / cost : 0);
}

static void print_comparison(const json_t *doc)
{
    const json_t *comparison = json_object_get(doc, "comparison");
    const json_t *best = json_object_get(doc, "sweep_best");
    if (!json_is_object(comparison))
        return;
    printf("\nAgainst a sweep of %zu settings, each measured %.0f time%s:\n\n",
           json_array_size(json_object_get(doc, "grid")),
           doc_number(doc, "rounds"), doc_number(doc, "rounds") > 1 ? "s" : "");
    printf("%-14s %7s %7s %10s %10s %12s\n", "", "workers", "depth", "images/s",
           "waits", "CPU/image");
    print_setting("tuner's choice", json_object_get(comparison, "tuned"));
    print_setting("sweep's best", best);
    print_setting("sweep's knee", json_object_get(doc, "knee"));
    double below = doc_number(comparison, "below_fraction");
    double error = doc_number(comparison, "error_fraction");
    putchar('\n');
    if (!(fabs(below) > 0))
        cli_print("The choice is the best of the sweep.");
    else if (isnan(error))
        cli_print("The choice is %.1f %% %s the best, measured only once: use "
                  "--repeat to see how reliable that is.",
                  100 * fabs(below), below > 0 ? "below" : "above");
    else
        cli_print("The choice is %.1f %% %s the best, +-%.1f %% at 95 %% "
                  "confidence%s.",
                  100 * fabs(below), below > 0 ? "below" : "above", 100 * error,
                  fabs(below) <= error ? ": within the measuring error" : "");
}

void tune_text(const json_t *doc)
{
    run_text_subject(doc);
    putchar('\n');
    if (json_is_true(json_object_get(doc, "interrupted")))
        printf("Interrupted; results so far:\n");
    print_story(doc);
    print_charts(doc);
    print_steady(doc);
    print_next(doc);
    print_comparison(doc);
    model_text(json_object_get(doc, "model"));
}
