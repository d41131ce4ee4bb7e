/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: pages of lists, of each store. The first byte is the store, the
 * second the prefix and whether folders are told; an empty line parts the
 * headers from the body. Whatever is told begins with the prefix, a page that
 * is refused tells nothing, and says of what list it is.
 */
#include "base/status.h"
#include "fuzz.h"
#include "store/object_list.h"

#include <stdlib.h>
#include <string.h>

struct seen {
    const char *prefix;
    uint64_t n;
};

static int32_t tell(void *user, const struct fdl_object *o)
{
    struct seen *seen = user;
    size_t n = strlen(o->key);
    fuzz_check(n > 0 && o->key[n - 1] != '/');
    fuzz_check(strncmp(o->key, seen->prefix, strlen(seen->prefix)) == 0);
    fuzz_check(strlen(o->tag) < 300);
    seen->n++;
    return FEEDLINE_OK;
}

static int32_t tell_folder(void *user, const char *key)
{
    struct seen *seen = user;
    size_t n = strlen(key);
    fuzz_check(n > strlen(seen->prefix) && key[n - 1] == '/');
    fuzz_check(strncmp(key, seen->prefix, strlen(seen->prefix)) == 0);
    seen->n++;
    return FEEDLINE_OK;
}

static void set(struct fdl_text *t, const char *data, size_t n)
{
    fuzz_check(fdl_text_reserve(t, n));
    memcpy(t->data, data, n);
    t->data[n] = '\0';
    t->length = n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fdl_page_read *const readers[] = {fdl_page_s3, fdl_page_azure,
                                             fdl_page_google, fdl_page_hub};
    struct fuzz_input in = {data, size};
    fdl_page_read *read = readers[fuzz_byte(&in) % FDL_COUNT_OF(readers)];
    uint8_t how = fuzz_byte(&in);
    struct seen seen = {.prefix = how % 2 ? "p/" : ""};
    struct fdl_object_list l = {.what = "s3://b/p",
                                .prefix = seen.prefix,
                                .each = tell,
                                .folder = how & 2 ? tell_folder : NULL,
                                .user = &seen};
    struct fdl_answer a = {.status = 200};
    const uint8_t *end = memmem(in.data, in.size, "\n\n", 2);
    size_t n = end ? (size_t)(end - in.data) : 0;
    set(&a.headers, (const char *)in.data, n);
    set(&a.body, (const char *)in.data + n, in.size - n);
    int32_t status = read(&l, &a);
    if (status < 0) {
        fuzz_check_error(status);
        fuzz_check(strstr(fdl_last_error(), "s3://b/p"));
    }
    fdl_object_list_free(&l);
    fdl_answer_free(&a);
    return 0;
}
