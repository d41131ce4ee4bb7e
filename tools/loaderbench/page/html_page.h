/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of loaderbench: one file of HTML that needs no network. page.html,
 * style.css and script/ are the page as a browser sees it; embed.cmake makes
 * one text of them. What is filled in here: documents as JSON, from which the
 * script draws, and what stands there without a script.
 */
#ifndef PAGE_HTML_PAGE_H
#define PAGE_HTML_PAGE_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

struct page {
    json_t *const *docs;
    size_t n_docs;
    /* Markup: the title, and an <article> for each document, which has an <h1>
     * and the name of the document as data-name. `of` is handed on. */
    void (*title)(FILE *f, const void *of);
    void (*articles)(FILE *f, const void *of);
    const void *of;
};

/* Errors are left in f. The same page makes the same bytes. */
void page_write(FILE *f, const struct page *page);

/* Escaped, for text and for attributes in double quotes. What is not UTF-8, is
 * a control character or turns the direction of text is U+FFFD. */
void page_text(FILE *f, const char *text);

/* The template, which embed.cmake wrote, with an 0 at its end. */
extern const unsigned char page_template[];

#endif
