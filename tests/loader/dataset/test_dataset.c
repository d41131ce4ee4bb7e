/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of data set on small trees that the tests make themselves, every
 * error by the words that name it, and every allocation failing once. Parity
 * with torchvision is check_imagefolder.py's business.
 */
#include "base/status.h"
#include "loader/dataset/dataset.h"
#include "test.h"
#include "tests/remove_tree.h"
#include "tests/wrap_memory.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- A folder of our own ------------------------------------------------ */

static char root[PATH_MAX];

static void remove_root(void)
{
    remove_tree(root);
}

static void make_root(void)
{
    bool first = root[0] == '\0';
    if (!first)
        remove_root();
    snprintf(root, sizeof(root), "/tmp/feedline-dataset-XXXXXX");
    assert_non_null(mkdtemp(root));
    if (first)
        atexit(remove_root);
}

/* root/name, in one of a few buffers that take turns. */
static const char *at(const char *name)
{
    static char paths[4][PATH_MAX + 256];
    static unsigned int turn;
    char *path = paths[turn++ % FDL_COUNT_OF(paths)];
    snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
    return path;
}

static void make_folder(const char *name)
{
    assert_int_equal(mkdir(at(name), 0777), 0);
}

static void make_file_of(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(at(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void make_file(const char *name, const char *text)
{
    make_file_of(name, text, strlen(text));
}

static feedline_dataset *opened(const char *uri)
{
    feedline_dataset *ds = NULL;
    int32_t status = fdl_dataset_open_uri(uri, &ds);
    if (status)
        print_error("%s: %s\n", uri, fdl_last_error());
    assert_int_equal(status, FEEDLINE_OK);
    assert_non_null(ds);
    return ds;
}

static const char *scheme(const char *kind, const char *name)
{
    static char uri[2 * PATH_MAX];
    snprintf(uri, sizeof(uri), "%s:%s/%s", kind, root, name);
    return uri;
}

static void refused(const char *uri, int32_t code, const char *says)
{
    feedline_dataset *ds = NULL;
    int32_t status = fdl_dataset_open_uri(uri, &ds);
    if (status != code || !strstr(fdl_last_error(), says))
        print_error("%s: %d: %s\n", uri, status, fdl_last_error());
    assert_int_equal(status, code);
    assert_non_null(strstr(fdl_last_error(), says));
    assert_null(ds);
}

struct expected {
    const char *name; /* below root */
    int64_t label;
};

static void assert_samples(const feedline_dataset *ds,
                           const struct expected *expected, size_t n)
{
    assert_int_equal(ds->count, n);
    for (size_t i = 0; i < n; i++) {
        struct fdl_source source;
        fdl_dataset_get(ds, i, &source);
        assert_string_equal(source.path, at(expected[i].name));
        assert_int_equal(fdl_dataset_label(ds, i), expected[i].label);
        assert_null(source.data);
        assert_int_equal(source.raw_width, 0);
    }
}

/* ---- Folders ------------------------------------------------------------ */

static void make_tree(void)
{
    make_folder("t");
    make_folder("t/cat");
    make_folder("t/cat/a");
    make_folder("t/cat/a-b");
    make_folder("t/cat/a/z");
    make_folder("t/dog");
    make_folder("t/Emu");
    make_file("t/cat/2.JPG", "");
    make_file("t/cat/10.jpeg", "");
    make_file("t/cat/notes.txt", "");
    make_file("t/cat/noending", "");
    make_file("t/cat/jpg", "");
    make_file("t/cat/.jpg", "");
    make_file("t/cat/a/x.png", "");
    make_file("t/cat/a/z/y.TiFf", "");
    make_file("t/cat/a-b/w.webp", "");
    make_file("t/dog/d.ppm", "");
    make_file("t/Emu/e.pgm", "");
    make_file("t/Emu/e.jpgx", "");
    make_file("t/stray.jpg", "");
}

static const struct expected tree[] = {
    {"t/Emu/e.pgm", 0},      {"t/cat/.jpg", 1},    {"t/cat/10.jpeg", 1},
    {"t/cat/2.JPG", 1},      {"t/cat/a/x.png", 1}, {"t/cat/a-b/w.webp", 1},
    {"t/cat/a/z/y.TiFf", 1}, {"t/dog/d.ppm", 2},
};

TEST(folder_in_torchvision_order)
{
    make_root();
    make_tree();
    feedline_dataset *ds = opened(scheme("folder", "t"));
    assert_samples(ds, tree, FDL_COUNT_OF(tree));
    assert_int_equal(ds->classes.n, 3);
    assert_string_equal(fdl_string_list_at(&ds->classes, 0), "Emu");
    assert_string_equal(fdl_string_list_at(&ds->classes, 1), "cat");
    assert_string_equal(fdl_string_list_at(&ds->classes, 2), "dog");
    uint64_t fingerprint = ds->fingerprint;
    fdl_dataset_unref(ds);

    /* A bare path and a '/' at the end mean the same. */
    ds = opened(at("t/"));
    assert_samples(ds, tree, FDL_COUNT_OF(tree));
    assert_int_equal(ds->fingerprint, fingerprint);
    fdl_dataset_unref(ds);
}

TEST(folder_follows_links)
{
    make_root();
    make_tree();
    make_folder("elsewhere");
    make_file("elsewhere/o.bmp", "");
    assert_int_equal(symlink("../elsewhere", at("t/fox")), 0);
    assert_int_equal(symlink("../../elsewhere", at("t/dog/more")), 0);
    assert_int_equal(symlink("nowhere", at("t/dog/gone.jpg")), 0);
    static const struct expected linked[] = {
        {"t/dog/d.ppm", 2},
        {"t/dog/gone.jpg", 2},
        {"t/dog/more/o.bmp", 2},
        {"t/fox/o.bmp", 3},
    };
    feedline_dataset *ds = opened(scheme("folder", "t"));
    assert_int_equal(ds->count, FDL_COUNT_OF(tree) + 3);
    for (size_t i = 0; i < FDL_COUNT_OF(linked); i++) {
        uint64_t place = FDL_COUNT_OF(tree) - 1 + i;
        struct fdl_source source;
        fdl_dataset_get(ds, place, &source);
        assert_string_equal(source.path, at(linked[i].name));
        assert_int_equal(fdl_dataset_label(ds, place), linked[i].label);
    }
    fdl_dataset_unref(ds);
}

TEST(folder_reports_cycles)
{
    make_root();
    make_tree();
    assert_int_equal(symlink("../..", at("t/cat/a/up")), 0);
    refused(at("t"), FEEDLINE_EINVAL, "t/cat/a/up/: ");
    assert_int_equal(unlink(at("t/cat/a/up")), 0);
    assert_int_equal(symlink("..", at("t/cat/a/up")), 0);
    refused(at("t"), FEEDLINE_EINVAL, "t/cat/, which contains it");

    /* Twice the same folder, but not inside itself, is no cycle. */
    assert_int_equal(unlink(at("t/cat/a/up")), 0);
    assert_int_equal(symlink("../a-b", at("t/cat/a/side")), 0);
    feedline_dataset *ds = opened(at("t"));
    assert_int_equal(ds->count, FDL_COUNT_OF(tree) + 1);
    fdl_dataset_unref(ds);
}

TEST(folder_errors_name_the_folder)
{
    make_root();
    refused(scheme("folder", "t"), FEEDLINE_ENOENT, "/t: no such file");
    refused("folder:", FEEDLINE_ENOENT, ": no such file");
    make_folder("t");
    refused(at("t"), FEEDLINE_ENOENT, "found no class folders in ");
    make_file("t/1.jpg", "");
    make_file("t/2.png", "");
    refused(at("t"), FEEDLINE_ENOENT, "only 2 images: put them into one");
    make_folder("t/full");
    make_file("t/full/1.jpg", "");
    refused(scheme("folder", "t/1.jpg"), FEEDLINE_ENOENT, "not a folder");
    for (char c = 'a'; c <= 'g'; c++) {
        char name[] = "t/x";
        name[2] = c;
        make_folder(name);
    }
    refused(at("t"), FEEDLINE_ENOENT,
            "7 of 8 class folders have no image: a, b, c, d, e, ...");
}

TEST(folder_not_readable)
{
    enum { NOBODY = 65534 };
    uid_t user = geteuid();
    make_root();
    make_tree();
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(chmod(at("t/cat/a"), 0), 0);
    if (user == 0 && seteuid(NOBODY) != 0)
        test_skip("root may read every folder, and cannot be another user");
    refused(at("t"), FEEDLINE_EIO, "t/cat/a/: Permission denied");
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(chmod(at("t/cat/a"), 0700), 0);
}

/* ---- Lists -------------------------------------------------------------- */

TEST(list_of_all_shapes)
{
    make_root();
    make_folder("l");
    make_file("l/train.tsv", "\xef\xbb\xbf# a comment\r\n"
                             "plain.jpg\n"
                             "\n"
                             "  \t \n"
                             "  # and another\n"
                             "one.jpg 1\n"
                             "two.jpg\t-2\r\n"
                             "  three.jpg   3  \n"
                             "with blanks/a b.jpg\t4\n"
                             "no label.jpg\t\n"
                             "blanks too 5\n"
                             "most.jpg 9223372036854775807\n"
                             "least.jpg -9223372036854775808\n"
                             "#not\n"
                             "sub/../x#y.jpg +7");
    static const struct expected lines[] = {
        {"l/plain.jpg", 0},
        {"l/one.jpg", 1},
        {"l/two.jpg", -2},
        {"l/three.jpg", 3},
        {"l/with blanks/a b.jpg", 4},
        {"l/no label.jpg", 0},
        {"l/blanks too", 5},
        {"l/most.jpg", INT64_MAX},
        {"l/least.jpg", INT64_MIN},
        {"l/sub/../x#y.jpg", 7},
    };
    feedline_dataset *ds = opened(scheme("list", "l/train.tsv"));
    assert_samples(ds, lines, FDL_COUNT_OF(lines));
    assert_int_equal(ds->classes.n, 0);
    fdl_dataset_unref(ds);
    ds = opened(at("l/train.tsv"));
    assert_samples(ds, lines, FDL_COUNT_OF(lines));
    fdl_dataset_unref(ds);
}

TEST(list_with_absolute_paths)
{
    make_root();
    make_file("l.txt", "/some/where.jpg 3\nhere.jpg 4\n");
    feedline_dataset *ds = opened(at("l.txt"));
    struct fdl_source source;
    fdl_dataset_get(ds, 0, &source);
    assert_string_equal(source.path, "/some/where.jpg");
    fdl_dataset_get(ds, 1, &source);
    assert_string_equal(source.path, at("here.jpg"));
    fdl_dataset_unref(ds);

    /* A list in the working directory leaves its paths as they are. */
    assert_int_equal(chdir(root), 0);
    ds = opened("list:l.txt");
    fdl_dataset_get(ds, 1, &source);
    assert_string_equal(source.path, "here.jpg");
    fdl_dataset_unref(ds);
}

TEST(list_errors_name_the_line)
{
    make_root();
    refused(scheme("list", "no"), FEEDLINE_ENOENT, "/no: no such file");
    refused(scheme("list", ""), FEEDLINE_EIO, "Is a directory");
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "l.tsv: "},
        {"# only\n\n", "l.tsv: "},
        {"a.jpg 1\n\nb c.jpg\n", "l.tsv:3: label 'c.jpg' is not an integer"},
        {"a\t1\nb\tx", "l.tsv:2: label 'x' is not an integer"},
        {"a\t1.5", "l.tsv:1: label '1.5' is not"},
        {"a\t-", "l.tsv:1: label '-' is not"},
        {"a 9223372036854775808", "l.tsv:1: label 9223372036854775808 does"},
        {"a -9223372036854775809", "l.tsv:1: label -9223372036854775809"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        make_file("l.tsv", bad[i].text);
        refused(scheme("list", "l.tsv"), FEEDLINE_EINVAL, bad[i].says);
    }
    make_file_of("l.tsv", "a 1\nb\0c 2\n", 10);
    refused(at("l.tsv"), FEEDLINE_EINVAL, "l.tsv:2: a NUL byte");
}

#define PARTS "path\tlabel\toffset\tlength\n"

TEST(list_of_parts)
{
    make_root();
    make_file("l.tsv", "\xef\xbb\xbfpath\tlabel\toffset\tlength\r\n"
                       "# a comment\n"
                       "b a.tar\t7\t1536\t10\r\n"
                       "/c.tar\t-1\t0\t4294967294\n"
                       "\n"
                       " b a.tar \t 8 \t 2 \t 0 \n"
                       "whole.jpg\t\t\t");
    static const struct {
        const char *file;
        uint64_t offset;
        int64_t length, label;
    } parts[] = {
        {"b a.tar", 1536, 10, 7},
        {"/c.tar", 0, 4294967294, -1},
        {"b a.tar", 2, 0, 8},
        {"whole.jpg", 0, -1, 0},
    };
    feedline_dataset *ds = opened(at("l.tsv"));
    assert_int_equal(ds->count, FDL_COUNT_OF(parts));
    assert_int_equal(ds->files.n, 3);
    for (uint64_t i = 0; i < ds->count; i++) {
        struct fdl_source source;
        fdl_dataset_get(ds, i, &source);
        assert_string_equal(source.path, parts[i].file[0] == '/'
                                             ? parts[i].file
                                             : at(parts[i].file));
        assert_int_equal(source.offset, parts[i].offset);
        assert_int_equal(source.length, parts[i].length);
        assert_int_equal(fdl_dataset_label(ds, i), parts[i].label);
    }
    fdl_dataset_unref(ds);
}

/* Without names of their own, offsets tell data sets apart. */
TEST(list_of_parts_fingerprint)
{
    static const char *const lists[] = {
        PARTS "a\t1\t10\t5\n", PARTS "a\t1\t11\t5\n", PARTS "b\t1\t10\t5\n"};
    uint64_t prints[FDL_COUNT_OF(lists)];
    make_root();
    for (size_t i = 0; i < FDL_COUNT_OF(lists); i++) {
        make_file("l.tsv", lists[i]);
        feedline_dataset *ds = opened(at("l.tsv"));
        prints[i] = ds->fingerprint;
        fdl_dataset_unref(ds);
    }
    assert_int_not_equal(prints[0], prints[1]);
    assert_int_not_equal(prints[0], prints[2]);
}

/* Only the first line says that there are offsets. */
TEST(list_with_numbers_in_its_names)
{
    make_root();
    make_file("l.tsv", "a\t1\t2\t3\n");
    feedline_dataset *ds = opened(at("l.tsv"));
    struct fdl_source source;
    fdl_dataset_get(ds, 0, &source);
    assert_string_equal(source.path, at("a\t1\t2"));
    assert_int_equal(fdl_dataset_label(ds, 0), 3);
    fdl_dataset_unref(ds);
}

TEST(list_of_parts_errors_name_the_line)
{
    make_root();
    static const struct {
        const char *text, *says;
    } bad[] = {
        {PARTS, "l.tsv: the list is empty"},
        {PARTS "a\t1\n", "l.tsv:2: 4 columns with TABs between"},
        {PARTS "a\tx\t1\t2\n", "l.tsv:2: label 'x'"},
        {PARTS "a\t1\t-1\t2\n", "l.tsv:2: offset '-1' is not a whole"},
        {PARTS "a\t1\t9223372036854775807\t2\n", "l.tsv:2: offset '9"},
        {PARTS "a\t1\t1\t4294967295\n", "l.tsv:2: length '4294967295'"},
        {PARTS "a\t1\t1\t99999999999999999999\n", "l.tsv:2: length '9"},
        {"#\n" PARTS, "l.tsv:2: label 'length' is not an integer"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        make_file("l.tsv", bad[i].text);
        refused(scheme("list", "l.tsv"), FEEDLINE_EINVAL, bad[i].says);
    }
}

#define COLUMNS "path\tlabel\ttext\twidth:int\tscore:float\tbox:json\n"
#define CHOSEN  "?fields=score,text,box,width"

TEST(list_of_fields)
{
    static const char text[] = COLUMNS "a b.jpg\t3\ttwo cats\t-7\t0.5\t{}\r\n"
                                       "c.jpg\t\t\t\t\t\n";
    struct feedline_sample_field f;
    make_root();
    make_file("l.tsv", text);
    feedline_dataset *ds = opened(scheme("list", "l.tsv" CHOSEN));
    assert_int_equal(ds->count, 2);
    assert_string_equal(fdl_dataset_name(ds, 0), at("a b.jpg"));
    assert_int_equal(fdl_dataset_label(ds, 0), 3);
    fdl_dataset_get_field(ds, 0, 1, &f);
    assert_int_equal(f.kind, FEEDLINE_FIELD_TEXT);
    assert_string_equal(f.file, at("l.tsv"));
    assert_int_equal(f.bytes, 8);
    assert_memory_equal(text + f.offset, "two cats", 8);
    fdl_dataset_get_field(ds, 0, 2, &f);
    assert_int_equal(f.kind, FEEDLINE_FIELD_JSON);
    assert_memory_equal(text + f.offset, "{}\r", 3);
    fdl_dataset_get_field(ds, 0, 3, &f);
    assert_int_equal(f.integer, -7);
    fdl_dataset_get_field(ds, 0, 0, &f);
    assert_true(f.number == 0.5);
    fdl_dataset_get_field(ds, 1, 0, &f);
    assert_true(f.number != f.number);
    fdl_dataset_get_field(ds, 1, 3, &f);
    assert_true(f.integer == INT64_MIN);
    fdl_dataset_get_field(ds, 1, 1, &f);
    assert_int_equal(f.bytes, 0);
    uint64_t print = ds->fingerprint;
    fdl_dataset_unref(ds);
    ds = opened(at("l.tsv"));
    assert_true(ds->fingerprint == print && ds->fields.n == 0);
    fdl_dataset_unref(ds);
}

#define VECTORS "path\tlabel\tbox:floats\tids:ints\tnone:floats\n"

TEST(list_of_vectors)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"b\t1\t0.5 1\t3\t\n", "l.tsv:3: 2 numbers in box, and 3 in the lines"},
        {"b\t1\t0.5 x 1\t3\t\n", "l.tsv:3: box 'x' is no number"},
        {"b\t1\t\t3.5\t\n", "l.tsv:3: ids '3.5' is no number"},
        {"b\t1\t\t3 4\t\n", "l.tsv:3: 2 numbers in ids, and 1 in"},
    };
    struct feedline_sample_field f;
    char text[256];
    make_root();
    make_file("l.tsv", VECTORS "a\t0\t0.5, -1 2e3\t7\t\nb\t1\t\t\t\r\n");
    feedline_dataset *ds = opened(scheme("list", "l.tsv?fields=ids,none,box"));
    fdl_dataset_get_field(ds, 0, 2, &f);
    assert_true(f.kind == FEEDLINE_FIELD_FLOAT && f.width == 3);
    assert_true(f.numbers[0] == 0.5 && f.numbers[1] == -1 &&
                f.numbers[2] == 2e3);
    fdl_dataset_get_field(ds, 0, 0, &f);
    assert_true(f.kind == FEEDLINE_FIELD_INT && f.width == 1 &&
                f.integers[0] == 7 && !f.numbers);
    fdl_dataset_get_field(ds, 0, 1, &f);
    assert_true(f.width == 1 && !f.integers && !f.numbers);
    for (uint32_t i = 0; i < 3; i++) {
        fdl_dataset_get_field(ds, 1, i, &f);
        assert_true(f.width > 0 && !f.integers && !f.numbers);
    }
    fdl_dataset_unref(ds);
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        snprintf(text, sizeof(text), VECTORS "a\t0\t1 2 3\t7\t\n%s",
                 bad[i].text);
        make_file("l.tsv", text);
        refused(scheme("list", "l.tsv?fields=ids,none,box"), FEEDLINE_EINVAL,
                bad[i].says);
    }
}

