/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program may show to a server, and where it comes from. Nothing of it
 * is in a message: what a server says goes through fdl_credentials_redact.
 *
 * A source is asked anew from 15 minutes before what it gave expires, once a
 * minute; until then a failure is of no consequence.
 */
#ifndef FDL_STORE_CREDENTIALS_H
#define FDL_STORE_CREDENTIALS_H

#include "base/lock.h"
#include "store/request.h"

#include <stdbool.h>
#include <stdint.h>

/* All of the heap, or NULL; all NULL: anonymous. */
struct fdl_credentials {
    char *id, *secret; /* of signatures */
    char *token;       /* beside them, or alone: a bearer's */
    char *query;       /* what is added to every address: a SAS */
    int64_t expires;   /* Unix time; 0: unknown */
};

void fdl_credentials_free(struct fdl_credentials *c);
int32_t fdl_credentials_copy(const struct fdl_credentials *c,
                             struct fdl_credentials *out);
bool fdl_credentials_equal(const struct fdl_credentials *a,
                           const struct fdl_credentials *b);

/* Puts asterisks over whatever of them is in a text. */
void fdl_credentials_redact(const struct fdl_credentials *c, char *text);

/* Adds "Authorization: Bearer TOKEN"; nothing if there is no token. */
int32_t fdl_credentials_bearer(const struct fdl_credentials *c,
                               struct fdl_request *r);

/* Makes credentials. now: of the server, as far as known. */
typedef int32_t fdl_obtain(const struct fdl_store_options *o, int64_t now,
                           struct fdl_credentials *out);

/* Those of one store, for many threads: they are made when they are first
 * asked for. */
struct fdl_keeper {
    struct fdl_lock lock;
    fdl_obtain *obtain;
    const struct fdl_store_options *options; /* of the store */
    struct fdl_credentials held;
    bool has;         /* held is filled */
    int64_t asked;    /* when that was last tried */
    int64_t renewed;  /* when a server last refused them; 0: never */
    bool helped;      /* there were others then */
    int64_t ahead_by; /* the server's clock, as far as known */
    int64_t changed;  /* when a server last said what it should be; 0: never */
};

void fdl_keeper_init(struct fdl_keeper *k, fdl_obtain *obtain,
                     const struct fdl_store_options *o);
void fdl_keeper_fini(struct fdl_keeper *k);

/* The time at the server. */
int64_t fdl_keeper_now(struct fdl_keeper *k);

/* A copy of what is valid now, for fdl_credentials_free. */
int32_t fdl_keeper_take(struct fdl_keeper *k, struct fdl_credentials *out);

/* The server refused what is held: makes others, unless that has just been
 * done, for many requests are refused at once. false: there are no others. */
bool fdl_keeper_renew(struct fdl_keeper *k);

/* The server's date, of an answer that may blame the clock. false: that is not
 * how the clocks differ. */
bool fdl_keeper_set_clock(struct fdl_keeper *k, const char *date);

/* By how many seconds the server's clock is ahead of this machine's; 0: it is
 * not, or nothing is known. */
int64_t fdl_keeper_ahead_by(struct fdl_keeper *k);

/* A server has said how requests are to be made, the time or the region; many
 * that were made before may still be refused for it. The lock is held. */
void fdl_keeper_note_change(struct fdl_keeper *k);
bool fdl_keeper_has_just_changed(const struct fdl_keeper *k);

/* Nothing is signed. */
bool fdl_keeper_is_anonymous(struct fdl_keeper *k);

/* Puts asterisks over what of those held is in a text. */
void fdl_keeper_redact(struct fdl_keeper *k, char *text);

/* The chains. */
fdl_obtain fdl_aws_credentials;
fdl_obtain fdl_google_credentials;
fdl_obtain fdl_azure_credentials;
fdl_obtain fdl_hub_credentials;

#endif
