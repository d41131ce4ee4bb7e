/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of shards; see shape.h. */
#include "base/checksum.h"
#include "base/crc32.h"
#include "tests/fuzz/shape.h"

#include <stdio.h>
#include <string.h>

/* ---- tar: a part is a member, header and content ------------------------- */

enum { TAR_BLOCK = 512, TAR_SIZE = 124, TAR_SUM = 148, TAR_END = 1024 };

static size_t padding(size_t n, size_t to)
{
    return (to - n % to) % to;
}

static size_t tar_size(const uint8_t *header)
{
    size_t n = 0;
    for (int i = TAR_SIZE; i < TAR_SIZE + 12; i++) {
        if (header[i] < '0' || header[i] > '7')
            break;
        n = n << 3 | (size_t)(header[i] - '0');
    }
    return n;
}

static bool split_tar(const uint8_t *data, size_t size,
                      struct fuzz_parts *parts)
{
    for (size_t at = 0; size - at >= TAR_BLOCK && data[at] != 0;) {
        size_t left = size - at - TAR_BLOCK, n = tar_size(data + at);
        n = n < left ? n : left;
        if (!fuzz_add(parts, data + at, TAR_BLOCK + n))
            break;
        at += TAR_BLOCK + n;
        n = padding(n, TAR_BLOCK);
        at += n < size - at ? n : size - at;
    }
    return parts->n > 0;
}

