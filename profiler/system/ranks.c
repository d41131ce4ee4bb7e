/* SPDX-License-Identifier: Apache-2.0 */
/* The table of launchers, innermost first. */
#include "profiler/system/ranks.h"

#include "base/compiler.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST (1u << 20) /* option world */

enum level {
    CERTAIN, /* nobody else sets these */
    BY_HAND, /* a launcher of any kind, or the user */
    MPI,
    JOB /* one that may start launchers */
};

struct launcher {
    const char *name;
    enum level level;
    const char *mark; /* it is there with this one, too; NULL: with its rank */
    const char *rank, *world, *local_world;
    const char *node;  /* local_world is a list, and this the place in it */
    const char *again; /* it sets its rank once more; NULL: it does not */
};

/* torchrun: https://docs.pytorch.org/docs/stable/elastic/run.html; Ray Train
 * sets the same variables without its mark. Open MPI, MPICH (Hydra), PALS and
 * Slurm as seen with Debian 12's, but PALS; Slurm's of the job are no good: a
 * batch script is rank 0 of SLURM_NTASKS though it runs once. */
static const struct launcher launchers[] = {
    {"torchrun", CERTAIN, "TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE",
     "LOCAL_WORLD_SIZE", NULL, NULL},
    {"RANK and WORLD_SIZE", BY_HAND, NULL, "RANK", "WORLD_SIZE",
     "LOCAL_WORLD_SIZE", NULL, NULL},
    {"JAX's variables", BY_HAND, NULL, "JAX_PROCESS_ID", "JAX_NUM_PROCESSES",
     NULL, NULL, NULL},
    {"Open MPI", MPI, NULL, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE", NULL, "PMIX_RANK"},
    {"MVAPICH", MPI, NULL, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
     "MV2_COMM_WORLD_LOCAL_SIZE", NULL, NULL},
    {"PALS", MPI, NULL, "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_SIZE", NULL,
     NULL},
    {"PMI", MPI, NULL, "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", NULL, NULL},
    {"jsrun", MPI, NULL, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE",
     "JSM_NAMESPACE_LOCAL_SIZE", NULL, NULL},
    {"Flux", JOB, NULL, "FLUX_TASK_RANK", "FLUX_JOB_SIZE", NULL, NULL, NULL},
    {"Slurm", JOB, "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID", NULL},
};

static bool is_there(fdl_ranks_variable *get, const struct launcher *l)
{
    return get(l->rank) && (!l->mark || get(l->mark));
}

/* A whole number of at least `least`; false: text is none. */
static bool number_of(const char *text, uint32_t least, uint32_t *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long long value = strtoull(text, &end, 10);
    *out = (uint32_t)FDL_MIN(value, UINT32_MAX);
    return *end == '\0' && value >= least && value <= MOST;
}

static int32_t read_number(fdl_ranks_variable *get, const char *name,
                           uint32_t least, uint32_t *out)
{
    const char *text = get(name);
    if (text && number_of(text, least, out))
        return FEEDLINE_OK;
    return fdl_fail(FEEDLINE_EINVAL,
                    "world=auto: %s=\"%s\" is not a whole number from %" PRIu32
                    " to %u; set world and rank",
                    name, text ? text : "", least, MOST);
}

static int32_t read_again(fdl_ranks_variable *get, const struct launcher *l,
                          uint32_t rank)
{
    uint32_t again;
    int32_t status = read_number(get, l->again, 0, &again);
    if (status < 0 || again == rank)
        return status;
    return fdl_fail(FEEDLINE_EINVAL,
                    "world=auto: %s: %s=%" PRIu32 ", but %s=%" PRIu32
                    "; unset the wrong one, or set world and rank",
                    l->name, l->rank, rank, l->again, again);
}

static int32_t read_launcher(fdl_ranks_variable *get, const struct launcher *l,
                             struct fdl_ranks *out)
{
    *out = (struct fdl_ranks){.launcher = l->name, .variable = l->rank};
    if (!get(l->world))
        return fdl_fail(FEEDLINE_EINVAL,
                        "world=auto: %s=%s says which process this is, and %s, "
                        "of how many, is not set; set world and rank",
                        l->rank, get(l->rank), l->world);
    int32_t status = read_number(get, l->rank, 0, &out->rank);
    if (status >= 0)
        status = read_number(get, l->world, 1, &out->world);
    if (status >= 0 && l->again && get(l->again))
        status = read_again(get, l, out->rank);
    if (status >= 0 && out->rank >= out->world)
        status = fdl_fail(FEEDLINE_EINVAL,
                          "world=auto: %s=%" PRIu32 " with %s=%" PRIu32
                          "; ranks count from 0",
                          l->rank, out->rank, l->world, out->world);
    return status;
}

/* Of the node `at` in Slurm's list, "2(x3),1"; 0: it does not say. */
static uint32_t tasks_of_node(const char *list, uint32_t at)
{
    while (list && *list) {
        char *end;
        unsigned long tasks = strtoul(list, &end, 10), nodes = 1;
        if (end == list)
            return 0;
        if (strncmp(end, "(x", 2) == 0)
            nodes = strtoul(end + 2, &end, 10);
        end += *end == ')';
        if (at < nodes)
            return (uint32_t)FDL_MIN(tasks, MOST);
        at -= (uint32_t)nodes;
        if (*end != ',')
            return 0;
        list = end + 1;
    }
    return 0;
}

static uint32_t local_world_of(fdl_ranks_variable *get,
                               const struct launcher *l)
{
    uint32_t n = 0, node;
    const char *text = l->node ? get(l->node) : NULL;
    if (text && number_of(text, 0, &node))
        return tasks_of_node(get(l->local_world), node);
    text = l->node || !l->local_world ? NULL : get(l->local_world);
    return text && number_of(text, 1, &n) ? n : 0;
}

/* Around processes that were started by hand somebody may have started one on
 * each machine. */
static bool agree(const struct fdl_ranks *inner, const struct fdl_ranks *outer,
                  bool nested)
{
    if (inner->world == outer->world)
        return inner->rank == outer->rank;
    return nested && outer->world < inner->world &&
           inner->world % outer->world == 0;
}

/* Whether what else is there says the same. */
static int32_t compare(fdl_ranks_variable *get, const struct launcher *of,
                       const struct fdl_ranks *found)
{
    const struct launcher *end = launchers + FDL_COUNT_OF(launchers);
    for (const struct launcher *l = of + 1; l < end; l++) {
        struct fdl_ranks other;
        bool by_hand = of->level == BY_HAND;
        if (!is_there(get, l) || (!by_hand && l->level != MPI))
            continue;
        int32_t status = read_launcher(get, l, &other);
        if (status < 0)
            return status;
        if (!agree(found, &other, by_hand && l->level != BY_HAND))
            return fdl_fail(FEEDLINE_EINVAL,
                            "world=auto: %s: rank %" PRIu32 " of %" PRIu32
                            " (%s), but %s: rank %" PRIu32 " of %" PRIu32
                            " (%s); unset the wrong one, or set world and rank",
                            found->launcher, found->rank, found->world,
                            found->variable, other.launcher, other.rank,
                            other.world, other.variable);
    }
    return FEEDLINE_OK;
}

static const struct launcher *innermost(fdl_ranks_variable *get)
{
    for (size_t i = 0; i < FDL_COUNT_OF(launchers); i++) {
        if (is_there(get, &launchers[i]))
            return &launchers[i];
    }
    return NULL;
}

int32_t fdl_ranks_find(fdl_ranks_variable *get, struct fdl_ranks *out)
{
    const struct launcher *l = innermost(get);
    struct fdl_ranks found = {.world = 1};
    int32_t status = FEEDLINE_OK;
    if (l) {
        status = read_launcher(get, l, &found);
        found.local_world = local_world_of(get, l);
        if (status >= 0 && (l->level == BY_HAND || l->level == MPI))
            status = compare(get, l, &found);
    } else if (get("PMIX_RANK")) {
        status = fdl_fail(FEEDLINE_EINVAL,
                          "world=auto: PMIX_RANK=%s says which process this "
                          "is, and nothing of how many; set world and rank",
                          get("PMIX_RANK"));
    }
    if (status >= 0)
        *out = found;
    return status;
}

uint32_t fdl_ranks_local_world(fdl_ranks_variable *get)
{
    const struct launcher *l = innermost(get);
    uint32_t n = l ? local_world_of(get, l) : 0;
    const char *text = get("LOCAL_WORLD_SIZE");
    if (n == 0 && text && !number_of(text, 1, &n))
        n = 0;
    return n;
}

void fdl_ranks_job(fdl_ranks_variable *get, char *out, size_t capacity)
{
    static const char *const names[] = {
        "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT",    "SLURM_JOB_ID",
        "SLURM_STEP_ID",       "FLUX_JOB_ID", "PMIX_NAMESPACE", "PALS_APID"};
    size_t n = 0;
    *out = '\0';
    for (size_t i = 0; i < FDL_COUNT_OF(names) && n + 1 < capacity; i++) {
        const char *text = get(names[i]);
        if (text)
            n += (size_t)snprintf(out + n, capacity - n, "%s ", text);
    }
}

const char *fdl_ranks_getenv(const char *name)
{
    return getenv(name);
}
