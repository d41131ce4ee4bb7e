/* SPDX-License-Identifier: Apache-2.0 */
/* The stages and their percentiles, the workers' time, the head-room. */
#include "bench/loaderbench/report.h"
#include "bench/loaderbench/report_chart.h"
#include "bench/loaderbench/report_doc.h"
#include "bench/loaderbench/report_html.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define ROW_PIXELS 46

/* ---- Stages ------------------------------------------------------------- */

/* Decades, from the fastest median to the slowest item. */
struct scale {
    double low, high; /* log10 of microseconds */
};

static double scale_x(const struct scale *s, double us)
{
    double x = 100 * (log10(us > 0 ? us : 1e-3) - s->low) / (s->high - s->low);
    return x < 0 ? 0 : x > 100 ? 100 : x;
}

/* A stage that does nothing (no copies without a device) takes no time. */
static bool is_drawn(const json_t *stage)
{
    return doc_or_0(stage, "items") > 0 && doc_or_0(stage, "max_us") > 0;
}

static struct scale scale_of(const json_t *stages)
{
    struct scale s = {INFINITY, -INFINITY};
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *stage = json_array_get(stages, i);
        double low = doc_or_0(stage, "p50_us"),
               high = doc_or_0(stage, "max_us");
        if (!is_drawn(stage))
            continue;
        s.low = fmin(s.low, floor(log10(low > 0 ? low : high)));
        s.high = fmax(s.high, ceil(log10(high)));
    }
    if (s.high <= s.low)
        s.high = s.low + 1;
    return s;
}

static void shown_us(const json_t *stage, const char *key, char *out)
{
    html_shown(doc_number(stage, key) * 1e-6, HTML_SECONDS, out);
}

static void stage_row(FILE *f, const json_t *stage, const struct scale *s,
                      double y)
{
    char p50[HTML_SHOWN], p90[HTML_SHOWN], p99[HTML_SHOWN], max[HTML_SHOWN];
    shown_us(stage, "p50_us", p50);
    shown_us(stage, "p90_us", p90);
    shown_us(stage, "p99_us", p99);
    shown_us(stage, "max_us", max);
    double x50 = scale_x(s, doc_or_0(stage, "p50_us"));
    double x90 = scale_x(s, doc_or_0(stage, "p90_us"));
    double x99 = scale_x(s, doc_or_0(stage, "p99_us"));
    double xmax = scale_x(s, doc_or_0(stage, "max_us"));
    fputs("<g><title>", f);
    html_text(f, doc_text(stage, "name"));
    fprintf(f, ": p50 %s, p90 %s, p99 %s, max %s</title>", p50, p90, p99, max);
    fprintf(f, "<text class=\"name\" x=\"0\" y=\"%.0f\">", y + 16);
    html_text(f, doc_text(stage, "name"));
    fprintf(f,
            "</text><text x=\"100%%\" y=\"%.0f\" text-anchor=\"end\">%s · %s · "
            "%s · %s</text>",
            y + 16, p50, p90, p99, max);
    fprintf(f,
            "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.0f\" "
            "y2=\"%.0f\"/>",
            y + 30, y + 30);
    fprintf(f,
            "<line class=\"tail\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.0f\" "
            "y2=\"%.0f\"/>",
            x50, xmax, y + 30, y + 30);
    fprintf(f,
            "<rect class=\"c-p99\" x=\"%.2f%%\" width=\"%.2f%%\" y=\"%.0f\" "
            "height=\"8\"/><rect class=\"c-p90\" x=\"%.2f%%\" "
            "width=\"%.2f%%\" y=\"%.0f\" height=\"14\"/>",
            x90, fmax(x99 - x90, 0.1), y + 26, x50, fmax(x90 - x50, 0.3),
            y + 23);
    fprintf(f,
            "<line class=\"end\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.0f\" "
            "y2=\"%.0f\"/></g>\n",
            xmax, xmax, y + 24, y + 36);
}

static void decades(FILE *f, const struct scale *s, double height)
{
    double step = s->high - s->low > 5 ? 2 : 1;
    for (double x = s->low; x <= s->high + 0.01; x += step) {
        char words[HTML_SHOWN];
        double at = 100 * (x - s->low) / (s->high - s->low);
        html_shown(pow(10, x) * 1e-6, HTML_SECONDS, words);
        fprintf(f,
                "<text x=\"%.2f%%\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n",
                at, height - 5,
                at < 1    ? "start"
                : at > 99 ? "end"
                          : "middle",
                words);
    }
}

static void stages_chart(FILE *f, const json_t *stages)
{
    struct scale s = scale_of(stages);
    size_t n = 0, row = 0;
    for (size_t i = 0; i < json_array_size(stages); i++)
        n += is_drawn(json_array_get(stages, i));
    if (n == 0)
        return;
    double height = (double)n * ROW_PIXELS + 24;
    fputs("<h3>Time of one item: p50 · p90 · p99 · longest</h3>\n", f);
    fprintf(f,
            "<svg class=\"plot\" width=\"100%%\" height=\"%.0f\" role=\"img\" "
            "aria-label=\"Percentiles of each stage on a logarithmic scale; "
            "the table below has values\">\n",
            height);
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *stage = json_array_get(stages, i);
        if (is_drawn(stage))
            stage_row(f, stage, &s, (double)row++ * ROW_PIXELS);
    }
    decades(f, &s, height);
    fputs("</svg>\n<p class=\"note\">Thick: half of the items to nine of ten. "
          "Thin: to 99 of 100. The line ends at the longest.</p>\n",
          f);
}