TEST(list_of_fields_errors)
{
    static const struct {
        const char *text, *says;
        int32_t status;
    } bad[] = {
        {"a 1\n", "it has no fields: a first line", FEEDLINE_EINVAL},
        {"path\tlabel\ttext\na\t1\tx\n", "no column 'score' in its",
         FEEDLINE_ENOENT},
        {COLUMNS "a\t1\tx\t1\t1\n", "l.tsv:2: 6 columns", FEEDLINE_EINVAL},
        {COLUMNS "a\t1\tx\t1.5\t1\t\n", "l.tsv:2: width '1.5' is no number",
         FEEDLINE_EINVAL},
        {COLUMNS "a\t1\tx\t1\tnan\t\n", "l.tsv:2: score 'nan' is no number",
         FEEDLINE_EINVAL},
        {"path\tlabel\ttext\ttext:json\na\t1\t2\t3\n", "two columns 'text'",
         FEEDLINE_EINVAL},
        {"path\tlabel\ttext:npy\na\t1\t2\n",
         "'text' is of an unknown kind: text, json", FEEDLINE_EINVAL},
    };
    make_root();
    for (size_t i = 0; i < FDL_COUNT_OF(bad); i++) {
        make_file("l.tsv", bad[i].text);
        refused(scheme("list", "l.tsv" CHOSEN), bad[i].status, bad[i].says);
    }
}

