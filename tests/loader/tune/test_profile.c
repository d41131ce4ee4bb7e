/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: what is written can be begun with, what was found elsewhere or is
 * damaged is said and left, and nothing in such a file ever stops a loader.
 */
#include "control_rig.h"
#include "dice.h"
#include "loader/loader.h"
#include "loader/tune/control_own.h"
#include "loader/tune/profile.h"
#include "loader/tune/profile_parse.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define N       24
#define MS      INT64_C(1000000)
#define OPTIONS "batch_size=4 workers_start=2 workers_max=6 "

static struct fixture images;
static char path[128];

static void setup(void)
{
    fixture_create(&images, N);
    snprintf(path, sizeof(path), "%s.profile", images.folder);
}

static void teardown(void)
{
    fixture_remove(&images);
    unlink(path);
}

/* ---- Files --------------------------------------------------------------- */

static void write_file(const char *text, size_t n)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* For free(). */
static char *read_file(void)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 65537);
    assert_non_null(text);
    assert_true(fread(text, 1, 65536, f) > 0);
    fclose(f);
    return text;
}

static feedline_loader *open_with(const char *more)
{
    char options[512];
    snprintf(options, sizeof(options), OPTIONS "tuner_profile=%s %s", path,
             more);
    return rig_sleepy(images.files, MS, options);
}

/* A profile as a loader wrote it. For free(). */
static char *make_profile(void)
{
    feedline_loader *l = rig_sleepy(images.files, MS, OPTIONS);
    while (feedline_loader_save_profile(l, path) == FEEDLINE_ESTATE)
        fixture_pass(l, 1);
    assert_int_equal(access(path, R_OK), 0);
    feedline_loader_destroy(l);
    return read_file();
}

/* `text` with the last value of "key": replaced. For free(). */
static char *with(const char *text, const char *key, const char *value)
{
    char name[64];
    snprintf(name, sizeof(name), "\"%s\":", key);
    const char *at = strstr(text, name);
    assert_non_null(at);
    for (const char *next = at; next; next = strstr(at + 1, name))
        at = next;
    at += strlen(name);
    const char *end = at + (*at == '"');
    end += strcspn(end, *at == '"' ? "\"" : ",}");
    end += *at == '"';
    size_t bytes = strlen(text) + strlen(value) + 1;
    char *changed = malloc(bytes);
    assert_non_null(changed);
    snprintf(changed, bytes, "%.*s%s%s", (int)(at - text), text, value, end);
    return changed;
}

/* What a loader says of the file, which it is not stopped by. */
static void says(const char *words)
{
    SCOPED_LOADER l = open_with("");
    struct feedline_tuner_info info = rig_info(l);
    if (!strstr(info.profile, words))
        fail_msg("\"%s\" lacks \"%s\"", info.profile, words);
    if (!strstr(info.profile, "begins with")) {
        assert_non_null(strstr(info.profile, "starts over"));
        assert_int_equal(info.workers, 2);
    }
}

static void says_of(const char *text, const char *words)
{
    write_file(text, strlen(text));
    says(words);
}

/* ---- There and back ------------------------------------------------------ */

TEST_WITH(what_was_found_is_begun_with, setup, teardown)
{
    char *text = make_profile();
    char *other = with(text, "workers", "5");
    free(text);
    text = with(other, "depth", "7");
    free(other);
    other = with(text, "io_depth", "9");
    write_file(other, strlen(other));
    free(other);
    free(text);

    feedline_loader *l = open_with("");
    struct feedline_tuner_info info = rig_info(l);
    assert_non_null(strstr(info.profile, "begins with workers=5 depth=7"));
    assert_int_equal(info.workers, 5);
    assert_int_equal(info.depth, 7);
    fixture_pass(l, 1);
    assert_int_equal(l->control->began.workers, 5);
    assert_int_equal(l->control->began.io_depth, 9);
    char *story = rig_text(feedline_loader_explain, l);
    assert_non_null(strstr(story, "Profile: "));
    assert_non_null(strstr(story, "It began with 5 workers, 7 batches ahead, "
                                  "9 reads at once."));
    free(story);
    feedline_loader_destroy(l);

    l = open_with("workers=3 depth=2"); /* numbers are the user's */
    assert_int_equal(rig_info(l).workers, 3);
    assert_int_equal(rig_info(l).depth, 2);
    feedline_loader_destroy(l);
    l = open_with("tuner=off"); /* nobody begins */
    assert_string_equal(rig_info(l).profile, "");
    feedline_loader_destroy(l);
}

TEST_WITH(it_is_held_to_the_bounds_of_now, setup, teardown)
{
    char *text = make_profile();
    char *other = with(text, "workers", "1000");
    free(text);
    text = with(other, "depth", "1000");
    says_of(text, "held to the bounds of now");
    feedline_loader *l = open_with("");
    assert_int_equal(rig_info(l).workers, 6);
    assert_true(rig_info(l).depth <= 64);
    fixture_pass(l, 3);
    feedline_loader_destroy(l);
    free(other);
    free(text);
}

