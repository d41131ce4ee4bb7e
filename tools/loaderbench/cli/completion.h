/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts of completion/, compiled in. */
#ifndef LOADERBENCH_COMPLETION_H
#define LOADERBENCH_COMPLETION_H

/* shell: "bash", "zsh" or "fish"; NULL for any other. */
const char *completion_script(const char *shell);

#endif
