/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists: one sample per line, its path and its label.
 *
 *     # comment
 *     n01440764/10026.jpeg 0
 *     with blanks/a picture.jpg<TAB>1
 *     n01443537/10007.jpeg
 *
 * The label is what follows the last TAB, or without a TAB the last blank; a
 * line without either is a path with label 0. A path that contains blanks
 * therefore needs the TAB: "a picture.jpg" alone is refused, as guessing would
 * turn a forgotten label into a wrong file name. Paths are relative to the
 * list's folder. Windows line ends and a byte order mark do no harm.
 *
 * Samples that are parts of files have two more columns, and the first line
 * says so, TABs between all of them (without it "offset" would be a label that
 * is no integer, so no other list begins like this):
 *
 *     path<TAB>label<TAB>offset<TAB>length
 *     train-000.tar<TAB>7<TAB>1536<TAB>110592
 *     whole.jpg<TAB>8<TAB><TAB>
 */
#include "base/name_table.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"
#define PARTS  "path\tlabel\toffset\tlength"

/* A list that is being read. */
struct list {
    feedline_dataset *ds;
    const char *path;
    const char *folder; /* ends with a slash; "" for the working directory */
    uint64_t line;
    bool parts;                  /* it has offsets and lengths */
    struct fdl_name_table files; /* as its lines write them */
};

/* Without blanks at its start and end, which is cut off in place. */
static char *stripped(char *text)
{
    text += strspn(text, BLANKS);
    size_t n = strlen(text);
    while (n > 0 && strchr(BLANKS, text[n - 1]))
        n--;
    text[n] = '\0';
    return text;
}

static int32_t parse_label(const struct list *l, const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || digits[strspn(digits, "0123456789")] != '\0')
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s:%" PRIu64 ": label '%s' is not an integer (a path "
                        "with blanks needs a TAB before its label)",
                        l->path, l->line, text);
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s:%" PRIu64 ": label %s does not fit 64 bits",
                        l->path, l->line, text);
    *out = value;
    return FEEDLINE_OK;
}

static int32_t add_whole(struct list *l, char *path)
{
    char *blank = strrchr(path, '\t');
    if (!blank) {
        path = stripped(path);
        blank = strrchr(path, ' ');
    }
    int64_t label = 0;
    if (blank) {
        char *label_text = stripped(blank + 1);
        *blank = '\0';
        if (*label_text) {
            int32_t status = parse_label(l, label_text, &label);
            if (status)
                return status;
        }
        path = stripped(path);
    }
    return fdl_dataset_add_joined(l->ds, *path == '/' ? "" : l->folder, path,
                                  label);
}

/* ---- Parts of files ------------------------------------------------------ */

/* An empty text leaves *out as it is. */
static int32_t parse_bytes(const struct list *l, const char *what,
                           const char *text, uint64_t limit, uint64_t *out)
{
    if (!*text)
        return FEEDLINE_OK;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (text[strspn(text, "0123456789")] != '\0' || errno || value >= limit)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s:%" PRIu64 ": %s '%s' is not a whole number below "
                        "%" PRIu64,
                        l->path, l->line, what, text, limit);
    *out = value;
    return FEEDLINE_OK;
}

static int32_t number_file(struct list *l, const char *path, uint32_t *out)
{
    uint64_t number, at;
    struct fdl_strings full = {0};
    int32_t status = fdl_name_table_add(&l->files, path, &number);
    if (status == FEEDLINE_OK && number == l->ds->n_files) {
        status =
            fdl_strings_add(&full, *path == '/' ? "" : l->folder, path, &at);
        if (status == FEEDLINE_OK)
            status = fdl_dataset_add_file(l->ds, full.text);
        free(full.text);
    }
    if (status == FEEDLINE_OK)
        *out = (uint32_t)number;
    return status;
}