/* More than the first buffers of all arrays hold. */
TEST(long_list)
{
    enum { LINES = 5000 };
    make_root();
    FILE *f = fopen(at("l.tsv"), "w");
    assert_non_null(f);
    for (int i = 0; i < LINES; i++)
        fprintf(f, "some/folder/%d.jpg\t%d\n", i, i * 3);
    assert_int_equal(fclose(f), 0);
    feedline_dataset *ds = opened(at("l.tsv"));
    assert_int_equal(ds->count, LINES);
    for (uint64_t i = 0; i < LINES; i++) {
        char name[64];
        struct fdl_source source;
        snprintf(name, sizeof(name), "some/folder/%d.jpg", (int)i);
        fdl_dataset_get(ds, i, &source);
        assert_string_equal(source.path, at(name));
        assert_int_equal(fdl_dataset_label(ds, i), i * 3);
    }
    assert_int_equal(ds->labels.capacity, LINES);
    assert_int_equal(ds->labels.width, 2);
    assert_int_equal(ds->names.capacity, LINES);
    assert_int_equal(ds->names.text.capacity, ds->names.text.bytes);
    fdl_dataset_unref(ds);
}

/* ---- IDX ---------------------------------------------------------------- */

/* n images of 2 rows, 3 columns; pixel k of the file is k % 251. */
static void make_idx_images(const char *name, uint8_t n, uint8_t channels,
                            size_t missing)
{
    uint8_t bytes[4096] = {0, 0, 8, channels ? 4 : 3};
    size_t header = channels ? 20 : 16;
    bytes[7] = n;
    bytes[11] = 2;
    bytes[15] = 3;
    if (channels)
        bytes[19] = channels;
    size_t pixels = (size_t)n * 6 * (channels ? channels : 1);
    for (size_t i = 0; i < pixels; i++)
        bytes[header + i] = (uint8_t)(i % 251);
    make_file_of(name, bytes, header + pixels - missing);
}

