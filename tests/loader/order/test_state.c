/* SPDX-License-Identifier: Apache-2.0 */
/* The saved position: what is written, what is read back, what is refused. */
#include "base/philox.h"
#include "base/status.h"
#include "loader/order/state.h"
#include "test.h"

static const struct fdl_state example = {
    .fingerprint = 0x0123456789abcdefu,
    .count = 1281167,
    .seed = 42,
    .shuffle = true,
    .repeats = 3,
    .epoch_samples = 1280000,
    .epoch = 3,
    .position = 5120,
};

static const char example_text[] =
    "{\"feedline_state\":1,\"dataset\":\"0123456789abcdef\","
    "\"count\":1281167,\"seed\":42,\"shuffle\":true,\"repeats\":3,"
    "\"epoch_samples\":1280000,\"epoch\":3,\"position\":5120}";

static void assert_same(const struct fdl_state *a, const struct fdl_state *b)
{
    assert_true(a->fingerprint == b->fingerprint);
    assert_true(a->count == b->count);
    assert_true(a->seed == b->seed);
    assert_int_equal(a->shuffle, b->shuffle);
    assert_memory_equal(&a->blocks, &b->blocks, sizeof(a->blocks));
    assert_true(a->repeats == b->repeats);
    assert_true(a->epoch_samples == b->epoch_samples);
    assert_true(a->epoch == b->epoch);
    assert_true(a->position == b->position);
}

static void reads(const char *text, const struct fdl_state *expected)
{
    struct fdl_state s = {0};
    int32_t status = fdl_state_read(text, &s);
    if (status)
        print_error("%s: %s\n", text, fdl_last_error());
    assert_int_equal(status, FEEDLINE_OK);
    assert_same(&s, expected);
}

/* says: part of the error line. */
static void refuses(const char *text, int32_t code, const char *says)
{
    struct fdl_state s = example;
    int32_t status = fdl_state_read(text, &s);
    if (status != code || !strstr(fdl_last_error(), says))
        print_error("%s: %d: %s\n", text, status, fdl_last_error());
    assert_int_equal(status, code);
    assert_non_null(strstr(fdl_last_error(), says));
    assert_same(&s, &example);
}

TEST(text_is_pinned)
{
    char buf[256];
    uint64_t needed = 0;
    assert_int_equal(fdl_state_write(&example, buf, sizeof(buf), &needed),
                     FEEDLINE_OK);
    assert_string_equal(buf, example_text);
    assert_int_equal(needed, sizeof(example_text));
    reads(buf, &example);
}

TEST(largest_values_fit_256_bytes)
{
    struct fdl_state s = {.fingerprint = UINT64_MAX,
                          .count = FDL_SAMPLES_MAX,
                          .seed = UINT64_MAX,
                          .shuffle = FDL_SHUFFLE_BLOCK,
                          .blocks = {FDL_BLOCK_MAX, FDL_LANES_MAX},
                          .repeats = FDL_COPIES_MAX,
                          .epoch_samples = FDL_SAMPLES_MAX * FDL_COPIES_MAX,
                          .epoch = UINT64_C(1) << 62,
                          .position = FDL_SAMPLES_MAX * FDL_COPIES_MAX};
    char buf[256];
    uint64_t needed = 0;
    assert_int_equal(fdl_state_write(&s, buf, sizeof(buf), &needed),
                     FEEDLINE_OK);
    assert_true(needed <= sizeof(buf));
    reads(buf, &s);
}

TEST(size_is_told)
{
    uint64_t needed = 0;
    assert_int_equal(fdl_state_write(&example, NULL, 0, &needed), FEEDLINE_OK);
    assert_int_equal(needed, sizeof(example_text));

    char buf[sizeof(example_text)];
    buf[needed - 1] = 'x';
    assert_int_equal(fdl_state_write(&example, buf, needed - 1, &needed),
                     FEEDLINE_ERANGE);
    assert_int_equal(needed, sizeof(example_text));
    assert_int_equal(buf[needed - 1], 'x');
    assert_int_equal(fdl_state_write(&example, buf, needed, &needed),
                     FEEDLINE_OK);
}

TEST(any_json_of_it_is_read)
{
    reads(" \t\r\n{ \"feedline_state\" : 1 , \"dataset\" : "
          "\"0123456789abcdef\" ,\n \"count\":1281167,\"seed\" :42,"
          "\"shuffle\":\ttrue, \"repeats\":3,\"epoch_samples\": 1280000,"
          "\"epoch\":3, \"position\": 5120 } \n",
          &example);
    reads("{\"position\":5120,\"epoch\":3,\"epoch_samples\":1280000,"
          "\"repeats\":3,\"shuffle\":true,\"seed\":42,"
          "\"count\":1281167,\"dataset\":\"0123456789ABCDEF\","
          "\"feedline_state\":1}",
          &example);
    reads("{\"feedline\\u005fstate\":1,\"d\\u0061taset\":"
          "\"01234567\\u0038\\u0039abcdef\",\"count\":1281167,\"seed\":42,"
          "\"shuffle\":true,\"repeats\":3,\"epoch_samples\":1280000,"
          "\"epoch\":3,\"position\":5120}",
          &example);
}

