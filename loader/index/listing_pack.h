/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listing as bytes, for the index cache: 20 bytes a sample, its name,
 * and 16 bytes for each of its fields.
 */
#ifndef FDL_LOADER_LISTING_PACK_H
#define FDL_LOADER_LISTING_PACK_H

#include "loader/index/listing.h"

#include <stdbool.h>
#include <stddef.h>

/* *out for free(). ENOMEM. */
int32_t fdl_listing_pack(const struct fdl_listing *l, uint8_t **out,
                         uint64_t *bytes);

/* Fills an empty listing, whose fields are known, of a shard of `size` bytes;
 * what is odd in it refers to data. false, and *l stays empty: that is no such
 * listing, or there is no memory for it. */
bool fdl_listing_unpack(const uint8_t *data, uint64_t bytes, uint64_t size,
                        struct fdl_listing *l);

#endif