/* Label i is 200 + i. */
static void make_idx_labels(const char *name, uint8_t n)
{
    uint8_t bytes[300] = {0, 0, 8, 1, 0, 0, 0, n};
    for (size_t i = 0; i < n; i++)
        bytes[8 + i] = (uint8_t)(200 + i);
    make_file_of(name, bytes, 8 + (size_t)n);
}

static void assert_idx(feedline_dataset *ds, const char *images, uint8_t n,
                       int32_t channels)
{
    assert_int_equal(ds->count, n);
    uint64_t each = 6 * (uint64_t)channels;
    for (uint64_t i = 0; i < n; i++) {
        char name[256];
        snprintf(name, sizeof(name), "%s:%d", at(images), (int)i);
        struct fdl_source source;
        fdl_dataset_get(ds, i, &source);
        assert_string_equal(source.path, name);
        assert_int_equal(source.length, each);
        assert_int_equal(source.raw_width, 3);
        assert_int_equal(source.raw_height, 2);
        assert_int_equal(source.raw_channels, channels);
        for (uint64_t k = 0; k < each; k++)
            assert_int_equal(source.data[k], (i * each + k) % 251);
        assert_int_equal(fdl_dataset_label(ds, i), 200 + i);
    }
    fdl_dataset_unref(ds);
}

