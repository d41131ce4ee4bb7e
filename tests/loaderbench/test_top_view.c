/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of top on numbers that are made up. */
#include "test.h"
#include "tools/loaderbench/top/top.h"

#include <stdio.h>
#include <string.h>

/* Where a line begins with that; the number of lines: nowhere. */
static size_t line_of(const struct top_view *view, const char *words)
{
    size_t i = 0;
    while (i < view->n && !strstr(view->lines[i].text, words))
        i++;
    return i;
}

/* Of the tuner's decisions the newest is above, and stays the longest where
 * there is no room. */
TEST(newest_decision_first)
{
    static struct top_view view;
    struct feedline_live_stats now = {.struct_size = sizeof(now)};
    struct top_subject subject = {.keys = true};
    struct top_rates rates;
    now.n_decisions = 3;
    for (uint32_t i = 0; i < now.n_decisions; i++)
        snprintf(now.decisions[i], sizeof(now.decisions[i]), "change %u", i);
    top_rates(NULL, &now, &rates);
    view.width = 80;
    top_view_make(&view, &subject, &now, &rates);
    assert_true(line_of(&view, "change 2") < line_of(&view, "change 1"));
    assert_true(line_of(&view, "change 1") < line_of(&view, "change 0"));
    assert_true(line_of(&view, "change 0") < view.n);
    for (size_t height = view.n; height-- > 0;) {
        top_view_fit(&view, height);
        assert_int_equal(view.n, height);
        if (line_of(&view, "change 2") == view.n)
            assert_int_equal(line_of(&view, "change 1"), view.n);
        if (line_of(&view, "change 1") == view.n)
            assert_int_equal(line_of(&view, "change 0"), view.n);
    }
}

/* As long as a page has room for, in the narrowest terminal. */
TEST(the_verdict_is_whole)
{
    static struct top_view view;
    struct feedline_live_stats now = {.struct_size = sizeof(now)};
    struct top_subject subject = {.keys = true};
    struct top_rates rates;
    strcpy(now.verdict.code, "LOCK_BOUND");
    for (size_t i = 0; i + 8 < sizeof(now.verdict.sentence); i += 4)
        strcpy(now.verdict.sentence + i, "and ");
    strcat(now.verdict.sentence, "so.");
    for (size_t i = 0; i + 8 < sizeof(now.verdict.action); i += 4)
        strcpy(now.verdict.action + i, "use ");
    strcat(now.verdict.action, "it.");
    top_rates(NULL, &now, &rates);
    for (view.width = 40; view.width <= 160; view.width += 40) {
        top_view_make(&view, &subject, &now, &rates);
        assert_true(line_of(&view, "and so.") < line_of(&view, "use it."));
        assert_true(line_of(&view, "use it.") < view.n);
    }
}

/* Its parts are somebody else's, and not "not attributed". */
TEST(a_watched_loader_has_one_cause)
{
    static struct top_view view;
    struct feedline_live_stats now = {.struct_size = sizeof(now)};
    struct top_subject subject = {.keys = true};
    struct top_rates rates;
    top_rates(NULL, &now, &rates);
    rates.stall = 0.5;
    rates.causes[0].name = "residual";
    rates.causes[0].fraction = 0.5;
    rates.n_causes = 1;
    view.width = 80;
    top_view_make(&view, &subject, &now, &rates);
    assert_true(line_of(&view, "  residual") < view.n);
    strcpy(now.watched, "DataLoader");
    top_view_make(&view, &subject, &now, &rates);
    assert_int_equal(line_of(&view, "residual"), view.n);
    size_t at = line_of(&view, "  in DataLoader");
    assert_true(at < view.n);
    assert_non_null(strstr(view.lines[at].text, "50.0 %"));
}

TEST_MAIN("top_view")
