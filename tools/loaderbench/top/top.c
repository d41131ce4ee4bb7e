/* SPDX-License-Identifier: Apache-2.0 */
/* loaderbench top: which loader is watched, and the loop; see top.h. */
#include "tools/loaderbench/top/top.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/tool_progress.h"
#include "tools/loaderbench/top/top_job.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK 0.1 /* seconds between looks at keys, size and Ctrl-C */

struct top_options {
    uint64_t loader;
    double interval;
    bool once, wait, job;
    const char *json, *logs;
};

#define VALUES struct top_options
static const struct cli_option options[] = {
    {"loader", "N", "which loader of the process, as listed [0]",
     VALUE_COUNT(loader, 0)},
    {"interval", "SECONDS", "time between updates [1]",
     VALUE_NUMBER(interval, 0.1, 3600)},
    {"wait", NULL,
     "wait for a loader to appear\n"
     "In the process PID, or in any process of yours.",
     VALUE_SWITCH(wait)},
    {"job", NULL,
     "all ranks of a job in one picture\n"
     "Who holds up the others, and whether its loader is why.",
     VALUE_SWITCH(job)},
    {"logs", "PATH",
     "with --job: ranks of any host, from these logs\n"
     "A file that option stats_log names, or a folder of files *.jsonl.",
     VALUE_TEXT(logs)},
    {"once", NULL, "print one update as plain text and exit",
     VALUE_SWITCH(once)},
    {"json", "FILE",
     "write one update as JSON and exit, '-' for stdout\n"
     "Without PID, and with several processes to choose from, the list.",
     VALUE_OUTPUT(json)},
};

static bool next_in_list(uint32_t i, struct feedline_live_info *info)
{
    info->struct_size = sizeof(*info);
    return feedline_live_list(i, info) == FEEDLINE_OK;
}

/* Of each process once, for the list is in the order of processes. */
static void offer_pids(void (*offer)(const void *self, const char *value),
                       const void *self)
{
    struct feedline_live_info info;
    int32_t before = 0;
    for (uint32_t i = 0; next_in_list(i, &info); i++) {
        char pid[16];
        snprintf(pid, sizeof(pid), "%" PRId32, info.pid);
        if (info.pid != before)
            offer(self, pid);
        before = info.pid;
    }
}

const struct cli_command command_top = {
    .name = "top",
    .positional = "PID",
    .offer_values = offer_pids,
    .positional_optional = true,
    .summary = "live view of a running training process",
    .about =
        "Shows what the loader in another process of yours is doing, live.\n\n"
        "What the consumer waits for, how full the queue is, what the workers "
        "do, and the verdict. Without PID the only process with a loader is "
        "watched, or, if there are several, they are listed. Watching costs "
        "the other process nothing.",
    .example = "top --wait",
    CLI_TABLE(.interval = 1),
    .run = top_main,
};

/* The loader that is watched. */
struct watch {
    const struct top_options *options;
    struct top_subject subject;
    feedline_live *live;
    struct feedline_live_stats before, now;
    bool has_before;
    struct top_rates rates;
    bool ended, paused;
    char notice[96];
};

/* ---- Which one ---------------------------------------------------------- */

static json_t *list_json(void)
{
    struct feedline_live_info info;
    json_t *doc = document_new("top"), *all = json_array();
    for (uint32_t i = 0; next_in_list(i, &info); i++)
        json_array_append_new(all, json_pack("{s:i, s:i, s:s, s:I}", "pid",
                                             (int)info.pid, "loader",
                                             (int)info.loader, "command",
                                             info.command, "started_unix_ns",
                                             (json_int_t)info.started_unix_ns));
    json_object_set_new(doc, "loaders", all);
    return doc;
}

static int list(const struct top_options *o)
{
    struct feedline_live_info info;
    if (o->json)
        return document_deliver(list_json(), o->json, TOOL_DONE);
    printf("%8s %6s  %s\n", "PID", "loader", "command");
    for (uint32_t i = 0; next_in_list(i, &info); i++)
        printf("%8" PRId32 " %6" PRIu32 "  %s\n", info.pid, info.loader,
               info.command);
    printf("Choose one: loaderbench top PID\n");
    return TOOL_DONE;
}

/* Until there is a loader to be seen: `loader` of process `pid`, or the first
 * one of any. false: Ctrl-C. A process that is gone is left to attach. */
static bool wait_for_loader(int32_t pid, uint32_t loader)
{
    struct feedline_live_info info;
    bool told = false;
    while (!tool_interrupted()) {
        for (uint32_t i = 0; next_in_list(i, &info); i++)
            if (!pid || (info.pid == pid && info.loader == loader))
                return true;
        if (pid && kill(pid, 0) != 0 && errno == ESRCH)
            return true;
        if (!told && progress_is_shown())
            fprintf(stderr, "Waiting for a loader. Ctrl-C quits.\n");
        told = true;
        tool_sleep_until(tool_seconds() + TICK);
    }
    return false;
}