TEST(idx_is_found)
{
    make_root();
    make_folder("m");
    make_idx_images("m/train-images-idx3-ubyte", 5, 0, 0);
    make_idx_labels("m/train-labels-idx1-ubyte", 5);
    const char *images = "m/train-images-idx3-ubyte";
    assert_idx(opened(scheme("idx", "m")), images, 5, 1);
    assert_idx(opened(at("m")), images, 5, 1);
    assert_idx(opened(at(images)), images, 5, 1);

    make_folder("d");
    make_idx_images("d/train-images.idx3-ubyte", 4, 0, 0);
    make_idx_labels("d/train-labels.idx1-ubyte", 4);
    assert_idx(opened(at("d")), "d/train-images.idx3-ubyte", 4, 1);

    make_idx_images("d/colour", 3, 3, 0);
    make_idx_labels("d/classes", 3);
    char uri[3 * PATH_MAX];
    snprintf(uri, sizeof(uri), "idx:%s,%s", at("d/colour"), at("d/classes"));
    assert_idx(opened(uri), "d/colour", 3, 3);

    make_folder("c");
    make_idx_images("c/test-images.idx4-ubyte", 4, 3, 0);
    make_idx_labels("c/test-labels.idx1-ubyte", 4);
    assert_idx(opened(at("c/test-images.idx4-ubyte")),
               "c/test-images.idx4-ubyte", 4, 3);
    make_idx_images("c/images", 4, 3, 0); /* the name has no dimensions */
    make_idx_labels("c/labels", 4);
    assert_idx(opened(at("c/images")), "c/images", 4, 3);
}

