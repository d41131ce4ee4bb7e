/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A head, then one column after the other, so that nothing is padded:
 *
 *     head, cells, sums, offsets, labels, lengths, names, classes, oddities
 *
 * Names, classes and what is odd are texts that end with a NUL, one behind the
 * other, so their places need not be kept. Sums are there if a sample has one.
 */
#include "loader/index/listing_pack.h"

#include "base/memory.h"
#include "loader/index/shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct head {
    uint64_t count, labels, labelled, n_classes, n_oddities;
    uint64_t names_bytes, classes_bytes, oddities_bytes;
    uint64_t n_fields, summed;
    uint8_t kinds[FEEDLINE_FIELDS_MAX];
};

#define SAMPLE_BYTES (8 + 8 + 4) /* in columns */

static void put(uint8_t **at, const void *data, uint64_t bytes)
{
    if (bytes > 0)
        memcpy(*at, data, bytes);
    *at += bytes;
}

/* Each as a count, what and the first. */
static int32_t pack_oddities(const struct fdl_listing *l,
                             struct fdl_strings *out)
{
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; status == FEEDLINE_OK && i < l->n_oddities; i++) {
        const struct fdl_oddity *o = &l->oddities[i];
        char count[24];
        uint64_t at;
        snprintf(count, sizeof(count), "%" PRIu64, o->count);
        status = fdl_strings_add(out, "", count, &at);
        if (status == FEEDLINE_OK)
            status = fdl_strings_add(out, "", o->what, &at);
        if (status == FEEDLINE_OK)
            status = fdl_strings_add(out, "", o->first, &at);
    }
    return status;
}

static uint64_t n_fields(const struct fdl_listing *l)
{
    return l->fields ? l->fields->n : 0;
}

static uint64_t cells_bytes(uint64_t count, uint64_t fields)
{
    return count * fields * sizeof(struct fdl_cell);
}

static uint64_t sums_bytes(uint64_t count, uint64_t summed)
{
    return summed ? count * sizeof(struct fdl_image_sum) : 0;
}

static void pack_samples(const struct fdl_listing *l, uint8_t **at)
{
    put(at, l->cells, cells_bytes(l->count, n_fields(l)));
    for (uint64_t i = 0; l->summed && i < l->count; i++)
        put(at, &l->samples[i].sum, sizeof(l->samples[i].sum));
    for (uint64_t i = 0; i < l->count; i++)
        put(at, &l->samples[i].offset, 8);
    for (uint64_t i = 0; i < l->count; i++)
        put(at, &l->samples[i].label, 8);
    for (uint64_t i = 0; i < l->count; i++)
        put(at, &l->samples[i].length, 4);
}

int32_t fdl_listing_pack(const struct fdl_listing *l, uint8_t **out,
                         uint64_t *bytes)
{
    struct fdl_strings odd = {0};
    int32_t status = pack_oddities(l, &odd);
    struct head head = {
        .count = l->count,
        .labels = (uint64_t)l->labels,
        .labelled = l->labelled,
        .n_classes = l->classes.names.n,
        .n_oddities = l->n_oddities,
        .names_bytes = l->names.bytes,
        .classes_bytes = l->classes.names.text.bytes,
        .oddities_bytes = odd.bytes,
        .n_fields = n_fields(l),
        .summed = l->summed,
    };
    memcpy(head.kinds, l->kinds, sizeof(head.kinds));
    uint64_t size = sizeof(head) + l->count * SAMPLE_BYTES + head.names_bytes +
                    head.classes_bytes + head.oddities_bytes +
                    cells_bytes(l->count, head.n_fields) +
                    sums_bytes(l->count, head.summed);
    uint8_t *data = status == FEEDLINE_OK ? malloc(size) : NULL;
    if (status == FEEDLINE_OK && !data)
        status = fdl_fail_memory(size, "an index cache");
    if (status == FEEDLINE_OK) {
        uint8_t *at = data;
        put(&at, &head, sizeof(head));
        pack_samples(l, &at);
        put(&at, l->names.text, head.names_bytes);
        put(&at, l->classes.names.text.text, head.classes_bytes);
        put(&at, odd.text, head.oddities_bytes);
        *out = data;
        *bytes = size;
    }
    free(odd.text);
    return status;
}

/* ---- Back ---------------------------------------------------------------- */

/* Whether all parts are exactly in `bytes`, and each can be there. */
static bool head_fits(const struct head *h, uint64_t bytes)
{
    uint64_t left = bytes - sizeof(*h);
    if (h->n_fields > FEEDLINE_FIELDS_MAX || h->summed > 1)
        return false;
    uint64_t each =
        SAMPLE_BYTES + cells_bytes(1, h->n_fields) + sums_bytes(1, h->summed);
    if (h->count > left / each)
        return false;
    left -= h->count * each;
    if (h->names_bytes > left || h->classes_bytes > left - h->names_bytes ||
        h->oddities_bytes != left - h->names_bytes - h->classes_bytes)
        return false;
    return h->labels <= FDL_LABEL_CLASS && h->labelled <= h->count &&
           h->names_bytes >= h->count && h->classes_bytes >= h->n_classes &&
           h->n_oddities <= FDL_ODDITIES;
}

/* The text at *at, which moves behind it; NULL: it does not end. */
static const char *take_text(const char **at, const char *end)
{
    const char *text = *at;
    const char *nul =
        end > text ? memchr(text, '\0', (size_t)(end - text)) : NULL;
    if (nul)
        *at = nul + 1;
    return nul ? text : NULL;
}

