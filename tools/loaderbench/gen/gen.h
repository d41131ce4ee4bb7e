/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOADERBENCH_GEN_H
#define LOADERBENCH_GEN_H

#include <stdint.h>

/* Photos in class folders, as the command makes them, in the folder `path`,
 * which may not have anything in it. An exit status. */
int gen_folder(const char *path, uint64_t images, uint64_t classes);

#endif