TEST(idx_errors_say_what_is_wrong)
{
    make_root();
    make_folder("m");
    const char *images = "m/train-images-idx3-ubyte";
    const char *labels = "m/train-labels-idx1-ubyte";
    refused(scheme("idx", "none"), FEEDLINE_ENOENT, "/none: no such file");
    refused(scheme("idx", "a,b"), FEEDLINE_ENOENT, "/a: no such file");
    refused(scheme("idx", "m"), FEEDLINE_ENOENT, "train-images-idx3-ubyte");

    make_file("m/train-images-idx3-ubyte.gz", "\x1f\x8b\x08");
    refused(at("m"), FEEDLINE_EINVAL,
            "ubyte.gz: is gzip-compressed; gunzip it first");
    refused(at("m/train-images-idx3-ubyte.gz"), FEEDLINE_EINVAL, "gunzip");

    make_idx_images(images, 5, 0, 0);
    refused(at("m"), FEEDLINE_ENOENT, "labels-idx1-ubyte: no such file");
    make_idx_labels(labels, 4);
    refused(at("m"), FEEDLINE_EINVAL, "4 labels for 5 images of ");
    make_idx_images(labels, 5, 0, 0);
    refused(at("m"), FEEDLINE_EINVAL, "3 dimensions do not make labels");
    make_idx_labels(labels, 5);

    make_idx_images(images, 5, 0, 1);
    refused(at("m"), FEEDLINE_EINVAL,
            "the header asks for 46 bytes, the file has 45");
    make_idx_images(images, 0, 0, 0);
    refused(at("m"), FEEDLINE_EINVAL, "at 4: dimension 0 is 0");
    make_idx_images(images, 5, 2, 0);
    refused(at("m"), FEEDLINE_EINVAL, "at 16: 2 channels");
    make_idx_labels(images, 5);
    refused(at("m"), FEEDLINE_EINVAL, "1 dimensions do not make images");
    make_file_of(images, "\0\0\x08\x03\0\0", 6);
    refused(at("m"), FEEDLINE_EINVAL, "truncated in its header, at 6");
    make_file_of(images, "\0\0\x0d\x03\0\0", 6);
    refused(at("m"), FEEDLINE_EINVAL, "type 0x0d");
    make_file(images, "hello");
    refused(at("m"), FEEDLINE_EINVAL, "not an IDX file");
    make_file_of(images, "\0\1\x08\x03\0\0", 6);
    refused(at("m"), FEEDLINE_EINVAL, "not an IDX file");
    make_file(images, "");
    refused(at("m"), FEEDLINE_EINVAL, "not an IDX file");

    uint8_t huge[16] = {0, 0, 8, 3};
    memset(huge + 4, 0xff, 12);
    make_file_of(images, huge, sizeof(huge));
    refused(at("m"), FEEDLINE_EINVAL, "the file has 16");
    uint8_t wide[16 + 65536] = {0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1};
    make_file_of(images, wide, sizeof(wide));
    refused(at("m"), FEEDLINE_EINVAL, "65536 x 1 pixels");
    memcpy(wide + 8, "\0\1\0\0\0\0\0\1", 8);
    make_file_of(images, wide, sizeof(wide));
    refused(at("m"), FEEDLINE_EINVAL, "1 x 65536 pixels");

    make_idx_images("m/pictures", 5, 0, 0);
    refused(at("m/pictures"), FEEDLINE_EINVAL, "idx:IMAGES,LABELS");
}

/* ---- Names of data sets ------------------------------------------------- */

TEST(uri_decides_the_kind)
{
    make_root();
    make_folder("foo:bar");
    make_folder("foo:bar/c");
    make_file("foo:bar/c/1.jpg", "");
    static const struct expected one[] = {{"foo:bar/c/1.jpg", 0}};
    feedline_dataset *ds = opened(at("foo:bar"));
    assert_samples(ds, one, 1);
    fdl_dataset_unref(ds);
    assert_int_equal(chdir(root), 0);
    ds = opened("foo:bar");
    assert_int_equal(ds->count, 1);
    fdl_dataset_unref(ds);

    refused("foo:baz", FEEDLINE_EINVAL, "'foo:'");
    refused("/nowhere/foo:bar", FEEDLINE_ENOENT, "no such file or folder");
    refused("", FEEDLINE_EINVAL, "no name");
    refused(NULL, FEEDLINE_EINVAL, "no name");
}

/* ---- Callers' paths and memory ------------------------------------------ */

