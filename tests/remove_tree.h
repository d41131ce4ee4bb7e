/* SPDX-License-Identifier: Apache-2.0 */
/* Removes a folder and all that is below it. */
#ifndef FDL_TESTS_REMOVE_TREE_H
#define FDL_TESTS_REMOVE_TREE_H

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

static inline int remove_entry(const char *path, const struct stat *st,
                               int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline int remove_tree(const char *folder)
{
    return nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
