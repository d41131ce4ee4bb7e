/* SPDX-License-Identifier: Apache-2.0 */
/* A case about workers: a table, bars, and what the tuner says it did. */
#include "tools/loaderbench/case/case.h"
#include "tools/loaderbench/cli/cli.h"
#include "tools/loaderbench/doc.h"

#include <stdio.h>
#include <stdlib.h>

#define BAR_COLUMNS 24

static bool is_reached(const struct case_goal *g)
{
    return g->value <= g->limit;
}

void case_add_bar(struct case_result *r, const char *label, const char *note,
                  double value, bool marked)
{
    if (r->n_bars == CASE_BARS_MAX)
        return;
    struct case_bar *bar = &r->bars[r->n_bars++];
    *bar = (struct case_bar){.value = value, .marked = marked};
    snprintf(bar->label, sizeof(bar->label), "%s", label);
    snprintf(bar->note, sizeof(bar->note), "%s", note);
}

/* ---- Document ----------------------------------------------------------- */

static json_t *side_json(const struct case_side *s)
{
    if (!(s->step_ms > 0))
        return json_null();
    json_t *side = json_pack(
        "{s:s, s:f, s:f, s:I, s:f}", "what", s->what, "step_ms", s->step_ms,
        "stall_fraction", s->stall_fraction, "workers", (json_int_t)s->workers,
        "images_per_second", s->images_per_second);
    if (s->depth)
        json_object_set_new(side, "depth", json_integer(s->depth));
    return side;
}

static json_t *tuned_json(const struct case_side *s)
{
    json_t *side = side_json(s);
    bool converged = s->converged_batch >= 0;
    if (json_is_null(side))
        return side;
    json_object_set_new(side, "converged_batch",
                        converged ? json_integer(s->converged_batch)
                                  : json_null());
    json_object_set_new(side, "converged_seconds",
                        converged ? json_real(s->converged_seconds)
                                  : json_null());
    return side;
}

void case_story_document(const struct case_result *r, json_t *doc)
{
    json_object_set_new(doc, "before", side_json(&r->before));
    json_object_set_new(doc, "after", tuned_json(&r->after));
    json_object_set_new(doc, "published",
                        r->published_ms > 0
                            ? json_pack("{s:f}", "step_ms", r->published_ms)
                            : json_null());
    json_object_set_new(doc, "goal",
                        r->goal.text[0]
                            ? json_pack("{s:s, s:f, s:f, s:b}", "what",
                                        r->goal.text, "value", r->goal.value,
                                        "limit", r->goal.limit, "reached",
                                        is_reached(&r->goal))
                            : json_null());
    json_object_set_new(doc, "measured_gain",
                        r->after.step_ms > 0
                            ? json_real(r->before.step_ms / r->after.step_ms)
                            : json_null());
    json_object_update(doc, r->more);
}

/* ---- Report ------------------------------------------------------------- */

static void print_side(const char *when, const struct case_side *s)
{
    char depth[24] = "";
    if (!(s->step_ms > 0)) {
        printf("%-9s %-27s %10s\n", when, s->what, "-");
        return;
    }
    if (s->depth)
        snprintf(depth, sizeof(depth), "%lld", (long long)s->depth);
    printf("%-9s %-27s %10.2f %10.0f %7.1f %% %4lld %5s\n", when, s->what,
           s->step_ms, s->images_per_second, 100 * s->stall_fraction,
           (long long)s->workers, depth);
}

static void print_bars(const struct case_result *r)
{
    double most = 0;
    for (size_t i = 0; i < r->n_bars; i++)
        most = r->bars[i].value > most ? r->bars[i].value : most;
    if (!(most > 0))
        return;
    printf("\n%s\n", r->chart);
    for (size_t i = 0; i < r->n_bars; i++) {
        const struct case_bar *b = &r->bars[i];
        int columns = (int)(b->value / most * BAR_COLUMNS + 0.5);
        printf("%16s %9.1f ", b->label, b->value);
        for (int k = 0; k < columns; k++)
            putchar(b->marked ? '#' : '=');
        printf("%s%s\n", b->note[0] ? " " : "", b->note);
    }
}

static void print_goal(const struct case_goal *g)
{
    if (!g->text[0])
        return;
    printf("\n%s: %.4g, goal at most %.4g: %s.\n", g->text, g->value, g->limit,
           is_reached(g) ? "reached" : "missed");
}

void case_story_report(const struct case_result *r)
{
    printf("%-9s %-27s %10s %10s %9s %4s %5s\n", "", "", "ms a step",
           "images/s", r->on_gpu ? "GPU waits" : "waits", "wrk.", "depth");
    print_side("before", &r->before);
    if (r->published_ms > 0)
        printf("%-9s %-27s %10.2f\n", "published", r->published_what,
               r->published_ms);
    print_side("after", &r->after);
    if (r->bound_ms > 0)
        printf("%-9s %-27s %10.2f\n", "bound", r->bound_what, r->bound_ms);
    print_bars(r);
    print_goal(&r->goal);
    if (r->explained && r->explained[0]) {
        printf("\nThe tuner:\n");
        cli_print_wrapped(r->explained, 0, 0);
    }
}