/* -1: go on with *pid. */
static int choose(const struct top_options *o, int32_t *pid)
{
    struct feedline_live_info info;
    *pid = 0;
    for (uint32_t i = 0; next_in_list(i, &info); i++) {
        if (*pid && *pid != info.pid)
            return list(o);
        *pid = info.pid;
    }
    if (*pid)
        return -1;
    tool_say("no process of yours has a loader to watch; --wait waits for one");
    return TOOL_ENVIRONMENT;
}

static bool parse_pid(const char *text, int32_t *pid)
{
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (errno || *end || end == text || n <= 0 || n > INT32_MAX) {
        tool_say("top: '%s' is not a process ID", text);
        return false;
    }
    *pid = (int32_t)n;
    return true;
}

/* ---- Reading ------------------------------------------------------------ */

static void describe(struct watch *w, int32_t pid, uint32_t loader)
{
    struct feedline_live_info info;
    w->subject.info = (struct feedline_live_info){.pid = pid, .loader = loader};
    for (uint32_t i = 0; next_in_list(i, &info); i++)
        if (info.pid == pid && info.loader == loader)
            w->subject.info = info;
}

static int32_t attach(struct watch *w, int32_t pid, uint32_t loader)
{
    feedline_live *live;
    int32_t status = feedline_live_attach(pid, loader, &live);
    if (status < 0)
        return status;
    feedline_live_detach(w->live);
    w->live = live;
    w->has_before = w->ended = false;
    w->subject.history.n = 0;
    describe(w, pid, loader);
    return FEEDLINE_OK;
}

static void remember(struct top_history *h, double stall)
{
    if (h->n == TOP_HISTORY)
        memmove(h->stall, h->stall + 1, --h->n * sizeof(*h->stall));
    h->stall[h->n++] = stall;
}

/* One reading; the rates are those since the reading before. */
static int32_t look(struct watch *w)
{
    struct feedline_live_stats stats = {.struct_size = sizeof(stats)};
    int32_t status = feedline_live_read(w->live, &stats);
    if (status < 0)
        return status;
    w->ended = status == FEEDLINE_END;
    if (w->ended)
        w->subject.help = false; /* the last state is what is left to see */
    /* A picture may be drawn again before there is news. */
    if (w->has_before && stats.updated_ns == w->now.updated_ns &&
        stats.started_ns == w->now.started_ns)
        return FEEDLINE_OK;
    w->before = w->now;
    w->now = stats;
    top_rates(w->has_before ? &w->before : NULL, &w->now, &w->rates);
    remember(&w->subject.history, w->rates.stall);
    w->has_before = true;
    return FEEDLINE_OK;
}

/* A loader may be gone because the next epoch has another one. */
static void look_again(struct watch *w)
{
    if (w->ended)
        (void)attach(w, w->subject.info.pid, w->subject.info.loader);
    if (!w->ended)
        (void)look(w);
}

/* The one before or after this in the list, in a circle. */
static void move(struct watch *w, int step)
{
    struct feedline_live_info info, found = {0}, edge = {0};
    const struct feedline_live_info *here = &w->subject.info;
    for (uint32_t i = 0; next_in_list(i, &info); i++) {
        int64_t side = info.pid != here->pid
                           ? (int64_t)info.pid - here->pid
                           : (int64_t)info.loader - here->loader;
        if (side == 0)
            continue;
        if ((side > 0) == (step > 0)) {
            if (!found.pid || step < 0)
                found = info;
        } else if (!edge.pid || step < 0) {
            edge = info;
        }
    }
    if (!found.pid)
        found = edge;
    if (found.pid && attach(w, found.pid, found.loader) >= 0)
        (void)look(w);
}

/* ---- Showing ------------------------------------------------------------ */

static void make(struct watch *w, struct top_view *view, int width)
{
    w->subject.notice = NULL;
    if (w->ended) {
        snprintf(w->notice, sizeof(w->notice),
                 "process %" PRId32 " or its loader is gone; this was its last "
                 "state",
                 w->subject.info.pid);
        w->subject.notice = w->notice;
    } else if (w->paused) {
        w->subject.notice = "paused; space continues";
    }
    view->width = width;
    top_view_make(view, &w->subject, &w->now, &w->rates);
}

static void print(struct watch *w)
{
    static struct top_view view;
    make(w, &view, 80);
    for (size_t i = 0; i < view.n; i++)
        printf("%s\n", view.lines[i].text);
    printf("\n");
    fflush(stdout);
}