TEST(paths_are_copied)
{
    char first[] = "a.jpg";
    const char *paths[] = {first, "b/c.png", NULL};
    static const int64_t labels[] = {7, -1, 0};
    feedline_dataset *ds = NULL;
    assert_int_equal(fdl_dataset_open_paths(paths, labels, 2, &ds),
                     FEEDLINE_OK);
    first[0] = 'x';
    struct fdl_source source;
    fdl_dataset_get(ds, 0, &source);
    assert_string_equal(source.path, "a.jpg");
    assert_int_equal(fdl_dataset_label(ds, 0), 7);
    assert_int_equal(fdl_dataset_label(ds, 1), -1);

    /* Shared: gone with the last one only. */
    fdl_dataset_ref(ds);
    fdl_dataset_unref(ds);
    assert_int_equal(ds->count, 2);
    fdl_dataset_unref(ds);
    fdl_dataset_unref(NULL);

    ds = NULL;
    assert_int_equal(fdl_dataset_open_paths(paths, NULL, 2, &ds), FEEDLINE_OK);
    assert_int_equal(fdl_dataset_label(ds, 1), 0);
    fdl_dataset_unref(ds);

    ds = NULL;
    assert_int_equal(fdl_dataset_open_paths(paths, NULL, 3, &ds),
                     FEEDLINE_EINVAL);
    assert_string_equal(fdl_last_error(), "path 2 is NULL");
    assert_int_equal(fdl_dataset_open_paths(paths, NULL, 0, &ds),
                     FEEDLINE_EINVAL);
    assert_int_equal(fdl_dataset_open_paths(NULL, NULL, 1, &ds),
                     FEEDLINE_EINVAL);
    assert_null(ds);
}

TEST(a_whole_file_is_no_shard)
{
    static const char *const files[] = {"a", "b"};
    static const struct feedline_extent extents[] = {
        {0, 1, FEEDLINE_TO_END},
        {4, 1, FEEDLINE_TO_END},
    };
    const struct feedline_extents table = {
        .n_files = 2, .files = files, .extents = extents, .count = 2};
    feedline_dataset *ds = NULL;
    struct fdl_source source;
    assert_int_equal(fdl_dataset_open_extents(&table, &ds), FEEDLINE_OK);
    fdl_dataset_get(ds, 0, &source);
    assert_int_equal(source.file, FDL_OWN_FILE);
    fdl_dataset_get(ds, 1, &source);
    assert_int_equal(source.file, 1);
    fdl_dataset_unref(ds);
}

TEST(memory_is_borrowed)
{
    static const uint8_t bytes[] = {1, 2, 3, 4, 5};
    const void *data[] = {bytes, bytes + 2, NULL};
    uint64_t sizes[] = {2, 3, 0};
    static const int64_t labels[] = {4, 5, 6};
    feedline_dataset *ds = NULL;
    assert_int_equal(fdl_dataset_open_memory(data, sizes, labels, 2, &ds),
                     FEEDLINE_OK);
    data[1] = NULL;
    sizes[1] = 0;
    struct fdl_source source;
    fdl_dataset_get(ds, 1, &source);
    assert_ptr_equal(source.data, bytes + 2);
    assert_int_equal(source.length, 3);
    assert_string_equal(source.path, "memory:1");
    assert_int_equal(fdl_dataset_label(ds, 1), 5);
    fdl_dataset_unref(ds);

    ds = NULL;
    assert_int_equal(fdl_dataset_open_memory(data, sizes, NULL, 2, &ds),
                     FEEDLINE_EINVAL);
    assert_string_equal(fdl_last_error(), "memory:1: data is NULL");
    assert_int_equal(fdl_dataset_open_memory(data, sizes, NULL, 0, &ds),
                     FEEDLINE_EINVAL);
    assert_int_equal(fdl_dataset_open_memory(NULL, sizes, NULL, 1, &ds),
                     FEEDLINE_EINVAL);
    assert_int_equal(fdl_dataset_open_memory(data, NULL, NULL, 1, &ds),
                     FEEDLINE_EINVAL);
    assert_null(ds);
}

/* ---- Fingerprints ------------------------------------------------------- */

static uint64_t fingerprint_of(const char *uri)
{
    feedline_dataset *ds = opened(uri);
    uint64_t fingerprint = ds->fingerprint;
    fdl_dataset_unref(ds);
    return fingerprint;
}

TEST(fingerprint_is_of_the_content)
{
    make_root();
    make_tree();
    uint64_t folder = fingerprint_of(at("t"));
    assert_int_equal(rename(at("t"), at("a-longer-name")), 0);
    assert_true(fingerprint_of(at("a-longer-name")) == folder);
    make_file("a-longer-name/dog/e.jpg", "");
    assert_true(fingerprint_of(at("a-longer-name")) != folder);

    make_folder("m");
    make_file("l.tsv", "a 1\nb 2\n");
    uint64_t list = fingerprint_of(at("l.tsv"));
    assert_int_equal(rename(at("l.tsv"), at("m/n.tsv")), 0);
    assert_true(fingerprint_of(at("m/n.tsv")) == list);
    static const char *const others[] = {"a 1\nb 3\n", "a 1\nc 2\n", "a 1\n",
                                         "b 2\na 1\n"};
    for (size_t i = 0; i < FDL_COUNT_OF(others); i++) {
        make_file("l.tsv", others[i]);
        assert_true(fingerprint_of(at("l.tsv")) != list);
    }

    make_idx_images("m/train-images-idx3-ubyte", 5, 0, 0);
    make_idx_labels("m/train-labels-idx1-ubyte", 5);
    uint64_t idx = fingerprint_of(at("m"));
    assert_int_equal(rename(at("m"), at("moved")), 0);
    assert_true(fingerprint_of(at("moved")) == idx);
}

