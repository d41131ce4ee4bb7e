/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the file of a JPEG index, whose checksums are right.
 *
 *     1 byte     whether they are
 *     64 bytes   offsets of the records of 8 samples
 *     the rest   records
 *
 * What is found of a sample lies in the file, and what is known now is in the
 * file that the store leaves.
 */
#include "fuzz.h"
#include "loader/dataset/entry_store.h"
#include "loader/index/index_cache.h"

#define XXH_INLINE_ALL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SAMPLES     8u
#define FINGERPRINT UINT64_C(0xfeed)
#define MAGIC       UINT64_C(0xfeed11e17e0002)
#define HEAD_WORDS  3
#define TABLE_BYTES ((HEAD_WORDS + SAMPLES) * sizeof(uint64_t))

static char *path;

static void begin(void)
{
    setenv("FEEDLINE_CACHE_DIR", fuzz_folder(), 1);
    path = fdl_cache_path(FINGERPRINT, "jpeg");
    fuzz_check(path);
}

/* The sum that a record has in place of its capacity. */
static void mend_record(uint8_t *file, size_t size, uint64_t at)
{
    struct fdl_entries e;
    if (at % sizeof(uint64_t) != 0 || at < TABLE_BYTES || size < sizeof(e) ||
        at > size - sizeof(e))
        return;
    memcpy(&e, file + at, sizeof(e));
    uint64_t bytes = e.n * sizeof(uint64_t);
    if (bytes > size - at - sizeof(e))
        return;
    uint32_t sum = (uint32_t)XXH3_64bits_withSeed(file + at + sizeof(e), bytes,
                                                  e.hash + e.n);
    memcpy(file + at + offsetof(struct fdl_entries, capacity), &sum,
           sizeof(sum));
}

static void write_index(struct fuzz_input *in, bool mend)
{
    const uint64_t head[HEAD_WORDS] = {MAGIC, FINGERPRINT, SAMPLES};
    size_t offsets = FDL_MIN(in->size, SAMPLES * sizeof(uint64_t));
    size_t size = TABLE_BYTES + sizeof(uint64_t) + in->size - offsets;
    uint8_t *file = calloc(1, size);
    fuzz_check(file);
    memcpy(file, head, sizeof(head));
    if (in->size > 0) {
        memcpy(file + sizeof(head), in->data, offsets);
        memcpy(file + TABLE_BYTES + sizeof(uint64_t), in->data + offsets,
               in->size - offsets);
    }
    for (uint32_t i = 0; mend && i < SAMPLES; i++) {
        uint64_t at;
        memcpy(&at, file + sizeof(head) + i * sizeof(at), sizeof(at));
        mend_record(file, size, at);
    }
    uint64_t sum = XXH3_64bits(file, TABLE_BYTES);
    if (mend)
        memcpy(file + TABLE_BYTES, &sum, sizeof(sum));
    FILE *f = fopen(path, "wb");
    fuzz_check(f);
    fuzz_check(fwrite(file, 1, size, f) == size);
    fclose(f);
    free(file);
}

static struct fdl_entry_store *open_store(void)
{
    struct fdl_entry_store *s =
        fdl_entry_store_create(SAMPLES, 1 << 16, FINGERPRINT, true);
    fuzz_check(s);
    return s;
}

/* Adds up what is there: all of it is read. */
static uint64_t read_all(struct fdl_entry_store *s)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        const struct fdl_entries *e = fdl_entry_store_get(s, i);
        uint32_t n = e ? fdl_entries_count(e) : 0;
        fuzz_check(n <= FDL_ENTRIES_MOST);
        for (uint32_t k = 0; k < n; k++)
            sum += e->at[k] + e->hash;
    }
    return sum;
}

/* As a decode of sample 0 tells it, of other bytes than any before. */
static void learn(struct fdl_entry_store *s)
{
    static struct fdl_entry_notes notes;
    notes = (struct fdl_entry_notes){
        .valid = true, .hash = 77, .capacity = 2000, .n = 2, .at = {8, 16}};
    fdl_entry_store_put(s, 0, &notes);
    const struct fdl_entries *e = fdl_entry_store_get(s, 0);
    fuzz_check(e && e->hash == 77 && fdl_entries_count(e) == 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    if (!path)
        begin();
    bool mend = fuzz_byte(&in) % 4 != 0;
    write_index(&in, mend);
    struct fdl_entry_store *s = open_store();
    (void)read_all(s);
    learn(s);
    uint64_t known = read_all(s);
    fdl_entry_store_destroy(s);
    s = open_store();
    fuzz_check(!fdl_entry_store_is_old(s) || size > (1 << 18) ||
               read_all(s) == known);
    fdl_entry_store_destroy(s);
    return 0;
}
