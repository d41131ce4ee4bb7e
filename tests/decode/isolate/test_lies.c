/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a decoder answers that somebody has taken over, the worker reads and
 * writes where it should, and the image has failed. */
#include "decode/formats/jpeg_entries.h"
#include "tests/decode/isolate/decoders.h"
#include "tests/decode/make_jpeg.h"
#include "tests/decode/rig.h"

#include <unistd.h>

static char folder[] = "/tmp/feedline_lies_XXXXXX";

static void setup(void)
{
    decoders_need_seccomp();
    assert_non_null(mkdtemp(folder));
}

static void teardown(void)
{
    rmdir(folder);
}

/* With a decoder that lies so; its notes, if there are to be any. */
static int32_t decode(const char *lie, struct fdl_entry_notes *notes)
{
    struct make_jpeg m = {.width = 64, .height = 48, .components = 3};
    struct fdl_decode_limits limits = {.isolate = true};
    char path[128];
    size_t size;
    snprintf(path, sizeof(path), "%s/liar-%s", folder, lie);
    assert_int_equal(symlink(TEST_LIAR, path), 0);
    setenv("FEEDLINE_DECODE_PROGRAM", path, 1);
    SCOPED_DECODER d = rig_decoder(limits);
    uint8_t *file = make_jpeg(&m, &size), out[64 * 48 * 3];
    struct fdl_encoded bytes = file_of(file, size);
    struct fdl_image_info info;
    struct fdl_plan plan;
    struct fdl_output_format f = {64, 48, 3, FEEDLINE_U8, true};
    struct fdl_render_cost cost;
    bytes.notes = notes;
    fdl_clear_error();
    fdl_plan_init(&plan, 64, 48);
    int32_t status = fdl_decoder_open(d, &bytes, &info);
    if (status == FEEDLINE_OK)
        status = fdl_decoder_render(d, &plan, &f, out, &cost);
    free(file);
    unlink(path);
    return status;
}

TEST_WITH(wrong_answers_are_errors, setup, teardown)
{
    static const char *const lies[] = {
        "large",       "empty", "negative", "channels", "format",
        "orientation", "mode",  "less",     "outside",  "overflow",
        "many",        "none",  "minus",    "status",   "short",
    };
    for (size_t i = 0; i < FDL_COUNT_OF(lies); i++) {
        int32_t status = decode(lies[i], NULL);
        if (status != FEEDLINE_EDECODE ||
            !strstr(fdl_last_error(), "gave a wrong answer"))
            fail_msg("%s: %d, %s", lies[i], status, fdl_last_error());
    }
    assert_int_equal(decode("true", NULL), FEEDLINE_OK);
}

TEST_WITH(no_answer_is_an_error, setup, teardown)
{
    assert_int_equal(decode("silent", NULL), FEEDLINE_EDECODE);
    assert_non_null(strstr(fdl_last_error(), "ended without an answer"));
}

TEST_WITH(its_words_are_one_line, setup, teardown)
{
    assert_int_equal(decode("words", NULL), FEEDLINE_EDECODE);
    assert_null(strchr(fdl_last_error(), '\n'));
    assert_in_range(strlen(fdl_last_error()), 1, FDL_ERROR_BYTES - 1);
}

TEST_WITH(notes_that_cannot_be_are_not_taken, setup, teardown)
{
    static struct fdl_entry_notes notes;
    static const char *const lies[] = {"notes", "first", "true"};
    for (size_t i = 0; i < FDL_COUNT_OF(lies); i++) {
        fdl_entry_notes_begin(&notes, NULL, true);
        assert_int_equal(decode(lies[i], &notes), FEEDLINE_OK);
        assert_int_equal(notes.valid, i == 2);
        assert_true(notes.n <= 1);
    }
}

TEST_MAIN("lies")
