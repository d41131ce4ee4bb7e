/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaderbench pack: any data set to WebDataset shards.
 *
 * What goes where is settled before anything is written (pack_plan.c) and kept
 * beside the shards, so that a run that was killed goes on as it would have.
 * Shards of files as they are are written by threads, one each at a time
 * (pack_write.c); images that change go through a loader, whose workers encode
 * them (pack_images.c), into one shard after the other.
 */
#ifndef LOADERBENCH_PACK_H
#define LOADERBENCH_PACK_H

#include "tools/loaderbench/pack/pack_encode.h"
#include "tools/loaderbench/pack/shard_writer.h"

#include <feedline/files.h>

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pack_options {
    const char *name, *order, *format, *store, *quarantine, *json;
    uint64_t shard_size, longest_side, quality, sample, training_size;
    bool dry_run, unpack, quiet, progress;
};

struct pack_shard {
    uint64_t first, count; /* places in the order */
    uint64_t left;         /* of them left out */
    bool done;
};

/* What a trial on some samples shows. */
struct pack_trial {
    uint64_t samples, failed;
    double bytes_before, bytes_after; /* in all */
    double decode_us_before, decode_us_after;
    double difference, psnr, worst_psnr; /* NAN: none; INFINITY: the same */
    double seconds;                      /* to make them */
};

struct pack {
    const struct pack_options *options;
    const char *uri, *folder;
    feedline_config *config;
    feedline_dataset *data;
    uint64_t n, source_bytes, fingerprint;
    uint64_t *bytes; /* [n] of each sample */
    uint8_t *copies; /* [n] to tell the key from that of others */
    uint64_t *order; /* [n] places to samples */

    bool skip;      /* samples that cannot be had are left out */
    bool in_memory; /* raw pixels: there are no encoded bytes */
    struct pack_recipe recipe;

    double ratio; /* bytes of a packed sample by those of its source */
    struct pack_trial trial;
    struct pack_shard *shards;
    uint64_t n_shards, done_before;

    double seconds;
    uint64_t left_out, samples_written, bytes_written, shards_written;
    _Atomic uint64_t packed, stayed; /* images, where they are packed */
    json_t *failures;
    int lock;
};

/* ---- pack_source.c: the samples ------------------------------------------ */

/* Sizes, keys and the fingerprint. An exit status. */
int pack_source_read(struct pack *p);

/* What sample i is called in its shard, "n01440764/10026", and how its name
 * ends, "JPEG", or "" if not as an image. NULL: no memory; free() it. */
#define PACK_EXTENSION_BYTES 16
char *pack_key(const struct pack *p, uint64_t i,
               char extension[PACK_EXTENSION_BYTES]);

int64_t pack_label(const struct pack *p, uint64_t i);

/* Its encoded bytes, for free(), after their checksums were compared. A status;
 * *why, until the library is called again: what is wrong. */
int32_t pack_read(const struct pack *p, uint64_t i, uint8_t **data,
                  uint64_t *bytes, const char **why);

/* Bytes of a file, for free(). 0 or an errno; ENODATA: it ends before, ESPIPE:
 * no regular file. */
int pack_read_part(const char *file, uint64_t offset, uint64_t bytes,
                   uint8_t **data);

/* What the fields of a sample take in a shard; adds them. */
uint64_t pack_field_bytes(const struct pack *p, uint64_t i);
int pack_add_fields(const struct pack *p, struct shard_writer *w,
                    const char *key, uint64_t i);

/* ---- pack_plan.c: order and shards --------------------------------------- */

/* "given", "random", "random:7". An exit status. */
int pack_order(struct pack *p);

/* Which samples each shard has, given p->ratio. */
int pack_shards(struct pack *p);

/* What must be the same when a run goes on. NULL: no memory. */
json_t *pack_terms(const struct pack *p);

/* Takes the folder for this run alone; what an earlier run planned there, if
 * it is the same, sets the ratio. *known: there was one. */
int pack_folder_take(struct pack *p, bool *known);

/* Keeps the plan; looks which shards are there. */
int pack_plan_keep(struct pack *p, bool known);

/* ---- Writing ------------------------------------------------------------- */

/* Samples of one shard that were left out, a line each as in a quarantine. */
struct pack_left {
    char *text;
    size_t bytes;
    FILE *file;
    uint64_t n;
};

/* Sample i cannot be had: an exit status; TOOL_DONE: it is left out. */
int pack_leave_out(const struct pack *p, struct pack_left *left, uint64_t i,
                   const char *why);

/* Puts the shard and what was left out of it under their names. */
int pack_shard_end(struct pack *p, struct shard_writer *w,
                   struct pack_left *left, uint64_t number);
void pack_left_drop(struct pack_left *left);

/* All shards that are not done: of files, by threads; of images. */
int pack_write_files(struct pack *p);
int pack_write_images(struct pack *p);

/* Reads back what was left out, into p->failures and the quarantine. */
int pack_collect(struct pack *p);

/* All shards are there: lists them in "FOLDER/NAME.json", as wids does, and
 * opens them. */
int pack_index(struct pack *p);

/* ---- pack_unpack.c: packed coefficients ---------------------------------- */

bool pack_is_packed(const uint8_t *data, uint64_t bytes);

/* Packs what was read or made, if the recipe says so and it can be. ENOMEM. */
int32_t pack_store(struct pack *p, uint8_t **data, uint64_t *bytes);

/* All samples as files in the folder; results are told here. */
int pack_unpack(struct pack *p);

/* ---- Trial and results --------------------------------------------------- */

/* Makes samples and compares them; fills p->trial and p->ratio. */
int pack_try(struct pack *p);

/* A sample as it will be stored. */
struct pack_made {
    uint8_t *data; /* NULL: it failed */
    uint64_t bytes;
    const char *extension; /* of what it holds */
    bool kept;             /* the bytes are those of the source */
};

/* An exit status; `place` is that in the order, `why` is NULL or says what
 * failed. data may be taken over, by setting it to NULL. */
typedef int pack_take(void *to, uint64_t place, struct pack_made *made,
                      const char *why);

/* Makes the samples at `order`, and hands them to `take` in that order. */
int pack_make_images(struct pack *p, const uint64_t *order, uint64_t n,
                     pack_take *take, void *to);

json_t *pack_document(const struct pack *p);

/* What is known before anything is written, and what was. */
void pack_print_before(const json_t *doc);
void pack_print_after(const json_t *doc);

#endif
