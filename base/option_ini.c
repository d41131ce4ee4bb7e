/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job files.
 *
 *     # a comment; so is what follows a blank and '#' or ';' on a line
 *     [global]
 *     batch_size = 64
 *
 *     [train]
 *     seed = 7
 *     trace = "my run #3.json"
 *
 * The file is cut into entries first, in its own bytes. Then every entry of
 * every section is tried on a copy of the options, in the order of the file, so
 * that a mistake is found on the day it is made and not on the day its section
 * is used. Only then [global] and the section asked for are applied.
 */
#include "base/option.h"
#include "base/option_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)1 << 20) /* a job file is typed by hand */
#define GLOBAL         "global"

/* A line that says something. */
struct entry {
    uint32_t line; /* from 1 */
    const char *section;
    const char *name; /* NULL: the line is the section's header */
    const char *value;
};

struct ini {
    const char *path;
    char *bytes; /* all texts of `entries` are in it */
    size_t length;
    struct entry *entries;
    size_t n_entries;
};

/* ---- Bytes -------------------------------------------------------------- */

static int32_t read_stream(struct ini *ini, FILE *f)
{
    ini->bytes = malloc(FILE_BYTES_MAX + 2);
    if (!ini->bytes)
        return fdl_fail_memory(FILE_BYTES_MAX + 2, ini->path);
    ini->length = fread(ini->bytes, 1, FILE_BYTES_MAX + 1, f);
    if (ferror(f))
        return fdl_fail(FEEDLINE_EIO, "%s: %s", ini->path, strerror(errno));
    if (ini->length > FILE_BYTES_MAX)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: larger than %zu bytes, which no job file is",
                        ini->path, FILE_BYTES_MAX);
    ini->bytes[ini->length] = '\0';
    return FEEDLINE_OK;
}

static int32_t read_file(struct ini *ini)
{
    FILE *f = fopen(ini->path, "re");
    if (!f) {
        int32_t status = errno == ENOENT   ? FEEDLINE_ENOENT
                         : errno == ENOMEM ? FEEDLINE_ENOMEM
                                           : FEEDLINE_EIO;
        return fdl_fail(status, "%s: %s", ini->path, strerror(errno));
    }
    int32_t status = read_stream(ini, f);
    fclose(f);
    return status;
}

/* ---- Lines -------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char *skip_blanks(char *s)
{
    while (is_blank(*s))
        s++;
    return s;
}

static bool is_comment(char c)
{
    return c == '#' || c == ';';
}

static void trim_end(char *s)
{
    size_t length = strlen(s);
    while (length > 0 && is_blank(s[length - 1]))
        length--;
    s[length] = '\0';
}

/* A comment starts the line or follows a blank: "a#b" is a value. */
static void cut_comment(char *s)
{
    for (size_t i = 0; s[i]; i++) {
        if (is_comment(s[i]) && (i == 0 || is_blank(s[i - 1]))) {
            s[i] = '\0';
            break;
        }
    }
    trim_end(s);
}

static int32_t fail_line(const struct ini *ini, uint32_t line, int32_t status,
                         const char *what, const char *text)
{
    return fdl_fail(status, "%s:%" PRIu32 ": %s%s", ini->path, line, what,
                    text);
}

/* s: behind the '['. */
static int32_t cut_header(const struct ini *ini, char *s, struct entry *e)
{
    char *end = strchr(s, ']');
    if (!end)
        return fail_line(ini, e->line, FEEDLINE_EINVAL, "no ']' after [", s);
    *end = '\0';
    cut_comment(end + 1);
    if (*skip_blanks(end + 1))
        return fail_line(ini, e->line, FEEDLINE_EINVAL,
                         "a section's line ends at ']', not with ",
                         skip_blanks(end + 1));
    s = skip_blanks(s);
    trim_end(s);
    if (!*s)
        return fail_line(ini, e->line, FEEDLINE_EINVAL,
                         "a section without a name", "");
    e->section = s;
    return FEEDLINE_OK;
}

static int32_t cut_value(const struct ini *ini, char *s, struct entry *e)
{
    e->value = s;
    if (*s != '"') {
        cut_comment(s);
        return FEEDLINE_OK;
    }
    char *end = fdl_option_unquote(s);
    if (!end)
        return fail_line(ini, e->line, FEEDLINE_EINVAL,
                         "no closing quote: ", s);
    end = skip_blanks(end);
    if (*end && !is_comment(*end))
        return fail_line(ini, e->line, FEEDLINE_EINVAL,
                         "a value ends at its closing quote, not with ", end);
    return FEEDLINE_OK;
}

static int32_t cut_assignment(const struct ini *ini, char *s, struct entry *e)
{
    char *equals = strchr(s, '=');
    if (!equals || equals == s)
        return fail_line(ini, e->line, FEEDLINE_EINVAL,
                         "expected name = value, not ", s);
    if (!e->section)
        return fail_line(ini, e->line, FEEDLINE_EINVAL,
                         "before the first section; write [global] above ", s);
    *equals = '\0';
    trim_end(s);
    e->name = s;
    return cut_value(ini, skip_blanks(equals + 1), e);
}

