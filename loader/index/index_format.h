/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shard formats. A format is one table: how its shards are recognised, its
 * options, and the function that lists what is in one shard. It runs on
 * several shards at once, each on its own thread.
 *
 * It adds a sample (listing.h) when all of it is known to be in the file, so
 * that what was listed before an error is sound; an error (fdl_shard_fail)
 * names the offset. Lengths and offsets in a file lie until fdl_shard_has says
 * otherwise.
 *
 * To add one, write loader/index/index_NAME.c, which defines fdl_index_NAME,
 * and add its line to FDL_INDEX_FORMATS.
 */
#ifndef FDL_LOADER_INDEX_FORMAT_H
#define FDL_LOADER_INDEX_FORMAT_H

#include "base/choice.h"
#include "base/option.h"
#include "loader/index/shard.h"
#include "loader/index/shard_list.h"

#include <stdbool.h>
#include <stdint.h>

/* CMakeLists.txt reads it too. NAME is the scheme of its URIs. */
#define FDL_INDEX_FORMATS(FORMAT)                                              \
  FORMAT(beton)                                                                \
  FORMAT(litdata)                                                              \
  FORMAT(mds)                                                                  \
  FORMAT(recordio)                                                             \
  FORMAT(tar)                                                                  \
  FORMAT(tfrecord)                                                             \
  FORMAT(zip)

/* Bytes of a file that `matches` is shown; fewer if it has no more. */
#define FDL_INDEX_HEAD_BYTES 512u
#define FDL_INDEX_ENDINGS    6

struct fdl_index_format {
    const char *name;
    const char *help; /* what its shards are, in one line for docs/options.md */
    const char *endings[FDL_INDEX_ENDINGS + 1]; /* of its shards' names, up to
                                                   a NULL: ".tar" */
    bool (*matches)(const uint8_t *head, uint64_t bytes);

    /* The shards that a path names; NULL: patterns, folders and files, as
     * fdl_shard_list_find does. */
    int32_t (*find)(const char *path, struct fdl_string_list *out);

    const struct fdl_option *options; /* row 0: FDL_INDEX_DAMAGED */
    uint32_t n_options;
    int32_t (*index)(struct fdl_shard *s);
};

#define FDL_DAMAGED_CHOICES(C)                                                 \
  C(FDL_DAMAGED_RAISE, "raise")                                                \
  C(FDL_DAMAGED_SKIP, "skip")
enum fdl_damaged { FDL_CHOICE_VALUES(FDL_DAMAGED_CHOICES) };

/* The first row of every format's options. */
#define FDL_INDEX_ROW_DAMAGED 0
#define FDL_INDEX_DAMAGED                                                      \
  {                                                                            \
    .name = "damaged", .type = FEEDLINE_T_ENUM, .default_text = "raise",       \
    .unit = "", .choices = FDL_CHOICE_TEXT(FDL_DAMAGED_CHOICES),               \
    .help = "a shard that is cut or damaged: refuse the data set, or keep "    \
            "the samples before the damage and say so in the log"              \
  }
/* For formats that have fields: two rows, found by their names. The shard's
 * listing says which fields are asked for. */
#define FDL_MISSING_FIELD_CHOICES(C)                                           \
  C(FDL_MISSING_FIELD_EMPTY, "empty")                                          \
  C(FDL_MISSING_FIELD_RAISE, "raise")
enum fdl_missing_field { FDL_CHOICE_VALUES(FDL_MISSING_FIELD_CHOICES) };
#define FDL_INDEX_FIELDS(what)                                                 \
  FDL_INDEX_STRING("fields", "", what ", delivered with the images, as 'a,b'")
#define FDL_INDEX_MISSING_FIELD                                                \
  {                                                                            \
    .name = "missing_field", .type = FEEDLINE_T_ENUM, .default_text = "empty", \
    .unit = "", .choices = FDL_CHOICE_TEXT(FDL_MISSING_FIELD_CHOICES),         \
    .help = "a sample without one of `fields`: an empty field, or refuse the " \
            "data set"                                                         \
  }

#define FDL_INDEX_STRING(key, text, about)                                     \
  {                                                                            \
    .name = key, .type = FEEDLINE_T_STRING, .default_text = text, .unit = "",  \
    .help = about                                                              \
  }

/* `find` of those whose folders or lists have an index of their own: MDS's
 * index.json, in a folder (mds_folder.c), and the JSON of wids (tar_find.c). */
int32_t fdl_mds_find(const char *path, struct fdl_string_list *out);
int32_t fdl_tar_find(const char *path, struct fdl_string_list *out);

#define FDL_INDEX_DECLARE(name)                                                \
  extern const struct fdl_index_format fdl_index_##name;
FDL_INDEX_FORMATS(FDL_INDEX_DECLARE)

/* In the order of the list, with the scheme ("zip:"); NULL past its end. */
const struct fdl_index_format *fdl_index_at(uint32_t i, const char **scheme);

/* By the scheme of a URI, by the ending of a name, by how a file begins; NULL:
 * none. */
const struct fdl_index_format *fdl_index_of_scheme(const char *name,
                                                   size_t bytes);
const struct fdl_index_format *fdl_index_of_name(const char *path);
const struct fdl_index_format *fdl_index_of_head(const uint8_t *head,
                                                 uint64_t bytes);

#endif
