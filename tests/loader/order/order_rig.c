/* SPDX-License-Identifier: Apache-2.0 */
/* Orders that are given, and what has to come of them; see order_rig.h. */
#include "order_rig.h"

#include <feedline/order.h>

/* With repeats the copies of a sample follow each other. */
static void learn(struct order_rig *rig, const char *options, uint64_t seed)
{
    char text[256];
    snprintf(text, sizeof(text),
             "%s workers=1 depth=1 repeats=%u epoch_samples=%u seed=%u "
             "epochs=%u",
             options, ORDER_COPIES, ORDER_COPIES * ORDER_N, (unsigned)seed,
             ORDER_EPOCHS);
    SCOPED_LOADER l = fixture_open(rig->dataset, text);
    for (uint32_t epochs = 0; epochs < ORDER_EPOCHS;) {
        struct feedline_batch_info info = {.struct_size = sizeof(info)};
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_END) {
            epochs++;
            continue;
        }
        assert_ok(feedline_batch_get_info(b, &info));
        for (uint32_t i = 0; i < info.count; i++) {
            uint64_t place = info.position + i;
            uint64_t index = place / ORDER_COPIES;
            rig->expected[seed][info.epoch][index][place % ORDER_COPIES] =
                fixture_hash_sample(FIXTURE_HASH, &info, i);
        }
        feedline_batch_release(b);
    }
}

void order_rig_open(struct order_rig *rig, bool folder, const char *options)
{
    fixture_create(&rig->images, ORDER_N);
    rig->dataset = folder ? rig->images.files : rig->images.ds;
    for (uint64_t seed = 0; seed < ORDER_SEEDS; seed++)
        learn(rig, options, seed);
}

void order_rig_close(struct order_rig *rig)
{
    fixture_remove(&rig->images);
}

feedline_loader *order_loader(const struct order_rig *rig, const char *options)
{
    char text[256];
    snprintf(text, sizeof(text), "order=given %s", options);
    return fixture_open(rig->dataset, text);
}

int32_t order_append(feedline_loader *l, const struct order_batch *b)
{
    return feedline_loader_append(l, b->indices, b->copies, b->count);
}

struct order_batch order_row(uint64_t first, uint64_t step, uint32_t count)
{
    struct order_batch b = {.count = count};
    for (uint32_t i = 0; i < count; i++)
        b.indices[i] = (first + i * step) % ORDER_N;
    return b;
}

void order_check(const struct order_rig *rig, const feedline_batch *b,
                 const struct order_batch *given, uint64_t seed, uint64_t epoch)
{
    struct feedline_batch_info info = {.struct_size = sizeof(info)};
    assert_ok(feedline_batch_get_info(b, &info));
    assert_int_equal(info.count, given->count);
    assert_int_equal(info.epoch, epoch);
    for (uint32_t i = 0; i < info.count; i++) {
        uint64_t index = given->indices[i];
        assert_int_equal(info.sample_index[i], index);
        assert_true(fixture_hash_sample(FIXTURE_HASH, &info, i) ==
                    rig->expected[seed][epoch][index][given->copies[i]]);
    }
}

void order_take(const struct order_rig *rig, feedline_loader *l,
                const struct order_batch *given, uint64_t seed, uint64_t epoch)
{
    feedline_batch *b;
    int32_t status = feedline_loader_next(l, -1, &b);
    assert_ok(status);
    assert_int_equal(status, FEEDLINE_OK);
    order_check(rig, b, given, seed, epoch);
    feedline_batch_release(b);
}
