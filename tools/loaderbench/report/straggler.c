/* SPDX-License-Identifier: Apache-2.0 */
/* One rank among the others; see straggler.h. */
#include "tools/loaderbench/report/straggler.h"

#include "tools/loaderbench/tool.h"

#include <math.h>
#include <stdlib.h>

#define CLEARLY 0.02 /* of a step: more than what equal ranks differ by */

enum what { STEP, WAIT, BUSY };

static double time_of(const struct straggler_times *r, enum what what)
{
    return what == STEP ? r->step : what == WAIT ? r->wait : r->busy;
}

/* NAN: not known of all, or no memory. */
static double usual_of(const struct straggler_times *ranks, size_t n,
                       enum what what)
{
    double *x = calloc(n ? n : 1, sizeof(*x)), usual = NAN;
    bool known = x && n > 0;
    for (size_t i = 0; known && i < n; i++) {
        x[i] = time_of(&ranks[i], what);
        known = !isnan(x[i]);
    }
    if (known) {
        /* The lower one of two: of two ranks the faster is how it should be. */
        tool_median(x, n);
        usual = x[(n - 1) / 2];
    }
    free(x);
    return usual;
}

/* The rank with the most of it, if that is clearly more than what is usual. */
static struct straggler sticks_out(const struct straggler_times *ranks,
                                   size_t n, enum what what)
{
    struct straggler found = {.at = n, .loader_at_fault = what == WAIT};
    double usual = usual_of(ranks, n, what);
    double most = usual + CLEARLY * usual_of(ranks, n, STEP);
    for (size_t i = 0; i < n; i++) {
        double x = time_of(&ranks[i], what);
        if (x > most) {
            found.at = i;
            found.by = x - usual;
            most = x;
        }
    }
    return found;
}

struct straggler straggler_find(const struct straggler_times *ranks, size_t n)
{
    struct straggler found = sticks_out(ranks, n, WAIT);
    struct straggler busy = sticks_out(ranks, n, BUSY);
    if (busy.at < n && (found.at == n || busy.by > found.by))
        found = busy;
    if (found.at == n)
        found = sticks_out(ranks, n, STEP);
    return found;
}
