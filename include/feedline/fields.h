/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields: what a sample has in addition to its image and label, such as
 * captions, JSON and numbers. "URI?fields=txt,json" chooses them by the names
 * that the format has: the extension in a WebDataset, the feature of a
 * tf.Example, the column of MDS. Fields next to the image are read with it, in
 * one read; numbers are read when the data set is opened.
 *
 * The fields of "list:" are columns, which its first line names, separated by
 * TABs, after path and label (and offset and length, if it has them):
 *
 *     path  label  caption  width:int  score:float  box:floats  mask:file
 *
 * A column without a kind is text. One of kind file has paths, relative to the
 * list, of files whose bytes are the field. One of kind ints or floats has
 * several numbers, separated by spaces or commas, and the same number of them
 * in each line that has any.
 *
 * A loader with option decode=none delivers images as they are encoded, and no
 * pixels: they are the field "image", after the fields of the data set.
 *
 * Statuses and strings as in feedline.h.
 */
#ifndef FEEDLINE_FIELDS_H
#define FEEDLINE_FIELDS_H

#include <feedline/feedline.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FEEDLINE_FIELDS_MAX 32 /* of a data set */

/* That bytes are text or JSON is what the format says; it is not checked. */
enum feedline_field_kind {
    FEEDLINE_FIELD_BYTES = 1,
    FEEDLINE_FIELD_TEXT = 2,
    FEEDLINE_FIELD_JSON = 3,
    FEEDLINE_FIELD_INT = 4,  /* an int64; INT64_MIN: the sample has none */
    FEEDLINE_FIELD_FLOAT = 5 /* a double; NaN: the sample has none */
};

/* A field of one sample of a data set. */
struct feedline_sample_field {
    uint32_t struct_size;
    int32_t kind;     /* enum feedline_field_kind */
    const char *name; /* lives as long as the data set */
    const char *file; /* where its bytes are; lives as long as the data set.
                         NULL: a number, or the sample has none */
    uint64_t offset;  /* of its bytes in the file */
    uint64_t bytes;   /* 0: the sample has none; UINT64_MAX: all of the file */
    int64_t integer;  /* of FEEDLINE_FIELD_INT, if width is 0 */
    double number;    /* of FEEDLINE_FIELD_FLOAT, if width is 0 */
    const int64_t *integers; /* [width] of FEEDLINE_FIELD_INT, or NULL, and */
    const double *numbers;   /* [width] of FEEDLINE_FIELD_FLOAT, or NULL; they
                                live as long as the data set */
    uint32_t width;          /* numbers of each sample; 0: one, or no numbers */
    uint32_t reserved;
};

/* field: its index, in the order in which ?fields= names them. Any thread.
 * ERANGE: no such sample, or no such field. */
FEEDLINE_API int32_t
feedline_dataset_get_field(const feedline_dataset *ds, uint64_t index,
                           uint32_t field, struct feedline_sample_field *out);

/* A field of all samples of feedline_extents (files.h). One of the three arrays
 * is set, as its kind asks for. */
struct feedline_field_table {
    uint32_t struct_size;
    int32_t kind; /* enum feedline_field_kind */
    const char *name;
    const struct feedline_extent *parts; /* [count] of its files: bytes, text,
                                            JSON; length 0: it has none */
    const int64_t *integers;             /* [count] of FEEDLINE_FIELD_INT */
    const double *numbers;               /* [count] of FEEDLINE_FIELD_FLOAT */
};

/* A field of a batch, with an entry for each image, as labels have. Everything
 * is in host memory, whatever the device, and valid until the batch is
 * released. Offsets may differ between runs; bytes do not. Samples that failed
 * have none. */
struct feedline_batch_field {
    uint32_t struct_size;
    int32_t kind; /* enum feedline_field_kind */
    const char *name;
    const uint8_t *data;     /* bytes of all images; NULL: a field of numbers */
    const uint64_t *offset;  /* [count] in data, where an image's bytes begin */
    const uint64_t *bytes;   /* [count] how many there are; 0: it has none */
    const int64_t *integers; /* [count] of FEEDLINE_FIELD_INT, or NULL */
    const double *numbers;   /* [count] of FEEDLINE_FIELD_FLOAT, or NULL */
    uint32_t width; /* 0: one number for each image; else the arrays are
                       [count][width] */
    uint32_t reserved;
};

/* field: its index, as in the data set. Any thread, while the caller holds the
 * batch. ERANGE: no such field. */
FEEDLINE_API int32_t feedline_batch_get_field(const feedline_batch *b,
                                              uint32_t field,
                                              struct feedline_batch_field *out);

#ifdef __cplusplus
}
#endif

#endif