/* true: quit. */
static bool press(struct watch *w, char key)
{
    bool helped = w->subject.help;
    w->subject.help = false;
    switch (key) {
    case 'q':
    case 'Q':
        return true;
    case ' ':
        w->paused = !w->paused;
        break;
    case 'n':
        move(w, 1);
        break;
    case 'p':
        move(w, -1);
        break;
    case 'h':
    case '?':
        w->subject.help = !helped;
        break;
    default:
        break;
    }
    return false;
}

static void on_screen(struct watch *w)
{
    static struct top_view view;
    int width = 0, height = 0;
    bool stale = true; /* the picture */
    double due = tool_seconds() + w->options->interval;
    while (!tool_interrupted()) {
        int new_width, new_height;
        top_screen_size(&new_width, &new_height);
        if (stale || new_width != width || new_height != height) {
            width = new_width;
            height = new_height;
            make(w, &view, width);
            top_view_fit(&view, (size_t)height);
            top_screen_draw(&view, width, height);
            stale = false;
        }
        double left = due - tool_seconds();
        char key = top_screen_key(left < 0 ? 0 : left < TICK ? left : TICK);
        if (key && press(w, key))
            return;
        stale = key != 0;
        if (tool_seconds() < due)
            continue;
        due += w->options->interval;
        if (due < tool_seconds())
            due = tool_seconds() + w->options->interval;
        if (!w->paused)
            look_again(w);
        stale = true;
    }
}

/* As a log: a picture each time. */
static void as_text(struct watch *w)
{
    while (!tool_interrupted()) {
        tool_sleep_until(tool_seconds() + w->options->interval);
        if (look(w) < 0 || tool_interrupted())
            return;
        print(w);
        if (w->ended || ferror(stdout))
            return;
    }
}

static int once(struct watch *w)
{
    tool_sleep_until(tool_seconds() + w->options->interval);
    int32_t status = look(w);
    if (status < 0)
        return tool_setup_failed(status);
    if (!w->options->json) {
        print(w);
        return TOOL_DONE;
    }
    return document_deliver(top_json(&w->subject.info, &w->now, &w->rates),
                            w->options->json, TOOL_DONE);
}

static int watch_it(struct watch *w)
{
    if (w->options->once || w->options->json)
        return once(w);
    if (!top_screen_enter()) {
        as_text(w);
    } else {
        w->subject.keys = true;
        on_screen(w);
        top_screen_leave();
    }
    if (w->ended)
        tool_say("process %" PRId32 " or its loader is gone",
                 w->subject.info.pid);
    return tool_interrupted() ? TOOL_INTERRUPTED : TOOL_DONE;
}

/* ---- A job -------------------------------------------------------------- */

/* One picture. */
static int look_at_job(const struct top_options *o, int32_t pid)
{
    struct job job = {0};
    int rc = o->logs ? job_of_logs(&job, o->logs)
                     : job_of_pages(&job, pid, o->interval);
    if (rc == TOOL_DONE) {
        json_t *doc = job_json(&job);
        if (!o->json)
            job_print(doc);
        rc = o->json ? document_deliver(doc, o->json, rc) : rc;
        if (!o->json)
            json_decref(doc);
    }
    job_fini(&job);
    return rc;
}

static int watch_job(const struct top_options *o, int32_t pid)
{
    int rc = look_at_job(o, pid);
    while (rc == TOOL_DONE && !o->once && !o->json) {
        if (o->logs)
            tool_sleep_until(tool_seconds() + o->interval);
        if (tool_interrupted())
            return TOOL_INTERRUPTED;
        printf("\n");
        rc = look_at_job(o, pid);
    }
    return rc;
}

static int main_of_job(const struct top_options *o, int32_t pid)
{
    if (o->job && !o->wait && !(pid && o->logs))
        return watch_job(o, pid);
    tool_say(!o->job   ? "top --logs needs --job"
             : o->wait ? "top takes --job and not --wait, or the reverse"
                       : "top --job takes PID or --logs");
    return TOOL_USAGE;
}

int top_main(void *values, const struct cli_parsed *parsed)
{
    const struct top_options *o = values;
    int32_t pid = 0;
    int rc = -1;
    if (parsed->positional && !parse_pid(parsed->positional, &pid))
        return TOOL_USAGE;
    if (o->job || o->logs)
        return main_of_job(o, pid);
    if (o->wait && !wait_for_loader(pid, (uint32_t)o->loader))
        return TOOL_INTERRUPTED;
    if (!parsed->positional)
        rc = choose(o, &pid);
    if (rc >= 0)
        return rc;
    struct watch *w = calloc(1, sizeof(*w));
    if (!w)
        return tool_no_memory();
    w->options = o;
    int32_t status = attach(w, pid, (uint32_t)o->loader);
    if (status >= 0)
        status = look(w);
    rc = status < 0 ? tool_setup_failed(status) : watch_it(w);
    feedline_live_detach(w->live);
    free(w);
    return rc;
}
