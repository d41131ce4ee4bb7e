/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pixels of images that samples have again and again, by the number that the
 * program gave them (feedline/recorded.h). What was not used for longest goes
 * when there is no room. Any thread.
 */
#ifndef FDL_LOADER_PIXEL_STORE_H
#define FDL_LOADER_PIXEL_STORE_H

#include <stdint.h>

struct fdl_pixel_store;
struct fdl_stored_pixels;

/* most: bytes, of all pixels. ENOMEM. */
int32_t fdl_pixel_store_create(uint64_t most, struct fdl_pixel_store **out);
void fdl_pixel_store_destroy(struct fdl_pixel_store *s);

/* The pixels with that number, if there are so many bytes of them, until they
 * are given back; NULL: there are none. Nobody writes to them. */
struct fdl_stored_pixels *fdl_pixel_store_take(struct fdl_pixel_store *s,
                                               uint64_t number, uint64_t bytes);
uint8_t *fdl_stored_pixels(const struct fdl_stored_pixels *pixels);
void fdl_pixel_store_give_back(struct fdl_pixel_store *s,
                               struct fdl_stored_pixels *pixels);

/* Memory for pixels that are to be kept; NULL: they are more than a quarter of
 * the store, or there is none. */
struct fdl_stored_pixels *fdl_pixel_store_begin(struct fdl_pixel_store *s,
                                                uint64_t number,
                                                uint64_t bytes);

/* They are made now: others may have them, unless there are some of that number
 * already. Or they are not. Either way they are given back as well. */
void fdl_pixel_store_add(struct fdl_pixel_store *s,
                         struct fdl_stored_pixels *pixels);

/* Bytes of the memory of all that is kept now. s: may be NULL. */
uint64_t fdl_pixel_store_bytes(struct fdl_pixel_store *s);

#endif
