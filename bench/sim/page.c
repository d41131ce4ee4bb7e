/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sim/page.h"

#include "bench/sim/tables.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
    "<title>tuner_sim</title><style>"
    ":root{color-scheme:light dark;--page:#f6f7f5;--card:#fff;--words:#1c2126;"
    "--faint:#56606b;--edge:#dde1e4}"
    "@media (prefers-color-scheme:dark){:root{--page:#14181c;--card:#1c2227;"
    "--words:#e8ebed;--faint:#a3adb6;--edge:#333b42}}"
    "body{margin:0;background:var(--page);color:var(--words);"
    "font:16px/1.5 system-ui,sans-serif}"
    "main{max-width:72rem;margin:0 auto;padding:1rem}"
    "section{background:var(--card);border:1px solid var(--edge);"
    "border-radius:12px;padding:1rem;margin:1rem 0}"
    "h1{font-size:1.6rem}h2{font-size:1.15rem;margin:0 0 .6rem}"
    "p,caption,dd{color:var(--faint)}caption{text-align:left}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;"
    "font-variant-numeric:tabular-nums}"
    "th,td{padding:.2rem .6rem;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--edge)}"
    "th:first-child{text-align:left}svg{width:100%;height:auto}"
    "dt{font-weight:600}dd{margin:0 0 .4rem}"
    "</style></head><body><main>\n<h1>The tuner against other rules</h1>\n<p>";

static void put_sheet(struct sheet *s, FILE *f)
{
    sheet_html(s, f);
    sheet_fini(s);
}

bool page_html(const struct tournament *t, FILE *f)
{
    struct sheet s;
    fputs(head, f);
    tables_what(t, f);
    fputs(". Simulated. Regret: time lost against the best fixed setting of "
          "each phase, known beforehand; excess: against the static default; "
          "both in %. Settled: the batch from which on workers and depth stay "
          "within 3 % of the best.</p>\n<section><h2>All runs</h2>\n",
          f);
    tables_controllers(t, &s);
    put_sheet(&s, f);
    fputs("</section>\n<section><h2>By family</h2>\n", f);
    tables_families(t, &s);
    put_sheet(&s, f);
    fputs("</section>\n<section><h2>Workers over batches, and regret</h2>\n",
          f);
    bool ok = page_svg(t, f);
    fputs("</section>\n<section><h2>The project's tuner</h2>\n", f);
    for (size_t i = 0; i < t->plan->n_controllers; i++) {
        if (!t->plan->controllers[i]->status)
            continue;
        tables_details(t, i, &s);
        put_sheet(&s, f);
    }
    fputs("</section>\n<section><h2>Controllers</h2>\n<dl>\n", f);
    tables_origins(t, f, "<dt>", "</dt><dd>", "</dd>\n");
    fputs("</dl></section>\n</main></body></html>\n", f);
    return ok && !ferror(f);
}
