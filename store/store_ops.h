/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store is: it turns the name of an object into a request, and says what
 * a refusal means. It knows nothing of connections, and who sends requests
 * nothing of signatures.
 */
#ifndef FDL_STORE_STORE_OPS_H
#define FDL_STORE_STORE_OPS_H

#include "store/object_list.h"
#include "store/request.h"

#include <stdint.h>

struct fdl_store;

struct fdl_store_ops {
    const char *scheme; /* "s3", of "s3://" */

    /* location: the first one of it. Texts of the options stay the caller's. */
    int32_t (*open)(const char *location, const struct fdl_store_options *o,
                    struct fdl_store **out);
    void (*close)(struct fdl_store *store);

    /* Any thread, anew for each attempt. Whoever calls sends the headers Range
     * and If-Match; they are here to be signed. range: "bytes=0-99"; NULL: all
     * of it; tag: NULL: any. */
    int32_t (*sign)(struct fdl_store *store, const char *location,
                    const char *range, const char *tag,
                    struct fdl_request *out);

    /* Any thread: the answer is an error; *status, and the error line, what it
     * is for a sample if that is not asked for once more.
     * NULL: as HTTP says. */
    enum fdl_refusal (*refused)(struct fdl_store *store, const char *location,
                                const char *range,
                                const struct fdl_answer *answer,
                                int32_t *status);

    /* All objects whose names begin as the location does, in the server's
     * order, by the fetch of the options; with `folder` only those that have no
     * '/' behind it, and for the others what is before that, each once. Any
     * thread. NULL: there are no lists. */
    int32_t (*list)(struct fdl_store *store, const char *location,
                    fdl_object_each *each, fdl_folder_each *folder, void *user);
};

/* The first member of each store's own struct. */
struct fdl_store {
    const struct fdl_store_ops *ops;
};

#endif
