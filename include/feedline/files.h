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
 * *flags: FEEDLINE_ENDING_*. Listed is what torchvision's ImageFolder lists.
 * Whether a file is decoded depends on its content, not on its name. */
FEEDLINE_API const char *feedline_image_ending(uint32_t index, uint32_t *flags);

/* Schemes of the shards that feedline_dataset_open indexes ("zip:"); NULL past
 * the end. *help: what they are, in one line. Their options, which follow the
 * names of shards as "?name=value&name=value": feedline_option_get_info(scheme,
 * ...). Where labels are numbers, a file classnames.txt beside the first shard
 * names the classes, a line each. */
FEEDLINE_API const char *feedline_shard_scheme(uint32_t index,
                                               const char **help);

/* Where a sample lies in a file. */
struct feedline_extent {
    uint64_t offset; /* of its first byte */
    uint32_t file;   /* which one of the files */
    uint32_t length; /* in bytes; FEEDLINE_TO_END: all from there on */
};
#define FEEDLINE_TO_END UINT32_MAX

/* Samples that are parts of files. Everything is copied. */
struct feedline_extents {
    uint32_t struct_size;
    uint32_t n_files;
    const char *const *files;              /* [n_files] */
    const struct feedline_extent *extents; /* [count] */
    const int64_t *labels;                 /* [count]; NULL: all 0 */
    const char *const *names; /* [count], for messages; NULL: by their offset */
    uint64_t count;
    const char *const *classes; /* [n_classes], by label; NULL: no names */
    uint64_t n_classes;
    const struct feedline_field_table *const *fields; /* [n_fields], fields.h */
    uint64_t n_fields;
};

/* For formats whose samples lie contiguously in a few large files, when the
 * program knows where. EINVAL: nothing in it, a NULL where there may be none,
 * or an extent of a file that is not in the list. That files are long enough
 * is seen when they are read. A loader that runs keeps files open: as many as a
 * quarter of the process's limit, 1,024 at most. */
FEEDLINE_API int32_t feedline_dataset_open_extents(
    const struct feedline_extents *extents, feedline_dataset **out);

/* ---- Leaving samples out ------------------------------------------------- */

/* "URI?quarantine=FILE", or "&quarantine=FILE" as the last of several options,
 * opens a data set without the samples that FILE names, as if they had never
 * been there. FILE has one a line, by feedline_sample_info.name, in which \\,
 * \n, \r, \t and a leading \# stand for those characters; what follows a TAB is
 * for people, and so is a line that begins with '#'. EINVAL: every sample is
 * named, or those that are named are all of another data set. */

/* ---- Bytes of a sample --------------------------------------------------- */

/* *data: a copy of a sample's bytes as they are stored, of its image alone, for
 * free(). They were compared with the checksums that a loader compares. cfg:
 * max_file_bytes and checksums count; NULL: the defaults. Slower than a loader:
 * it opens the file each time. EDECODE: a checksum says that they are damaged.
 * ENOENT, EIO, ERANGE, ENOMEM; ERANGE: there is no such sample, too; what the
 * data set's own reader says. */
FEEDLINE_API int32_t feedline_dataset_read(const feedline_config *cfg,
                                           feedline_dataset *ds, uint64_t index,
                                           void **data, uint64_t *bytes);

/* ---- Checking samples ---------------------------------------------------- */

/* Reads and decodes single samples, all of each, for what is wrong with them
 * and what they are. One thread at a time; threads have one each. */
typedef struct feedline_checker feedline_checker;

/* cfg: its limits (max_pixels, max_file_bytes, accept_truncated, ...) count;
 * NULL: the defaults. The checker keeps the data set alive. ENOMEM. */
FEEDLINE_API int32_t feedline_checker_create(const feedline_config *cfg,
                                             feedline_dataset *ds,
                                             feedline_checker **out);
FEEDLINE_API void feedline_checker_destroy(feedline_checker *c);

#define FEEDLINE_CHECKED_ALPHA 0x1u /* has pixels that are not opaque */
#define FEEDLINE_CHECKED_TRUNCATED                                             \
  0x2u                                 /* rows are missing (accept_truncated) */
#define FEEDLINE_CHECKED_DOUBTFUL 0x4u /* damaged, and decoded all the same */

struct feedline_checked {
    uint32_t struct_size;
    int32_t status; /* OK, or the error that a loader would report, or would for
                       a crop that shows the damage */
    const char *reason; /* offset and message, "" if OK; until the next check */
    const char *format; /* "JPEG"; NULL: unknown, or pixels in memory */
    uint64_t bytes;     /* encoded; 0 if they cannot be read */
    uint64_t hash;      /* XXH64 of them */
    int32_t width, height; /* of the upright image; 0: the header is damaged */
    int32_t channels;      /* without alpha: 1 gray, 3 RGB, 4 CMYK */
    int32_t orientation;   /* of EXIF or XMP, 1 to 8; 1: as stored */
    uint32_t flags;        /* FEEDLINE_CHECKED_* */
    uint32_t reserved;
};

/* Status of the call, not of the sample. ERANGE: there is no such sample. */
FEEDLINE_API int32_t feedline_checker_check(feedline_checker *c, uint64_t index,
                                            struct feedline_checked *out);

/* ---- How fast samples are read ------------------------------------------- */

#define FEEDLINE_READING_COLD 0x1u /* drop them from the page cache before */

struct feedline_reading {
    uint32_t struct_size;
    uint32_t io_depth;       /* reads in flight */
    uint64_t reads, bytes;   /* of samples, as a loader gets them */
    uint64_t failed, direct; /* of these reads; direct: past the cache */
    uint64_t ns, cpu_ns;     /* cpu: of the whole process meanwhile */
    uint64_t p50_ns, p99_ns; /* of one read; error <= 3 % */
    double cached;           /* fraction that was in the page cache before,
                                    by a sample of 512; -1: not known */
    char reader[16];         /* "uring" or "pread" */
};

/* Reads samples of ds and drops them, without decoding, for most_ns, each once
 * at most, with the options reader, io_depth, direct, max_file_bytes of cfg;
 * with shuffle in a random order of seed, else in order from a random one on.
 * Blocks. flags: FEEDLINE_READING_*. EINVAL: samples are not in files. ENOSYS:
 * reader=uring cannot work here. */
FEEDLINE_API int32_t feedline_dataset_measure_reading(
    const feedline_config *cfg, feedline_dataset *ds, uint64_t most_ns,
    uint32_t flags, struct feedline_reading *out);

#ifdef __cplusplus
}
#endif

#endif
