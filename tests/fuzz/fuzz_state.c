/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a saved position. What is accepted can be written again, in less
 * than the 256 bytes that the public header promises, and means the same.
 */
#include "base/status.h"
#include "fuzz.h"
#include "loader/order/state.h"

#include <stdlib.h>

#define STATE_BYTES 256

static void check_round_trip(const struct fdl_state *s)
{
    char text[STATE_BYTES];
    uint64_t needed;
    struct fdl_state again;
    fuzz_check(fdl_state_write(s, text, sizeof(text), &needed) == FEEDLINE_OK);
    fuzz_check(needed <= sizeof(text));
    fuzz_check(fdl_state_read(text, &again) == FEEDLINE_OK);
    fuzz_check(fdl_state_check(&again, s) == FEEDLINE_OK);
    fuzz_check(again.epoch == s->epoch && again.position == s->position);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fdl_state s;
    char *text = fuzz_text(&in, FUZZ_REST);
    int32_t status = fdl_state_read(text, &s);
    if (status == FEEDLINE_OK)
        check_round_trip(&s);
    else
        fuzz_check_error(status);
    free(text);
    return 0;
}
