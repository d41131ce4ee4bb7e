/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that bring their own steps. */
#include "lives.h"
#include "tests/loader/stream/recorded_rig.h"

#define OPTIONS                                                                \
  "io_depth=3 workers=2 depth=2 batch_size=4 drop_last=false tuner=off "       \
  "live=false epochs=1 "

static struct recorded_rig rig;

static const char *setup(void)
{
    recorded_open(&rig);
    rig.source.flags |= FEEDLINE_SOURCE_IN_ORDER;
    return NULL;
}

static void teardown(void)
{
    recorded_close(&rig);
}

/* An epoch to its end, or to the first error. */
static int32_t run(feedline_loader *l)
{
    int32_t status = trial_note(feedline_loader_start(l, 0));
    for (uint64_t ticket = 0; status == FEEDLINE_OK; ticket++) {
        feedline_batch *b;
        status = trial_next(l, &b);
        if (status == FEEDLINE_OK)
            assert_int_equal(recorded_check(&rig, b, ticket), 0);
    }
    assert_int_equal(feedline_loader_stop(l), FEEDLINE_OK);
    recorded_forget(&rig);
    return status;
}

static int32_t life(const char *options)
{
    feedline_dataset *ds = NULL;
    feedline_loader *l = NULL;
    int32_t status = trial_note(feedline_dataset_open_source(&rig.source, &ds));
    if (status >= 0)
        status = trial_loader(ds, NULL, "", options, &l);
    if (status >= 0)
        status = run(l);
    if (trial_goes_on() && l)
        assert_int_equal(run(l), FEEDLINE_END);
    feedline_loader_destroy(l);
    feedline_dataset_close(ds);
    return status;
}

static int32_t recorded_pread(void)
{
    return life(OPTIONS "reader=pread");
}

static int32_t recorded_memory(void)
{
    return life(OPTIONS "reader=memory");
}

#define KINDS                                                                  \
  (KIND(MEMORY) | KIND(OPEN) | KIND(STAT) | KIND(READ) | KIND(SHORT))

const struct scenario fault_recorded_pread = {
    .name = "recorded_pread",
    .what = "samples with steps of their own, read by threads",
    .kinds = KINDS | KIND(THREAD),
    .setup = setup,
    .teardown = teardown,
    .life = recorded_pread};

const struct scenario fault_recorded_memory = {.name = "recorded_memory",
                                               .what =
                                                   "the same, read by workers",
                                               .kinds = KINDS,
                                               .setup = setup,
                                               .teardown = teardown,
                                               .life = recorded_memory};