TEST_WITH(there_may_be_none_yet, setup, teardown)
{
    says("does not exist");
    feedline_loader *l = rig_sleepy(images.files, MS, OPTIONS);
    assert_string_equal(rig_info(l).profile, "");
    assert_error(feedline_loader_save_profile(l, path), FEEDLINE_ESTATE,
                 "nothing was found yet");
    assert_int_equal(access(path, F_OK), -1);
    feedline_loader_destroy(l);
    l = rig_sleepy(images.files, MS, OPTIONS "tuner=observe");
    assert_error(feedline_loader_save_profile(l, path), FEEDLINE_ESTATE,
                 "tuner=observe");
    feedline_loader_destroy(l);
}

TEST_WITH(a_place_that_cannot_be_written_is_named, setup, teardown)
{
    char *text = make_profile();
    SCOPED_LOADER l = open_with("");
    int32_t status;
    while ((status = feedline_loader_save_profile(
                l, "/nonexistent/folder/x.json")) == FEEDLINE_ESTATE)
        fixture_pass(l, 1);
    assert_int_equal(status, FEEDLINE_EIO);
    assert_non_null(
        strstr(feedline_last_error(), "/nonexistent/folder/x.json"));
    assert_error(feedline_loader_save_profile(l, images.folder), FEEDLINE_EIO,
                 images.folder); /* a folder has that name */
    char *still = read_file();
    assert_string_equal(still, text);
    free(still);
    free(text);
}

/* Before its first decision the tuner may measure anew at any time, and then
 * has found nothing for a moment. */
static void *save_often(void *loader)
{
    for (int i = 0; i < 20; i++) {
        int32_t status = feedline_loader_save_profile(loader, path);
        if (status != FEEDLINE_OK && status != FEEDLINE_ESTATE)
            return loader;
    }
    return NULL;
}

/* Two loaders of a program may save to one place, and it may be at once. */
TEST_WITH(saved_by_two_threads_it_is_whole, setup, teardown)
{
    pthread_t other;
    void *failed;
    free(make_profile());
    feedline_loader *l = open_with("");
    while (feedline_loader_save_profile(l, path) == FEEDLINE_ESTATE)
        fixture_pass(l, 1);
    assert_int_equal(pthread_create(&other, NULL, save_often, l), 0);
    assert_null(save_often(l));
    assert_int_equal(pthread_join(other, &failed), 0);
    assert_null(failed);
    feedline_loader_destroy(l);
    says("begins with workers=");
}

/* ---- From elsewhere ------------------------------------------------------ */

TEST_WITH(another_place_is_named, setup, teardown)
{
    static const char *const facts[][2] = {
        {"cpu_model", "another host: its cpu_model is 'x'"},
        {"cores", "another host: its cores is 'x'"},
        {"memory_limit_bytes", "another host: its memory_limit_bytes"},
        {"gpu", "another host: its gpu is 'x', here it is ''"},
        {"samples", "another data_set: its samples is 'x', here it is '24'"},
        {"fingerprint", "another data_set: its fingerprint"},
        {"operations", "another pipeline: its operations"},
        {"batch_size", "another pipeline: its batch_size is 'x'"},
        {"dtype", "another pipeline: its dtype is 'x', here it is 'u8'"},
    };
    char *text = make_profile();
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        char *other = with(text, facts[i][0], "\"x\"");
        says_of(other, facts[i][1]);
        free(other);
    }
    says_of(text, "begins with");
    free(text);

    feedline_loader *l = open_with("batch_size=8");
    assert_non_null(strstr(rig_info(l).profile, "its batch_size is '4'"));
    feedline_loader_destroy(l);
    feedline_dataset_close(images.files);
    images.files = fixture_memory(&images);
    says("another data_set: its kind is 'files', here it is 'memory'");
}

/* ---- Damaged ------------------------------------------------------------- */

TEST_WITH(what_it_cannot_be_is_said, setup, teardown)
{
    static const char *const values[][3] = {
        {"feedline_profile", "2", "of version 2, and this library reads 1"},
        {"feedline_profile", "\"1\"", "feedline_profile is not a number"},
        {"feedline_profile", "null", "feedline_profile is not a number"},
        {"workers", "0", "found.workers=0 is not a whole number from 1 to"},
        {"workers", "-1", "found.workers=-1 is not"},
        {"workers", "1e3", "found.workers=1e3 is not"},
        {"workers", "2.5", "found.workers=2.5 is not"},
        {"workers", "99999999999999999999999", "is not a whole number"},
        {"workers", "\"4\"", "found.workers is not a number"},
        {"workers", "[4]", "found.workers is not a number"},
        {"depth", "4096", "found.depth=4096"},
        {"io_depth", "257", "found.io_depth=257"},
        {"cores", "2", "host.cores is not a string"},
        {"dtype", "{}", "pipeline.dtype is not a string"},
    };
    char *text = make_profile();
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char *other = with(text, values[i][0], values[i][1]);
        says_of(other, values[i][2]);
        free(other);
    }
    free(text);
    says_of("", "at 0: '{' expected");
    says_of("[]", "at 0: '{' expected");
    says_of("{}", "feedline_profile is not a number");
    write_file("{\0}", 3);
    says("not text");
    char *large = malloc(70000);
    assert_non_null(large);
    memset(large, ' ', 70000);
    write_file(large, 70000);
    free(large);
    says("larger than any profile");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    says("starts over");
    assert_int_equal(rmdir(path), 0);
}

