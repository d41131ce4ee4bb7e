/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that are left out: a list of names, one a line, of which the rest
 * behind a TAB is for people.
 *
 *     # loaderbench scan folder:photos
 *     cat/1.jpg<TAB>offset 0: this is an empty file
 *
 * Names are those of feedline_sample_info, below the folder of the data set, so
 * that a list stays good when both are moved. Samples are taken out of the
 * table before anybody sees it: indices, orders and ranks are those of a data
 * set that never had them.
 */
#include "base/log.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"
#include "loader/dataset/dataset_objects.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void fdl_unescape(char *text)
{
    char *to = text;
    for (; *text; text++) {
        static const char names[] = "nrt", means[] = "\n\r\t";
        const char *found = NULL;
        if (*text == '\\' && text[1]) {
            text++;
            found = strchr(names, *text);
        }
        *to++ = found ? means[found - names] : *text;
    }
    *to = '\0';
}

struct names {
    const char **at; /* sorted */
    uint64_t n, capacity;
};

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names point into text, which is `bytes` long and becomes them. */
static int32_t read_names(const char *list, char *text, uint64_t bytes,
                          struct names *out)
{
    if (strlen(text) != bytes)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: a NUL byte; a quarantine is text, one sample per "
                        "line",
                        list);
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "\t\r")] = '\0';
        if (*line == '\0' || *line == '#')
            continue;
        int32_t status =
            fdl_array_reserve(&out->at, &out->capacity, out->n,
                              sizeof(*out->at), "names in quarantine");
        if (status)
            return status;
        fdl_unescape(line);
        out->at[out->n++] = line;
    }
    if (out->n > 0)
        qsort(out->at, out->n, sizeof(*out->at), compare);
    return FEEDLINE_OK;
}

/* Sample i becomes sample `to`, which is not behind it; but for its name. */
static void move(feedline_dataset *ds, uint64_t i, uint64_t to)
{
    fdl_integers_copy(&ds->labels, to, i);
    if (ds->extents)
        ds->extents[to] = ds->extents[i];
    if (ds->sums)
        ds->sums[to] = ds->sums[i];
    if (ds->cells)
        memmove(&ds->cells[to * ds->fields.n], &ds->cells[i * ds->fields.n],
                ds->fields.n * sizeof(*ds->cells));
    if (ds->objects)
        ds->objects->span[to] = ds->objects->span[i];
    if (ds->data)
        ds->data[to] = ds->data[i];
    if (ds->sizes)
        ds->sizes[to] = ds->sizes[i];
    if (ds->user)
        ds->user->numbers[to] = ds->user->numbers[i];
}

/* met: [names->n], false: those of which there is a sample. kept: the names of
 * what stays. */
static int32_t take_out(feedline_dataset *ds, const struct names *names,
                        bool *met, struct fdl_name_list *kept)
{
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 0; status == FEEDLINE_OK && i < ds->count; i++) {
        const char *name = fdl_dataset_short_name(ds, i);
        const char **found =
            bsearch(&name, names->at, names->n, sizeof(*names->at), compare);
        if (found) {
            uint64_t index = htole64(i);
            met[found - names->at] = true;
            fdl_dataset_finish_bytes(ds, &index, sizeof(index));
        } else {
            move(ds, i, kept->n);
            status =
                fdl_name_list_add(kept, "", fdl_name_list_at(&ds->names, i));
        }
    }
    if (status)
        return status;
    fdl_dataset_forget_names(ds);
    fdl_name_list_free(&ds->names);
    ds->names = *kept;
    *kept = (struct fdl_name_list){0};
    fdl_name_list_trim(&ds->names);
    ds->count = ds->names.n;
    return FEEDLINE_OK;
}

static uint64_t count_unmet(const struct names *names, const bool *met)
{
    uint64_t unmet = 0;
    for (uint64_t i = 0; i < names->n; i++)
        unmet += !met[i];
    return unmet;
}

static int32_t leave_out(feedline_dataset *ds, const char *list,
                         const struct names *names)
{
    if (names->n == 0)
        return FEEDLINE_OK;
    bool *met = calloc(names->n, sizeof(*met));
    if (!met)
        return fdl_fail_memory(names->n * sizeof(*met), "a quarantine");
    struct fdl_name_list kept = {0};
    int32_t status = take_out(ds, names, met, &kept);
    uint64_t unmet = count_unmet(names, met);
    fdl_name_list_free(&kept);
    free(met);
    if (status)
        return status;
    if (unmet == names->n)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: the data set has none of its samples, the first "
                        "of which is %s; if they are gone, remove the list, "
                        "else write it again (loaderbench scan --quarantine)",
                        list, names->at[0]);
    if (ds->count == 0)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: every sample of the data set is on it", list);
    if (unmet > 0)
        fdl_log(FDL_LOG_WARNING,
                "%s: %" PRIu64 " of its %" PRIu64
                " samples are not in the data set",
                list, unmet, names->n);
    return FEEDLINE_OK;
}

int32_t fdl_dataset_leave_out(feedline_dataset *ds, const char *list)
{
    char *text = NULL;
    uint64_t bytes = 0;
    struct names names = {0};
    int32_t status = fdl_file_load(list, &text, &bytes);
    if (status == FEEDLINE_OK)
        status = read_names(list, text, bytes, &names);
    if (status == FEEDLINE_OK)
        status = leave_out(ds, list, &names);
    free(names.at);
    free(text);
    return status;
}
