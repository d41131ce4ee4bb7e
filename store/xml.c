/* SPDX-License-Identifier: Apache-2.0 */
#include "store/xml.h"

#include "base/status.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS     " \t\r\n"
#define NAME_ENDS  BLANKS "/>"
#define CODE_BYTES 10u /* "#x10FFFF" */

struct reader {
    const char *data, *at, *end; /* a NUL is at the end */
    const char *what;
    fdl_xml_each *each;
    void *user;
    struct fdl_xml element;
    char names[FDL_XML_DEPTH][FDL_XML_NAME_BYTES];
    char text[FDL_XML_TEXT_BYTES + 1];
    uint32_t n;    /* bytes of text */
    bool has_root; /* and another one may not follow */
};

static int32_t fail(const struct reader *r, const char *why)
{
    return fdl_fail(FEEDLINE_EINVAL, "%s: at %td: %s", r->what, r->at - r->data,
                    why);
}

static bool skip(struct reader *r, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* ---- Text ---------------------------------------------------------------- */

static int32_t add(struct reader *r, uint32_t byte)
{
    if (r->element.depth == 0)
        return byte < 0x80 && strchr(BLANKS, (int)byte)
                   ? FEEDLINE_OK
                   : fail(r, "text outside of any element");
    if (r->n == FDL_XML_TEXT_BYTES)
        return fail(r, "a text that is too long");
    r->text[r->n++] = (char)(unsigned char)byte;
    return FEEDLINE_OK;
}

/* As UTF-8. */
static int32_t add_code(struct reader *r, uint32_t c)
{
    unsigned char bytes[4];
    uint32_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (uint32_t i = n - 1; i > 0; i--, c >>= 6)
        bytes[i] = (unsigned char)(0x80 | (c & 0x3f));
    bytes[0] = (unsigned char)(lead[n] | c);
    int32_t status = FEEDLINE_OK;
    for (uint32_t i = 0; i < n && status == FEEDLINE_OK; i++)
        status = add(r, bytes[i]);
    return status;
}

/* name: "#65" or "#x41". 0: no such character. */
static uint32_t code_of(const char *name)
{
    bool hexadecimal = name[1] == 'x';
    const char *digits = name + (hexadecimal ? 2 : 1);
    char *end;
    if (!*digits || digits[strspn(digits, "0123456789abcdefABCDEF")])
        return 0;
    unsigned long code = strtoul(digits, &end, hexadecimal ? 16 : 10);
    bool good = !*end && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return good ? (uint32_t)code : 0;
}

/* Behind a '&'. */
static int32_t read_entity(struct reader *r)
{
    static const struct {
        const char *name;
        uint32_t code;
    } known[] = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    char name[CODE_BYTES + 1] = "";
    size_t n = strcspn(r->at, ";<&" BLANKS);
    uint32_t code = 0;
    if (n > CODE_BYTES || n == 0 || r->at[n] != ';')
        return fail(r, "a '&' that begins no character");
    memcpy(name, r->at, n);
    if (name[0] == '#')
        code = code_of(name);
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strcmp(name, known[i].name) == 0)
            code = known[i].code;
    }
    if (code == 0)
        return fail(r, "a character that there is not");
    r->at += n + 1;
    return add_code(r, code);
}

static int32_t read_cdata(struct reader *r)
{
    const char *end = strstr(r->at, "]]>");
    int32_t status = FEEDLINE_OK;
    if (!end)
        return fail(r, "a CDATA that does not end");
    while (r->at < end && status == FEEDLINE_OK)
        status = add(r, (unsigned char)*r->at++);
    if (status == FEEDLINE_OK)
        r->at = end + 3;
    return status;
}

/* ---- Elements ------------------------------------------------------------ */

static int32_t close_element(struct reader *r)
{
    r->text[r->n] = '\0';
    r->element.text = r->text;
    int32_t status = r->each(r->user, &r->element);
    r->element.depth--;
    r->n = 0;
    return status < 0 ? status : FEEDLINE_OK;
}

