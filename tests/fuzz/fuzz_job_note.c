/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what other ranks of a job say. What is read can be written, and
 * then says the same to whoever reads it.
 */
#include "base/status.h"
#include "fuzz.h"
#include "loader/tune/job_note.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_again(const struct fdl_tuner_job *job)
{
    struct fdl_tuner_job again;
    char line[256];
    uint64_t needed = 0;
    fuzz_check(fdl_job_note_write(job, line, sizeof(line), &needed) ==
               FEEDLINE_OK);
    fuzz_check(needed <= sizeof(line));
    int32_t status = fdl_job_notes_read(line, &again);
    if (job->ranks == 0 || job->ranks > 1u << 20) {
        fuzz_check(status < 0); /* of nobody, or of all lines together */
        return;
    }
    fuzz_check(status == FEEDLINE_OK && again.ranks == job->ranks);
    fuzz_check(again.most.depth == job->most.depth &&
               again.most.io_depth == job->most.io_depth);
    fuzz_check(fabs(again.step_ns - job->step_ns) < 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fdl_tuner_job job = {.ranks = 77}, before = job;
    char *text = fuzz_text(&in, FUZZ_REST);
    int32_t status = fdl_job_notes_read(text, &job);
    if (status < 0) {
        fuzz_check_error(status);
        fuzz_check(memcmp(&job, &before, sizeof(job)) == 0);
    } else {
        fuzz_check(isfinite(job.stall) && job.stall >= 0);
        check_again(&job);
    }
    free(text);
    return 0;
}
