/* SPDX-License-Identifier: Apache-2.0 */
/* Another library's loader, watched: once made, a watch counts whatever
 * fails. */
#include "lives.h"

#include <feedline/watch.h>

#define TURNS 4u

static int32_t create(feedline_loader **out)
{
    static const struct feedline_watch_def def = {.struct_size = sizeof(def),
                                                  .name = "somebody"};
    feedline_config *cfg = NULL;
    int32_t status = trial_note(feedline_config_create(&cfg));
    TRY(status, feedline_config_set(cfg, "stats_log", "/dev/null"));
    TRY(status, feedline_watch_create(cfg, &def, out));
    feedline_config_destroy(cfg);
    return status;
}

static int32_t watch(void)
{
    feedline_loader *w = NULL;
    struct feedline_stats s = {.struct_size = sizeof(s)};
    int32_t status = create(&w);
    assert_true((status < 0) == (w == NULL));
    for (uint32_t i = 0; i < TURNS; i++) {
        TRY(status, feedline_watch_begin(w));
        TRY(status, feedline_watch_end(w, FEEDLINE_OK, 1, 0));
    }
    TRY(status, feedline_loader_get_stats(w, &s));
    assert_true(status < 0 || s.batches == TURNS);
    feedline_loader_destroy(w);
    return status;
}

static const char *nothing_to_make(void)
{
    return NULL;
}

static void nothing_to_remove(void)
{
}

const struct scenario fault_watch = {.name = "watch",
                                     .what = "a watch on another loader",
                                     .kinds = KIND(MEMORY) | KIND(THREAD) |
                                              KIND(OPEN),
                                     .setup = nothing_to_make,
                                     .teardown = nothing_to_remove,
                                     .life = watch};
