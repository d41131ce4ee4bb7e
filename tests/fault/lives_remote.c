/* SPDX-License-Identifier: Apache-2.0 */
/* A shard on a server, with and without a folder that keeps what was read. */
#include "lives.h"
#include "tests/remove_tree.h"
#include "tests/store/server.h"

static char uri[96], cache[128], options[512];

static const char *start_server(void)
{
    fault_images_make();
    (void)fault_tar();
    snprintf(uri, sizeof(uri), "tar:http://127.0.0.1:%u/a.tar",
             server_start(fault_folder(), 0));
    return NULL;
}

static void stop_server(void)
{
    server_stop();
    fault_images_remove();
}

static int32_t remote(void)
{
    return fault_epoch(uri, FAULT_OPERATIONS, FAULT_OPTIONS);
}

#define KEPT 6u /* of the thread that indexes: store/get.c */
#define SLOW (KIND(NETWORK) | KIND(CLIENT))

const struct scenario fault_remote = {.name = "remote",
                                      .what = "an epoch of a shard on a server",
                                      .kinds =
                                          KIND(MEMORY) | KIND(THREAD) | SLOW,
                                      .slow = SLOW,
                                      .kept = KEPT,
                                      .setup = start_server,
                                      .teardown = stop_server,
                                      .life = remote};

static void drop_cache(void)
{
    remove_tree(cache);
}

static int32_t remote_cached(void)
{
    snprintf(cache, sizeof(cache), "%s/cache", fault_folder());
    snprintf(options, sizeof(options), FAULT_OPTIONS "remote_cache=%s", cache);
    return fault_epoch(uri, FAULT_OPERATIONS, options);
}

const struct scenario fault_remote_cache = {
    .name = "remote_cache",
    .what = "the same, kept in a folder",
    .kinds = KIND(MEMORY) | KIND(OPEN) | KIND(LIMIT) | KIND(STAT) | KIND(READ) |
             KIND(EARLY_END) | KINDS_WRITING | SLOW,
    .slow = SLOW,
    .kept = KEPT,
    .setup = start_server,
    .teardown = stop_server,
    .life = remote_cached,
    .settle = drop_cache};
