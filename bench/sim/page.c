/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/page.h"

#include "bench/sim/outcome_json.h"
#include "bench/sim/tables.h"
#include "tools/page/html_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- What the script draws from ----------------------------------------- */

/* [batch, workers from there on], as often as they change. */
static json_t *curve_json(const struct tournament_match *m, size_t controller)
{
    const float *workers = m->scores[controller].curve_workers;
    double each = (double)m->scenario.batches / SIM_CURVE;
    json_t *curve = json_array();
    for (uint32_t x = 0; x < SIM_CURVE; x++)
        if (x == 0 || fabsf(workers[x] - workers[x - 1]) > 0)
            json_array_append_new(curve,
                                  json_pack("[I, f]", (json_int_t)(x * each),
                                            round(100 * workers[x]) / 100));
    return curve;
}

static json_t *picture_json(const struct tournament *t,
                            const struct tournament_match *m)
{
    json_t *curves = json_array(), *oracle = json_array();
    for (size_t i = 0; i < t->plan->n_controllers; i++)
        json_array_append_new(curves, curve_json(m, i));
    for (uint32_t p = 0; p < m->oracle.n_phases; p++)
        json_array_append_new(
            oracle,
            json_pack("{s:I, s:i}", "from", (json_int_t)m->oracle.phase[p].from,
                      "workers", (int)m->oracle.phase[p].best.workers));
    return json_pack("{s:s, s:I, s:o, s:o}", "scenario", m->scenario.name,
                     "batches", (json_int_t)m->scenario.batches, "oracle",
                     oracle, "curves", curves);
}

/* The first scenario of each family; matches stand in the order of those. */
static json_t *pictures_json(const struct tournament *t)
{
    json_t *pictures = json_array();
    for (size_t i = 0; i < t->n_matches; i++)
        if (i == 0 || strcmp(t->matches[i].scenario.family,
                             t->matches[i - 1].scenario.family) != 0)
            json_array_append_new(pictures, picture_json(t, &t->matches[i]));
    return pictures;
}

static void add_regrets(json_t *controller, const struct tournament *t,
                        size_t i)
{
    json_t *regrets = json_array();
    for (size_t m = 0; m < t->n_matches; m++)
        json_array_append_new(regrets,
                              json_real(t->matches[m].scores[i].regret));
    json_object_set_new(controller, "regrets", regrets);
    json_object_set_new(controller, "own",
                        json_boolean(t->plan->controllers[i]->status));
}

static json_t *page_document(const struct tournament *t)
{
    json_t *doc = outcome_document(t);
    json_t *controllers = json_object_get(doc, "controllers");
    for (size_t i = 0; i < t->plan->n_controllers; i++)
        add_regrets(json_array_get(controllers, i), t, i);
    json_object_set_new(doc, "pictures", pictures_json(t));
    return doc;
}

/* ---- What stands there without it --------------------------------------- */

static void put_title(FILE *f, const void *of)
{
    (void)of;
    fputs("tuner_sim", f);
}

static void put_sheet(FILE *f, const char *title, struct sheet *s)
{
    if (title)
        fprintf(f, "<section><h2>%s</h2>\n", title);
    sheet_html(s, f);
    sheet_fini(s);
    if (title)
        fputs("</section>\n", f);
}

static void put_details(FILE *f, const struct tournament *t)
{
    fputs("<section><h2>The project's tuner</h2>\n", f);
    for (size_t i = 0; i < t->plan->n_controllers; i++) {
        struct sheet s;
        if (!t->plan->controllers[i]->status)
            continue;
        tables_details(t, i, &s);
        put_sheet(f, NULL, &s);
    }
    fputs("</section>\n", f);
}

static void put_article(FILE *f, const void *of)
{
    const struct tournament *t = of;
    struct sheet s;
    fputs("<article class=\"numeric\" data-name=\"tuner_sim\">\n<header>"
          "<p class=\"kind\">tuner_sim</p>"
          "<h1>The tuner against other rules</h1>\n<p class=\"about\">",
          f);
    tables_what(t, f);
    fputs(". Simulated. Regret: time lost against the best fixed setting of "
          "each phase, known beforehand; excess: against the static default; "
          "both in %. Settled: the batch from which on workers and depth stay "
          "within 3 % of the best.</p></header>\n",
          f);
    tables_controllers(t, &s);
    put_sheet(f, "All runs", &s);
    tables_families(t, &s);
    put_sheet(f, "By family", &s);
    put_details(f, t);
    fputs("<section><h2>Controllers</h2>\n<dl class=\"origins\">\n", f);
    tables_origins(t, f, "<dt>", "</dt><dd>", "</dd>\n");
    fputs("</dl></section>\n</article>\n", f);
}

bool page_html(const struct tournament *t, FILE *f)
{
    json_t *doc = page_document(t);
    const struct page page = {.maker = "tuner_sim",
                              .docs = &doc,
                              .n_docs = 1,
                              .title = put_title,
                              .articles = put_article,
                              .of = t};
    if (doc)
        page_write(f, &page);
    json_decref(doc);
    return doc && !ferror(f);
}
