/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What there is to be measured, without a question to anybody: what was named;
 * else below the current folder the folder of class folders with most of the
 * images, or all images that lie around, as a list; shards; else photos that
 * are made. The search ends soon in a home folder of a million files.
 */
#include "tools/loaderbench/gen/gen.h"
#include "tools/loaderbench/quick/quick.h"
#include "tools/loaderbench/tool.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define IMAGES_MADE  256
#define CLASSES_MADE 8
#define IMAGES_LEAST 64 /* in a folder that was not named */
#define ENTRIES_MOST 50000
#define SECONDS_MOST 3.0
#define DEPTH_MOST   6
#define VOTES        64 /* folders of class folders */
#define DESCRIPTORS  16
#define LIST_NAME    "images.tsv"

struct vote {
    char *folder;
    uint64_t images;
};

struct search {
    FILE *list; /* of images, as a data set of kind list: */
    char *text;
    size_t bytes;
    uint64_t images, entries;
    double end;
    struct vote votes[VOTES];
    size_t n_votes;
    char *shards; /* the folder of the first one; NULL: none */
};

/* ---- Looking around ----------------------------------------------------- */

static bool ends_in(const char *name, const char *const *endings)
{
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && endings[i]; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

static bool is_image(const char *name)
{
    static const char *const endings[] = {".jpg", ".jpeg", ".png", ".webp",
                                          NULL};
    return ends_in(name, endings);
}

static bool is_shard(const char *name)
{
    static const char *const endings[] = {".tar",   ".tfrecord", ".mds", ".rec",
                                          ".beton", ".zip",      NULL};
    return ends_in(name, endings);
}

/* class: the folder that an image is in. */
static void vote_for_parent(struct search *s, const char *class)
{
    const char *slash = strrchr(class, '/');
    size_t n = slash ? (size_t)(slash - class) : 0, i = 0;
    if (!slash)
        return;
    while (i < s->n_votes && (strlen(s->votes[i].folder) != n ||
                              memcmp(s->votes[i].folder, class, n) != 0))
        i++;
    if (i == VOTES)
        return;
    if (i == s->n_votes) {
        s->votes[i] = (struct vote){strndup(class, n), 0};
        if (!s->votes[i].folder)
            return;
        s->n_votes++;
    }
    s->votes[i].images++;
}

static void take_file(struct search *s, const char *folder, const char *name)
{
    if (is_shard(name) && !s->shards)
        s->shards = strdup(folder);
    if (!is_image(name) || strpbrk(folder, "\t\n") || strpbrk(name, "\t\n"))
        return;
    s->images++;
    fprintf(s->list, "%s/%s\t0\n", folder, name);
    vote_for_parent(s, folder);
}

static bool is_folder(const char *path, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Hidden ones are no data, and a link may lead anywhere. */
static void search_folder(struct search *s, const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) && s->entries < ENTRIES_MOST &&
           tool_seconds() < s->end && !tool_interrupted()) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        s->entries++;
        if (entry->d_name[0] == '.' || n < 0 || (size_t)n >= sizeof(path))
            continue;
        if (!is_folder(path, entry))
            take_file(s, folder, entry->d_name);
        else if (depth < DEPTH_MOST)
            search_folder(s, path, depth + 1);
    }
    if (dir)
        closedir(dir);
}

static void end_search(struct search *s)
{
    for (size_t i = 0; i < s->n_votes; i++)
        free(s->votes[i].folder);
    free(s->text);
    free(s->shards);
}

/* ---- Choosing ----------------------------------------------------------- */

/* Opens it; a failure is none of the user's concern. */
static bool try_uri(struct quick_data *d, const char *uri)
{
    uint64_t n = 0;
    if (feedline_dataset_open(uri, &d->dataset) >= 0 &&
        feedline_dataset_get_count(d->dataset, &n) >= 0 && n > 0) {
        d->uri = strdup(uri);
        d->where = strdup(uri);
        return d->uri && d->where;
    }
    feedline_dataset_close(d->dataset);
    d->dataset = NULL;
    return false;
}

/* The folder of class folders that most of the images are in, if that is one
 * for the library. */
