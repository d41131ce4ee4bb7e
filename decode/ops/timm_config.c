/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections between dashes: what it is, then keys, each with a number right
 * behind it. timm passes over a section without a number; here it is an error.
 */
#include "decode/ops/timm_config.h"

#include "base/compiler.h"
#include "base/number.h"
#include "base/status.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define LEVEL_MAX     1000
#define DEFAULT_LEVEL 10
#define EVEN_FROM     100 /* a deviation above this means evenly distributed */

struct key {
    const char *name;
    bool whole;
    uint32_t of;
    double max;
    size_t at; /* in struct fdl_timm_config; 0: a whole number in it */
};

#define AT(member) offsetof(struct fdl_timm_config, member)
enum { KEY_INCREASING, KEY_BRANCHES, KEYS = 8 };
#define OF_RAND   1u
#define OF_POLICY 2u
#define OF_MIX    4u

static const struct key keys[KEYS] = {
    [KEY_INCREASING] = {"inc", true, OF_RAND, 1, 0},
    [KEY_BRANCHES] = {"w", true, OF_MIX, FDL_AUGMENT_OPS_MAX, 0},
    {"n", true, OF_RAND, FDL_AUGMENT_OPS_MAX, 0},
    {"d", true, OF_MIX, FDL_AUGMENT_OPS_MAX, 0},
    {"m", true, OF_RAND | OF_MIX, LEVEL_MAX, AT(magnitude)},
    {"p", false, OF_RAND, 1, AT(probability)},
    {"mstd", false, OF_RAND | OF_POLICY | OF_MIX, 1e6, AT(deviation)},
    {"mmax", true, OF_RAND, LEVEL_MAX, AT(most)},
};

/* A section, not terminated. */
struct part {
    const char *text;
    size_t length;
};

static bool is(struct part p, const char *name)
{
    return strlen(name) == p.length && memcmp(p.text, name, p.length) == 0;
}

static int32_t refuse(struct part p, const char *what)
{
    return fdl_fail(FEEDLINE_EINVAL, "timm_augment: '%.*s' is no %s",
                    (int)FDL_MIN(p.length, 40), p.text, what);
}

/* ---- Sections ----------------------------------------------------------- */

static int32_t set_number(struct fdl_timm_config *c, struct part p,
                          const struct key *key, double value)
{
    if (!(value >= 0 && value <= key->max))
        return fdl_fail(FEEDLINE_ERANGE,
                        "timm_augment: '%.*s': %s takes 0 to %g", (int)p.length,
                        p.text, key->name, key->max);
    if (key == &keys[KEY_INCREASING])
        c->increasing = value > 0;
    else if (key == &keys[KEY_BRANCHES])
        c->branches = (uint32_t)value;
    else if (key->at == 0)
        c->layers = (uint32_t)value;
    else
        memcpy((char *)c + key->at, &value, sizeof(value));
    return FEEDLINE_OK;
}

static uint32_t is_of(const struct fdl_timm_config *c)
{
    return c->policy ? OF_POLICY : c->set == &fdl_augmix_set ? OF_MIX : OF_RAND;
}

static int32_t read_number(struct fdl_timm_config *c, struct part p)
{
    struct part name = {p.text, 0};
    while (name.length < p.length &&
           !(p.text[name.length] >= '0' && p.text[name.length] <= '9'))
        name.length++;
    for (size_t i = 0; i < KEYS; i++) {
        const char *end;
        double value;
        if (!is(name, keys[i].name) || !(keys[i].of & is_of(c)))
            continue;
        if (!fdl_parse_double(p.text + name.length, &end, &value) ||
            end != p.text + p.length ||
            (keys[i].whole && value != trunc(value)))
            return refuse(p, keys[i].whole ? "key with a whole number"
                                           : "key with a number");
        return set_number(c, p, &keys[i], value);
    }
    return refuse(p, c->policy ? "section of it; a policy takes mstd"
                     : is_of(c) == OF_MIX
                         ? "section of it; there are m, w, d and mstd, with a "
                           "value"
                         : "section of it; there are m, n, p, mstd, mmax, inc "
                           "and t, with a value");
}

static int32_t read_set(struct fdl_timm_config *c, struct part p)
{
    struct part name = {p.text + 1, p.length - 1};
    for (c->set = fdl_choice_sets + 1; c->set->name; c->set++) {
        if (is(name, c->set->name))
            return FEEDLINE_OK;
    }
    return refuse(p, "set of operations; there are tweights, t3a and t3aw");
}

static int32_t read_kind(struct fdl_timm_config *c, struct part p)
{
    if (is(p, "rand")) {
        c->set = fdl_choice_sets;
        return FEEDLINE_OK;
    }
    if (is(p, "augmix")) {
        *c = (struct fdl_timm_config){.set = &fdl_augmix_set,
                                      .branches = 3,
                                      .probability = 1,
                                      .magnitude = 3,
                                      .deviation = INFINITY};
        return FEEDLINE_OK;
    }
    for (c->policy = fdl_timm_policies; c->policy->name; c->policy++) {
        if (is(p, c->policy->name))
            return FEEDLINE_OK;
    }
    return refuse(p, "augmentation; there are rand, augmix, original, "
                     "originalr, v0, v0r and 3a");
}

/* ---- The whole ---------------------------------------------------------- */

static int32_t check_whole(struct fdl_timm_config *c)
{
    if (c->most == 0)
        c->most = DEFAULT_LEVEL;
    if (is_of(c) == OF_MIX && c->branches == 0)
        return fdl_fail(FEEDLINE_ERANGE, "timm_augment: w is 1 or more");
    if (is_of(c) == OF_RAND && c->deviation > EVEN_FROM)
        c->deviation = INFINITY;
    /* All but the first set are of what increases, whatever inc says. */
    if (c->set && c->set->name[0])
        c->increasing = true;
    if (c->set && c->set->weighted && c->layers > c->set->n)
        return fdl_fail(FEEDLINE_ERANGE,
                        "timm_augment: n is at most %u, for t%s takes each of "
                        "its operations once",
                        (unsigned)c->set->n, c->set->name);
    return FEEDLINE_OK;
}

int32_t fdl_timm_parse(const char *text, struct fdl_timm_config *out)
{
    struct fdl_timm_config c = {
        .layers = 2, .probability = 0.5, .magnitude = DEFAULT_LEVEL};
    int32_t status = FEEDLINE_OK;
    bool first = true;
    while (!status) {
        struct part p = {text, strcspn(text, "-")};
        if (first)
            status = read_kind(&c, p);
        else if (is_of(&c) == OF_RAND && p.length > 0 && p.text[0] == 't')
            status = read_set(&c, p);
        else
            status = read_number(&c, p);
        first = false;
        text += p.length;
        if (*text == '\0')
            break;
        text++;
    }
    if (!status)
        status = check_whole(&c);
    if (!status)
        *out = c;
    return status;
}
