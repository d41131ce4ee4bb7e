/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks from the environment. Those of Open MPI 4.1.4, MPICH 4.0.2 and Slurm
 * 22.05 are what their launchers set on two nodes; test_launchers.py runs them.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "profiler/system/ranks.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* "NAME=value NAME=value", which variable() looks into. */
static const char *variables;

static const char *variable(const char *name)
{
    static char value[64];
    size_t length = strlen(name);
    for (const char *at = variables; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            snprintf(value, sizeof(value), "%.*s",
                     (int)strcspn(at + length + 1, " "), at + length + 1);
            return value;
        }
    }
    return NULL;
}

#define SLURM_BATCH                                                            \
  "SLURM_JOB_ID=2 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=4 "              \
  "SLURM_NPROCS=4 SLURM_PROCID=0 SLURM_TASKS_PER_NODE=3,1"
#define SLURM_STEP(rank, node)                                                 \
  "SLURM_JOB_ID=1 SLURM_LOCALID=0 SLURM_NODEID=" node                          \
  " SLURM_NTASKS=4 SLURM_PROCID=" rank                                         \
  " SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_STEP_TASKS_PER_NODE=3,1"
/* A daemon of mpirun in a batch job, around rank 2 of its four. */
#define SLURM_DAEMON                                                           \
  "SLURM_NODEID=0 SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_STEP_ID=0 "              \
  "SLURM_STEP_NUM_TASKS=2 SLURM_STEP_TASKS_PER_NODE=1(x2)"
#define OPEN_MPI                                                               \
  "OMPI_COMM_WORLD_LOCAL_RANK=2 OMPI_COMM_WORLD_LOCAL_SIZE=3 "                 \
  "OMPI_COMM_WORLD_NODE_RANK=2 OMPI_COMM_WORLD_RANK=2 "                        \
  "OMPI_COMM_WORLD_SIZE=4 PMIX_NAMESPACE=892076033 PMIX_RANK=2"
#define HYDRA                                                                  \
  "MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1 PMI_FD=8 PMI_RANK=1 PMI_SIZE=2"
#define MVAPICH                                                                \
  "MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=6 MV2_COMM_WORLD_LOCAL_SIZE=2"
#define PALS                                                                   \
  "PALS_RANKID=11 PALS_LOCAL_RANKID=3 PALS_LOCAL_SIZE=4 PMI_SIZE=12 "          \
  "PMI_RANK=11"
#define JSRUN                                                                  \
  "JSM_NAMESPACE_RANK=3 JSM_NAMESPACE_SIZE=4 JSM_NAMESPACE_LOCAL_SIZE=2"
#define FLUX                                                                   \
  "FLUX_TASK_RANK=2 FLUX_JOB_SIZE=4 FLUX_TASK_LOCAL_ID=0 FLUX_JOB_NNODES=2"
#define TORCHRUN                                                               \
  "TORCHELASTIC_RUN_ID=none RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 "                 \
  "LOCAL_WORLD_SIZE=4 GROUP_RANK=1"

