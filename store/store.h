/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of stores. A location begins with the scheme of its store
 * ("https://host/train/00000.tar"); the store turns it into a request, which
 * downloads.h sends.
 *
 * To add one, write store/store_NAME.c, which defines fdl_store_NAME, and add
 * its line to FDL_STORES.
 */
#ifndef FDL_STORE_STORE_H
#define FDL_STORE_STORE_H

#include "base/status.h"
#include "store/store_ops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NAME is the scheme. */
#define FDL_STORES(STORE)                                                      \
  STORE(http)                                                                  \
  STORE(https)                                                                 \
  STORE(s3)                                                                    \
  STORE(gs)                                                                    \
  STORE(az)                                                                    \
  STORE(hf)

#define FDL_STORE_KIND(name) FDL_STORE_##name,
enum fdl_store_kind { FDL_STORES(FDL_STORE_KIND) FDL_STORE_KINDS };

#define FDL_STORE_DECLARE(name)                                                \
  extern const struct fdl_store_ops fdl_store_##name;
FDL_STORES(FDL_STORE_DECLARE)

/* Of which kind a location is; FDL_STORE_KINDS: a path of this machine. */
enum fdl_store_kind fdl_store_kind_of(const char *location);
static inline bool fdl_store_has(const char *location)
{
    return fdl_store_kind_of(location) != FDL_STORE_KINDS;
}

/* Whether its store has lists of objects: http and https have none. */
bool fdl_store_has_lists(const char *location);

/* Loads libcurl, too. ENOSYS, EINVAL, ENOMEM. */
int32_t fdl_store_open(const char *location, struct fdl_store **out);
void fdl_store_close(struct fdl_store *store); /* NULL is fine */

/* Tells the objects right in a folder, a location that ends with a '/' of a
 * store that has lists, and nothing of the folders in it. As the op `list`. */
int32_t fdl_store_each_in(const char *location, fdl_object_each *each,
                          void *user);

/* Bytes of a location that may be shown: what follows is a query, which may
 * hold a signature. */
size_t fdl_store_shown_bytes(const char *location);

#endif
