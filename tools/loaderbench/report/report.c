/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench report: documents in, one page out. The page is made in memory
 * first; it replaces a file only once all of it is on the disk.
 */
#include "tools/loaderbench/report/report.h"

#include "tools/loaderbench/cli/commands.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/tool.h"

#include <stdlib.h>
#include <string.h>

struct report_options {
    const char *out;
};

#define VALUES struct report_options
static const struct cli_option options[] = {
    {"out", "PAGE.html",
     "the page's file, '-' for standard output [FILE.html next to FILE.json]",
     VALUE_OUTPUT(out)},
};

const struct cli_command command_report = {
    .name = "report",
    .positional = "FILE.json...",
    .positional_many = true,
    .summary = "one page of HTML about runs, sweeps and tunings",
    .about =
        "Makes one HTML page of documents that were written with --json, or of "
        "the statistics that stats() gives, as JSON.\n\n"
        "The verdict, the stall over time by cause, the stages, the tuner, "
        "slow samples, the machine. The page is one file that needs no "
        "network, for screens of any size, light or dark, and for paper. "
        "Without scripts it shows its main tables.\n\n"
        "'loaderbench run URI --report PAGE.html' does it at once.",
    .example = "report run.json sweep.json --out page.html",
    CLI_TABLE(0),
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
            rc = output_write(path, page, bytes);
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

/* "sweep.json" -> "sweep.html"; standard input goes to standard output. The
 * caller frees; NULL: no memory. */
static char *default_out(const char *path)
{
    static const char from[] = ".json", to[] = ".html";
    size_t n = strlen(path), cut = sizeof(from) - 1;
    char *out = malloc(n + sizeof(to));
    if (!out)
        return NULL;
    if (n > cut && strcmp(path + n - cut, from) == 0)
        n -= cut;
    memcpy(out, path, n);
    memcpy(out + n, to, sizeof(to));
    if (strcmp(path, "-") == 0)
        out[1] = '\0';
    return out;
}

static int report_files(const char *const *paths, size_t n, const char *out)
{
    json_t **docs = calloc(n, sizeof(json_t *));
    int rc = docs ? TOOL_DONE : TOOL_ENVIRONMENT;
    for (size_t i = 0; rc == TOOL_DONE && i < n; i++)
        rc = report_read(paths[i], &docs[i]);
    if (rc == TOOL_DONE)
        rc = report_write(docs, paths, n, out);
    for (size_t i = 0; docs && i < n; i++)
        json_decref(docs[i]);
    free(docs);
    return rc;
}

int report_main(void *values, const struct cli_parsed *parsed)
{
    const struct report_options *o = values;
    const struct cli_list *files = &parsed->positionals;
    if (o->out)
        return report_files(files->items, files->n, o->out);
    char *beside = default_out(parsed->positional);
    int rc = beside ? report_files(files->items, files->n, beside)
                    : tool_no_memory();
    if (rc == TOOL_DONE && strcmp(beside, "-") != 0)
        printf("%s\n", beside);
    free(beside);
    return rc;
}