TEST_WITH(half_of_one_is_none, setup, teardown)
{
    char *text = make_profile();
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] != '}')
        n--;
    for (size_t i = 0; i < n; i += 1 + i % 31) {
        write_file(text, i);
        says("at ");
    }
    free(text);
}

/* Whatever a file has in it: a loader begins, within its bounds. */
TEST_WITH(no_file_stops_a_loader, setup, teardown)
{
    static const char bytes[] = "\"\\{}[],:0123456789eE+-.truefalsn \n\x01\xff";
    char *text = make_profile();
    size_t n = strlen(text);
    struct dice dice = {test_seed()};
    uint32_t used = 0;
    for (uint32_t round = 0; round < 100; round++) {
        char *other = malloc(n);
        assert_non_null(other);
        memcpy(other, text, n);
        for (uint32_t i = 0; i <= round % 4; i++)
            other[dice_below(&dice, (uint32_t)n)] =
                bytes[dice_below(&dice, sizeof(bytes) - 1)];
        write_file(other, n);
        feedline_loader *l = open_with("");
        struct feedline_tuner_info info = rig_info(l);
        bool begins = strstr(info.profile, "begins with") != NULL;
        assert_true(begins || strstr(info.profile, "starts over"));
        assert_true(info.workers >= 1 && info.workers <= 6);
        assert_true(info.depth >= 1 && info.depth <= 64);
        used += begins;
        feedline_loader_destroy(l);
        free(other);
    }
    assert_true(used < 100);
    free(text);
}

/* ---- The parser ---------------------------------------------------------- */

TEST(json_is_read_strictly)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"{\"a\":1,}", "at 7: a string expected"},
        {"{\"a\" 1}", "':' expected"},
        {"{\"a\":01}", "at 5: a value expected"},
        {"{\"a\":+1}", "a value expected"},
        {"{\"a\":1.}", "a value expected"},
        {"{\"a\":nul}", "a value expected"},
        {"{\"a\":\"\\x\"}", "an escape that JSON does not have"},
        {"{\"a\":\"\\u12g4\"}", "four hexadecimal digits"},
        {"{\"a\":\"\\u0000\"}", "a NUL in a string"},
        {"{\"a\":\"\n\"}", "a control character"},
        {"{\"a\":\"", "the text ends inside a string"},
        {"{\"a\":1}{", "text after the end"},
        {"{\"a\":1,\"a\":2}", "a name for the second time"},
        {"{\"a\":[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]}", "nested too deeply"},
        {"{\"a\":[1 2]}", "',' or the end"},
        {"{\"a\":[1}", "',' or the end"},
        {"{\"a\":}", "a value expected"},
        {"{a:1}", "a string expected"},
    };
    struct fdl_profile_values *v = malloc(sizeof(*v));
    assert_non_null(v);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_error(fdl_profile_parse(bad[i].text, v), FEEDLINE_EINVAL,
                     bad[i].words);
    assert_ok(fdl_profile_parse(
        " { \"a\" : { \"b\" : -1.5e+10 , \"c\" : \"\\u00e4\\n\\ud83d\" } ,\n"
        "\"l\":[1,{\"a\":2},[]], \"t\":true, \"n\":null, \"e\":{} } \n",
        v));
    assert_int_equal(v->n, 4);
    assert_string_equal(fdl_profile_find(v, "a.b")->text, "-1.5e+10");
    assert_int_equal(fdl_profile_find(v, "a.b")->kind, FDL_PROFILE_NUMBER);
    assert_string_equal(fdl_profile_find(v, "a.c")->text, "\xc3\xa4\n?");
    assert_int_equal(fdl_profile_find(v, "t")->kind, FDL_PROFILE_WORD);
    assert_null(fdl_profile_find(v, "l"));
    assert_null(fdl_profile_find(v, "l.a"));

    char many[2048] = "{\"k0\":0";
    for (uint32_t i = 1; i <= FDL_PROFILE_VALUES; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many),
                 ",\"k%u\":%u", i, i);
    strcat(many, "}");
    assert_error(fdl_profile_parse(many, v), FEEDLINE_EINVAL, "more values");
    char name[256];
    snprintf(
        name, sizeof(name), "{\"%.70s\":{\"%.70s\":1}}",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaa",
        "b");
    assert_error(fdl_profile_parse(name, v), FEEDLINE_EINVAL, "too long");
    free(v);
}

TEST_MAIN("profile")