static const struct {
    const char *variables, *launcher;
    uint32_t rank, world, local_world;
} known[] = {
    {"", NULL, 0, 1, 0},
    {"LOCAL_WORLD_SIZE=4", NULL, 0, 1, 0},
    {TORCHRUN, "torchrun", 5, 8, 4},
    {"RANK=5 WORLD_SIZE=8", "RANK and WORLD_SIZE", 5, 8, 0},
    {"RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=x", "RANK and WORLD_SIZE", 0, 1, 0},
    {"JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=2", "JAX's variables", 1, 2, 0},
    {OPEN_MPI, "Open MPI", 2, 4, 3},
    {HYDRA, "PMI", 1, 2, 2},
    {MVAPICH, "MVAPICH", 1, 6, 2},
    {PALS, "PALS", 11, 12, 4},
    {JSRUN, "jsrun", 3, 4, 2},
    {FLUX, "Flux", 2, 4, 0},
    {SLURM_STEP("2", "0"), "Slurm", 2, 4, 3},
    {SLURM_STEP("3", "1"), "Slurm", 3, 4, 1},
    {"SLURM_NODEID=4 SLURM_PROCID=9 SLURM_STEP_NUM_TASKS=10 "
     "SLURM_STEP_TASKS_PER_NODE=2(x3),1,3",
     "Slurm", 9, 10, 3},
    {"SLURM_NODEID=5 SLURM_PROCID=9 SLURM_STEP_NUM_TASKS=10 "
     "SLURM_STEP_TASKS_PER_NODE=2(x3),1,3",
     "Slurm", 9, 10, 0},
    {"SLURM_NODEID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 "
     "SLURM_STEP_TASKS_PER_NODE=(x2",
     "Slurm", 0, 2, 0},

    /* It runs once, whatever the job asked for. */
    {SLURM_BATCH, NULL, 0, 1, 0},

    /* Launchers inside of others. */
    {OPEN_MPI " " SLURM_DAEMON, "Open MPI", 2, 4, 3},
    {HYDRA " " SLURM_BATCH, "PMI", 1, 2, 2},
    {"PMI_RANK=1 PMI_SIZE=4 " SLURM_STEP("1", "0"), "PMI", 1, 4, 0},
    {TORCHRUN " " OPEN_MPI, "torchrun", 5, 8, 4},
    {TORCHRUN " " SLURM_STEP("3", "1"), "torchrun", 5, 8, 4},
    {"FLUX_TASK_RANK=2 FLUX_JOB_SIZE=4 " SLURM_DAEMON, "Flux", 2, 4, 0},

    /* By hand, as the launcher says, or several on each of its nodes. */
    {"RANK=2 WORLD_SIZE=4 " OPEN_MPI, "RANK and WORLD_SIZE", 2, 4, 0},
    {"RANK=5 WORLD_SIZE=8 LOCAL_WORLD_SIZE=4 " SLURM_DAEMON,
     "RANK and WORLD_SIZE", 5, 8, 4},
    {"RANK=1 WORLD_SIZE=2 JAX_PROCESS_ID=1 JAX_NUM_PROCESSES=2",
     "RANK and WORLD_SIZE", 1, 2, 0},
};

TEST(launchers_are_known)
{
    for (size_t i = 0; i < FDL_COUNT_OF(known); i++) {
        struct fdl_ranks found;
        variables = known[i].variables;
        assert_int_equal(fdl_ranks_find(variable, &found), FEEDLINE_OK);
        if (known[i].launcher)
            assert_string_equal(found.launcher, known[i].launcher);
        else
            assert_null(found.launcher);
        assert_int_equal(found.rank, known[i].rank);
        assert_int_equal(found.world, known[i].world);
        assert_int_equal(found.local_world, known[i].local_world);
    }
}

