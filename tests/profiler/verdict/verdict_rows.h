/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence for the tests of verdicts, as rows of tables give it. */
#ifndef FDL_TESTS_VERDICT_ROWS_H
#define FDL_TESTS_VERDICT_ROWS_H

#include "base/compiler.h"
#include "profiler/verdict/verdict.h"
#include "test.h"

#include <math.h>

#define SEC INT64_C(1000000000)

/* A run of 1000 batches of 64 in 100 s. */
#define RUN .batches = 1000, .samples = 64000, .wall_ns = 100 * SEC

/* Of which the consumer waited for one thing alone. */
#define WAITED(bucket, time) .ledger = {.ns = {[FDL_BUCKET_##bucket] = (time)}}

/* A GPU that was watched all the while. */
#define GPU .has_device = true, .device_span_ns = 100 * SEC

/* A 0 that is known. */
#define NONE 1e-300

/* Pointers to all numbers of evidence that may be unknown. */
#define UNKNOWN_MAY_BE(e)                                                      \
  &(e)->interference, &(e)->interference_sigma, &(e)->stall_strength,          \
      &(e)->peer_stall, &(e)->mean_file_bytes, &(e)->read_rate,                \
      &(e)->read_p50_us, &(e)->read_p99_us, &(e)->rate_by_depth,               \
      &(e)->latency_by_depth, &(e)->first_epoch_fetch,                         \
      &(e)->later_epoch_fetch, &(e)->cold_fraction, &(e)->fetch_cold,          \
      &(e)->foreign_cores, &(e)->consumer_cores, &(e)->outside_cores,          \
      &(e)->gpu_utilization, &(e)->gpu_sm_active, &(e)->gpu_idle_seconds,      \
      &(e)->gpu_memory_used, &(e)->gpu_clock, &(e)->source_pixels,             \
      &(e)->output_pixels, &(e)->usual_wait_ns, &(e)->cpu_quota,               \
      &(e)->reads_under_way, &(e)->read_fixed_ns, &(e)->read_byte_ns,          \
      &(e)->read_rate_now, &(e)->first_epoch_read, &(e)->later_epoch_read,     \
      &(e)->read_byte_error_ns, &(e)->read_ahead_ns, &(e)->storage_fraction,   \
      &(e)->data_bytes, &(e)->memory_bytes, &(e)->cache_bytes

/* What an initializer left at 0 is not known. */
static inline void fill_unknown(struct fdl_evidence *e)
{
    struct fdl_evidence init;
    double *const of[] = {UNKNOWN_MAY_BE(e)};
    fdl_evidence_init(&init);
    e->reads_storage = init.reads_storage;
    if (!e->terms)
        e->terms = init.terms;
    for (size_t i = 0; i < FDL_COUNT_OF(of); i++)
        *of[i] = *of[i] == 0 ? -1 : *of[i] == NONE ? 0 : *of[i];
}

/* The wait is the sum of its buckets, unless the row has one of its own. */
static inline uint32_t judge_rows(struct fdl_evidence *e,
                                  struct fdl_verdict v[FDL_VERDICTS_MAX])
{
    fill_unknown(e);
    if (e->ledger.wait_ns == 0)
        for (int i = 0; i < FDL_BUCKETS; i++)
            e->ledger.wait_ns += e->ledger.ns[i];
    return fdl_verdict_judge(e, v);
}

/* All verdicts on it, of which that code comes first. */
static inline const struct fdl_verdict *first_is(const char *code,
                                                 struct fdl_evidence *e)
{
    static struct fdl_verdict v[FDL_VERDICTS_MAX];
    judge_rows(e, v);
    assert_string_equal(v[0].code, code);
    return v;
}

/* A minute of work that went so, and what must be said first. */
struct verdict_row {
    const char *name;
    struct fdl_evidence e;
    const char *code, *level;
    double gain;
    const char *said[5]; /* parts of the sentence */
    const char *action;  /* part of the action */
};

#define SAYS(code, level, gain) (code), (level), (gain)

static inline void check_text(const char *text, size_t capacity)
{
    size_t length = strlen(text);
    assert_in_range(length, 1, capacity - 2);
    assert_int_equal(text[length - 1], '.');
    assert_null(strstr(text, "  "));
    assert_null(strstr(text, ".."));
    assert_null(strstr(text, "nan"));
}

static inline bool is_said(const struct verdict_row *r,
                           const struct fdl_verdict *v)
{
    for (size_t k = 0; k < FDL_COUNT_OF(r->said) && r->said[k]; k++)
        if (!strstr(v->sentence, r->said[k]))
            return false;
    return strcmp(v->code, r->code) == 0 && strcmp(v->level, r->level) == 0 &&
           fabs(v->predicted_gain - r->gain) < 1e-6 &&
           strstr(v->action, r->action) != NULL;
}

static inline bool check_row(const struct verdict_row *r)
{
    struct fdl_verdict all[FDL_VERDICTS_MAX];
    struct fdl_evidence e = r->e;
    const struct fdl_verdict *v = &all[0];
    memset(all, 0xee, sizeof(all));
    judge_rows(&e, all);
    bool right = is_said(r, v);
    print_message("%s%s: %s (%s, gain %.2f)\n  %s\n  %s\n",
                  right ? "" : "WRONG: ", r->name, v->code, v->level,
                  v->predicted_gain, v->sentence, v->action);
    check_text(v->sentence, sizeof(v->sentence));
    check_text(v->action, sizeof(v->action));
    assert_in_range(v->confidence_ppm, 0, 1000000);
    return right;
}

static inline void check_rows(const struct verdict_row *rows, size_t n)
{
    bool right = true;
    for (size_t i = 0; i < n; i++)
        right &= check_row(&rows[i]);
    assert_true(right);
}

#endif
