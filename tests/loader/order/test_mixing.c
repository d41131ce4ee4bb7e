/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formulas of mixing.h against counting: epochs of the order itself, batch
 * by batch, until what is counted is known to a few percent.
 */
#include "base/status.h"
#include "loader/order/mixing.h"
#include "loader/order/permute.h"
#include "test.h"

#include <math.h>

#define COUNT   4000
#define CLASSES 20
#define EPOCHS  60

enum storage { SORTED, MIXED, HALF, ONE_LABEL };

static void write_labels(int64_t labels[COUNT], enum storage storage)
{
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t of = storage == MIXED ? fdl_permute(COUNT, 1, 2, i) : i;
        int64_t label = (int64_t)(of * CLASSES / COUNT);
        if (storage == HALF && i % 2)
            label = (int64_t)(fdl_permute(COUNT, 1, 3, i) % CLASSES);
        labels[i] = storage == ONE_LABEL ? -1 : label * 1000003 - 5;
    }
}

/* What is counted of an order; V by its definition. */
struct counted {
    double squares, batches, same_block, pairs, blocks;
};

static void count_batch(struct counted *c, const int64_t *labels,
                        const uint64_t *samples, uint64_t n,
                        const struct fdl_blocks *b)
{
    uint8_t seen[COUNT] = {0};
    for (uint64_t i = 0; i < n; i++) {
        uint64_t block = (samples[i] + COUNT - b->first) % COUNT / b->samples;
        c->blocks += !seen[block];
        seen[block] = 1;
        for (uint64_t k = 0; k < n; k++) {
            uint64_t other =
                (samples[k] + COUNT - b->first) % COUNT / b->samples;
            c->squares += labels[samples[i]] == labels[samples[k]];
            c->same_block += k != i && other == block;
            c->pairs += k != i;
        }
    }
    c->batches++;
}

static struct counted count_epochs(const int64_t *labels,
                                   const struct fdl_block_shape *shape,
                                   uint64_t batch)
{
    struct counted c = {0};
    uint64_t samples[COUNT];
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        struct fdl_blocks b;
        fdl_blocks_init(&b, COUNT, shape, 3, epoch);
        for (uint64_t at = epoch; at + batch <= COUNT; at += batch) {
            for (uint64_t i = 0; i < batch; i++)
                samples[i] = fdl_blocks_sample(&b, at + i);
            count_batch(&c, labels, samples, batch, &b);
        }
    }
    return c;
}

static double variance_of(const struct counted *c, uint64_t batch)
{
    double size = (double)batch, alike = 1.0 / CLASSES;
    double full = size * (1 - alike) * (COUNT - size) / (COUNT - 1);
    return (c->squares / c->batches - size * size * alike) / full;
}

static void assert_near(double counted, double computed, double tolerance)
{
    if (fabs(counted - computed) > tolerance * computed)
        fail_msg("counted %g, computed %g", counted, computed);
}

TEST(formulas_agree_with_counting)
{
    static const struct {
        enum storage storage;
        struct fdl_block_shape shape;
        uint64_t batch;
    } cases[] = {
        {SORTED, {25, 8}, 32},  {SORTED, {25, 8}, 147}, {SORTED, {100, 4}, 64},
        {SORTED, {40, 50}, 32}, {SORTED, {1, 100}, 32}, {HALF, {25, 8}, 32},
        {MIXED, {25, 4}, 32},
    };
    static int64_t labels[COUNT];
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        struct fdl_mixing m;
        struct fdl_integers list = {labels, COUNT, COUNT, 8};
        struct fdl_mixing_source from = {.labels = &list, .count = COUNT};
        write_labels(labels, cases[i].storage);
        assert_int_equal(
            fdl_mixing_of_blocks(&from, &cases[i].shape, cases[i].batch, &m),
            FEEDLINE_OK);
        struct counted c =
            count_epochs(labels, &cases[i].shape, cases[i].batch);
        assert_near(variance_of(&c, cases[i].batch), m.variance, 0.06);
        assert_near(c.blocks / c.batches, m.blocks, 0.02);
        if (cases[i].shape.samples > 1)
            assert_near(c.same_block / c.pairs, m.same_block, 0.05);
        assert_true(m.same_block >= m.same_block_full);
        assert_true(m.blocks <= m.blocks_full + 1e-6);
    }
}

TEST(limits)
{
    static int64_t labels[COUNT];
    struct fdl_mixing m;
    struct fdl_integers list = {labels, COUNT, COUNT, 8};
    struct fdl_mixing_source from = {.labels = &list, .count = COUNT};
    struct fdl_block_shape all = {10, COUNT}, few = {100, 2};
    write_labels(labels, SORTED);
    assert_int_equal(fdl_mixing_of_blocks(&from, &all, 64, &m), FEEDLINE_OK);
    assert_true(m.variance == 1); /* a full shuffle */
    assert_true(m.blocks == m.blocks_full);
    assert_int_equal(fdl_mixing_of_blocks(&from, &few, 64, &m), FEEDLINE_OK);
    assert_true(m.variance > 10 && m.most > m.variance);
    write_labels(labels, ONE_LABEL);
    assert_int_equal(fdl_mixing_of_blocks(&from, &few, 64, &m), FEEDLINE_OK);
    assert_true(isnan(m.variance) && m.most > 10);
    for (from.count = 1; from.count < 5; from.count++)
        for (uint64_t batch = 1; batch < 5; batch++)
            assert_int_equal(fdl_mixing_of_blocks(&from, &few, batch, &m),
                             FEEDLINE_OK);
}

/* A buffer of k samples holds about k / 200 of the sorted classes. */
TEST(buffers_are_simulated)
{
    static int64_t labels[COUNT];
    static const uint64_t files[] = {0,    500,  1000, 1500,
                                     2000, 2500, 3000, 3500};
    double one, many, sorted;
    struct fdl_integers list = {labels, COUNT, COUNT, 8};
    struct fdl_mixing_source from = {
        .labels = &list, .count = COUNT, .runs = files, .n_runs = 1};
    write_labels(labels, SORTED);
    assert_int_equal(fdl_mixing_of_buffer(&from, 20, 64, &one), FEEDLINE_OK);
    assert_int_equal(fdl_mixing_of_buffer(&from, 1000, 64, &many), FEEDLINE_OK);
    assert_true(one > 20 && many > 2 && many < one / 3);
    from.n_runs = FDL_COUNT_OF(files);
    assert_int_equal(fdl_mixing_of_buffer(&from, 1000, 64, &many), FEEDLINE_OK);
    assert_true(many > 1.5 && many < one / 3);
    assert_int_equal(fdl_mixing_of_buffer(&from, COUNT, 64, &sorted),
                     FEEDLINE_OK);
    assert_true(isnan(sorted));
    assert_int_equal(fdl_mixing_of_buffer(&from, 100, 1, &sorted), FEEDLINE_OK);
    assert_true(isnan(sorted)); /* a batch of one has nothing alike */
    assert_int_equal(fdl_mixing_of_buffer(&from, 0, 64, &sorted), FEEDLINE_OK);
    assert_true(isnan(sorted));
    write_labels(labels, ONE_LABEL);
    assert_int_equal(fdl_mixing_of_buffer(&from, 100, 64, &one), FEEDLINE_OK);
    assert_true(isnan(one)); /* of one kind, and no other */
    write_labels(labels, MIXED);
    assert_int_equal(fdl_mixing_of_buffer(&from, 100, 64, &one), FEEDLINE_OK);
    assert_true(one > 0.7 && one < 1.3);
}

TEST_MAIN("mixing")
