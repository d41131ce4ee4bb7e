/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a job file. It is loaded for [global] alone and for [train]; a
 * file that is refused changes nothing and is named with the line.
 */
#include "fuzz.h"
#include "tests/base/option_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void load(const char *path, const char *section)
{
    struct fdl_options o;
    fuzz_check(fdl_options_init(&o, "job", test_table, N_ROWS) == FEEDLINE_OK);
    char *before = fuzz_options_json(&o);
    int32_t status = fdl_options_load(&o, path, section);
    char *after = fuzz_options_json(&o);
    if (status != FEEDLINE_OK) {
        fuzz_check_error(status);
        fuzz_check(strstr(fdl_last_error(), path));
        fuzz_check(strcmp(before, after) == 0);
    }
    free(before);
    free(after);
    fdl_options_fini(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_BYTES];
    int fd = fuzz_file(data, size, path);
    load(path, NULL);
    load(path, "train");
    close(fd);
    return 0;
}
