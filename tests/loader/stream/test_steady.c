/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the steady state nothing is allocated: not by us, and not by libjpeg and
 * libpng for us. The binary's malloc stands in front of everybody's and counts.
 */
#include "base/compiler.h"
#include "tests/decode/make_png.h"
#include "tests/loader/fixture.h"

#include <feedline/order.h>

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>

#define N 40

/* glibc's own, behind the names that this file takes. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static _Atomic bool counting;
static _Atomic uint32_t allocations;

/* It reads /proc once a second, whatever the loader does. */
static bool is_watcher(void)
{
    char name[16] = "";
    return prctl(PR_GET_NAME, name) == 0 && strcmp(name, "feedline-watch") == 0;
}

static void count(void)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed) && !is_watcher())
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *malloc(size_t n)
{
    count();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    count();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    count();
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    count();
    return __libc_memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
    count();
    void *p = __libc_memalign(align, n);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

/* Every third file becomes a PNG, which its name does not say: all kinds of
 * rows, and whole images of interlaced ones. */
static void add_pngs(const struct fixture *images)
{
    static const struct make_png kinds[] = {
        {.depth = 8, .colour = 2},
        {.depth = 4, .colour = 3},
        {.depth = 16, .colour = 0},
        {.depth = 8, .colour = 6},
        {.depth = 8, .colour = 3, .interlaced = true},
    };
    for (uint32_t i = 0; i < images->n; i += 3) {
        struct make_png m = kinds[i / 3 % FDL_COUNT_OF(kinds)];
        m.width = 30 + i % 5;
        m.height = 30;
        size_t size;
        uint8_t *file = make_png(&m, &size);
        char path[256];
        fixture_path(images, i, path, sizeof(path));
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(file, 1, size, f), size);
        assert_int_equal(fclose(f), 0);
        free(file);
    }
}

/* Crops that do not change with the epoch, so that the first one shows the
 * largest of everything. */
static feedline_loader *eval_loader(feedline_dataset *ds, const char *reader,
                                    bool given)
{
    return fixture_with(
        ds, NULL, "resize size=32;center_crop width=24 height=24;normalize",
        "reader=%s order=%s held=%s workers=1 tuner=off batch_size=8", reader,
        given ? "given" : "own", given ? "grow" : "refuse");
}

/* Epochs in an order of the program's, with as many batches ahead as can be. */
static void give_epochs(feedline_loader *l, uint32_t epochs)
{
    uint64_t indices[8], hash = 0;
    for (uint32_t epoch = 0; epoch < epochs; epoch++) {
        feedline_batch *b;
        assert_ok(feedline_loader_begin(l, epoch, epoch, 0));
        for (uint64_t i = 0; i < 9; i++) {
            for (uint64_t k = 0; k < 8; k++)
                indices[k] = (i * 8 + k) % N;
            assert_ok(feedline_loader_append(l, indices, NULL, 8));
        }
        assert_ok(feedline_loader_end(l));
        while (feedline_loader_next(l, -1, &b) == FEEDLINE_OK)
            fixture_consume(b, &hash);
    }
}

static void run_epochs(feedline_loader *l, bool given, uint32_t epochs)
{
    if (given)
        give_epochs(l, epochs);
    else
        fixture_run(l, epochs);
}

static void run(const char *reader, bool given)
{
    struct fixture images;
    fixture_create(&images, N);
    add_pngs(&images);
    feedline_loader *l = eval_loader(images.files, reader, given);
    run_epochs(l, given, 2);
    /* How many read buffers are in use at once is a matter of timing: it may
     * take an epoch more until there were as many as there can be. */
    uint32_t n = 1;
    for (uint32_t i = 0; i < 10 && n > 0; i++) {
        atomic_store(&allocations, 0);
        atomic_store(&counting, true);
        run_epochs(l, given, 3);
        atomic_store(&counting, false);
        n = atomic_load(&allocations);
    }
    feedline_loader_destroy(l);
    fixture_remove(&images);
    assert_int_equal(n, 0);
}

TEST(pread_allocates_nothing)
{
    run("pread", false);
}

TEST(memory_allocates_nothing)
{
    run("memory", false);
}

TEST(auto_allocates_nothing)
{
    run("auto", false);
}

TEST(a_given_order_allocates_nothing)
{
    run("pread", true);
    run("memory", true);
}

TEST(the_count_is_live)
{
    uint64_t size;
    atomic_store(&allocations, 0);
    atomic_store(&counting, true);
    free(fixture_jpeg(1, &size)); /* libjpeg compresses: it must be seen */
    atomic_store(&counting, false);
    assert_true(atomic_load(&allocations) > 3);
}

TEST_MAIN("steady")
