/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar archives: WebDataset's shards, class folders, and archives of one archive
 * a class, as ILSVRC2012_img_train.tar. An archive in an archive counts as a
 * folder of that name. What tar calls members, WebDataset calls parts of a
 * sample; tar_groups.h joins them. The samples are listed once the whole shard
 * was seen, as it shows only then where the labels are and which parts lack.
 */
#include "decode/formats/format.h"
#include "loader/index/index_format.h"
#include "loader/index/tar_dali.h"
#include "loader/index/tar_fields.h"
#include "loader/index/tar_groups.h"
#include "loader/index/tar_label.h"
#include "loader/index/tar_member.h"

#include <inttypes.h>
#include <string.h>

#define TOLD_KEYS 5u /* of the samples that lack something */

#define GROUP_CHOICES(C)                                                       \
  C(GROUP_ADJACENT, "adjacent")                                                \
  C(GROUP_KEY, "key")                                                          \
  C(GROUP_NONE, "none")
enum group { FDL_CHOICE_VALUES(GROUP_CHOICES) };

#define MISSING_CHOICES(C)                                                     \
  C(MISSING_ERROR, "error")                                                    \
  C(MISSING_SKIP, "skip")
enum missing { FDL_CHOICE_VALUES(MISSING_CHOICES) };

enum {
    ROW_DAMAGED,
    ROW_LABEL,
    ROW_IMAGE,
    ROW_GROUP,
    ROW_MISSING,
    ROW_IGNORE_ZEROS,
    ROW_INDEX,
    ROW_FIELDS,
    ROW_MISSING_FIELD,
    ROWS
};

static const struct fdl_option options[ROWS] = {
    [ROW_DAMAGED] = FDL_INDEX_DAMAGED,
    [ROW_LABEL] = FDL_INDEX_STRING(
        "label", "auto",
        "cls; json:NAME.NAME, an integer or a class; txt, a class; folder; "
        "none; auto: cls if there is one, or else the folder where images have "
        "no other parts"),
    [ROW_IMAGE] = FDL_INDEX_STRING(
        "image", "",
        "extension of the part that is the image, or several, as 'jpg;png'; by "
        "default whatever ends as images do"),
    [ROW_GROUP] = {.name = "group",
                   .type = FEEDLINE_T_ENUM,
                   .default_text = "adjacent",
                   .unit = "",
                   .choices = FDL_CHOICE_TEXT(GROUP_CHOICES),
                   .help = "which parts are one sample: neighbours with the "
                           "same key, as in webdataset; all with it; or each "
                           "part alone"},
    [ROW_MISSING] = {.name = "missing",
                     .type = FEEDLINE_T_ENUM,
                     .default_text = "error",
                     .unit = "",
                     .choices = FDL_CHOICE_TEXT(MISSING_CHOICES),
                     .help = "samples without image or label: refuse the data "
                             "set, or leave them out and say so in the log"},
    [ROW_IGNORE_ZEROS] = {.name = "ignore_zeros",
                          .type = FEEDLINE_T_BOOL,
                          .default_text = "false",
                          .unit = "",
                          .help = "keep reading after an end mark: archives "
                                  "joined by cat"},
    [ROW_INDEX] = FDL_INDEX_STRING(
        "index", "",
        "ending of DALI's index beside each shard, as 'idx' (wds2idx): says "
        "where parts are, in place of the shard's own headers"),
    [ROW_FIELDS] = FDL_INDEX_FIELDS("extensions of further parts"),
    [ROW_MISSING_FIELD] = FDL_INDEX_MISSING_FIELD,
};

struct lister {
    struct fdl_shard *shard;
    struct fdl_tar_groups groups;
    struct fdl_tar_fields fields;
    struct fdl_tar_labels labels;
    struct fdl_tar_links links;
    enum group group;
    const char *image; /* the option */
    struct fdl_text name, key, extension, class;
    bool has_cls, has_folders;
    bool has_files; /* outside archives in it */
};

static void odd(const struct lister *l, const char *what, const char *first)
{
    fdl_listing_odd(l->shard->list, what, first);
}

static bool text_is(struct fdl_text *t, const char *prefix, const char *text,
                    size_t bytes)
{
    size_t n = strlen(prefix);
    fdl_text_clear(t);
    if (!fdl_text_reserve(t, n + bytes))
        return false;
    memcpy(t->data, prefix, n);
    memcpy(t->data + n, text, bytes);
    t->length = n + bytes;
    t->data[t->length] = '\0';
    return true;
}

/* ---- Parts --------------------------------------------------------------- */

/* Behind "./", which `tar c .` writes. */
static const char *without_dots(const char *name)
{
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    return name;
}

static bool in_folder(const char *name)
{
    const char *slash = strrchr(without_dots(name), '/');
    return slash && slash > without_dots(name);
}