TEST(unknown_keys_are_ignored)
{
    static const char *const values[] = {
        "0",
        "-1.5e+10",
        "1E5",
        "true",
        "null",
        "\"\\\"}{\\n\"",
        "[]",
        "{}",
        "[1,2]",
        "[[[]],{}]",
        "{\"seed\":[7,{\"epoch\":9}],\"x\":{}}",
        "[ { } , [ \"]\" ] ]",
        "\"\\ud83d\\ude00\"",
    };
    for (size_t i = 0; i < FDL_COUNT_OF(values); i++) {
        char text[512];
        snprintf(text, sizeof(text), "{\"x\":%s,%s", values[i],
                 example_text + 1);
        reads(text, &example);
        snprintf(text, sizeof(text), "%.*s, \"a key of great length\" : %s }",
                 (int)sizeof(example_text) - 2, example_text, values[i]);
        reads(text, &example);
    }
}

TEST(other_versions)
{
    refuses("{\"feedline_state\":2,\"dataset\":[\"changed\"]}", FEEDLINE_EABI,
            "version 2");
    refuses("{\"feedline_state\":0}", FEEDLINE_EINVAL, "version 0");
    refuses("{\"seed\":1}", FEEDLINE_EINVAL, "\"feedline_state\" is missing");
}

TEST(damage_is_named)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "at 0: '{' expected"},
        {"[]", "at 0: '{' expected"},
        {"{\"feedline_state\":1}", "\"dataset\" is missing"},
        {"{\"feedline_state\":1}x", "at 20: text after the end"},
        {"{\"feedline_state\":1,}", "at 20: a string expected"},
        {"{\"feedline_state\" 1}", "at 18: ':' expected"},
        {"{\"feedline_state\":1 \"a\"}", "at 20: ',' or '}' expected"},
        {"{\"feedline_state\":-1}", "at 18: a whole number expected"},
        {"{\"feedline_state\":1.0}", "at 18: a whole number expected"},
        {"{\"feedline_state\":1e0}", "at 18: a whole number expected"},
        {"{\"feedline_state\":01}", "at 18: a whole number expected"},
        {"{\"feedline_state\":\"1\"}", "at 18: a whole number expected"},
        {"{\"feedline_state\":18446744073709551616}", "beyond 64 bits"},
        {"{\"feedline_state\":1,\"shuffle\":1}", "true, false or \"block\""},
        {"{\"feedline_state\":1,\"shuffle\":\"lock\"}", "or \"block\""},
        {"{\"feedline_state\":1,\"dataset\":7}", "a string expected"},
        {"{\"feedline_state\":1,\"dataset\":\"0123\"}", "16 hexadecimal"},
        {"{\"feedline_state\":1,\"dataset\":\"0123456789abcdef0\"}",
         "16 hexadecimal"},
        {"{\"feedline_state\":1,\"dataset\":\"0123456789abcdeg\"}",
         "16 hexadecimal"},
        {"{\"x\":\"\n\"}", "a control character"},
        {"{\"x\":\"\\q\"}", "an escape"},
        {"{\"x\":\"\\u12g4\"}", "four hexadecimal"},
        {"{\"x\":01}", "a value expected"},
        {"{\"x\":1.}", "a value expected"},
        {"{\"x\":1e}", "a value expected"},
        {"{\"x\":nul}", "a value expected"},
        {"{\"x\":[1,]}", "a value expected"},
        {"{\"x\":[1 2]}", "',' or the end"},
        {"{\"x\":{\"a\" 1}}", "':' expected"},
        {"{\"x\":{\"a\":1,}}", "a string expected"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++)
        refuses(bad[i].text, FEEDLINE_EINVAL, bad[i].says);
    refuses(NULL, FEEDLINE_EINVAL, "NULL");

    char deep[200] = "{\"x\":";
    memset(deep + 5, '[', 100);
    refuses(deep, FEEDLINE_EINVAL, "nested too deeply");
}

TEST(every_truncation_is_refused)
{
    char text[sizeof(example_text)];
    for (size_t n = 0; n < sizeof(example_text) - 1; n++) {
        memcpy(text, example_text, n);
        text[n] = '\0';
        refuses(text, FEEDLINE_EINVAL, "not a saved state: at ");
    }
}

