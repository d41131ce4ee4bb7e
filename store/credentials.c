/* SPDX-License-Identifier: Apache-2.0 */
#include "store/credentials.h"

#include "base/memory.h"
#include "base/status.h"
#include "store/dates.h"
#include "store/percent.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ADVISED_S  (15 * 60) /* before the end */
#define PAUSE_S    60        /* between attempts that need not succeed */
#define JUST_NOW_S 5
#define SKEW_S     60 /* clocks that differ by less are not to blame */

#define FIELDS 4

/* ---- Their memory -------------------------------------------------------- */

static char **field(struct fdl_credentials *c, int i)
{
    char **const fields[FIELDS] = {&c->id, &c->secret, &c->token, &c->query};
    return fields[i];
}

static const char *value(const struct fdl_credentials *c, int i)
{
    const char *const values[FIELDS] = {c->id, c->secret, c->token, c->query};
    return values[i];
}

void fdl_credentials_free(struct fdl_credentials *c)
{
    for (int i = 0; i < FIELDS; i++)
        fdl_wipe(*field(c, i));
    *c = (struct fdl_credentials){0};
}

int32_t fdl_credentials_copy(const struct fdl_credentials *c,
                             struct fdl_credentials *out)
{
    struct fdl_credentials copy = {.expires = c->expires};
    for (int i = 0; i < FIELDS; i++) {
        const char *text = value(c, i);
        char *copied = text ? fdl_strdup(text) : NULL;
        if (text && !copied) {
            fdl_credentials_free(&copy);
            return fdl_fail_memory(strlen(text), "credentials");
        }
        *field(&copy, i) = copied;
    }
    *out = copy;
    return FEEDLINE_OK;
}

bool fdl_credentials_equal(const struct fdl_credentials *a,
                           const struct fdl_credentials *b)
{
    for (int i = 0; i < FIELDS; i++) {
        const char *x = value(a, i), *y = value(b, i);
        if (!x != !y || (x && strcmp(x, y) != 0))
            return false;
    }
    return true;
}

int32_t fdl_credentials_bearer(const struct fdl_credentials *c,
                               struct fdl_request *r)
{
    struct fdl_text value = {0};
    if (!c->token)
        return FEEDLINE_OK;
    fdl_text_add(&value, "Bearer %s", c->token);
    int32_t status = value.failed
                         ? fdl_fail_memory(0, "a header")
                         : fdl_request_header(r, "Authorization", value.data);
    fdl_wipe(value.data);
    return status;
}

/* ---- What is shown ------------------------------------------------------- */

static void cover(char *text, const char *secret)
{
    size_t n = secret ? strlen(secret) : 0;
    if (n == 0)
        return;
    for (char *at = text; (at = strstr(at, secret)); at += n)
        memset(at, '*', n);
}

/* The signature in a SAS is what nobody may know; servers show the rest. */
static void cover_signature(char *text, const char *query)
{
    const char *sig = query ? strstr(query, "sig=") : NULL;
    char *copy = sig ? fdl_strdup(sig + 4) : NULL;
    if (!copy)
        return;
    copy[strcspn(copy, "&")] = '\0';
    cover(text, copy);
    if (fdl_percent_undo(copy, false))
        cover(text, copy);
    fdl_wipe(copy);
}

void fdl_credentials_redact(const struct fdl_credentials *c, char *text)
{
    for (int i = FIELDS - 1; i >= 0; i--)
        cover(text, value(c, i));
    cover_signature(text, c->query);
}

/* ---- Those of a store ---------------------------------------------------- */

void fdl_keeper_init(struct fdl_keeper *k, fdl_obtain *obtain,
                     const struct fdl_store_options *o)
{
    *k = (struct fdl_keeper){.obtain = obtain, .options = o};
    fdl_lock_init(&k->lock, FDL_RANK_STORE);
}

void fdl_keeper_fini(struct fdl_keeper *k)
{
    fdl_credentials_free(&k->held);
    fdl_lock_destroy(&k->lock);
}