/* Attributes; *empty: the element ends with "/>". */
static int32_t skip_attributes(struct reader *r, bool *empty)
{
    *empty = false;
    for (;;) {
        r->at += strcspn(r->at, "\"'/><");
        char c = *r->at;
        if (c == '"' || c == '\'') {
            const char *end = strchr(r->at + 1, c);
            if (!end)
                return fail(r, "an attribute that does not end");
            r->at = end + 1;
        } else if (skip(r, "/>")) {
            *empty = true;
            return FEEDLINE_OK;
        } else if (skip(r, ">")) {
            return FEEDLINE_OK;
        } else {
            return fail(r, "a tag that does not end");
        }
    }
}

static int32_t open_element(struct reader *r)
{
    uint32_t depth = r->element.depth;
    size_t n = strcspn(r->at, NAME_ENDS "<&");
    bool empty;
    if (n == 0 || n >= FDL_XML_NAME_BYTES)
        return fail(r, "a name of an element expected");
    if (depth == FDL_XML_DEPTH)
        return fail(r, "nested too deeply");
    if (depth == 0 && r->has_root)
        return fail(r, "a second document");
    memcpy(r->names[depth], r->at, n);
    r->names[depth][n] = '\0';
    r->element.names[depth] = r->names[depth];
    r->element.depth = depth + 1;
    r->has_root = true;
    r->at += n;
    r->n = 0;
    int32_t status = skip_attributes(r, &empty);
    if (status == FEEDLINE_OK && empty)
        status = close_element(r);
    return status;
}

static int32_t end_element(struct reader *r)
{
    size_t n = strcspn(r->at, NAME_ENDS);
    uint32_t depth = r->element.depth;
    const char *name = depth ? r->names[depth - 1] : "";
    if (depth == 0 || strlen(name) != n || memcmp(r->at, name, n) != 0)
        return fail(r, "the end of another element");
    r->at += n;
    r->at += strspn(r->at, BLANKS);
    if (!skip(r, ">"))
        return fail(r, "a tag that does not end");
    return close_element(r);
}

static int32_t skip_until(struct reader *r, const char *end)
{
    const char *place = strstr(r->at, end);
    if (!place)
        return fail(r, "it ends too early");
    r->at = place + strlen(end);
    return FEEDLINE_OK;
}

static int32_t read_one(struct reader *r)
{
    if (*r->at == '&') {
        r->at++;
        return read_entity(r);
    }
    if (*r->at != '<')
        return add(r, (unsigned char)*r->at++);
    if (skip(r, "<?"))
        return skip_until(r, "?>");
    if (skip(r, "<!--"))
        return skip_until(r, "-->");
    if (skip(r, "<![CDATA["))
        return read_cdata(r);
    if (skip(r, "<!"))
        return fail(r, "a document type, which is not read");
    if (skip(r, "</"))
        return end_element(r);
    r->at++;
    return open_element(r);
}

int32_t fdl_xml_read(const char *data, uint64_t n, const char *what,
                     fdl_xml_each *each, void *user)
{
    struct reader *r = malloc(sizeof(*r));
    char *copy = malloc(n + 1);
    int32_t status = FEEDLINE_OK;
    if (!r || !copy) {
        free(r);
        free(copy);
        return fdl_fail_memory(n, "a document");
    }
    if (n > 0)
        memcpy(copy, data, n);
    copy[n] = '\0';
    *r = (struct reader){.data = copy,
                         .at = copy,
                         .end = copy + n,
                         .what = what,
                         .each = each,
                         .user = user};
    skip(r, "\xef\xbb\xbf"); /* Azure's begin with it */
    while (status == FEEDLINE_OK && r->at < r->end)
        status = *r->at ? read_one(r) : fail(r, "a zero byte");
    if (status == FEEDLINE_OK && (r->element.depth > 0 || !r->has_root))
        status = fail(r, r->has_root ? "it ends too early" : "no document");
    free(copy);
    free(r);
    return status;
}
