/* SPDX-License-Identifier: Apache-2.0 */
/* What the stores with credentials share: s3, gs, az, hf. */
#ifndef FDL_STORE_REMOTE_H
#define FDL_STORE_REMOTE_H

#include "store/credentials.h"
#include "store/location.h"
#include "store/pages.h"
#include "store/store_ops.h"

#include <stddef.h>
#include <stdint.h>

/* The first member of each. */
struct fdl_remote {
    struct fdl_store base;
    struct fdl_store_options options; /* texts in it are the caller's */
    struct fdl_keeper keeper;
    struct fdl_endpoint endpoint;
};

/* `bytes` zeroed ones for the whole of it; set_up fills in what is left. */
int32_t fdl_remote_open(const struct fdl_store_ops *ops, size_t bytes,
                        const char *location, const struct fdl_store_options *o,
                        fdl_obtain *obtain,
                        int32_t (*set_up)(struct fdl_remote *r),
                        struct fdl_store **out);
void fdl_remote_close(struct fdl_store *store);

/* fdl_location_parse, of one that names an object. */
int32_t fdl_remote_object(const struct fdl_store *store, const char *location,
                          struct fdl_location *out);

enum fdl_refusal fdl_remote_refused(struct fdl_store *store,
                                    const char *location, const char *range,
                                    const struct fdl_answer *answer,
                                    int32_t *status);

/* All of a list; of `p` the pages and who is told. */
int32_t fdl_remote_list(struct fdl_store *store, const char *location,
                        const struct fdl_pages *p);

#endif
