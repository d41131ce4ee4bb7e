/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share; see fuzz.h. */
#include "fuzz.h"

#include "base/option.h"
#include "base/status.h"
#include "decode/decoder.h"

#include <ftw.h>
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

/* ---- A folder ------------------------------------------------------------ */

static char *folder;

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *where)
{
    (void)st;
    (void)flag;
    (void)where;
    return remove(path);
}

static void remove_folder(void)
{
    (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

const char *fuzz_folder(void)
{
    const char *parent = getenv("TMPDIR");
    if (!folder) {
        fuzz_check(asprintf(&folder, "%s/feedline-fuzz-XXXXXX",
                            parent ? parent : "/tmp") > 0);
        fuzz_check(mkdtemp(folder));
        atexit(remove_folder);
    }
    return folder;
}

/* ---- Options ------------------------------------------------------------- */

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

/* ---- Images -------------------------------------------------------------- */

static struct fdl_box choose_part(struct fuzz_input *crop,
                                  const struct fdl_image_info *info)
{
    struct fdl_box box = {.width = info->width, .height = info->height};
    if (!crop)
        return box;
    box.x = (int32_t)fuzz_word(crop) % info->width;
    box.y = (int32_t)fuzz_word(crop) % info->height;
    box.width = 1 + (int32_t)fuzz_word(crop) % (info->width - box.x);
    box.height = 1 + (int32_t)fuzz_word(crop) % (info->height - box.y);
    return box;
}

static int32_t render_part(struct fdl_decoder *d,
                           const struct fdl_image_info *info,
                           struct fdl_box box, uint8_t *to)
{
    const struct fdl_output_format format = {box.width, box.height, 3,
                                             FEEDLINE_U8, true};
    struct fdl_render_cost cost;
    struct fdl_plan plan;
    fdl_plan_init(&plan, info->width, info->height);
    fdl_plan_crop(&plan, box);
    return fdl_decoder_render(d, &plan, &format, to, &cost);
}

uint8_t *fuzz_decode(const struct fdl_decode_limits *limits, const void *data,
                     size_t size, struct fuzz_input *crop, size_t *bytes)
{
    const struct fdl_encoded file = {
        .data = data, .size = size, .readable = size};
    struct fdl_image_info info;
    struct fdl_decoder *d;
    uint8_t *pixels = NULL;
    fuzz_check(fdl_decoder_create(limits, &d) == FEEDLINE_OK);
    int32_t status = fdl_decoder_open(d, &file, &info);
    if (status == FEEDLINE_OK) {
        fuzz_check((uint64_t)info.width * (uint64_t)info.height <=
                   limits->max_pixels);
        struct fdl_box box = choose_part(crop, &info);
        *bytes = 3 * (size_t)box.width * (size_t)box.height;
        pixels = malloc(*bytes);
        fuzz_check(pixels);
        status = render_part(d, &info, box, pixels);
    }
    if (status < 0) {
        fuzz_check_error(status);
        free(pixels);
        pixels = NULL;
    }
    fdl_decoder_destroy(d);
    return pixels;
}
