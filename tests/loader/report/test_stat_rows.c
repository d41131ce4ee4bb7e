/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of statistics: whatever numbers a snapshot holds, each row of the
 * table is in JSON and, if it has a metric, in the metrics, with its value.
 */
#include "base/text.h"
#include "dice.h"
#include "loader/loader.h"
#include "loader/report/metrics.h"
#include "loader/report/stat_rows.h"
#include "loader/watch/stats.h"
#include "tests/loader/fixture.h"
#include "tests/wrap.h"

#include <feedline/live.h>
#include <feedline/tuning.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} parts[FDL_STAT_PARTS] = {
    [FDL_STAT_STATS] = {"stats", sizeof(struct feedline_stats)},
    [FDL_STAT_STALL] = {"stall", sizeof(struct feedline_wait_stats)},
    [FDL_STAT_STAGES] = {"stages", sizeof(struct feedline_stage_stats)},
    [FDL_STAT_WORKERS] = {"workers", sizeof(struct feedline_worker_stats)},
    [FDL_STAT_TRANSFER] = {"transfer", sizeof(struct feedline_device_stats)},
    [FDL_STAT_GAPS] = {"gaps", sizeof(struct feedline_gap_stats)},
    [FDL_STAT_SLOW] = {"slow_samples", sizeof(struct feedline_slow_sample)},
    [FDL_STAT_HEADROOM] = {"headroom", sizeof(struct feedline_headroom)},
    [FDL_STAT_TUNER] = {"tuner", sizeof(struct feedline_tuner_info)},
    [FDL_STAT_QUEUE] = {"queue", sizeof(struct feedline_live_stats)},
    [FDL_STAT_MACHINE] = {"machine", sizeof(struct feedline_live_stats)},
    [FDL_STAT_GPU] = {"gpu", sizeof(struct feedline_live_stats)},
};

static uint64_t below(uint64_t n)
{
    static struct dice dice;
    if (dice.state == 0)
        dice.state = test_seed();
    return dice_u64(&dice) % n;
}

static uint32_t n_rows(uint32_t part)
{
    struct feedline_stat_info row = {.struct_size = sizeof(row)};
    uint32_t n = 0;
    while (feedline_stat_get_info(parts[part].name, n, &row) == FEEDLINE_OK)
        n++;
    return n;
}

static struct feedline_stat_info row_at(uint32_t part, uint32_t index)
{
    struct feedline_stat_info row = {.struct_size = sizeof(row)};
    assert_ok(feedline_stat_get_info(parts[part].name, index, &row));
    return row;
}

static size_t field_bytes(const struct feedline_stat_info *row)
{
    return row->type == FEEDLINE_STAT_U32 ? 4 : 8;
}

/* Some value for each row; now and then one that is not known. */
static void plant(uint32_t part, void *in)
{
    for (uint32_t i = 0; i < n_rows(part); i++) {
        struct feedline_stat_info row = row_at(part, i);
        char *at = (char *)in + row.offset;
        uint64_t word = below(8) ? below(1 << 30) : 0;
        double x = row.flags && !below(4) ? -1 : (double)word / 1024;
        const char *text = word % 2 ? "odd" : NULL;
        const void *from = row.type == FEEDLINE_STAT_DOUBLE ? (void *)&x
                           : row.type == FEEDLINE_STAT_TEXT ? (void *)&text
                                                            : (void *)&word;
        memcpy(at, from, field_bytes(&row));
    }
}

/* By the words of statistics.h alone; NaN: not known. */
static double expected(const struct feedline_stat_info *row, const void *in)
{
    const char *at = (const char *)in + row->offset;
    uint64_t word = 0, over;
    double x;
    memcpy(&word, at, field_bytes(row));
    if (row->type == FEEDLINE_STAT_DOUBLE)
        memcpy(&x, &word, sizeof(x));
    else if (row->type == FEEDLINE_STAT_I64)
        x = (double)(int64_t)word;
    else
        x = (double)word;
    if ((row->flags & FEEDLINE_STAT_ZERO_UNKNOWN && x <= 0) ||
        (row->flags & FEEDLINE_STAT_NEGATIVE_UNKNOWN && x < 0))
        return (double)NAN;
    if (!row->over)
        return x / row->scale;
    memcpy(&over, (const char *)in + row->over, sizeof(over));
    return over ? x / (double)over : 0;
}

TEST(rows_are_in_their_structs)
{
    for (uint32_t p = 0; p < FDL_STAT_PARTS; p++) {
        assert_true(n_rows(p) > 0);
        for (uint32_t i = 0; i < n_rows(p); i++) {
            struct feedline_stat_info a = row_at(p, i);
            assert_true(a.offset >= sizeof(uint32_t));
            assert_true(a.offset + field_bytes(&a) <= parts[p].bytes);
            assert_true(a.over + sizeof(uint64_t) <= parts[p].bytes);
            assert_true(a.scale >= 1 && *a.name && strlen(a.help) > 3);
            for (uint32_t k = 0; k < i; k++) {
                struct feedline_stat_info b = row_at(p, k);
                assert_string_not_equal(a.name, b.name);
                assert_true(!*a.metric || strcmp(a.metric, b.metric) != 0);
            }
        }
    }
}

