/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/index/tar_member.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of one extended header; names and attributes of files fit many times over. */
#define MAX_EXTENDED (16u << 20)

/* Of a name, as the system's paths have. An extended header names one member or
 * all that follow, 512 bytes each: longer ones would take any memory. */
#define MAX_NAME 4096u

/* Zeros that fill up the last record of a tape: 20 blocks, or what -b says. */
#define MAX_PADDING (1u << 20)

/* Places in a header. */
#define NAME_AT      0
#define NAME_BYTES   100u
#define SIZE_AT      124
#define SIZE_BYTES   12u
#define SUM_AT       148
#define SUM_BYTES    8u
#define TYPE_AT      156
#define LINK_AT      157
#define MAGIC_AT     257
#define PREFIX_AT    345
#define PREFIX_BYTES 155u

/* ---- Fields -------------------------------------------------------------- */

/* Octal digits, or GNU's 0x80 and a big-endian number. */
static bool take_number(const uint8_t *field, uint32_t bytes, uint64_t *out)
{
    uint64_t n = 0;
    uint32_t i = 0;
    if (field[0] == 0x80) {
        for (i = 1; i < bytes && n >> 56 == 0; i++)
            n = n << 8 | field[i];
        *out = n;
        return i == bytes;
    }
    while (i < bytes && field[i] == ' ')
        i++;
    for (; i < bytes && field[i] >= '0' && field[i] <= '7'; i++)
        n = n << 3 | (field[i] - (uint32_t)'0');
    *out = n;
    return i == bytes || field[i] == ' ' || field[i] == '\0';
}

/* Old writers summed signed bytes. */
bool fdl_tar_is_header(const uint8_t *block)
{
    uint32_t sum = 0, high = 0;
    uint64_t said;
    for (uint32_t i = 0; i < FDL_TAR_BLOCK; i++) {
        sum += block[i];
        high += block[i] >> 7;
    }
    for (uint32_t i = 0; i < SUM_BYTES; i++) {
        sum += (uint32_t)' ' - block[SUM_AT + i];
        high -= block[SUM_AT + i] >> 7;
    }
    return take_number(block + SUM_AT, SUM_BYTES, &said) &&
           (said == sum || said + 256 * (uint64_t)high == sum);
}

static bool is_zero(const uint8_t *block)
{
    static const uint8_t zero[FDL_TAR_BLOCK];
    return memcmp(block, zero, FDL_TAR_BLOCK) == 0;
}

/* Adds what comes before a NUL among n bytes. */
static int32_t add_text(struct fdl_text *to, const uint8_t *from, uint64_t n)
{
    if (!fdl_text_reserve(to, n))
        return fdl_fail_memory(n, "the name of a member");
    const uint8_t *end = n ? memchr(from, '\0', n) : NULL;
    n = end ? (uint64_t)(end - from) : n;
    if (n)
        memcpy(to->data + to->length, from, n);
    to->length += n;
    to->data[to->length] = '\0';
    return FEEDLINE_OK;
}

static int32_t set_text(struct fdl_text *to, const uint8_t *from, uint64_t n)
{
    to->length = 0;
    return add_text(to, from, n);
}

/* ---- Extended headers ---------------------------------------------------- */

/* A name from there, instead of the header's. */
static int32_t take_name(const struct fdl_tar *t, struct fdl_text *to,
                         bool *has, const uint8_t *from, uint64_t n)
{
    if (n > MAX_NAME)
        return fdl_shard_fail(t->shard, t->at,
                              "a name of %" PRIu64 " bytes, and %u are read", n,
                              MAX_NAME);
    *has = n > 0;
    return set_text(to, from, n);
}

static bool key_is(const char *key, const uint8_t *text, uint64_t bytes)
{
    return strlen(key) == bytes && memcmp(key, text, bytes) == 0;
}

static bool take_decimal(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    const uint8_t *begin = *at;
    *out = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        if (*out > INT64_MAX / 10)
            return false;
        *out = *out * 10 + (**at - (uint32_t)'0');
    }
    return *at > begin;
}