static int64_t now_of(const struct fdl_keeper *k)
{
    int64_t now = k->options->now ? k->options->now() : (int64_t)time(NULL);
    return now + k->ahead_by;
}

int64_t fdl_keeper_now(struct fdl_keeper *k)
{
    fdl_lock(&k->lock);
    int64_t now = now_of(k);
    fdl_unlock(&k->lock);
    return now;
}

static int32_t ask(struct fdl_keeper *k, int64_t now)
{
    struct fdl_credentials made = {0};
    k->asked = now;
    int32_t status =
        k->options->anonymous ? FEEDLINE_OK : k->obtain(k->options, now, &made);
    if (status < 0)
        return status;
    fdl_credentials_free(&k->held);
    k->held = made;
    k->has = true;
    return FEEDLINE_OK;
}

/* What is held is valid when it returns 0. */
static int32_t refresh(struct fdl_keeper *k)
{
    int64_t now = now_of(k);
    int64_t left = k->held.expires - now;
    if (!k->has)
        return ask(k, now);
    if (k->held.expires == 0 || left > ADVISED_S)
        return FEEDLINE_OK;
    /* Some sources give what lasts a few minutes: not for each request. */
    if (left > 0 && now - k->asked < PAUSE_S && now >= k->asked)
        return FEEDLINE_OK;
    int32_t status = ask(k, now);
    return status < 0 && left > 0 ? FEEDLINE_OK : status;
}

int32_t fdl_keeper_take(struct fdl_keeper *k, struct fdl_credentials *out)
{
    fdl_lock(&k->lock);
    int32_t status = refresh(k);
    if (status == FEEDLINE_OK)
        status = fdl_credentials_copy(&k->held, out);
    fdl_unlock(&k->lock);
    return status;
}

static bool is_just_now(int64_t then, int64_t now)
{
    return then && now >= then && now - then < JUST_NOW_S;
}

bool fdl_keeper_renew(struct fdl_keeper *k)
{
    struct fdl_credentials before = {0};
    fdl_lock(&k->lock);
    int64_t now = now_of(k);
    if (!is_just_now(k->renewed, now)) {
        k->renewed = now;
        k->helped = fdl_credentials_copy(&k->held, &before) == FEEDLINE_OK &&
                    ask(k, now) == FEEDLINE_OK &&
                    !fdl_credentials_equal(&before, &k->held);
        fdl_credentials_free(&before);
    }
    bool helped = k->helped;
    fdl_unlock(&k->lock);
    return helped;
}

bool fdl_keeper_set_clock(struct fdl_keeper *k, const char *date)
{
    int64_t theirs;
    if (!fdl_date_parse_http(date, &theirs))
        return false;
    fdl_lock(&k->lock);
    int64_t wrong = theirs - now_of(k);
    bool differs = wrong > SKEW_S || wrong < -SKEW_S;
    if (differs) {
        k->ahead_by += wrong;
        fdl_keeper_note_change(k);
    }
    bool is_new = differs || (k->ahead_by && fdl_keeper_has_just_changed(k));
    fdl_unlock(&k->lock);
    return is_new;
}

int64_t fdl_keeper_ahead_by(struct fdl_keeper *k)
{
    fdl_lock(&k->lock);
    int64_t by = k->ahead_by;
    fdl_unlock(&k->lock);
    return by;
}

void fdl_keeper_note_change(struct fdl_keeper *k)
{
    k->changed = now_of(k);
}

bool fdl_keeper_has_just_changed(const struct fdl_keeper *k)
{
    return is_just_now(k->changed, now_of(k));
}

bool fdl_keeper_is_anonymous(struct fdl_keeper *k)
{
    const struct fdl_credentials none = {0};
    fdl_lock(&k->lock);
    bool is = fdl_credentials_equal(&k->held, &none);
    fdl_unlock(&k->lock);
    return is;
}

void fdl_keeper_redact(struct fdl_keeper *k, char *text)
{
    fdl_lock(&k->lock);
    fdl_credentials_redact(&k->held, text);
    fdl_unlock(&k->lock);
}