TEST(errors_name_what_there_is)
{
    struct feedline_stat_info row = {.struct_size = sizeof(row)};
    assert_error(feedline_stat_get_info("nothing", 0, &row), FEEDLINE_ENOENT,
                 "but stats, stall");
    assert_error(feedline_stat_get_info("stats", 1000, &row), FEEDLINE_ERANGE,
                 "stats: row 1000: there are");
    assert_error(feedline_stat_get_info(NULL, 0, &row), FEEDLINE_EINVAL,
                 "part");
    row.struct_size = 0;
    assert_error(feedline_stat_get_info("stats", 0, &row), FEEDLINE_EINVAL,
                 "struct_size");
}

/* ---- One value ---------------------------------------------------------- */

struct sample {
    uint32_t small;
    int64_t number;
    double real;
    uint64_t part, whole, none;
    const char *text;
};

static struct feedline_stat_info made(uint32_t type, size_t offset,
                                      uint32_t flags)
{
    return (struct feedline_stat_info){
        .struct_size = sizeof(struct feedline_stat_info),
        .type = type,
        .flags = flags,
        .offset = (uint32_t)offset,
        .scale = 1,
    };
}

TEST(a_value_has_its_sign)
{
    const struct sample s = {.number = -5, .small = 7, .real = -0.5};
    const uint32_t unknown = FEEDLINE_STAT_NEGATIVE_UNKNOWN;
    struct feedline_stat_info row;
    row = made(FEEDLINE_STAT_I64, offsetof(struct sample, number), 0);
    assert_true(feedline_stat_value(&row, &s) == -5);
    row.scale = 10;
    assert_true(feedline_stat_value(&row, &s) == -0.5);
    row.flags = unknown;
    assert_true(isnan(feedline_stat_value(&row, &s)));
    row.flags = FEEDLINE_STAT_ZERO_UNKNOWN;
    assert_true(isnan(feedline_stat_value(&row, &s)));
    row = made(FEEDLINE_STAT_DOUBLE, offsetof(struct sample, real), 0);
    assert_true(feedline_stat_value(&row, &s) == -0.5);
    row.flags = unknown;
    assert_true(isnan(feedline_stat_value(&row, &s)));
    row = made(FEEDLINE_STAT_U32, offsetof(struct sample, small), unknown);
    assert_true(feedline_stat_value(&row, &s) == 7);
}

TEST(a_value_is_a_part_of_the_whole)
{
    const struct sample s = {.part = UINT64_MAX, .whole = UINT64_C(1) << 62};
    struct feedline_stat_info row =
        made(FEEDLINE_STAT_U64, offsetof(struct sample, part), 0);
    assert_true(feedline_stat_value(&row, &s) == 0x1p64);
    row.over = offsetof(struct sample, whole);
    assert_true(feedline_stat_value(&row, &s) == 4);
    row.over = offsetof(struct sample, none);
    assert_true(feedline_stat_value(&row, &s) == 0);
}

/* Where there is no number, NaN: nobody is asked to check first. */
TEST(no_number_is_nan)
{
    const struct sample s = {.text = "text"};
    struct feedline_stat_info row =
        made(FEEDLINE_STAT_TEXT, offsetof(struct sample, text), 0);
    assert_true(isnan(feedline_stat_value(&row, &s)));
    row.type = FEEDLINE_STAT_TEXT + 1; /* of a library to come */
    assert_true(isnan(feedline_stat_value(&row, &s)));
    assert_true(isnan(feedline_stat_value(NULL, &s)));
    row.type = FEEDLINE_STAT_U64;
    assert_true(isnan(feedline_stat_value(&row, NULL)));
}

/* ---- JSON --------------------------------------------------------------- */

/* Where the value of a row stands. */
static const char *find_key(const char *text, const char *name)
{
    char key[64];
    const char *dot = strchr(name, '.');
    if (dot) {
        snprintf(key, sizeof(key), "\"%.*s\":{", (int)(dot - name), name);
        text = strstr(text, key);
        assert_non_null(text);
    }
    snprintf(key, sizeof(key), "\"%s\":", dot ? dot + 1 : name);
    text = strstr(text, key);
    if (!text)
        fail_msg("no %s", name);
    return text + strlen(key);
}