void report_stages(FILE *f, const json_t *doc)
{
    const json_t *stages = json_object_get(doc, "stages");
    if (json_array_size(stages) == 0)
        return;
    html_section(f, "Stages");
    stages_chart(f, stages);
    html_table(f, "Stages",
               "stage|#items|#bytes|#busy|#starved|#blocked|#p50|#p90|#p99|"
               "#max");
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *s = json_array_get(stages, i);
        static const char *const us[] = {"p50_us", "p90_us", "p99_us",
                                         "max_us"};
        if (!is_drawn(s))
            continue;
        fputs("<tr><th scope=\"row\">", f);
        html_text(f, doc_text(s, "name"));
        fputs("</th>", f);
        html_cell(f, doc_number(s, "items"), HTML_COUNT);
        html_cell(f, doc_number(s, "bytes"), HTML_BYTES);
        html_cell(f, doc_time(s, "busy"), HTML_SECONDS);
        html_cell(f, doc_time(s, "starved"), HTML_SECONDS);
        html_cell(f, doc_time(s, "blocked"), HTML_SECONDS);
        for (size_t k = 0; k < 4; k++)
            html_cell(f, doc_number(s, us[k]) * 1e-6, HTML_SECONDS);
        fputs("</tr>\n", f);
    }
    html_table_end(f);
    report_classes(f, doc);
    html_section_end(f);
}

/* ---- Workers ------------------------------------------------------------ */

void report_workers(FILE *f, const json_t *doc)
{
    static const struct {
        const char *key, *words;
    } kinds[] = {
        {"cpu", "decoding and augmenting, on a core"},
        {"runq", "the same, while no core was free"},
        {"throttle", "the same, while the CPU quota was spent"},
        {"sleep", "the same, asleep by itself"},
        {"read", "reading"},
        {"blocked", "no room for output"},
        {"starved", "nothing to work on"},
        {"parked", "not needed"},
        {"residual", "not attributed"},
    };
    enum { N = sizeof(kinds) / sizeof(*kinds) };
    const json_t *workers = json_object_get(doc, "workers");
    struct chart_part parts[N];
    char css[N][16];
    if (!json_is_object(workers))
        return;
    for (size_t i = 0; i < N; i++) {
        double seconds = doc_time(workers, kinds[i].key);
        snprintf(css[i], sizeof(css[i]), "c-%s", kinds[i].key);
        parts[i] = (struct chart_part){css[i], kinds[i].words,
                                       seconds > 0 ? seconds : 0};
    }
    html_section(f, "Workers");
    fputs("<p>How ", f);
    html_value(f, "workers.threads", doc_number(workers, "threads"),
               HTML_COUNT);
    fputs(" threads spent their time.</p>\n", f);
    chart_whole(f, "The workers' time, split", parts, N);
    if (json_is_number(doc_at(workers, "voluntary_switches"))) {
        fputs("<p>They gave up their core ", f);
        html_value(f, "workers.voluntary_switches",
                   doc_number(workers, "voluntary_switches"), HTML_COUNT);
        fputs(" times; the kernel took it from them ", f);
        html_value(f, "workers.involuntary_switches",
                   doc_number(workers, "involuntary_switches"), HTML_COUNT);
        fputs(" times.</p>\n", f);
    }
    html_section_end(f);
}

/* ---- Head-room ---------------------------------------------------------- */

static const struct gain {
    const char *path, *words;
} gains[] = {
    {"headroom.fed", "an infinitely fast loader"},
    {"headroom.two_workers", "two more workers"},
    {"headroom.storage", "storage of twice the speed"},
    {"headroom.transfer", "a bus of twice the speed"},
};
#define N_GAINS (sizeof(gains) / sizeof(*gains))

/* All bars have one scale: twice as fast, or the largest gain. */
static double gain_scale(const json_t *doc)
{
    double most = 1;
    for (size_t i = 0; i < N_GAINS; i++)
        most = fmax(most, doc_or_0(doc, gains[i].path));
    return most;
}

static void gain_bar(FILE *f, const json_t *doc, const struct gain *g,
                     double scale)
{
    double value = doc_number(doc, g->path);
    bool no_bus = strcmp(g->path, "headroom.transfer") == 0 &&
                  !json_is_object(json_object_get(doc, "transfer"));
    if (isnan(value) || no_bus)
        return;
    double width = value > 0 ? 100 * value / scale : 0;
    fprintf(f, "<li><span>%s</span><b>", g->words);
    html_value(f, g->path, value, HTML_GAIN);
    fprintf(f,
            "</b><svg width=\"100%%\" height=\"10\" aria-hidden=\"true\">"
            "<rect class=\"track\" width=\"100%%\" height=\"10\" rx=\"5\"/>"
            "<rect class=\"c-rate\" width=\"%.1f%%\" height=\"10\" rx=\"5\"/>"
            "</svg></li>\n",
            width);
}

void report_headroom(FILE *f, const json_t *doc)
{
    const json_t *headroom = json_object_get(doc, "headroom");
    const json_t *stages = json_object_get(headroom, "stages");
    if (!json_is_object(headroom))
        return;
    html_section(f, "Head-room");
    fputs("<p>What would be gained at most, of ", f);
    html_value(f, "headroom.batches_per_second",
               doc_number(headroom, "batches_per_second"), HTML_NUMBER);
    fputs(" batches per second now:</p>\n<ul class=\"gains\">\n", f);
    for (size_t i = 0; i < N_GAINS; i++)
        gain_bar(f, doc, &gains[i], gain_scale(doc));
    fputs("</ul>\n", f);
    if (json_object_size(stages) > 0 || json_array_size(stages) > 0) {
        fputs("<p>Batches per second that each stage could do alone: ", f);
        html_any(f, stages);
        fputs(".</p>\n", f);
    }
    html_section_end(f);
}
