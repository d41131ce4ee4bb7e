/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are replaced whole, and what is left of who did not get so far. */
#include "base/replace.h"
#include "test.h"
#include "tests/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[96];

static void begin(void)
{
    strcpy(folder, "/tmp/feedline-replace-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/file", folder);
}

static void end(void)
{
    remove_tree(folder);
}

static int replace(const char *text)
{
    struct fdl_replace r;
    fdl_replace_begin(&r, path, 0600);
    fdl_replace_write(&r, text, strlen(text));
    return fdl_replace_end(&r);
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void is(const char *name, const char *text)
{
    char got[256] = "";
    FILE *f = fopen(name, "r");
    assert_non_null(f);
    got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(got, text);
}

static uint32_t files(void)
{
    uint32_t n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

static void beside(uint32_t n, char out[128])
{
    snprintf(out, 128, "%s.tmp.%u", path, n);
}

TEST_WITH(a_file_is_made_and_replaced, begin, end)
{
    struct stat st;
    assert_int_equal(replace("one"), 0);
    is(path, "one");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(replace("other"), 0);
    is(path, "other");
    assert_int_equal(files(), 1);
}

/* As many as there are; those of others that live stay. */
TEST_WITH(what_was_left_goes, begin, end)
{
    char left[128];
    struct fdl_replace living;
    beside(0, left);
    put(left, "left");
    fdl_replace_begin(&living, path, 0600);
    fdl_replace_write(&living, "living", 6);
    beside(7, left); /* of several that were killed together */
    put(left, "left too");
    assert_int_equal(replace("one"), 0);
    assert_int_equal(files(), 2);
    is(path, "one");
    assert_int_equal(fdl_replace_end(&living), 0);
    is(path, "living");
    assert_int_equal(files(), 1);
}

static void killed_at(bool written)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct fdl_replace r;
        static char large[100000];
        fdl_replace_begin(&r, path, 0600);
        if (written)
            fdl_replace_write(&r, large, sizeof(large));
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

TEST_WITH(whoever_was_killed_leaves_nothing, begin, end)
{
    assert_int_equal(replace("old"), 0);
    killed_at(false);
    killed_at(true);
    assert_int_equal(files(), 2); /* the second one took what the first left */
    is(path, "old");
    assert_int_equal(replace("new"), 0);
    is(path, "new");
    assert_int_equal(files(), 1);
}

/* Somebody else's link in a folder that all may write. */
TEST_WITH(a_link_is_not_followed, begin, end)
{
    char precious[128], link[128];
    snprintf(precious, sizeof(precious), "%s/precious", folder);
    put(precious, "precious");
    beside(0, link);
    assert_int_equal(symlink(precious, link), 0);
    assert_int_equal(replace("one"), 0);
    is(path, "one");
    is(precious, "precious");
}

/* Of a program that has said nothing of the signal, which would end it. */
TEST_WITH(a_limit_is_an_error, begin, end)
{
    int status;
    assert_int_equal(replace("old"), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit two = {2, 2};
        signal(SIGXFSZ, SIG_DFL);
        setrlimit(RLIMIT_FSIZE, &two);
        _exit(replace("three") == EFBIG ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    is(path, "old");
    assert_int_equal(files(), 1);
}

TEST_WITH(a_folder_that_is_not_there, begin, end)
{
    snprintf(path, sizeof(path), "%s/none/file", folder);
    assert_int_equal(replace("one"), ENOENT);
    assert_int_equal(files(), 0);
}

TEST_MAIN("replace")
