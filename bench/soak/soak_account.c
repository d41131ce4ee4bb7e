/* SPDX-License-Identifier: Apache-2.0 */
#include "soak_account.h"

#include <feedline/feedline.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOLD 50u /* of an account; the rest is counted */

void account_init(struct account *a, const char *name, uint64_t count)
{
    *a = (struct account){.name = name, .count = count};
    a->times = calloc(count, sizeof(*a->times));
    a->known = calloc(count, sizeof(*a->known));
    if (!a->times || !a->known)
        abort();
}

static void tell(const struct account *a, int64_t sample, const char *words)
{
    if (a->lost + a->twice + a->wrong <= MOST_TOLD)
        fprintf(stderr, "%s: epoch %" PRIu64 ": sample %" PRId64 " %s\n",
                a->name, a->epoch, sample, words);
}

void account_wrong(struct account *a, const char *words)
{
    a->wrong++;
    tell(a, -1, words);
}

/* Pixels are the same in every epoch, as nothing is drawn. */
static void check_pixels(struct account *a, const struct seen *s)
{
    uint64_t *known = &a->known[s->index];
    if (*known == 0)
        *known = s->hash;
    if (*known == s->hash)
        return;
    a->wrong++;
    tell(a, s->index, "has other pixels");
}

static void count_outcome(struct account *a, const struct seen *s)
{
    if (s->status == FEEDLINE_REPLACED)
        a->replaced++;
    else if (s->status == FEEDLINE_OK)
        a->delivered++;
    else
        a->listed++;
    if (s->status >= 0)
        check_pixels(a, s);
    if (s->status != FEEDLINE_REPLACED && s->index != s->planned) {
        a->wrong++;
        tell(a, s->planned, "was planned, and another one came");
    }
}

void account_add(struct account *a, const struct seen *s)
{
    uint64_t planned = (uint64_t)s->planned, index = (uint64_t)s->index;
    if (planned >= a->count || index >= a->count) {
        account_wrong(a, "is there none");
        return;
    }
    count_outcome(a, s);
    if (a->times[planned]++ > 0) {
        a->twice++;
        tell(a, s->planned, "came twice");
    }
}

void account_end(struct account *a)
{
    for (uint64_t i = 0; i < a->count; i++) {
        if (a->times[i] > 0)
            continue;
        a->lost++;
        tell(a, (int64_t)i, "never came");
    }
    memset(a->times, 0, a->count);
    a->epoch++;
}

uint64_t account_hash(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t hash = n + 1, word;
    for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    for (; n > 0; n--)
        hash = (hash ^ *p++) * UINT64_C(0x9e3779b97f4a7c15);
    return hash | 1;
}
