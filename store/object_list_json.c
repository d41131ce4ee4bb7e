/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of Google's store, by its JSON interface, and of the hub. */
#include "base/json_scan.h"
#include "base/status.h"
#include "store/object_list.h"
#include "store/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES                                                              \
  8192 /* 1,024 of a store; paths in a repository may be more
 * */
#define NEXT_BYTES 8192
#define DEPTH      8
#define MD5_BYTES  16

struct page {
    struct fdl_object_list *l;
    bool telling;
    char key[KEY_BYTES], next[NEXT_BYTES], number[32], sum[64], kind[32];
    uint64_t told;
};

/* A text that fits; numbers as they are written. */
static int32_t scan_text(struct fdl_json_scan *s, char *out, size_t capacity)
{
    const char *begin;
    char c = fdl_json_scan_peek(s);
    int32_t status;
    if (c == '"') {
        status = fdl_json_scan_string(s, out, capacity);
        if (status == FEEDLINE_OK && strlen(out) + 1 == capacity)
            status = fdl_json_scan_fail(s, "a text that is too long");
        if (status == FEEDLINE_OK && s->has_nul)
            status = fdl_json_scan_fail(s, "a zero byte in a text");
        return status;
    }
    begin = s->at;
    status = fdl_json_scan_number(s);
    size_t n = (size_t)(s->at - begin);
    if (status == FEEDLINE_OK && n >= capacity)
        status = fdl_json_scan_fail(s, "a number that is too long");
    if (status == FEEDLINE_OK) {
        memcpy(out, begin, n);
        out[n] = '\0';
    }
    return status;
}

/* The header ETag of what was written in one piece is its MD5. */
static void tag_of(const char *sum, char out[2 * MD5_BYTES + 3])
{
    unsigned char md5[MD5_BYTES];
    size_t n;
    out[0] = '\0';
    if (!*sum || !fdl_base64_undo(sum, md5, sizeof(md5), &n) || n != MD5_BYTES)
        return;
    char *at = out;
    *at++ = '"';
    for (size_t i = 0; i < n; i++, at += 2)
        snprintf(at, 3, "%02x", md5[i]);
    strcpy(at, "\"");
}

static int32_t tell(struct page *p, struct fdl_json_scan *s)
{
    char tag[2 * MD5_BYTES + 3];
    struct fdl_object o = {.key = p->key, .tag = tag};
    tag_of(p->sum, tag);
    if (!*p->key || !fdl_object_number(p->number, &o.bytes))
        return fdl_json_scan_fail(s, "an object without a name or a size");
    p->told++;
    return p->telling ? fdl_object_list_tell(p->l, &o) : FEEDLINE_OK;
}

/* key ends with the '/'. */
static int32_t tell_folder(struct page *p)
{
    p->told++;
    return p->telling ? fdl_object_list_tell_folder(p->l, p->key) : FEEDLINE_OK;
}

/* ---- Google -------------------------------------------------------------- */

static int32_t google_field(struct fdl_json_scan *s, const char *key,
                            void *user)
{
    struct page *p = user;
    if (strcmp(key, "name") == 0)
        return scan_text(s, p->key, sizeof(p->key));
    if (strcmp(key, "size") == 0)
        return scan_text(s, p->number, sizeof(p->number));
    if (strcmp(key, "md5Hash") == 0)
        return scan_text(s, p->sum, sizeof(p->sum));
    return fdl_json_scan_skip(s);
}

static void clear(struct page *p)
{
    p->key[0] = p->number[0] = p->sum[0] = p->kind[0] = '\0';
}

static int32_t google_item(struct fdl_json_scan *s, const char *key, void *user)
{
    (void)key;
    clear(user);
    if (fdl_json_scan_peek(s) != '{')
        return fdl_json_scan_fail(s, "an object of the store expected");
    int32_t status = fdl_json_scan_each(s, google_field, user);
    return status < 0 ? status : tell(user, s);
}

static int32_t google_prefix(struct fdl_json_scan *s, const char *key,
                             void *user)
{
    struct page *p = user;
    (void)key;
    int32_t status = scan_text(s, p->key, sizeof(p->key));
    return status < 0 ? status : tell_folder(p);
}

static int32_t google_page(struct fdl_json_scan *s, const char *key, void *user)
{
    struct page *p = user;
    if (key && strcmp(key, "nextPageToken") == 0)
        return scan_text(s, p->next, sizeof(p->next));
    bool items = key && strcmp(key, "items") == 0;
    if (items || (key && strcmp(key, "prefixes") == 0 && p->l->folder))
        return fdl_json_scan_peek(s) == '['
                   ? fdl_json_scan_each(s, items ? google_item : google_prefix,
                                        p)
                   : fdl_json_scan_fail(s, "a list expected");
    return fdl_json_scan_skip(s);
}

