/* SPDX-License-Identifier: Apache-2.0 */
/* Images of every format, files that the library writes, packing, checking. */
#include "lives.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/make_png.h"

#include <feedline/files.h>
#include <feedline/packed.h>
#include <feedline/traces.h>

#include <dirent.h>
#include <unistd.h>

/* ---- Formats ------------------------------------------------------------ */

#define FORMATS 6u

static void *encoded[FORMATS];
static uint64_t encoded_bytes[FORMATS];
static feedline_dataset *formats_ds;

static void keep_jpeg(uint32_t i, const struct make_jpeg *m)
{
    size_t size;
    encoded[i] = make_jpeg(m, &size);
    encoded_bytes[i] = size;
}

static void keep_png(uint32_t i, const struct make_png *m)
{
    size_t size;
    encoded[i] = make_png(m, &size);
    encoded_bytes[i] = size;
}

/* Sequential, progressive and packed JPEGs; PNGs by rows and in passes. */
static const char *make_formats(void)
{
    struct make_jpeg j = {.width = 70,
                          .height = 50,
                          .components = 3,
                          .h = 2,
                          .v = 2,
                          .quality = 90};
    struct make_png p = {.width = 40, .height = 30, .depth = 8, .colour = 2};
    void *packed;
    fault_images_make();
    keep_jpeg(0, &j);
    keep_jpeg(1, &j);
    if (feedline_features() & FEEDLINE_FEATURE_PACKED) {
        free(encoded[1]);
        assert_ok(feedline_jpeg_pack(encoded[0], encoded_bytes[0], &packed,
                                     &encoded_bytes[1]));
        encoded[1] = packed;
    }
    j.progressive = true;
    keep_jpeg(2, &j);
    keep_png(3, &p);
    p.interlaced = true;
    keep_png(4, &p);
    j = (struct make_jpeg){.width = 60,
                           .height = 44,
                           .components = 4,
                           .h = 1,
                           .v = 1,
                           .quality = 90};
    keep_jpeg(5, &j);
    assert_ok(feedline_dataset_open_memory(
        (const void *const *)(const void *)encoded, encoded_bytes, NULL,
        FORMATS, &formats_ds));
    return NULL;
}

static void drop_formats(void)
{
    feedline_dataset_close(formats_ds);
    for (uint32_t i = 0; i < FORMATS; i++)
        free(encoded[i]);
    fault_images_remove();
}

static int32_t formats(void)
{
    feedline_loader *l = NULL;
    int32_t status = trial_loader(
        formats_ds, NULL,
        "resize width=32 height=24;color_jitter brightness=0.4 saturation=0.3;"
        "random_rotation degrees=20;normalize",
        "batch_size=2 workers=2 tuner=off live=false shuffle=true", &l);
    if (status >= 0)
        status = trial_epoch(l);
    fault_end(l);
    return status;
}

const struct scenario fault_formats = {
    .name = "formats",
    .what =
        "an epoch of JPEG, progressive, packed and CMYK, and of PNG; colours "
        "and rotation",
    .kinds = KIND(MEMORY) | KIND(THREAD) | KIND(DECODER),
    .setup = make_formats,
    .teardown = drop_formats,
    .life = formats};

/* ---- Files that the library writes -------------------------------------- */

static void empty_folder(void)
{
    char path[512];
    DIR *d = opendir(fault_folder());
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) {
        snprintf(path, sizeof(path), "%s/%s", fault_folder(), e->d_name);
        if (e->d_name[0] != '.')
            unlink(path);
    }
    closedir(d);
}

static const char *with_cache(void)
{
    fault_images_make();
    setenv("FEEDLINE_CACHE_DIR", fault_folder(), 1);
    return NULL;
}

/* What is learned of the files goes to a file, and nothing else depends on
 * it. */
static int32_t jpeg_index(void)
{
    return fault_epoch(fault_images.folder, FAULT_OPERATIONS,
                       FAULT_OPTIONS "reader=pread jpeg_index=true");
}

const struct scenario fault_jpeg_index = {
    .name = "jpeg_index",
    .what = "an epoch that keeps a JPEG index in a file",
    .kinds = KIND(MEMORY) | KINDS_FILES | KINDS_WRITING,
    .setup = with_cache,
    .teardown = fault_images_remove,
    .life = jpeg_index,
    .settle = empty_folder};