/* Saved states name it, so it must never change. */
TEST(fingerprint_is_pinned)
{
    static const char *const paths[] = {"a.jpg", "b.jpg"};
    static const int64_t labels[] = {0, -1};
    static const uint64_t sizes[] = {5, 6};
    feedline_dataset *ds = NULL;
    assert_int_equal(fdl_dataset_open_paths(paths, labels, 2, &ds),
                     FEEDLINE_OK);
    assert_true(ds->fingerprint == 0x9e31350874fc1f87u);
    fdl_dataset_unref(ds);
    ds = NULL;
    assert_int_equal(fdl_dataset_open_memory((const void *const *)paths, sizes,
                                             labels, 2, &ds),
                     FEEDLINE_OK);
    assert_true(ds->fingerprint == 0x68ece6a2f5c81985u);
    fdl_dataset_unref(ds);
}

/* ---- Memory that runs out ----------------------------------------------- */

static int32_t open_some_paths(const char *unused, feedline_dataset **out)
{
    (void)unused;
    static const char *const paths[] = {"a.jpg", "b.jpg"};
    return fdl_dataset_open_paths(paths, NULL, 2, out);
}

static int32_t open_some_memory(const char *unused, feedline_dataset **out)
{
    (void)unused;
    static const void *const data[] = {"a", "b"};
    static const uint64_t sizes[] = {1, 1};
    return fdl_dataset_open_memory(data, sizes, NULL, 2, out);
}

static int32_t open_some_extents(const char *unused, feedline_dataset **out)
{
    (void)unused;
    static const char *const names[] = {"a.tar", "b.tar"};
    static const struct feedline_extent extents[] = {{0, 1, 5}, {9, 0, 7}};
    struct feedline_extents all = {
        .n_files = 2,
        .files = names,
        .extents = extents,
        .names = names,
        .count = 2,
        .classes = names,
        .n_classes = 2,
    };
    return fdl_dataset_open_extents(&all, out);
}

static int32_t no_read(struct feedline_read_call *call)
{
    (void)call;
    return FEEDLINE_OK;
}

static int32_t open_some_source(const char *list, feedline_dataset **out)
{
    static const char *const names[] = {"a", "b"};
    static const uint64_t sizes[] = {1, 1};
    struct feedline_source all = {
        .name = "s3",
        .count = 2,
        .read = no_read,
        .sizes = sizes,
        .names = names,
        .classes = names,
        .n_classes = 2,
        .quarantine = list,
    };
    return fdl_dataset_open_source(&all, out);
}

/* Fails the first allocation, then the second, until none is left to fail.
 * What was given back by trimming may stay; everything else is ENOMEM. */
static void fail_each(int32_t (*open)(const char *uri, feedline_dataset **out),
                      const char *uri)
{
    uint64_t refusals = 0;
    for (int64_t n = 1;; n++) {
        feedline_dataset *ds = NULL;
        fdl_clear_error();
        memory_failed = false;
        memory_left = n;
        int32_t status = open(uri, &ds);
        memory_left = 0;
        if (status == FEEDLINE_OK) {
            assert_non_null(ds);
            assert_true(ds->count >= 1);
            fdl_dataset_unref(ds);
        } else {
            assert_int_equal(status, FEEDLINE_ENOMEM);
            assert_null(ds);
            assert_non_null(strstr(fdl_last_error(), "out of memory: "));
            refusals++;
        }
        if (!memory_failed)
            break;
    }
    assert_true(refusals >= 3);
}

TEST(every_allocation_may_fail)
{
    make_root();
    make_tree();
    make_file("l.tsv", "a 1\nb 2\n");
    make_folder("m");
    make_idx_images("m/train-images-idx3-ubyte", 5, 0, 0);
    make_idx_labels("m/train-labels-idx1-ubyte", 5);
    fail_each(fdl_dataset_open_uri, at("t"));
    fail_each(fdl_dataset_open_uri, at("l.tsv"));
    fail_each(fdl_dataset_open_uri, at("m"));
    char uri[3 * PATH_MAX];
    snprintf(uri, sizeof(uri), "idx:%s,%s", at("m/train-images-idx3-ubyte"),
             at("m/train-labels-idx1-ubyte"));
    fail_each(fdl_dataset_open_uri, uri);
    fail_each(open_some_paths, NULL);
    fail_each(open_some_memory, NULL);
    fail_each(open_some_extents, NULL);
    make_file("list", "b\n");
    fail_each(open_some_source, at("list"));
}

TEST_MAIN("dataset")
