/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong, from what was seen of each sample: a finding is a row of a
 * table, and a question asked of every sample.
 */
#include "tools/loaderbench/doc.h"
#include "tools/loaderbench/scan/scan.h"
#include "tools/loaderbench/tool.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WHY_BYTES 1024
#define LISTED    1000 /* of what is odd; errors are all listed */
#define NARROW    10   /* long side by short side */

struct kind {
    const char *name, *level, *what;
    /* Whether it is one, and why. */
    bool (*is)(const struct scan *s, uint64_t i, char *why);
};

/* ---- Samples that fail -------------------------------------------------- */

const char *scan_damage(const struct scan_sample *s)
{
    const struct feedline_checked *c = &s->is;
    if (!s->seen || c->status >= 0)
        return NULL;
    if (c->status == FEEDLINE_ENOENT || c->status == FEEDLINE_EIO)
        return "unreadable";
    if (c->status == FEEDLINE_ERANGE)
        return "limit";
    if (c->bytes == 0)
        return "empty";
    if (!c->format)
        return "foreign";
    return s->reason && strstr(s->reason, "truncated") ? "truncated"
                                                       : "damaged";
}

static bool is_usable(const struct scan_sample *s)
{
    return s->seen && s->is.status >= 0;
}

/* ---- Samples that are odd ----------------------------------------------- */

/* Without names where there is none. */
static struct feedline_sample_info info_of(const struct scan *s, uint64_t i)
{
    struct feedline_sample_info info = {.struct_size = sizeof(info)};
    if (feedline_dataset_get_sample(s->data, i, &info) < 0)
        info.path = info.name = "";
    return info;
}

static bool is_mislabelled(const struct scan *s, uint64_t i, char *why)
{
    const struct scan_sample *sample = &s->samples[i];
    if (sample->copies != SCAN_MISLABELLED)
        return false;
    if (sample->twin == i) {
        snprintf(why, WHY_BYTES, "label %lld; a file below has the same bytes",
                 (long long)sample->label);
        return true;
    }
    snprintf(why, WHY_BYTES, "label %lld; the same bytes as %s, label %lld",
             (long long)sample->label, info_of(s, sample->twin).name,
             (long long)s->samples[sample->twin].label);
    return true;
}

static bool is_duplicate(const struct scan *s, uint64_t i, char *why)
{
    const struct scan_sample *sample = &s->samples[i];
    if (sample->copies != SCAN_DUPLICATE || sample->twin == i)
        return false;
    snprintf(why, WHY_BYTES, "the same bytes as %s",
             info_of(s, sample->twin).name);
    return true;
}

static bool is_without_class(const struct scan *s, uint64_t i, char *why)
{
    int64_t label = s->samples[i].label;
    int32_t classes = feedline_dataset_class_count(s->data);
    if (label >= 0 && (classes <= 0 || label < classes))
        return false;
    if (classes > 0)
        snprintf(why, WHY_BYTES, "label %lld of " TOOL_COUNT, (long long)label,
                 (long long)classes, classes == 1 ? "class" : "classes");
    else
        snprintf(why, WHY_BYTES, "label %lld", (long long)label);
    return true;
}

static bool is_doubtful(const struct scan *s, uint64_t i, char *why)
{
    const struct scan_sample *sample = &s->samples[i];
    bool cut = sample->is.flags & FEEDLINE_CHECKED_TRUNCATED;
    snprintf(why, WHY_BYTES, "%s",
             cut ? "rows are missing" : "the decoder passes over it");
    return is_usable(sample) &&
           (cut || sample->is.flags & FEEDLINE_CHECKED_DOUBTFUL);
}

