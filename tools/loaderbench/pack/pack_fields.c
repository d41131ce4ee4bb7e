/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields that the source was opened with ("SRC?fields=txt,json") go with their
 * images, as parts whose extension is the name of the field. What kind it is
 * shows in the last word of that, as WebDataset has it.
 */
#include "tools/loaderbench/pack/pack.h"
#include "tools/loaderbench/tool.h"

#include <feedline/fields.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PART_BYTES   256 /* of an extension */
#define NUMBER_BYTES 32  /* of a number as text, with what parts it */

static bool field_of(const struct pack *p, uint64_t i, uint32_t k,
                     struct feedline_sample_field *out)
{
    *out = (struct feedline_sample_field){.struct_size = sizeof(*out)};
    return feedline_dataset_get_field(p->data, i, k, out) >= 0;
}

static bool is_there(const struct feedline_sample_field *f)
{
    if (f->width > 0)
        return f->integers || f->numbers;
    if (f->kind == FEEDLINE_FIELD_INT)
        return f->integer != INT64_MIN;
    if (f->kind == FEEDLINE_FIELD_FLOAT)
        return !isnan(f->number);
    return f->file && f->bytes > 0;
}

/* The words that a kind has; the first one is added where there is none. */
static const char *words_of(const struct feedline_sample_field *f)
{
    switch (f->width > 0 ? FEEDLINE_FIELD_TEXT : f->kind) {
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
    const char *words = words_of(f), *dot;
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

/* Of one that is no bytes: its numbers, with blanks between. The caller frees
 * it; NULL: no memory. */
static char *numbers_of(const struct feedline_sample_field *f)
{
    uint32_t n = f->width > 0 ? f->width : 1;
    const int64_t *integers = f->width > 0 ? f->integers : &f->integer;
    const double *numbers = f->width > 0 ? f->numbers : &f->number;
    char *text = malloc((size_t)n * NUMBER_BYTES), *at = text;
    for (uint32_t i = 0; text && i < n; i++) {
        at += sprintf(at, "%s", i > 0 ? " " : "");
        if (f->kind == FEEDLINE_FIELD_INT)
            at += sprintf(at, "%" PRIi64, integers[i]);
        else
            at += sprintf(at, "%.17g", numbers[i]);
    }
    return text;
}

uint64_t pack_field_bytes(const struct pack *p, uint64_t i)
{
    struct feedline_sample_field f;
    uint64_t bytes = 0;
    for (uint32_t k = 0; field_of(p, i, k, &f); k++)
        if (is_there(&f))
            bytes += shard_part_bytes(
                f.file ? f.bytes : 1 + (uint64_t)f.width * NUMBER_BYTES);
    return bytes;
}

int pack_add_fields(const struct pack *p, struct shard_writer *w,
                    const char *key, uint64_t i)
{
    struct feedline_sample_field f;
    int rc = TOOL_DONE;
    for (uint32_t k = 0; rc == TOOL_DONE && field_of(p, i, k, &f); k++) {
        char part[PART_BYTES];
        uint8_t *data = NULL;
        if (!is_there(&f))
            continue;
        char *number = f.file ? NULL : numbers_of(&f);
        int error = number ? 0 : ENOMEM;
        if (f.file)
            error = pack_read_part(f.file, f.offset, f.bytes, &data);
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
        free(number);
    }
    return rc;
}
