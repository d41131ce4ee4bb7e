/* SPDX-License-Identifier: Apache-2.0 */
/*
 * COCO's JSON of a detection data set, and the folder that its images are in:
 *
 *     coco:annotations/instances_train2017.json?images=train2017
 *
 * "images=" is the folder (else the file's own), "crowd=skip" leaves out
 * objects with iscrowd. Samples are in the order of their images' ids, as
 * torchvision's CocoDetection has them; that id is a sample's label. Its
 * objects are in the order of the file, with category_id as label. Images
 * without objects stay, and annotations of other images are left out.
 *
 * A real file is half a gigabyte, most of it outlines. It is walked once: what
 * nobody needs is skipped, and what is kept is a few numbers each.
 */
#include "base/json_scan.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"
#include "loader/dataset/dataset_objects.h"
#include "loader/index/spec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME      4096u
#define MAX_KEYPOINTS 256u
#define MAX_WHOLE     9007199254740992.0 /* all that a double tells apart */
#define NOWHERE       UINT64_MAX

struct image {
    int64_t id;
    uint64_t name_at;
};

struct note {
    int64_t image; /* its id; later its place among all */
    int64_t label;
    float box[4];
    uint64_t points_at; /* in keypoints, or NOWHERE */
};

struct coco {
    const char *path;
    const char *folder;
    bool skip_crowd;
    struct fdl_strings names;
    struct image *images;
    uint64_t n_images, images_capacity;
    struct note *notes;
    uint64_t n_notes, notes_capacity;
    float *points; /* x, y of all keypoints */
    uint64_t n_points, points_capacity;
    uint32_t keypoints; /* of each object that has some; 0: none had yet */
};

/* ---- Values -------------------------------------------------------------- */

/* Some numbers in a row. */
struct numbers {
    double at[3 * MAX_KEYPOINTS];
    uint32_t n;
};

static int32_t scan_number(struct fdl_json_scan *s, double *out)
{
    const char *end;
    fdl_json_scan_peek(s);
    struct fdl_json_scan before = *s;
    int32_t status = fdl_json_scan_number(s);
    if (status == FEEDLINE_OK &&
        (!fdl_parse_double(before.at, &end, out) || !isfinite((float)*out)))
        status = fdl_json_scan_fail(&before, "a number that is too large");
    return status;
}

static int32_t scan_whole(struct fdl_json_scan *s, int64_t *out)
{
    double value = 0;
    fdl_json_scan_peek(s);
    struct fdl_json_scan before = *s;
    int32_t status = scan_number(s, &value);
    if (status < 0)
        return status;
    if (value != floor(value) || fabs(value) > MAX_WHOLE)
        return fdl_json_scan_fail(&before, "a whole number expected");
    *out = (int64_t)value;
    return FEEDLINE_OK;
}

static int32_t scan_item(struct fdl_json_scan *s, const char *key, void *user)
{
    struct numbers *all = user;
    (void)key;
    if (all->n == FDL_COUNT_OF(all->at))
        return fdl_json_scan_fail(s, "more numbers than expected");
    return scan_number(s, &all->at[all->n++]);
}

static int32_t scan_numbers(struct fdl_json_scan *s, struct numbers *out)
{
    out->n = 0;
    if (fdl_json_scan_peek(s) != '[')
        return fdl_json_scan_fail(s, "a list of numbers expected");
    return fdl_json_scan_each(s, scan_item, out);
}

static int32_t scan_list(struct fdl_json_scan *s, fdl_json_each *each,
                         void *user)
{
    if (fdl_json_scan_peek(s) != '[')
        return fdl_json_scan_fail(s, "a list expected");
    return fdl_json_scan_each(s, each, user);
}

static int32_t scan_object(struct fdl_json_scan *s, fdl_json_each *each,
                           void *user)
{
    if (fdl_json_scan_peek(s) != '{')
        return fdl_json_scan_fail(s, "an object expected");
    return fdl_json_scan_each(s, each, user);
}

/* ---- Images -------------------------------------------------------------- */

struct image_scan {
    int64_t id;
    bool has_id;
    char name[MAX_NAME];
};

static int32_t scan_name(struct fdl_json_scan *s, char name[MAX_NAME])
{
    s->has_nul = false;
    fdl_json_scan_peek(s);
    struct fdl_json_scan before = *s;
    int32_t status = fdl_json_scan_string(s, name, MAX_NAME);
    if (status < 0)
        return status;
    if (!*name || s->has_nul || strlen(name) == MAX_NAME - 1)
        return fdl_json_scan_fail(&before, "this is no file's name");
    return FEEDLINE_OK;
}

