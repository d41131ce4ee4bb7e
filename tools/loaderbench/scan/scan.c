/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench scan: every sample of a data set, read and decoded once, before a
 * training meets the bad ones. Threads take the next sample from a counter.
 */
#include "tools/loaderbench/scan/scan.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/report/document.h"
#include "tools/loaderbench/threads.h"
#include "tools/loaderbench/tool.h"
#include "tools/loaderbench/tool_progress.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct scan_options {
    double oversized, tiny;
    uint64_t show;
    const char *quarantine, *json;
    bool quiet, progress;
};

#define VALUES struct scan_options
static const struct cli_option options[] = {
    {"quarantine", "FILE",
     "write the names of damaged samples\n"
     "URI?quarantine=FILE then is the data set without them, here and in a "
     "training.",
     VALUE_OUTPUT(quarantine)},
    {"show", "N", "samples to list of each finding [10]", VALUE_COUNT(show, 0)},
    CLI_JSON(json),
    {"oversized", "X", "report images of X times the median of pixels [8]",
     VALUE_NUMBER(oversized, 1, 1e9)},
    {"tiny", "X", "report images of a part of X of the median [64]",
     VALUE_NUMBER(tiny, 1, 1e9)},
    CLI_PROGRESS(progress),
    CLI_QUIET(quiet),
};

const struct cli_command command_scan = {
    .name = "scan",
    .positional = "URI",
    .positional_folder = true,
    .summary = "damaged, mislabelled and odd samples of a data set",
    .about =
        "Reads and decodes every sample once, and reports what is wrong.\n\n"
        "Damaged: what a loader cannot use. Mislabelled: the same file with "
        "two labels, and labels without a class. Odd: duplicates, files with "
        "the name of another format, images much larger or smaller than most, "
        "gray, CMYK, alpha, EXIF orientations. Also how well shuffle=block "
        "would mix: see --lanes and --batch-size. Loader options such as "
        "--max-pixels count. The exit status is 3 if something is damaged or "
        "mislabelled.",
    .example = "scan photos --quarantine bad.txt",
    CLI_TABLE(.oversized = 8, .tiny = 64, .show = 10),
    .n_first = 3,
    .loader_options = true,
    .run = scan_main,
};

/* ---- Checking ----------------------------------------------------------- */

struct work {
    struct scan *scan;
    const feedline_config *config;
    _Atomic uint64_t next;
    struct progress progress;
};

static void take_in(struct scan *s, uint64_t i,
                    const struct feedline_checked *is)
{
    struct scan_sample *to = &s->samples[i];
    to->is = *is;
    to->is.reason = NULL;
    to->reason = is->status < 0 ? strdup(is->reason) : NULL;
    to->seen = true;
}

static int check_samples(void *arg, bool first)
{
    struct work *w = arg;
    struct scan *s = w->scan;
    (void)first;
    feedline_checker *checker;
    struct feedline_checked is = {.struct_size = sizeof(is)};
    int32_t status = feedline_checker_create(w->config, s->data, &checker);
    while (status >= 0 && !tool_interrupted()) {
        uint64_t i =
            atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (i >= s->n)
            break;
        status = feedline_checker_check(checker, i, &is);
        if (status >= 0)
            take_in(s, i, &is);
        progress_count(&w->progress, i + 1);
    }
    int rc = status < 0 ? tool_run_failed(status) : TOOL_DONE;
    feedline_checker_destroy(checker);
    return rc;
}

static int check_all(struct scan *s, const feedline_config *config)
{
    double start = tool_seconds();
    struct work w = {
        .scan = s,
        .config = config,
        .progress = {
            .what = "scan", .unit = "samples", .all = s->n, .begin = start}};
    int rc = threads_run(config, s->n, check_samples, &w);
    progress_line("%s", "");
    s->seconds = tool_seconds() - start;
    s->interrupted = tool_interrupted();
    return rc;
}

