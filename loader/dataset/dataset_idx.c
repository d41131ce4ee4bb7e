/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IDX files, the format of MNIST: two zero bytes, a type, the number of
 * dimensions, then each dimension as a big-endian 32-bit number, then the
 * values in C order.
 *
 *     images  00 00 08 03 | n | height | width            | pixels
 *             00 00 08 04 | n | height | width | channels | pixels
 *     labels  00 00 08 01 | n                             | labels
 *
 * The file is read whole and kept: the largest in use are some 100 MB, the
 * samples point into it, and no worker ever opens a file.
 */
#include "base/memory.h"
#include "loader/dataset/dataset.h"
#include "loader/dataset/dataset_build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TYPE_U8        0x08
#define MAX_DIMENSIONS 4
#define MAX_SIDE       65535 /* pixels, as for every other image format */

struct idx_file {
    char *bytes; /* of the whole file */
    uint64_t size;
    uint32_t n_dimensions;
    uint32_t dimension[MAX_DIMENSIONS];
    uint64_t header_bytes;
};

static bool is_gzip(const char *start, uint64_t bytes)
{
    return bytes >= 2 && memcmp(start, "\x1f\x8b", 2) == 0;
}

bool fdl_idx_is_file(const char *start, uint64_t bytes)
{
    if (is_gzip(start, bytes))
        return true;
    return bytes >= 4 && start[0] == 0 && start[1] == 0 &&
           start[2] == TYPE_U8 && (start[3] == 3 || start[3] == 4);
}

/* The names that the training images of a folder go by. */
static const char *const folder_names[] = {
    "train-images-idx3-ubyte",
    "train-images.idx3-ubyte",
    "train-images-idx4-ubyte",
    "train-images.idx4-ubyte",
};

static int32_t copy(const char *path, char **out)
{
    char *text = fdl_strdup(path);
    if (!text)
        return fdl_fail_memory(strlen(path) + 1, "a file name");
    *out = text;
    return FEEDLINE_OK;
}

/* Whether folder has `name`, plain or compressed (which is reported when it is
 * read, with what to do). *out: its path, if so. */
static int32_t find_in_folder(const char *folder, const char *name, char **out)
{
    static const char gz[] = ".gz";
    size_t bytes = strlen(folder);
    const char *slash = bytes > 0 && folder[bytes - 1] == '/' ? "" : "/";
    char *path = malloc(bytes + strlen(name) + sizeof(gz) + 1);
    if (!path)
        return fdl_fail_memory(bytes, "a file name");

    char *end = stpcpy(stpcpy(stpcpy(path, folder), slash), name);
    bool found = access(path, F_OK) == 0;
    if (!found) {
        memcpy(end, gz, sizeof(gz));
        found = access(path, F_OK) == 0;
    }
    if (found)
        *out = path;
    else
        free(path);
    return FEEDLINE_OK;
}

int32_t fdl_idx_find_images(const char *folder, char **out)
{
    *out = NULL;
    for (size_t i = 0; i < FDL_COUNT_OF(folder_names); i++) {
        int32_t status = find_in_folder(folder, folder_names[i], out);
        if (status || *out)
            return status;
    }
    return FEEDLINE_OK;
}

/* The labels that belong to a file of images by its name:
 * "t10k-images-idx3-ubyte" -> "t10k-labels-idx1-ubyte". */
static int32_t labels_of(const char *images, char **out)
{
    const char *slash = strrchr(images, '/');
    const char *base = slash ? slash + 1 : images;
    const char *word = strstr(base, "images");
    if (!word)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: the name does not say where the labels are; give "
                        "both files as idx:IMAGES,LABELS",
                        images);

    /* Both words have six letters. */
    char *labels = NULL;
    int32_t status = copy(images, &labels);
    if (status)
        return status;
    char *there = labels + (word - images);
    memcpy(there, "labels", strlen("labels"));
    char *number = strstr(there, "idx");
    if (number && (number[3] == '3' || number[3] == '4'))
        number[3] = '1';
    *out = labels;
    return FEEDLINE_OK;
}

/* Which files `spec` means; labels stay NULL where the name of the images has
 * to say it. */