/* Copies n texts; their places go to every `step`-th byte from places on. */
static bool take_texts(const uint8_t *from, uint64_t bytes, uint64_t n,
                       struct fdl_strings *out, void *places, size_t step)
{
    if (bytes == 0)
        return n == 0;
    out->text = malloc(bytes);
    if (!out->text)
        return false;
    memcpy(out->text, from, bytes);
    out->bytes = out->capacity = bytes;
    const char *at = out->text, *end = out->text + bytes;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t place = (uint64_t)(at - out->text);
        if (!take_text(&at, end))
            return false;
        memcpy((char *)places + i * step, &place, sizeof(place));
    }
    return at == end;
}

static bool take_samples(const uint8_t *from, const struct head *h,
                         uint64_t size, struct fdl_listing *l)
{
    const uint8_t *labels = from + h->count * 8,
                  *lengths = labels + h->count * 8;
    l->samples = calloc(FDL_MAX(h->count, 1), sizeof(*l->samples));
    if (!l->samples)
        return false;
    l->count = l->capacity = h->count;
    for (uint64_t i = 0; i < h->count; i++) {
        struct fdl_listed *s = &l->samples[i];
        memcpy(&s->offset, from + i * 8, 8);
        memcpy(&s->label, labels + i * 8, 8);
        memcpy(&s->length, lengths + i * 4, 4);
        if (s->offset > size || s->length > size - s->offset)
            return false;
        if (l->labels == FDL_LABEL_CLASS && i < l->labelled &&
            (s->label < 0 || (uint64_t)s->label >= h->n_classes))
            return false;
    }
    return true;
}

/* Those of bytes outside the file, or of no known kind, are none of ours. */
static bool take_sums(const uint8_t *from, const struct head *h, uint64_t size,
                      struct fdl_listing *l)
{
    l->summed = h->summed;
    for (uint64_t i = 0; h->summed && i < h->count; i++) {
        struct fdl_listed *s = &l->samples[i];
        memcpy(&s->sum, from + i * sizeof(s->sum), sizeof(s->sum));
        if (s->sum.sum.kind > FDL_SUM_MASKED || s->sum.before > s->offset ||
            s->sum.after > size - s->offset - s->length)
            return false;
    }
    return true;
}

static bool take_cells(const uint8_t *from, const struct head *h, uint64_t size,
                       struct fdl_listing *l)
{
    uint64_t bytes = cells_bytes(h->count, h->n_fields);
    memcpy(l->kinds, h->kinds, sizeof(l->kinds));
    for (uint64_t i = 0; i < FEEDLINE_FIELDS_MAX; i++)
        if (l->kinds[i] > FEEDLINE_FIELD_FLOAT)
            return false;
    if (bytes == 0)
        return true;
    l->cells = malloc(bytes);
    if (!l->cells)
        return false;
    memcpy(l->cells, from, bytes);
    l->cells_capacity = h->count;
    for (uint64_t i = 0; i < h->count * h->n_fields; i++) {
        const struct fdl_cell *c = &l->cells[i];
        int32_t kind = l->kinds[i % h->n_fields];
        if (c->file == FDL_NO_FILE)
            continue;
        if (c->file != 0 || kind == FDL_FIELD_UNKNOWN ||
            c->sum.kind > FDL_SUM_MASKED ||
            (!fdl_field_is_number(kind) &&
             (c->word > size || c->length > size - c->word)))
            return false;
    }
    return true;
}

static bool take_oddities(const char *at, uint64_t bytes, uint64_t n,
                          struct fdl_listing *l)
{
    const char *end = at + bytes;
    for (uint64_t i = 0; i < n; i++) {
        struct fdl_oddity *o = &l->oddities[i];
        const char *count = take_text(&at, end);
        const char *what = count ? take_text(&at, end) : NULL;
        const char *first = what ? take_text(&at, end) : NULL;
        if (!first)
            return false;
        o->count = strtoull(count, NULL, 10);
        o->what = what;
        snprintf(o->first, sizeof(o->first), "%s", first);
    }
    l->n_oddities = (uint32_t)n;
    return at == end;
}

static bool unpack(const uint8_t *data, const struct head *h, uint64_t size,
                   struct fdl_listing *l)
{
    const uint8_t *sums =
        data + sizeof(*h) + cells_bytes(h->count, h->n_fields);
    const uint8_t *samples = sums + sums_bytes(h->count, h->summed);
    const uint8_t *names = samples + h->count * SAMPLE_BYTES;
    const uint8_t *classes = names + h->names_bytes;
    const uint8_t *odd = classes + h->classes_bytes;
    l->labels = (enum fdl_label_kind)h->labels;
    l->labelled = h->labelled;
    l->classes.names.at =
        calloc(FDL_MAX(h->n_classes, 1), sizeof(*l->classes.names.at));
    l->classes.names.n = l->classes.names.capacity = h->n_classes;
    return l->classes.names.at && take_cells(data + sizeof(*h), h, size, l) &&
           take_samples(samples, h, size, l) && take_sums(sums, h, size, l) &&
           take_texts(names, h->names_bytes, h->count, &l->names,
                      &l->samples->name_at, sizeof(*l->samples)) &&
           take_texts(classes, h->classes_bytes, h->n_classes,
                      &l->classes.names.text, l->classes.names.at,
                      sizeof(*l->classes.names.at)) &&
           take_oddities((const char *)odd, h->oddities_bytes, h->n_oddities,
                         l);
}

bool fdl_listing_unpack(const uint8_t *data, uint64_t bytes, uint64_t size,
                        struct fdl_listing *l)
{
    struct head head;
    if (bytes < sizeof(head))
        return false;
    memcpy(&head, data, sizeof(head));
    if (!head_fits(&head, bytes) || head.n_fields != n_fields(l))
        return false;
    if (unpack(data, &head, size, l))
        return true;
    fdl_listing_free(l);
    return false;
}