static const char *last_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* As webdataset: "__NAME__", and what is in such a folder. */
static bool is_meta(const char *name)
{
    size_t n = strcspn(name, "/");
    return n >= 4 && memcmp(name, "__", 2) == 0 &&
           memcmp(name + n - 2, "__", 2) == 0;
}

/* field: it is one that was asked for: "seg.png" is none of two images then. */
static bool is_image(const struct lister *l, bool field)
{
    size_t n;
    if (!*l->image)
        return fdl_format_lists(last_of(l->name.data)) &&
               !(field && strchr(l->extension.data, '.'));
    for (const char *at = l->image; *at; at += n + (at[n] == ';')) {
        n = strcspn(at, ";");
        if (n == l->extension.length && memcmp(at, l->extension.data, n) == 0)
            return true;
    }
    return false;
}

static int32_t take_image(struct lister *l, struct fdl_tar_group *g,
                          const struct fdl_tar_member *m)
{
    if (g->has_image)
        return fdl_shard_fail(
            l->shard, m->begin,
            "%s and %s are of one sample: say which is the image (?image=%s), "
            "or that each file is a sample (?group=none)",
            l->groups.names.text + g->image_at, l->name.data,
            l->extension.data);
    g->has_image = true;
    g->offset = m->begin;
    g->size = m->size;
    l->has_folders |= in_folder(l->name.data);
    return fdl_strings_add(&l->groups.names, "", l->name.data, &g->image_at);
}

static int32_t take_label(struct lister *l, struct fdl_tar_group *g,
                          const struct fdl_tar_member *m)
{
    if (g->label != FDL_LABEL_NONE)
        return fdl_shard_fail(l->shard, m->begin, "%s: a second label",
                              l->name.data);
    int32_t status =
        fdl_tar_label_read(&l->labels, l->shard, l->name.data, m->begin,
                           m->size, &g->label, &g->number, &l->class);
    l->has_cls = true;
    if (status == FEEDLINE_OK && g->label == FDL_LABEL_CLASS)
        status =
            fdl_strings_add(&l->groups.names, "", l->class.data, &g->class_at);
    return status;
}

/* The key and the extension of l->name. */
static bool split(struct lister *l, bool *named)
{
    const char *name = l->name.data;
    size_t n = strlen(name), key = fdl_tar_key_bytes(name);
    *named = true;
    if (l->group == GROUP_NONE)
        return text_is(&l->key, "", name, n) &&
               text_is(&l->extension, "", "", 0);
    *named = key > 0;
    if (!*named)
        return true;
    if (!text_is(&l->key, "", name, key) ||
        !text_is(&l->extension, "", name + key + 1, n - key - 1))
        return false;
    for (char *c = l->extension.data; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return true;
}

/* A file with the name l->name. */
static int32_t take_part(struct lister *l, const struct fdl_tar_member *m)
{
    struct fdl_tar_group *g;
    bool named;
    if (strncmp(last_of(l->name.data), "._", 2) == 0) {
        odd(l, "macOS attributes, left out", l->name.data);
        return FEEDLINE_OK;
    }
    if (!split(l, &named))
        return fdl_fail_memory(l->name.length, "the name of a member");
    if (!named) {
        odd(l, "no name with an extension, left out", l->name.data);
        return FEEDLINE_OK;
    }
    int32_t status =
        fdl_tar_groups_join(&l->groups, l->key.data, l->group == GROUP_KEY, &g);
    bool field = false;
    if (status == FEEDLINE_OK)
        status = fdl_tar_fields_take(
            &l->fields, l->shard, (uint64_t)(g - l->groups.groups),
            l->extension.data, l->name.data, m, &l->class, &field);
    if (status)
        return status;
    if (is_image(l, field))
        return take_image(l, g, m);
    if (fdl_tar_labels_in(&l->labels, l->extension.data))
        return take_label(l, g, m);
    g->has_more = true;
    return FEEDLINE_OK;
}

/* ---- Archives ------------------------------------------------------------ */

/* As the file that it is a link to. */
static int32_t take_link(struct lister *l, const struct fdl_tar *t,
                         struct fdl_tar_member *m)
{
    bool found;
    int32_t status = fdl_tar_links_follow(&l->links, t, m, &found);
    if (status == FEEDLINE_OK && !found)
        odd(l, "hard link to no file, left out", m->name);
    return status || !found ? status : take_part(l, m);
}

static bool is_archive(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".tar") == 0;
}

static int32_t list_archive(struct lister *l, uint64_t begin, uint64_t end,
                            const char *prefix);

/* An archive in the archive. */
static int32_t take_archive(struct lister *l, const struct fdl_tar_member *m)
{
    struct fdl_text prefix = {0};
    int32_t status;
    if (text_is(&prefix, "", m->name, strlen(m->name) - 4))
        fdl_text_add(&prefix, "/");
    if (prefix.failed)
        status = fdl_fail_memory(prefix.length, "the name of a member");
    else
        status = list_archive(l, m->begin, m->begin + m->size, prefix.data);
    fdl_text_free(&prefix);
    return status;
}

