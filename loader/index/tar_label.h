/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the labels of a tar archive's samples come from, and what a field of a
 * sample says.
 */
#ifndef FDL_LOADER_TAR_LABEL_H
#define FDL_LOADER_TAR_LABEL_H

#include "base/text.h"
#include "loader/index/shard.h"

enum fdl_tar_source {
    FDL_TAR_AUTO,
    FDL_TAR_CLS,    /* an integer */
    FDL_TAR_JSON,   /* a member of an object: an integer or a class */
    FDL_TAR_TEXT,   /* a class */
    FDL_TAR_FOLDER, /* the folder that the image is in */
    FDL_TAR_NONE
};

struct fdl_tar_labels {
    enum fdl_tar_source source;
    const char *path; /* FDL_TAR_JSON: "a.b.c" */
};

/* "auto", "cls", "json:a.b.c", ... */
int32_t fdl_tar_labels_parse(const char *text, struct fdl_tar_labels *out);

/* Whether a field with that extension, in lower case, has the label. */
bool fdl_tar_labels_in(const struct fdl_tar_labels *l, const char *extension);

/* What a field of `size` bytes at `at` says. *kind: FDL_LABEL_NONE where JSON
 * has no such member, or null. name: for errors; text: the class, or anything
 * otherwise. EINVAL: it says something else. */
int32_t fdl_tar_label_read(const struct fdl_tar_labels *l, struct fdl_shard *s,
                           const char *name, uint64_t at, uint64_t size,
                           enum fdl_label_kind *kind, int64_t *number,
                           struct fdl_text *text);

/* The integer that a member of `size` bytes at `at` is. EINVAL: it is none. */
int32_t fdl_tar_integer_read(struct fdl_shard *s, const char *name, uint64_t at,
                             uint64_t size, int64_t *number,
                             struct fdl_text *text);

#endif