TEST(json_has_every_row)
{
    char in[sizeof(struct feedline_live_stats)], text[8192];
    uint64_t needed;
    for (uint32_t turn = 0; turn < 50 * FDL_STAT_PARTS; turn++) {
        uint32_t p = turn % FDL_STAT_PARTS;
        struct fdl_json j;
        memset(in, 0, sizeof(in));
        plant(p, in);
        fdl_json_init(&j, text, sizeof(text));
        fdl_json_begin_object(&j, NULL);
        fdl_stat_json(&j, (enum fdl_stat_part)p, in, 0);
        fdl_json_end_object(&j);
        assert_ok(fdl_json_finish(&j, &needed));
        for (uint32_t i = 0; i < n_rows(p); i++) {
            struct feedline_stat_info row = row_at(p, i);
            const char *at = find_key(text, row.name);
            if (row.type == FEEDLINE_STAT_TEXT)
                assert_true(!strncmp(at, "\"odd\"", 5) ||
                            !strncmp(at, "null", 4));
            else if (isnan(expected(&row, in)))
                assert_memory_equal(at, "null", 4);
            else
                assert_true(strtod(at, NULL) == expected(&row, in));
        }
    }
}

/* Rows of custom operations, where there is none. */
TEST(json_leaves_rows_out)
{
    struct feedline_stage_stats s = {.struct_size = sizeof(s)};
    char text[2048];
    uint64_t needed;
    struct fdl_json j;
    fdl_json_init(&j, text, sizeof(text));
    fdl_json_begin_object(&j, NULL);
    fdl_stat_json(&j, FDL_STAT_STAGES, &s, FEEDLINE_STAT_CUSTOM);
    fdl_json_end_object(&j);
    assert_ok(fdl_json_finish(&j, &needed));
    assert_null(strstr(text, "lock_seconds"));
    assert_non_null(strstr(text, "busy_seconds"));
}

/* ---- Metrics ------------------------------------------------------------ */

static struct feedline_device_stats device;
static struct feedline_stage_stats stage;

WRAP(int32_t, fdl_stats_device, struct fdl_watch *l,
     struct feedline_device_stats *out)
{
    (void)l;
    *out = device;
    return FEEDLINE_OK;
}

WRAP(void, fdl_stats_stage, struct fdl_watch *l, uint32_t i,
     struct feedline_stage_stats *out)
{
    (void)l;
    (void)i;
    *out = stage;
}

/* The value behind feedline_NAME{...LABEL}; NaN: it is not there. */
static double find_metric(const char *text, const char *metric,
                          const char *label)
{
    char name[64];
    size_t n = strcspn(metric, "{");
    snprintf(name, sizeof(name), "\nfeedline_%.*s{", (int)n, metric);
    if (metric[n])
        label = metric + n + 1;
    for (; (text = strstr(text, name)) != NULL; text++) {
        const char *end = strchr(text + 1, '\n'), *found = strstr(text, label);
        if (found && found < end)
            return strtod(strstr(text, "} ") + 2, NULL);
    }
    return (double)NAN;
}

static void check_metrics(const char *text, uint32_t part, const void *in,
                          const char *label)
{
    for (uint32_t i = 0; i < n_rows(part); i++) {
        struct feedline_stat_info row = row_at(part, i);
        if (!*row.metric)
            continue;
        double x = expected(&row, in);
        double found = find_metric(text, row.metric, label);
        if (!(isnan(x) ? isnan(found) : found == x))
            fail_msg("%s: %.17g, not %.17g", row.metric, found, x);
    }
}

TEST(metrics_have_every_row)
{
    struct fixture f;
    struct fdl_text text = {0};
    fixture_create(&f, 3);
    feedline_loader *l = fixture_open(f.ds, "live=false");
    for (uint32_t turn = 0; turn < 20; turn++) {
        struct feedline_live_stats s = {.has_device = 1, .has_gpu = 1};
        plant(FDL_STAT_STATS, &s.stats);
        plant(FDL_STAT_STALL, &s.waits);
        plant(FDL_STAT_WORKERS, &s.threads);
        plant(FDL_STAT_QUEUE, &s);
        plant(FDL_STAT_MACHINE, &s);
        plant(FDL_STAT_GPU, &s);
        plant(FDL_STAT_TRANSFER, &device);
        plant(FDL_STAT_STAGES, &stage);
        fdl_metrics_write(&l->sources, &s, &text);
        check_metrics(text.data, FDL_STAT_STATS, &s.stats, "");
        check_metrics(text.data, FDL_STAT_STALL, &s.waits, "");
        check_metrics(text.data, FDL_STAT_WORKERS, &s.threads, "");
        check_metrics(text.data, FDL_STAT_QUEUE, &s, "");
        check_metrics(text.data, FDL_STAT_MACHINE, &s, "");
        check_metrics(text.data, FDL_STAT_GPU, &s, "");
        check_metrics(text.data, FDL_STAT_TRANSFER, &device, "");
        check_metrics(text.data, FDL_STAT_STAGES, &stage, "stage=\"decode\"");
    }
    fdl_text_free(&text);
    feedline_loader_destroy(l);
    fixture_remove(&f);
}

TEST_MAIN("stat_rows")