/* prefix: "" outside. */
static int32_t take_member(struct lister *l, const struct fdl_tar *t,
                           const char *prefix, struct fdl_tar_member *m)
{
    if (m->type == FDL_TAR_DIRECTORY || is_meta(m->name))
        return FEEDLINE_OK;
    if (m->type == FDL_TAR_OTHER) {
        odd(l, "neither file nor hard link, left out", m->name);
        return FEEDLINE_OK;
    }
    if (!text_is(&l->name, prefix, m->name, strlen(m->name)))
        return fdl_fail_memory(strlen(m->name), "the name of a member");
    if (m->type == FDL_TAR_HARD_LINK)
        return take_link(l, t, m);
    if (*prefix == '\0') {
        if (is_archive(m->name) && !l->has_files)
            return take_archive(l, m);
        l->has_files = true;
    }
    return take_part(l, m);
}

static int32_t list_archive(struct lister *l, uint64_t begin, uint64_t end,
                            const char *prefix)
{
    struct fdl_tar t = {
        .shard = l->shard, .begin = begin, .at = begin, .end = end};
    struct fdl_tar_member m = {0};
    bool more, another = false;
    t.ignore_zeros = fdl_option_int(l->shard->options, ROW_IGNORE_ZEROS) != 0;
    int32_t status = fdl_tar_next(&t, &m, &more);
    while (status == FEEDLINE_OK && more) {
        status = take_member(l, &t, prefix, &m);
        if (status == FEEDLINE_OK)
            status = fdl_tar_next(&t, &m, &more);
    }
    if (status == FEEDLINE_OK)
        status = fdl_tar_has_another(&t, &another);
    if (another)
        odd(l, "another archive after its end, left out (ignore_zeros=true)",
            l->shard->path);
    fdl_tar_free(&t);
    return status;
}

/* ---- DALI's index -------------------------------------------------------- */

static int32_t take_indexed(void *user, const struct fdl_tar_member *m)
{
    struct lister *l = user;
    if (is_meta(m->name))
        return FEEDLINE_OK;
    if (!text_is(&l->name, "", m->name, strlen(m->name)))
        return fdl_fail_memory(strlen(m->name), "the name of a member");
    return take_part(l, m);
}

static int32_t list_parts(struct lister *l)
{
    const char *index = fdl_option_text(l->shard->options, ROW_INDEX);
    if (!*index)
        return list_archive(l, 0, l->shard->size, "");
    l->shard->others = true;
    return fdl_tar_dali_each(l->shard, index, take_indexed, l);
}

/* ---- Samples ------------------------------------------------------------- */

/* What `auto` means here. */
static void settle_labels(struct lister *l)
{
    bool more = false;
    if (l->labels.source != FDL_TAR_AUTO)
        return;
    for (uint64_t i = 0; i < l->groups.n && !more; i++)
        more = l->groups.groups[i].has_image && l->groups.groups[i].has_more;
    l->labels.source = l->has_cls                ? FDL_TAR_CLS
                       : more || !l->has_folders ? FDL_TAR_NONE
                                                 : FDL_TAR_FOLDER;
}

static bool has_label(const struct lister *l, const struct fdl_tar_group *g)
{
    switch (l->labels.source) {
    case FDL_TAR_NONE:
        return true;
    case FDL_TAR_FOLDER:
        return in_folder(l->groups.names.text + g->image_at);
    default:
        return g->label != FDL_LABEL_NONE;
    }
}

static int32_t add_sample(const struct lister *l, const struct fdl_tar_group *g)
{
    struct fdl_listing *list = l->shard->list;
    const char *name = l->groups.names.text + g->image_at;
    int32_t status = fdl_listing_add(list, name, g->offset, g->size);
    if (status == FEEDLINE_OK)
        status = fdl_tar_fields_add(&l->fields, l->shard,
                                    (uint64_t)(g - l->groups.groups));
    if (status || l->labels.source == FDL_TAR_NONE)
        return status;
    if (l->labels.source == FDL_TAR_FOLDER)
        return fdl_listing_class_of_folder(list, without_dots(name));
    return g->label == FDL_LABEL_CLASS
               ? fdl_listing_class(list, l->groups.names.text + g->class_at)
               : fdl_listing_number(list, g->number);
}

/* Samples that lack an image or a label. */
struct lacking {
    uint64_t count, images;
    struct fdl_text keys; /* of the first */
};

