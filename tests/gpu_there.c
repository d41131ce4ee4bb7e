/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_there COMMAND...: runs the command if the library sees a GPU, else says
 * why not and ends with status 77, which CTest shows as skipped. Any other end
 * is the command's own, so nothing but a missing GPU skips a test.
 *
 * FDL_TEST_GPU=1 says that there is one: then not to see it is a failure.
 */
#include <feedline/feedline.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int32_t n = feedline_device_count();
    if (n <= 0) {
        const char *must = getenv("FDL_TEST_GPU");
        printf("%s: %s\n", must ? "a GPU was promised" : "skipped",
               n < 0 ? feedline_last_error() : "no GPU");
        return must ? 1 : 77;
    }
    if (argc < 2)
        return 0;
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 1;
}
