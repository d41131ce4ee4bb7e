/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FDL_DECODE_ISOLATE_CONFINE_H
#define FDL_DECODE_ISOLATE_CONFINE_H

#include <stdint.h>

/* From here on this process, of one thread, computes, takes and gives back
 * memory up to so many bytes, reads and writes `socket`, and ends; whatever
 * else it asks the kernel for ends it by SIGSYS. There is no way back.
 * *landlock: its version, 0 where the kernel has none. ENOSYS: the kernel has
 * no such filters; the process is not to be used then. */
int32_t fdl_isolate_confine(int socket, uint64_t memory, int32_t *landlock);

#endif