static int32_t scan_image_key(struct fdl_json_scan *s, const char *key,
                              void *user)
{
    struct image_scan *image = user;
    if (strcmp(key, "file_name") == 0)
        return scan_name(s, image->name);
    if (strcmp(key, "id") != 0)
        return fdl_json_scan_skip(s);
    image->has_id = true;
    return scan_whole(s, &image->id);
}

static int32_t scan_image(struct fdl_json_scan *s, const char *key, void *user)
{
    struct coco *c = user;
    struct image_scan found;
    (void)key;
    found.has_id = false;
    found.name[0] = '\0';
    int32_t status = scan_object(s, scan_image_key, &found);
    if (status == FEEDLINE_OK && (!found.has_id || !found.name[0]))
        status = fdl_json_scan_fail(s, "an image without id or file_name");
    if (status == FEEDLINE_OK)
        status = fdl_array_reserve(&c->images, &c->images_capacity, c->n_images,
                                   sizeof(*c->images), "images");
    if (status < 0)
        return status;
    struct image *image = &c->images[c->n_images];
    image->id = found.id;
    status = fdl_strings_add(&c->names, "", found.name, &image->name_at);
    c->n_images += status == FEEDLINE_OK;
    return status;
}

/* ---- Annotations --------------------------------------------------------- */

struct note_scan {
    struct coco *coco;
    struct note note;
    int64_t crowd;
    bool has_image, has_label, has_box;
};

static int32_t scan_box(struct fdl_json_scan *s, struct note_scan *n)
{
    struct numbers box;
    int32_t status = scan_numbers(s, &box);
    if (status == FEEDLINE_OK && box.n != 4)
        status = fdl_json_scan_fail(s, "a bbox of four numbers expected");
    if (status < 0)
        return status;
    float *to = n->note.box;
    for (int i = 0; i < 4; i++)
        to[i] = (float)box.at[i];
    to[2] += to[0]; /* in float32, as torchvision converts them */
    to[3] += to[1];
    n->has_box = true;
    return isfinite(to[2]) && isfinite(to[3])
               ? FEEDLINE_OK
               : fdl_json_scan_fail(s, "a bbox that is too large");
}

static int32_t add_point(struct coco *c, const double xy[2])
{
    for (int i = 0; i < 2; i++) {
        int32_t status =
            fdl_array_reserve(&c->points, &c->points_capacity, c->n_points,
                              sizeof(*c->points), "keypoints");
        if (status < 0)
            return status;
        c->points[c->n_points++] = (float)xy[i];
    }
    return FEEDLINE_OK;
}

/* x, y, visibility of each. */
static int32_t scan_keypoints(struct fdl_json_scan *s, struct note_scan *n)
{
    struct numbers found;
    struct coco *c = n->coco;
    int32_t status = scan_numbers(s, &found);
    uint32_t count = found.n / 3;
    if (status < 0)
        return status;
    if (found.n % 3 != 0 || (c->keypoints > 0 && count != c->keypoints))
        return fdl_json_scan_fail(s, "keypoints of three numbers each, as many "
                                     "as the objects before expected");
    c->keypoints = count;
    n->note.points_at = c->n_points;
    for (uint32_t i = 0; i < count && status == FEEDLINE_OK; i++)
        status = add_point(c, &found.at[3 * i]);
    return status;
}

static int32_t scan_note_key(struct fdl_json_scan *s, const char *key,
                             void *user)
{
    struct note_scan *n = user;
    if (strcmp(key, "bbox") == 0)
        return scan_box(s, n);
    if (strcmp(key, "keypoints") == 0)
        return scan_keypoints(s, n);
    if (strcmp(key, "iscrowd") == 0)
        return scan_whole(s, &n->crowd);
    if (strcmp(key, "image_id") == 0) {
        n->has_image = true;
        return scan_whole(s, &n->note.image);
    }
    if (strcmp(key, "category_id") == 0) {
        n->has_label = true;
        return scan_whole(s, &n->note.label);
    }
    return fdl_json_scan_skip(s);
}