static int32_t take_record(struct fdl_tar *t, struct fdl_tar_extended *to,
                           const uint8_t *key, const uint8_t *end)
{
    static const char sparse[] = "GNU.sparse.";
    const uint8_t *value = memchr(key, '=', (size_t)(end - key));
    if (!value)
        return fdl_shard_fail(t->shard, t->at, "a pax record without a '='");
    uint64_t bytes = (uint64_t)(value++ - key), n = (uint64_t)(end - value);
    if (key_is("path", key, bytes))
        return take_name(t, &to->name, &to->has_name, value, n);
    if (key_is("linkpath", key, bytes))
        return take_name(t, &to->link, &to->has_link, value, n);
    if (key_is("size", key, bytes)) {
        to->has_size = n > 0;
        if (n > 0 && (!take_decimal(&value, end, &to->size) || value != end))
            return fdl_shard_fail(t->shard, t->at,
                                  "the size in a pax record is no number");
    }
    if (bytes >= strlen(sparse) && memcmp(key, sparse, strlen(sparse)) == 0)
        to->sparse = true;
    return FEEDLINE_OK;
}

/* "LENGTH key=value\n", where the length counts all of it. */
static int32_t take_records(struct fdl_tar *t, struct fdl_tar_extended *to,
                            const uint8_t *at, uint64_t bytes)
{
    const uint8_t *end = at + bytes;
    while (at < end && *at) {
        const uint8_t *record = at;
        uint64_t n;
        if (!take_decimal(&at, end, &n) || n > (uint64_t)(end - record) ||
            at == end || *at != ' ' || n < (uint64_t)(at - record) + 2 ||
            record[n - 1] != '\n')
            return fdl_shard_fail(t->shard, t->at,
                                  "an extended header without pax records");
        int32_t status = take_record(t, to, at + 1, record + n - 1);
        if (status)
            return status;
        at = record + n;
    }
    return FEEDLINE_OK;
}

/* The extended header of that type, whose body is at t->at. */
static int32_t take_extended(struct fdl_tar *t, char type, uint64_t size)
{
    const uint8_t *body = (const uint8_t *)"";
    if (size > MAX_EXTENDED || size > t->end - t->at)
        return fdl_shard_fail(t->shard, t->at,
                              "an extended header of %" PRIu64
                              " bytes, with %" PRIu64 " left",
                              size, t->end - t->at);
    int32_t status =
        size ? fdl_shard_bytes(t->shard, t->at, size, &body) : FEEDLINE_OK;
    if (status)
        return status;
    switch (type) {
    case 'L':
        return take_name(t, &t->next.name, &t->next.has_name, body, size);
    case 'K':
        return take_name(t, &t->next.link, &t->next.has_link, body, size);
    default:
        return take_records(t, type == 'g' ? &t->all : &t->next, body, size);
    }
}

/* ---- Members ------------------------------------------------------------- */

static int32_t take_names(struct fdl_tar *t, const uint8_t *block,
                          struct fdl_tar_member *m)
{
    bool prefixed = memcmp(block + MAGIC_AT, "ustar", 6) == 0;
    int32_t status = FEEDLINE_OK;
    t->name.length = 0;
    if (prefixed && block[PREFIX_AT]) {
        status = add_text(&t->name, block + PREFIX_AT, PREFIX_BYTES);
        if (status == FEEDLINE_OK)
            status = add_text(&t->name, (const uint8_t *)"/", 1);
    }
    if (status == FEEDLINE_OK)
        status = add_text(&t->name, block + NAME_AT, NAME_BYTES);
    if (status == FEEDLINE_OK)
        status = set_text(&t->link, block + LINK_AT, NAME_BYTES);
    if (status)
        return status;
    m->name = t->next.has_name  ? t->next.name.data
              : t->all.has_name ? t->all.name.data
                                : t->name.data;
    m->link = t->next.has_link  ? t->next.link.data
              : t->all.has_link ? t->all.link.data
                                : t->link.data;
    return FEEDLINE_OK;
}

