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
 * list's folder; "https://..." and the like are locations. Windows line ends
 * and a byte order mark do no harm.
 *
 * Samples that are parts of files have two more columns, and the first line
 * says so, TABs between all of them (without it "offset" would be a label that
 * is no integer, so no other list begins like this):
 *
 *     path<TAB>label<TAB>offset<TAB>length
 *     train-000.tar<TAB>7<TAB>1536<TAB>110592
 *     whole.jpg<TAB>8<TAB><TAB>
 *
 * Any number of columns may follow, or stand in place of offset and length;
 * ?fields= chooses some of them (list_columns.h).
 */
#include "base/lines.h"
#include "base/memory.h"
#include "base/name_table.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"
#include "loader/dataset/list_columns.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS    " \t"
#define BETWEEN   " ," /* numbers of a vector */
#define WIDTH_MAX 4096u
#define FIELDS    "?fields="

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* A list that is being read. */
struct list {
    feedline_dataset *ds;
    const char *path;
    const char *folder; /* ends with a slash; "" for the working directory */
    struct fdl_line at;
    uint64_t line;                   /* its number */
    struct fdl_list_columns columns; /* n 0: it has no line that names them */
    struct fdl_name_table files;     /* as its lines write them */
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

/* What a path is relative to. */
static const char *folder_of(const struct list *l, const char *path)
{
    return *path == '/' || fdl_store_has(path) ? "" : l->folder;
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
    return fdl_store_has(path)
               ? fdl_dataset_add_location(l->ds, path, label)
               : fdl_dataset_add_joined(l->ds, folder_of(l, path), path, label);
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
    if (status == FEEDLINE_OK && number == l->ds->files.n) {
        status = fdl_strings_add(&full, folder_of(l, path), path, &at);
        if (status == FEEDLINE_OK)
            status = fdl_dataset_add_file(l->ds, full.text);
        free(full.text);
    }
    if (status == FEEDLINE_OK)
        *out = (uint32_t)number;
    return status;
}

/* Fields that are files of their own. */
static int32_t number_files(struct list *l, char *const *texts,
                            struct fdl_cell *cells)
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; status == FEEDLINE_OK && i < l->ds->fields.n; i++) {
        if (l->ds->fields.kind[i] != FEEDLINE_FIELD_BYTES)
            continue;
        char *path = stripped(texts[l->columns.of_field[i]]);
        cells[i] = (struct fdl_cell){.file = FDL_NO_FILE};
        if (*path)
            status = number_file(l, path, &cells[i].file);
        if (*path)
            cells[i].length = FEEDLINE_TO_END;
    }
    return status;
}

static int32_t fail_number(const struct list *l, uint32_t field,
                           const char *text)
{
    return fdl_fail(FEEDLINE_EINVAL, "%s:%" PRIu64 ": %s '%s' is no number",
                    l->path, l->line, fdl_field_set_name(&l->ds->fields, field),
                    text);
}

static int32_t add_number(struct list *l, uint32_t field, const char *text)
{
    feedline_dataset *ds = l->ds;
    int32_t status =
        fdl_array_reserve(&ds->numbers, &ds->numbers_capacity, ds->n_numbers,
                          sizeof(*ds->numbers), "fields of samples");
    if (status)
        return status;
    if (!fdl_list_columns_number(ds->fields.kind[field], text,
                                 &ds->numbers[ds->n_numbers]))
        return fail_number(l, field, text);
    ds->n_numbers++;
    return FEEDLINE_OK;
}