/* ---- The hub ------------------------------------------------------------- */

static int32_t hub_field(struct fdl_json_scan *s, const char *key, void *user)
{
    struct page *p = user;
    if (strcmp(key, "path") == 0)
        return scan_text(s, p->key, sizeof(p->key));
    if (strcmp(key, "size") == 0)
        return scan_text(s, p->number, sizeof(p->number));
    if (strcmp(key, "type") == 0)
        return scan_text(s, p->kind, sizeof(p->kind));
    return fdl_json_scan_skip(s);
}

static int32_t hub_item(struct fdl_json_scan *s, const char *key, void *user)
{
    struct page *p = user;
    (void)key;
    clear(p);
    if (fdl_json_scan_peek(s) != '{')
        return fdl_json_scan_fail(s, "a file of the repository expected");
    int32_t status = fdl_json_scan_each(s, hub_field, p);
    if (status < 0)
        return status;
    /* A folder was asked for, which has more than what begins as the prefix. */
    if (strncmp(p->key, p->l->prefix, strlen(p->l->prefix)) != 0)
        return FEEDLINE_OK;
    if (strcmp(p->kind, "file") == 0)
        return tell(p, s);
    size_t n = strlen(p->key);
    if (strcmp(p->kind, "directory") != 0 || !p->l->folder)
        return FEEDLINE_OK;
    if (n + 2 > sizeof(p->key))
        return fdl_json_scan_fail(s, "a text that is too long");
    strcpy(p->key + n, "/");
    return tell_folder(p);
}

/* ---- Both ---------------------------------------------------------------- */

static int32_t scan_page(struct page *p, const struct fdl_answer *a, char begin,
                         fdl_json_each *each)
{
    char what[FDL_ERROR_BYTES];
    const char *text = a->body.length ? a->body.data : "";
    snprintf(what, sizeof(what), "%s: the server's list: ", p->l->what);
    struct fdl_json_scan s = {
        .text = text, .at = text, .what = what, .depth = DEPTH};
    if (strlen(text) != a->body.length)
        return fdl_fail(FEEDLINE_EINVAL, "%sa zero byte", what);
    if (fdl_json_scan_peek(&s) != begin)
        return fdl_json_scan_fail(&s, "not a list of objects");
    int32_t status = fdl_json_scan_each(&s, each, p);
    if (status == FEEDLINE_OK && fdl_json_scan_peek(&s) != '\0')
        status = fdl_json_scan_fail(&s, "more than a list of objects");
    return status;
}

/* First for nothing: a page that is cut off tells nothing. next: of the page.
 * */
static int32_t read_page(struct fdl_object_list *l, const struct fdl_answer *a,
                         char begin, fdl_json_each *each, char next[NEXT_BYTES],
                         uint64_t *told)
{
    struct page *p = calloc(1, sizeof(*p));
    if (!p)
        return fdl_fail_memory(sizeof(*p), "a list");
    p->l = l;
    int32_t status = scan_page(p, a, begin, each);
    p->telling = true;
    p->told = 0;
    if (status == FEEDLINE_OK)
        status = scan_page(p, a, begin, each);
    strcpy(next, p->next);
    *told = p->told;
    free(p);
    return status;
}

int32_t fdl_page_google(struct fdl_object_list *l,
                        const struct fdl_answer *answer)
{
    char next[NEXT_BYTES];
    uint64_t told;
    int32_t status = read_page(l, answer, '{', google_page, next, &told);
    return status < 0 ? status : fdl_object_list_turn(l, next, told);
}

/* Link: <https://...>; rel="next", <...>; rel="last" */
static void next_link(const char *header, char *out, size_t capacity)
{
    out[0] = '\0';
    for (const char *at = strchr(header, '<'); at; at = strchr(at + 1, '<')) {
        const char *end = strchr(at, '>');
        size_t rest = end ? strcspn(end, ",") : 0;
        const char *rel = end ? strstr(end, "rel=\"next\"") : NULL;
        if (!rel || (size_t)(rel - end) > rest ||
            (size_t)(end - at - 1) >= capacity)
            continue;
        memcpy(out, at + 1, (size_t)(end - at - 1));
        out[end - at - 1] = '\0';
        return;
    }
}

int32_t fdl_page_hub(struct fdl_object_list *l, const struct fdl_answer *answer)
{
    char header[NEXT_BYTES], next[NEXT_BYTES];
    uint64_t told;
    int32_t status = read_page(l, answer, '[', hub_item, next, &told);
    if (status < 0)
        return status;
    fdl_answer_header(answer, "Link", header, sizeof(header));
    next_link(header, next, sizeof(next));
    return fdl_object_list_turn(l, next, told);
}
