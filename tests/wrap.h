/* SPDX-License-Identifier: Apache-2.0 */
/* A function that the linker's --wrap=NAME puts in place of another. */
#ifndef FDL_TESTS_WRAP_H
#define FDL_TESTS_WRAP_H

/* WRAP(int, close, int fd) { return __real_close(fd); } */
#define WRAP(type, name, ...)                                                  \
  type __real_##name(__VA_ARGS__);                                             \
  type __wrap_##name(__VA_ARGS__);                                             \
  type __wrap_##name(__VA_ARGS__)

#endif