/* The first line that has some says how many. */
static int32_t add_vector(struct list *l, uint32_t field, char *text,
                          struct fdl_cell *cell)
{
    struct fdl_field_set *fields = &l->ds->fields;
    uint32_t *width = &fields->width[field], n = 0;
    char *rest;
    *cell = (struct fdl_cell){.word = l->ds->n_numbers};
    for (char *at = strtok_r(text, BETWEEN, &rest); at;
         at = strtok_r(NULL, BETWEEN, &rest), n++) {
        int32_t status = add_number(l, field, at);
        if (status)
            return status;
    }
    if (n == 0)
        cell->file = FDL_NO_FILE;
    else if (*width == FDL_LIST_VECTOR)
        *width = n;
    if (n > WIDTH_MAX)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s:%" PRIu64 ": %" PRIu32 " numbers in %s, and %u is "
                        "the most",
                        l->path, l->line, n, fdl_field_set_name(fields, field),
                        WIDTH_MAX);
    if (n > 0 && n != *width)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s:%" PRIu64 ": %" PRIu32
                        " numbers in %s, and %" PRIu32 " in the lines before",
                        l->path, l->line, n, fdl_field_set_name(fields, field),
                        *width);
    return FEEDLINE_OK;
}

static int32_t add_vectors(struct list *l, char *const *texts,
                           struct fdl_cell *cells)
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; status == FEEDLINE_OK && i < l->ds->fields.n; i++)
        if (l->ds->fields.width[i] > 0)
            status = add_vector(l, i, texts[l->columns.of_field[i]], &cells[i]);
    return status;
}

static int32_t add_fields(struct list *l, char *const *texts)
{
    struct fdl_cell cells[FEEDLINE_FIELDS_MAX];
    uint32_t wrong = fdl_list_columns_take(&l->columns, &l->ds->fields, &l->at,
                                           texts, cells);
    if (wrong < l->ds->fields.n)
        return fail_number(l, wrong, texts[l->columns.of_field[wrong]]);
    int32_t status = number_files(l, texts, cells);
    if (status == FEEDLINE_OK)
        status = add_vectors(l, texts, cells);
    return status || l->ds->fields.n == 0
               ? status
               : fdl_dataset_add_cells(l->ds, cells, FDL_NO_FILE);
}

static int32_t add_row(struct list *l, char *line)
{
    char *texts[FDL_LIST_COLUMNS];
    uint64_t offset = 0, length = FEEDLINE_TO_END;
    int64_t label = 0;
    uint32_t file;
    if (!fdl_list_columns_split(&l->columns, line, texts))
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s:%" PRIu64 ": %" PRIu32 " columns with TABs between "
                        "them expected, as in its first line",
                        l->path, l->line, l->columns.n);
    char *label_text = stripped(texts[1]);
    int32_t status =
        *label_text ? parse_label(l, label_text, &label) : FEEDLINE_OK;
    if (status == FEEDLINE_OK && l->columns.parts)
        status =
            parse_bytes(l, "offset", stripped(texts[2]), INT64_MAX, &offset);
    if (status == FEEDLINE_OK && l->columns.parts)
        status = parse_bytes(l, "length", stripped(texts[3]), FEEDLINE_TO_END,
                             &length);
    if (status == FEEDLINE_OK)
        status = number_file(l, stripped(texts[0]), &file);
    if (status)
        return status;
    struct feedline_extent extent = {offset, file, (uint32_t)length};
    status = fdl_dataset_add_extent(l->ds, "", &extent, label);
    return status ? status : add_fields(l, texts);
}

/* ---- All of it ----------------------------------------------------------- */

/* text: one line without its end; it is cut up. */
static int32_t add_line(struct list *l, char *text)
{
    if (l->line == 1 && fdl_list_columns_are(text))
        return fdl_list_columns_read(&l->columns, &l->ds->fields, l->path,
                                     text);
    char *path = text + strspn(text, BLANKS);
    if (*path == '\0' || *path == '#')
        return FEEDLINE_OK;
    return l->columns.n > 0 ? add_row(l, path) : add_whole(l, path);
}

/* Any line as it is in the file. */
static int32_t add_any(struct list *l)
{
    char *text = l->at.text, *stop = text + l->at.bytes;
    if (strlen(text) != l->at.bytes)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s:%" PRIu64 ": a NUL byte; a list is text, one "
                        "path and label per line",
                        l->path, l->line);
    if (stop > text && stop[-1] == '\r')
        stop[-1] = '\0';
    if (l->line == 1 && strncmp(text, BYTE_ORDER_MARK, 3) == 0)
        text += 3;
    return add_line(l, text);
}

