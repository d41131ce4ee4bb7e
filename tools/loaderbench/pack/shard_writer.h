/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One WebDataset shard: a tar file that appears under its name whole or not at
 * all, and before it the index that NVIDIA's DALI takes beside it. The same
 * samples give the same bytes: nothing in it tells when, where or by whom it
 * was written. One thread at a time; threads have one each.
 */
#ifndef LOADERBENCH_SHARD_WRITER_H
#define LOADERBENCH_SHARD_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Of "FOLDER/NAME-000000.tar". */
#define SHARD_PATH_BYTES 4096

struct shard_writer {
    char path[SHARD_PATH_BYTES], temporary[SHARD_PATH_BYTES];
    int folder, fd; /* folder: open until the end, to be made durable */
    uint8_t *buffer;
    uint64_t used, bytes;  /* of the buffer; of the file */
    bool failed;           /* it was said why */
    FILE *rows;            /* of the index, a line for each sample */
    char *rows_text, *key; /* what was written to it; the last sample's */
    size_t rows_bytes;
    uint64_t samples;
};

/* "FOLDER/NAME-000007.tar" for 7. false: too long. */
bool shard_path(const char *folder, const char *name, uint64_t number,
                char out[SHARD_PATH_BYTES]);

/* These say what failed, and return an exit status. After a failure of begin
 * there is nothing to end; a shard that was begun is either ended or dropped,
 * which leaves nothing behind. */
int shard_begin(struct shard_writer *w, const char *folder, const char *name,
                uint64_t number);

/* key: "n01440764/10026", extension: "jpg". More parts of the same sample may
 * follow it. */
int shard_add_part(struct shard_writer *w, const char *key,
                   const char *extension, const void *data, uint64_t bytes);
int shard_add(struct shard_writer *w, const char *key, const char *extension,
              int64_t label, const void *data, uint64_t bytes);
int shard_end(struct shard_writer *w);
void shard_drop(struct shard_writer *w);

/* A small file of the folder, whole or not at all like a shard. */
int shard_text(const char *folder, const char *file, const char *text,
               uint64_t bytes);

/* What a sample takes in a shard, if its name is short. */
uint64_t shard_sample_bytes(uint64_t bytes);
uint64_t shard_part_bytes(uint64_t bytes);

/* The classes in label order, for whoever opens the shards of the folder:
 * "FOLDER/classnames.txt", a line each. name(of, i): NULL past the end. */
int shard_class_names(const char *folder,
                      const char *(*name)(const void *of, uint32_t i),
                      const void *of);

#endif
