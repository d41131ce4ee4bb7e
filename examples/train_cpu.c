/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network on the host: a kernel is a function, calling it runs it, and
 * there is no stream. One thread; the loader's workers have the others.
 */
#include "train_model.h"

#include <stdlib.h>

#define KERNEL         static void
#define FOR_EACH(i, n) for (int i = 0; i < (n); i++)
#define RUN(t, kernel, n, ...)                                                 \
  do {                                                                         \
    (void)(t);                                                                 \
    kernel(__VA_ARGS__, n);                                                    \
  } while (0)

#include "train_kernels.h"

struct trainer {
    struct net net;
    float *memory;
};

static const char *message = "";

static void cpu_destroy(struct trainer *t)
{
    if (t)
        free(t->memory);
    free(t);
}

static int cpu_create(const struct train_config *config, struct trainer **out)
{
    struct trainer *t = calloc(1, sizeof(*t));
    if (t)
        t->memory =
            calloc(net_place(&t->net, config, NULL), sizeof(*t->memory));
    if (!t || !t->memory) {
        cpu_destroy(t);
        message = "out of memory";
        return -1;
    }
    net_place(&t->net, config, t->memory);
    net_begin(&t->net, config->seed, t->net.parameters);
    *out = t;
    return 0;
}

static void *cpu_stream(const struct trainer *t)
{
    (void)t;
    return NULL;
}

static int cpu_step(struct trainer *t, const struct train_batch *b)
{
    net_step(t, &t->net, b);
    return 0;
}

static int cpu_read(struct trainer *t, struct train_tally *out)
{
    out->loss = t->net.totals[0];
    out->hits = t->net.totals[1];
    t->net.totals[0] = t->net.totals[1] = 0;
    return 0;
}

static const char *cpu_error(void)
{
    return message;
}

const struct train_backend train_cpu = {cpu_create, cpu_destroy, cpu_stream,
                                        cpu_step,   cpu_read,    cpu_error};