static const struct {
    const char *variables, *says[2];
} refused[] = {
    {"RANK=3", {"RANK=3", "WORLD_SIZE, of how many, is not set"}},
    {"RANK=x WORLD_SIZE=2", {"RANK=\"x\"", "from 0"}},
    {"RANK= WORLD_SIZE=2", {"RANK=\"\"", "from 0"}},
    {"RANK=-1 WORLD_SIZE=2", {"RANK=\"-1\"", "from 0"}},
    {"RANK=0x1 WORLD_SIZE=2", {"RANK=\"0x1\"", "from 0"}},
    {"RANK=0 WORLD_SIZE=0", {"WORLD_SIZE=\"0\"", "from 1"}},
    {"RANK=0 WORLD_SIZE=99999999999999999999999",
     {"WORLD_SIZE=\"99999999999999999999999\"", "to 1048576"}},
    {"RANK=2 WORLD_SIZE=2", {"RANK=2 with WORLD_SIZE=2", "from 0"}},
    {"PMIX_RANK=3 PMIX_NAMESPACE=x", {"PMIX_RANK=3", "nothing of how many"}},
    {"PMI_RANK=1", {"PMI_RANK=1", "PMI_SIZE"}},
    {"RANK=1 WORLD_SIZE=4 " OPEN_MPI,
     {"rank 1 of 4 (RANK)", "rank 2 of 4 (OMPI_COMM_WORLD_RANK)"}},
    {"RANK=0 WORLD_SIZE=1 " OPEN_MPI,
     {"rank 0 of 1 (RANK)", "rank 2 of 4 (OMPI_COMM_WORLD_RANK)"}},
    {"RANK=0 WORLD_SIZE=6 " OPEN_MPI, {"rank 0 of 6", "rank 2 of 4"}},
    {"RANK=0 WORLD_SIZE=1 " SLURM_STEP("3", "1"),
     {"rank 0 of 1 (RANK)", "rank 3 of 4 (SLURM_PROCID)"}},
    {"RANK=1 WORLD_SIZE=2 JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=2",
     {"rank 1 of 2 (RANK)", "rank 0 of 2 (JAX_PROCESS_ID)"}},
    {"RANK=1 WORLD_SIZE=4 JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=2",
     {"rank 1 of 4", "rank 0 of 2"}},
    {HYDRA " " OPEN_MPI, {"rank 2 of 4", "rank 1 of 2 (PMI_RANK)"}},

    /* Each launcher of the table against one set by hand (Ray Train sets the
     * same), and launchers of MPI against each other. */
    {"RANK=0 WORLD_SIZE=6 " MVAPICH,
     {"rank 0 of 6 (RANK)", "MVAPICH: rank 1 of 6 (MV2_COMM_WORLD_RANK)"}},
    {"RANK=10 WORLD_SIZE=12 " PALS,
     {"rank 10 of 12 (RANK)", "PALS: rank 11 of 12 (PALS_RANKID)"}},
    {"RANK=0 WORLD_SIZE=2 " HYDRA,
     {"rank 0 of 2 (RANK)", "PMI: rank 1 of 2 (PMI_RANK)"}},
    {"RANK=2 WORLD_SIZE=4 " JSRUN,
     {"rank 2 of 4 (RANK)", "jsrun: rank 3 of 4 (JSM_NAMESPACE_RANK)"}},
    {"RANK=1 WORLD_SIZE=4 " FLUX,
     {"rank 1 of 4 (RANK)", "Flux: rank 2 of 4 (FLUX_TASK_RANK)"}},
    {"RANK=2 WORLD_SIZE=4 " SLURM_STEP("3", "1"),
     {"rank 2 of 4 (RANK)", "Slurm: rank 3 of 4 (SLURM_PROCID)"}},
    {"JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=4 " OPEN_MPI,
     {"JAX's variables: rank 0 of 4 (JAX_PROCESS_ID)",
      "Open MPI: rank 2 of 4 (OMPI_COMM_WORLD_RANK)"}},
    {"JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=4 " SLURM_STEP("3", "1"),
     {"rank 0 of 4 (JAX_PROCESS_ID)", "rank 3 of 4 (SLURM_PROCID)"}},
    {"JAX_PROCESS_ID=0 JAX_NUM_PROCESSES=4 " FLUX,
     {"rank 0 of 4 (JAX_PROCESS_ID)", "rank 2 of 4 (FLUX_TASK_RANK)"}},
    {OPEN_MPI " " MVAPICH, {"Open MPI: rank 2 of 4", "MVAPICH: rank 1 of 6"}},
    {OPEN_MPI " " JSRUN, {"Open MPI: rank 2 of 4", "jsrun: rank 3 of 4"}},
    {"PALS_RANKID=10 PMI_SIZE=12 PMI_RANK=11",
     {"PALS: rank 10 of 12", "PMI: rank 11 of 12"}},
    {HYDRA " " JSRUN, {"PMI: rank 1 of 2", "jsrun: rank 3 of 4"}},

    /* Each of them alone: half there, and a rank that there is not. */
    {"TORCHELASTIC_RUN_ID=none RANK=5", {"RANK=5", "WORLD_SIZE"}},
    {"TORCHELASTIC_RUN_ID=none RANK=8 WORLD_SIZE=8",
     {"RANK=8 with WORLD_SIZE=8", "from 0"}},
    {"JAX_PROCESS_ID=2", {"JAX_PROCESS_ID=2", "JAX_NUM_PROCESSES"}},
    {"JAX_PROCESS_ID=2 JAX_NUM_PROCESSES=2",
     {"JAX_PROCESS_ID=2 with JAX_NUM_PROCESSES=2", "from 0"}},
    {"OMPI_COMM_WORLD_RANK=2",
     {"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE"}},
    {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=2",
     {"OMPI_COMM_WORLD_RANK=1", "PMIX_RANK=2"}},
    {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=x",
     {"PMIX_RANK=\"x\"", "from 0"}},
    {"OMPI_COMM_WORLD_RANK=4 OMPI_COMM_WORLD_SIZE=4",
     {"OMPI_COMM_WORLD_RANK=4 with OMPI_COMM_WORLD_SIZE=4", "from 0"}},
    {"MV2_COMM_WORLD_RANK=2", {"MV2_COMM_WORLD_RANK=2", "MV2_COMM_WORLD_SIZE"}},
    {"PALS_RANKID=2", {"PALS_RANKID=2", "PMI_SIZE"}},
    {"JSM_NAMESPACE_RANK=2", {"JSM_NAMESPACE_RANK=2", "JSM_NAMESPACE_SIZE"}},
    {"FLUX_TASK_RANK=2", {"FLUX_TASK_RANK=2", "FLUX_JOB_SIZE"}},
    {"FLUX_TASK_RANK=4 FLUX_JOB_SIZE=4",
     {"FLUX_TASK_RANK=4 with FLUX_JOB_SIZE=4", "from 0"}},
    {"SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=2",
     {"SLURM_PROCID=2 with SLURM_STEP_NUM_TASKS=2", "from 0"}},
    {"SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=x",
     {"SLURM_STEP_NUM_TASKS=\"x\"", "from 1"}},
    {OPEN_MPI " PMI_RANK=0", {"PMI_RANK=0", "PMI_SIZE"}},
};

