/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of objects, as stores answer with them: a page at a time, each read as
 * a whole before anything of it is told, so a page that is damaged tells
 * nothing. What is not below the prefix that was asked for is an error, as are
 * pages that do not end.
 */
#ifndef FDL_STORE_OBJECT_LIST_H
#define FDL_STORE_OBJECT_LIST_H

#include "store/request.h"

#include <stdint.h>

/* Stores answer with a thousand objects a page, the hub and Azure with more. */
#define FDL_PAGE_BYTES_MAX (UINT64_C(32) << 20)

struct fdl_object {
    const char *key; /* plain text */
    uint64_t bytes;
    const char *tag; /* as the header ETag has it; "" if the list does not */
};

typedef int32_t fdl_object_each(void *user, const struct fdl_object *object);

/* A folder: what objects have before a '/', with that ("a/b/"). */
typedef int32_t fdl_folder_each(void *user, const char *key);

/* A list that is under way. */
struct fdl_object_list {
    const char *what;   /* for messages: the location that is listed */
    const char *prefix; /* of all keys */
    fdl_object_each *each;
    fdl_folder_each *folder; /* NULL: none is told, but all that is in them */
    void *user;
    struct fdl_text next; /* what to ask the next page with; "": no more */
    uint32_t empty;       /* pages in a row that told nothing */
};

void fdl_object_list_free(struct fdl_object_list *l);

/* Reads a page: tells what is in it and sets `next`. EINVAL: the page is not
 * one; ENOMEM; or what `each` returned. */
typedef int32_t fdl_page_read(struct fdl_object_list *l,
                              const struct fdl_answer *answer);

fdl_page_read fdl_page_s3;    /* ListObjectsV2 */
fdl_page_read fdl_page_azure; /* List Blobs */
fdl_page_read fdl_page_google;
fdl_page_read fdl_page_hub; /* next: a whole address */

/* For them. Tells one object; folders, which some stores show as empty objects,
 * are left out. */
int32_t fdl_object_list_tell(struct fdl_object_list *l,
                             const struct fdl_object *o);

/* Tells a folder, where folders are wanted. EINVAL: that is none. */
int32_t fdl_object_list_tell_folder(struct fdl_object_list *l, const char *key);

/* Digits only. false: they are none, or more than 64 bits. */
FDL_NODISCARD bool fdl_object_number(const char *text, uint64_t *out);

/* Behind a page: `next` of it, NULL or "" if it is the last. */
int32_t fdl_object_list_turn(struct fdl_object_list *l, const char *next,
                             uint64_t told);

#endif