static void add_lacking(const struct lister *l, const struct fdl_tar_group *g,
                        struct lacking *out)
{
    const char *key = l->groups.names.text + g->key_at;
    odd(l, g->has_image ? "no label, left out" : "no image, left out", key);
    /* A file that is no image is not missed in a folder of images. */
    if (!g->has_image &&
        (l->group == GROUP_NONE || l->labels.source == FDL_TAR_FOLDER))
        return;
    if (out->count < TOLD_KEYS)
        fdl_text_add(&out->keys, "%s%s", out->count ? ", " : "", key);
    out->count++;
    out->images += !g->has_image;
}

static int32_t fail_lacking(const struct lister *l, const struct lacking *k)
{
    return fdl_fail(FEEDLINE_ENOENT,
                    "%s: of %" PRIu64 " samples %" PRIu64 " have no image and "
                    "%" PRIu64 " no label (%s%s); group=key joins parts that "
                    "are not neighbours, missing=skip leaves those out",
                    l->shard->path, l->groups.n, k->images,
                    k->count - k->images, k->keys.data ? k->keys.data : "",
                    k->count > TOLD_KEYS ? ", ..." : "");
}

/* damaged: the archive goes on, but nobody knows how. The labels may only
 * begin to come where there is but one sample. */
static int32_t list_samples(struct lister *l, bool damaged)
{
    struct lacking lacking = {0};
    int32_t status = FEEDLINE_OK;
    bool skip = fdl_option_int(l->shard->options, ROW_MISSING) == MISSING_SKIP;
    settle_labels(l);
    if (damaged && l->groups.n == 1)
        return FEEDLINE_OK;
    for (uint64_t i = 0; status == FEEDLINE_OK && i < l->groups.n; i++) {
        const struct fdl_tar_group *g = &l->groups.groups[i];
        if (g->has_image && has_label(l, g))
            status = add_sample(l, g);
        else
            add_lacking(l, g, &lacking);
    }
    if (status == FEEDLINE_OK && lacking.count > 0 && !skip && !damaged)
        status = fail_lacking(l, &lacking);
    fdl_text_free(&lacking.keys);
    return status;
}

/* ---- The shard ----------------------------------------------------------- */

static int32_t refuse_compressed(struct fdl_shard *s)
{
    static const struct {
        const char *name, *magic;
    } kinds[] = {
        {"gzip", "\x1f\x8b"},
        {"bzip2", "BZh"},
        {"xz", "\xfd"
               "7zXZ"},
        {"zstd", "\x28\xb5\x2f\xfd"},
    };
    const uint8_t *head;
    if (s->size < FDL_TAR_BLOCK)
        return FEEDLINE_OK;
    int32_t status = fdl_shard_bytes(s, 0, FDL_TAR_BLOCK, &head);
    for (uint32_t i = 0; status == FEEDLINE_OK && i < FDL_COUNT_OF(kinds); i++)
        if (memcmp(head, kinds[i].magic, strlen(kinds[i].magic)) == 0 &&
            !fdl_tar_is_header(head))
            status = fdl_fail(FEEDLINE_ENOSYS,
                              "%s: compressed with %s: nothing in it can be "
                              "read separately, and images gain nothing "
                              "from it; decompress the .tar",
                              s->path, kinds[i].name);
    return status;
}

static int32_t list_shard(struct fdl_shard *s)
{
    struct lister l = {
        .shard = s,
        .image = fdl_option_text(s->options, ROW_IMAGE),
        .group = (enum group)fdl_option_int(s->options, ROW_GROUP),
    };
    int32_t status =
        fdl_tar_labels_parse(fdl_option_text(s->options, ROW_LABEL), &l.labels);
    if (status == FEEDLINE_OK && l.group == GROUP_NONE && s->list->fields)
        status =
            fdl_fail(FEEDLINE_EINVAL,
                     "%s: with group=none samples have no fields", s->path);
    if (status == FEEDLINE_OK)
        status = refuse_compressed(s);
    if (status)
        return status;
    status = list_parts(&l);
    if (status == FEEDLINE_OK || status == FEEDLINE_EINVAL) {
        int32_t listed = list_samples(&l, status != FEEDLINE_OK);
        status = listed ? listed : status;
    }
    fdl_tar_groups_free(&l.groups);
    fdl_tar_fields_free(&l.fields);
    fdl_tar_links_free(&l.links);
    fdl_text_free(&l.name);
    fdl_text_free(&l.key);
    fdl_text_free(&l.extension);
    fdl_text_free(&l.class);
    return status;
}

static bool matches(const uint8_t *head, uint64_t bytes)
{
    return bytes >= FDL_TAR_BLOCK && fdl_tar_is_header(head);
}

const struct fdl_index_format fdl_index_tar = {
    .name = "tar",
    .help = "WebDataset's tar files, tar files of class folders, and tar files "
            "of one tar file a class",
    .endings = {".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"},
    .matches = matches,
    .find = fdl_tar_find,
    .options = options,
    .n_options = ROWS,
    .index = list_shard,
};
