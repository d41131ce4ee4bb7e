/* SPDX-License-Identifier: Apache-2.0 */
/* What libFuzzer, and engines that do as it does, call to change an input. */
#ifndef FDL_TESTS_FUZZ_MUTATE_H
#define FDL_TESTS_FUZZ_MUTATE_H

#include "tests/fuzz/shape.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                 const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t most, unsigned seed);

#endif
