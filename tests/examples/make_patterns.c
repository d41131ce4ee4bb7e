/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_patterns FOLDER N: N JPEG files of each of four classes that a network
 * can tell apart by shape alone: stripes across, stripes down, checks, and one
 * colour. Their two colours, sizes, widths and phases are drawn, and are a
 * function of class and number. No class becomes another one in a mirror.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* libjpeg's header takes FILE and size_t as given. */
#include <jpeglib.h>

static const char *const classes[] = {"across", "checks", "down", "plain"};
enum { ACROSS, CHECKS, DOWN, PLAIN, N_CLASSES };

#define SIDE_MAX 80u

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

/* Which of the two colours. */
static int is_set(int kind, uint32_t x, uint32_t y, uint32_t width)
{
    uint32_t column = x / width % 2, row = y / width % 2;
    switch (kind) {
    case ACROSS:
        return row != 0;
    case DOWN:
        return column != 0;
    case CHECKS:
        return (row ^ column) != 0;
    default:
        return 0;
    }
}

static void write_jpeg(FILE *file, int kind, uint64_t state)
{
    struct jpeg_error_mgr errors; /* what goes wrong ends the program */
    struct jpeg_compress_struct c = {.err = jpeg_std_error(&errors)};
    uint32_t side = 48 + draw(&state, SIDE_MAX - 48 + 1);
    uint32_t width = 4 + draw(&state, 6), phase = draw(&state, 16);
    JSAMPLE row[SIDE_MAX * 3], colours[2][3];
    for (int k = 0; k < 3; k++) {
        colours[0][k] = (JSAMPLE)draw(&state, 256);
        /* Far from the other. */
        colours[1][k] = (JSAMPLE)(colours[0][k] + 96 + draw(&state, 64));
    }
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, file);
    c.image_width = c.image_height = side;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    jpeg_start_compress(&c, TRUE);
    for (uint32_t y = 0; y < side; y++) {
        for (uint32_t x = 0; x < side * 3; x++)
            row[x] =
                colours[is_set(kind, x / 3 + phase, y + phase, width)][x % 3];
        JSAMPROW rows[] = {row};
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
}

int main(int argc, char **argv)
{
    uint32_t n = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    if (n == 0) {
        fprintf(stderr, "usage: make_patterns FOLDER N\n");
        return 2;
    }
    char path[4096];
    mkdir(argv[1], 0777);
    for (int kind = 0; kind < N_CLASSES; kind++) {
        snprintf(path, sizeof(path), "%s/%s", argv[1], classes[kind]);
        mkdir(path, 0777);
        for (uint32_t i = 0; i < n; i++) {
            snprintf(path, sizeof(path), "%s/%s/%04" PRIu32 ".jpg", argv[1],
                     classes[kind], i);
            FILE *file = fopen(path, "wb");
            if (!file) {
                perror(path);
                return 1;
            }
            write_jpeg(file, kind, (uint64_t)kind << 32 | i);
            if (fclose(file) != 0) {
                perror(path);
                return 1;
            }
        }
    }
    return 0;
}