static int32_t resolve(const char *spec, char **images, char **labels)
{
    struct stat st;
    int32_t status = fdl_idx_find_images(spec, images);
    if (status || *images)
        return status;

    const char *comma = strchr(spec, ',');
    bool exists = stat(spec, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return fdl_fail(FEEDLINE_ENOENT, "%s: contains no %s", spec,
                        folder_names[0]);
    if (!exists && !comma)
        return fdl_fail_path(spec, errno);
    status = copy(spec, images);
    if (status || exists)
        return status;
    (*images)[comma - spec] = '\0';
    return copy(comma + 1, labels);
}

static uint32_t big_endian(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 |
           b[3];
}

/* Dimensions and exact size. what: "images" or "labels", for messages. */
static int32_t parse_header(const char *path, const char *what, uint32_t min,
                            uint32_t max, struct idx_file *f)
{
    if (is_gzip(f->bytes, f->size))
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: is gzip-compressed; gunzip it first", path);
    if (f->size < 4 || f->bytes[0] != 0 || f->bytes[1] != 0)
        return fdl_fail(FEEDLINE_EINVAL, "%s: at 0: not an IDX file", path);
    if (f->bytes[2] != TYPE_U8)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: at 2: values of type 0x%02x; only unsigned bytes "
                        "(0x08) are supported",
                        path, (unsigned char)f->bytes[2]);

    f->n_dimensions = (unsigned char)f->bytes[3];
    if (f->n_dimensions < min || f->n_dimensions > max)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: at 3: %" PRIu32 " dimensions do not make %s", path,
                        f->n_dimensions, what);
    f->header_bytes = 4 + 4 * (uint64_t)f->n_dimensions;
    if (f->size < f->header_bytes)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: truncated in its header, at %" PRIu64, path,
                        f->size);

    size_t expected = 1;
    bool fits = true;
    for (uint32_t i = 0; i < f->n_dimensions; i++) {
        f->dimension[i] = big_endian(f->bytes + 4 + 4 * i);
        if (f->dimension[i] == 0)
            return fdl_fail(FEEDLINE_EINVAL,
                            "%s: at %" PRIu32 ": dimension %" PRIu32 " is 0",
                            path, 4 + 4 * i, i);
        fits = fits && fdl_mul_size(expected, f->dimension[i], &expected);
    }
    fits = fits && fdl_add_size(expected, f->header_bytes, &expected);
    if (!fits || expected != f->size)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: the header asks for %" PRIu64
                        " bytes, the file has %" PRIu64,
                        path, fits ? (uint64_t)expected : UINT64_MAX, f->size);
    return FEEDLINE_OK;
}

/* Height, width and channels of one image. */
static int32_t take_shape(const char *path, const struct idx_file *f,
                          feedline_dataset *ds)
{
    uint32_t channels = f->n_dimensions == 4 ? f->dimension[3] : 1;
    if (channels != 1 && channels != 3)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: at 16: %" PRIu32 " channels; only 1 and 3", path,
                        channels);
    if (f->dimension[1] > MAX_SIDE || f->dimension[2] > MAX_SIDE)
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: at 8: images of %" PRIu32 " x %" PRIu32
                        " pixels; a side may have %d",
                        path, f->dimension[2], f->dimension[1], MAX_SIDE);
    ds->raw_height = (int32_t)f->dimension[1];
    ds->raw_width = (int32_t)f->dimension[2];
    ds->raw_channels = (int32_t)channels;
    return FEEDLINE_OK;
}

static int32_t add_samples(const char *path, const struct idx_file *images,
                           const struct idx_file *labels, feedline_dataset *ds)
{
    uint64_t count = images->dimension[0];
    uint64_t each = (images->size - images->header_bytes) / count;
    const char *pixels = images->bytes + images->header_bytes;
    const char *label = labels->bytes + labels->header_bytes;
    int32_t status = fdl_dataset_reserve_memory(ds, count);
    for (uint64_t i = 0; i < count && status == FEEDLINE_OK; i++)
        status = fdl_dataset_add_memory(ds, path, pixels + i * each, each,
                                        (unsigned char)label[i]);
    return status;
}

/* The images move into ds. */
static int32_t load_images(const char *path, struct idx_file *f,
                           feedline_dataset *ds)
{
    int32_t status = fdl_file_load(path, &f->bytes, &f->size);
    if (status)
        return status;
    ds->owned = (uint8_t *)f->bytes;
    status = parse_header(path, "images", 3, 4, f);
    return status ? status : take_shape(path, f, ds);
}

struct opening {
    char *images_path, *labels_path;
    struct idx_file images, labels;
};

static int32_t load_labels(struct opening *o)
{
    struct idx_file *f = &o->labels;
    int32_t status = fdl_file_load(o->labels_path, &f->bytes, &f->size);
    if (status == FEEDLINE_OK)
        status = parse_header(o->labels_path, "labels", 1, 1, f);
    if (status)
        return status;
    if (o->images.dimension[0] != f->dimension[0])
        return fdl_fail(FEEDLINE_EINVAL,
                        "%s: %" PRIu32 " labels for %" PRIu32 " images of %s",
                        o->labels_path, f->dimension[0], o->images.dimension[0],
                        o->images_path);
    return FEEDLINE_OK;
}

static int32_t load(const char *spec, struct opening *o, feedline_dataset *ds)
{
    int32_t status = resolve(spec, &o->images_path, &o->labels_path);
    if (status == FEEDLINE_OK)
        status = load_images(o->images_path, &o->images, ds);
    if (status == FEEDLINE_OK && !o->labels_path)
        status = labels_of(o->images_path, &o->labels_path);
    if (status == FEEDLINE_OK)
        status = load_labels(o);
    if (status == FEEDLINE_OK)
        status = add_samples(o->images_path, &o->images, &o->labels, ds);
    if (status)
        return status;

    /* Up to the last slash, the path is where the file lies. */
    char *slash = strrchr(o->images_path, '/');
    if (slash)
        slash[1] = '\0';
    fdl_dataset_finish(ds, slash ? o->images_path : "");
    return FEEDLINE_OK;
}

int32_t fdl_dataset_open_idx(const char *spec, feedline_dataset **out)
{
    feedline_dataset *ds = NULL;
    struct opening o = {0};
    int32_t status = fdl_dataset_create(&ds);
    if (status == FEEDLINE_OK)
        status = load(spec, &o, ds);
    free(o.labels.bytes);
    free(o.images_path);
    free(o.labels_path);
    return fdl_dataset_hand_out(ds, status, out);
}
