/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a file of a chunk cache, and its ledger.
 *
 *     2 bytes    how large the object is
 *     1 byte     whether the head's checksum is made right; which ledger
 *     the rest   the file behind magic and identity; its end is the ledger, too
 *
 * Whatever is there, what comes back is the object's or nothing: no chunk was
 * ever written, so none is read.
 */
#include "base/crc32.h"
#include "fuzz.h"
#include "store/chunk_file.h"
#include "store/chunk_ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES 65536u

/* Of a file: magic, size, number, identity, checksum of these. Behind them sums
 * of chunks, which begin at a multiple of DATA_ALIGN. */
enum { SIZE_AT = 8, SUM_AT = 56, HEAD_BYTES = 64, DATA_ALIGN = 65536 };

static int folder = -1;
static struct fdl_chunk_key key;
static uint8_t head[HEAD_BYTES]; /* as the library writes it */

static void begin(void)
{
    struct fdl_chunk_file f;
    folder = open(fuzz_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fuzz_check(folder >= 0);
    fdl_chunk_key_make("https://h/b/a.tar", NULL, "tag", &key);
    fuzz_check(fdl_chunk_file_make(folder, &key, 4096, &f) == 0);
    fuzz_check(pread(f.fd, head, sizeof(head), 0) == sizeof(head));
    fdl_chunk_file_close(&f);
}

static void write_file(const char *path, const void *data, size_t size,
                       const uint8_t *first, size_t n)
{
    int fd =
        openat(folder, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_check(fd >= 0);
    fuzz_check(write(fd, first, n) == (ssize_t)n);
    fuzz_check(write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static void read_file(uint64_t bytes)
{
    struct fdl_chunk_file f;
    uint64_t n = fdl_chunks_of(bytes);
    if (fdl_chunk_file_open(folder, &key, false, &f))
        return;
    uint8_t *to = malloc(n * FDL_CHUNK_BYTES);
    fuzz_check(to);
    if (f.size == bytes) { /* else who asks has another object */
        (void)fdl_chunk_file_has(&f, 0, n);
        fuzz_check(fdl_chunk_file_read(&f, 0, n, to, true) != 0);
    }
    free(to);
    fdl_chunk_file_close(&f);
}

static void use_ledger(uint64_t budget)
{
    struct fdl_chunk_ledger l;
    uint64_t used = 0, taken = 0;
    if (fdl_chunk_ledger_open(folder, &l, &used))
        return;
    if (fdl_chunk_ledger_take(&l, budget, 4096, 3 * 4096, &taken) == 0)
        fuzz_check(taken == 0 || (taken >= 4096 && taken <= 3 * 4096));
    fdl_chunk_ledger_close(&l, taken);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    uint8_t own[HEAD_BYTES];
    if (folder < 0)
        begin();
    uint64_t bytes = 1 + fuzz_word(&in);
    uint8_t how = fuzz_byte(&in);
    memcpy(own, head, sizeof(own));
    if (how & 1) {
        for (int i = SIZE_AT; i < SIZE_AT + 8; i++)
            own[i] = fuzz_byte(&in);
    } else {
        memcpy(own + SIZE_AT, &bytes, sizeof(bytes));
    }
    uint64_t sum = fdl_crc32c(0, own, SUM_AT);
    if (!(how & 2))
        memcpy(own + SUM_AT, &sum, sizeof(sum));
    static uint8_t first[DATA_ALIGN]; /* no sums, or those of the input */
    memcpy(first, own, sizeof(own));
    write_file("ledger", in.data, FDL_MIN(in.size, 32), NULL, 0);
    write_file(key.path, in.data, in.size, first,
               how & 4 ? DATA_ALIGN : HEAD_BYTES);
    read_file(FDL_MIN(bytes, MOST_BYTES));
    use_ledger(bytes);
    return 0;
}
