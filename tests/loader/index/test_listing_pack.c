/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listing that is kept and taken back is the same; one that was damaged is
 * refused, or what it says still lies in the shard.
 */
#include "loader/index/listing_pack.h"
#include "test.h"

#define SIZE  10000u /* bytes of the shard */
#define COUNT 5u

static struct fdl_field_set fields;

static void make(struct fdl_listing *l)
{
    static const struct fdl_sum sum = {.kind = FDL_SUM_CRC32, .value = 7};
    memset(&fields, 0, sizeof(fields));
    assert_int_equal(fdl_field_set_parse(&fields, "json,box"), FEEDLINE_OK);
    *l = (struct fdl_listing){.fields = &fields};
    for (uint64_t i = 0; i < COUNT; i++) {
        char name[16];
        uint64_t at = 1000 + 1500 * i;
        snprintf(name, sizeof(name), "n%u/%u.jpg", (unsigned)i % 2,
                 (unsigned)i);
        assert_int_equal(fdl_listing_add(l, name, at, 1000), FEEDLINE_OK);
        fdl_listing_sum(l, sum, at - 8, at + 1000 + 4);
        assert_int_equal(fdl_listing_class(l, i % 2 ? "cat" : "ant"),
                         FEEDLINE_OK);
        assert_int_equal(
            fdl_listing_part(l, 0, FEEDLINE_FIELD_JSON, at + 1100, 100),
            FEEDLINE_OK);
        fdl_listing_part_sum(l, 0, sum);
        assert_int_equal(fdl_listing_cell(l, 1, FEEDLINE_FIELD_INT, i),
                         FEEDLINE_OK);
    }
    fdl_listing_odd(l, "no label", "a/b.txt");
    fdl_listing_odd(l, "no image", "a/c.txt");
    fdl_listing_odd(l, "no label", "a/d.txt");
}

static bool take(const uint8_t *data, uint64_t bytes, struct fdl_listing *l)
{
    *l = (struct fdl_listing){.fields = &fields};
    return fdl_listing_unpack(data, bytes, SIZE, l);
}

TEST(what_was_kept_is_taken_back)
{
    struct fdl_listing l, again;
    uint8_t *data;
    uint64_t bytes;
    make(&l);
    assert_int_equal(fdl_listing_pack(&l, &data, &bytes), FEEDLINE_OK);
    assert_true(take(data, bytes, &again));
    assert_int_equal(again.count, COUNT);
    assert_int_equal(again.labels, FDL_LABEL_CLASS);
    assert_int_equal(again.classes.names.n, 2);
    assert_int_equal(again.n_oddities, 2);
    assert_string_equal(again.oddities[0].what, "no label");
    assert_int_equal(again.oddities[0].count, 2);
    assert_string_equal(again.oddities[0].first, "a/b.txt");
    for (uint64_t i = 0; i < COUNT; i++) {
        const struct fdl_listed *a = &l.samples[i], *b = &again.samples[i];
        assert_int_equal(a->offset, b->offset);
        assert_int_equal(a->length, b->length);
        assert_int_equal(a->label, b->label);
        assert_int_equal(b->sum.before, 8);
        assert_int_equal(b->sum.after, 4);
        assert_string_equal(l.names.text + a->name_at,
                            again.names.text + b->name_at);
    }
    assert_memory_equal(l.cells, again.cells,
                        COUNT * fields.n * sizeof(*l.cells));
    fdl_listing_free(&again);
    fdl_listing_free(&l);
    free(data);
}

/* Nothing that a listing says is outside. */
static void check_inside(const struct fdl_listing *l)
{
    assert_true(l->labelled <= l->count);
    for (uint64_t i = 0; i < l->count; i++) {
        const struct fdl_listed *s = &l->samples[i];
        assert_true(s->offset <= SIZE && s->length <= SIZE - s->offset);
        assert_true(s->name_at < l->names.bytes);
        if (l->labels == FDL_LABEL_CLASS && i < l->labelled)
            assert_in_range((uint64_t)s->label, 0, l->classes.names.n - 1);
        if (!l->summed)
            continue;
        assert_true(s->sum.sum.kind <= FDL_SUM_MASKED);
        assert_true(s->sum.before <= s->offset);
        assert_true(s->sum.after <= SIZE - s->offset - s->length);
    }
    for (uint64_t i = 0; l->cells && i < l->count * fields.n; i++) {
        const struct fdl_cell *c = &l->cells[i];
        assert_int_equal(c->file, 0);
        if (l->kinds[i % fields.n] <= FEEDLINE_FIELD_JSON)
            assert_true(c->word <= SIZE && c->length <= SIZE - c->word);
    }
    assert_true(l->n_oddities <= FDL_ODDITIES);
}

/* Every byte in turn becomes another; and every end comes early. */
TEST(a_damaged_one_is_refused_or_sound)
{
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    struct fdl_listing l;
    uint8_t *data;
    uint64_t bytes, refused = 0, taken = 0;
    make(&l);
    assert_int_equal(fdl_listing_pack(&l, &data, &bytes), FEEDLINE_OK);
    fdl_listing_free(&l);
    for (uint64_t at = 0; at < bytes; at++) {
        uint8_t was = data[at];
        for (size_t i = 0; i < sizeof(values); i++) {
            data[at] = values[i];
            if (take(data, bytes, &l)) {
                check_inside(&l);
                fdl_listing_free(&l);
                taken++;
            } else {
                assert_null(l.samples);
                refused++;
            }
        }
        data[at] = was;
        assert_false(take(data, at, &l));
    }
    assert_true(refused > bytes && taken > bytes);
    free(data);
}

TEST_MAIN("listing_pack")
