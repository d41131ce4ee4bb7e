/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data set is one table: where each sample's bytes are, its name and its
 * label. The kinds (folder, shards, list, memory, IDX, pixels) differ only in
 * who fills it, so everything after opening is the same for all of them.
 *
 * Names lie in one arena behind offsets of 4 bytes, and labels take as few
 * bytes as the largest: a million samples cost their path lengths and 6 bytes
 * each, and nothing per sample is allocated. Parts of files cost 16 bytes more,
 * and so does a checksum; each field of a sample, which is another part of a
 * file or a number, 24.
 */
#ifndef FDL_LOADER_DATASET_H
#define FDL_LOADER_DATASET_H

#include "base/checksum.h"
#include "base/field_set.h"
#include "base/grow.h"
#include "base/integers.h"
#include "base/lock.h"
#include "base/name_list.h"
#include "base/status.h"
#include "store/downloads.h"

#include <feedline/files.h>
#include <feedline/source.h>

#include <stdatomic.h>
#include <stdint.h>

#define FDL_OWN_FILE UINT32_MAX

/* Where the bytes of one sample are. */
struct fdl_source {
    const char *path;    /* file, or "memory:12": for messages */
    uint32_t file;       /* its number in the data set, or FDL_OWN_FILE */
    const uint8_t *data; /* in memory already; NULL: read `path` */
    uint64_t offset;     /* in the file: where the sample begins; for user:
                            what it calls the sample */
    int64_t length;      /* of it, or of data; -1: to the end of the file */
    int32_t raw_width, raw_height, raw_channels; /* 0: an encoded image */
    uint64_t image_at;    /* where the image begins in those bytes */
    int64_t image_length; /* -1: all of them from there on */
    struct fdl_sum sum;   /* of the image, sum_before bytes in front */
    uint64_t sum_before, sum_after; /* of it, and sum_after behind it */
    enum fdl_checksums checksums;   /* as asked for */
    struct fdl_user_reader *user;   /* reads it; NULL: feedline does */
    struct fdl_store *store;        /* has it; NULL: a file of this machine */
    const char *query;              /* of its location, behind path; or NULL */
    fdl_tag *tag;                   /* which object that is; or NULL */
};

/* A reader of the program's. */
struct fdl_user_reader {
    struct feedline_source source; /* as given; what was copied is NULL */
    char *name;
    uint64_t *numbers;      /* [count] what it calls each; NULL: as they are */
    struct fdl_lock turns;  /* for FEEDLINE_SOURCE_ONE_AT_A_TIME */
    _Atomic uint64_t usual; /* bytes that most samples do not exceed */
};

/* Every sample of the stream is read by the program anew: what one call gave is
 * no other's. */
static inline bool fdl_user_reader_reads_anew(
    const struct fdl_user_reader *user)
{
    return user && user->source.flags &
                       (FEEDLINE_SOURCE_RECORDED | FEEDLINE_SOURCE_IN_ORDER);
}

struct fdl_index_format;
struct fdl_object_table;
struct fdl_dataset_remote;

struct feedline_dataset {
    _Atomic uint32_t refs;
    uint32_t fork_generation;
    uint64_t count;
    struct fdl_name_list names; /* [count] */
    struct fdl_integers labels; /* [count] */

    /* Samples that are parts of files; names are then those within them. */
    struct feedline_extent *extents; /* [count], or NULL */
    uint64_t extents_capacity;
    struct fdl_image_sum *sums; /* [count], or NULL: there are no checksums */
    struct fdl_string_list files;
    char *_Atomic *full_names; /* [count], see fdl_dataset_name */

    const uint8_t **data; /* [count], or NULL: not in memory */
    uint64_t *sizes;      /* [count], with data, or where a user's are known */
    struct fdl_user_reader *user; /* NULL: feedline reads */
    uint8_t *owned;               /* what data points into, if it is ours */
    int32_t raw_width, raw_height, raw_channels;

    struct fdl_dataset_remote *remote; /* NULL: all of it is here */

    struct fdl_field_set fields;
    struct fdl_cell *cells; /* [count][fields.n], or NULL; file: of files */
    uint64_t cells_capacity;
    uint64_t *numbers; /* bits of those of vectors; cells say where */
    uint64_t n_numbers, numbers_capacity;

    struct fdl_object_table *objects; /* NULL: none; dataset_objects.h */

    struct fdl_string_list classes; /* their names, in label order */

    char *root; /* leading part of names that may change; NULL: no memory */
    uint64_t fingerprint; /* of count, names (relative), labels, sizes, and of
                             bytes that have no name of their own */
};

