/* SPDX-License-Identifier: Apache-2.0 */
#include "store/remote.h"

#include "base/status.h"
#include "store/refusal.h"

#include <stdlib.h>

int32_t fdl_remote_open(const struct fdl_store_ops *ops, size_t bytes,
                        const char *location, const struct fdl_store_options *o,
                        fdl_obtain *obtain,
                        int32_t (*set_up)(struct fdl_remote *r),
                        struct fdl_store **out)
{
    struct fdl_location l;
    int32_t status = fdl_location_parse(location, ops->scheme, &l);
    if (status < 0)
        return status;
    struct fdl_remote *r = calloc(1, bytes);
    if (!r)
        return fdl_fail_memory(bytes, "a store");
    r->base.ops = ops;
    if (o)
        r->options = *o;
    fdl_keeper_init(&r->keeper, obtain, &r->options);
    status = set_up(r);
    if (status == FEEDLINE_OK)
        *out = &r->base;
    else
        fdl_remote_close(&r->base);
    return status;
}

void fdl_remote_close(struct fdl_store *store)
{
    struct fdl_remote *r = (struct fdl_remote *)store;
    fdl_keeper_fini(&r->keeper);
    free(r);
}

int32_t fdl_remote_object(const struct fdl_store *store, const char *location,
                          struct fdl_location *out)
{
    int32_t status = fdl_location_parse(location, store->ops->scheme, out);
    if (status == FEEDLINE_OK && !*out->key)
        status = fdl_fail(FEEDLINE_EINVAL, "%s: names no object", location);
    return status;
}

enum fdl_refusal fdl_remote_refused(struct fdl_store *store,
                                    const char *location, const char *range,
                                    const struct fdl_answer *answer,
                                    int32_t *status)
{
    struct fdl_remote *r = (struct fdl_remote *)store;
    struct fdl_refused refused;
    fdl_refused_read(answer, &r->keeper, &refused);
    return fdl_refused_judge(&refused, answer, &r->keeper, location, range,
                             status);
}

int32_t fdl_remote_list(struct fdl_store *store, const char *location,
                        const struct fdl_pages *p)
{
    const struct fdl_remote *r = (const struct fdl_remote *)store;
    struct fdl_location l;
    int32_t status = fdl_location_parse(location, store->ops->scheme, &l);
    if (status < 0)
        return status;
    struct fdl_pages pages = *p;
    pages.store = store;
    pages.options = &r->options;
    pages.location = location;
    pages.where = &l;
    return fdl_pages_each(&pages);
}
