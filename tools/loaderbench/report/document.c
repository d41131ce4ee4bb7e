/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/report/document.h"

#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/output.h"
#include "tools/loaderbench/tool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Making ------------------------------------------------------------- */

static struct {
    char date[32], host[256];
    char *command_line;
    json_t *options;
} made;

/* Does a shell take it for one word as it stands? */
static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                                "UVWXYZ0123456789_-./:=,+@%";
    return *word && strspn(word, plain) == strlen(word);
}

/* In quotes where a shell needs them. */
static void print_word(FILE *f, const char *word)
{
    if (is_plain(word)) {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[2]){*word, '\0'}, f);
    fputc('\'', f);
}

static char *quoted(int argc, char **argv)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    for (int i = 0; f && i < argc; i++) {
        if (i)
            fputc(' ', f);
        print_word(f, argv[i]);
    }
    if (f)
        fclose(f);
    return text;
}

void document_made_by(int argc, char **argv)
{
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(made.date, sizeof(made.date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (gethostname(made.host, sizeof(made.host) - 1) != 0)
        made.host[0] = '\0';
    made.command_line = quoted(argc, argv);
}

void document_made_with(json_t *options)
{
    json_decref(made.options);
    made.options = options;
}

void document_fini(void)
{
    free(made.command_line);
    json_decref(made.options);
    memset(&made, 0, sizeof(made));
}

json_t *document_new(const char *command)
{
    json_t *doc =
        json_pack("{s:i, s:s, s:s}", "schema_version", TOOL_SCHEMA_VERSION,
                  "command", command, "version", feedline_version());
    json_object_set_new(doc, "date", doc_string(made.date));
    json_object_set_new(doc, "host", doc_string(made.host));
    json_object_set_new(doc, "command_line", doc_string(made.command_line));
    json_object_set(doc, "options", made.options ? made.options : json_null());
    return doc;
}

int document_write(const json_t *doc, const char *path)
{
    char *text = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    size_t bytes = text ? strlen(text) : 0;
    if (!text)
        return tool_no_memory();
    text[bytes] = '\n'; /* in place of the end */
    int rc = output_write(path, text, bytes + 1);
    free(text);
    return rc;
}

int document_deliver(json_t *doc, const char *path, int rc)
{
    int written = document_write(doc, path);
    json_decref(doc);
    return written == TOOL_DONE ? rc : written;
}

/* ---- Reading ------------------------------------------------------------ */

static int unreadable(const char *path, int error)
{
    tool_say("%s: %s", path, strerror(error));
    return TOOL_USAGE;
}

int document_read(const char *path, json_t **out)
{
    json_error_t error;
    struct stat st;
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    *out = NULL;
    if (!f)
        return unreadable(path, errno);
    /* A folder can be opened and not be read. */
    int rc = TOOL_DONE;
    if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
        rc = unreadable(path, EISDIR);
    } else {
        *out = json_loadf(f, 0, &error);
        if (!*out && ferror(f)) {
            rc = unreadable(path, errno);
        } else if (!*out && S_ISREG(st.st_mode) && st.st_size == 0) {
            tool_say("%s is empty", path);
            rc = TOOL_DATA;
        } else if (!*out) {
            tool_say("%s: no JSON at line %d, column %d: %s", path, error.line,
                     error.column, error.text);
            rc = TOOL_DATA;
        }
    }
    if (f != stdin)
        fclose(f);
    return rc;
}
