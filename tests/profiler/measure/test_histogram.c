/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles against the same quantile of the sorted values. */
#include "base/compiler.h"
#include "base/philox.h"
#include "profiler/measure/histogram.h"
#include "test.h"

#define LIMIT (INT64_C(1) << FDL_HISTOGRAM_MAX_BITS)

static struct fdl_histogram h;

static void setup(void)
{
    memset(&h, 0, sizeof(h));
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

TEST_WITH(test_empty, setup, NULL)
{
    assert_int_equal(fdl_histogram_total(&h), 0);
    assert_int_equal(fdl_histogram_quantile(&h, 0), 0);
    assert_int_equal(fdl_histogram_quantile(&h, 1), 0);
}

TEST_WITH(test_small_values_are_exact, setup, NULL)
{
    for (int64_t v = 0; v < 32; v++)
        fdl_histogram_add(&h, v);
    for (int64_t v = 0; v < 32; v++)
        assert_int_equal(fdl_histogram_quantile(&h, ((double)v + 1) / 32), v);
}

/* Each bucket is hit alone by its ends: value <= answer <= value + 1/32. */
TEST_WITH(test_edges_of_every_bucket, setup, NULL)
{
    int64_t last = -1;
    for (int bit = 5; bit < FDL_HISTOGRAM_MAX_BITS; bit++) {
        int64_t width = INT64_C(1) << (bit - 5);
        for (int64_t m = 32; m < 64; m++) {
            int64_t low = m * width;
            int64_t high = low + width - 1;
            memset(&h, 0, sizeof(h));
            fdl_histogram_add(&h, low);
            fdl_histogram_add(&h, LIMIT - 1); /* so that max does not help */
            assert_int_equal(fdl_histogram_quantile(&h, 0.5), high);
            assert_true(low > last);
            last = high;
            memset(&h, 0, sizeof(h));
            fdl_histogram_add(&h, high);
            fdl_histogram_add(&h, LIMIT - 1);
            assert_int_equal(fdl_histogram_quantile(&h, 0.5), high);
        }
    }
    assert_int_equal(last, LIMIT - 1);
}

TEST_WITH(test_never_above_max, setup, NULL)
{
    fdl_histogram_add(&h, 1000); /* its bucket goes up to 1007 */
    assert_int_equal(fdl_histogram_quantile(&h, 0.5), 1000);
    assert_int_equal(fdl_histogram_quantile(&h, 1), 1000);
}

TEST_WITH(test_out_of_range, setup, NULL)
{
    fdl_histogram_add(&h, -5);
    fdl_histogram_add(&h, LIMIT);
    fdl_histogram_add(&h, INT64_MAX);
    assert_int_equal(fdl_histogram_total(&h), 3);
    assert_int_equal(fdl_histogram_quantile(&h, 0.3), 0);
    assert_int_equal(fdl_histogram_quantile(&h, 0.6), INT64_MAX);
    assert_int_equal(fdl_histogram_quantile(&h, 1), INT64_MAX);
}

/* A spread over all magnitudes, with many ties among the small ones. */
static int64_t draw(struct fdl_rng *rng)
{
    uint32_t bits = fdl_rng_below(rng, FDL_HISTOGRAM_MAX_BITS);
    uint64_t v = (uint64_t)fdl_rng_u32(rng) << 32 | fdl_rng_u32(rng);
    return (int64_t)(v & ((UINT64_C(1) << bits) - 1));
}

static void check_quantiles(const struct fdl_histogram *of, int64_t *sorted,
                            uint32_t n)
{
    static const double qs[] = {0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};
    qsort(sorted, n, sizeof(sorted[0]), compare);
    assert_int_equal(fdl_histogram_total(of), n);
    for (size_t i = 0; i < FDL_COUNT_OF(qs); i++) {
        double exact = qs[i] * n;
        uint32_t rank = (uint32_t)exact;
        rank += rank < exact;
        int64_t want = sorted[rank > 0 ? rank - 1 : 0];
        int64_t got = fdl_histogram_quantile(of, qs[i]);
        assert_true(got >= want);
        assert_true(got - want <= want / 32);
    }
    assert_int_equal(fdl_histogram_quantile(of, 1), sorted[n - 1]);
}

TEST_WITH(test_random_quantiles, setup, NULL)
{
    static int64_t values[3000];
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 0, 0);
    for (int round = 0; round < 200; round++) {
        uint32_t n = 1 + fdl_rng_below(&rng, FDL_COUNT_OF(values));
        memset(&h, 0, sizeof(h));
        for (uint32_t i = 0; i < n; i++) {
            values[i] = draw(&rng);
            fdl_histogram_add(&h, values[i]);
        }
        check_quantiles(&h, values, n);
    }
}

TEST_WITH(test_merge_is_addition, setup, NULL)
{
    static struct fdl_histogram part[3];
    static int64_t values[2000];
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 1, 0);
    for (uint32_t i = 0; i < FDL_COUNT_OF(values); i++) {
        values[i] = draw(&rng);
        fdl_histogram_add(&part[fdl_rng_below(&rng, 3)], values[i]);
    }
    for (int i = 0; i < 3; i++)
        fdl_histogram_merge(&h, &part[i]);
    check_quantiles(&h, values, FDL_COUNT_OF(values));
}

/* The largest value stays what it is as long as it may be that. */
TEST_WITH(test_subtract_nothing, setup, NULL)
{
    static const struct fdl_histogram empty;
    fdl_histogram_add(&h, 1000); /* its bucket goes up to 1007 */
    fdl_histogram_subtract(&h, &empty);
    assert_int_equal(fdl_histogram_quantile(&h, 1), 1000);
}

/* What was added since an earlier state, whatever came before it. */
TEST_WITH(test_subtract, setup, NULL)
{
    static struct fdl_histogram before;
    static int64_t values[500];
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 2, 0);
    for (int i = 0; i < 500; i++)
        fdl_histogram_add(&h, draw(&rng));
    fdl_histogram_add(&h, LIMIT - 1);
    fdl_histogram_merge(&before, &h);
    for (uint32_t i = 0; i < FDL_COUNT_OF(values); i++) {
        values[i] = draw(&rng) % 100000;
        fdl_histogram_add(&h, values[i]);
    }
    fdl_histogram_subtract(&h, &before);
    qsort(values, FDL_COUNT_OF(values), sizeof(values[0]), compare);
    int64_t largest = values[FDL_COUNT_OF(values) - 1];
    int64_t median = values[249];
    assert_int_equal(fdl_histogram_total(&h), FDL_COUNT_OF(values));
    assert_in_range(fdl_histogram_quantile(&h, 0.5), median,
                    median + median / 32);
    assert_in_range(fdl_histogram_quantile(&h, 1), largest,
                    largest + largest / 32);
    assert_int_equal(h.max, fdl_histogram_quantile(&h, 1));
    fdl_histogram_merge(&before, &h);
    fdl_histogram_subtract(&h, &h);
    assert_int_equal(fdl_histogram_total(&h), 0);
    assert_int_equal(fdl_histogram_quantile(&h, 1), 0);
}

TEST_MAIN("histogram")