/* ---- Results ------------------------------------------------------------ */

void scan_put_name(const char *name, FILE *f)
{
    static const char odd[] = "\\\n\r\t", as[] = "\\nrt";
    if (*name == '#')
        putc('\\', f);
    for (; *name; name++) {
        const char *found = strchr(odd, *name);
        if (found)
            putc('\\', f);
        putc(found ? as[found - odd] : *name, f);
    }
}

static int write_quarantine(const struct scan *s, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (!f)
        return tool_no_memory();
    fputs("# loaderbench scan ", f);
    scan_put_name(s->uri, f);
    putc('\n', f);
    for (uint64_t i = 0; i < s->n; i++) {
        struct feedline_sample_info info = {.struct_size = sizeof(info)};
        const struct scan_sample *sample = &s->samples[i];
        if (!scan_damage(sample) ||
            feedline_dataset_get_sample(s->data, i, &info) < 0)
            continue;
        scan_put_name(info.name, f);
        fprintf(f, "\t%s\n", sample->reason ? sample->reason : "");
    }
    bool failed = ferror(f) != 0;
    failed |= fclose(f) != 0;
    int rc = failed ? tool_no_memory() : output_write(path, text, bytes);
    free(text);
    return rc;
}

/* An interrupted scan is no ground for leaving samples out. */
static int deliver(struct scan *s, const struct scan_options *o,
                   const feedline_config *config)
{
    json_t *found = scan_findings(s), *doc = document_new("scan");
    json_t *mixing = scan_mixing(s, config);
    if (!found || !mixing) {
        json_decref(found);
        json_decref(mixing);
        json_decref(doc);
        return tool_no_memory();
    }
    json_object_update(doc, found);
    json_object_set_new(doc, "shuffle", mixing);
    json_decref(found);
    int rc = scan_has_error(doc) ? TOOL_DATA : TOOL_DONE;
    if (s->interrupted)
        rc = TOOL_INTERRUPTED;
    if (output_is_free(o->quiet, o->json, NULL))
        scan_print(doc, o->show);
    if (o->quarantine && !s->interrupted) {
        int written = write_quarantine(s, o->quarantine);
        rc = written == TOOL_DONE ? rc : written;
    }
    if (o->json)
        return document_deliver(doc, o->json, rc);
    json_decref(doc);
    return rc;
}

/* ---- The command -------------------------------------------------------- */

static int read_table(struct scan *s)
{
    int32_t status = feedline_dataset_open(s->uri, &s->data);
    if (status >= 0)
        status = feedline_dataset_get_count(s->data, &s->n);
    if (status < 0)
        return tool_setup_failed(status);
    s->samples = calloc(s->n, sizeof(*s->samples));
    if (!s->samples)
        return tool_no_memory();
    for (uint64_t i = 0; i < s->n; i++) {
        struct feedline_sample_info info = {.struct_size = sizeof(info)};
        status = feedline_dataset_get_sample(s->data, i, &info);
        if (status < 0)
            return tool_setup_failed(status);
        s->samples[i].label = info.label;
    }
    return TOOL_DONE;
}

int scan_main(void *values, const struct cli_parsed *parsed)
{
    const struct scan_options *o = values;
    struct scan s = {
        .uri = parsed->positional, .oversized = o->oversized, .tiny = o->tiny};
    feedline_config *config;
    int32_t status = feedline_config_create(&config);
    int rc = status < 0 ? tool_setup_failed(status) : cli_apply(parsed, config);
    if (rc == TOOL_DONE)
        rc = read_table(&s);
    if (rc == TOOL_DONE)
        rc = check_all(&s, config);
    tool_drain_log();
    if (rc == TOOL_DONE)
        rc = deliver(&s, o, config);
    for (uint64_t i = 0; s.samples && i < s.n; i++)
        free(s.samples[i].reason);
    free(s.samples);
    feedline_dataset_close(s.data);
    feedline_config_destroy(config);
    return rc;
}