static int32_t add_lines(struct list *l, struct fdl_lines *lines)
{
    for (;;) {
        int32_t status = fdl_lines_next(lines, &l->at);
        if (status || !l->at.text)
            return status;
        l->line++;
        status = add_any(l);
        if (status)
            return status;
    }
}

static int32_t add_all(struct list *l)
{
    struct fdl_lines lines = {0};
    int32_t status = fdl_lines_open(&lines, l->path);
    if (status == FEEDLINE_OK)
        status = add_lines(l, &lines);
    fdl_lines_close(&lines);
    if (status)
        return status;
    if (l->ds->count == 0)
        return fdl_fail(FEEDLINE_EINVAL, "%s: the list is empty", l->path);
    if (l->ds->fields.n > 0 && l->columns.n == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: it has no fields: a first line that names them "
                        "begins with path<TAB>label",
                        l->path);
    return FEEDLINE_OK;
}

/* Text lies in the list itself, which is a file of the data set then. */
static int32_t add_list_itself(const struct list *l)
{
    feedline_dataset *ds = l->ds;
    uint32_t number = (uint32_t)ds->files.n;
    for (uint64_t i = 0; i < ds->count * ds->fields.n; i++)
        if (ds->cells[i].file == FDL_LIST_ITSELF)
            ds->cells[i].file = number;
    for (uint32_t i = 0; i < ds->fields.n; i++)
        if (ds->fields.width[i] == FDL_LIST_VECTOR)
            ds->fields.width[i] = 1; /* no line has one */
    return ds->fields.n > 0 ? fdl_dataset_add_file(ds, l->path) : FEEDLINE_OK;
}

/* Parts have no names; where they are tells two lists apart. */
static int32_t finish(const struct list *l)
{
    feedline_dataset *ds = l->ds;
    if (l->columns.n == 0) {
        fdl_dataset_finish(ds, l->folder);
        return FEEDLINE_OK;
    }
    int32_t status = fdl_dataset_finish_extents(ds);
    if (status == FEEDLINE_OK)
        fdl_dataset_finish_bytes(ds, ds->extents,
                                 ds->count * sizeof(*ds->extents));
    if (status == FEEDLINE_OK)
        fdl_dataset_finish_bytes(ds, l->files.names.text.text,
                                 l->files.names.text.bytes);
    return status ? status : add_list_itself(l);
}

/* Cuts "LIST?fields=a,b" behind LIST. */
static int32_t take_options(char *spec, struct fdl_field_set *fields)
{
    char *mark = strstr(spec, FIELDS);
    if (!mark)
        return FEEDLINE_OK;
    *mark = '\0';
    return fdl_field_set_parse(fields, mark + strlen(FIELDS));
}

static int32_t open_list(struct list *l, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t folder_bytes = slash ? (size_t)(slash + 1 - path) : 0;
    char *folder = strndup(path, folder_bytes);
    int32_t status =
        folder ? FEEDLINE_OK : fdl_fail_memory(folder_bytes, "a folder's name");
    l->path = path;
    l->folder = folder;
    if (status == FEEDLINE_OK)
        status = add_all(l);
    if (status == FEEDLINE_OK)
        status = finish(l);
    free(folder);
    return status;
}

int32_t fdl_dataset_open_list(const char *spec, feedline_dataset **out)
{
    struct list l = {0};
    char *path = fdl_strdup(spec);
    int32_t status = path ? fdl_dataset_create(&l.ds)
                          : fdl_fail_memory(strlen(spec) + 1, "a list's name");
    if (status == FEEDLINE_OK)
        status = take_options(path, &l.ds->fields);
    if (status == FEEDLINE_OK)
        status = open_list(&l, path);
    fdl_name_table_free(&l.files);
    free(path);
    return fdl_dataset_hand_out(l.ds, status, out);
}
