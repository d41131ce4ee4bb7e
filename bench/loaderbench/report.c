/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench report: documents in, one page out. The page is made in memory
 * first; it replaces a file only once all of it is on the disk.
 */
#include "bench/loaderbench/report.h"

#include "bench/loaderbench/commands.h"
#include "bench/loaderbench/document.h"
#include "bench/loaderbench/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct report_options {
    const char *out;
};

static const struct cli_option options[] = {
    {"out", "PAGE.html", "where the page goes, '-' for standard output",
     CLI_TEXT, offsetof(struct report_options, out), 0, 0, NULL},
};

const struct cli_command command_report = {
    .name = "report",
    .positional = "FILE.json...",
    .positional_many = true,
    .summary = "one page of HTML about runs, sweeps and tunings",
    .about =
        "Makes one page of HTML from the JSON documents that run, sweep, tune "
        "and doctor write with --json: the verdict, the stall over time by "
        "cause, the stages, the tuner, slow samples, the machine. The page "
        "needs nothing else, no network and no script, is for screens of any "
        "size, light or dark, and for paper.\n\n"
        "'loaderbench run URI --report PAGE.html' does it at once.",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .run = report_main,
};

int report_write(json_t *const *docs, const char *const *names, size_t n,
                 const char *path)
{
    char *page = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&page, &bytes);
    int rc = TOOL_DONE;
    if (f) {
        report_page(f, docs, names, n);
        bool bad = ferror(f) != 0;
        bad = fclose(f) != 0 || bad;
        if (!bad)
            rc = document_replace(path, page, bytes);
        else
            f = NULL;
    }
    if (!f) {
        tool_say("out of memory for the page");
        rc = TOOL_ENVIRONMENT;
    }
    free(page);
    return rc;
}

static int report_files(const char *const *paths, size_t n, const char *out)
{
    json_t **docs = calloc(n, sizeof(json_t *));
    int rc = docs ? TOOL_DONE : TOOL_ENVIRONMENT;
    for (size_t i = 0; rc == TOOL_DONE && i < n; i++) {
        rc = document_read(paths[i], &docs[i]);
        if (rc == TOOL_DONE)
            rc = report_check(docs[i], paths[i]);
    }
    if (rc == TOOL_DONE)
        rc = report_write(docs, paths, n, out);
    for (size_t i = 0; docs && i < n; i++)
        json_decref(docs[i]);
    free(docs);
    return rc;
}

int report_main(const struct cli_command *command, int argc, char **argv)
{
    struct report_options o = {0};
    struct cli_parsed parsed;
    int rc = cli_parse(command, argc, argv, &o, &parsed);
    if (rc >= 0)
        goto out;
    if (!o.out) {
        tool_say("report: --out PAGE.html is missing");
        rc = TOOL_USAGE;
        goto out;
    }
    rc = report_files(parsed.positionals.items, parsed.positionals.n, o.out);
out:
    cli_fini(command, &o, &parsed);
    return rc;
}