/* *bytes: whether it has any. */
static enum fdl_tar_type type_of(char type, const char *name, bool *bytes)
{
    size_t n = strlen(name);
    *bytes = false;
    switch (type) {
    case '1':
        return FDL_TAR_HARD_LINK;
    case '5':
        return FDL_TAR_DIRECTORY;
    case '\0':
        if (n > 0 && name[n - 1] == '/')
            return FDL_TAR_DIRECTORY;
        break;
    case '0':
    case '7':
        break;
    default:
        *bytes = !strchr("2346V", type);
        return FDL_TAR_OTHER;
    }
    *bytes = true;
    return FDL_TAR_FILE;
}

/* The member whose header it is and whose bytes begin at t->at. */
static int32_t take_member(struct fdl_tar *t, const uint8_t *block,
                           uint64_t size, struct fdl_tar_member *m)
{
    char type = (char)block[TYPE_AT];
    bool bytes;
    int32_t status = take_names(t, block, m);
    if (status)
        return status;
    if (type == 'S' || t->next.sparse)
        return fdl_shard_fail(t->shard, t->at,
                              "%s is a sparse file, not in one piece: pack it "
                              "without --sparse",
                              m->name);
    m->type = type_of(type, m->name, &bytes);
    m->begin = t->at;
    m->size = !bytes             ? 0
              : t->next.has_size ? t->next.size
              : t->all.has_size  ? t->all.size
                                 : size;
    uint64_t left = t->end - t->at;
    if (m->size > left)
        return fdl_shard_fail(t->shard, t->at,
                              "%s: %" PRIu64 " of its %" PRIu64
                              " bytes are missing: the archive is cut",
                              m->name, m->size - left, m->size);
    uint64_t step = (m->size + FDL_TAR_BLOCK - 1) / FDL_TAR_BLOCK;
    t->at += FDL_MIN(step * FDL_TAR_BLOCK, left);
    return FEEDLINE_OK;
}

/* The header at t->at; NULL: it is at its end. */
static int32_t take_header(struct fdl_tar *t, const uint8_t **block)
{
    for (*block = NULL;; t->at += FDL_TAR_BLOCK) {
        if (t->end - t->at < FDL_TAR_BLOCK) {
            *block = NULL;
            return t->ended ? FEEDLINE_OK
                            : fdl_shard_fail(t->shard, t->at,
                                             "no end mark: the archive is cut");
        }
        int32_t status = fdl_shard_bytes(t->shard, t->at, FDL_TAR_BLOCK, block);
        if (status)
            return status;
        if (!is_zero(*block))
            break;
        t->ended = true;
        if (!t->ignore_zeros) {
            *block = NULL;
            return FEEDLINE_OK;
        }
    }
    t->ended = false;
    if (!fdl_tar_is_header(*block))
        return fdl_shard_fail(t->shard, t->at,
                              t->at == t->begin
                                  ? "not a tar archive"
                                  : "the checksum of a header is wrong: the "
                                    "archive is damaged");
    return FEEDLINE_OK;
}

int32_t fdl_tar_has_another(struct fdl_tar *t, bool *out)
{
    uint64_t end = t->at + FDL_MIN(t->end - t->at, (uint64_t)MAX_PADDING);
    for (*out = false; end - t->at >= FDL_TAR_BLOCK; t->at += FDL_TAR_BLOCK) {
        const uint8_t *block;
        int32_t status =
            fdl_shard_bytes(t->shard, t->at, FDL_TAR_BLOCK, &block);
        if (status)
            return status;
        if (!is_zero(block)) {
            *out = fdl_tar_is_header(block);
            break;
        }
    }
    return FEEDLINE_OK;
}

