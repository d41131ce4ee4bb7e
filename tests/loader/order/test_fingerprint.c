/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks have to agree on: written by loaders, compared as text. */
#include "base/status.h"
#include "tests/loader/fixture.h"

#include <feedline/job.h>
#include <feedline/order.h>

#include <unistd.h>

FIXTURE_IMAGES(12)

#define RANKS 5u

static char lines[RANKS][FEEDLINE_JOB_BYTES];

static void ask(char *line, feedline_dataset *ds, const char *options)
{
    uint64_t needed;
    SCOPED_LOADER l = fixture_open(ds, options);
    assert_ok(
        feedline_loader_fingerprint(l, line, FEEDLINE_JOB_BYTES, &needed));
    assert_int_equal(needed, strlen(line) + 1);
}

/* Of a job of n ranks, whose options are all alike. */
static void ask_all(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        char options[96];
        snprintf(options, sizeof(options),
                 "world=%u rank=%u seed=7 batch_size=2", n, i);
        ask(lines[i], images.ds, options);
    }
}

static int32_t compare(uint32_t n)
{
    return feedline_job_compare(lines[0], sizeof(lines[0]), n);
}

static void refused(uint32_t n, const char *a, const char *b)
{
    assert_int_equal(compare(n), FEEDLINE_EINVAL);
    if (!strstr(feedline_last_error(), a) || !strstr(feedline_last_error(), b))
        fail_msg("%s: neither %s nor %s", feedline_last_error(), a, b);
}

TEST_WITH(ranks_that_agree, setup, teardown)
{
    ask_all(3);
    assert_ok(compare(3));
    char first[FEEDLINE_JOB_BYTES];
    memcpy(first, lines[0], sizeof(first));
    memcpy(lines[0], lines[2], sizeof(first));
    memcpy(lines[2], first, sizeof(first));
    assert_ok(compare(3));
    ask(lines[0], images.ds, "");
    assert_ok(compare(1));
}

/* The one that differs from most, whichever it is, and the lowest other. */
TEST_WITH(the_odd_one_is_named, setup, teardown)
{
    for (uint32_t odd = 0; odd < 4; odd++) {
        char options[96], a[64], b[64];
        ask_all(4);
        snprintf(options, sizeof(options),
                 "world=4 rank=%u seed=8 batch_size=2", odd);
        ask(lines[odd], images.ds, options);
        snprintf(a, sizeof(a), "rank %u has seed=8 (process %d on ", odd,
                 (int)getpid());
        snprintf(b, sizeof(b), "rank %u has seed=7 (", odd == 0 ? 1 : 0);
        refused(4, a, b);
    }
}

TEST_WITH(each_thing_that_counts, setup, teardown)
{
    static const struct {
        const char *options, *says[2];
    } other[] = {
        {"seed=7 batch_size=3", {"batch_size=2", "batch_size=3"}},
        {"seed=7 batch_size=2 drop_last=true",
         {"drop_last=false", "drop_last=true"}},
        {"seed=7 batch_size=2 shuffle=false",
         {"shuffle=true", "shuffle=false"}},
        {"seed=7 batch_size=2 shuffle=block block=2 lanes=2",
         {"shuffle=true", "shuffle=block"}},
        {"seed=7 batch_size=2 shard_tail=pad",
         {"shard_tail=wrap", "shard_tail=pad"}},
        {"seed=7 batch_size=2 repeats=2", {"repeats=1", "repeats=2"}},
        {"seed=7 batch_size=2 epochs=3", {"epochs=0", "epochs=3"}},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(other); i++) {
        char options[128];
        ask_all(2);
        snprintf(options, sizeof(options), "world=2 rank=1 shuffle=true %s",
                 other[i].options);
        ask(lines[0], images.ds, "world=2 seed=7 batch_size=2 shuffle=true");
        ask(lines[1], images.ds, options);
        refused(2, other[i].says[0], other[i].says[1]);
    }
}