static int32_t records(void)
{
    char options[512], path[128];
    feedline_loader *l = NULL;
    const char *folder = fault_folder();
    snprintf(options, sizeof(options),
             FAULT_OPTIONS "reader=pread stats_log=%s/log metrics=%s/metrics "
                           "trace=%s/trace trace_active=2 stats_interval=10ms",
             folder, folder, folder);
    int32_t status =
        trial_loader(fault_images.files, NULL, FAULT_OPERATIONS, options, &l);
    if (status >= 0)
        status = trial_epoch(l);
    snprintf(path, sizeof(path), "%s/rings", folder);
    TRY(status, feedline_loader_trace_save(l, path));
    fault_end(l);
    return status;
}

const struct scenario fault_records = {
    .name = "records",
    .what = "an epoch with a trace, a log of statistics and metrics",
    .kinds =
        KIND(MEMORY) | KIND(THREAD) | KIND(OPEN) | KIND(LIMIT) | KINDS_WRITING,
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = records,
    .settle = empty_folder};

/* ---- Packing ------------------------------------------------------------ */

static int32_t pack_one(const void *jpeg, uint64_t bytes)
{
    void *packed = NULL, *back = NULL;
    uint64_t n_packed = 0, n_back = 0;
    int32_t same = 0;
    int32_t status =
        trial_note(feedline_jpeg_pack(jpeg, bytes, &packed, &n_packed));
    TRY(status, feedline_jpeg_unpack(packed, n_packed, &back, &n_back, &same));
    if (status >= 0 && (n_back != bytes || memcmp(back, jpeg, bytes) != 0))
        fail_msg("another JPEG came back");
    if (status < 0 && back)
        fail_msg("an output with an error");
    free(packed);
    free(back);
    return status;
}

static int32_t pack(void)
{
    int32_t status = pack_one(encoded[0], encoded_bytes[0]);
    if (status >= 0)
        status = pack_one(encoded[2], encoded_bytes[2]);
    for (uint32_t i = 0; i < 3 && status >= 0; i++)
        status = pack_one(fault_images.data[i], fault_images.sizes[i]);
    return status;
}

const struct scenario fault_pack = {.name = "pack",
                                    .what = "JPEGs are packed and unpacked",
                                    .kinds = KIND(MEMORY) | KIND(DECODER),
                                    .setup = make_formats,
                                    .teardown = drop_formats,
                                    .life = pack};

/* ---- Checking ----------------------------------------------------------- */

/* What is wrong with a sample is told as its status. */
static int32_t check(feedline_checker *c, uint64_t index)
{
    struct feedline_checked checked = {.struct_size = sizeof(checked)};
    int32_t status = trial_note(feedline_checker_check(c, index, &checked));
    if (status < 0 || checked.status >= 0)
        return status;
    return trial_note_as(checked.status, checked.reason);
}

static int32_t read_one(feedline_dataset *ds)
{
    void *data = NULL;
    uint64_t bytes = 0;
    int32_t status =
        trial_note(feedline_dataset_read(NULL, ds, 2, &data, &bytes));
    if ((status < 0) != (data == NULL))
        fail_msg("bytes with status %d", status);
    free(data);
    return status;
}

static int32_t measure(feedline_dataset *ds)
{
    feedline_config *cfg = NULL;
    struct feedline_reading r = {.struct_size = sizeof(r)};
    int32_t status = trial_note(feedline_config_create(&cfg));
    TRY(status, feedline_config_set(cfg, "reader", "pread"));
    TRY(status, feedline_dataset_measure_reading(cfg, ds, 1000000000, 0, &r));
    feedline_config_destroy(cfg);
    return status;
}

static int32_t scan(void)
{
    feedline_dataset *ds = NULL;
    feedline_checker *c = NULL;
    int32_t status =
        trial_note(feedline_dataset_open(fault_images.folder, &ds));
    TRY(status, feedline_checker_create(NULL, ds, &c));
    for (uint64_t i = 0; i < FAULT_IMAGES && status >= 0; i++)
        status = check(c, i);
    if (status >= 0)
        status = read_one(ds);
    if (status >= 0)
        status = measure(ds);
    feedline_checker_destroy(c);
    feedline_dataset_close(ds);
    return status;
}

const struct scenario fault_scan = {
    .name = "scan",
    .what = "every sample is checked, one is read, reading is measured",
    .kinds = KIND(MEMORY) | KIND(THREAD) | KINDS_FILES | KIND(DECODER),
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = scan};
