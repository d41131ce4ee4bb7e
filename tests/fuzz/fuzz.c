/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share; see fuzz.h. */
#include "fuzz.h"

#include "base/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: does not hold: %s\nthe last error was: %s\n", file,
            line, condition, fdl_last_error());
    abort();
}

void fuzz_check_error(int32_t status)
{
    const char *text = fdl_last_error();
    fuzz_check(status < 0 && status >= FEEDLINE_EABI);
    fuzz_check(text[0] != '\0' && strlen(text) < FDL_ERROR_BYTES);
    for (; *text; text++)
        fuzz_check((unsigned char)*text >= 0x20);
}

uint8_t fuzz_byte(struct fuzz_input *in)
{
    if (in->size == 0)
        return 0;
    in->size--;
    return *in->data++;
}

uint32_t fuzz_word(struct fuzz_input *in)
{
    uint32_t low = fuzz_byte(in);
    return low | (uint32_t)fuzz_byte(in) << 8;
}

char *fuzz_text(struct fuzz_input *in, size_t n)
{
    n = FDL_MIN(n, in->size);
    char *text = strndup((const char *)in->data, n);
    fuzz_check(text);
    in->data += n;
    in->size -= n;
    return text;
}

int fuzz_file(const void *bytes, size_t n, char path[FUZZ_PATH_BYTES])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    fuzz_check(fd >= 0);
    fuzz_check(write(fd, bytes, n) == (ssize_t)n);
    snprintf(path, FUZZ_PATH_BYTES, "/proc/self/fd/%d", fd);
    return fd;
}

static void options_json(const struct fdl_options *o, struct fdl_json *j)
{
    fdl_json_begin_object(j, NULL);
    fdl_options_json(o, j);
    fdl_json_end_object(j);
}

char *fuzz_options_json(const struct fdl_options *o)
{
    struct fdl_json j;
    uint64_t needed, again;
    fdl_json_init(&j, NULL, 0);
    options_json(o, &j);
    fuzz_check(fdl_json_finish(&j, &needed) == FEEDLINE_OK);
    char *text = malloc(needed);
    fuzz_check(text);
    fdl_json_init(&j, text, needed);
    options_json(o, &j);
    fuzz_check(fdl_json_finish(&j, &again) == FEEDLINE_OK && again == needed);
    return text;
}
