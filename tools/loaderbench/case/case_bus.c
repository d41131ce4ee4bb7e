/* SPDX-License-Identifier: Apache-2.0 */
/* Cases about the bus to a GPU: what was predicted beside what came. */
#include "tools/loaderbench/case/case.h"
#include "tools/loaderbench/cli/cli.h"

#include <math.h>
#include <stdio.h>

#define AGREED 0.2 /* measured gain against the predicted one */

static double gain(double before, double after)
{
    return after > 0 ? before / after : 0;
}

/* Within 20 %? */
static bool agree(const struct case_result *r)
{
    double predicted = gain(r->before.predicted_ms, r->after.predicted_ms);
    double measured = gain(r->before.step_ms, r->after.step_ms);
    return predicted > 0 && fabs(measured / predicted - 1) <= AGREED;
}

static json_t *side_json(const struct case_side *s)
{
    if (!(s->step_ms > 0))
        return json_null();
    return json_pack("{s:s, s:f, s:f, s:I, s:f, s:f, s:f, s:f, s:I}", "what",
                     s->what, "step_ms", s->step_ms, "stall_fraction",
                     s->stall_fraction, "workers", (json_int_t)s->workers,
                     "predicted_ms", s->predicted_ms, "copy_ms", s->copy_ms,
                     "finish_ms", s->finish_ms, "produce_ms", s->produce_ms,
                     "bytes", (json_int_t)s->bytes);
}

void case_bus_document(const struct case_result *r, json_t *doc)
{
    json_object_set_new(doc, "fit", h2d_fit_json(&r->fit));
    json_object_set_new(doc, "regime", json_string(r->regime));
    json_object_set_new(doc, "before", side_json(&r->before));
    json_object_set_new(doc, "after", side_json(&r->after));
    json_object_set_new(
        doc, "predicted_gain",
        json_real(gain(r->before.predicted_ms, r->after.predicted_ms)));
    json_object_set_new(doc, "measured_gain",
                        json_real(gain(r->before.step_ms, r->after.step_ms)));
    json_object_set_new(doc, "agrees", json_boolean(agree(r)));
}

static void print_side(const char *when, const struct case_side *s)
{
    char bytes[32];
    printf("%-7s %-30s %9s %9.3f %9.3f %8.1f %%\n", when, s->what,
           h2d_size_text(s->bytes, bytes, sizeof(bytes)), s->predicted_ms,
           s->step_ms, 100 * s->stall_fraction);
}

void case_bus_report(const struct case_result *r)
{
    if (r->fit.gigabytes_per_second > 0)
        h2d_print_fit(&r->fit);
    if (!(r->after.step_ms > 0)) {
        printf("Neither side was measured to its end.\n");
        return;
    }
    printf("The regime of these copies: %s.\n", r->regime);
    printf("\n%-7s %-30s %9s %9s %9s %10s\n", "", "", "bytes", "predicted",
           "measured", "GPU waits");
    print_side("before", &r->before);
    print_side("after", &r->after);
    printf("%-7s %-30s %9s %9s %9.3f\n\n", "bound", "the bytes at full speed",
           "", "", r->bound_ms);
    printf("Gain: predicted %.2f, measured %.2f: %s.\n",
           gain(r->before.predicted_ms, r->after.predicted_ms),
           gain(r->before.step_ms, r->after.step_ms),
           agree(r) ? "they agree within 20 %" : "they do not agree");
}
