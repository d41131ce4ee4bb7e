/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time limit of one image. Checked between steps of known length (a strip,
 * a scan), mostly with a time that was read anyway.
 */
#ifndef FDL_DECODE_DEADLINE_H
#define FDL_DECODE_DEADLINE_H

#include <stdint.h>

struct fdl_deadline {
    uint32_t limit_ms; /* 0: none */
    int64_t end_ns;
};

/* The image begins now. */
void fdl_deadline_start(struct fdl_deadline *d, uint32_t limit_ms);

/* ERANGE after its end. now_ns: 0 for the clock to be read if there is a
 * limit. */
int32_t fdl_deadline_check(const struct fdl_deadline *d, int64_t now_ns);

#endif
