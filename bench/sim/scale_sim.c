/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scale_sim: jobs of many ranks under the project's tuner; their arithmetic.
 *
 *     scale_sim [--markdown] [RANKS]
 *
 * RANKS, 64 to 4096: the most that are played [512]; 4096 take long. What is
 * about one job is played with 64. scripts/scale_table puts the tables into
 * docs/scale.md.
 */
#include "bench/sim/arguments.h"
#include "bench/sim/scale_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOB_RANKS 64u

static bool markdown;

static bool show(const char *title, struct sheet *s, bool ok)
{
    if (ok) {
        printf(markdown ? "**%s**\n\n" : "%s\n\n", title);
        (markdown ? sheet_markdown : sheet_text)(s, stdout);
        fflush(stdout);
    }
    ok = ok && !s->failed;
    sheet_fini(s);
    return ok;
}

static bool played(uint32_t most)
{
    struct sheet s;
    char title[96];
    bool ok = show("More and more ranks", &s, scale_table_ranks(most, &s));
    snprintf(title, sizeof(title), "%u ranks, and storage that is short",
             JOB_RANKS);
    ok = ok && show(title, &s, scale_table_storage(JOB_RANKS, &s));
    snprintf(title, sizeof(title), "%u ranks, and one host that differs",
             JOB_RANKS);
    ok = ok && show(title, &s, scale_table_stragglers(JOB_RANKS, &s));
    snprintf(title, sizeof(title), "%u ranks, and a host that is lost",
             JOB_RANKS);
    return ok && show(title, &s, scale_table_lost(JOB_RANKS, &s));
}

static bool computed(void)
{
    struct sheet s;
    scale_table_needs(1024, &s);
    bool ok = show("What 1,024 GPUs need", &s, true);
    scale_table_losses(1024, &s);
    return ok && show("What breaks cost 1,024 GPUs", &s, true);
}

int main(int argc, char **argv)
{
    int next = 1;
    unsigned long most = 512;
    if (next < argc && strcmp(argv[next], "--markdown") == 0) {
        markdown = true;
        next++;
    }
    if (next < argc)
        most = strtoul(argv[next++], NULL, 10);
    if (next < argc || most < JOB_RANKS || most > 4096) {
        fprintf(stderr, "usage: scale_sim [--markdown] [RANKS, 64 to 4096]\n");
        return SIM_USAGE;
    }
    return computed() && played((uint32_t)most) ? SIM_DONE : SIM_ENVIRONMENT;
}
