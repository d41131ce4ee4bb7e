/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share. A target is one file, fuzz_NAME.c, with one
 * function, and becomes two programs:
 *
 *     fuzz_NAME          with libFuzzer (FEEDLINE_FUZZ=ON, clang): searches
 *     fuzz_NAME_replay   with any compiler: runs the files that it is given
 *
 * A target does not only look for crashes: fuzz_check states what must hold for
 * any input, such as "an error changes nothing" and "all levels of instructions
 * give the same pixels".
 */
#ifndef FDL_TESTS_FUZZ_H
#define FDL_TESTS_FUZZ_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The target; returns 0. data: exactly size bytes of the heap. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program where something does not hold, in every build type. */
#define fuzz_check(condition)                                                  \
  do {                                                                         \
    if (FDL_UNLIKELY(!(condition)))                                            \
      fuzz_failed(__FILE__, __LINE__, #condition);                             \
  } while (0)

void fuzz_failed(const char *file, int line,
                 const char *condition) FDL_NORETURN;

/* A status below 0 comes with a description: one line, not empty. */
void fuzz_check_error(int32_t status);

/* Choices are taken from the front of the input, the rest is the content. */
struct fuzz_input {
    const uint8_t *data;
    size_t size;
};

/* 0 where the input has ended. */
uint8_t fuzz_byte(struct fuzz_input *in);
uint32_t fuzz_word(struct fuzz_input *in); /* 16 bits, little-endian */

/* The next n bytes, or as many as there are, as a text, which a zero byte ends
 * early. Exactly as large as it must be; free() it. */
char *fuzz_text(struct fuzz_input *in, size_t n);
#define FUZZ_REST SIZE_MAX

/* A file with these bytes that has a path and no place: close() ends it. */
#define FUZZ_PATH_BYTES 32
int fuzz_file(const void *bytes, size_t n, char path[FUZZ_PATH_BYTES]);

/* The path of a folder of this process, made by the first call and emptied when
 * the process ends. */
const char *fuzz_folder(void);

/* The pixels of a file as interleaved RGB bytes, of which there are *bytes: of
 * a part that `crop` chooses, or with NULL all. NULL: it is refused, with a
 * description. free() it. */
struct fdl_decode_limits;
uint8_t *fuzz_decode(const struct fdl_decode_limits *limits, const void *data,
                     size_t size, struct fuzz_input *crop, size_t *bytes);

/* All values as JSON; free() it. */
struct fdl_options;
char *fuzz_options_json(const struct fdl_options *o);

#endif
