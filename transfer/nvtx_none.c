/* SPDX-License-Identifier: Apache-2.0 */
/* A build without NVTX: nobody ever listens. */
#include "transfer/nvtx.h"

_Atomic bool fdl_nvtx_on;

void fdl_nvtx_init(void)
{
}

void fdl_nvtx_push_now(enum fdl_nvtx_range range, uint64_t batch,
                       uint32_t samples)
{
    (void)range;
    (void)batch;
    (void)samples;
}

void fdl_nvtx_pop_now(void)
{
}

uint64_t fdl_nvtx_start_now(enum fdl_nvtx_range range, uint64_t batch,
                            uint32_t samples)
{
    (void)range;
    (void)batch;
    (void)samples;
    return 0;
}

void fdl_nvtx_end_now(uint64_t id)
{
    (void)id;
}
