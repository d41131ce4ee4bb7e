/* SPDX-License-Identifier: Apache-2.0 */
/* isolate=decode: the stream is the same, whatever the settings; and a decoder
 * that is killed costs the sample that it had. */
#include "tests/decode/isolate/decoders.h"
#include "tests/loader/fixture.h"

#define N 40

static struct fixture images;

static void setup(void)
{
    decoders_need_seccomp();
    setenv("FEEDLINE_DECODE_PROGRAM", TEST_DECODE_PROGRAM, 1);
    fixture_create(&images, N);
}

static void teardown(void)
{
    fixture_remove(&images);
}

static uint64_t hash_of(feedline_dataset *ds, const char *options)
{
    SCOPED_LOADER l = fixture_open(ds, options);
    return fixture_run(l, 2);
}

TEST_WITH(streams_are_the_same, setup, teardown)
{
    uint64_t memory = hash_of(images.ds, "workers=1 shuffle=true");
    uint64_t files = hash_of(images.files, "workers=1 shuffle=true");
    static const char *const ways[] = {
        "workers=1 shuffle=true isolate=decode",
        "workers=3 shuffle=true isolate=decode",
        "workers=2 shuffle=true isolate=decode jpeg_index=true",
        "workers=2 shuffle=true isolate=decode reader=memory",
        "workers=2 shuffle=true isolate=decode tuner=auto",
    };
    for (size_t i = 0; i < FDL_COUNT_OF(ways); i++) {
        assert_int_equal(hash_of(images.ds, ways[i]), memory);
        assert_int_equal(hash_of(images.files, ways[i]), files);
    }
    pid_t found;
    assert_int_equal(decoders_find(getpid(), true, &found, 1), 0);
}

TEST_WITH(and_while_workers_come_and_go, setup, teardown)
{
    const char *options = "batch_size=4 shuffle=true epochs=3 tuner=off";
    SCOPED_LOADER plain = fixture_open(images.files, options);
    uint64_t hash = FIXTURE_HASH, expected = fixture_run(plain, 3);
    SCOPED_LOADER l =
        fixture_open(images.files, "batch_size=4 shuffle=true epochs=3 "
                                   "tuner=off workers=1 isolate=decode");
    for (uint32_t i = 0, ended = 0; ended < 3; i++) {
        feedline_batch *b;
        int32_t status = feedline_loader_next(l, -1, &b);
        assert_ok(status);
        if (status == FEEDLINE_OK)
            fixture_consume(b, &hash);
        ended += status == FEEDLINE_END;
        assert_ok(feedline_loader_set_int(l, "workers", 1 + i % 4));
    }
    assert_int_equal(hash, expected);
}

TEST_WITH(a_state_goes_on_with_it, setup, teardown)
{
    char state[512];
    uint64_t needed;
    SCOPED_LOADER plain = fixture_open(images.files, "shuffle=true epochs=1");
    fixture_pass(plain, 1);
    assert_ok(feedline_loader_save(plain, state, sizeof(state), &needed));
    uint64_t rest = fixture_run(plain, 1);
    SCOPED_LOADER l =
        fixture_open(images.files, "shuffle=true epochs=1 isolate=decode");
    assert_ok(feedline_loader_restore(l, state));
    assert_int_equal(fixture_run(l, 1), rest);
}

/* Until the only worker waits for a decoder that is stopped. */
static void take_until_stuck(feedline_loader *l)
{
    feedline_batch *b;
    int32_t status;
    kill(decoders_only(), SIGSTOP);
    while ((status = feedline_loader_next(l, 300000000, &b)) !=
           FEEDLINE_TIMEOUT) {
        assert_ok(status);
        if (status == FEEDLINE_OK)
            feedline_batch_release(b);
    }
}

TEST_WITH(a_killed_decoder_costs_one_sample, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(
        images.files, "workers=1 batch_size=4 depth=2 on_error=zero epochs=4 "
                      "tuner=off isolate=decode");
    struct feedline_failure f = {.struct_size = sizeof(f)};
    fixture_pass(l, 1);
    take_until_stuck(l);
    kill(decoders_only(), SIGKILL);
    fixture_run(l, 1);
    assert_int_equal(feedline_loader_failure_count(l), 1);
    assert_ok(feedline_loader_get_failure(l, 0, &f));
    assert_int_equal(f.status, FEEDLINE_EDECODE);
    assert_non_null(strstr(f.path, ".jpg"));
    assert_non_null(strstr(f.reason, "the decoder of this file was killed by "
                                     "SIGKILL"));
}

TEST_WITH(a_program_that_is_missing_is_an_error, setup, teardown)
{
    SCOPED_LOADER l = fixture_open(images.files, "isolate=decode");
    feedline_batch *b;
    setenv("FEEDLINE_DECODE_PROGRAM", "/nowhere/feedline-decode", 1);
    assert_error(feedline_loader_next(l, -1, &b), FEEDLINE_EIO,
                 "/nowhere/feedline-decode");
    setenv("FEEDLINE_DECODE_PROGRAM", TEST_DECODE_PROGRAM, 1);
    fixture_pass(l, 1);
}

TEST_MAIN("isolation")
