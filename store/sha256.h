/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4), HMAC with it (RFC 2104), and its results as text.
 *
 * Our own, for a signature hashes less than a kilobyte, and there is no library
 * to ask: none of those that are linked has it, and the TLS library below
 * libcurl may be any.
 */
#ifndef FDL_STORE_SHA256_H
#define FDL_STORE_SHA256_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDL_SHA256_BYTES 32
#define FDL_SHA256_HEX   (2 * FDL_SHA256_BYTES + 1)

struct fdl_digest {
    unsigned char bytes[FDL_SHA256_BYTES];
};

void fdl_sha256(const void *data, size_t n, struct fdl_digest *out);

/* out may be the key. */
void fdl_hmac_sha256(const void *key, size_t key_bytes, const void *data,
                     size_t n, struct fdl_digest *out);

void fdl_digest_hex(const struct fdl_digest *d, char out[FDL_SHA256_HEX]);

/* RFC 4648, with padding. */
void fdl_base64_add(struct fdl_text *t, const void *data, size_t n);

/* false: not base64, or more than `capacity` bytes. */
FDL_NODISCARD bool fdl_base64_undo(const char *text, unsigned char *out,
                                   size_t capacity, size_t *n);

#endif
