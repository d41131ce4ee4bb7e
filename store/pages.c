/* SPDX-License-Identifier: Apache-2.0 */
#include "store/pages.h"

#include "base/status.h"

#include <time.h>

#define ATTEMPTS    6
#define FIRST_PAUSE 100 /* ms, doubled each time */

static void pause_before(int attempt)
{
    int64_t ms = (int64_t)FIRST_PAUSE << attempt;
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* One attempt. *refusal: what to do where it returns below 0. */
static int32_t fetch(const struct fdl_pages *p, const char *next,
                     struct fdl_answer *out, enum fdl_refusal *refusal)
{
    struct fdl_request r = {0};
    int32_t status = p->make(p, next, &r);
    *refusal = FDL_REFUSED_FINAL;
    if (status < 0)
        return status;
    *out = (struct fdl_answer){0};
    status = p->options->fetch(p->options->user, &r, FDL_PAGE_BYTES_MAX, out);
    fdl_request_free(&r);
    if (status == FEEDLINE_OK && (out->status < 200 || out->status > 299))
        *refusal =
            p->store->ops->refused(p->store, p->location, NULL, out, &status);
    if (*refusal == FDL_REFUSED_AGAIN)
        status =
            fdl_fail(FEEDLINE_EIO, "%s: the server refuses it again and again",
                     p->location);
    if (status < 0)
        fdl_answer_free(out);
    return status;
}

static int32_t fetch_patiently(const struct fdl_pages *p, const char *next,
                               struct fdl_answer *out)
{
    enum fdl_refusal refusal;
    for (int attempt = 0;; attempt++) {
        int32_t status = fetch(p, next, out, &refusal);
        if (status == FEEDLINE_OK || refusal == FDL_REFUSED_FINAL ||
            attempt == ATTEMPTS - 1)
            return status;
        if (refusal == FDL_REFUSED_LATER)
            pause_before(attempt);
    }
}

int32_t fdl_pages_each(const struct fdl_pages *p, fdl_object_each *each,
                       void *user)
{
    struct fdl_object_list l = {.what = p->location,
                                .prefix = p->where->key,
                                .each = each,
                                .user = user};
    int32_t status = FEEDLINE_OK;
    if (!p->options->fetch)
        return fdl_fail(FEEDLINE_ENOSYS, "%s: there is nothing to ask it with",
                        p->location);
    do {
        struct fdl_answer answer;
        status = fetch_patiently(p, l.next.length ? l.next.data : "", &answer);
        if (status < 0)
            break;
        status = p->read(&l, &answer);
        fdl_answer_free(&answer);
    } while (status == FEEDLINE_OK && l.next.length > 0);
    fdl_object_list_free(&l);
    return status;
}
