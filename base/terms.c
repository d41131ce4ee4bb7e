/* SPDX-License-Identifier: Apache-2.0 */
/* Options in the words of an interface; see terms.h. */
#include "base/terms.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct name {
    const char *option, *argument;
};

struct fdl_terms {
    bool quoted;              /* words are string literals there */
    const struct name *names; /* arguments of its own; NULL: every option */
};

/* The arguments of feedline.torch.DataLoader; all else goes into options={}. */
static const struct name torch_names[] = {
    {"workers", "num_workers"},
    {"depth", "prefetch_factor"},
    {"batch_size", "batch_size"},
    {"device", "device"},
    {"dtype", "dtype"},
    {"layout", "layout"},
    {"on_error", "on_error"},
    {"tuner", "tuner"},
    {"tuner_profile", "tuner_profile"},
    {"memory_budget", "memory_budget"},
    {"device_memory_budget", "device_memory_budget"},
    {"reader", "reader"},
    {"quality", "quality"},
    {"seed", "seed"},
    {"shuffle", "shuffle"},
    {"drop_last", "drop_last"},
    {NULL, NULL},
};

static const struct fdl_terms interfaces[FDL_INTERFACES] = {
    [FDL_INTERFACE_FEEDLINE] = {.quoted = false},
    [FDL_INTERFACE_PYTHON] = {.quoted = true},
    [FDL_INTERFACE_TORCH] = {.quoted = true, .names = torch_names},
};

const struct fdl_terms *fdl_terms_of(enum fdl_interface interface)
{
    return &interfaces[interface];
}

/* NULL: the option has no argument of its own. */
static const char *argument_of(const struct fdl_terms *t, const char *option)
{
    if (!t->names)
        return option;
    for (const struct name *n = t->names; n->option; n++)
        if (strcmp(n->option, option) == 0)
            return n->argument;
    return NULL;
}

struct fdl_term fdl_term(const struct fdl_terms *t, const char *option)
{
    struct fdl_term out;
    const char *argument = argument_of(t, option);
    if (argument)
        snprintf(out.at, sizeof(out.at), "%s", argument);
    else
        snprintf(out.at, sizeof(out.at), "options[\"%s\"]", option);
    return out;
}

static struct fdl_term assign(const struct fdl_terms *t, const char *option,
                              const char *value, const char *quote)
{
    struct fdl_term out;
    const char *argument = argument_of(t, option);
    if (argument)
        snprintf(out.at, sizeof(out.at), "%s=%s%s%s", argument, quote, value,
                 quote);
    else
        snprintf(out.at, sizeof(out.at), "options={\"%s\": %s%s%s}", option,
                 quote, value, quote);
    return out;
}

struct fdl_term fdl_term_set(const struct fdl_terms *t, const char *option,
                             const char *value)
{
    return assign(t, option, value, t->quoted ? "\"" : "");
}

struct fdl_term fdl_term_set_number(const struct fdl_terms *t,
                                    const char *option, long long value)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", value);
    return assign(t, option, text, "");
}
