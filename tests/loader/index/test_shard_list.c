/* SPDX-License-Identifier: Apache-2.0 */
/* Names of shards: braces as in braceexpand, "::", and what is refused. */
#include "base/status.h"
#include "loader/index/shard_list.h"
#include "test.h"

static const char *const endings[] = {".tar", NULL};

/* All names, each with a blank behind it. */
static const char *expanded(const char *pattern)
{
    static char text[4096];
    struct fdl_string_list l = {0};
    size_t n = 0;
    text[0] = '\0';
    if (fdl_shard_list_find(&l, pattern, endings) == FEEDLINE_OK)
        for (uint64_t i = 0; i < l.n && n < sizeof(text) - 1; i++)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s ",
                                  fdl_string_list_at(&l, i));
    fdl_string_list_free(&l);
    return text;
}

TEST(braces_are_those_of_braceexpand)
{
    static const struct {
        const char *pattern, *names;
    } cases[] = {
        {"/no/a.tar", "/no/a.tar "},
        {"/no/{a,b}.tar", "/no/a.tar /no/b.tar "},
        {"/no/{a,b{1..3}}", "/no/a /no/b1 /no/b2 /no/b3 "},
        {"/no/{008..011}", "/no/008 /no/009 /no/010 /no/011 "},
        {"/no/{8..011}", "/no/008 /no/009 /no/010 /no/011 "},
        {"/no/{3..1}{x,}", "/no/3x /no/3 /no/2x /no/2 /no/1x /no/1 "},
        {"/no/{-1..1}", "/no/-1 /no/0 /no/1 "},
        {"/no/{0..8..4}", "/no/0 /no/4 /no/8 "},
        {"/no/{a..g..3}", "/no/a /no/d /no/g "},
        {"/no/{x}{}.tar", "/no/{x}{}.tar "},
        {"/no/\\{a,b\\}", "/no/{a,b} "},
        {"/no/a::/no/{1..2}", "/no/a /no/1 /no/2 "},
        {"/no/{5..1..-2}", "/no/5 /no/3 /no/1 "},
        {"/no/{1..2..0}", "/no/1 /no/2 "},
        {"/no/{A..C}", "/no/A /no/B /no/C "},
        {"/no/{a\\,b,c\\}}", "/no/a,b /no/c} "},
        {"/no/{a,{b,c}}", "/no/a /no/b /no/c "},
        {"/no/a\\", "/no/a\\ "},
        /* None of these is a range. */
        {"/no/{+1..3}", "/no/{+1..3} "},
        {"/no/{1..+3}", "/no/{1..+3} "},
        {"/no/{ 1..3}", "/no/{ 1..3} "},
        {"/no/{1..}", "/no/{1..} "},
        {"/no/{a..1}", "/no/{a..1} "},
        {"/no/{1..9..x}", "/no/{1..9..x} "},
        {"/no/{1..9999999999999999999}", "/no/{1..9999999999999999999} "},
        /* As wide as 64 bits. */
        {"/no/{-9223372036854775807..9223372036854775807.."
         "9223372036854775807}",
         "/no/-9223372036854775807 /no/0 /no/9223372036854775807 "},
        {"/no/{9223372036854775807..-9223372036854775808.."
         "9223372036854775807}",
         "/no/9223372036854775807 /no/0 /no/-9223372036854775807 "},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++)
        assert_string_equal(expanded(cases[i].pattern), cases[i].names);
}

TEST(what_is_wrong_is_said)
{
    static const struct {
        const char *pattern, *why;
    } cases[] = {
        {"/no/{a,b", "without its '}'"},
        {"/no/{0..99999999}", "more than 1000000 shards"},
        {"/no/{0..999}{0..999}{0..9}", "more than 1000000 shards"},
        {"/no/a::", "an empty name"},
        {"/no/{00000000000000000000000000000000000000000000000000000000000000"
         "000001..2}",
         "more than 1000000 shards"},
        {"/proc", "no shards (*.tar)"},
    };
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        fdl_clear_error();
        assert_string_equal(expanded(cases[i].pattern), "");
        assert_non_null(strstr(fdl_last_error(), cases[i].why));
    }
}

TEST_MAIN("shard_list")
