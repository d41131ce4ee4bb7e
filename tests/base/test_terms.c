/* SPDX-License-Identifier: Apache-2.0 */
/* Options in the words of each interface, as one would type them there. */
#include "base/terms.h"
#include "test.h"

static void same(struct fdl_term found, const char *expected)
{
    assert_string_equal(found.at, expected);
}

TEST(plain_names)
{
    const struct fdl_terms *t = fdl_terms_of(FDL_INTERFACE_FEEDLINE);
    same(fdl_term(t, "depth"), "depth");
    same(fdl_term(t, "io_depth"), "io_depth");
    same(fdl_term_set(t, "workers", "auto"), "workers=auto");
    same(fdl_term_set_number(t, "io_depth", 64), "io_depth=64");
}

TEST(python_quotes_words)
{
    const struct fdl_terms *t = fdl_terms_of(FDL_INTERFACE_PYTHON);
    same(fdl_term(t, "io_depth"), "io_depth");
    same(fdl_term_set(t, "workers", "auto"), "workers=\"auto\"");
    same(fdl_term_set_number(t, "workers", 6), "workers=6");
}

TEST(torch_has_its_own)
{
    const struct fdl_terms *t = fdl_terms_of(FDL_INTERFACE_TORCH);
    same(fdl_term(t, "workers"), "num_workers");
    same(fdl_term(t, "depth"), "prefetch_factor");
    same(fdl_term(t, "quality"), "quality");
    same(fdl_term(t, "io_depth"), "options[\"io_depth\"]");
    same(fdl_term_set(t, "depth", "auto"), "prefetch_factor=\"auto\"");
    same(fdl_term_set(t, "finish", "device"),
         "options={\"finish\": \"device\"}");
    same(fdl_term_set_number(t, "workers", 7), "num_workers=7");
    same(fdl_term_set_number(t, "io_depth", 64), "options={\"io_depth\": 64}");
}

TEST_MAIN("base_terms")
