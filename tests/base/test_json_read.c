/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the JSON writer writes, read by jansson, which is strict about UTF-8:
 * random bytes as keys and strings, random doubles, random nesting.
 */
#include "base/json.h"
#include "base/philox.h"
#include "base/status.h"
#include "test.h"

#include <jansson.h>
#include <math.h>

#define TEXT_BYTES 65536

static char text[TEXT_BYTES];

static json_t *read_back(struct fdl_json *j)
{
    uint64_t needed;
    json_error_t error;
    assert_int_equal(fdl_json_finish(j, &needed), FEEDLINE_OK);
    json_t *root =
        json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("%s at %d in %s", error.text, error.position, text);
    return root;
}

TEST(doubles_come_back_equal)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 0, 0);
    for (int i = 0; i < 5000; i++) {
        uint64_t bits = (uint64_t)fdl_rng_u32(&rng) << 32 | fdl_rng_u32(&rng);
        double value;
        struct fdl_json j;
        memcpy(&value, &bits, sizeof(value));
        fdl_json_init(&j, text, sizeof(text));
        fdl_json_double(&j, NULL, value);
        json_t *root = read_back(&j);
        if (isfinite(value))
            assert_true(json_number_value(root) == value);
        else
            assert_true(json_is_null(root));
        json_decref(root);
    }
}

static void random_text(struct fdl_rng *rng, char *buf, uint32_t capacity)
{
    uint32_t length = fdl_rng_below(rng, capacity);
    uint32_t range = fdl_rng_below(rng, 2) ? 255 : 127;
    for (uint32_t i = 0; i < length; i++)
        buf[i] = (char)(1 + fdl_rng_below(rng, range));
    buf[length] = '\0';
}

TEST(any_bytes_are_valid_text)
{
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 0, 1);
    for (int i = 0; i < 5000; i++) {
        char key[32], value[128];
        struct fdl_json j;
        random_text(&rng, key, sizeof(key));
        random_text(&rng, value, sizeof(value));
        fdl_json_init(&j, text, sizeof(text));
        fdl_json_begin_object(&j, NULL);
        fdl_json_string(&j, key, value);
        fdl_json_end_object(&j);
        json_t *root = read_back(&j);
        const char *back =
            json_string_value(json_object_iter_value(json_object_iter(root)));
        assert_non_null(back);
        bool plain = true;
        for (const char *s = value; *s; s++)
            plain = plain && !((unsigned char)*s & 0x80);
        if (plain)
            assert_string_equal(back, value);
        json_decref(root);
    }
}

/* Writes a value of random kind, and the same one for jansson. */
static json_t *write_any(struct fdl_rng *rng, struct fdl_json *j,
                         const char *key, uint32_t depth)
{
    int64_t number = (int32_t)fdl_rng_u32(rng);
    json_t *node;
    switch (fdl_rng_below(rng, depth < 5 ? 6 : 4)) {
    case 0:
        fdl_json_int(j, key, number);
        return json_integer(number);
    case 1:
        fdl_json_bool(j, key, number & 1);
        return json_boolean(number & 1);
    case 2:
        fdl_json_null(j, key);
        return json_null();
    case 3:
        fdl_json_string(j, key, "\xe2\x82\xac \"\\\x02");
        return json_string("\xe2\x82\xac \"\\\x02");
    case 4:
        node = json_array();
        fdl_json_begin_array(j, key);
        for (uint32_t n = fdl_rng_below(rng, 5); n > 0; n--)
            json_array_append_new(node, write_any(rng, j, NULL, depth + 1));
        fdl_json_end_array(j);
        return node;
    default:
        node = json_object();
        fdl_json_begin_object(j, key);
        for (uint32_t n = fdl_rng_below(rng, 5); n > 0; n--) {
            char name[16];
            snprintf(name, sizeof(name), "k%u", n);
            json_object_set_new(node, name, write_any(rng, j, name, depth + 1));
        }
        fdl_json_end_object(j);
        return node;
    }
}

TEST(any_nesting_comes_back_equal)
{
    struct fdl_rng rng;
    uint64_t seed = test_seed();
    for (uint32_t i = 0; i < 2000; i++) {
        struct fdl_json j;
        fdl_rng_init(&rng, seed, 0, i, 2);
        fdl_json_init(&j, text, sizeof(text));
        json_t *expected = write_any(&rng, &j, NULL, 0);
        json_t *root = read_back(&j);
        assert_true(json_equal(root, expected));
        json_decref(root);
        json_decref(expected);
    }
}

TEST_MAIN("base_json_read")