int32_t fdl_tar_next(struct fdl_tar *t, struct fdl_tar_member *m, bool *more)
{
    t->next.has_name = t->next.has_link = t->next.has_size = false;
    t->next.sparse = false;
    for (;;) {
        const uint8_t *block;
        uint64_t size;
        int32_t status = take_header(t, &block);
        *more = status == FEEDLINE_OK && block;
        if (!*more)
            return status;
        if (!take_number(block + SIZE_AT, SIZE_BYTES, &size))
            return fdl_shard_fail(t->shard, t->at,
                                  "the size of a member is no number");
        char type = (char)block[TYPE_AT];
        t->at += FDL_TAR_BLOCK;
        if (!type || !strchr("xXgLK", type))
            return take_member(t, block, size, m);
        status = take_extended(t, type, size);
        if (status)
            return status;
        size = (size + FDL_TAR_BLOCK - 1) / FDL_TAR_BLOCK * FDL_TAR_BLOCK;
        t->at += FDL_MIN(size, t->end - t->at);
    }
}

static void free_extended(struct fdl_tar_extended *e)
{
    fdl_text_free(&e->name);
    fdl_text_free(&e->link);
}

void fdl_tar_free(struct fdl_tar *t)
{
    free_extended(&t->next);
    free_extended(&t->all);
    fdl_text_free(&t->name);
    fdl_text_free(&t->link);
}

/* ---- Hard links ---------------------------------------------------------- */

static int32_t find_place(struct fdl_tar_links *l, const char *name,
                          struct fdl_tar_place **out)
{
    uint64_t number = 0, known = l->names.names.n;
    int32_t status = fdl_array_reserve(&l->places, &l->capacity, known,
                                       sizeof(*l->places), "names of members");
    if (status == FEEDLINE_OK)
        status = fdl_name_table_add(&l->names, name, &number);
    if (status)
        return status;
    if (number == known)
        l->places[number] = (struct fdl_tar_place){0};
    *out = &l->places[number];
    return FEEDLINE_OK;
}

/* The latest of a name wins, as it does where an archive is unpacked. */
static int32_t enter(struct fdl_tar_links *l, const struct fdl_tar_member *m)
{
    struct fdl_tar_place place = {m->begin, m->size}, *p;
    int32_t status = FEEDLINE_OK;
    if (m->type == FDL_TAR_HARD_LINK) {
        status = find_place(l, m->link, &p);
        if (status == FEEDLINE_OK)
            place = *p;
    } else if (m->type != FDL_TAR_FILE) {
        return FEEDLINE_OK;
    }
    if (status == FEEDLINE_OK)
        status = find_place(l, m->name, &p);
    if (status == FEEDLINE_OK)
        *p = place;
    return status;
}

int32_t fdl_tar_links_follow(struct fdl_tar_links *l, const struct fdl_tar *t,
                             struct fdl_tar_member *m, bool *found)
{
    if (!l->walk.shard || l->walk.begin != t->begin) {
        fdl_tar_links_free(l);
        l->walk = (struct fdl_tar){.shard = t->shard,
                                   .begin = t->begin,
                                   .at = t->begin,
                                   .end = t->end,
                                   .ignore_zeros = t->ignore_zeros};
    }
    int32_t status = FEEDLINE_OK;
    bool more = true;
    while (status == FEEDLINE_OK && more && l->walk.at < t->at) {
        struct fdl_tar_member passed;
        status = fdl_tar_next(&l->walk, &passed, &more);
        if (status == FEEDLINE_OK && more)
            status = enter(l, &passed);
    }
    struct fdl_tar_place *place = NULL;
    if (status == FEEDLINE_OK)
        status = find_place(l, m->name, &place);
    *found = status == FEEDLINE_OK && place->begin > 0;
    if (*found) {
        m->begin = place->begin;
        m->size = place->size;
    }
    return status;
}

void fdl_tar_links_free(struct fdl_tar_links *l)
{
    fdl_tar_free(&l->walk);
    fdl_name_table_free(&l->names);
    free(l->places);
    *l = (struct fdl_tar_links){0};
}