static int32_t scan_note(struct fdl_json_scan *s, const char *key, void *user)
{
    struct coco *c = user;
    struct note_scan n = {.coco = c, .note = {.points_at = NOWHERE}};
    (void)key;
    int32_t status = scan_object(s, scan_note_key, &n);
    if (status == FEEDLINE_OK && !(n.has_image && n.has_label && n.has_box))
        status = fdl_json_scan_fail(
            s, "an annotation without image_id, category_id or bbox");
    if (status < 0 || (c->skip_crowd && n.crowd))
        return status;
    status = fdl_array_reserve(&c->notes, &c->notes_capacity, c->n_notes,
                               sizeof(*c->notes), "annotations");
    if (status == FEEDLINE_OK)
        c->notes[c->n_notes++] = n.note;
    return status;
}

/* ---- The file ------------------------------------------------------------ */

static int32_t scan_top(struct fdl_json_scan *s, const char *key, void *user)
{
    if (strcmp(key, "images") == 0)
        return scan_list(s, scan_image, user);
    if (strcmp(key, "annotations") == 0)
        return scan_list(s, scan_note, user);
    return fdl_json_scan_skip(s);
}

static int32_t scan_file(struct coco *c)
{
    char *text = NULL, *what = NULL;
    uint64_t bytes = 0;
    int32_t status = fdl_file_load(c->path, &text, &bytes);
    if (status == FEEDLINE_OK && asprintf(&what, "%s: ", c->path) < 0)
        status = fdl_fail_memory(strlen(c->path), "a file's name");
    if (status == FEEDLINE_OK) {
        struct fdl_json_scan s = {
            .text = text, .at = text, .what = what, .depth = 32};
        status = scan_object(&s, scan_top, c);
        fdl_json_scan_peek(&s);
        if (status == FEEDLINE_OK && s.at != text + bytes)
            status = fdl_json_scan_fail(&s, "something after the last '}'");
    }
    if (status == FEEDLINE_OK && c->n_images == 0)
        status = fdl_fail(FEEDLINE_EINVAL, "%s: it lists no images", c->path);
    free(what);
    free(text);
    return status;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = ((const struct image *)a)->id,
            y = ((const struct image *)b)->id;
    return x < y ? -1 : x > y;
}

static int32_t sort_images(struct coco *c)
{
    qsort(c->images, c->n_images, sizeof(*c->images), compare_ids);
    for (uint64_t i = 1; i < c->n_images; i++)
        if (c->images[i].id == c->images[i - 1].id)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s: two images have the id %" PRId64, c->path,
                            c->images[i].id);
    return FEEDLINE_OK;
}

/* Ids of images become their places; annotations of others go. */
static void find_images(struct coco *c)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < c->n_notes; i++) {
        struct note note = c->notes[i];
        struct image key = {.id = note.image};
        const struct image *found = bsearch(&key, c->images, c->n_images,
                                            sizeof(*c->images), compare_ids);
        if (!found)
            continue;
        note.image = found - c->images;
        c->notes[kept++] = note;
    }
    if (kept < c->n_notes)
        fdl_log(FDL_LOG_WARNING,
                "%s: %" PRIu64 " annotations are of images that it does not "
                "list",
                c->path, c->n_notes - kept);
    c->n_notes = kept;
}

/* ---- The table ----------------------------------------------------------- */

struct table {
    uint64_t *first; /* [images + 1] */
    float *boxes, *points;
    int64_t *labels;
};

static void put(const struct coco *c, const struct note *note, uint64_t place,
                struct table *t)
{
    size_t floats = 2 * (size_t)c->keypoints;
    memcpy(&t->boxes[4 * place], note->box, sizeof(note->box));
    t->labels[place] = note->label;
    if (note->points_at != NOWHERE && floats > 0)
        memcpy(&t->points[floats * place], &c->points[note->points_at],
               floats * sizeof(float));
}

/* Each image's objects in a row, in the order of the file. */
static void fill(const struct coco *c, struct table *t)
{
    for (uint64_t i = 0; i < c->n_notes; i++)
        t->first[c->notes[i].image + 1]++;
    for (uint64_t i = 0; i < c->n_images; i++)
        t->first[i + 1] += t->first[i];
    /* first[i] runs to the end of image i, which is where i + 1 begins. */
    for (uint64_t i = 0; i < c->n_notes; i++)
        put(c, &c->notes[i], t->first[c->notes[i].image]++, t);
    memmove(t->first + 1, t->first, c->n_images * sizeof(*t->first));
    t->first[0] = 0;
}