TEST(contradictions_name_both_values)
{
    for (size_t i = 0; i < FDL_COUNT_OF(refused); i++) {
        struct fdl_ranks found = {.rank = 77};
        variables = refused[i].variables;
        assert_int_equal(fdl_ranks_find(variable, &found), FEEDLINE_EINVAL);
        for (int k = 0; k < 2; k++)
            assert_non_null(strstr(fdl_last_error(), refused[i].says[k]));
        assert_int_equal(found.rank, 77);
    }
}

/* Also where it cannot be said which of them this is. */
TEST(processes_of_this_machine)
{
    static const struct {
        const char *variables;
        uint32_t n;
    } cases[] = {{"", 0},
                 {"LOCAL_WORLD_SIZE=4", 4},
                 {"LOCAL_WORLD_SIZE=0", 0},
                 {"LOCAL_WORLD_SIZE=4x", 0},
                 {OPEN_MPI, 3},
                 {OPEN_MPI " LOCAL_WORLD_SIZE=2", 3},
                 {SLURM_STEP("0", "0"), 3},
                 {"RANK=1 LOCAL_WORLD_SIZE=2", 2}};
    for (size_t i = 0; i < FDL_COUNT_OF(cases); i++) {
        variables = cases[i].variables;
        assert_int_equal(fdl_ranks_local_world(variable), cases[i].n);
    }
}

TEST_MAIN("ranks")
