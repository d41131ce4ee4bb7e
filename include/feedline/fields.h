/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields: what shards have of a sample beside its image and label, such as
 * captions, JSON and numbers. "URI?fields=txt,json" chooses them by the names
 * that the format has: the extension in a WebDataset, the feature of a
 * tf.Example, the column of MDS. Neighbours of the image are read with it, in
 * one read; numbers are read when the data set is opened. Those of "list:" are
 * columns, which its first line names, with TABs between:
 *
 *     path  label  caption  width:int  score:float  box:floats  mask:file
 *
 * or behind offset and length. A column without a kind is text; one of kind
 * file has paths as the first has, and is what those files hold. One of kind
 * ints or floats has several numbers, with blanks or commas between, as many in
 * each line that has some.
 *
 * A loader with decode=none delivers images as they are encoded: as the field
 * "image", behind those of the data set, and no pixels.
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

/* Text and JSON are bytes that the format says are that; nobody has checked. */
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
    const char *name; /* as long as the data set */
    const char *file; /* as long as the data set; NULL: a number, or none */
    uint64_t offset;  /* of its bytes in the file */
    uint64_t bytes;   /* 0: it has none; UINT64_MAX: all of the file */
    int64_t integer;  /* of FEEDLINE_FIELD_INT */
    double number;    /* of FEEDLINE_FIELD_FLOAT */
    const int64_t *integers; /* [width], in place of a number, as long as the */
    const double *numbers;   /* data set; NULL: it has none, or one number */
    uint32_t width;          /* 0: not several */
    uint32_t reserved;
};

/* Any thread. ERANGE: no such sample, or no such field. */
FEEDLINE_API int32_t
feedline_dataset_get_field(const feedline_dataset *ds, uint64_t index,
                           uint32_t field, struct feedline_sample_field *out);

/* A field of all samples of feedline_extents, which says what each has of it by
 * the one array that is of its kind. */
struct feedline_field_table {
    uint32_t struct_size;
    int32_t kind; /* enum feedline_field_kind */
    const char *name;
    const struct feedline_extent *parts; /* [count] of its files: bytes, text,
                                            JSON; length 0: it has none */
    const int64_t *integers;             /* [count] of FEEDLINE_FIELD_INT */
    const double *numbers;               /* [count] of FEEDLINE_FIELD_FLOAT */
};

/* A field of a batch, for each of its images as labels are. In host memory,
 * whatever the device, and as long as the batch. Offsets may differ between
 * runs; bytes do not. Samples that failed have none. */
struct feedline_batch_field {
    uint32_t struct_size;
    int32_t kind;
    const char *name;
    const uint8_t *data; /* of all byte fields of the batch; NULL: a number */
    const uint64_t *offset;  /* [count] in data */
    const uint64_t *bytes;   /* [count] from there on; 0: it has none */
    const int64_t *integers; /* [count] of FEEDLINE_FIELD_INT, or NULL */
    const double *numbers;   /* [count] of FEEDLINE_FIELD_FLOAT, or NULL */
    uint32_t width;          /* [count][width] of several; 0: of one */
    uint32_t reserved;
};

/* ERANGE: no such field. */
FEEDLINE_API int32_t feedline_batch_get_field(const feedline_batch *b,
                                              uint32_t field,
                                              struct feedline_batch_field *out);

#ifdef __cplusplus
}
#endif

#endif
