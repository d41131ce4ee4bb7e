/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a live page that another process might have written, as this
 * one's own.
 *
 *     1 byte     the loader that is asked for, and whether it is the page's
 *     32 bytes   what every version's header begins with; mostly made right
 *     the rest   sizes, counters, statistics; and a command line
 *
 * What is read of it is fit for a terminal: texts end and have no control
 * characters, numbers are finite.
 */
#include "fuzz.h"
#include "loader/watch/live_page.h"
#include "loader/watch/live_reader.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_text(const char *text, size_t capacity)
{
    size_t n = strnlen(text, capacity);
    fuzz_check(n < capacity);
    for (size_t i = 0; i < n; i++)
        fuzz_check((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
}
#define CHECK_TEXT(member) check_text(member, sizeof(member))

static void check_stats(const struct feedline_live_stats *s)
{
    fuzz_check(s->pid == getpid());
    fuzz_check(isfinite(s->cpu_quota) && isfinite(s->verdict.confidence) &&
               isfinite(s->tuner.stall) && isfinite(s->gpu_temperature));
    fuzz_check(s->n_decisions <= FEEDLINE_LIVE_DECISIONS);
    for (uint32_t i = 0; i < FEEDLINE_LIVE_DECISIONS; i++)
        CHECK_TEXT(s->decisions[i]);
    CHECK_TEXT(s->verdict.code);
    CHECK_TEXT(s->verdict.sentence);
    CHECK_TEXT(s->verdict.action);
    CHECK_TEXT(s->tuner.mode);
    CHECK_TEXT(s->gpu_throttle);
    CHECK_TEXT(s->placement);
    CHECK_TEXT(s->watched);
}

static void read_page(uint32_t loader)
{
    struct feedline_live *live;
    struct feedline_live_stats stats;
    int32_t status = fdl_live_attach(getpid(), loader, &live);
    if (status < 0) {
        fuzz_check_error(status);
        return;
    }
    status = fdl_live_read(live, &stats);
    if (status < 0)
        fuzz_check_error(status);
    else
        check_stats(&stats);
    fdl_live_detach(live);
}

/* As its writer makes one: of the name, owned, and sealed. */
static int open_page(const uint8_t *data, size_t size, bool right)
{
    int fd = memfd_create(FDL_LIVE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    fuzz_check(fd >= 0);
    fuzz_check(write(fd, data, size) == (ssize_t)size);
    if (right) {
        const uint64_t magic = FDL_LIVE_MAGIC;
        const uint32_t words[] = {FDL_LIVE_VERSION, (uint32_t)getpid()};
        fuzz_check(pwrite(fd, &magic, sizeof(magic), 0) == sizeof(magic));
        fuzz_check(pwrite(fd, words, sizeof(words), sizeof(magic)) ==
                   sizeof(words));
    }
    fuzz_check(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    char command[64];
    uint8_t how = fuzz_byte(&in);
    int fd = open_page(in.data, in.size, how % 8 != 0);
    read_page(how / 8 % 4);
    fdl_live_command((const char *)in.data, in.size, command);
    CHECK_TEXT(command);
    close(fd);
    return 0;
}
