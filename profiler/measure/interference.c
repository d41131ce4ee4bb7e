/* SPDX-License-Identifier: Apache-2.0 */
/* Step times by number of workers; see interference.h. */
#include "profiler/measure/interference.h"

#include "base/compiler.h"

#include <stddef.h>

#define OUTLIER       5.0
#define KNOWN         8u  /* steps before one can stick out */
#define LARGEST_SIGMA 1e6 /* steps without any spread */
#define SMALLEST_MEAN 1.0 /* ns: the consumer does nothing at all */

static uint32_t class_of(uint32_t workers)
{
    uint32_t class = 0;
    while (workers > 1 && class + 1 < FDL_INTERFERENCE_CLASSES) {
        workers >>= 1;
        class ++;
    }
    return class;
}

FDL_HOT void fdl_interference_add(struct fdl_interference *i, uint32_t workers,
                                  int64_t step_ns)
{
    struct fdl_interference_class *c = &i->classes[class_of(workers)];
    double x = (double)step_ns;
    if (step_ns < 0 || (c->n >= KNOWN && x > OUTLIER * c->mean))
        return;
    double before = x - c->mean;
    c->n++;
    c->mean += before / (double)c->n;
    c->m2 += before * (x - c->mean);
}

static double square_root(double x)
{
    double r = x > 1 ? x : 1;
    for (int k = 0; k < 200; k++) {
        double next = (r + x / r) / 2;
        if (next >= r)
            break;
        r = next;
    }
    return r;
}

/* Of the mean's error. */
static double variance(const struct fdl_interference_class *c)
{
    return c->m2 / (double)(c->n - 1) / (double)c->n;
}

bool fdl_interference_judge(const struct fdl_interference *i, double *growth,
                            double *sigma)
{
    const struct fdl_interference_class *few = NULL;
    const struct fdl_interference_class *most = NULL;
    for (uint32_t k = 0; k < FDL_INTERFERENCE_CLASSES; k++) {
        if (i->classes[k].n < FDL_INTERFERENCE_LEAST)
            continue;
        if (!few)
            few = &i->classes[k];
        most = &i->classes[k];
    }
    if (few == most || few->mean < SMALLEST_MEAN)
        return false;
    double difference = most->mean - few->mean;
    double error = square_root(variance(few) + variance(most));
    double sigmas = error > 0 ? difference / error : 0;
    if (difference != 0 && !(error > 0))
        sigmas = difference > 0 ? LARGEST_SIGMA : -LARGEST_SIGMA;
    *growth = difference / few->mean;
    *sigma = FDL_MAX(-LARGEST_SIGMA, FDL_MIN(sigmas, LARGEST_SIGMA));
    return true;
}