/* Fills *e if the line says something; e->section is the section so far. */
static int32_t cut_line(const struct ini *ini, char *s, struct entry *e,
                        bool *says_something)
{
    s = skip_blanks(s);
    *says_something = *s && !is_comment(*s);
    if (!*says_something)
        return FEEDLINE_OK;
    return *s == '[' ? cut_header(ini, s + 1, e) : cut_assignment(ini, s, e);
}

static int32_t cut_lines(struct ini *ini)
{
    const char *section = NULL;
    char *s = ini->bytes;
    char *end = s + ini->length;
    if (strncmp(s, "\xef\xbb\xbf", 3) == 0) /* some editors put it there */
        s += 3;

    for (uint32_t line = 1; s < end; line++) {
        char *newline = memchr(s, '\n', (size_t)(end - s));
        char *next = newline ? newline : end;
        if (memchr(s, '\0', (size_t)(next - s)))
            return fail_line(ini, line, FEEDLINE_EINVAL,
                             "a zero byte: this is not a text file", "");
        *next = '\0';
        struct entry *e = &ini->entries[ini->n_entries];
        *e = (struct entry){.line = line, .section = section};
        bool says_something;
        int32_t status = cut_line(ini, s, e, &says_something);
        if (status != FEEDLINE_OK)
            return status;
        section = e->section;
        if (says_something)
            ini->n_entries++;
        s = next + 1;
    }
    return FEEDLINE_OK;
}

static int32_t alloc_entries(struct ini *ini)
{
    size_t lines = 1; /* the last may have no newline */
    for (size_t i = 0; i < ini->length; i++)
        lines += ini->bytes[i] == '\n';
    ini->entries = calloc(lines, sizeof(*ini->entries));
    return ini->entries
               ? FEEDLINE_OK
               : fdl_fail_memory(lines * sizeof(*ini->entries), ini->path);
}

/* ---- Sections ----------------------------------------------------------- */

static bool has_section(const struct ini *ini, size_t n_entries,
                        const char *section)
{
    for (size_t i = 0; i < n_entries; i++) {
        if (strcmp(ini->entries[i].section, section) == 0)
            return true;
    }
    return false;
}

static int32_t fail_section(const struct ini *ini, const char *section)
{
    char known[FDL_ERROR_BYTES / 2] = "";
    size_t length = 0;
    for (size_t i = 0; i < ini->n_entries; i++) {
        const char *name = ini->entries[i].section;
        if (has_section(ini, i, name) || length >= sizeof(known))
            continue;
        length += (size_t)snprintf(known + length, sizeof(known) - length,
                                   " [%s]", name);
    }
    return fdl_fail(FEEDLINE_ENOENT, "%s has no section [%s]; it has%s",
                    ini->path, section, *known ? known : " none");
}

/* section NULL: all of them. */
static int32_t apply(const struct ini *ini, const char *section,
                     struct fdl_options *o)
{
    for (size_t i = 0; i < ini->n_entries; i++) {
        const struct entry *e = &ini->entries[i];
        if (!e->name || (section && strcmp(section, e->section) != 0))
            continue;
        int32_t status = fdl_options_set(o, e->name, e->value);
        if (status != FEEDLINE_OK)
            return fail_line(ini, e->line, status, fdl_last_error(), "");
    }
    return FEEDLINE_OK;
}

static int32_t try_all(const struct ini *ini, const struct fdl_options *o)
{
    struct fdl_options trial;
    int32_t status = fdl_options_copy(&trial, o);
    if (status != FEEDLINE_OK)
        return status;
    status = apply(ini, NULL, &trial);
    fdl_options_fini(&trial);
    return status;
}

static int32_t apply_sections(const struct ini *ini, const char *section,
                              struct fdl_options *o)
{
    struct fdl_options next;
    int32_t status = fdl_options_copy(&next, o);
    if (status != FEEDLINE_OK)
        return status;
    status = apply(ini, GLOBAL, &next);
    if (status == FEEDLINE_OK && section)
        status = apply(ini, section, &next);
    if (status == FEEDLINE_OK) {
        struct fdl_options old = *o;
        *o = next;
        next = old;
    }
    fdl_options_fini(&next);
    return status;
}

int32_t fdl_options_load(struct fdl_options *o, const char *path,
                         const char *section)
{
    struct ini ini = {.path = path};
    if (section && strcmp(section, GLOBAL) == 0)
        section = NULL;

    int32_t status = read_file(&ini);
    if (status != FEEDLINE_OK)
        goto out;
    status = alloc_entries(&ini);
    if (status != FEEDLINE_OK)
        goto out;
    status = cut_lines(&ini);
    if (status != FEEDLINE_OK)
        goto out;
    if (section && !has_section(&ini, ini.n_entries, section)) {
        status = fail_section(&ini, section);
        goto out;
    }
    status = try_all(&ini, o);
    if (status == FEEDLINE_OK)
        status = apply_sections(&ini, section, o);
out:
    free(ini.entries);
    free(ini.bytes);
    return status;
}
