/* SPDX-License-Identifier: Apache-2.0 */
/* A machine laid out as files below a temporary folder, `root`. */
#ifndef FDL_TESTS_MACHINE_FILES_H
#define FDL_TESTS_MACHINE_FILES_H

#include "test.h"
#include "tests/remove_tree.h"

#include <errno.h>
#include <sys/stat.h>

static char root[] = "/tmp/fdl_machine_XXXXXX";

/* Writes root/path, and the folders that lead there. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *p = full + sizeof(root); *p; p++) {
        if (*p == '/') {
            *p = '\0';
            assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
            *p = '/';
        }
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void setup(void)
{
    memcpy(root + sizeof(root) - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(root));
}

static void teardown(void)
{
    assert_int_equal(remove_tree(root), 0);
}

#endif
