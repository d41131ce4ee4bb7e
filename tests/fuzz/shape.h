/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File formats as parts: chunks, segments, members, records. What holds parts
 * together, lengths, checksums and tables of offsets, is no part of them: it is
 * made when they are joined. So whatever is done to the parts of a file, or by
 * taking some of another one, makes a file that is refused for what is in it,
 * and not at its first sum.
 *
 * Of a file that join() made, split() gives the parts again, and these joined
 * are the file: test_shapes.c holds each shape to that, and to sound files.
 */
#ifndef FDL_TESTS_FUZZ_SHAPE_H
#define FDL_TESTS_FUZZ_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUZZ_PARTS 64

struct fuzz_part {
    const uint8_t *data;
    size_t size;
};

struct fuzz_parts {
    struct fuzz_part at[FUZZ_PARTS];
    size_t n;
};

/* Where a file is written; what does not fit sets `full` and is left out. */
struct fuzz_out {
    uint8_t *data;
    size_t n, room;
    bool full;
};

struct fuzz_shape {
    bool roles; /* parts are told by their place: none comes, goes or moves */

    /* Parts that lie in `data`, the last one with all that is left where there
     * are too many. false: it is not of this shape. */
    bool (*split)(const uint8_t *data, size_t size, struct fuzz_parts *parts);

    /* The file of these parts, whatever they are. */
    void (*join)(const struct fuzz_parts *parts, struct fuzz_out *out);

    /* Of a part that has some: bytes, from this place to its end, that are a
     * zlib stream; 0: none. NULL: never. */
    size_t (*packed_from)(const struct fuzz_part *part);
};

extern const struct fuzz_shape fuzz_shape_jpeg, fuzz_shape_png,
    fuzz_shape_webp; /* shape_images.c */
extern const struct fuzz_shape fuzz_shape_beton, fuzz_shape_mds,
    fuzz_shape_recordio, fuzz_shape_tar, fuzz_shape_tfrecord,
    fuzz_shape_zip;                               /* shape_shards.c */
extern const struct fuzz_shape fuzz_shape_packed; /* shape_packed.c */

/* What a target's input is: so many bytes for itself, then a file of the shape
 * that it is told; NULL: of none. A target that has this is linked with the
 * mutator. */
struct fuzz_input_shape {
    size_t head;
    const struct fuzz_shape *(*find)(const uint8_t *data, size_t size);
};

extern const struct fuzz_input_shape fuzz_input_shape;

/* ---- For the shapes (shape.c) -------------------------------------------- */

/* false: there are too many. */
bool fuzz_add(struct fuzz_parts *parts, const uint8_t *data, size_t size);

void fuzz_put(struct fuzz_out *out, const void *data, size_t n);
void fuzz_put_zeros(struct fuzz_out *out, size_t n);
void fuzz_put_le(struct fuzz_out *out, uint64_t x, int bytes);
void fuzz_put_be(struct fuzz_out *out, uint64_t x, int bytes);

/* Of what is there, zeros behind its end. */
uint64_t fuzz_le(const struct fuzz_part *part, size_t at, int bytes);
uint64_t fuzz_be(const struct fuzz_part *part, size_t at, int bytes);

/* A part's bytes from `at` on; none behind its end. */
struct fuzz_part fuzz_rest(const struct fuzz_part *part, size_t at);

#endif
