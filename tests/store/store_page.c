/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what a page of ListObjectsV2 has: `store_page PREFIX < PAGE`. A line
 * with size, tag and name for each object, and at the end what the next page is
 * asked with.
 */
#include "base/status.h"
#include "store/object_list.h"

#include <stdio.h>

static int32_t print(void *user, const struct fdl_object *o)
{
    (void)user;
    printf("%llu\t%s\t%s\n", (unsigned long long)o->bytes, o->tag, o->key);
    return FEEDLINE_OK;
}

int main(int argc, char **argv)
{
    struct fdl_object_list l = {
        .what = "page", .prefix = argc > 1 ? argv[1] : "", .each = print};
    struct fdl_answer a = {.status = 200};
    size_t n = 1;
    while (n > 0 && fdl_text_reserve(&a.body, 65536)) {
        n = fread(a.body.data + a.body.length, 1, 65536, stdin);
        a.body.length += n;
        a.body.data[a.body.length] = '\0';
    }
    int32_t status = fdl_page_s3(&l, &a);
    if (status == FEEDLINE_OK)
        printf("%s\n", l.next.data);
    else
        fprintf(stderr, "%s\n", fdl_last_error());
    fdl_object_list_free(&l);
    fdl_answer_free(&a);
    return status == FEEDLINE_OK ? 0 : 1;
}
