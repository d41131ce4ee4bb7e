/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody tunes: what people write into their scripts. And the table of all. */
#include "bench/sim/controllers_own.h"

/* They keep nothing; any address says that it was created. */
static char nothing;

static void *start(struct fdl_knobs *knobs, const struct sim_facts *facts,
                   uint32_t workers, uint32_t depth)
{
    *knobs = facts->def;
    knobs->workers = workers;
    knobs->depth = depth;
    return &nothing;
}

/* Torch prepares two batches for each worker. */
static void *start_torch(struct fdl_knobs *knobs, const struct sim_facts *facts,
                         uint32_t workers)
{
    return start(knobs, facts, workers, 2 * workers);
}

static void *create_0(const struct sim_facts *facts, struct fdl_knobs *knobs)
{
    return start(knobs, facts, 1, 1);
}

static void *create_2(const struct sim_facts *facts, struct fdl_knobs *knobs)
{
    return start_torch(knobs, facts, 2);
}

static void *create_default(const struct sim_facts *facts,
                            struct fdl_knobs *knobs)
{
    *knobs = facts->def;
    return &nothing;
}

static void *create_cores(const struct sim_facts *facts,
                          struct fdl_knobs *knobs)
{
    return start_torch(knobs, facts, facts->host_cores);
}

static void *create_cores_1(const struct sim_facts *facts,
                            struct fdl_knobs *knobs)
{
    uint32_t cores = facts->host_cores;
    return start_torch(knobs, facts, cores > 1 ? cores - 1 : 1);
}

static const struct sim_controller static_default = {
    .name = "static-default",
    .about = "the library's start: workers = cores of the quota, depth 4; "
             "the quota is given",
    .create = create_default};

static const struct sim_controller static_0 = {
    .name = "static-0",
    .about = "torch's default, num_workers=0: loads while it is asked; reads "
             "ahead within the batch are given",
    .create = create_0,
    .on_demand = true};

static const struct sim_controller static_2 = {
    .name = "static-2",
    .about = "torch with num_workers=2, prefetch_factor=2; work shared by the "
             "sample, not the batch, is given",
    .create = create_2};

static const struct sim_controller cores = {
    .name = "cores",
    .about = "as many workers as the host has cores, prefetch_factor=2; sees "
             "no quota",
    .create = create_cores};

static const struct sim_controller cores_1 = {
    .name = "cores-1",
    .about = "one worker less than the host has cores, as Lightning suggests; "
             "sees no quota",
    .create = create_cores_1};

const struct sim_controller *const sim_controllers[] = {
    &sim_feedline, &sim_feedline_1, &static_default,
    &static_0,     &static_2,       &cores,
    &cores_1,      &sim_dotnet,     &sim_oracle_player};

const unsigned sim_n_controllers =
    sizeof(sim_controllers) / sizeof(*sim_controllers);
