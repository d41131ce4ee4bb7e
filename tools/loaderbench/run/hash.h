/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fingerprint of the stream: per sample in order of delivery its index,
 * label, status and pixels, and nothing of how it was cut into batches or of
 * when and by whom it was prepared. Equal hashes are equal streams.
 */
#ifndef LOADERBENCH_HASH_H
#define LOADERBENCH_HASH_H

#include <feedline/feedline.h>

struct stream_hash;

struct stream_hash *stream_hash_create(void); /* NULL without memory */
void stream_hash_destroy(struct stream_hash *h);
int32_t stream_hash_add(struct stream_hash *h, const feedline_batch *batch,
                        const struct feedline_batch_info *info);

/* "xxh3:" and 16 hexadecimal digits. */
#define STREAM_HASH_BYTES 24
void stream_hash_text(const struct stream_hash *h,
                      char text[STREAM_HASH_BYTES]);

#endif