/* Random damage to a good text: no crash (the sanitizers watch), and either a
 * clean refusal or a state. The text is on the heap at its exact size, so that
 * reading behind its end is seen. */
TEST(damaged_texts_are_survived)
{
    static const char spice[] = "{}[],:\"\\u0019aeE+-. \n\x80";
    struct fdl_rng rng;
    fdl_rng_init(&rng, test_seed(), 0, 0, 0);
    for (int round = 0; round < 100000; round++) {
        uint32_t length = fdl_rng_below(&rng, sizeof(example_text)) + 1;
        char *text = malloc(length);
        assert_non_null(text);
        memcpy(text, example_text, length);
        text[length - 1] = '\0';
        for (uint32_t k = fdl_rng_below(&rng, 6); k > 0 && length > 1; k--)
            text[fdl_rng_below(&rng, length - 1)] =
                spice[fdl_rng_below(&rng, sizeof(spice) - 1)];
        struct fdl_state s = example;
        int32_t status = fdl_state_read(text, &s);
        assert_true(status == FEEDLINE_OK || status == FEEDLINE_EINVAL ||
                    status == FEEDLINE_EABI);
        if (status)
            assert_same(&s, &example);
        free(text);
    }
}

TEST(block_shuffle_is_pinned)
{
    struct fdl_state block = example, s;
    block.shuffle = FDL_SHUFFLE_BLOCK;
    block.blocks = (struct fdl_block_shape){76, 64};
    char buf[256];
    uint64_t needed;
    assert_int_equal(fdl_state_write(&block, buf, sizeof(buf), &needed),
                     FEEDLINE_OK);
    assert_string_equal(
        buf, "{\"feedline_state\":1,\"dataset\":\"0123456789abcdef\","
             "\"count\":1281167,\"seed\":42,\"shuffle\":\"block\","
             "\"block\":76,\"lanes\":64,\"repeats\":3,"
             "\"epoch_samples\":1280000,\"epoch\":3,\"position\":5120}");
    reads(buf, &block);
    block.count = UINT64_MAX;
    char large[256];
    assert_int_equal(fdl_state_write(&block, large, sizeof(large), &needed),
                     FEEDLINE_OK);
    refuses(large, FEEDLINE_EINVAL, "larger than it can be");
    struct fdl_state beyond[6];
    for (size_t i = 0; i < FDL_COUNT_OF(beyond); i++)
        beyond[i] = example;
    beyond[0].blocks.samples = FDL_BLOCK_MAX + 1;
    beyond[1].blocks.lanes = FDL_LANES_MAX + 1;
    beyond[2].repeats = FDL_COPIES_MAX + 1;
    beyond[3].epoch_samples = FDL_SAMPLES_MAX * FDL_COPIES_MAX + 1;
    beyond[4].position = FDL_SAMPLES_MAX * FDL_COPIES_MAX + 1;
    beyond[5].epoch = (UINT64_C(1) << 62) + 1;
    for (size_t i = 0; i < FDL_COUNT_OF(beyond); i++) {
        beyond[i].shuffle = FDL_SHUFFLE_BLOCK;
        beyond[i].blocks.samples += i == 0 ? 0 : 76;
        beyond[i].blocks.lanes += i == 1 ? 0 : 64;
        assert_int_equal(
            fdl_state_write(&beyond[i], large, sizeof(large), &needed),
            FEEDLINE_OK);
        refuses(large, FEEDLINE_EINVAL, "larger than it can be");
    }
    strstr(buf, "lanes")[0] = 'p';
    refuses(buf, FEEDLINE_EINVAL, "\"lanes\" is missing");
    s = block;
    s.blocks.lanes = 8;
    assert_int_equal(fdl_state_check(&block, &s), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "block=76 lanes=64, this loader"));
}

TEST(check_names_the_difference)
{
    struct fdl_state here = example;
    here.epoch = 9;
    here.position = 0;
    assert_int_equal(fdl_state_check(&example, &here), FEEDLINE_OK);

    here.epoch_samples = 1281167;
    assert_int_equal(fdl_state_check(&example, &here), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "epochs of 1280000 samples"));
    here.repeats = 1;
    assert_int_equal(fdl_state_check(&example, &here), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "repeats=3"));
    here.shuffle = false;
    assert_int_equal(fdl_state_check(&example, &here), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "shuffle=true"));
    here.seed = 43;
    assert_int_equal(fdl_state_check(&example, &here), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "seed 42"));
    here.fingerprint++;
    assert_int_equal(fdl_state_check(&example, &here), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "0123456789abcdef"));
    here.count++;
    assert_int_equal(fdl_state_check(&example, &here), FEEDLINE_EINVAL);
    assert_non_null(strstr(fdl_last_error(), "1281167 samples"));
}

TEST_MAIN("state")
