/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fork does to pinned memory. Its pages become copy-on-write, and the
 * parent's next write moves the parent to another page, while the GPU goes on
 * reading the one that it was told of:
 *
 *     pinned -> [page]   fork, parent writes   parent -> [new page]
 *     GPU ----> [page]                         GPU ----> [page], as it was
 *
 * (Linux before 5.9, and others. Since then the fork copies pinned pages, so
 * nothing is stale, and every child costs that much memory.) Here the GPU sees
 * from the fork on what was there, until the memory is unpinned. Memory that
 * the child does not get (MADV_DONTFORK) stays what it is, and so does memory
 * of the driver's own.
 */
#include "cuda_double_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct double_registration *at_locked(const unsigned char *p)
{
    struct double_registration *r = double_world.registrations;
    while (r && (p < r->begin || p >= r->begin + r->bytes))
        r = r->next;
    return r;
}

/* A child gets the addresses from begin to end. */
static void leave_behind_locked(uintptr_t begin, uintptr_t end)
{
    for (struct double_registration *r = double_world.registrations; r;
         r = r->next) {
        uintptr_t at = (uintptr_t)r->begin;
        if (r->owned || r->at_fork || at >= end || at + r->bytes <= begin)
            continue;
        r->at_fork = malloc(r->bytes);
        if (r->at_fork)
            memcpy(r->at_fork, r->begin, r->bytes);
    }
}

void double_before_fork_locked(void)
{
    char line[512];
    unsigned long begin = 0, end = 0, from, to;
    FILE *f =
        double_world.registrations ? fopen("/proc/self/smaps", "re") : NULL;
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
            begin = from;
            end = to;
        } else if (strncmp(line, "VmFlags:", 8) == 0 && !strstr(line, " dc")) {
            leave_behind_locked(begin, end);
        }
    }
    if (f)
        fclose(f);
}

const unsigned char *double_seen_locked(const struct double_op *op)
{
    const struct double_registration *r =
        op->staged ? NULL : at_locked(op->from);
    return r && r->at_fork ? r->at_fork + (op->from - r->begin) : op->from;
}
