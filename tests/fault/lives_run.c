/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that end before their epoch does: saved and resumed, stopped, destroyed
 * while batches are held, restarted, and given by the program. */
#include "lives.h"

#include <feedline/order.h>

#define KINDS (KIND(MEMORY) | KIND(THREAD) | KIND(OPEN) | KIND(READ))

/* ---- Resuming ----------------------------------------------------------- */

static int32_t open_loader(const char *options, feedline_loader **out)
{
    return trial_loader(fault_images.files, NULL, FAULT_OPERATIONS, options,
                        out);
}

static int32_t first_half(char *state, size_t bytes)
{
    feedline_loader *l = NULL;
    uint64_t needed;
    int32_t status = open_loader(FAULT_OPTIONS "reader=pread", &l);
    for (int i = 0; i < 2; i++)
        TRY(status, trial_take(l));
    TRY(status, feedline_loader_save(l, state, bytes, &needed));
    feedline_loader_destroy(l);
    return status;
}

static int32_t resume(void)
{
    char state[256];
    feedline_loader *l = NULL;
    int32_t status = first_half(state, sizeof(state));
    if (status >= 0)
        status = open_loader(FAULT_OPTIONS "reader=pread workers=1", &l);
    TRY(status, feedline_loader_restore(l, state));
    if (status >= 0)
        status = trial_epoch(l);
    fault_end(l);
    return status;
}

const struct scenario fault_resume = {
    .name = "resume",
    .what = "half an epoch, saved; another loader goes on",
    .kinds = KINDS,
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = resume};

/* ---- Stopping, and destroying what is in use ---------------------------- */

static void check_held(feedline_batch *b)
{
    struct feedline_batch_info info = fixture_info(b);
    trial_check(&info);
    feedline_batch_release(b);
}

/* A knob that cannot be raised is no end. */
static void turn_knobs(feedline_loader *l)
{
    (void)feedline_loader_set_int(l, "workers", 3);
    (void)feedline_loader_set_int(l, "depth", 5);
    (void)feedline_loader_set_int(l, "io_depth", 7);
}

static int32_t stop(void)
{
    feedline_loader *l = NULL;
    feedline_batch *before = NULL, *after = NULL;
    int32_t status = open_loader(FAULT_OPTIONS "reader=pread", &l);
    TRY(status, feedline_loader_start(l, 1));
    TRY(status, trial_next(l, &before));
    if (l)
        turn_knobs(l);
    TRY(status, feedline_loader_stop(l));
    TRY(status, feedline_loader_set_position(l, 0, 4));
    TRY(status, trial_next(l, &after));
    TRY(status, trial_take(l));
    fault_end(l);
    if (before)
        check_held(before);
    if (after)
        check_held(after);
    return status;
}

const struct scenario fault_stop = {
    .name = "stop",
    .what = "start, knobs, stop, another position; destroyed while two batches "
            "are held",
    .kinds = KINDS,
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = stop};

/* ---- An order of the program's ------------------------------------------ */

#define GIVEN 5u

static int32_t append_all(feedline_loader *l)
{
    int32_t status = trial_note(feedline_loader_begin(l, 0, 0, 0));
    for (uint64_t i = 0; i < GIVEN; i++) {
        uint64_t indices[4] = {i, i + 3, i + 5, i + 7};
        TRY(status, feedline_loader_append(l, indices, NULL, 4));
    }
    TRY(status, feedline_loader_end(l));
    return status;
}

static int32_t keep_all(feedline_loader *l)
{
    feedline_batch *kept[GIVEN];
    uint32_t n = 0;
    int32_t status = append_all(l);
    while (status >= 0 && n < GIVEN) {
        status = trial_next(l, &kept[n]);
        n += status == FEEDLINE_OK;
    }
    for (uint32_t i = 0; i < n; i++)
        check_held(kept[i]);
    return status;
}

static int32_t given(void)
{
    feedline_loader *l = NULL;
    int32_t status =
        open_loader("order=given held=grow dtype=u8 batch_size=4 workers=2 "
                    "depth=2 tuner=off live=false reader=pread",
                    &l);
    if (status >= 0)
        status = keep_all(l);
    if (trial_goes_on() && l && keep_all(l) < 0)
        fail_msg("used on: %s", feedline_last_error());
    feedline_loader_destroy(l);
    return status;
}

const struct scenario fault_given = {
    .name = "given",
    .what = "an order that the program gives, all batches held",
    .kinds = KINDS,
    .setup = fault_images_make,
    .teardown = fault_images_remove,
    .life = given};