/* The format that a name stands for; "": an image of another, NULL: any. */
static const char *format_of_name(const char *path)
{
    static const char *const known[][2] = {
        {".jpg", "JPEG"},  {".jpeg", "JPEG"}, {".jpe", "JPEG"},
        {".jfif", "JPEG"}, {".png", "PNG"},   {".webp", "WebP"},
        {".gif", ""},
    };
    const char *dot = strrchr(path, '.'), *ending;
    for (size_t i = 0; dot && i < sizeof(known) / sizeof(*known); i++)
        if (strcasecmp(dot, known[i][0]) == 0)
            return known[i][1];
    for (uint32_t i = 0; dot && (ending = feedline_image_ending(i, NULL)); i++)
        if (strcasecmp(dot, ending) == 0)
            return "";
    return NULL;
}

static bool is_misnamed(const struct scan *s, uint64_t i, char *why)
{
    const char *is = s->samples[i].is.format;
    if (!is)
        return false;
    const char *expected = format_of_name(info_of(s, i).path);
    snprintf(why, WHY_BYTES, "this is a %s image", is);
    if (strcmp(is, "packed JPEG") == 0) /* it keeps its name */
        is = "JPEG";
    return expected && strcmp(is, expected) != 0;
}

static double pixels_of(const struct scan_sample *s)
{
    return (double)s->is.width * (double)s->is.height;
}

static void say_size(const struct scan_sample *s, char *why)
{
    snprintf(why, WHY_BYTES, "%dx%d pixels", s->is.width, s->is.height);
}

static bool is_oversized(const struct scan *s, uint64_t i, char *why)
{
    say_size(&s->samples[i], why);
    return pixels_of(&s->samples[i]) > s->median * s->oversized;
}

static bool is_tiny(const struct scan *s, uint64_t i, char *why)
{
    double pixels = pixels_of(&s->samples[i]);
    say_size(&s->samples[i], why);
    return pixels > 0 && pixels * s->tiny < s->median;
}

static bool is_narrow(const struct scan *s, uint64_t i, char *why)
{
    const struct feedline_checked *c = &s->samples[i].is;
    int64_t width = c->width, height = c->height;
    say_size(&s->samples[i], why);
    return width > height * NARROW || height > width * NARROW;
}

static bool is_gray(const struct scan *s, uint64_t i, char *why)
{
    (void)why;
    return s->samples[i].is.channels == 1;
}

static bool is_cmyk(const struct scan *s, uint64_t i, char *why)
{
    (void)why;
    return s->samples[i].is.channels == 4;
}

static bool has_alpha(const struct scan *s, uint64_t i, char *why)
{
    (void)why;
    return s->samples[i].is.flags & FEEDLINE_CHECKED_ALPHA;
}

static bool is_rotated(const struct scan *s, uint64_t i, char *why)
{
    int32_t orientation = s->samples[i].is.orientation;
    snprintf(why, WHY_BYTES, "orientation %d", orientation);
    return orientation > 1;
}