static bool try_most(struct quick_data *d, const struct search *s)
{
    const struct vote *most = NULL;
    for (size_t i = 0; i < s->n_votes; i++)
        if (!most || s->votes[i].images > most->images)
            most = &s->votes[i];
    return most && 2 * most->images > s->images && try_uri(d, most->folder);
}

static int make_temporary(struct quick_data *d)
{
    const char *in = getenv("TMPDIR");
    if (asprintf(&d->temporary, "%s/loaderbench-XXXXXX",
                 in && *in ? in : "/tmp") < 0) {
        d->temporary = NULL;
        return tool_no_memory();
    }
    if (mkdtemp(d->temporary))
        return TOOL_DONE;
    tool_say("%s: %s; TMPDIR names another folder", d->temporary,
             strerror(errno));
    free(d->temporary);
    d->temporary = NULL;
    return TOOL_ENVIRONMENT;
}

static int open_temporary(struct quick_data *d, const char *kind,
                          const char *name)
{
    if (asprintf(&d->uri, "%s%s%s", kind, d->temporary, name) < 0) {
        d->uri = NULL;
        return tool_no_memory();
    }
    int32_t status = feedline_dataset_open(d->uri, &d->dataset);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

/* All that was found, in a file of their paths. */
static int open_list(struct quick_data *d, const struct search *s)
{
    char path[PATH_MAX];
    int rc = make_temporary(d);
    if (rc != TOOL_DONE)
        return rc;
    snprintf(path, sizeof(path), "%s/" LIST_NAME, d->temporary);
    FILE *f = fopen(path, "w");
    bool failed = !f || fwrite(s->text, 1, s->bytes, f) != s->bytes;
    failed |= f && fclose(f) != 0;
    if (!failed)
        return open_temporary(d, "list:", "/" LIST_NAME);
    tool_say("%s: %s", path, strerror(errno));
    return TOOL_ENVIRONMENT;
}

/* -1: there is nothing. */
static int look_in(struct quick_data *d, const char *folder, uint64_t least)
{
    struct search s = {.end = tool_seconds() + SECONDS_MOST};
    char *whole = realpath(folder, NULL);
    int rc = -1;
    s.list = open_memstream(&s.text, &s.bytes);
    if (!s.list || !whole) {
        free(whole);
        return tool_no_memory();
    }
    search_folder(&s, whole, 0);
    bool failed = fclose(s.list) != 0;
    d->kind = QUICK_FOUND;
    if (failed)
        rc = tool_no_memory();
    else if (tool_interrupted())
        rc = TOOL_INTERRUPTED;
    else if (s.images >= least && try_most(d, &s))
        rc = TOOL_DONE;
    else if (s.images >= least) {
        d->where = strdup(folder);
        rc = d->where ? open_list(d, &s) : tool_no_memory();
    } else if (s.shards && try_uri(d, s.shards))
        rc = TOOL_DONE;
    end_search(&s);
    free(whole);
    return rc;
}

static int make_photos(struct quick_data *d)
{
    d->kind = QUICK_MADE;
    int rc = make_temporary(d);
    if (rc == TOOL_DONE)
        rc = gen_folder(d->temporary, IMAGES_MADE, CLASSES_MADE);
    return rc == TOOL_DONE ? open_temporary(d, "folder:", "") : rc;
}

/* A data set as it is named; a folder that is none may have images in it. */
static int open_given(struct quick_data *d, const char *uri)
{
    struct stat st;
    d->kind = QUICK_GIVEN;
    if (try_uri(d, uri))
        return TOOL_DONE;
    if (stat(uri, &st) == 0 && S_ISDIR(st.st_mode)) {
        int rc = look_in(d, uri, 1);
        if (rc >= 0)
            return rc;
    }
    int32_t status = feedline_dataset_open(uri, &d->dataset);
    return status < 0 ? tool_setup_failed(status) : TOOL_DONE;
}

int quick_data_find(const char *uri, struct quick_data *out)
{
    *out = (struct quick_data){0};
    if (uri)
        return open_given(out, uri);
    int rc = look_in(out, ".", IMAGES_LEAST);
    return rc < 0 ? make_photos(out) : rc;
}

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

void quick_data_free(struct quick_data *d)
{
    feedline_dataset_close(d->dataset);
    if (d->temporary)
        nftw(d->temporary, remove_one, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    free(d->temporary);
    free(d->uri);
    free(d->where);
}
