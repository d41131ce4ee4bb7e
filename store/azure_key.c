/* SPDX-License-Identifier: Apache-2.0 */
#include "store/azure_key.h"

#include "base/status.h"
#include "store/sha256.h"

#include <string.h>

#define KEY_BYTES 256 /* Azure's have 64 */
#define QUERY_MAX 8u

/* The query once more, with names sorted and nothing encoded. */
static void add_resource(const struct fdl_azure_key *k, struct fdl_text *t)
{
    const struct fdl_pair *sorted[QUERY_MAX];
    uint32_t n = FDL_MIN(k->n_query, QUERY_MAX);
    fdl_assert(k->n_query <= QUERY_MAX);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        for (; at > 0 && strcmp(k->query[i].name, sorted[at - 1]->name) < 0;
             at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &k->query[i];
    }
    fdl_text_add(t, "/%s%s", k->account, k->path);
    for (uint32_t i = 0; i < n; i++)
        fdl_text_add(t, "\n%s:%s", sorted[i]->name, sorted[i]->value);
}

/* GET and eleven headers that all requests may have: of them If-Match is the
 * eighth, Range the last. */
static void add_text(const struct fdl_azure_key *k, struct fdl_text *t)
{
    fdl_text_add(t, "GET\n\n\n\n\n\n\n\n%s\n\n\n%s\n", k->match ? k->match : "",
                 k->range ? k->range : "");
    fdl_text_add(t, "x-ms-date:%s\nx-ms-version:%s\n", k->date, k->version);
    add_resource(k, t);
}

int32_t fdl_azure_authorization(const struct fdl_azure_key *k,
                                struct fdl_text *out)
{
    unsigned char key[KEY_BYTES];
    struct fdl_digest digest;
    struct fdl_text text = {0};
    size_t n;
    if (!fdl_base64_undo(k->key, key, sizeof(key), &n))
        return fdl_fail(FEEDLINE_EINVAL,
                        "the key of the Azure storage account %s is not base64",
                        k->account);
    add_text(k, &text);
    if (!text.failed) {
        fdl_hmac_sha256(key, n, text.data, text.length, &digest);
        fdl_text_add(out, "SharedKey %s:", k->account);
        fdl_base64_add(out, digest.bytes, sizeof(digest.bytes));
    }
    bool failed = text.failed || out->failed;
    explicit_bzero(key, sizeof(key));
    fdl_text_free(&text);
    return failed ? fdl_fail_memory(0, "a signature") : FEEDLINE_OK;
}
