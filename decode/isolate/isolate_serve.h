/* SPDX-License-Identifier: Apache-2.0 */
/* The process's side of isolate_call.h. */
#ifndef FDL_DECODE_ISOLATE_SERVE_H
#define FDL_DECODE_ISOLATE_SERVE_H

#include <stdint.h>

/* What has gone wrong before, or that all is well (0); the error line of this
 * thread says more. false: nobody hears it. */
_Bool fdl_isolate_say(int socket, int32_t status, int32_t landlock);

/* Gives up everything but the socket and the area, and answers calls until the
 * socket is shut. Only for a process of its own. */
void fdl_isolate_serve(int socket, uint8_t *area);

#endif
