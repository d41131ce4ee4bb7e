/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers as lines; see top.h. */
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/top/top.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CAUSES_SHOWN 4
#define STALE        2.0 /* seconds; eight updates that did not come */
#define LABEL        24  /* columns before a bar */

/* What is lost first in a low terminal has the highest. */
enum { MUST, MATTERS, CAUSE, LIMITS, DETAIL, GPU, DECISION, NICE };

static struct top_line *add(struct top_view *v, int priority, const char *fmt,
                            ...) __attribute__((format(printf, 3, 4)));

static struct top_line *add(struct top_view *v, int priority, const char *fmt,
                            ...)
{
    struct top_line *line = &v->lines[v->n < TOP_LINES ? v->n : TOP_LINES - 1];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line->text, sizeof(line->text), fmt, args);
    va_end(args);
    line->priority = priority;
    line->style = TOP_PLAIN;
    if (v->n < TOP_LINES)
        v->n++;
    return line;
}

/* More at the end of a line. */
static void more(struct top_line *line, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void more(struct top_line *line, const char *fmt, ...)
{
    size_t end = strlen(line->text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(line->text + end, sizeof(line->text) - end, fmt, args);
    va_end(args);
}

/* A text, broken at blanks. */
static void add_wrapped(struct top_view *v, int priority, const char *text)
{
    int width = v->width > 8 ? v->width : 8;
    for (int i = 0; *text; i++) {
        size_t n = strlen(text);
        if (n > (size_t)width) {
            n = (size_t)width;
            while (n > 0 && text[n] != ' ')
                n--;
            if (n == 0)
                n = (size_t)width;
            while (n > 1 && ((unsigned char)text[n] & 0xc0) == 0x80)
                n--;
        }
        add(v, i == 0 ? priority : priority + 1, "%.*s", (int)n, text);
        text += n;
        text += *text == ' ';
    }
}

/* [####......], as wide as there is room beside a label and a number. */
static const char *bar(const struct top_view *v, double fraction)
{
    static char text[64];
    int room = v->width - LABEL - 12;
    int width = room > 40 ? 40 : room;
    if (width < 4)
        return "";
    double part = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    int full = (int)(part * width + 0.5);
    text[0] = '[';
    memset(text + 1, '.', (size_t)width);
    memset(text + 1, '#', (size_t)full);
    memcpy(text + 1 + width, "]", 2);
    return text;
}

static void add_fraction(struct top_view *v, int priority, const char *label,
                         double fraction)
{
    if (fraction < 0)
        add(v, priority, "%-*s     -", LABEL, label);
    else
        add(v, priority, "%-*s%6.1f %% %s", LABEL, label, 100 * fraction,
            bar(v, fraction));
}

/* ---- Parts -------------------------------------------------------------- */

static void add_title(struct top_view *v, const struct top_subject *subject,
                      const struct feedline_live_stats *now)
{
    int64_t up = (now->updated_ns - now->started_ns) / 1000000000;
    if (now->updated_ns == 0)
        up = 0;
    struct top_line *line =
        add(v, MUST, "process %d, loader %u, up %02d:%02d:%02d: %s",
            subject->info.pid, subject->info.loader, (int)(up / 3600),
            (int)(up / 60 % 60), (int)(up % 60), subject->info.command);
    if (now->watched[0])
        more(line, " (watching %s)", now->watched);
    line->style = TOP_BOLD;
    double age = tool_seconds() - (double)now->updated_ns / 1e9;
    if (subject->notice)
        add(v, MUST, "%s", subject->notice)->style = TOP_BAD;
    else if (now->updated_ns == 0)
        add(v, MUST, "not started yet")->style = TOP_FAIR;
    else if (age > STALE)
        add(v, MUST,
            "no update for %.0f s: the process is stopped, or gets no "
            "CPU time",
            age)
            ->style = TOP_FAIR;
}

static enum top_style style_of(const char *level)
{
    if (strcmp(level, "FED") == 0 || strcmp(level, "MINOR") == 0)
        return TOP_GOOD;
    if (strcmp(level, "HIGH") == 0)
        return TOP_BAD;
    return TOP_FAIR;
}

static void add_verdict(struct top_view *v,
                        const struct feedline_live_stats *now)
{
    if (!now->verdict.code[0])
        return;
    struct top_line *line =
        add(v, MUST, "%s  %s", now->verdict.level, now->verdict.code);
    line->style = style_of(now->verdict.level);
    if (now->verdict.predicted_gain > 0) {
        char gain[TOOL_GAIN];
        tool_gain(now->verdict.predicted_gain, gain);
        more(line, "  (up to %s, confidence %.0f %%)", gain,
             100 * now->verdict.confidence);
    }
    add_wrapped(v, MATTERS, now->verdict.sentence);
    add_wrapped(v, LIMITS, now->verdict.action);
    add(v, NICE, "%s", "");
}

static void add_speed(struct top_view *v, const struct feedline_live_stats *now,
                      const struct top_rates *r)
{
    struct top_line *line = add(v, MUST, "images/s %.1f  read MB/s %.1f",
                                r->images, r->read_bytes / 1e6);
    if (r->from_storage >= 0)
        more(line, " (%.0f %% from storage)", 100 * r->from_storage);
    if (now->has_device)
        more(line, "  H2D GB/s %.2f", r->copied_bytes / 1e9);
    more(line, "  batches %llu", (unsigned long long)now->stats.batches);
    line->style = TOP_BOLD;
}

static void add_stall(struct top_view *v, const struct feedline_live_stats *now,
                      const struct top_rates *r)
{
    if (now->has_device)
        add_fraction(v, MUST, "device idle", r->device_idle);
    add_fraction(v, MUST, "host stall", r->stall);
    char label[LABEL + 1];
    if (now->watched[0]) { /* all of it, in somebody else's loader */
        snprintf(label, sizeof(label), "  in %.*s", LABEL - 6, now->watched);
        add_fraction(v, CAUSE, label, r->stall);
        return;
    }
    for (size_t i = 0;
         i < CAUSES_SHOWN && i < r->n_causes && r->causes[i].fraction >= 0.0005;
         i++) {
        snprintf(label, sizeof(label), "  %s", r->causes[i].name);
        add_fraction(v, CAUSE, label, r->causes[i].fraction);
    }
}

/* One character for each update: the darker, the longer the consumer waited. */
static void add_history(struct top_view *v, const struct top_history *h)
{
    static const char ramp[] = "_.:-=+*#%@";
    int room = v->width - LABEL - 12;
    size_t n = h->n;
    if (room < 8 || n < 2)
        return;
    n = n < (size_t)room ? n : (size_t)room;
    struct top_line *line = add(v, DETAIL, "%-*s          ", LABEL, "  so far");
    for (size_t i = h->n - n; i < h->n; i++) {
        double x = h->stall[i];
        size_t step = x < 0 ? 0 : x < 1 ? (size_t)(x * 10) : 9;
        more(line, "%c", x < 0 ? ' ' : ramp[step]);
    }
}

static void add_queue(struct top_view *v, const struct feedline_live_stats *now)
{
    double fill = now->depth ? (double)now->ready / now->depth : 0;
    char label[LABEL + 16];
    snprintf(label, sizeof(label), "queue %u/%u", now->ready, now->depth);
    add_fraction(v, MATTERS, label, fill);
    add(v, LIMITS,
        "workers %u, depth %u, I/O depth %u, batch size %u; in flight: "
        "%u batches, %u reads",
        now->workers, now->depth, now->io_depth, now->batch_size,
        now->outstanding, now->reads);
}

static void add_workers(struct top_view *v, const struct top_rates *r)
{
    struct top_line *line = add(v, LIMITS, "workers' time:");
    size_t n = 0;
    for (size_t i = 0; i < r->n_states; i++)
        if (r->states[i].fraction >= 0.005)
            more(line, "%s %s %.0f %%", n++ ? "," : "", r->states[i].name,
                 100 * r->states[i].fraction);
    if (n == 0)
        more(line, " not known");
}

static void add_placement(struct top_view *v,
                          const struct feedline_live_stats *now)
{
    if (now->placement[0])
        add(v, DETAIL, "placement: %s", now->placement);
}

static void add_machine(struct top_view *v,
                        const struct feedline_live_stats *now,
                        const struct top_rates *r)
{
    struct top_line *line;
    if (r->cpu_cores < 0)
        line = add(v, LIMITS, "CPU: -");
    else
        line = add(v, LIMITS, "CPU: %.2f", r->cpu_cores);
    if (now->cpu_quota > 0)
        more(line, " of %.4g cores (quota)", now->cpu_quota);
    else
        more(line, " of %u cores", now->cpus_usable);
    if (now->cpu_quota > 0)
        more(line, ", throttled %.0f ms/s", 1e3 * r->throttled);
    if (r->machine >= 0)
        more(line, ", machine %.0f %% busy", 100 * r->machine);
    if (now->memory_bytes)
        more(line, ", memory %.1f", (double)now->memory_bytes / 1073741824);
    if (now->memory_bytes && now->memory_limit_bytes)
        more(line, " of %.1f GiB",
             (double)now->memory_limit_bytes / 1073741824);
    else if (now->memory_bytes)
        more(line, " GiB");
}

static void add_gpu(struct top_view *v, const struct feedline_live_stats *now)
{
    if (!now->has_gpu)
        return;
    struct top_line *line = add(v, GPU, "GPU:");
    if (now->gpu_utilization >= 0)
        more(line, " util %.0f %%", 100 * now->gpu_utilization);
    if (now->gpu_memory_utilization >= 0)
        more(line, " mem-util %.0f %%", 100 * now->gpu_memory_utilization);
    if (now->gpu_memory_used_bytes >= 0)
        more(line, " mem %.1f/%.1f GiB",
             now->gpu_memory_used_bytes / 1073741824,
             now->gpu_memory_total_bytes / 1073741824);
    if (now->gpu_power_watts >= 0)
        more(line, " %.0f/%.0f W", now->gpu_power_watts,
             now->gpu_power_limit_watts);
    if (now->gpu_temperature >= 0)
        more(line, " %.0f C", now->gpu_temperature);
    if (now->gpu_sm_clock_mhz >= 0)
        more(line, " %.0f MHz", now->gpu_sm_clock_mhz);
    if (now->gpu_pcie_rx_gbps >= 0)
        more(line, " PCIe rx %.1f GB/s", now->gpu_pcie_rx_gbps);
    if (now->gpu_throttle[0])
        more(line, " throttled by %s", now->gpu_throttle);
    add(v, NICE,
        "GPU util counts any kernel, however small: it is not "
        "efficiency")
        ->style = TOP_DIM;
}

/* What the model asks for, where it is not in force. */
static void add_plan(struct top_line *line, const char *words, uint32_t planned,
                     uint32_t now)
{
    if (planned && planned != now)
        more(line, ", plans %s %u (now %u)", words, planned, now);
}

static const char *limit_words(const char *by)
{
    static const char *const words[][2] = {
        {"cores", "limited by the cores"},
        {"lock", "limited by a lock that workers share"},
        {"memory", "limited by the memory budget"},
        {"bound", "limited by an option"},
        {"storage", "limited by reads"},
        {"transfer", "limited by copies to the device"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(by, words[i][0]) == 0)
            return words[i][1];
    return by;
}

static void add_tuner(struct top_view *v, const struct feedline_live_stats *now)
{
    if (!now->tuner.mode[0])
        return;
    struct top_line *line = add(v, DETAIL, "tuner: %s", now->tuner.mode);
    if (strcmp(now->tuner.mode, "off") == 0)
        return;
    more(line, ", %s", now->tuner.converged ? "settled" : now->tuner.state);
    if (!now->tuner.converged) {
        add_plan(line, "workers", now->tuner.planned_workers, now->workers);
        add_plan(line, "depth", now->tuner.planned_depth, now->depth);
        add_plan(line, "I/O depth", now->tuner.planned_io_depth, now->io_depth);
    }
    if (now->tuner.limited_by[0])
        more(line, "; %s", limit_words(now->tuner.limited_by));
    more(line, "; " TOOL_COUNT, TOOL_COUNT_OF(now->tuner.decisions, "change"));
}

static void add_stuck(struct top_view *v, const struct feedline_live_stats *now)
{
    if (now->stuck_workers)
        add(v, MATTERS,
            "%u worker%s or read%s at one sample for longer than stuck_after",
            now->stuck_workers, now->stuck_workers == 1 ? "" : "s",
            now->stuck_workers == 1 ? " has been" : "s have been")
            ->style = TOP_BAD;
}

static void add_decisions(struct top_view *v,
                          const struct feedline_live_stats *now)
{
    if (now->n_decisions)
        add(v, DECISION, "decisions, the newest first:");
    for (uint32_t i = now->n_decisions; i-- > 0;)
        add(v, DECISION, "  %s", now->decisions[i]);
}

static void add_help(struct top_view *v)
{
    static const char *const lines[] = {
        "q      quit",
        "space  pause, continue",
        "n, p   next and previous loader of your processes",
        "h      this help; any key closes it",
        "",
        "host stall: share of time the consumer waited in next(); below it,",
        "  what the awaited batch was doing, and the stall of each update so",
        "  far, from _ (none) to @ (all of the time)",
        "device idle: share of time the GPU had no batch to work on",
        "queue: batches that are ready; blocked workers are ahead",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        add(v, MATTERS, "%s", lines[i]);
}

/* What a watch has nothing of. */
static void add_engine(struct top_view *v,
                       const struct feedline_live_stats *now,
                       const struct top_rates *rates)
{
    add_queue(v, now);
    add_stuck(v, now);
    add_tuner(v, now);
    add_workers(v, rates);
    add_placement(v, now);
}

void top_view_make(struct top_view *view, const struct top_subject *subject,
                   const struct feedline_live_stats *now,
                   const struct top_rates *rates)
{
    view->n = 0;
    add_title(view, subject, now);
    if (subject->help) {
        add_help(view);
        return;
    }
    add_verdict(view, now);
    add_speed(view, now, rates);
    add_stall(view, now, rates);
    add_history(view, &subject->history);
    if (!now->watched[0])
        add_engine(view, now, rates);
    add_machine(view, now, rates);
    add_gpu(view, now);
    add_decisions(view, now);
    if (subject->keys)
        add(view, NICE, "q quit  space pause  n/p next loader  h help")->style =
            TOP_DIM;
}

void top_view_fit(struct top_view *view, size_t height)
{
    while (view->n > height) {
        size_t out = view->n - 1;
        for (size_t i = view->n; i-- > 0;)
            if (view->lines[i].priority > view->lines[out].priority)
                out = i;
        memmove(&view->lines[out], &view->lines[out + 1],
                (view->n - out - 1) * sizeof(*view->lines));
        view->n--;
    }
}
