/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to services that give credentials. What they answer is never shown,
 * whatever it is: only the status of HTTP.
 */
#ifndef FDL_STORE_ASK_H
#define FDL_STORE_ASK_H

#include "store/answer_fields.h"
#include "store/credentials.h"
#include "store/request.h"

#include <stdint.h>

/* Takes a url of the heap (NULL: ENOMEM), which it wipes with the request. */
int32_t fdl_ask_begin(struct fdl_request *r, const char *method, char *url,
                      uint32_t timeout_ms);

/* Sends it; out->status is the server's, and 0 where there was no answer. what:
 * who is asked, for the message. Below 0: it did not succeed. */
int32_t fdl_ask(const struct fdl_store_options *o, const struct fdl_request *r,
                const char *what, struct fdl_answer *out);

/* Sends, reads, and wipes the request. */
int32_t fdl_ask_json(const struct fdl_store_options *o, struct fdl_request *r,
                     const char *what, struct fdl_field *fields, uint32_t n);

/* The same for a bearer's token: {"access_token", "expires_in"}. */
int32_t fdl_ask_token(const struct fdl_store_options *o, int64_t now,
                      struct fdl_request *r, const char *what,
                      struct fdl_credentials *out);

#endif