/* Without a question: as scan_damage says. */
static const struct kind kinds[] = {
    {"empty", "error", "empty", NULL},
    {"unreadable", "error", "not readable", NULL},
    {"foreign", "error", "no image of a known format", NULL},
    {"truncated", "error", "truncated", NULL},
    {"damaged", "error", "damaged", NULL},
    {"limit", "error", "above a limit of the loader", NULL},
    {"mislabelled", "error", "the same bytes with different labels",
     is_mislabelled},
    {"label", "error", "label without a class", is_without_class},
    {"doubtful", "warning", "damaged, but can be used", is_doubtful},
    {"duplicate", "warning", "duplicate", is_duplicate},
    {"misnamed", "warning", "of another format than its name", is_misnamed},
    {"oversized", "warning", "much larger than most", is_oversized},
    {"tiny", "warning", "much smaller than most", is_tiny},
    {"narrow", "warning", "more than ten times as long as wide", is_narrow},
    {"rotated", "note", "rotated or mirrored by its EXIF orientation",
     is_rotated},
    {"gray", "note", "gray", is_gray},
    {"cmyk", "note", "CMYK", is_cmyk},
    {"alpha", "note", "with alpha", has_alpha},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* ---- Duplicates --------------------------------------------------------- */

struct content {
    uint64_t hash, bytes, index;
};

static int compare_contents(const void *a, const void *b)
{
    const struct content *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static void mark_group(struct scan *s, const struct content *group, uint64_t n)
{
    uint64_t first = group[0].index;
    enum scan_copies copies = SCAN_DUPLICATE;
    for (uint64_t i = 1; i < n; i++)
        if (s->samples[group[i].index].label != s->samples[first].label)
            copies = SCAN_MISLABELLED;
    for (uint64_t i = 0; i < n; i++) {
        s->samples[group[i].index].copies = copies;
        s->samples[group[i].index].twin = first;
    }
}

/* Returns how many groups there are; -1: no memory. */
static int64_t find_copies(struct scan *s)
{
    struct content *all = malloc((s->n + 1) * sizeof(*all));
    uint64_t n = 0, groups = 0;
    if (!all)
        return -1;
    for (uint64_t i = 0; i < s->n; i++)
        if (is_usable(&s->samples[i]))
            all[n++] = (struct content){s->samples[i].is.hash,
                                        s->samples[i].is.bytes, i};
    qsort(all, n, sizeof(*all), compare_contents);
    for (uint64_t i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && all[end].hash == all[i].hash &&
               all[end].bytes == all[i].bytes)
            end++;
        if (end - i < 2)
            continue;
        mark_group(s, &all[i], end - i);
        groups++;
    }
    free(all);
    return (int64_t)groups;
}

/* ---- Classes ------------------------------------------------------------ */

static int compare_labels(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static json_t *class_json(const struct scan *s, int64_t label, uint64_t samples)
{
    bool can_have = label >= 0 && label <= INT32_MAX;
    const char *name =
        can_have ? feedline_dataset_class_name(s->data, (uint32_t)label) : NULL;
    return json_pack("{s:I, s:o, s:I}", "label", (json_int_t)label, "name",
                     doc_string(name), "samples", (json_int_t)samples);
}

/* labels: sorted. */
static json_t *classes_of(const struct scan *s, const int64_t *labels)
{
    json_t *empty = json_array();
    uint64_t n = 0, smallest = 0, largest = 0, least = 0, most = 0;
    int64_t next = 0, named = feedline_dataset_class_count(s->data);
    for (uint64_t i = 0, end; i < s->n; i = end, n++) {
        for (end = i + 1; end < s->n && labels[end] == labels[i];)
            end++;
        for (; next < labels[i] && next < named; next++)
            json_array_append_new(empty, class_json(s, next, 0));
        if (labels[i] == next)
            next++;
        if (n == 0 || end - i < least) {
            smallest = i;
            least = end - i;
        }
        if (end - i > most) {
            largest = i;
            most = end - i;
        }
    }
    for (; next < named; next++)
        json_array_append_new(empty, class_json(s, next, 0));
    return json_pack("{s:I, s:I, s:o, s:o, s:o}", "named", (json_int_t)named,
                     "used", (json_int_t)n, "empty", empty, "smallest",
                     class_json(s, labels[smallest], least), "largest",
                     class_json(s, labels[largest], most));
}

static json_t *classes_json(const struct scan *s)
{
    int64_t *labels = malloc((s->n + 1) * sizeof(*labels));
    if (!labels)
        return NULL;
    for (uint64_t i = 0; i < s->n; i++)
        labels[i] = s->samples[i].label;
    qsort(labels, s->n, sizeof(*labels), compare_labels);
    json_t *json = s->n > 0 ? classes_of(s, labels) : json_null();
    free(labels);
    return json;
}

/* ---- The document ------------------------------------------------------- */

static json_t *offset_json(const char *why)
{
    unsigned long long offset;
    return sscanf(why, "offset %llu", &offset) == 1
               ? json_integer((json_int_t)offset)
               : json_null();
}

static json_t *sample_json(const struct scan *s, uint64_t i, const char *why)
{
    struct feedline_sample_info info = info_of(s, i);
    return json_pack("{s:I, s:o, s:o, s:I, s:o, s:o}", "index", (json_int_t)i,
                     "name", doc_string(info.name), "path",
                     doc_string(info.path), "label",
                     (json_int_t)s->samples[i].label, "offset",
                     offset_json(why), "reason", doc_string(why));
}

static bool is_of_kind(const struct scan *s, const struct kind *k, uint64_t i,
                       char *why)
{
    const struct scan_sample *sample = &s->samples[i];
    why[0] = '\0';
    if (k->is)
        return sample->seen && k->is(s, i, why);
    const char *damage = scan_damage(sample);
    snprintf(why, WHY_BYTES, "%s", sample->reason ? sample->reason : "");
    return damage && strcmp(damage, k->name) == 0;
}

/* NULL: there is none. */
static json_t *finding_json(const struct scan *s, const struct kind *k,
                            uint64_t *count)
{
    json_t *samples = json_array();
    bool all = strcmp(k->level, "error") == 0;
    *count = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        char why[WHY_BYTES];
        if (!is_of_kind(s, k, i, why))
            continue;
        if (all || *count < LISTED)
            json_array_append_new(samples, sample_json(s, i, why));
        ++*count;
    }
    return json_pack("{s:s, s:s, s:s, s:I, s:o}", "kind", k->name, "level",
                     k->level, "what", k->what, "count", (json_int_t)*count,
                     "samples", samples);
}

/* Of those with known sizes; 0: none. -1: no memory. */
static double median_pixels(const struct scan *s)
{
    double *x = malloc((s->n + 1) * sizeof(*x));
    size_t n = 0;
    if (!x)
        return -1;
    for (uint64_t i = 0; i < s->n; i++)
        if (s->samples[i].is.width > 0)
            x[n++] = pixels_of(&s->samples[i]);
    double median = n > 0 ? tool_median(x, n) : 0;
    free(x);
    return median;
}

static json_t *totals_json(const struct scan *s)
{
    uint64_t seen = 0, bytes = 0, usable = 0;
    for (uint64_t i = 0; i < s->n; i++) {
        seen += s->samples[i].seen;
        usable += is_usable(&s->samples[i]);
        bytes += s->samples[i].is.bytes;
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:f, s:b}", "uri",
                     doc_string(s->uri), "samples", (json_int_t)s->n, "checked",
                     (json_int_t)seen, "usable", (json_int_t)usable, "bytes",
                     (json_int_t)bytes, "seconds", s->seconds, "interrupted",
                     s->interrupted);
}

json_t *scan_findings(struct scan *s)
{
    int64_t groups = find_copies(s);
    s->median = median_pixels(s);
    json_t *classes = classes_json(s);
    if (groups < 0 || s->median < 0 || !classes) {
        json_decref(classes);
        return NULL;
    }
    json_t *doc = totals_json(s), *counts = json_object();
    json_t *findings = json_array();
    for (size_t k = 0; k < KINDS; k++) {
        uint64_t count;
        json_t *finding = finding_json(s, &kinds[k], &count);
        json_object_set_new(counts, kinds[k].name,
                            json_integer((json_int_t)count));
        if (count > 0)
            json_array_append(findings, finding);
        json_decref(finding);
    }
    json_object_set_new(doc, "median_pixels", json_real(s->median));
    json_object_set_new(doc, "groups", json_integer(groups));
    json_object_set_new(doc, "classes", classes);
    json_object_set_new(doc, "counts", counts);
    json_object_set_new(doc, "findings", findings);
    return doc;
}

bool scan_has_error(const json_t *doc)
{
    size_t i;
    json_t *finding;
    json_array_foreach(doc_at(doc, "findings"), i, finding)
    {
        if (strcmp(doc_text(finding, "level"), "error") == 0)
            return true;
    }
    return false;
}