/* What is a rank's own: where it runs, how fast, and by what. */
TEST_WITH(what_does_not_count, setup, teardown)
{
    ask(lines[0], images.ds, "world=2 workers=1 depth=2");
    ask(lines[1], images.ds, "world=2 rank=1 workers=2 depth=3 reader=pread");
    assert_ok(compare(2));
}

TEST_WITH(another_data_set, setup, teardown)
{
    struct fixture fewer;
    fixture_create(&fewer, 9);
    ask_all(2);
    ask(lines[1], fewer.ds, "world=2 rank=1 seed=7 batch_size=2");
    refused(2, "rank 0 has samples=12", "rank 1 has samples=9");
    fixture_remove(&fewer);
    ask(lines[1], images.files, "world=2 rank=1 seed=7 batch_size=2");
    refused(2, "rank 0 has dataset=", "rank 1 has dataset=");
}

TEST_WITH(another_world, setup, teardown)
{
    ask_all(3);
    ask(lines[1], images.ds, "world=2 rank=1 seed=7 batch_size=2");
    refused(3, "rank 1 has world=2", "rank 0 has world=3");
}

TEST_WITH(a_rank_twice_or_missing, setup, teardown)
{
    ask_all(3);
    memcpy(lines[2], lines[1], sizeof(lines[0]));
    refused(3, "two processes of this job are rank 1: process ", " on ");
    ask_all(3);
    refused(2, "2 of the 3 ranks", "missing: 2");
    memcpy(lines[0], lines[2], sizeof(lines[0]));
    refused(2, "2 of the 3 ranks", "missing: 0");
    ask_all(2);
    memcpy(lines[2], lines[1], sizeof(lines[0]));
    refused(3, "two processes of this job are rank 1", "");
}

/* Resumed by one rank and not by the other. */
TEST_WITH(another_position, setup, teardown)
{
    uint64_t needed;
    ask_all(2);
    SCOPED_LOADER l =
        fixture_open(images.ds, "world=2 rank=1 seed=7 batch_size=2");
    assert_ok(feedline_loader_set_position(l, 1, 4));
    assert_ok(
        feedline_loader_fingerprint(l, lines[1], sizeof(lines[1]), &needed));
    refused(2, "rank 0 has epoch=0", "rank 1 has epoch=1");
}

/* The program's order is the program's to compare. */
TEST_WITH(an_order_of_the_program, setup, teardown)
{
    ask(lines[0], images.ds, "order=given batch_size=2");
    assert_null(strstr(lines[0], "seed="));
    assert_non_null(strstr(lines[0], "dataset="));
    assert_ok(compare(1));
}

TEST_WITH(what_is_no_fingerprint, setup, teardown)
{
    static const char *const bad[] = {
        "",
        "feedline_rank=",
        "feedline_rank=1",
        "feedline_rank=x world=2",
        "feedline_rank=1 world=-2",
        "feedline_rank=1 world=99999999999",
        "rank=1 world=2",
    };
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        ask_all(2);
        strcpy(lines[1], bad[i]);
        refused(2, "text 1 of 2 is no fingerprint", "");
    }
    ask_all(2);
    memset(lines[1], ' ', sizeof(lines[1])); /* no end */
    refused(2, "text 1 of 2 is no fingerprint", "");
    strcpy(lines[1], "feedline_rank=7 world=2");
    refused(2, "rank 7 of 2", "from 0");
    assert_int_equal(feedline_job_compare(NULL, 1, 1), FEEDLINE_EINVAL);
    refused(0, "no fingerprints", "");
}

TEST_WITH(buffers, setup, teardown)
{
    char text[8];
    uint64_t needed;
    SCOPED_LOADER l = fixture_open(images.ds, "");
    assert_ok(feedline_loader_fingerprint(l, NULL, 0, &needed));
    assert_true(needed > 100 && needed < FEEDLINE_JOB_BYTES);
    assert_int_equal(
        feedline_loader_fingerprint(l, text, sizeof(text), &needed),
        FEEDLINE_ERANGE);
    assert_int_equal(feedline_loader_fingerprint(l, text, 1, NULL),
                     FEEDLINE_EINVAL);
}

TEST_MAIN("fingerprint")
