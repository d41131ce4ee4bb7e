/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an answer that is an error says, and what to do about it. Messages are
 * shown with asterisks over credentials, for some servers repeat what they were
 * sent.
 */
#ifndef FDL_STORE_REFUSAL_H
#define FDL_STORE_REFUSAL_H

#include "store/credentials.h"
#include "store/request.h"

#include <stdint.h>

#define FDL_REFUSAL_CODE_BYTES    64
#define FDL_REFUSAL_MESSAGE_BYTES 320

struct fdl_refused {
    char code[FDL_REFUSAL_CODE_BYTES];       /* "NoSuchKey"; "" if none */
    char message[FDL_REFUSAL_MESSAGE_BYTES]; /* the server's; "" if none */
    char region[FDL_REFUSAL_CODE_BYTES];     /* where the bucket is; or "" */
};

/* Reads XML or JSON, and the headers that stores put it into. */
void fdl_refused_read(const struct fdl_answer *a, struct fdl_keeper *k,
                      struct fdl_refused *out);

/* Renews credentials and the clock, if that may be what was wrong. The error
 * line says what was, and *status is for when there is no patience left.
 * range: NULL: all of it. */
enum fdl_refusal fdl_refused_judge(const struct fdl_refused *r,
                                   const struct fdl_answer *a,
                                   struct fdl_keeper *k, const char *location,
                                   const char *range, int32_t *status);

#endif
