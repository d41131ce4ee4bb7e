/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOADERBENCH_DOCTOR_ASK_H
#define LOADERBENCH_DOCTOR_ASK_H

#include <jansson.h>

/* What the library and the environment's variables tell: {"findings", "facts"}.
 * device: NULL: cuda:0 if there is one, else host. An exit status. */
int doctor_ask(const char *device, json_t **out);

#endif
