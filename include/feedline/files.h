/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More about files: which ones a folder lists, data sets of parts of files, for
 * formats that feedline_dataset_open does not know, and what is wrong with
 * single samples.
 *
 * Statuses and strings as in feedline.h; any thread.
 */
#ifndef FEEDLINE_FILES_H
#define FEEDLINE_FILES_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FEEDLINE_ENDING_LISTED  0x1u /* "folder:" takes it for an image    */
#define FEEDLINE_ENDING_DECODED 0x2u /* of a format that this build decodes */

/* How names of image files end, in lower case (".jpg"); NULL past the end.
 * *flags: FEEDLINE_ENDING_*, or'ed. "folder:" lists what torchvision's
 * ImageFolder lists. Whether a file is decoded depends on its content, not on
 * its name. */
FEEDLINE_API const char *feedline_image_ending(uint32_t index, uint32_t *flags);

/* Schemes of the shards that feedline_dataset_open indexes ("zip:"); NULL past
 * the end. *help, unless help is NULL: what they are, in one line. Their
 * options, which follow the names of shards as "?name=value&name=value":
 * feedline_option_get_info(scheme, ...). Where labels are numbers, a file
 * classnames.txt next to the first shard names the classes, one per line. */
FEEDLINE_API const char *feedline_shard_scheme(uint32_t index,
                                               const char **help);

/* Where a sample lies in a file. */
struct feedline_extent {
    uint64_t offset; /* of its first byte */
    uint32_t file;   /* which one of the files */
    uint32_t length; /* in bytes; FEEDLINE_TO_END: all from there on */
};
#define FEEDLINE_TO_END UINT32_MAX

/* A data set of parts of files. Everything that it points to is copied. */
struct feedline_extents {
    uint32_t struct_size;
    uint32_t n_files;
    const char *const *files;              /* [n_files] */
    const struct feedline_extent *extents; /* [count] */
    const int64_t *labels;                 /* [count]; NULL: all 0 */
    const char *const *names; /* [count], for messages; NULL: file and offset */
    uint64_t count;           /* samples */
    const char *const *classes; /* [n_classes], by label; NULL: no names */
    uint64_t n_classes;
    const struct feedline_field_table *const *fields; /* [n_fields], fields.h */
    uint64_t n_fields; /* at most FEEDLINE_FIELDS_MAX */
};

/* For formats whose samples lie contiguously in a few large files, when the
 * program knows where. EINVAL: no samples, a NULL that the struct does not
 * allow, or an extent of a file that is not in the list. Whether files are long
 * enough is found out when they are read. A running loader keeps files open: as
 * many as a quarter of the process's limit, 1,024 at most. */
FEEDLINE_API int32_t feedline_dataset_open_extents(
    const struct feedline_extents *extents, feedline_dataset **out);

/* ---- Leaving samples out ------------------------------------------------- */

/* "URI?quarantine=FILE", or "&quarantine=FILE" as the last of several options,
 * opens a data set without the samples that FILE names, as if they had never
 * been there. FILE has the name of one sample per line, that of
 * feedline_sample_info, in which \\, \n, \r, \t and a leading \# stand for
 * those characters. What follows a TAB is a comment, and so is a line that
 * begins with '#'. EINVAL: every sample is named, or no sample is, although
 * FILE has names. */

/* ---- Bytes of a sample --------------------------------------------------- */

/* *data: a copy of the bytes of a sample's image as they are stored, without
 * its fields, which the caller frees with free(). Checksums are compared as a
 * loader compares them. Of cfg, the options max_file_bytes and checksums count;
 * NULL: the defaults. Slower than a loader, as it opens the file each time.
 * EDECODE: a checksum says that the bytes are damaged; ERANGE: there is no such
 * sample, or it exceeds max_file_bytes; ENOENT, EIO: the file cannot be read;
 * ENOMEM; or what the data set's own reader (source.h) returns. */
