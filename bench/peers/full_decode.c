/* SPDX-License-Identifier: Apache-2.0 */
/*
 * full_decode: how fast libjpeg-turbo alone turns JPEGs into RGB.
 *
 *     printf 'a.jpg\0b.jpg' | full_decode WORKERS EPOCHS
 *
 * All files are read first. Workers take the next image by counting up one
 * number, decode it whole with the library's default settings into a buffer of
 * their own, and forget it. One epoch warms up; EPOCHS are on the clock.
 * Prints one line of JSON for peer_full_decode.py.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* After stdio: it uses FILE and size_t without declaring them. */
#include <jpeglib.h>

struct file {
    unsigned char *data;
    size_t n_bytes;
};

struct work {
    const struct file *files;
    size_t n_files;
    size_t n_images; /* to decode in all */
    atomic_size_t next;
};

static void die(const char *what)
{
    fprintf(stderr, "full_decode: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void *grow(void *memory, size_t n_bytes)
{
    memory = realloc(memory, n_bytes);
    if (memory == NULL)
        die("memory");
    return memory;
}

static struct file read_file(const char *path)
{
    struct file file = {NULL, 0};
    FILE *f = fopen(path, "rb");
    size_t n;

    if (f == NULL)
        die(path);
    do {
        file.data = grow(file.data, file.n_bytes + (1u << 16));
        n = fread(file.data + file.n_bytes, 1, 1u << 16, f);
        file.n_bytes += n;
    } while (n > 0);
    if (ferror(f))
        die(path);
    fclose(f);
    return file;
}

/* Paths on standard input, each but the last ended by a NUL. */
static struct file *read_files(size_t *n_files)
{
    struct file *files = NULL;
    char *path = NULL;
    size_t room = 0;

    *n_files = 0;
    while (getdelim(&path, &room, '\0', stdin) > 0) {
        files = grow(files, (*n_files + 1) * sizeof(*files));
        files[(*n_files)++] = read_file(path);
    }
    free(path);
    if (*n_files == 0) {
        errno = ENOENT;
        die("standard input names no file");
    }
    return files;
}

static void decode(struct jpeg_decompress_struct *jpeg, const struct file *file,
                   unsigned char **pixels, size_t *room)
{
    size_t row_bytes;

    jpeg_mem_src(jpeg, file->data, (unsigned long)file->n_bytes);
    jpeg_read_header(jpeg, TRUE);
    if (jpeg->num_components < 4) /* CMYK has no way to RGB in the library */
        jpeg->out_color_space = JCS_RGB;
    jpeg_start_decompress(jpeg);
    row_bytes = (size_t)jpeg->output_width * (size_t)jpeg->output_components;
    if (row_bytes * jpeg->output_height > *room) {
        *room = row_bytes * jpeg->output_height;
        *pixels = grow(*pixels, *room);
    }
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW rows[8];
        JDIMENSION n = jpeg->output_height - jpeg->output_scanline;

        if (n > 8)
            n = 8;
        for (JDIMENSION i = 0; i < n; i++)
            rows[i] = *pixels + row_bytes * (jpeg->output_scanline + i);
        jpeg_read_scanlines(jpeg, rows, n);
    }
    jpeg_finish_decompress(jpeg);
}

static void *work_until_done(void *argument)
{
    struct work *work = argument;
    struct jpeg_error_mgr error; /* ends the program with libjpeg's words */
    struct jpeg_decompress_struct jpeg;
    unsigned char *pixels = NULL;
    size_t room = 0;
    size_t i;

    jpeg.err = jpeg_std_error(&error);
    jpeg_create_decompress(&jpeg);
    while ((i = atomic_fetch_add_explicit(
                &work->next, 1, memory_order_relaxed)) < work->n_images)
        decode(&jpeg, &work->files[i % work->n_files], &pixels, &room);
    jpeg_destroy_decompress(&jpeg);
    free(pixels);
    return NULL;
}

static void decode_all(struct work *work, size_t n_workers, size_t n_epochs)
{
    pthread_t *threads = grow(NULL, n_workers * sizeof(*threads));

    work->n_images = work->n_files * n_epochs;
    atomic_store(&work->next, 0);
    for (size_t i = 0; i < n_workers; i++) {
        errno = pthread_create(&threads[i], NULL, work_until_done, work);
        if (errno != 0)
            die("thread");
    }
    for (size_t i = 0; i < n_workers; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t parse_count(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*end != '\0' || n == 0 || n > 1000000) {
        errno = EINVAL;
        die(text);
    }
    return n;
}

int main(int argc, char **argv)
{
    struct work work = {NULL, 0, 0, 0};
    struct file *files;
    double wall, cpu;
    size_t n_workers, n_epochs;

    if (argc != 3) {
        fprintf(stderr, "usage: full_decode WORKERS EPOCHS < PATHS\n");
        return 2;
    }
    n_workers = parse_count(argv[1]);
    n_epochs = parse_count(argv[2]);
    files = read_files(&work.n_files);
    work.files = files;
    decode_all(&work, n_workers, 1);
    wall = seconds_of(CLOCK_MONOTONIC);
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    decode_all(&work, n_workers, n_epochs);
    wall = seconds_of(CLOCK_MONOTONIC) - wall;
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("{\"images\": %zu, \"seconds\": %.9f, \"cpu_seconds\": %.9f, "
           "\"versions\": {\"libjpeg-turbo\": \"%d.%d.%d\"}}\n",
           work.n_images, wall, cpu, LIBJPEG_TURBO_VERSION_NUMBER / 1000000,
           LIBJPEG_TURBO_VERSION_NUMBER / 1000 % 1000,
           LIBJPEG_TURBO_VERSION_NUMBER % 1000);
    for (size_t i = 0; i < work.n_files; i++)
        free(files[i].data);
    free(files);
    return 0;
}
