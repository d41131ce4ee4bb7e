/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: an index cache whose checksum is right. What is found in it was
 * asked for, and no sample of a listing lies outside its shard.
 */
#include "fuzz.h"
#include "loader/index/index_cache.h"
#include "loader/index/listing_pack.h"

#define XXH_INLINE_ALL
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static char path[256];

/* Once: an empty cache, whose beginning all others have. */
static size_t begin(uint8_t *head, size_t capacity)
{
    struct fdl_cache c;
    setenv("FEEDLINE_CACHE_DIR", fuzz_folder(), 1);
    fdl_cache_open(&c, "fuzz", "/fuzz");
    snprintf(path, sizeof(path), "%s", c.path);
    struct fdl_cache_writer *w = fdl_cache_begin(&c);
    fuzz_check(w);
    fdl_cache_end(w);
    fdl_cache_close(&c);
    FILE *f = fopen(path, "rb");
    fuzz_check(f);
    size_t n = fread(head, 1, capacity, f);
    fclose(f);
    fuzz_check(n > 8 && n < capacity);
    return n - 8; /* the checksum */
}

static void write_cache(const uint8_t *data, size_t size)
{
    static uint8_t head[256];
    static size_t n;
    if (n == 0)
        n = begin(head, sizeof(head));
    XXH64_state_t hash;
    XXH64_reset(&hash, 0);
    XXH64_update(&hash, head, n);
    XXH64_update(&hash, data, size);
    uint64_t sum = XXH64_digest(&hash);
    FILE *f = fopen(path, "wb");
    fuzz_check(f);
    fuzz_check(fwrite(head, 1, n, f) == n);
    fuzz_check(fwrite(data, 1, size, f) == size);
    fuzz_check(fwrite(&sum, 1, sizeof(sum), f) == sizeof(sum));
    fclose(f);
}

static void check_cells(const struct fdl_listing *l, uint64_t size)
{
    uint64_t n = l->fields ? l->count * l->fields->n : 0;
    for (uint64_t i = 0; i < n; i++) {
        const struct fdl_cell *c = &l->cells[i];
        int32_t kind = l->kinds[i % l->fields->n];
        if (c->file == FDL_NO_FILE || fdl_field_is_number(kind))
            continue;
        fuzz_check(c->word <= size && c->length <= size - c->word);
    }
}

static void check_listing(const uint8_t *data, uint64_t bytes, uint64_t size,
                          const struct fdl_field_set *fields)
{
    struct fdl_listing l = {.fields = fields};
    if (!fdl_listing_unpack(data, bytes, size, &l)) {
        fuzz_check(!l.samples && l.count == 0);
        return;
    }
    for (uint64_t i = 0; i < l.count; i++) {
        const struct fdl_listed *s = &l.samples[i];
        fuzz_check(s->offset <= size && s->length <= size - s->offset);
        (void)strlen(l.names.text + s->name_at);
        if (l.labels == FDL_LABEL_CLASS && l.labelled == l.count)
            (void)strlen(
                fdl_string_list_at(&l.classes.names, (uint64_t)s->label));
    }
    check_cells(&l, size);
    fdl_listing_free(&l);
}

/* data: the entries. The first one's path and stamp are asked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fdl_cache c;
    struct fdl_stamp stamp;
    uint64_t bytes;
    static struct fdl_field_set two;
    if (two.n == 0)
        fuzz_check(fdl_field_set_parse(&two, "a,b") == FEEDLINE_OK);
    const size_t stamp_at = 16, path_at = stamp_at + sizeof(stamp);
    write_cache(data, size);
    fdl_cache_open(&c, "fuzz", "/fuzz");
    if (c.n > 0) {
        fuzz_check(size > path_at);
        memcpy(&stamp, data + stamp_at, sizeof(stamp));
        const char *name = (const char *)data + path_at;
        const uint8_t *found = fdl_cache_find(&c, name, &stamp, &bytes);
        if (found) {
            fuzz_check(bytes <= size);
            check_listing(found, bytes, stamp.size, NULL);
            check_listing(found, bytes, stamp.size, &two);
        }
    }
    fdl_cache_close(&c);
    return 0;
}
