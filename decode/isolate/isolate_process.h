/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that decodes: the program `feedline-decode`, which lies beside
 * the library. It is no child of the program that uses the library, which hears
 * nothing of it, neither by SIGCHLD nor by wait(); it ends when its socket is
 * shut, or the program is gone, whatever it does at that moment.
 */
#ifndef FDL_DECODE_ISOLATE_PROCESS_H
#define FDL_DECODE_ISOLATE_PROCESS_H

#include <stdint.h>

struct fdl_isolate_process {
    int socket, pidfd;
    int32_t pid; /* of who keeps the decoder, its child */
};

/* area: a descriptor. Any thread. ENOENT: there is no such program; ENOSYS: the
 * kernel cannot do it; ENOMEM, EIO. */
int32_t fdl_isolate_start(int area, struct fdl_isolate_process *out);

/* And waits until it is gone. */
void fdl_isolate_end(struct fdl_isolate_process *p);

#endif