FEEDLINE_API int32_t feedline_dataset_read(const feedline_config *cfg,
                                           feedline_dataset *ds, uint64_t index,
                                           void **data, uint64_t *bytes);

/* ---- Checking samples ---------------------------------------------------- */

/* A checker reads single samples, decodes all of each, and reports what is
 * wrong with them and what they are. One thread at a time per checker; several
 * threads have one each. */
typedef struct feedline_checker feedline_checker;

/* Of cfg, the limits count (max_pixels, max_file_bytes, accept_truncated, ...);
 * NULL: the defaults. The checker keeps the data set alive. ENOMEM. */
FEEDLINE_API int32_t feedline_checker_create(const feedline_config *cfg,
                                             feedline_dataset *ds,
                                             feedline_checker **out);
FEEDLINE_API void feedline_checker_destroy(feedline_checker *c);

#define FEEDLINE_CHECKED_ALPHA 0x1u /* has pixels that are not opaque */
#define FEEDLINE_CHECKED_TRUNCATED                                             \
  0x2u                                 /* rows are missing (accept_truncated) */
#define FEEDLINE_CHECKED_DOUBTFUL 0x4u /* damaged, but it can be decoded */

struct feedline_checked {
    uint32_t struct_size;
    int32_t status; /* OK, or the error that a loader would report if it decoded
                       the whole image */
    const char *reason;    /* offset and message, "" if OK; valid until the next
                           check */
    const char *format;    /* "JPEG"; NULL: unknown, or pixels in memory */
    uint64_t bytes;        /* size of the encoded image; 0: it cannot be read */
    uint64_t hash;         /* XXH64 of the encoded image */
    int32_t width, height; /* of the upright image; 0: the header is damaged */
    int32_t channels;      /* without alpha: 1 gray, 3 RGB, 4 CMYK */
    int32_t orientation;   /* of EXIF or XMP, 1 to 8; 1: as stored */
    uint32_t flags;        /* FEEDLINE_CHECKED_* */
    uint32_t reserved;
};

/* The result is the status of the call; that of the sample is in *out. ERANGE:
 * there is no such sample. */
FEEDLINE_API int32_t feedline_checker_check(feedline_checker *c, uint64_t index,
                                            struct feedline_checked *out);

/* ---- How fast samples are read ------------------------------------------- */

#define FEEDLINE_READING_COLD 0x1u /* drop files from the page cache first */

struct feedline_reading {
    uint32_t struct_size;
    uint32_t io_depth;       /* reads in flight */
    uint64_t reads;          /* samples that were read */
    uint64_t bytes;          /* of these samples */
    uint64_t failed;         /* of `reads` */
    uint64_t direct;         /* of `reads`, past the page cache */
    uint64_t ns;             /* time that all of it took */
    uint64_t cpu_ns;         /* CPU time of the whole process meanwhile */
    uint64_t p50_ns, p99_ns; /* percentiles of the time of one read, at most
                                3.1 % too high */
    double cached;   /* fraction of the samples that was in the page cache
                          right before, estimated from 512; -1: not known */
    char reader[16]; /* "uring" or "pread" */
};

/* Measures how fast samples of ds are read: reads them without decoding, each
 * at most once, for most_ns or until 32,768 were read, and blocks meanwhile. Of
 * cfg (not NULL), the options reader, io_depth, direct and max_file_bytes
 * count; with shuffle the order is random, by seed, and otherwise that of the
 * data set from a random sample on. flags: FEEDLINE_READING_*. EINVAL: the
 * samples are not in files, or reader=memory; ENOSYS: reader=uring cannot work
 * here. */
FEEDLINE_API int32_t feedline_dataset_measure_reading(
    const feedline_config *cfg, feedline_dataset *ds, uint64_t most_ns,
    uint32_t flags, struct feedline_reading *out);

#ifdef __cplusplus
}
#endif

#endif
