/* SPDX-License-Identifier: Apache-2.0 */
#include "store/percent.h"

#include "base/grow.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#define UNRESERVED                                                             \
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"

void fdl_percent_add(struct fdl_text *t, const char *text, const char *keep)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t n = strlen(text);
    if (!fdl_text_reserve(t, 3 * n))
        return;
    char *out = t->data + t->length;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (strchr(UNRESERVED, c) || strchr(keep, c)) {
            *out++ = (char)c;
        } else {
            *out++ = '%';
            *out++ = digits[c >> 4];
            *out++ = digits[c & 15];
        }
    }
    *out = '\0';
    t->length = (uint64_t)(out - t->data);
}

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *place = c ? strchr(digits, c) : NULL;
    return place ? (int)(place - digits) % 16 : -1;
}

bool fdl_percent_undo(char *text, bool plus)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        char c = *in;
        if (c == '%') {
            int high = digit(in[1]);
            int low = high < 0 ? -1 : digit(in[2]);
            if (low < 0 || high + low == 0)
                return false;
            c = (char)(unsigned char)(high << 4 | low);
            in += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        *out++ = c;
    }
    *out = '\0';
    return true;
}

/* Encoded pairs: name i is string 2 * i, its value the next one. */
static bool before(const struct fdl_string_list *l, uint32_t a, uint32_t b)
{
    int order = strcmp(fdl_string_list_at(l, 2 * (uint64_t)a),
                       fdl_string_list_at(l, 2 * (uint64_t)b));
    if (order == 0)
        order = strcmp(fdl_string_list_at(l, 2 * (uint64_t)a + 1),
                       fdl_string_list_at(l, 2 * (uint64_t)b + 1));
    return order < 0;
}

static bool add_encoded(struct fdl_string_list *l, const char *text)
{
    struct fdl_text encoded = {0};
    fdl_percent_add(&encoded, text, "");
    bool good = !encoded.failed &&
                fdl_string_list_add(l, "", encoded.data) == FEEDLINE_OK;
    fdl_text_free(&encoded);
    return good;
}

void fdl_percent_query(struct fdl_text *t, const struct fdl_pair *pairs,
                       uint32_t n)
{
    struct fdl_string_list l = {0};
    uint32_t *order = calloc(n + 1, sizeof(*order));
    bool good = order != NULL;
    for (uint32_t i = 0; good && i < n; i++) {
        good =
            add_encoded(&l, pairs[i].name) && add_encoded(&l, pairs[i].value);
        uint32_t at = i;
        for (; good && at > 0 && before(&l, i, order[at - 1]); at--)
            order[at] = order[at - 1];
        if (good)
            order[at] = i;
    }
    for (uint32_t i = 0; good && i < n; i++)
        fdl_text_add(t, "%s%s=%s", i ? "&" : "",
                     fdl_string_list_at(&l, 2 * (uint64_t)order[i]),
                     fdl_string_list_at(&l, 2 * (uint64_t)order[i] + 1));
    t->failed |= !good;
    fdl_string_list_free(&l);
    free(order);
}