/* Builders, one per file dataset_*.c. On error nothing is left behind. */
int32_t fdl_dataset_open_folder(const char *path, feedline_dataset **out);
int32_t fdl_dataset_open_list(const char *path, feedline_dataset **out);
int32_t fdl_dataset_open_idx(const char *spec, feedline_dataset **out);
int32_t fdl_dataset_open_coco(const char *spec, feedline_dataset **out);
int32_t fdl_dataset_open_uri(const char *uri, feedline_dataset **out);
int32_t fdl_dataset_open_paths(const char *const *paths, const int64_t *labels,
                               uint64_t count, feedline_dataset **out);
int32_t fdl_dataset_open_memory(const void *const *data, const uint64_t *sizes,
                                const int64_t *labels, uint64_t count,
                                feedline_dataset **out);
int32_t fdl_dataset_open_extents(const struct feedline_extents *from,
                                 feedline_dataset **out);
int32_t fdl_dataset_open_source(const struct feedline_source *from,
                                feedline_dataset **out);
int32_t fdl_dataset_open_shards(const struct fdl_index_format *format,
                                const char *spec, feedline_dataset **out);
int32_t fdl_dataset_open_pixels(const uint8_t *pixels, const int64_t *labels,
                                uint64_t count, int32_t height, int32_t width,
                                int32_t channels, feedline_dataset **out);

/* Its samples bring their own steps (feedline/recorded.h), and have no image
 * that is read without these. */
static inline bool fdl_dataset_is_recorded(const feedline_dataset *ds)
{
    return ds->user && ds->user->source.flags & FEEDLINE_SOURCE_RECORDED;
}

/* Leaves out the samples that the list names, before anybody else has the data
 * set. EINVAL: none is left, or all its names are others. ENOENT, EIO. */
int32_t fdl_dataset_leave_out(feedline_dataset *ds, const char *list);

/* For builders. */
int32_t fdl_dataset_create(feedline_dataset **out);

/* Any thread. ref/unref: shared by the loaders made from it. */
void fdl_dataset_ref(feedline_dataset *ds);
void fdl_dataset_unref(feedline_dataset *ds);
void fdl_dataset_get(const feedline_dataset *ds, uint64_t index,
                     struct fdl_source *out);

/* What is read of a sample: the image, what its checksum is of as well, if that
 * is to be checked, and fields that lie close to it in its file. */
void fdl_dataset_locate(const feedline_dataset *ds, uint64_t index,
                        enum fdl_checksums checksums, struct fdl_source *out);

/* Where a file of the data set is, by its number: fills path, file and what
 * belongs to them. */
void fdl_dataset_locate_file(const feedline_dataset *ds, uint32_t file,
                             struct fdl_source *out);

/* Some of its samples or files are on other machines. */
static inline bool fdl_dataset_is_remote(const feedline_dataset *ds)
{
    return ds->remote != NULL;
}

/* Adds a field of bytes: the whole file paths[i] for sample i; NULL: none.
 * Before anybody else has the data set. EINVAL, ENOMEM. */
int32_t fdl_dataset_add_files(feedline_dataset *ds, const char *field,
                              const char *const *paths);

void fdl_dataset_get_field(const feedline_dataset *ds, uint64_t index,
                           uint32_t field, struct feedline_sample_field *out);

/* What sample `index` has of each field, [fields.n]. */
static inline const struct fdl_cell *fdl_dataset_cells(
    const feedline_dataset *ds, uint64_t index)
{
    return &ds->cells[index * ds->fields.n];
}

/* The bits of a sample's number, or of several; NULL: it has none of these. */
static inline const uint64_t *fdl_dataset_numbers(const feedline_dataset *ds,
                                                  uint64_t index,
                                                  uint32_t field)
{
    const struct fdl_cell *c = &fdl_dataset_cells(ds, index)[field];
    if (ds->fields.width[field] == 0)
        return &c->word;
    return c->file == FDL_NO_FILE ? NULL : &ds->numbers[c->word];
}

/* What messages call it: its path, or "SHARD:NAME", which is made when it is
 * first asked for. Lives as long as the data set. */
const char *fdl_dataset_name(const feedline_dataset *ds, uint64_t index);

/* The name of a sample without the folder of the data set, where it is below
 * that. */
const char *fdl_dataset_short_name(const feedline_dataset *ds, uint64_t index);

/* Of all samples that are parts of files, where their lengths are known. */
uint64_t fdl_dataset_extent_bytes(const feedline_dataset *ds);

/* Of all that is to be read from storage: lengths as far as they are known,
 * otherwise an estimate, the same each time. A few hundred stats. */
uint64_t fdl_dataset_bytes(const feedline_dataset *ds);

int64_t fdl_dataset_label(const feedline_dataset *ds, uint64_t index);

#endif
