/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through the pages of a list, whatever store they are of. */
#ifndef FDL_STORE_PAGES_H
#define FDL_STORE_PAGES_H

#include "store/location.h"
#include "store/object_list.h"
#include "store/store_ops.h"

#include <stdint.h>

struct fdl_pages;

/* The request for a page. next: "" for the first. */
typedef int32_t fdl_page_make(const struct fdl_pages *p, const char *next,
                              struct fdl_request *out);

struct fdl_pages {
    struct fdl_store *store;
    const struct fdl_store_options *options; /* fetch */
    const char *location;                    /* what is listed */
    const struct fdl_location *where;        /* the same */
    fdl_page_make *make;
    fdl_page_read *read;
    fdl_object_each *each;
    fdl_folder_each *folder; /* NULL: the list has no folders */
    void *user;
};

/* Tells all whose keys begin as the location's, in the server's order. A page
 * that is refused is asked for again as the store says, and so is one that did
 * not come. */
int32_t fdl_pages_each(const struct fdl_pages *p);

#endif
