/* SPDX-License-Identifier: Apache-2.0 */
/* What the double of NVML (nvml_double.c) says, and functions that it lacks;
 * linked with --wrap=dlsym. */
#ifndef FDL_TESTS_NVML_SAYS_H
#define FDL_TESTS_NVML_SAYS_H

#include "test.h"
#include "tests/wrap.h"

#include <dlfcn.h>
#include <unistd.h>

static const char *missing; /* a function that the library does not have */

WRAP(void *, dlsym, void *library, const char *name)
{
    if (missing && strcmp(name, missing) == 0)
        return NULL;
    return __real_dlsym(library, name);
}

static char says[] = "/tmp/fdl_nvml_XXXXXX";

static void say(const char *text)
{
    FILE *f = fopen(says, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void setup_double(void)
{
    memcpy(says + sizeof(says) - 7, "XXXXXX", 6);
    int fd = mkstemp(says);
    assert_true(fd >= 0);
    close(fd);
    missing = NULL;
    assert_int_equal(setenv("FEEDLINE_NVML_DOUBLE", says, 1), 0);
}

static void teardown(void)
{
    assert_int_equal(unlink(says), 0);
}

#endif
