/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of S3 (also Google's, by its XML interface) and of Azure. Each is read
 * twice: whether keys are encoded may be said behind them, and a page that is
 * cut off tells nothing.
 */
#include "base/memory.h"
#include "base/status.h"
#include "store/object_list.h"
#include "store/percent.h"
#include "store/xml.h"

#include <stdlib.h>
#include <string.h>

#define TAG_BYTES 256

/* Names of the same things. */
struct dialect {
    const char *root, *object, *key, *bytes, *tag, *next;
    const char *folder, *folder_key;
    uint32_t depth;    /* of an object, or a folder; the root has 1 */
    bool tag_is_naked; /* without the quotes that it has in a header */
};

struct page {
    const struct dialect *d;
    struct fdl_object_list *l;
    bool telling;
    bool encoded, cut, has_bytes;
    char *next, *key;
    char tag[TAG_BYTES];
    uint64_t bytes, told;
};

static int32_t fail(const struct page *p, const char *why)
{
    return fdl_fail(FEEDLINE_EINVAL, "%s: %s", p->l->what, why);
}

static int32_t set(char **out, const char *text)
{
    free(*out);
    *out = fdl_strdup(text);
    return *out ? FEEDLINE_OK : fdl_fail_memory(strlen(text), "a list");
}

/* What is said of the page itself. */
static int32_t look(struct page *p, const struct fdl_xml *e)
{
    const char *name = e->names[e->depth - 1];
    if (strcmp(e->names[0], p->d->root) != 0)
        return fail(p, "the server's answer is no list of objects");
    if (e->depth != 2)
        return FEEDLINE_OK;
    if (strcmp(name, "EncodingType") == 0)
        p->encoded = strcmp(e->text, "url") == 0;
    else if (strcmp(name, "IsTruncated") == 0)
        p->cut = strcmp(e->text, "true") == 0;
    else if (strcmp(name, p->d->next) == 0)
        return set(&p->next, e->text);
    return FEEDLINE_OK;
}

/* An object has ended, or a folder. */
static int32_t tell(struct page *p, bool folder)
{
    if (!p->key || (!folder && !p->has_bytes))
        return fail(p, "the server lists an object without a name or a size");
    if (p->encoded && !fdl_percent_undo(p->key, true))
        return fail(p, "the server lists a name that is not encoded rightly");
    const struct fdl_object o = {
        .key = p->key, .bytes = p->bytes, .tag = p->tag};
    int32_t status = folder ? fdl_object_list_tell_folder(p->l, p->key)
                            : fdl_object_list_tell(p->l, &o);
    free(p->key);
    p->key = NULL;
    p->has_bytes = false;
    p->tag[0] = '\0';
    p->told++;
    return status;
}

static int32_t set_tag(struct page *p, const char *text)
{
    size_t n = strlen(text);
    const char *quote = p->d->tag_is_naked ? "\"" : "";
    if (n + 3 > sizeof(p->tag))
        return fail(p, "the server lists an object with an endless ETag");
    strcpy(p->tag, quote);
    strcat(p->tag, text);
    strcat(p->tag, quote);
    return FEEDLINE_OK;
}

static int32_t take(struct page *p, const struct fdl_xml *e)
{
    const struct dialect *d = p->d;
    const char *name = e->names[e->depth - 1];
    if (e->depth < d->depth)
        return FEEDLINE_OK;
    bool folder =
        p->l->folder && strcmp(e->names[d->depth - 1], d->folder) == 0;
    if (!folder && strcmp(e->names[d->depth - 1], d->object) != 0)
        return FEEDLINE_OK;
    if (e->depth == d->depth)
        return tell(p, folder);
    if (e->depth == d->depth + 1 &&
        strcmp(name, folder ? d->folder_key : d->key) == 0)
        return set(&p->key, e->text);
    if (folder)
        return FEEDLINE_OK;
    if (strcmp(name, d->bytes) == 0) {
        p->has_bytes = fdl_object_number(e->text, &p->bytes);
        return p->has_bytes ? FEEDLINE_OK
                            : fail(p, "the server lists a size that is none");
    }
    return strcmp(name, d->tag) == 0 ? set_tag(p, e->text) : FEEDLINE_OK;
}

static int32_t each(void *user, const struct fdl_xml *e)
{
    struct page *p = user;
    return p->telling ? take(p, e) : look(p, e);
}

static int32_t read_page(const struct dialect *d, struct fdl_object_list *l,
                         const struct fdl_answer *a)
{
    struct page p = {.d = d, .l = l};
    int32_t status =
        fdl_xml_read(a->body.data, a->body.length, l->what, each, &p);
    p.telling = true;
    if (status == FEEDLINE_OK && p.cut && (!p.next || !*p.next))
        status =
            fail(&p, "the server's list goes on, but it does not say where");
    if (status == FEEDLINE_OK)
        status = fdl_xml_read(a->body.data, a->body.length, l->what, each, &p);
    if (status == FEEDLINE_OK)
        status = fdl_object_list_turn(l, p.next, p.told);
    free(p.next);
    free(p.key);
    return status;
}

int32_t fdl_page_s3(struct fdl_object_list *l, const struct fdl_answer *answer)
{
    static const struct dialect d = {.root = "ListBucketResult",
                                     .object = "Contents",
                                     .key = "Key",
                                     .bytes = "Size",
                                     .tag = "ETag",
                                     .next = "NextContinuationToken",
                                     .folder = "CommonPrefixes",
                                     .folder_key = "Prefix",
                                     .depth = 2};
    return read_page(&d, l, answer);
}

int32_t fdl_page_azure(struct fdl_object_list *l,
                       const struct fdl_answer *answer)
{
    static const struct dialect d = {.root = "EnumerationResults",
                                     .object = "Blob",
                                     .key = "Name",
                                     .bytes = "Content-Length",
                                     .tag = "Etag",
                                     .next = "NextMarker",
                                     .folder = "BlobPrefix",
                                     .folder_key = "Name",
                                     .depth = 3,
                                     .tag_is_naked = true};
    return read_page(&d, l, answer);
}