static int32_t set_objects(const struct coco *c, feedline_dataset *ds)
{
    size_t n = c->n_notes + 1, points = n * FDL_MAX(c->keypoints, 1u);
    struct table t = {
        .first = calloc(c->n_images + 1, sizeof(*t.first)),
        .boxes = calloc(n, 4 * sizeof(float)),
        .labels = calloc(n, sizeof(*t.labels)),
        .points = calloc(points, 2 * sizeof(float)),
    };
    int32_t status = FEEDLINE_OK;
    if (!t.first || !t.boxes || !t.labels || !t.points)
        status = fdl_fail_memory(n * 4 * sizeof(float), "objects");
    if (status == FEEDLINE_OK) {
        fill(c, &t);
        struct feedline_objects objects = {
            .struct_size = sizeof(objects),
            .keypoints = c->keypoints,
            .n = c->n_notes,
            .first = t.first,
            .boxes = t.boxes,
            .labels = t.labels,
            .points = c->keypoints > 0 ? t.points : NULL,
        };
        status = fdl_dataset_set_objects(ds, &objects);
    }
    free(t.first);
    free(t.boxes);
    free(t.labels);
    free(t.points);
    return status;
}

static int32_t add_samples(const struct coco *c, feedline_dataset *ds)
{
    int32_t status = FEEDLINE_OK;
    for (uint64_t i = 0; i < c->n_images && status == FEEDLINE_OK; i++) {
        const char *name = c->names.text + c->images[i].name_at;
        status = fdl_dataset_add_joined(ds, *name == '/' ? "" : c->folder, name,
                                        c->images[i].id);
    }
    if (status == FEEDLINE_OK)
        fdl_dataset_finish(ds, c->folder);
    return status;
}

/* ---- Opening ------------------------------------------------------------- */

static int32_t take_option(struct coco *c, char *text, const char **images)
{
    if (strncmp(text, "images=", 7) == 0)
        *images = text + 7;
    else if (strcmp(text, "crowd=skip") == 0 || strcmp(text, "crowd=keep") == 0)
        c->skip_crowd = text[6] == 's';
    else
        return fdl_fail(FEEDLINE_EINVAL,
                        "coco:%s: '%s' is none of images=FOLDER, crowd=keep "
                        "and crowd=skip",
                        c->path, text);
    return FEEDLINE_OK;
}

static int32_t take_options(struct coco *c, char *spec, const char **images)
{
    char *rest = fdl_spec_cut(spec), *option;
    int32_t status = FEEDLINE_OK;
    while (status == FEEDLINE_OK && (option = fdl_spec_next(&rest)))
        status = take_option(c, option, images);
    return status;
}

/* With a slash at its end; "" for the working directory. For free(). */
static char *folder_of(const char *path, const char *images)
{
    const char *slash = strrchr(path, '/');
    char *made = NULL;
    if (!images)
        return strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
    size_t n = strlen(images);
    bool bare = n > 0 && images[n - 1] != '/';
    return asprintf(&made, "%s%s", images, bare ? "/" : "") < 0 ? NULL : made;
}

static int32_t load(struct coco *c, feedline_dataset *ds)
{
    int32_t status = scan_file(c);
    if (status == FEEDLINE_OK)
        status = sort_images(c);
    if (status < 0)
        return status;
    find_images(c);
    status = add_samples(c, ds);
    return status ? status : set_objects(c, ds);
}

int32_t fdl_dataset_open_coco(const char *spec, feedline_dataset **out)
{
    const char *images = NULL;
    feedline_dataset *ds = NULL;
    char *path = fdl_strdup(spec), *folder = NULL;
    struct coco c = {.path = path};
    int32_t status =
        path ? take_options(&c, path, &images)
             : fdl_fail_memory(strlen(spec) + 1, "a data set's name");
    if (status == FEEDLINE_OK && !(folder = folder_of(path, images)))
        status = fdl_fail_memory(strlen(path) + 1, "a folder's name");
    c.folder = folder;
    if (status == FEEDLINE_OK)
        status = fdl_dataset_create(&ds);
    if (status == FEEDLINE_OK)
        status = load(&c, ds);
    free(c.names.text);
    free(c.images);
    free(c.notes);
    free(c.points);
    free(folder);
    free(path);
    return fdl_dataset_hand_out(ds, status, out);
}
