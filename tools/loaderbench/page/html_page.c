/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/loaderbench/page/html_page.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "&#xfffd;"

static const char *escape_of(unsigned char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    default:
        return c == 0x7f || (c < 0x20 && c != '\n' && c != '\t') ? REPLACEMENT
                                                                 : NULL;
    }
}

static size_t character_bytes(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* C1 controls, which HTML does not allow either, and what turns the direction
 * of text: a path must not look like another one. */
static bool is_control(const unsigned char *s, size_t bytes)
{
    if (bytes == 2)
        return s[0] == 0xc2 && s[1] < 0xa0;
    if (bytes != 3 || s[0] != 0xe2)
        return false;
    return (s[1] == 0x80 &&
            (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xaa && s[2] <= 0xae))) ||
           (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9);
}

void page_text(FILE *f, const char *text)
{
    json_t *checked = json_string(text); /* NULL if it is not UTF-8 */
    const unsigned char *s = (const unsigned char *)text;
    while (*s) {
        size_t bytes = checked ? character_bytes(*s) : 1;
        const char *escape = bytes == 1 ? escape_of(*s) : NULL;
        if ((!checked && *s >= 0x80) || is_control(s, bytes))
            escape = REPLACEMENT;
        if (escape)
            fputs(escape, f);
        else
            fwrite(s, 1, bytes, f);
        s += bytes;
    }
    json_decref(checked);
}

/* In JSON these characters stand in strings alone, where \u003c is the same: no
 * text of a document can end the element. */
static void put_json(FILE *f, const char *json)
{
    for (; *json; json++) {
        if (*json == '<' || *json == '>' || *json == '&')
            fprintf(f, "\\u%04x", (unsigned)*json);
        else
            putc(*json, f);
    }
}

static void put_data(FILE *f, const struct page *page)
{
    fputs("[\n", f);
    for (size_t i = 0; i < page->n_docs; i++) {
        char *json =
            json_dumps(page->docs[i], JSON_COMPACT | JSON_ENSURE_ASCII |
                                          JSON_REAL_PRECISION(9));
        fputs(i ? ",\n" : "", f);
        put_json(f, json ? json : "null");
        free(json);
    }
    fputs("\n]", f);
}

static void put_title(FILE *f, const struct page *page)
{
    page->title(f, page->of);
}

static void put_articles(FILE *f, const struct page *page)
{
    page->articles(f, page->of);
}

static const struct place {
    const char *name;
    void (*fill)(FILE *f, const struct page *page);
} places[] = {
    {"@title@", put_title}, {"@articles@", put_articles}, {"@data@", put_data}};

/* NULL: an @ like any. */
static const struct place *place_at(const char *text)
{
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (strncmp(text, places[i].name, strlen(places[i].name)) == 0)
            return &places[i];
    return NULL;
}

void page_write(FILE *f, const struct page *page)
{
    const char *at = (const char *)page_template;
    while (*at) {
        const struct place *place = *at == '@' ? place_at(at) : NULL;
        size_t n = place ? strlen(place->name) : 1 + strcspn(at + 1, "@");
        if (place)
            place->fill(f, page);
        else
            fwrite(at, 1, n, f);
        at += n;
    }
}
