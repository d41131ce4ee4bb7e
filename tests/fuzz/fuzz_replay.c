/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_NAME_replay FILE-OR-FOLDER...: runs the target on files, those of a
 * folder in the order of their names. So seeds and past findings are tests in
 * every build, and a finding can be looked at with any debugger.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int n_files;

/* Exactly as many bytes as the file has, so that a sanitizer sees an access
 * behind them. */
static bool run_file(const char *path, size_t size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(size);
    bool good = f && (data || size == 0) && fread(data, 1, size, f) == size;
    if (f)
        fclose(f);
    if (good) {
        printf("%s: %zu bytes\n", path, size);
        fflush(stdout); /* before a crash */
        LLVMFuzzerTestOneInput(data, size);
        n_files++;
    }
    free(data);
    return good;
}

static bool run_path(const char *path);

static bool run_folder(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, NULL, alphasort);
    bool good = n >= 0;
    for (int i = 0; i < n; i++) {
        char *path = NULL;
        if (good && entries[i]->d_name[0] != '.')
            good = asprintf(&path, "%s/%s", folder, entries[i]->d_name) >= 0 &&
                   run_path(path);
        free(path);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return good;
}

static bool run_path(const char *path)
{
    struct stat st;
    bool good = stat(path, &st) == 0;
    if (good)
        good = S_ISDIR(st.st_mode) ? run_folder(path)
                                   : run_file(path, (size_t)st.st_size);
    if (!good)
        fprintf(stderr, "%s: cannot be read\n", path);
    return good;
}

int main(int argc, char **argv)
{
    bool good = true;
    for (int i = 1; i < argc; i++)
        good = run_path(argv[i]) && good;
    if (n_files == 0)
        fprintf(stderr, "usage: %s FILE-OR-FOLDER...\n", argv[0]);
    return good && n_files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