static int32_t add_part(struct list *l, char *path)
{
    char *fields[3]; /* label, offset, length */
    uint64_t offset = 0, length = FEEDLINE_TO_END;
    int64_t label = 0;
    uint32_t file;
    for (int i = 2; i >= 0; i--) {
        char *tab = strrchr(path, '\t');
        if (!tab)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s:%" PRIu64 ": path, label, offset and length "
                            "with TABs between them expected",
                            l->path, l->line);
        *tab = '\0';
        fields[i] = stripped(tab + 1);
    }
    int32_t status =
        *fields[0] ? parse_label(l, fields[0], &label) : FEEDLINE_OK;
    if (status == FEEDLINE_OK)
        status = parse_bytes(l, "offset", fields[1], INT64_MAX, &offset);
    if (status == FEEDLINE_OK)
        status = parse_bytes(l, "length", fields[2], FEEDLINE_TO_END, &length);
    if (status == FEEDLINE_OK)
        status = number_file(l, stripped(path), &file);
    if (status)
        return status;
    struct feedline_extent extent = {offset, file, (uint32_t)length};
    return fdl_dataset_add_extent(l->ds, "", &extent, label);
}

/* ---- All of it ----------------------------------------------------------- */

/* text: one line without its end; it is cut up. */
static int32_t add_line(struct list *l, char *text)
{
    if (l->line == 1 && strcmp(text, PARTS) == 0) {
        l->parts = true;
        return FEEDLINE_OK;
    }
    char *path = text + strspn(text, BLANKS);
    if (*path == '\0' || *path == '#')
        return FEEDLINE_OK;
    return l->parts ? add_part(l, path) : add_whole(l, path);
}

static int32_t add_lines(struct list *l, char *text, uint64_t bytes)
{
    char *end = text + bytes;
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    for (l->line = 1; text < end; l->line++) {
        char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop)
            stop = end; /* the NUL behind the text */
        *stop = '\0';
        if (strlen(text) != (size_t)(stop - text))
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s:%" PRIu64 ": a NUL byte; a list is text, one "
                            "path and label per line",
                            l->path, l->line);
        if (stop > text && stop[-1] == '\r')
            stop[-1] = '\0';
        int32_t status = add_line(l, text);
        if (status)
            return status;
        text = stop + 1;
    }
    if (l->ds->count == 0)
        return fdl_fail(FEEDLINE_EINVAL, "%s: the list is empty", l->path);
    return FEEDLINE_OK;
}

/* Parts have no names; where they are tells two lists apart. */
static int32_t finish(const struct list *l)
{
    feedline_dataset *ds = l->ds;
    if (!l->parts) {
        fdl_dataset_finish(ds, l->folder);
        return FEEDLINE_OK;
    }
    int32_t status = fdl_dataset_finish_extents(ds);
    if (status == FEEDLINE_OK)
        fdl_dataset_finish_bytes(ds, ds->extents,
                                 ds->count * sizeof(*ds->extents));
    if (status == FEEDLINE_OK)
        fdl_dataset_finish_bytes(ds, l->files.text.text, l->files.text.bytes);
    return status;
}

int32_t fdl_dataset_open_list(const char *path, feedline_dataset **out)
{
    struct list l = {.path = path};
    char *text = NULL;
    char *folder = NULL;
    uint64_t bytes = 0;

    int32_t status = fdl_file_load(path, &text, &bytes);
    if (status)
        goto out;
    status = fdl_dataset_create(&l.ds);
    if (status)
        goto out;

    const char *slash = strrchr(path, '/');
    size_t folder_bytes = slash ? (size_t)(slash + 1 - path) : 0;
    folder = malloc(folder_bytes + 1);
    if (!folder) {
        status = fdl_fail_memory(folder_bytes + 1, "a folder's name");
        goto out;
    }
    memcpy(folder, path, folder_bytes);
    folder[folder_bytes] = '\0';

    l.folder = folder;
    status = add_lines(&l, text, bytes);
    if (status == FEEDLINE_OK)
        status = finish(&l);
    if (status)
        goto out;
    *out = l.ds;
    l.ds = NULL;
out:
    fdl_dataset_unref(l.ds);
    fdl_name_table_free(&l.files);
    free(folder);
    free(text);
    return status;
}
