/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields that the source was opened with ("SRC?fields=txt,json") go with their
 * images, as parts whose extension is the name of the field. What kind it is
 * shows in the last word of that, as WebDataset has it.
 */
#include "bench/loaderbench/pack/pack.h"
#include "bench/loaderbench/tool.h"

#include <feedline/fields.h>

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PART_BYTES 256 /* of an extension */

static bool field_of(const struct pack *p, uint64_t i, uint32_t k,
                     struct feedline_sample_field *out)
{
    *out = (struct feedline_sample_field){.struct_size = sizeof(*out)};
    return feedline_dataset_get_field(p->data, i, k, out) >= 0;
}

static bool is_there(const struct feedline_sample_field *f)
{
    if (f->kind == FEEDLINE_FIELD_INT)
        return f->integer != INT64_MIN;
    if (f->kind == FEEDLINE_FIELD_FLOAT)
        return !isnan(f->number);
    return f->file && f->bytes > 0;
}

/* The words that a kind has; the first one is added where there is none. */
static const char *words_of(int32_t kind)
{
    switch (kind) {
    case FEEDLINE_FIELD_TEXT:
        return "txt text transcript";
    case FEEDLINE_FIELD_JSON:
        return "json jsn";
    case FEEDLINE_FIELD_INT:
        return "id cls cls2 class count index inx";
    case FEEDLINE_FIELD_FLOAT:
        return "txt";
    default:
        return "";
    }
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; *at; at += strcspn(at, " ")) {
        at += *at == ' ';
        if (strcspn(at, " ") == n && memcmp(at, word, n) == 0)
            return true;
    }
    return false;
}

static void name_part(const struct feedline_sample_field *f,
                      char out[PART_BYTES])
{
    const char *words = words_of(f->kind), *dot;
    snprintf(out, PART_BYTES, "%s%.200s",
             strcmp(f->name, "cls") == 0 ? "field." : "", f->name);
    for (char *c = out; *c; c++)
        *c = *c == '/' || isspace((unsigned char)*c) ? '_' : (char)tolower(*c);
    dot = strrchr(out, '.');
    size_t n = strlen(out);
    if (*words && !has_word(words, dot ? dot + 1 : out))
        snprintf(out + n, PART_BYTES - n, ".%.*s", (int)strcspn(words, " "),
                 words);
}

uint64_t pack_field_bytes(const struct pack *p, uint64_t i)
{
    struct feedline_sample_field f;
    uint64_t bytes = 0;
    for (uint32_t k = 0; field_of(p, i, k, &f); k++)
        if (is_there(&f))
            bytes += shard_part_bytes(f.file ? f.bytes : 1);
    return bytes;
}

int pack_add_fields(const struct pack *p, struct shard_writer *w,
                    const char *key, uint64_t i)
{
    struct feedline_sample_field f;
    int rc = TOOL_DONE;
    for (uint32_t k = 0; rc == TOOL_DONE && field_of(p, i, k, &f); k++) {
        char part[PART_BYTES], number[40] = "";
        uint8_t *data = NULL;
        if (!is_there(&f))
            continue;
        if (f.kind == FEEDLINE_FIELD_INT)
            snprintf(number, sizeof(number), "%" PRIi64, f.integer);
        if (f.kind == FEEDLINE_FIELD_FLOAT)
            snprintf(number, sizeof(number), "%.17g", f.number);
        int error =
            *number ? 0 : pack_read_part(f.file, f.offset, f.bytes, &data);
        name_part(&f, part);
        if (error) {
            tool_say("%s: its %s: %s", key, f.name, strerror(error));
            rc = TOOL_DATA;
        } else {
            rc =
                shard_add_part(w, key, part, data ? (const void *)data : number,
                               data ? f.bytes : strlen(number));
        }
        free(data);
    }
    return rc;
}
