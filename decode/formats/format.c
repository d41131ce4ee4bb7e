/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File names lie (ImageNet has a PNG that is called .JPEG, downloads leave HTML
 * behind, full disks leave zeros), so the content decides which format a file
 * is. Names only decide what is listed.
 */
#include "decode/formats/format.h"

#include "base/compiler.h"
#include "base/status.h"
#include "decode/formats/sniff.h"

#include <stdio.h>
#include <string.h>

#define ROW(name) &fdl_format_##name,
const struct fdl_format *const fdl_formats[FDL_FORMAT_COUNT] = {
    FDL_FORMATS(ROW)};

/* torchvision lists these too. They are not decoded, but an error that names
 * the file is better than a data set that lacks it. */
static const struct fdl_ending foreign[] = {
    {".ppm", true}, {".bmp", true},  {".pgm", true},
    {".tif", true}, {".tiff", true}, {NULL, false},
};

/* ---- Names -------------------------------------------------------------- */

/* The endings of format i; those of no format follow the last one. */
static const struct fdl_ending *endings_of(size_t i)
{
    return i < FDL_FORMAT_COUNT ? fdl_formats[i]->endings : foreign;
}

const struct fdl_ending *fdl_format_ending(uint32_t index, bool *decoded)
{
    for (size_t i = 0; i <= FDL_FORMAT_COUNT; i++) {
        const struct fdl_ending *e = endings_of(i);
        for (; e->text; e++) {
            if (index-- > 0)
                continue;
            *decoded = i < FDL_FORMAT_COUNT && fdl_formats[i]->create;
            return e;
        }
    }
    return NULL;
}

/* strcasecmp asks the locale, and a Turkish one finds no 'i' in "TIF". */
static bool equal_lowered(const char *text, const char *lower)
{
    for (; *text && *lower; text++, lower++) {
        int c = *text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text;
        if (c != *lower)
            return false;
    }
    return *text == *lower;
}

bool fdl_format_lists(const char *file_name)
{
    const char *dot = strrchr(file_name, '.');
    for (size_t i = 0; dot && i <= FDL_FORMAT_COUNT; i++) {
        for (const struct fdl_ending *e = endings_of(i); e->text; e++) {
            if (e->listed && equal_lowered(dot, e->text))
                return true;
        }
    }
    return false;
}

/* ---- Content ------------------------------------------------------------ */

static bool is_decoded(const struct fdl_format *f)
{
    return f->matches && f->create;
}

/* "JPEG, PNG and WebP" */
static void write_decoded(char *buf, size_t size)
{
    size_t left = 0, at = 0;
    for (size_t i = 0; i < FDL_FORMAT_COUNT; i++)
        left += is_decoded(fdl_formats[i]);
    for (size_t i = 0; i < FDL_FORMAT_COUNT && at < size; i++) {
        if (!is_decoded(fdl_formats[i]))
            continue;
        left--;
        const char *behind = left > 1 ? ", " : left == 1 ? " and " : "";
        at += (size_t)snprintf(buf + at, size - at, "%s%s",
                               fdl_formats[i]->name, behind);
    }
}

static int32_t fail_foreign(const uint8_t *data, uint64_t size)
{
    char decoded[128];
    write_decoded(decoded, sizeof(decoded));
    return fdl_fail(FEEDLINE_EDECODE, "offset 0: this is %s; supported are %s",
                    fdl_sniff_name(data, size), decoded);
}

int32_t fdl_format_find(const uint8_t *data, uint64_t size,
                        const struct fdl_format **out)
{
    for (size_t i = 0; i < FDL_FORMAT_COUNT; i++) {
        const struct fdl_format *f = fdl_formats[i];
        if (!f->matches || !f->matches(data, size))
            continue;
        if (!f->create)
            return fdl_fail(FEEDLINE_EDECODE,
                            "offset 0: this is a %s image, and this feedline "
                            "was built without %s",
                            f->name, f->missing);
        *out = f;
        return FEEDLINE_OK;
    }
    return fail_foreign(data, size);
}
