/* SPDX-License-Identifier: Apache-2.0 */
/* Lives that do wrong when a call fails: each is told of, and a right one is
 * not. */
#include "trial.h"

#include <unistd.h>

static enum wrong {
    NOTHING,
    LEAK,
    DESCRIPTOR,
    STATUS,
    WORDS,
    PIXELS,
    HALF,
    ANOTHER,
    KINDS_OF_WRONG
} wrong;

/* What lives left, for the end: a sanitizer looks as well. */
static void *leaked[16];
static uint32_t n_leaked;

/* Two samples of three bytes, as a loader would deliver them. */
static void deliver(bool failed)
{
    uint8_t pixels[] = {1, 2, 3, 4, 5, 6};
    int64_t labels[] = {7, 8}, index[] = {0, 1};
    const int32_t status[2] = {FEEDLINE_OK, FEEDLINE_OK};
    struct feedline_batch_info info = {
        .count = failed && wrong == HALF ? 1 : 2,
        .images = {.data = pixels, .dtype = FEEDLINE_U8, .stride = {3}},
        .labels = {.data = labels},
        .sample_index = index,
        .sample_status = status};
    if (failed && wrong == PIXELS)
        pixels[4] = 0;
    if (failed && wrong == ANOTHER)
        index[1] = 0;
    trial_check(&info);
}

static int32_t life(void)
{
    void *a = malloc(8), *b = malloc(8);
    bool failed = !a || !b;
    const char *words = wrong == WORDS ? "" : "out of memory";
    int32_t status = FEEDLINE_OK;
    deliver(failed);
    if (failed)
        status = trial_note_as(
            wrong == STATUS ? FEEDLINE_EDECODE : FEEDLINE_ENOMEM, words);
    if (failed && wrong == DESCRIPTOR)
        (void)!dup(STDERR_FILENO);
    if (failed && wrong == LEAK)
        leaked[n_leaked++] = a;
    else
        free(a);
    free(b);
    return status;
}

static const char *make(void)
{
    return NULL;
}

static void remove_nothing(void)
{
}

static uint32_t told_of(enum wrong what)
{
    static const struct scenario s = {.name = "planted",
                                      .kinds = KIND(MEMORY),
                                      .setup = make,
                                      .teardown = remove_nothing,
                                      .life = life};
    static const struct plan plan = {.part = 1, .kinds = UINT32_MAX};
    struct tally tallies[INJECT_KINDS] = {{0}};
    uint32_t before = trial_failures();
    n_leaked = 0;
    wrong = what;
    assert_null(trial_play(&s, &plan, tallies));
    for (uint32_t i = 0; i < n_leaked; i++)
        free(leaked[i]);
    assert_int_equal(tallies[INJECT_MEMORY].once, 2);
    assert_int_equal(tallies[INJECT_MEMORY].lasting, 2);
    assert_int_equal(tallies[INJECT_MEMORY].errors, 4);
    return trial_failures() - before;
}

TEST(what_is_right_is_not_told_of)
{
    assert_int_equal(told_of(NOTHING), 0);
}

TEST(what_is_wrong_is_told_of)
{
    for (int w = NOTHING + 1; w < KINDS_OF_WRONG; w++)
        if (told_of((enum wrong)w) == 0)
            fail_msg("number %d is not told of", w);
}

TEST_MAIN("trial")