static void put_tar_header(const struct fuzz_part *p, struct fuzz_out *out)
{
    uint8_t header[TAR_BLOCK];
    char digits[16];
    unsigned sum = 0;
    memcpy(header, p->data, TAR_BLOCK);
    /* Other ways to write a size are left as they are. */
    if (tar_size(header) > 0 || header[TAR_SIZE] == '0') {
        snprintf(digits, sizeof(digits), "%011o",
                 (unsigned)(p->size - TAR_BLOCK));
        memcpy(header + TAR_SIZE, digits, 11);
    }
    memset(header + TAR_SUM, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += header[i];
    snprintf(digits, sizeof(digits), "%06o", sum);
    memcpy(header + TAR_SUM, digits, 7);
    fuzz_put(out, header, TAR_BLOCK);
}

static void join_tar(const struct fuzz_parts *parts, struct fuzz_out *out)
{
    for (size_t i = 0; i < parts->n; i++) {
        struct fuzz_part p = parts->at[i];
        struct fuzz_part content = fuzz_rest(&p, TAR_BLOCK);
        if (p.size < TAR_BLOCK)
            continue;
        put_tar_header(&p, out);
        fuzz_put(out, content.data, content.size);
        fuzz_put_zeros(out, padding(content.size, TAR_BLOCK));
    }
    fuzz_put_zeros(out, TAR_END);
}

const struct fuzz_shape fuzz_shape_tar = {.split = split_tar, .join = join_tar};

/* ---- TFRecord: a part is a record's content ------------------------------ */

enum { TF_HEAD = 12, TF_FOOT = 4 };

static bool split_tfrecord(const uint8_t *data, size_t size,
                           struct fuzz_parts *parts)
{
    const struct fuzz_part file = {data, size};
    for (size_t at = 0; size - at >= TF_HEAD + TF_FOOT;) {
        uint64_t n = fuzz_le(&file, at, 8);
        if (n > size - at - TF_HEAD - TF_FOOT ||
            !fuzz_add(parts, data + at + TF_HEAD, (size_t)n))
            break;
        at += TF_HEAD + (size_t)n + TF_FOOT;
    }
    return parts->n > 0;
}

static void join_tfrecord(const struct fuzz_parts *parts, struct fuzz_out *out)
{
    for (size_t i = 0; i < parts->n; i++) {
        const struct fuzz_part *p = &parts->at[i];
        uint8_t length[8];
        for (int k = 0; k < 8; k++)
            length[k] = (uint8_t)((uint64_t)p->size >> 8 * k);
        fuzz_put(out, length, sizeof(length));
        fuzz_put_le(out, fdl_sum_of(FDL_SUM_MASKED, length, sizeof(length)), 4);
        fuzz_put(out, p->data, p->size);
        fuzz_put_le(out, fdl_sum_of(FDL_SUM_MASKED, p->data, p->size), 4);
    }
}

const struct fuzz_shape fuzz_shape_tfrecord = {.split = split_tfrecord,
                                               .join = join_tfrecord};

/* ---- RecordIO: a part is a record's second word and content -------------- */

enum { RECORD_HEAD = 8, RECORD_BITS = 29 };
static const char record_magic[] = "\x0a\x23\xd7\xce";

static bool split_recordio(const uint8_t *data, size_t size,
                           struct fuzz_parts *parts)
{
    const struct fuzz_part file = {data, size};
    for (size_t at = 0; size - at >= RECORD_HEAD;) {
        size_t n = fuzz_le(&file, at + 4, 4) & ((1u << RECORD_BITS) - 1);
        if (memcmp(data + at, record_magic, 4) != 0 ||
            n > size - at - RECORD_HEAD ||
            !fuzz_add(parts, data + at + 4, RECORD_HEAD - 4 + n))
            break;
        at += RECORD_HEAD + n;
        n = padding(n, 4);
        at += n < size - at ? n : size - at;
    }
    return parts->n > 0;
}

static void join_recordio(const struct fuzz_parts *parts, struct fuzz_out *out)
{
    for (size_t i = 0; i < parts->n; i++) {
        const struct fuzz_part *p = &parts->at[i];
        struct fuzz_part content = fuzz_rest(p, 4);
        uint64_t kind = fuzz_le(p, 0, 4) >> RECORD_BITS << RECORD_BITS;
        fuzz_put(out, record_magic, 4);
        fuzz_put_le(out, kind | content.size, 4);
        fuzz_put(out, content.data, content.size);
        fuzz_put_zeros(out, padding(content.size, 4));
    }
}

const struct fuzz_shape fuzz_shape_recordio = {.split = split_recordio,
                                               .join = join_recordio};

/* ---- MDS: u32 n | u32 offsets[n + 1] | columns | samples ----------------- */

/* The first part is the columns, the rest are samples. */
static bool split_mds(const uint8_t *data, size_t size,
                      struct fuzz_parts *parts)
{
    const struct fuzz_part file = {data, size};
    uint64_t n = fuzz_le(&file, 0, 4), table = 4 * (n + 2), before = table;
    if (n == 0 || n >= FUZZ_PARTS || table > size)
        return false;
    for (uint64_t i = 0; i <= n; i++) {
        uint64_t at = fuzz_le(&file, 4 * (size_t)(i + 1), 4);
        if (at < before || at > size)
            return false;
        fuzz_add(parts, data + before, (size_t)(at - before));
        before = at;
    }
    return true;
}

static void join_mds(const struct fuzz_parts *parts, struct fuzz_out *out)
{
    size_t n = parts->n > 0 ? parts->n - 1 : 0, at = 4 * (n + 2);
    fuzz_put_le(out, n, 4);
    for (size_t i = 0; i < parts->n; i++) {
        at += parts->at[i].size;
        fuzz_put_le(out, at, 4);
    }
    for (size_t i = 0; i < parts->n; i++)
        fuzz_put(out, parts->at[i].data, parts->at[i].size);
}

const struct fuzz_shape fuzz_shape_mds = {.split = split_mds, .join = join_mds};

/* ---- zip: a part is a member as it lies there, local header first -------- */

enum { ZIP_LOCAL = 30, ZIP_CRC = 14, ZIP_NAME = 26, ZIP_EXTRA = 28 };
enum { ZIP_MEMBER = 46, ZIP_MEMBER_NAME = 28, ZIP_MEMBER_AT = 42 };

static size_t zip_content(const struct fuzz_part *p)
{
    size_t n = (size_t)(fuzz_le(p, ZIP_NAME, 2) + fuzz_le(p, ZIP_EXTRA, 2));
    return n < p->size - ZIP_LOCAL ? ZIP_LOCAL + n : p->size;
}

static bool split_zip(const uint8_t *data, size_t size,
                      struct fuzz_parts *parts)
{
    for (size_t at = 0; size - at >= ZIP_LOCAL;) {
        struct fuzz_part p = {data + at, size - at};
        size_t n = (size_t)fuzz_le(&p, ZIP_CRC + 4, 4);
        size_t content = zip_content(&p);
        if (memcmp(p.data, "PK\3\4", 4) != 0 || n > p.size - content ||
            !fuzz_add(parts, p.data, content + n))
            break;
        at += content + n;
    }
    return parts->n > 0;
}

/* CRC and both sizes, which stand side by side in both headers. */
static void put_zip_sums(const struct fuzz_part *p, struct fuzz_out *out)
{
    struct fuzz_part content = fuzz_rest(p, zip_content(p));
    fuzz_put_le(out, fdl_crc32(0, content.data, content.size), 4);
    fuzz_put_le(out, content.size, 4);
    fuzz_put_le(out, content.size, 4);
}

static void put_zip_member(const struct fuzz_part *p, size_t at,
                           struct fuzz_out *out)
{
    size_t names = zip_content(p) - ZIP_LOCAL;
    fuzz_put(out, "PK\1\2\x14\0", 6);
    fuzz_put(out, p->data + 4, ZIP_CRC - 4); /* version to date */
    put_zip_sums(p, out);
    fuzz_put(out, p->data + ZIP_NAME, 4);
    fuzz_put_zeros(out, ZIP_MEMBER_AT - ZIP_MEMBER_NAME - 4);
    fuzz_put_le(out, at, 4);
    fuzz_put(out, p->data + ZIP_LOCAL, names);
}

static void join_zip(const struct fuzz_parts *parts, struct fuzz_out *out)
{
    size_t at[FUZZ_PARTS], n = 0;
    for (size_t i = 0; i < parts->n; i++) {
        const struct fuzz_part *p = &parts->at[i];
        at[i] = out->n;
        if (p->size < ZIP_LOCAL)
            continue;
        struct fuzz_part rest = fuzz_rest(p, ZIP_NAME);
        fuzz_put(out, "PK\3\4", 4);
        fuzz_put(out, p->data + 4, ZIP_CRC - 4);
        put_zip_sums(p, out);
        fuzz_put(out, rest.data, rest.size);
    }
    size_t directory = out->n;
    for (size_t i = 0; i < parts->n; i++) {
        if (parts->at[i].size < ZIP_LOCAL)
            continue;
        put_zip_member(&parts->at[i], at[i], out);
        n++;
    }
    size_t bytes = out->n - directory;
    fuzz_put(out, "PK\5\6\0\0\0\0", 8);
    fuzz_put_le(out, n, 2);
    fuzz_put_le(out, n, 2);
    fuzz_put_le(out, bytes, 4);
    fuzz_put_le(out, directory, 4);
    fuzz_put_zeros(out, 2);
}

const struct fuzz_shape fuzz_shape_zip = {.split = split_zip, .join = join_zip};

/* ---- beton: all in front of the table, then its entries ------------------ */

enum { BETON_TABLE = 16, BETON_HEAD = 24, BETON_ENTRY = 24 };

static bool split_beton(const uint8_t *data, size_t size,
                        struct fuzz_parts *parts)
{
    const struct fuzz_part file = {data, size};
    uint64_t table = fuzz_le(&file, BETON_TABLE, 8);
    if (table < BETON_HEAD || table > size)
        return false;
    fuzz_add(parts, data, (size_t)table);
    for (size_t at = (size_t)table; size - at >= BETON_ENTRY;
         at += BETON_ENTRY) {
        if (!fuzz_add(parts, data + at, BETON_ENTRY))
            break;
    }
    return true;
}

static void join_beton(const struct fuzz_parts *parts, struct fuzz_out *out)
{
    for (size_t i = 0; i < parts->n; i++) {
        struct fuzz_part p = parts->at[i];
        if (i == 0 && p.size >= BETON_HEAD) {
            fuzz_put(out, p.data, BETON_TABLE);
            fuzz_put_le(out, p.size, 8);
            p = fuzz_rest(&p, BETON_HEAD);
        }
        fuzz_put(out, p.data, p.size);
    }
}

const struct fuzz_shape fuzz_shape_beton = {.split = split_beton,
                                            .join = join_beton};
