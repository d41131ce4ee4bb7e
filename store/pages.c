/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pages.h"

#include "base/clock.h"
#include "base/status.h"
#include "store/patience.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define ATTEMPTS   6u
#define SHOWN_MOST 1024 /* of a location in a message */

static void pause_before(struct fdl_patience *patience, uint32_t attempt)
{
    int64_t ns = fdl_patience_pause_ns(patience, attempt, -1);
    const struct timespec pause = {ns / 1000000000, ns % 1000000000};
    nanosleep(&pause, NULL);
}

/* For messages: the location, and which host was asked. Not more of the
 * address: it may be signed. */
static void show(const struct fdl_pages *p, const struct fdl_request *r,
                 char out[SHOWN_MOST])
{
    const char *host = strstr(r->url, "://");
    host = host ? host + 3 : r->url;
    snprintf(out, SHOWN_MOST, "%s at %.*s", p->location,
             (int)strcspn(host, "/?"), host);
}

/* It did not come. EINVAL: and it will not come the next time. */
static int32_t fail_fetch(int32_t status, const char *shown,
                          enum fdl_refusal *refusal)
{
    char why[FDL_ERROR_BYTES];
    snprintf(why, sizeof(why), "%s", fdl_last_error());
    *refusal = status == FEEDLINE_EIO ? FDL_REFUSED_LATER : FDL_REFUSED_FINAL;
    return fdl_fail(status == FEEDLINE_EINVAL ? FEEDLINE_EIO : status, "%s: %s",
                    shown, why);
}

/* One attempt. *refusal: what to do where it returns below 0. */
static int32_t fetch(const struct fdl_pages *p, const char *next,
                     struct fdl_answer *out, enum fdl_refusal *refusal)
{
    char shown[SHOWN_MOST];
    struct fdl_request r = {0};
    int32_t status = p->make(p, next, &r);
    *refusal = FDL_REFUSED_FINAL;
    if (status < 0)
        return status;
    *out = (struct fdl_answer){0};
    show(p, &r, shown);
    status = p->options->fetch(p->options->user, &r, FDL_PAGE_BYTES_MAX, out);
    fdl_request_free(&r);
    if (status < 0)
        status = fail_fetch(status, shown, refusal);
    else if (out->status < 200 || out->status > 299)
        *refusal = p->store->ops->refused(p->store, shown, NULL, out, &status);
    if (status < 0)
        fdl_answer_free(out);
    return status;
}

static int32_t fetch_patiently(const struct fdl_pages *p, const char *next,
                               struct fdl_patience *patience,
                               struct fdl_answer *out)
{
    enum fdl_refusal refusal;
    for (uint32_t attempt = 1;; attempt++) {
        int32_t status = fetch(p, next, out, &refusal);
        if (status == FEEDLINE_OK || refusal == FDL_REFUSED_FINAL ||
            attempt == ATTEMPTS)
            return status;
        if (refusal == FDL_REFUSED_LATER)
            pause_before(patience, attempt);
    }
}

int32_t fdl_pages_each(const struct fdl_pages *p)
{
    struct fdl_object_list l = {.what = p->location,
                                .prefix = p->where->key,
                                .each = p->each,
                                .folder = p->folder,
                                .user = p->user};
    struct fdl_patience patience;
    int32_t status = FEEDLINE_OK;
    if (!p->options->fetch)
        return fdl_fail(FEEDLINE_ENOSYS, "%s: there is nothing to ask it with",
                        p->location);
    fdl_patience_init(&patience, (uint64_t)fdl_now_ns());
    do {
        struct fdl_answer answer;
        status = fetch_patiently(p, l.next.length ? l.next.data : "", &patience,
                                 &answer);
        if (status < 0)
            break;
        status = p->read(&l, &answer);
        fdl_answer_free(&answer);
    } while (status == FEEDLINE_OK && l.next.length > 0);
    fdl_object_list_free(&l);
    return status;
}
