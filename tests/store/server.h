/* SPDX-License-Identifier: Apache-2.0 */
/* A web server beside a test, which ends when the test does. */
#ifndef FDL_TESTS_SERVER_H
#define FDL_TESTS_SERVER_H

#include <stdint.h>

/* fault_server.py on a folder; every answer comes `delay_ms` late. Its port.
 * The case is skipped where there is no Python or no libcurl. */
uint16_t server_start(const char *folder, uint32_t delay_ms);

/* Now, and not at the end. */
void server_stop(void);

#endif
