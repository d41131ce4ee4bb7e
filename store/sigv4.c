/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sigv4.h"

#include "base/status.h"
#include "store/dates.h"
#include "store/sha256.h"

#include <string.h>

#define HEADERS_MAX 32u

/* Pointers to the headers, sorted by name. */
struct sorted {
    const struct fdl_pair *at[HEADERS_MAX];
    uint32_t n;
};

static void sort(const struct fdl_sigv4 *s, struct sorted *out)
{
    out->n = FDL_MIN(s->n_headers, HEADERS_MAX);
    for (uint32_t i = 0; i < out->n; i++) {
        uint32_t at = i;
        for (; at > 0 && strcmp(s->headers[i].name, out->at[at - 1]->name) < 0;
             at--)
            out->at[at] = out->at[at - 1];
        out->at[at] = &s->headers[i];
    }
}

/* Blanks around a value do not count, and several are one. */
static void add_value(struct fdl_text *t, const char *value)
{
    value += strspn(value, " ");
    while (*value) {
        size_t word = strcspn(value, " ");
        fdl_text_add(t, "%.*s", (int)word, value);
        value += word;
        value += strspn(value, " ");
        if (*value)
            fdl_text_add(t, " ");
    }
}

static void add_names(struct fdl_text *t, const struct sorted *headers)
{
    for (uint32_t i = 0; i < headers->n; i++)
        fdl_text_add(t, "%s%s", i ? ";" : "", headers->at[i]->name);
}

void fdl_sigv4_canonical(const struct fdl_sigv4 *s, struct fdl_text *out)
{
    struct sorted headers;
    sort(s, &headers);
    fdl_text_add(out, "%s\n%s\n%s\n", s->method, s->path, s->query);
    for (uint32_t i = 0; i < headers.n; i++) {
        fdl_text_add(out, "%s:", headers.at[i]->name);
        add_value(out, headers.at[i]->value);
        fdl_text_add(out, "\n");
    }
    fdl_text_add(out, "\n");
    add_names(out, &headers);
    fdl_text_add(out, "\n%s", s->payload);
}

static void hmac_text(struct fdl_digest *key, const char *text)
{
    fdl_hmac_sha256(key->bytes, sizeof(key->bytes), text, strlen(text), key);
}

/* The key of a day, a region and a service. */
static int32_t make_key(const struct fdl_sigv4 *s, const char *day,
                        struct fdl_digest *key)
{
    struct fdl_text secret = {0};
    fdl_text_add(&secret, "AWS4%s", s->secret);
    if (secret.failed)
        return fdl_fail_memory(secret.length, "a signature");
    fdl_hmac_sha256(secret.data, secret.length, day, strlen(day), key);
    hmac_text(key, s->region);
    hmac_text(key, s->service);
    hmac_text(key, "aws4_request");
    explicit_bzero(secret.data, secret.length);
    fdl_text_free(&secret);
    return FEEDLINE_OK;
}

int32_t fdl_sigv4_authorization(const struct fdl_sigv4 *s, struct fdl_text *out)
{
    char date[FDL_DATE_BASIC], day[9], hex[FDL_SHA256_HEX];
    struct fdl_text canonical = {0}, text = {0};
    struct fdl_digest digest, key;
    struct sorted headers;
    fdl_date_basic(s->time, date);
    memcpy(day, date, 8);
    day[8] = '\0';

    fdl_sigv4_canonical(s, &canonical);
    if (!canonical.failed) {
        fdl_sha256(canonical.data, canonical.length, &digest);
        fdl_digest_hex(&digest, hex);
        fdl_text_add(&text, "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n%s",
                     date, day, s->region, s->service, hex);
    }
    int32_t status = FEEDLINE_OK;
    if (canonical.failed || text.failed)
        status = fdl_fail_memory(canonical.length, "a signature");
    else
        status = make_key(s, day, &key);
    if (status == FEEDLINE_OK) {
        fdl_hmac_sha256(key.bytes, sizeof(key.bytes), text.data, text.length,
                        &key);
        fdl_digest_hex(&key, hex);
        sort(s, &headers);
        fdl_text_add(out,
                     "AWS4-HMAC-SHA256 Credential=%s/%s/%s/%s/aws4_request, "
                     "SignedHeaders=",
                     s->id, day, s->region, s->service);
        add_names(out, &headers);
        fdl_text_add(out, ", Signature=%s", hex);
        if (out->failed)
            status = fdl_fail_memory(out->length, "a signature");
    }
    fdl_text_free(&canonical);
    fdl_text_free(&text);
    return status;
}
