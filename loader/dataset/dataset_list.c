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
 */
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

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

static int32_t parse_label(const char *text, const char *list, uint64_t line,
                           int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!*digits || digits[strspn(digits, "0123456789")] != '\0')
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s:%" PRIu64 ": label '%s' is not an integer (a path "
                        "with blanks needs a TAB before its label)",
                        list, line, text);
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno == ERANGE)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s:%" PRIu64 ": label %s does not fit 64 bits", list,
                        line, text);
    *out = value;
    return FEEDLINE_OK;
}

/* text: one line without its end; it is cut up. */
static int32_t add_line(feedline_dataset *ds, const char *list,
                        const char *folder, uint64_t line, char *text)
{
    char *path = text + strspn(text, BLANKS);
    if (*path == '\0' || *path == '#')
        return FEEDLINE_OK;

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
            int32_t status = parse_label(label_text, list, line, &label);
            if (status)
                return status;
        }
        path = stripped(path);
    }
    return fdl_dataset_add_joined(ds, *path == '/' ? "" : folder, path, label);
}

static int32_t add_lines(feedline_dataset *ds, const char *list,
                         const char *folder, char *text, uint64_t bytes)
{
    char *end = text + bytes;
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    for (uint64_t line = 1; text < end; line++) {
        char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop)
            stop = end; /* the NUL behind the text */
        *stop = '\0';
        if (strlen(text) != (size_t)(stop - text))
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s:%" PRIu64 ": a NUL byte; a list is text, one "
                            "path and label per line",
                            list, line);
        if (stop > text && stop[-1] == '\r')
            stop[-1] = '\0';
        int32_t status = add_line(ds, list, folder, line, text);
        if (status)
            return status;
        text = stop + 1;
    }
    if (ds->count == 0)
        return fdl_fail(FEEDLINE_EINVAL, "%s: the list is empty", list);
    return FEEDLINE_OK;
}

int32_t fdl_dataset_open_list(const char *path, feedline_dataset **out)
{
    feedline_dataset *ds = NULL;
    char *text = NULL;
    char *folder = NULL;
    uint64_t bytes = 0;

    int32_t status = fdl_file_load(path, &text, &bytes);
    if (status)
        goto out;
    status = fdl_dataset_create(&ds);
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

    status = add_lines(ds, path, folder, text, bytes);
    if (status)
        goto out;
    fdl_dataset_finish(ds, folder);
    *out = ds;
    ds = NULL;
out:
    fdl_dataset_unref(ds);
    free(folder);
    free(text);
    return status;
}
